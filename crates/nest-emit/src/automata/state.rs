//! Generates one state of an automaton as C: runs of bytes, texts, and the choice by one byte.
//!
//! Bytes that lead back to the same state are skipped many at a time. A literal text is compared in
//! words. The choice by one byte handles the rest. Must not know: tables.

use super::emitter::Emitter;
use super::words;
use crate::writer::{Writer, string};
use nest_pattern::{ByteSet, Chain};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes that lead a state back to itself are a run if there are at least this many.
pub(super) const RUN: usize = 4;
/// Texts of at least this length are compared in words.
const TEXT: usize = 2;
/// Sets up to this size, except the largest, are labels of a switch.
const LABELS: usize = 24;

/// The bytes that lead to each (state, effect).
pub(super) type Transitions = BTreeMap<(u32, u32), ByteSet>;

impl Emitter<'_> {
    /// A function with a label for each state.
    pub(super) fn direct(&self, w: &mut Writer) {
        let mut states = Writer::new("server.c");
        self.states(&mut states);
        self.byte_sets(w);
        w.put(&without_unused_labels(&states.finish()));
    }

    /// Eight sets share a table: a byte is in a set if its bit is set there.
    fn byte_sets(&self, w: &mut Writer) {
        for (table, sets) in self.sets.borrow().chunks(8).enumerate() {
            w.line(&format!(
                "static const uint8_t automaton_{}_sets_{table}[256] = {{",
                self.number
            ));
            w.numbers((0..=255u8).map(|byte| {
                let bits = sets.iter().enumerate();
                bits.fold(0u8, |all, (bit, set)| {
                    all | u8::from(set.contains(byte)) << bit
                })
            }));
            w.line("};");
        }
    }

    /// C: whether the byte at `p` is in the set.
    fn is_in(&self, set: &ByteSet) -> String {
        let ranges = ranges(set);
        let test = |(from, to): &(u8, u8)| match (*from, *to) {
            (from, to) if from == to => format!("*p == {}", literal(from)),
            (0, to) => format!("*p <= {to}"),
            (from, 255) => format!("*p >= {from}"),
            (from, to) => format!("(uint8_t)(*p - {from}) <= {}", to - from),
        };
        if let [one] = ranges.as_slice() {
            return test(one);
        }
        let mut sets = self.sets.borrow_mut();
        let at = sets.iter().position(|s| s == set).unwrap_or_else(|| {
            sets.push(*set);
            sets.len() - 1
        });
        format!(
            "(automaton_{}_sets_{}[*p] & {}) != 0",
            self.number,
            at / 8,
            1 << (at % 8)
        )
    }

    fn states(&self, w: &mut Writer) {
        self.head(w);
        let product = self.product;
        let start = product.start;
        let blocks: Vec<u32> = product
            .blocks()
            .skip(1)
            .filter_map(|state| u32::try_from(state).ok())
            .collect();
        let used = self.kept.all();
        let first = &self.kept.groups()[self.kept.group(start)];
        for register in &used {
            let value = if first.contains(register) {
                " = start"
            } else {
                ""
            };
            w.line(&format!("    const uint8_t *r{register}{value};"));
        }
        for register in self.kept.passing(product) {
            w.line(&format!("    const uint8_t *r{register};"));
        }
        if self.leads.iter().any(Option::is_some) {
            w.line("    const uint8_t *begun; /* where a run began, if it was in these bytes */");
        }
        w.line("    uint16_t state;");
        if !product.chains.is_empty() {
            w.line("    uint32_t left; /* steps to the end of a chain */");
        }
        w.line("    (void)from, (void)start, (void)p, (void)end;");
        w.line("    if (p != start) {");
        self.best_before("        ", w);
        for register in &used {
            w.line(&format!(
                "        r{register} = start + run->registers[{register}];"
            ));
        }
        for (n, chain) in product.chains.iter().enumerate() {
            let behind = chain.first + chain.length;
            w.line(&format!(
                "        if (from >= {} && from < {behind}) {{",
                chain.first
            ));
            w.line(&format!("            left = {behind}u - from;"));
            w.line(&format!("            goto c{n};"));
            w.line("        }");
        }
        w.line("        switch (from) {");
        for state in &blocks {
            if *state != start && product.chain_of(*state).is_none() {
                w.line(&format!("        case {state}:"));
                w.line(&format!("            goto s{state};"));
            }
        }
        w.line("        default:");
        w.line("            break;");
        w.line("        }");
        w.line("    }");
        let first = if product.chain_of(start).is_some() {
            self.jump(start, "    ", w);
            None
        } else {
            Some(start)
        };
        for state in first
            .into_iter()
            .chain(blocks.iter().copied().filter(|state| Some(*state) != first))
        {
            self.state(state, w);
        }
        for (n, registers) in self.kept.groups().iter().enumerate() {
            w.line(&format!("suspend_{n}:"));
            for register in registers {
                w.line(&format!(
                    "    run->registers[{register}] = (uint32_t)(r{register} - start);"
                ));
            }
            w.line(&format!("    run->automaton = {};", self.number));
            w.line("    return (struct nest__step){state, best_n};");
        }
        w.line("}");
    }

    /// Goes to a state that consumes the byte at `p`.
    pub(super) fn jump(&self, to: u32, indent: &str, w: &mut Writer) {
        if let Some((n, chain)) = self.product.chain_of(to) {
            let left = chain.left(to).unwrap_or(0);
            w.line(&format!("{indent}left = {left};"));
            w.line(&format!("{indent}goto c{n};"));
        } else {
            w.line(&format!("{indent}goto s{to};"));
        }
    }

    /// At the end of the bytes: saves what the state needs.
    pub(super) fn suspend(&self, state: u32, w: &mut Writer) {
        let group = self.kept.group(state);
        let state = match self.product.chain_of(state) {
            None => state.to_string(),
            Some((_, chain)) => format!("(uint16_t)({}u - left)", chain.first + chain.length),
        };
        w.line("    if (p == end) {");
        w.line(&format!("        state = {state};"));
        w.line(&format!("        goto suspend_{group};"));
        w.line("    }");
    }

    pub(super) fn transitions(&self, state: u32) -> Transitions {
        let row = self.product.row(state as usize);
        let mut transitions = Transitions::new();
        for byte in 0..=255u8 {
            let edge = row[usize::from(self.product.classes[usize::from(byte)])];
            transitions
                .entry(edge)
                .or_insert(ByteSet::EMPTY)
                .insert(byte);
        }
        transitions
    }

    fn state(&self, state: u32, w: &mut Writer) {
        let mut transitions = self.transitions(state);
        if let Some((n, chain)) = self.product.chain_of(state) {
            w.line(&format!("c{n}:"));
            self.count_down(chain, &mut transitions, w);
        } else {
            w.line(&format!("s{state}:"));
            if self.is_led(state) {
                self.led(state, &mut transitions, w);
            } else {
                self.run_of(state, &mut transitions, w);
            }
            self.text(state, &transitions, w);
            self.words(state, w);
            self.lead(state, &mut transitions, w);
        }
        self.suspend(state, w);
        // The largest set is what remains when the others are excluded.
        let most = transitions
            .iter()
            .max_by_key(|(edge, set)| (set.iter().count(), **edge));
        let Some(most) = most.map(|(edge, _)| *edge) else {
            w.line("    return (struct nest__step){0, best_n}; /* no byte gets here */");
            return;
        };
        let others: Vec<_> = transitions
            .iter()
            .filter(|(edge, _)| **edge != most)
            .collect();
        let (listed, tested): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|(_, set)| set.iter().count() <= LABELS);
        // Legal input is common, so sets that end the match are tested last.
        let (refused, taken): (Vec<_>, Vec<_>) =
            tested.into_iter().partition(|((to, _), _)| *to == 0);
        let tests = |those: &[(&(u32, u32), &ByteSet)], indent: &str, w: &mut Writer| {
            for ((to, effect), set) in those {
                w.line(&format!("{indent}if ({}) {{", self.is_in(set)));
                w.line(&format!("{indent}    p++;"));
                self.go(state, *to, *effect, &format!("{indent}    "), w);
                w.line(&format!("{indent}}}"));
            }
        };
        tests(&taken, "    ", w);
        if listed.is_empty() {
            tests(&refused, "    ", w);
            w.line("    p++;");
            self.go(state, most.0, most.1, "    ", w);
            return;
        }
        w.line("    switch (*p) {");
        for ((to, effect), set) in listed {
            let mut labels = String::from("   ");
            for byte in set.iter() {
                let label = format!(" case {}:", literal(byte));
                if labels.len() + label.len() > 100 {
                    w.line(&labels);
                    labels = String::from("   ");
                }
                labels.push_str(&label);
            }
            w.line(&labels);
            w.line("        p++;");
            self.go(state, *to, *effect, "        ", w);
        }
        w.line("    default:");
        tests(&refused, "        ", w);
        w.line("        p++;");
        self.go(state, most.0, most.1, "        ", w);
        w.line("    }");
    }

    /// The bytes that lead back, if there are many and their effects can be done once.
    pub(super) fn passed_over(
        &self,
        state: u32,
        transitions: &Transitions,
    ) -> Option<((u32, u32), ByteSet)> {
        let mut back = transitions.iter().filter(|((to, effect), set)| {
            *to == state
                && set.iter().count() >= RUN
                && self.product.effects[*effect as usize].at_once()
        });
        back.next().map(|(edge, set)| (*edge, *set))
    }

    /// Skips them.
    fn run_of(&self, state: u32, transitions: &mut Transitions, w: &mut Writer) {
        let Some((edge, set)) = self.passed_over(state, transitions) else {
            return;
        };
        transitions.remove(&edge);
        let (named, scan) = scan(&set, "end");
        if edge.1 == 0 && named.is_none() {
            w.line(&format!("    {scan}"));
            return;
        }
        w.line("    {");
        if let Some(named) = named {
            w.line(&format!(
                "        static const struct nest__set set = {named};"
            ));
        }
        if edge.1 != 0 {
            w.line("        const uint8_t *from = p;");
        }
        w.line(&format!("        {scan}"));
        if edge.1 != 0 {
            w.line("        if (p != from) {");
            self.effect(edge.1, &[state], "            ", w);
            w.line("        }");
        }
        w.line("    }");
    }

    /// The only byte that continues, with the bit in which its case differs, and its transition.
    fn letter(&self, state: u32, transitions: &Transitions) -> Option<(u8, u8, (u32, u32))> {
        let mut on = transitions.iter().filter(|(edge, _)| **edge != (0, 0));
        let (Some((edge, set)), None) = (on.next(), on.next()) else {
            return None;
        };
        let bytes: Vec<u8> = set.iter().collect();
        let (byte, bit) = words::letter(&bytes)?;
        let on = edge.0 == 0 || self.nothing_live_behind(state, edge.0).is_none();
        (on && edge.0 != state).then_some((byte, bit, *edge))
    }

    /// Whether the state is only reached within a text: no text begins there, but input may resume
    /// there.
    pub(super) fn within_text(&self, state: u32) -> bool {
        let classes = self.product.class_count;
        let edges = self.product.next.iter().enumerate();
        let mut from = edges
            .filter(|(_, (to, _))| *to == state)
            .map(|(at, _)| u32::try_from(at / classes).unwrap_or(0));
        state != self.product.start
            && from.all(|from| {
                matches!(
                    self.letter(from, &self.transitions(from)),
                    Some((_, _, (_, 0)))
                )
            })
    }

    /// Advances along a chain as many steps as there are bytes.
    fn count_down(&self, chain: &Chain, transitions: &mut Transitions, w: &mut Writer) {
        let edge = (chain.next(chain.first), chain.effect);
        let Some(set) = transitions.remove(&edge) else {
            return;
        };
        let (named, scan) = scan(&set, "stop");
        w.line("    {");
        if let Some(named) = named {
            w.line(&format!(
                "        static const struct nest__set set = {named};"
            ));
        }
        w.line("        const uint8_t *from = p;");
        w.line("        const uint8_t *stop = (size_t)(end - p) < left ? end : p + left;");
        w.line(&format!("        {scan}"));
        w.line("        left -= (uint32_t)(p - from);");
        if chain.effect != 0 {
            w.line("        if (p != from) {");
            let to = [chain.first, chain.exit];
            self.effect(chain.effect, &to, "            ", w);
            w.line("        }");
        }
        w.line("    }");
        w.line("    if (left == 0) {");
        self.jump(chain.exit, "        ", w);
        w.line("    }");
    }

    /// Compares a literal text if all of it has arrived; `transitions` are those of its first
    /// byte.
    fn text(&self, state: u32, transitions: &Transitions, w: &mut Writer) {
        let (mut text, mut fold) = (Vec::new(), Vec::new());
        let (mut at, mut effect) = (state, 0);
        let mut letter = self.letter(state, transitions);
        while let Some((byte, bit, (to, does))) = letter {
            text.push(byte);
            fold.push(bit);
            (at, effect) = (to, does);
            if effect != 0 || text.len() == 64 {
                break;
            }
            letter = self.letter(at, &self.transitions(at));
        }
        if text.len() < TEXT || self.within_text(state) {
            return;
        }
        let width = match text.len() {
            0..4 => 2,
            4..8 => 4,
            _ => 8,
        };
        let last = text.len() - width;
        let mut places: Vec<usize> = (0..last).step_by(width).collect();
        places.push(last);
        let tests: Vec<String> = places
            .iter()
            .map(|from| {
                let (text, fold) = (&text[*from..from + width], &fold[*from..from + width]);
                if fold.iter().all(|bit| *bit == 0) {
                    format!("nest__same{width}(p + {from}, {})", string(text))
                } else {
                    format!(
                        "nest__like{width}(p + {from}, {}, {})",
                        string(text),
                        string(fold)
                    )
                }
            })
            .collect();
        w.line(&format!(
            "    if (end - p >= {} && {}) {{",
            text.len(),
            tests.join(" && ")
        ));
        w.line(&format!("        p += {};", text.len()));
        self.effect(effect, &[at], "        ", w);
        if at == 0 {
            w.line("        return (struct nest__step){0, best_n};");
        } else {
            self.jump(at, "        ", w);
        }
        w.line("    }");
    }

    /// Follows a transition; `p` is after its byte.
    pub(super) fn go(&self, from: u32, to: u32, effect: u32, indent: &str, w: &mut Writer) {
        self.effect(effect, &[to], indent, w);
        if to == 0 {
            w.line(&format!("{indent}return (struct nest__step){{0, best_n}};"));
            return;
        }
        if let Some(none) = self.nothing_live_behind(from, to) {
            w.line(&format!("{indent}if ({none}) {{"));
            w.line(&format!(
                "{indent}    return (struct nest__step){{0, best_n}};"
            ));
            w.line(&format!("{indent}}}"));
        }
        self.jump(to, indent, w);
    }
}

