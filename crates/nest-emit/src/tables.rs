//! Generates the tables of the matchers; `runtime/seam.h` documents their fields.

use crate::writer::{Writer, string};
use nest_machine::matching::Matching;
use nest_machine::{Backtracking, Machine, Rule};
use nest_pattern::sim::Threads;
use nest_pattern::{ByteSet, Cut, Cuts, Dfa, Nfa, NfaState};

/// Sizes for the runtime that depend on the tables.
pub struct Sizes {
    /// NEST__RULES.
    pub rules: usize,
    /// NEST__CONDITIONS.
    pub conditions: usize,
    /// NEST__STANDALONE.
    pub standalone: usize,
    /// NEST__EARLY.
    pub early: usize,
    /// NEST__TAGS.
    pub tags: usize,
    /// NEST__REGISTERS.
    pub registers: usize,
    /// NEST__PARTS.
    pub parts: usize,
    /// NEST__THREAD_WORDS.
    pub thread_room: usize,
    /// NEST__NFA_STATES.
    pub nfa_states: usize,
}

/// What a rule needs at run time besides the automaton that it shares.
struct Needs {
    dfa: bool,
    nfa: bool,
}

fn needs(m: &Machine, matching: &Matching, i: usize) -> Needs {
    let rule = &m.rules[i];
    if rule.backtracking.is_some() {
        return Needs {
            dfa: false,
            nfa: false,
        };
    }
    let standalone = matching.standalone.contains_key(&i);
    let requested = !rule.requested.is_empty() && matching.cuts[i].is_none();
    Needs {
        dfa: standalone && rule.dfa.is_some(),
        nfa: (standalone && rule.dfa.is_none()) || ((requested || rule.open) && rule.parts > 1),
    }
}

/// Words for the thread list of a rule.
fn room(rule: &Rule, standalone: bool) -> usize {
    if !standalone || rule.dfa.is_some() || rule.backtracking.is_some() {
        return 0;
    }
    rule.nfa
        .states
        .iter()
        .filter(|s| matches!(s, NfaState::Byte { .. }))
        .count()
        + 1
}

/// The sizes of a machine.
pub fn sizes(m: &Machine, matching: &Matching) -> Sizes {
    let each = || m.rules.iter().enumerate();
    let standalone = |i: usize| matching.standalone.contains_key(&i);
    let nfa = |(i, r): (usize, &Rule)| {
        if needs(m, matching, i).nfa {
            r.nfa.states.len()
        } else {
            1
        }
    };
    let parts = m.rules.iter().map(|r| r.parts).max();
    Sizes {
        rules: m.rules.len().max(1),
        conditions: matching.conditions.len().max(1),
        standalone: matching.standalone.len(),
        early: (matching.standalone.keys())
            .filter(|r| m.rules[**r].early)
            .count(),
        tags: matching.tags().max(1),
        registers: matching.registers().max(1),
        parts: parts.unwrap_or(0).max(1),
        thread_room: each()
            .map(|(i, r)| room(r, standalone(i)))
            .sum::<usize>()
            .max(1),
        nfa_states: each().map(nfa).max().unwrap_or(0).max(1),
    }
}

