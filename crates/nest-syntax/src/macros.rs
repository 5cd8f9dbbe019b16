//! Determines the kind of each macro and builds its tree.
//!
//! A macro is a condition macro if and only if its text is a condition over states and condition
//! macros. The condition macros are the smallest set with this property, so the order of
//! declarations does not matter, and a macro that uses itself is not one. Must not know rules.

use std::collections::BTreeMap;
use std::rc::Rc;

use nest_diag::{Code, Diagnostic, Span};

use crate::ast::{Alt, Atom, Cond, Decl, Macro, MacroBody, Name};
use crate::cond;
use crate::decls::{Raw, Unit};
use crate::names::{Kind, Names};
use crate::pattern;
use crate::reader::{Reader, Source};

/// The text of a macro, and the names it uses.
struct Entry {
    name: Name,
    source: Rc<Source>,
    start: usize,
    end: usize,
    /// A condition by its syntax alone.
    cond: Option<Cond>,
    /// The names in `cond`.
    uses: Vec<Name>,
}

/// Turns all declarations into their final form. Afterwards every kind in `names` is final.
pub(crate) fn resolve(
    raw: Vec<Raw>,
    units: &[Unit],
    names: &mut Names,
    diags: &mut Vec<Diagnostic>,
) -> Vec<Decl> {
    let entries: Vec<Entry> = raw.iter().filter_map(|raw| entry(raw, units)).collect();
    let cyclic = classify(&entries, names);
    let mut bodies = Vec::new();
    let mut graph = Vec::new();
    for (entry, cyclic) in entries.iter().zip(cyclic) {
        let mut r = Reader::new(&entry.source, entry.start, entry.end);
        let (body, uses) = body(&mut r, entry, cyclic, names);
        diags.append(&mut r.diags);
        bodies.push(body);
        graph.push(uses);
    }
    report_cycles(&entries, &graph, diags);
    let mut macros = entries.into_iter().zip(bodies);
    let mut decls = Vec::new();
    for raw in raw {
        match raw {
            Raw::Done(decl) => decls.push(decl),
            Raw::Macro { .. } => decls.extend(macros.next().map(|(entry, body)| {
                Decl::Macro(Macro {
                    name: entry.name,
                    body,
                })
            })),
        }
    }
    decls
}

fn entry(raw: &Raw, units: &[Unit]) -> Option<Entry> {
    let Raw::Macro {
        name,
        unit,
        start,
        end,
    } = raw
    else {
        return None;
    };
    let source = Rc::clone(&units[*unit].source);
    let cond = cond::syntax(&source, *start, *end);
    let mut uses = Vec::new();
    if let Some(cond) = &cond {
        cond::names_of(cond, &mut uses);
    }
    let uses = uses.into_iter().cloned().collect();
    Some(Entry {
        name: name.clone(),
        source,
        start: *start,
        end: *end,
        cond,
        uses,
    })
}

/// Finds the condition macros. Each one found may make macros that use it condition macros too.
/// Returns which of the others use themselves.
fn classify(entries: &[Entry], names: &mut Names) -> Vec<bool> {
    let mut waiting: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut missing = vec![0usize; entries.len()];
    let mut ready = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        if entry.cond.is_none() {
            continue;
        }
        for name in &entry.uses {
            if names.kind(&name.text) != Some(Kind::State) {
                missing[index] += 1;
                waiting.entry(&name.text).or_default().push(index);
            }
        }
        if missing[index] == 0 {
            ready.push(index);
        }
    }
    while let Some(index) = ready.pop() {
        names.set_kind(&entries[index].name.text, Kind::Condition);
        for next in waiting
            .remove(entries[index].name.text.as_str())
            .unwrap_or_default()
        {
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.push(next);
            }
        }
    }
    // A text that is a condition by its syntax and names a state is a condition with a mistake, not
    // a pattern.
    for entry in entries.iter().filter(|entry| entry.cond.is_some()) {
        let known =
            |name: &Name| matches!(names.kind(&name.text), Some(Kind::State | Kind::Condition));
        if entry.uses.iter().any(known) {
            names.set_kind(&entry.name.text, Kind::Condition);
        }
    }
    cyclic(entries, names)
}

