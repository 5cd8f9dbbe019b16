//! From syntax to machine: names to numbers, patterns to automata, actions read.

use crate::actions::{self, Owner};
use crate::conditions::Conditions;
use crate::context::Context;
use crate::csections::Scope;
use crate::model::{
    Action, ArgKind, Backtracking, Code, Machine, ModelKind, Rule, Startup, Timer, What,
};
use crate::options;
use crate::overrides::Overrides;
use crate::repeated;
use crate::whole::{self, Refused};
use crate::{
    cmacros, csections, encryption, filters, functions, kernel, others, server_code, shared,
    stages, unused,
};
use nest_c::directives::{self, States};
use nest_c::lexer::{self, Kind};
use nest_c::scope;
use nest_diag::{Code as Diag, Diagnostic, SourceMap};
use nest_feature::{Feature, Features};
use nest_pattern::{Cuts, Dfa, Nfa, backtracking};
use nest_syntax::ast::{self, Decl, MacroBody, Name, RuleKind, Spec};
use std::collections::{BTreeMap, BTreeSet};

/// DFA states beyond which a rule is run by its ordered thread list.
pub const STATE_BUDGET: usize = 2000;
/// START, DEFAULT and the declared ones fit one 64-bit mask.
pub const MOST_STATES: usize = 64;