/// The label of the start, or of a text: no other code may jump there.
fn without_unused_labels(code: &str) -> String {
    let jumps = code.lines().filter_map(|line| {
        let to = line.trim_start().strip_prefix("goto ")?;
        to.strip_suffix(';')
    });
    let jumps: BTreeSet<&str> = jumps.collect();
    let lines = code.lines().filter(|line| {
        let label = line.strip_suffix(':').filter(|l| !l.starts_with(' '));
        label.is_none_or(|label| jumps.contains(label))
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The ascending ranges of a set.
fn ranges(set: &ByteSet) -> Vec<(u8, u8)> {
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    for byte in set.iter() {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == byte => *to = byte,
            _ => ranges.push((byte, byte)),
        }
    }
    ranges
}

/// The maximum number of vector operations to recognise a run; beyond it, bytes are looked up.
const COMPARED: usize = 12;

/// How to skip a run up to `end`: the last statement, and the set if it needs the name `set`.
pub(super) fn scan(set: &ByteSet, end: &str) -> (Option<String>, String) {
    let stops = set.complement();
    if ranges(&stops).is_empty() {
        return (None, format!("p = {end};"));
    }
    let (ends, cost) = compared(&stops);
    let (goes, other) = compared(set);
    if cost.min(other) > COMPARED {
        return (
            Some(bytes_set(set)),
            format!("p = nest__among(p, {end}, &set);"),
        );
    }
    let scan = if cost <= other + 1 {
        ends
    } else {
        format!("(({goes}) == 0)")
    };
    (None, format!("NEST__UNTIL(p, {end}, {scan});"))
}

/// C: whether `v` is in the set, valid for a byte and for a vector of them; and the number of SSE2
/// operations. SSE2 has only a minimum to compare unsigned values.
fn compared(set: &ByteSet) -> (String, usize) {
    // Ranges without single bytes: from, to, the excluded bytes.
    let mut all: Vec<(u8, u8, Vec<u8>)> = Vec::new();
    for (from, to) in ranges(set) {
        match all.last_mut() {
            Some((_, last, holes)) if u16::from(*last) + 2 == u16::from(from) => {
                holes.push(from - 1);
                *last = to;
            }
            _ => all.push((from, to, Vec::new())),
        }
    }
    // Modulo 256, ranges at both ends are one range.
    if all.len() > 1 && all[0].0 == 0 && all[all.len() - 1].1 == 255 {
        let (_, to, mut more) = all.remove(0);
        if let Some((_, last, holes)) = all.last_mut() {
            *last = to;
            holes.append(&mut more);
        }
    }
    let mut cost = all.len().saturating_sub(1);
    let tests = all.into_iter().map(|(from, to, holes)| {
        let (test, n) = match (from, to) {
            _ if from == to => (format!("(v == {})", literal(from)), 1),
            (0, 255) => {
                // All bytes except the holes (at least one); each comparison is inverted.
                cost += 3 * holes.len();
                let each = holes
                    .iter()
                    .map(|hole| format!("(v != {})", literal(*hole)));
                return format!("({})", each.collect::<Vec<_>>().join(" & "));
            }
            (0, _) => (format!("(v <= {})", literal(to)), 2),
            (_, 255) => (format!("(v >= {})", literal(from)), 2),
            _ => {
                let (least, more) = (literal(from), to.wrapping_sub(from));
                (format!("(NEST__LESS(v, {least}) <= {more})"), 3)
            }
        };
        cost += n + 2 * holes.len();
        if holes.is_empty() {
            return test;
        }
        // Each excluded byte is in the range, so inequality needs no inversion.
        let holes = holes
            .iter()
            .map(|hole| format!("(v == {})", literal(*hole)));
        let all: Vec<String> = [test].into_iter().chain(holes).collect();
        format!("({})", all.join(" ^ "))
    });
    let tests: Vec<String> = tests.collect();
    (tests.join(" | "), cost)
}

/// C: a set as `struct nest__set`.
fn bytes_set(set: &ByteSet) -> String {
    let ByteSet([a, b, c, d]) = set;
    let mut rows = [0u8; 16];
    for byte in set.iter().filter(|b| *b < 128) {
        rows[usize::from(byte & 15)] |= 1 << (byte >> 4);
    }
    let high = set.iter().filter(|b| *b >= 128).count();
    let rows: Vec<String> = rows.iter().map(u8::to_string).collect();
    format!(
        "{{{{{a:#x}u, {b:#x}u, {c:#x}u, {d:#x}u}}, {{{}}}, {}}}",
        rows.join(", "),
        match high {
            0 => "NEST__HIGH_OUT",
            128 => "NEST__HIGH_IN",
            _ => "NEST__HIGH_MIXED",
        }
    )
}

/// A byte in the most readable form for C.
pub(super) fn literal(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("'\\{}'", char::from(byte)),
        b' '..=b'~' => format!("'{}'", char::from(byte)),
        b'\r' => "'\\r'".to_string(),
        b'\n' => "'\\n'".to_string(),
        b'\t' => "'\\t'".to_string(),
        _ => byte.to_string(),
    }
}
