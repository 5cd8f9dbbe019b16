//! One state of an automaton as C: runs of bytes, texts, and the choice by one byte.
//!
//! Bytes that lead back to the same state are passed over many at a time, a text that must come is
//! compared by words; what they cannot decide, the choice by one byte does. Must not know: tables.

use super::Emitter;
use crate::writer::Writer;
use nest_pattern::ByteSet;
use nest_pattern::{Effect, Source};
use std::collections::BTreeMap;

/// Bytes that lead a state back to itself are a run if there are so many different ones.
const RUN: usize = 4;
/// Texts as long as this are compared by words.
const TEXT: usize = 4;
/// Other sets than the largest are labels of a switch up to this size.
const LABELS: usize = 24;

/// The bytes that lead to each (state, effect).
type Ways = BTreeMap<(u32, u32), ByteSet>;

impl Emitter<'_> {
    /// A function with a label for each state.
    pub(super) fn direct(&self, number: usize, w: &mut Writer) {
        self.head(number, w);
        let start = self.merged.start;
        let states = 1..u32::try_from(self.merged.states()).unwrap_or(0);
        let others = || states.clone().filter(|state| *state != start);
        for register in 0..self.merged.registers {
            w.line(&format!("    const uint8_t *r{register} = start;"));
        }
        if self.merged.registers > 0 {
            w.line("    uint16_t state;");
        }
        w.line("    (void)start, (void)p, (void)end;");
        let again = self.led_to(start);
        let resumes = if again { " || p != start" } else { "" };
        w.line(&format!("    if (run->state != {start}{resumes}) {{"));
        for register in 0..self.merged.registers {
            w.line(&format!("        r{register} += run->registers[{register}];"));
        }
        w.line("        switch (run->state) {");
        for state in others() {
            w.line(&format!("        case {state}:"));
            w.line(&format!("            goto s{state};"));
        }
        w.line("        default:");
        w.line("            break;");
        w.line("        }");
        w.line("    }");
        for state in [start].into_iter().chain(others()) {
            self.state(state, w);
        }
        if self.merged.registers > 0 {
            w.line("suspend:");
            for register in 0..self.merged.registers {
                w.line(&format!(
                    "    run->registers[{register}] = (uint32_t)(r{register} - start);"
                ));
            }
            w.line("    return state;");
        }
        w.line("}");
    }

    /// Whether a transition leads to the state.
    fn led_to(&self, state: u32) -> bool {
        self.merged.next.iter().any(|(to, _)| *to == state)
    }

    /// Whether a `goto` leads to the start: not if its only way back is passed over as a run.
    fn jumped_to(&self, state: u32) -> bool {
        let classes = self.merged.class_count;
        let edges = self.merged.next.iter().enumerate();
        let mut from = edges.filter(|(_, (to, _))| *to == state).map(|(at, _)| at / classes);
        from.any(|from| from != state as usize || {
            let mut ways = self.ways(state);
            if let Some((edge, _)) = self.passed_over(state, &ways) {
                ways.remove(&edge);
            }
            ways.keys().any(|(to, _)| *to == state)
        })
    }

    /// No byte is left: what the state needs is kept.
    fn suspend(&self, state: u32, w: &mut Writer) {
        w.line("    if (p == end) {");
        if self.merged.registers == 0 {
            w.line(&format!("        return {state};"));
        } else {
            w.line(&format!("        state = {state};"));
            w.line("        goto suspend;");
        }
        w.line("    }");
    }

    fn ways(&self, state: u32) -> Ways {
        let row = self.merged.row(state as usize);
        let mut ways = Ways::new();
        for byte in 0..=255u8 {
            let edge = row[usize::from(self.merged.classes[usize::from(byte)])];
            ways.entry(edge).or_insert(ByteSet::EMPTY).insert(byte);
        }
        ways
    }

    fn state(&self, state: u32, w: &mut Writer) {
        let mut ways = self.ways(state);
        if state != self.merged.start || self.jumped_to(state) {
            w.line(&format!("s{state}:"));
        }
        self.run_of(state, &mut ways, w);
        self.text(state, w);
        self.suspend(state, w);
        // The most bytes are what is left when the others are told apart.
        let most = ways
            .iter()
            .max_by_key(|(edge, set)| (set.iter().count(), **edge));
        let Some(most) = most.map(|(edge, _)| *edge) else {
            return;
        };
        let others: Vec<_> = ways.iter().filter(|(edge, _)| **edge != most).collect();
        let (listed, tested): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|(_, set)| set.iter().count() <= LABELS);
        for ((to, effect), set) in tested {
            let test = is_in(set);
            if let Some(named) = test.0 {
                w.line("    {");
                w.line(&format!(
                    "        static const struct nest__set set = {named};"
                ));
                w.line(&format!("        if ({}) {{", test.1));
                w.line("            p++;");
                self.go(state, *to, *effect, "            ", w);
                w.line("        }");
                w.line("    }");
                continue;
            }
            w.line(&format!("    if ({}) {{", test.1));
            w.line("        p++;");
            self.go(state, *to, *effect, "        ", w);
            w.line("    }");
        }
        if listed.is_empty() {
            w.line("    p++;");
            self.go(state, most.0, most.1, "    ", w);
            return;
        }
        w.line("    switch (*p++) {");
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
            self.go(state, *to, *effect, "        ", w);
        }
        w.line("    default:");
        self.go(state, most.0, most.1, "        ", w);
        w.line("    }");
    }

    /// The bytes that lead back, if they are many and what they do can be done once.
    fn passed_over(&self, state: u32, ways: &Ways) -> Option<((u32, u32), ByteSet)> {
        let mut back = ways.iter().filter(|((to, effect), set)| {
            *to == state
                && set.iter().count() >= RUN
                && once(&self.merged.effects[*effect as usize])
        });
        back.next().map(|(edge, set)| (*edge, *set))
    }

    /// Passes over them.
    fn run_of(&self, state: u32, ways: &mut Ways, w: &mut Writer) {
        let Some((edge, set)) = self.passed_over(state, ways) else {
            return;
        };
        ways.remove(&edge);
        let (named, scan) = scan(&set);
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
            let effect = &self.merged.effects[edge.1 as usize];
            self.effect(effect, "            ", w);
            w.line("        }");
        }
        w.line("    }");
    }

    /// A text that must come, if it is there whole.
    fn text(&self, state: u32, w: &mut Writer) {
        let (mut text, mut fold) = (Vec::new(), Vec::new());
        let (mut at, mut effect) = (state, 0);
        while effect == 0 && text.len() < 64 {
            let ways = self.ways(at);
            let mut on = ways.iter().filter(|(edge, _)| **edge != (0, 0));
            let (Some(((to, does), set)), None) = (on.next(), on.next()) else {
                break;
            };
            let bytes: Vec<u8> = set.iter().collect();
            let bit = match bytes[..] {
                [_] => 0,
                [a, b] if b == a | 0x20 => 0x20,
                _ => break,
            };
            if *to == at || self.nothing_live_behind(at, *to).is_some() {
                break;
            }
            text.push(bytes[bytes.len() - 1]);
            fold.push(bit);
            (at, effect) = (*to, *does);
        }
        if text.len() < TEXT {
            return;
        }
        let width = if text.len() < 8 { 4 } else { 8 };
        let last = text.len() - width;
        let mut places: Vec<usize> = (0..last).step_by(width).collect();
        places.push(last);
        let tests: Vec<String> = places
            .iter()
            .map(|from| {
                let (text, fold) = (&text[*from..from + width], &fold[*from..from + width]);
                if fold.iter().all(|bit| *bit == 0) {
                    format!("nest__same{width}(p + {from}, {})", bytes(text))
                } else {
                    format!(
                        "nest__like{width}(p + {from}, {}, {})",
                        bytes(text),
                        bytes(fold)
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
        let effects = &self.merged.effects[effect as usize];
        self.effect(effects, "        ", w);
        w.line(&if at == 0 {
            "        return 0;".to_string()
        } else {
            format!("        goto s{at};")
        });
        w.line("    }");
    }

    /// Takes a transition; `p` is behind its byte.
    fn go(&self, from: u32, to: u32, effect: u32, indent: &str, w: &mut Writer) {
        self.effect(&self.merged.effects[effect as usize], indent, w);
        if to == 0 {
            w.line(&format!("{indent}return 0;"));
            return;
        }
        if let Some(none) = self.nothing_live_behind(from, to) {
            w.line(&format!("{indent}if ({none}) {{"));
            w.line(&format!("{indent}    return 0;"));
            w.line(&format!("{indent}}}"));
        }
        w.line(&format!("{indent}goto s{to};"));
    }
}

/// Whether it leaves the same behind if it is done for the last of several bytes alone.
fn once(effect: &Effect) -> bool {
    let set: Vec<u16> = effect.moves.iter().map(|(register, _)| *register).collect();
    let tags = effect.accepts.iter().flat_map(|a| &a.tags);
    effect
        .moves
        .iter()
        .all(|(_, source)| *source == Source::Here)
        && tags.into_iter().all(|source| match source {
            Source::Here => true,
            Source::Register(r) => !set.contains(r),
        })
}

/// Ascending ranges of a set.
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

/// Most comparisons of a run that is told by them.
const COMPARED: usize = 5;

/// How to pass over a run: its last statement, and the set if it needs to be named `set`.
fn scan(set: &ByteSet) -> (Option<String>, String) {
    let stops = set.complement();
    if ranges(&stops).is_empty() {
        return (None, "p = end;".to_string());
    }
    let cost = |set: &ByteSet| ranges(set).iter().map(|(from, to)| ends(*from, *to)).sum();
    let (within, without): (usize, usize) = (cost(set), cost(&stops));
    if within.min(without) > COMPARED {
        let call = "p = nest__among(p, end, &set);";
        return (Some(bytes_set(set)), call.to_string());
    }
    let told = if without <= within {
        compared(&stops)
    } else {
        format!("(({}) == 0)", compared(set))
    };
    (None, format!("NEST__UNTIL(p, end, {told});"))
}

/// How many comparisons tell a range.
fn ends(from: u8, to: u8) -> usize {
    if from == to {
        1
    } else {
        usize::from(from != 0) + usize::from(to != 255)
    }
}

/// C: whether `v` is in the set, which holds for one byte as for a vector of them.
fn compared(set: &ByteSet) -> String {
    let tests = ranges(set).into_iter().map(|(from, to)| {
        let (from_text, to_text) = (literal(from), literal(to));
        match (from, to) {
            _ if from == to => format!("(v == {from_text})"),
            (0, _) => format!("(v <= {to_text})"),
            (_, 255) => format!("(v >= {from_text})"),
            _ => format!("((v >= {from_text}) & (v <= {to_text}))"),
        }
    });
    tests.collect::<Vec<_>>().join(" | ")
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

/// C: whether the byte at `p` is in the set; and the set, if it needs to be named `set`.
fn is_in(set: &ByteSet) -> (Option<String>, String) {
    let tests = ranges(set).into_iter().map(|(from, to)| {
        if from == to {
            format!("*p == {from}")
        } else if from == 0 {
            format!("*p <= {to}")
        } else if to == 255 {
            format!("*p >= {from}")
        } else {
            format!("(uint8_t)(*p - {from}) <= {}", to - from)
        }
    });
    let tests: Vec<String> = tests.collect();
    if tests.len() <= 3 {
        return (None, tests.join(" || "));
    }
    (Some(bytes_set(set)), "nest__has(&set, *p)".to_string())
}

/// A byte as C reads it best.
fn literal(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("'\\{}'", char::from(byte)),
        b' '..=b'~' => format!("'{}'", char::from(byte)),
        b'\r' => "'\\r'".to_string(),
        b'\n' => "'\\n'".to_string(),
        b'\t' => "'\\t'".to_string(),
        _ => byte.to_string(),
    }
}

/// A C string of bytes.
fn bytes(text: &[u8]) -> String {
    let all = text.iter().map(|b| match b {
        b'"' | b'\\' => format!("\\{}", char::from(*b)),
        b' '..=b'~' => char::from(*b).to_string(),
        _ => format!("\\{b:03o}"),
    });
    format!("\"{}\"", all.collect::<String>())
}