/// All tables and `nest__rules`.
pub fn emit(m: &Machine, matching: &Matching, w: &mut Writer) {
    for (i, rule) in m.rules.iter().enumerate() {
        let Needs { dfa, nfa } = needs(m, matching, i);
        if dfa || nfa {
            w.line("");
            w.comment(&format!("rule {i}, {}", comment(&rule.label)));
        }
        if let Some(dfa) = rule.dfa.as_ref().filter(|_| dfa) {
            emit_dfa(i, dfa, w);
        }
        if nfa {
            emit_nfa(&format!("rule_{i}"), &rule.nfa, w);
        }
        if let Some(backtracking) = &rule.backtracking {
            emit_backtracking(i, rule, backtracking, w);
        }
        if let Some(cuts) = asked_cuts(matching, i) {
            w.line(&format!(
                "static const struct nest__cut rule_{i}_cuts[] = {{"
            ));
            let ends = [Cut::Start(0)].into_iter().chain(cuts.cuts.clone());
            w.numbers(ends.chain([Cut::End(0)]).map(cut));
            w.line("};");
        }
    }
    w.line("\nconst struct nest__rule nest__rules[NEST__RULES] = {");
    let mut first = 0;
    for (i, rule) in m.rules.iter().enumerate() {
        let Needs { dfa, nfa } = needs(m, matching, i);
        let pointer = |is: bool, text: String| if is { text } else { "NULL".to_string() };
        let cuts = asked_cuts(matching, i);
        w.line(&format!(
            "    {{{}, {}, {}, {}, {first}, {}, {}, {}, {}, {}}},",
            string(&rule.label),
            string(&rule.file),
            rule.line,
            rule.parts,
            pointer(cuts.is_some(), format!("rule_{i}_cuts")),
            pointer(dfa, format!("&rule_{i}_dfa")),
            pointer(nfa, format!("&rule_{i}_nfa")),
            pointer(
                rule.backtracking.is_some(),
                format!("&rule_{i}_backtracking")
            ),
            rule.early,
        ));
        first += room(rule, matching.standalone.contains_key(&i));
    }
    if m.rules.is_empty() {
        w.line("    {\"none\", \"\", 0, 0, 0, NULL, NULL, NULL, NULL, false}, /* never active */");
    }
    w.line("};");
    w.line("\nconst uint64_t nest__first[] = {");
    w.numbers(
        first_bytes(m, matching)
            .iter()
            .map(|word| format!("{word:#x}u")),
    );
    w.line("};");
}

/// `nest__repeated`: the NFAs of repeated elements (service/items).
pub fn emit_repeated(m: &Machine, w: &mut Writer) {
    let each = || {
        let rules = m.rules.iter().enumerate();
        rules.flat_map(|(i, rule)| rule.repeated.iter().map(move |(n, nfa)| (i, n + 1, nfa)))
    };
    for (i, n, nfa) in each() {
        w.line("");
        emit_nfa(&format!("rule_{i}_part_{n}"), nfa, w);
    }
    w.line("\nconst struct nest__repeated nest__repeated[] = {");
    for (i, n, _) in each() {
        w.line(&format!("    {{{i}, {n}, &rule_{i}_part_{n}_nfa}},"));
    }
    if each().next().is_none() {
        w.line("    {NEST__RULES, 0, NULL}, /* no part of any rule */");
    }
    w.line("};");
    let count = each().count().max(1);
    w.line(&format!("const unsigned nest__repeated_count = {count};"));
}

/// The boundaries of a rule that are used.
fn asked_cuts(matching: &Matching, i: usize) -> Option<&Cuts> {
    let cuts = matching.cuts[i].as_ref()?;
    cuts.cuts.iter().any(|c| *c != Cut::Unused).then_some(cuts)
}

fn cut(cut: Cut) -> String {
    let by = |n: i64| u32::try_from(n.rem_euclid(1 << 32)).unwrap_or(0);
    match cut {
        Cut::Unused => "{NEST__MARK_NONE, 0}".to_string(),
        Cut::Start(n) => format!("{{NEST__MARK_START, {n}}}"),
        Cut::End(n) => format!("{{NEST__MARK_END, {}u}}", by(-i64::from(n))),
        Cut::Tag(tag, n) => format!("{{NEST__MARK_TAG + {tag}, {}u}}", by(n)),
    }
}

/// For each byte, words with a bit for each rule: whether the rule is live after that byte.
fn first_bytes(m: &Machine, matching: &Matching) -> Vec<u64> {
    if matching.standalone.is_empty() {
        return vec![0];
    }
    let words = m.rules.len().div_ceil(64).max(1);
    let mut bits = vec![0; 256 * words];
    for (i, rule) in m.rules.iter().enumerate() {
        for byte in 0..=255u8 {
            let live = matching.standalone.contains_key(&i)
                && match (&rule.dfa, &rule.backtracking) {
                    (Some(dfa), _) => {
                        let row = dfa.start as usize * dfa.class_count as usize;
                        dfa.next[row + usize::from(dfa.classes[usize::from(byte)])] != 0
                    }
                    (None, Some(_)) => begins(rule, byte),
                    (None, None) => true,
                };
            bits[usize::from(byte) * words + i / 64] |= u64::from(live) << (i % 64);
        }
    }
    bits
}