/// Resolves a specification. The machine is complete only if `out` holds no error afterwards.
pub fn resolve(
    file: &str,
    sources: &SourceMap,
    spec: &Spec,
    overrides: &Overrides,
    out: &mut Vec<Diagnostic>,
) -> Machine {
    let name = identifier(file);
    let refused = Refused::new(&macros(spec), out);
    whole::check(spec, out);
    let decls: Vec<_> = spec
        .decls
        .iter()
        .filter_map(|d| {
            if let Decl::Option(o) = d {
                Some(o)
            } else {
                None
            }
        })
        .collect();
    let model = overrides.model.as_deref().and_then(ModelKind::from_name);
    let mut settings = options::settle(&decls, model, &name, out);
    let mut parser = scope::parser();
    let (mut locals, variables) =
        csections::locals(sources, &spec.locals, Scope::Connection, &mut parser, out);
    for text in &spec.locals {
        actions::no_directives(text, "the per-connection declarations", out);
    }
    // Without a rule, what stands there was most likely to be the rules.
    let startup = if spec.rules.is_empty() {
        Startup::default()
    } else {
        csections::startup(sources, &spec.startup, &mut parser, out)
    };
    let prologues: Vec<&ast::CText> = spec
        .decls
        .iter()
        .filter_map(|d| {
            if let Decl::Prologue(c) = d {
                Some(c)
            } else {
                None
            }
        })
        .collect();
    for text in &prologues {
        actions::no_directives(text, "%{ %}", out);
    }
    let macro_bodies: Vec<&ast::CText> = prologues
        .iter()
        .copied()
        .chain(spec.locals.iter())
        .collect();
    locals.macros = cmacros::fixes(sources, &macro_bodies, &mut parser, &variables, out);

    let declared = shared::declared(
        sources,
        spec,
        &variables,
        settings.features,
        &mut parser,
        out,
    );
    let names = declared.as_ref().map(|declared| declared.names.clone());
    if let Some(names) = &names {
        shared::not_named(spec, names, &mut parser, out);
    }

    let inside = functions::needing_lock(spec, &mut parser, out);

    let states = states(spec, out);
    let mut r = Resolver {
        sources,
        conditions: Conditions::new(&states, &macros(spec)),
        macros: macros(spec),
        patterns: patterns(spec),
        refused,
        used: BTreeSet::new(),
        caseless: settings.caseless,
        backtracking: settings.features.contains(Feature::Backtracking),
    };
    let arrays = locals.arrays();
    let mut cx = Context {
        sources,
        states: &states,
        variables: &variables,
        arrays: &arrays,
        shared: names.as_ref(),
        classes: settings.classes,
        inside: &inside,
        out,
        parser: &mut parser,
    };
    let (mut start, mut end, mut overload) = (None, None, None);
    let (mut rules, mut timers) = (Vec::new(), Vec::new());
    for rule in &spec.rules {
        match &rule.kind {
            RuleKind::Start => special(&mut start, rule, "START", &mut cx),
            RuleKind::End => special(&mut end, rule, "END", &mut cx),
            RuleKind::Overload => special(&mut overload, rule, "OVERLOAD", &mut cx),
            RuleKind::Timeout(after) => timers.extend(r.timer(rule, after, &mut cx)),
            RuleKind::Pattern(pattern) => rules.extend(r.rule(rule, pattern, &mut cx)),
        }
    }
    let all: Vec<&Action> = rules
        .iter()
        .map(|r: &Rule| &r.action)
        .chain(timers.iter().map(|t: &Timer| &t.action))
        .chain(&start)
        .chain(&end)
        .chain(&overload)
        .collect();
    let server_code::ServerCode {
        periodic,
        signals,
        beginning,
        cache,
    } = server_code::settle(spec, &settings, &mut cx);
    let periodic_code = periodic.iter().map(|timer| &timer.action);
    let signal_code = signals.iter().map(|signal| &signal.action);
    let all: Vec<&Action> = all
        .into_iter()
        .chain(periodic_code)
        .chain(signal_code)
        .chain(&beginning)
        .chain(&cache)
        .collect();
    let (decodes, encodes) = stages::settle(sources, spec, cx.out);
    let shared = declared.map(|declared| shared::settle(declared, &all, &mut cx));
    let shared_code = shared.iter().filter_map(|shared| shared.code.as_ref());
    let all: Vec<&Action> = all.into_iter().chain(shared_code).collect();
    let outside: Vec<&str> = prologues
        .iter()
        .copied()
        .chain(&spec.locals)
        .chain(&spec.startup)
        .map(|c| c.text.as_str())
        .chain(overrides.beside.iter().map(String::as_str))
        .collect();
    let inside = spec.rules.iter().map(|rule| rule.action.text.as_str());
    let c: Vec<&str> = outside.iter().copied().chain(inside).collect();
    let mut features = used_features(&all, &c);
    features.extend(settings.features.iter());
    features.extend(shared.iter().map(|_| Feature::Shared));
    features.extend(periodic.iter().map(|_| Feature::Periodic));
    features.extend(signals.iter().map(|_| Feature::Signals));
    features.extend(beginning.iter().map(|_| Feature::Beginning));
    features.extend(decodes.iter().map(|_| Feature::Stages));
    features.extend(encodes.iter().map(|_| Feature::Encodes));
    features.extend(cache.iter().map(|_| Feature::CacheValue));
    features.extend(overrides.features.iter());
    let run = &mut settings.run;
    run.retain(|option| option.info.needs().is_none_or(|f| features.contains(f)));
    let mut sized = run.iter_mut();
    if let Some((option, shared)) = sized
        .find(|option| option.info.value == options::Value::SharedSize)
        .zip(shared.as_ref())
    {
        option.initial.clone_from(&shared.written.text);
    }
    assignments(sources, spec, cx.out);
    let turned_away = spec
        .rules
        .iter()
        .find(|rule| matches!(rule.kind, RuleKind::Overload));
    if let Some(rule) = turned_away
        && !features.contains(Feature::PerAddress)
        && !features.contains(Feature::Overload)
    {
        let what = "the OVERLOAD rule never runs: no option turns clients away";
        let help = "select one, as in `%option perAddress 20` or `%option overload actions 20 5`";
        cx.out
            .push(Diagnostic::new(Diag::E0212, rule.span, what).help(help));
    }
    let Conditions {
        used: mut used_macros,
        tested,
        ..
    } = r.conditions;
    used_macros.append(&mut r.used);
    let mut machine = Machine {
        name,
        file: file.to_string(),
        prologue: prologues
            .iter()
            .map(|c| Code::at(sources, c.span))
            .collect(),
        rules,
        timers,
        start,
        end,
        overload,
        locals,
        shared,
        periodic,
        signals,
        beginning,
        cache,
        decodes,
        encodes,
        startup,
        settings,
        features,
        filters: Vec::new(),
        first: None,
        states,
    };
    // What is dropped for an error may be what uses and sets.
    if !out.iter().any(Diagnostic::is_error) {
        unused::macros(spec, &used_macros, out);
        unused::states(spec, &machine, tested, out);
        others::check(&machine, &outside, out);
        filters::settle(spec, &mut machine, out);
        stages::exclusions(spec, &machine, out);
        encryption::addresses(spec, machine.features, out);
        encryption::protocols(spec, machine.features, out);
        kernel::check(spec, sources, machine.features, out);
    }
    machine
}

/// Features that directives of actions need, and those of functions that any C names.
fn used_features(actions: &[&Action], c: &[&str]) -> Features {
    let directives = actions.iter().flat_map(|action| &action.uses);
    let directives = directives.filter_map(|u| match &u.what {
        What::Directive { directive, .. } => directives::feature(directive.c),
        What::Block { .. } => Some(Feature::Blocks),
        What::Lock { .. } => Some(Feature::Shared),
        _ => None,
    });
    let names = c.iter().flat_map(|text| {
        let tokens = lexer::tokens(text).into_iter();
        let names = tokens.filter(|t| t.kind == Kind::Name);
        names.filter_map(|t| directives::feature(&text[t.at.clone()]))
    });
    // A C helper may ask for an address without the feature, while the connection is there.
    let names = names.filter(|feature| *feature != Feature::Peer);
    directives.chain(names).collect()
}