/// Finds the remaining macros that are conditions by their syntax and use only each other, so that
/// they use themselves. Those with an operator are treated as conditions where they are used.
fn cyclic(entries: &[Entry], names: &mut Names) -> Vec<bool> {
    let left =
        |entry: &Entry| entry.cond.is_some() && names.kind(&entry.name.text) == Some(Kind::Pattern);
    let mut cyclic: Vec<bool> = entries.iter().map(left).collect();
    let index: BTreeMap<&str, usize> = entries
        .iter()
        .enumerate()
        .map(|(i, e)| (e.name.text.as_str(), i))
        .collect();
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); entries.len()];
    let mut out = Vec::new();
    for (user, entry) in entries.iter().enumerate().filter(|(user, _)| cyclic[*user]) {
        for name in &entry.uses {
            match index.get(name.text.as_str()) {
                Some(&used) if cyclic[used] => users[used].push(user),
                _ => out.push(user),
            }
        }
    }
    while let Some(entry) = out.pop() {
        if std::mem::replace(&mut cyclic[entry], false) {
            out.append(&mut users[entry]);
        }
    }
    for (entry, cyclic) in entries.iter().zip(&cyclic) {
        if *cyclic && !matches!(entry.cond, Some(Cond::Name(_))) {
            names.set_kind(&entry.name.text, Kind::Condition);
        }
    }
    cyclic
}

/// The tree of a macro, and the macros that it uses.
fn body(r: &mut Reader, entry: &Entry, cyclic: bool, names: &Names) -> (MacroBody, Vec<Name>) {
    if cyclic {
        return (MacroBody::Pattern(pattern::stand_in(r)), entry.uses.clone());
    }
    match names.kind(&entry.name.text) {
        Some(Kind::Condition) => {
            if let Some(cond) = cond::parse(r, names) {
                return (MacroBody::Condition(cond), entry.uses.clone());
            }
        }
        _ => {
            if let Ok(pattern) = pattern::whole(r, names) {
                let mut uses = Vec::new();
                for element in &pattern.elements {
                    macros_of(&element.alt, &mut uses);
                }
                return (MacroBody::Pattern(pattern), uses);
            }
        }
    }
    (MacroBody::Pattern(pattern::stand_in(r)), Vec::new())
}

fn macros_of(alt: &Alt, uses: &mut Vec<Name>) {
    for piece in alt.branches.iter().flatten() {
        match &piece.atom {
            Atom::Macro(name) => uses.push(name.clone()),
            atom => atom
                .inner()
                .into_iter()
                .for_each(|alt| macros_of(alt, uses)),
        }
    }
}

/// Reports macros that use themselves, once per cycle. Depth-first search with an explicit stack,
/// because a chain of macros may be as long as the file.
fn report_cycles(entries: &[Entry], graph: &[Vec<Name>], diags: &mut Vec<Diagnostic>) {
    let index: BTreeMap<&str, usize> = entries
        .iter()
        .enumerate()
        .map(|(i, e)| (e.name.text.as_str(), i))
        .collect();
    let mut done = vec![false; entries.len()];
    let mut on_path = vec![false; entries.len()];
    for root in 0..entries.len() {
        if done[root] {
            continue;
        }
        let mut path = vec![(root, 0usize)];
        on_path[root] = true;
        while let Some((at, next)) = path.last_mut() {
            let node = *at;
            let Some(used) = graph[node].get(*next) else {
                done[node] = true;
                on_path[node] = false;
                path.pop();
                continue;
            };
            *next += 1;
            let Some(&target) = index.get(used.text.as_str()) else {
                continue;
            };
            if on_path[target] {
                diags.push(cycle(&entries[target].name, used.span));
            } else if !done[target] {
                on_path[target] = true;
                path.push((target, 0));
            }
        }
    }
}

fn cycle(name: &Name, back: Span) -> Diagnostic {
    Diagnostic::new(
        Code::E0104,
        name.span,
        format!("the macro `{}` uses itself", name.text),
    )
    .label(back, "this leads back to it")
    .help("repeat with `*` or `+` instead")
}