/// Whether a message of the rule may begin with the byte.
fn begins(rule: &Rule, byte: u8) -> bool {
    let mut threads = Threads::new(&rule.nfa);
    threads.step(byte);
    threads.is_live() || threads.accepts()
}

/// What libpcre2 is given for a rule.
fn emit_backtracking(i: usize, rule: &Rule, backtracking: &Backtracking, w: &mut Writer) {
    let text = &backtracking.text;
    w.line("");
    w.comment(&format!("rule {i}, {}", comment(&rule.label)));
    if !text.groups.is_empty() {
        w.line(&format!("static const uint16_t rule_{i}_groups[] = {{"));
        w.numbers(text.groups.iter().copied());
        w.line("};");
    }
    let bytes = text.text.as_bytes();
    if bytes.len() > LONGEST_STRING {
        w.line(&format!("static const char rule_{i}_text[] = {{"));
        w.numbers(bytes.iter().copied().chain([0]));
        w.line("};");
    } else {
        w.line(&format!("static const char rule_{i}_text[] ="));
        let lines: Vec<String> = bytes.chunks(LINE).map(string).collect();
        w.line(&format!("    {};", lines.join("\n    ")));
    }
    w.line(&format!(
        "static const struct nest__backtracking rule_{i}_backtracking = {{rule_{i}_text, {}, {}}};",
        match text.groups.is_empty() {
            true => "NULL".to_string(),
            false => format!("rule_{i}_groups"),
        },
        text.groups.len()
    ));
}

/// The longest string that every C compiler has to take; others warn.
const LONGEST_STRING: usize = 4095;

/// Characters of a pattern in a line of C.
const LINE: usize = 80;

/// Makes text safe for a comment.
pub(crate) fn comment(text: &str) -> String {
    text.replace("*/", "* /")
}

fn emit_dfa(i: usize, dfa: &Dfa, w: &mut Writer) {
    w.line(&format!("static const uint8_t rule_{i}_classes[256] = {{"));
    w.numbers(dfa.classes);
    w.line("};");
    w.line(&format!("static const uint16_t rule_{i}_next[] = {{"));
    w.numbers(dfa.next.iter().copied());
    w.line("};");
    w.line(&format!(
        "static const struct nest__dfa rule_{i}_dfa = {{rule_{i}_classes, rule_{i}_next, {}, {}, {}, {}}};",
        dfa.class_count, dfa.start, dfa.first_silent, dfa.count
    ));
}

/// `prefix`: of the names.
fn emit_nfa(prefix: &str, nfa: &Nfa, w: &mut Writer) {
    let mut sets: Vec<ByteSet> = Vec::new();
    let mut targets: Vec<u32> = Vec::new();
    let mut states = Vec::new();
    for state in &nfa.states {
        states.push(match state {
            NfaState::Byte { set, next } => {
                let at = sets.iter().position(|s| s == set).unwrap_or_else(|| {
                    sets.push(*set);
                    sets.len() - 1
                });
                ("NEST__BYTE", [0, at, *next as usize])
            }
            NfaState::Split(to) => {
                let first = targets.len();
                targets.extend(to);
                ("NEST__SPLIT", [0, to.len(), first])
            }
            NfaState::Mark { part, next } => ("NEST__MARK", [*part as usize, 0, *next as usize]),
            NfaState::Match => ("NEST__MATCH", [0, 0, 0]),
        });
    }
    if targets.is_empty() {
        targets.push(0);
    }
    if sets.is_empty() {
        sets.push(ByteSet::EMPTY);
    }
    w.line(&format!("static const uint64_t {prefix}_sets[][4] = {{"));
    for ByteSet([a, b, c, d]) in &sets {
        w.line(&format!("    {{{a:#x}u, {b:#x}u, {c:#x}u, {d:#x}u}},"));
    }
    w.line("};");
    w.line(&format!("static const uint16_t {prefix}_targets[] = {{"));
    w.numbers(targets);
    w.line("};");
    w.line(&format!(
        "static const struct nest__nfa_state {prefix}_states[] = {{"
    ));
    w.numbers(states);
    w.line("};");
    w.line(&format!(
        "static const struct nest__nfa {prefix}_nfa = {{{prefix}_states, {prefix}_targets, {prefix}_sets, {}, {}}};",
        nfa.states.len(),
        nfa.start
    ));
}