/// Names that something else in a project has: a file, a folder, a target of make.
const TAKEN: [&str; 5] = ["Makefile", "clean", "conditioning", "nest", "runtime"];

/// A C identifier from a file name.
fn identifier(file: &str) -> String {
    let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = base.strip_suffix(".nest").unwrap_or(base);
    if file == "<stdin>" {
        return "server".to_string();
    }
    let mut name: String = stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if name.is_empty()
        || name.starts_with(|c: char| c.is_ascii_digit())
        || name.starts_with("nest_")
        || TAKEN.contains(&name.as_str())
    {
        name.insert_str(0, "server_");
    }
    name
}

fn states(spec: &Spec, out: &mut Vec<Diagnostic>) -> Vec<String> {
    let mut states = vec!["START".to_string(), "DEFAULT".to_string()];
    let mut known: BTreeSet<&str> = ["START", "DEFAULT"].into();
    for decl in &spec.decls {
        let Decl::State(names) = decl else { continue };
        for name in names {
            if states.len() == MOST_STATES {
                // Said once; the others are known all the same, or each use would be an error.
                out.push(
                    Diagnostic::new(
                        Diag::E0106,
                        name.span,
                        format!("more than {} states", MOST_STATES - 2),
                    )
                    .help("store numbers and modes in per-connection variables"),
                );
            }
            if known.insert(&name.text) {
                states.push(name.text.clone());
            }
        }
    }
    states
}

fn patterns(spec: &Spec) -> BTreeMap<String, ast::Pattern> {
    macros(spec)
        .into_iter()
        .filter_map(|(name, m)| match &m.body {
            MacroBody::Pattern(p) => Some((name, p.clone())),
            MacroBody::Condition(_) => None,
        })
        .collect()
}

/// W0103: `NL = "\n"`.
fn assignments(sources: &SourceMap, spec: &Spec, out: &mut Vec<Diagnostic>) {
    for m in macros(spec).values() {
        let MacroBody::Pattern(p) = &m.body else {
            continue;
        };
        let text = sources.text(p.span);
        if text.starts_with("= ") || text.starts_with("=\t") {
            let what = format!("the macro `{}` begins with an equals sign", m.name.text);
            out.push(
                Diagnostic::new(Diag::W0103, p.span, what)
                    .help("remove the sign, or quote it to match it"),
            );
        }
    }
}

fn macros(spec: &Spec) -> BTreeMap<String, &ast::Macro> {
    spec.decls
        .iter()
        .filter_map(|d| {
            if let Decl::Macro(m) = d {
                Some((m.name.text.clone(), m))
            } else {
                None
            }
        })
        .collect()
}

/// START's or END's action; a second one was said.
fn special(slot: &mut Option<Action>, rule: &ast::Rule, name: &'static str, cx: &mut Context<'_>) {
    let action = actions::action(cx, &rule.action, Owner::Special(name));
    slot.get_or_insert(action);
}

struct Resolver<'a> {
    sources: &'a SourceMap,
    conditions: Conditions<'a>,
    macros: BTreeMap<String, &'a ast::Macro>,
    refused: Refused,
    /// Pattern macros that something uses.
    used: BTreeSet<String>,
    /// The pattern macros' bodies.
    patterns: BTreeMap<String, ast::Pattern>,
    caseless: bool,
    /// `%option backtracking yes`.
    backtracking: bool,
}

