//! The matchers' tables: `runtime/seam.h` says what each field means.

use crate::writer::{Writer, string};
use nest_machine::{Machine, Rule};
use nest_pattern::{ByteSet, Dfa, Nfa, NfaState};

/// Sizes that the runtime takes from the tables.
pub struct Sizes {
    /// NEST__RULES.
    pub rules: usize,
    /// NEST__PARTS.
    pub parts: usize,
    /// NEST__THREAD_ROOM.
    pub thread_room: usize,
    /// NEST__NFA_STATES.
    pub nfa_states: usize,
}

/// Whether the rule's NFA is needed at run time.
fn keeps_nfa(rule: &Rule) -> bool {
    rule.dfa.is_none() || (rule.parts_used && rule.parts > 1)
}

/// Words for the thread list of a rule.
fn room(rule: &Rule) -> usize {
    if rule.dfa.is_some() {
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
pub fn sizes(m: &Machine) -> Sizes {
    let most = |f: &dyn Fn(&Rule) -> usize| m.rules.iter().map(f).max().unwrap_or(0).max(1);
    Sizes {
        rules: m.rules.len().max(1),
        parts: most(&|r| r.parts),
        thread_room: m.rules.iter().map(room).sum::<usize>().max(1),
        nfa_states: most(&|r| if keeps_nfa(r) { r.nfa.states.len() } else { 1 }),
    }
}

/// All tables and `nest__rules`.
pub fn emit(m: &Machine, w: &mut Writer) {
    for (i, rule) in m.rules.iter().enumerate() {
        let how = match &rule.dfa {
            Some(d) => format!("{} states, {} byte classes", d.count, d.class_count),
            None => format!(
                "{} threads at most: too many states for a table",
                room(rule) - 1
            ),
        };
        w.line(&format!(
            "\n/* rule {i}, {}: {how} */",
            comment(&rule.label)
        ));
        if let Some(dfa) = &rule.dfa {
            emit_dfa(i, dfa, w);
        }
        if keeps_nfa(rule) {
            emit_nfa(i, &rule.nfa, w);
        }
    }
    w.line("\nconst struct nest__rule nest__rules[NEST__RULES] = {");
    let mut first = 0;
    for (i, rule) in m.rules.iter().enumerate() {
        let dfa = if rule.dfa.is_some() {
            format!("&rule_{i}_dfa")
        } else {
            "NULL".to_string()
        };
        let nfa = if keeps_nfa(rule) {
            format!("&rule_{i}_nfa")
        } else {
            "NULL".to_string()
        };
        w.line(&format!(
            "    {{{}, {}, {}, {}, {first}, {dfa}, {nfa}}},",
            string(&rule.label),
            string(&rule.file),
            rule.line,
            rule.parts
        ));
        first += room(rule);
    }
    if m.rules.is_empty() {
        w.line("    {\"none\", \"\", 0, 0, 0, NULL, NULL}, /* never active */");
    }
    w.line("};");
    w.line("\nconst uint64_t nest__first[256 * NEST__RULE_WORDS] = {");
    w.numbers(first_bytes(m).iter().map(|word| format!("{word:#x}u")));
    w.line("};");
}

/// For each byte, words of a bit for each rule: whether it is live behind that byte.
fn first_bytes(m: &Machine) -> Vec<u64> {
    let words = m.rules.len().div_ceil(64).max(1);
    let mut bits = vec![0; 256 * words];
    for (i, rule) in m.rules.iter().enumerate() {
        for byte in 0..256 {
            let live = rule.dfa.as_ref().is_none_or(|dfa| {
                let row = dfa.start as usize * dfa.class_count as usize;
                dfa.next[row + usize::from(dfa.classes[byte])] != 0
            });
            bits[byte * words + i / 64] |= u64::from(live) << (i % 64);
        }
    }
    bits
}

fn comment(text: &str) -> String {
    text.replace("*/", "* /")
}

fn emit_dfa(i: usize, dfa: &Dfa, w: &mut Writer) {
    w.line(&format!("static const uint8_t rule_{i}_classes[256] = {{"));
    w.numbers(dfa.classes);
    w.line("};");
    w.line(&format!("static const uint16_t rule_{i}_next[] = {{"));
    w.numbers(&dfa.next);
    w.line("};");
    w.line(&format!(
        "static const struct nest__dfa rule_{i}_dfa = {{rule_{i}_classes, rule_{i}_next, {}, {}, {}, {}}};",
        dfa.class_count, dfa.start, dfa.first_silent, dfa.count
    ));
}

fn emit_nfa(i: usize, nfa: &Nfa, w: &mut Writer) {
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
                format!("{{NEST__BYTE, 0, {at}, {next}}}")
            }
            NfaState::Split(to) => {
                let first = targets.len();
                targets.extend(to);
                format!("{{NEST__SPLIT, 0, {}, {first}}}", to.len())
            }
            NfaState::Mark { part, next } => format!("{{NEST__MARK, {part}, 0, {next}}}"),
            NfaState::Match => "{NEST__MATCH, 0, 0, 0}".to_string(),
        });
    }
    if targets.is_empty() {
        targets.push(0);
    }
    if sets.is_empty() {
        sets.push(ByteSet::EMPTY);
    }
    w.line(&format!("static const uint64_t rule_{i}_sets[][4] = {{"));
    for ByteSet([a, b, c, d]) in &sets {
        w.line(&format!("    {{{a:#x}u, {b:#x}u, {c:#x}u, {d:#x}u}},"));
    }
    w.line("};");
    w.line(&format!("static const uint16_t rule_{i}_targets[] = {{"));
    w.numbers(&targets);
    w.line("};");
    w.line(&format!(
        "static const struct nest__nfa_state rule_{i}_states[] = {{"
    ));
    w.numbers(&states);
    w.line("};");
    w.line(&format!(
        "static const struct nest__nfa rule_{i}_nfa = {{rule_{i}_states, rule_{i}_targets, rule_{i}_sets, {}, {}}};",
        nfa.states.len(),
        nfa.start
    ));
}