impl Resolver<'_> {
    fn rule(
        &mut self,
        rule: &ast::Rule,
        pattern: &ast::Pattern,
        cx: &mut Context<'_>,
    ) -> Option<Rule> {
        let cond = self.conditions.resolve(&rule.conditions, cx.out);
        self.mark_macros(pattern);
        let action = actions::action(cx, &rule.action, Owner::Rule(pattern.elements.len()));
        let line = self.sources.line(rule.span.file, rule.span.start);
        let label = match &rule.name {
            Some(name) => name.text.clone(),
            None => format!("line {line}"),
        };
        if self.refused.holds(pattern) {
            return None;
        }
        let hirs = match nest_pattern::lower(pattern, &self.patterns, self.caseless) {
            Ok(hirs) => hirs,
            Err(reported) => {
                cx.out.extend(reported);
                return None;
            }
        };
        let Ok(nfa) = Nfa::build(&hirs) else {
            let what = "the pattern is too large";
            cx.out.push(
                Diagnostic::new(Diag::E0311, pattern.span, what)
                    .help("count in the action instead of in the pattern"),
            );
            return None;
        };
        if let Some(now) = pattern.now.filter(|_| self.backtracking) {
            let what = "`NOW` and `%option backtracking yes` exclude each other";
            let help = "remove `NOW`, and end the pattern with what ends a message";
            cx.out
                .push(Diagnostic::new(Diag::E0604, now, what).help(help));
            return None;
        }
        let open = action.uses.iter().any(hands_on);
        let requested: BTreeSet<u32> = action.uses.iter().flat_map(requested).collect();
        let construct = pattern
            .elements
            .iter()
            .find_map(|e| backtracking::construct(e, &self.patterns));
        let backtracking = match construct {
            Some(construct) => {
                let ends = if open {
                    (0..nfa.parts).collect()
                } else {
                    requested.clone()
                };
                Some(self.backtracking(pattern, construct.what, Cuts::of(&nfa, &ends), cx)?)
            }
            None => None,
        };
        let alone = |e: &ast::Element| {
            backtracking.is_none()
                || (backtracking::construct(e, &self.patterns).is_none()
                    && !backtracking::has_groups(e, &self.patterns))
        };
        let alone: Vec<bool> = pattern.elements.iter().map(alone).collect();
        let repeated = repeated::of(&action, &hirs, &alone, open, cx.out)?;
        let early = pattern.now.is_some();
        let dfa = match backtracking {
            Some(_) => None,
            None if early => Dfa::build_early(&nfa, STATE_BUDGET),
            None => Dfa::build(&nfa, STATE_BUDGET),
        };
        Some(Rule {
            label,
            file: self.sources.file(rule.span.file).name.clone(),
            line,
            span: pattern.span,
            cond,
            parts: pattern.elements.len(),
            elements: pattern
                .elements
                .iter()
                .map(|e| self.sources.text(e.span).to_string())
                .collect(),
            requested,
            open,
            repeated,
            nfa,
            dfa,
            backtracking,
            early,
            action,
        })
    }

    /// What libpcre2 is given for a pattern. `None` after an error.
    fn backtracking(
        &self,
        pattern: &ast::Pattern,
        construct: &'static str,
        cuts: Cuts,
        cx: &mut Context<'_>,
    ) -> Option<Backtracking> {
        match backtracking::text(pattern, &self.patterns, self.caseless, &cuts.tags) {
            Ok(text) => Some(Backtracking {
                text,
                construct,
                cuts,
            }),
            Err(reported) => {
                cx.out.extend(reported);
                None
            }
        }
    }

    fn timer(&mut self, rule: &ast::Rule, after: &Name, cx: &mut Context<'_>) -> Option<Timer> {
        let cond = self.conditions.resolve(&rule.conditions, cx.out);
        let action = actions::action(cx, &rule.action, Owner::Special("TIMEOUT"));
        let line = self.sources.line(rule.span.file, rule.span.start);
        let Some(ms) = options::duration(&after.text).filter(|ms| *ms > 0) else {
            let what = match after.text.as_str() {
                "" => "TIMEOUT needs a time".to_string(),
                text => format!("`{text}` is not a valid time"),
            };
            cx.out.push(
                Diagnostic::new(Diag::E0211, after.span, what)
                    .help("a time from 1ms to 24h, as in 500ms, 30s, 5m, 1h"),
            );
            return None;
        };
        Some(Timer {
            label: format!("line {line}"),
            file: self.sources.file(rule.span.file).name.clone(),
            line,
            span: after.span,
            cond,
            after: ms,
            action,
        })
    }

    fn mark_macros(&mut self, pattern: &ast::Pattern) {
        let mut todo: Vec<&ast::Pattern> = vec![pattern];
        while let Some(p) = todo.pop() {
            let mut alts: Vec<&ast::Alt> = p.elements.iter().map(|e| &e.alt).collect();
            while let Some(alt) = alts.pop() {
                for piece in alt.branches.iter().flatten() {
                    match &piece.atom {
                        ast::Atom::Macro(name) if self.used.insert(name.text.clone()) => {
                            if let Some(ast::Macro {
                                body: MacroBody::Pattern(p),
                                ..
                            }) = self.macros.get(&name.text).copied()
                            {
                                todo.push(p);
                            }
                        }
                        atom => alts.extend(atom.inner()),
                    }
                }
            }
        }
    }
}

/// The elements (from 0) whose places it needs.
fn requested(u: &crate::model::Use) -> Vec<u32> {
    let parts: Vec<u32> = match &u.what {
        What::Part(n) => vec![*n],
        What::Directive {
            call: Some(call), ..
        } => call
            .args
            .iter()
            .filter_map(|a| match a.kind {
                ArgKind::Part(n) | ArgKind::PartNumber(n) => Some(n),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    parts.iter().filter_map(|n| n.checked_sub(1)).collect()
}

/// Whether it is `$self`: a function that has it may use any part.
fn hands_on(u: &crate::model::Use) -> bool {
    matches!(&u.what, What::Directive { directive, .. } if directive.does.states == States::HandsOn)
}
