//! Generates automata of several rules as C: code for each state, or a table and one loop.
//!
//! Both can resume at any byte: they save the state and the registers. `runtime/seam.h` describes a
//! run. Must not know: why these rules share an automaton.

mod emitter;
mod kept;
mod lead;
mod state;
mod words;

use crate::condition::condition;
use crate::tables::comment;
use crate::writer::Writer;
use emitter::Emitter;
use nest_machine::matching::{Active, Matching};
use nest_machine::{Cond, Machine};
use nest_pattern::Source;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// All automata, and the function by which the engine runs them.
pub fn emit(m: &Machine, matching: &Matching, w: &mut Writer) {
    for (number, automaton) in (1..).zip(&matching.automata) {
        let product = &automaton.product;
        let letter_of = words::letter_of(&product.classes, product.class_count);
        let mut emitter = Emitter {
            matching,
            automaton,
            product,
            number,
            sets: RefCell::default(),
            begins: words::begins(product, &letter_of),
            letter_of,
            kept: kept::Kept::default(),
            leads: Vec::new(),
        };
        emitter.describe(m, w);
        if automaton.direct {
            emitter.kept = kept::Kept::of(product);
            emitter.leads = emitter.find_leads();
            emitter.direct(w);
        } else {
            emitter.table(w);
        }
    }
    run(matching, w);
}

/// `nest__spec_run`: which automaton is running, and its run.
fn run(matching: &Matching, w: &mut Writer) {
    w.line(
        "\nstruct nest__step nest__spec_run(struct nest__run *run, uint64_t states, unsigned last,",
    );
    w.line("                                 const uint8_t *start, const uint8_t *p,");
    w.line("                                 const uint8_t *end) {");
    w.line("    uint16_t automaton, state;");
    w.line("    (void)states, (void)last, (void)end;");
    w.line("    if (p == start) {");
    begin(matching, w);
    w.line("    } else {");
    w.line("        state = run->state;");
    w.line("        automaton = state != 0 ? run->automaton : 0;");
    w.line("    }");
    w.line("    switch (automaton) {");
    for number in 1..=matching.automata.len() {
        w.line(&format!("    case {number}:"));
        w.line(&format!(
            "        return automaton_{number}(run, state, start, p, end);"
        ));
    }
    w.line("    default:");
    w.line("        break;");
    w.line("    }");
    w.line("    return (struct nest__step){0, p == start ? 0 : run->best_n};");
    w.line("}");
}

/// The beginning: the automaton for the active rules, and its start.
fn begin(matching: &Matching, w: &mut Writer) {
    // Which conditions hold is asked for while it runs, or tells the automaton and no more.
    let masked = !matching.standalone.is_empty()
        || (matching.automata.iter()).any(|automaton| match &automaton.active {
            Some(active) => !active.alone,
            None => (automaton.conditions.iter()).any(|bit| !automaton.is_certain(*bit)),
        });
    if masked {
        w.line("        nest__spec_active(states, last, &run->active);");
    }
    let mut otherwise = "";
    for (number, automaton) in (1..).zip(&matching.automata) {
        let one_of = |hold: &BTreeSet<usize>| {
            let all = hold.iter().any(|c| matching.conditions[*c] == Cond::True);
            (!all).then(|| {
                if masked {
                    any_active(hold)
                } else {
                    let each = hold.iter().map(|c| condition(&matching.conditions[*c]));
                    each.collect::<Vec<_>>().join(" || ")
                }
            })
        };
        let test = match &automaton.active {
            Some(active) if active.alone => one_of(&active.hold), // this automaton, and all of its rules are active
            Some(active) => Some(all_active(active)),
            None => one_of(&automaton.conditions),
        };
        let always = test.is_none();
        let inner = match test {
            Some(test) => {
                w.line(&format!("        {otherwise}if ({test}) {{"));
                "            "
            }
            None if otherwise.is_empty() => "        ",
            None => {
                w.line("        } else {");
                "            "
            }
        };
        w.line(&format!("{inner}automaton = {number};"));
        w.line(&format!("{inner}state = {};", automaton.product.start));
        if !automaton.direct {
            for register in &automaton.product.zeroed {
                w.line(&format!("{inner}run->registers[{register}] = 0;"));
            }
        }
        if always {
            if !otherwise.is_empty() {
                w.line("        }");
            }
            return; // no other automaton can be selected
        }
        otherwise = "} else ";
    }
    let inner = if otherwise.is_empty() {
        "        "
    } else {
        w.line("        } else {");
        "            "
    };
    w.line(&format!("{inner}automaton = 0;"));
    w.line(&format!("{inner}state = 0;"));
    unforeseen(matching, masked, inner, w);
    if !otherwise.is_empty() {
        w.line("        }");
    }
}

/// Conditions of rules are true together for which there is no automaton.
fn unforeseen(matching: &Matching, masked: bool, indent: &str, w: &mut Writer) {
    let rules = matching.condition_of.iter().enumerate();
    let together: BTreeSet<usize> = rules
        .filter(|(rule, _)| !matching.standalone.contains_key(rule))
        .map(|(_, condition)| *condition)
        .collect();
    if !matching.foreseen || together.is_empty() {
        return;
    }
    let test = if masked {
        any_active(&together)
    } else {
        let each = together.iter().map(|c| condition(&matching.conditions[*c]));
        each.collect::<Vec<_>>().join(" || ")
    };
    w.line(&format!("{indent}if ({test}) {{"));
    w.line(&format!("{indent}    nest__unforeseen();"));
    w.line(&format!("{indent}}}"));
}

/// The words of bits for conditions.
fn words<'a>(bits: impl IntoIterator<Item = &'a usize>) -> BTreeMap<usize, u64> {
    let mut words: BTreeMap<usize, u64> = BTreeMap::new();
    for bit in bits {
        *words.entry(bit / 64).or_default() |= 1 << (bit % 64);
    }
    words
}

/// C: whether one of the conditions is true.
fn any_active<'a>(bits: impl IntoIterator<Item = &'a usize>) -> String {
    let words = words(bits).into_iter();
    let tests = words.map(|(word, mask)| format!("(run->active.bits[{word}] & {mask:#x}u) != 0"));
    tests.collect::<Vec<_>>().join(" || ")
}

/// C: whether exactly these conditions of their group are true.
fn all_active(active: &Active) -> String {
    let set = words(&active.hold);
    let tests = words(active.hold.iter().chain(&active.others))
        .into_iter()
        .map(|(word, mask)| {
            let is = set.get(&word).copied().unwrap_or(0);
            format!("(run->active.bits[{word}] & {mask:#x}u) == {is:#x}u")
        });
    tests.collect::<Vec<_>>().join(" && ")
}

impl Emitter<'_> {
    fn describe(&self, m: &Machine, w: &mut Writer) {
        let names = self
            .automaton
            .rules
            .iter()
            .map(|r| comment(&m.rules[*r].label));
        let text = format!(
            "{}: {} states, {} byte classes, {} registers",
            names.collect::<Vec<_>>().join(", "),
            self.product.states(),
            self.product.class_count,
            self.product.registers
        );
        w.line("");
        w.comment(&text);
    }

    fn certain(&self, condition: usize) -> bool {
        self.automaton.is_certain(condition)
    }

    /// C: that none of the rules that are live in `state` is active; `None` if one always is.
    fn nothing_live(&self, state: u32) -> Option<String> {
        let live = &self.product.live[state as usize];
        let bits: Vec<usize> = live.iter().map(|b| *b as usize).collect();
        let all = bits.len() == self.automaton.conditions.len();
        if all || bits.iter().any(|b| self.certain(*b)) {
            return None;
        }
        Some(format!("!({})", any_active(&bits)))
    }

    /// The same for a transition from `from`: also `None` if that state ensures it.
    fn nothing_live_behind(&self, from: u32, to: u32) -> Option<String> {
        let live = |s: u32| &self.product.live[s as usize];
        if live(from).iter().all(|bit| live(to).contains(bit)) {
            return None;
        }
        self.nothing_live(to)
    }

    /// What a transition to one of the states does; `p` is after its byte.
    fn effect(&self, effect: u32, to: &[u32], indent: &str, w: &mut Writer) {
        let effect = &self.product.effects[effect as usize];
        // Code has its registers at hand while it runs, as pointers; a table has them in the run.
        let direct = self.automaton.direct;
        let value = |source: &Source| match source {
            Source::Here => "(uint32_t)(p - start)".to_string(),
            Source::Register(r) if direct => format!("(uint32_t)(r{r} - start)"),
            Source::Register(r) => format!("run->registers[{r}]"),
        };
        let mut otherwise = "";
        for accept in &effect.accepts {
            let rule = self.automaton.rules[accept.member];
            let condition = self.matching.condition_of[rule];
            let certain = self.certain(condition);
            let inner = match (certain, otherwise) {
                (true, "") => indent.to_string(),
                (true, _) => {
                    w.line(&format!("{indent}}} else {{"));
                    format!("{indent}    ")
                }
                (false, _) => {
                    w.line(&format!(
                        "{indent}{otherwise}if ({}) {{",
                        any_active([&condition])
                    ));
                    format!("{indent}    ")
                }
            };
            w.line(&format!("{inner}run->best = {rule};"));
            w.line(&format!("{inner}best_n = (uint64_t)(p - start);"));
            for (tag, source) in accept.tags.iter().enumerate() {
                w.line(&format!("{inner}run->tags[{tag}] = {};", value(source)));
            }
            if certain {
                if !otherwise.is_empty() {
                    w.line(&format!("{indent}}}"));
                    otherwise = "";
                }
                break; // no other can be preferred to it
            }
            otherwise = "} else ";
        }
        if !otherwise.is_empty() {
            w.line(&format!("{indent}}}"));
        }
        self.decision(&effect.decides, indent, w);
        let moves = if direct {
            self.kept.moves(effect, to)
        } else {
            effect.moves.clone()
        };
        for (register, source) in &moves {
            w.line(&match source {
                Source::Here if direct => format!("{indent}r{register} = p;"),
                Source::Register(from) if direct => format!("{indent}r{register} = r{from};"),
                _ => format!("{indent}run->registers[{register}] = {};", value(source)),
            });
        }
    }

    /// The end of the run, if one of these conditions is true: an early rule has accepted.
    fn decision(&self, decides: &[u32], indent: &str, w: &mut Writer) {
        if decides.is_empty() {
            return;
        }
        let bits: Vec<usize> = decides.iter().map(|bit| *bit as usize).collect();
        w.line(&format!("{indent}if ({}) {{", any_active(&bits)));
        w.line(&format!(
            "{indent}    return (struct nest__step){{0, best_n}};"
        ));
        w.line(&format!("{indent}}}"));
    }

    /// A table of edges, `state | flags << 16`, and the loop over it.
    fn table(&self, w: &mut Writer) {
        let number = self.number;
        // The flags of an edge: it has an effect; liveness must be checked.
        let mut kinds: Vec<(u32, Option<u32>)> = vec![(0, None)];
        let mut edges = Vec::with_capacity(self.product.next.len());
        for (at, (to, effect)) in self.product.next.iter().enumerate() {
            let from = u32::try_from(at / self.product.class_count).unwrap_or(0);
            let looks = *to != 0 && self.nothing_live_behind(from, *to).is_some();
            let kind = (*effect, looks.then_some(*to));
            let what = kinds.iter().position(|k| *k == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            edges.push(*to as usize | what << 16);
        }
        w.line(&format!(
            "static const uint8_t automaton_{number}_classes[256] = {{"
        ));
        w.numbers(self.product.classes);
        w.line("};");
        w.line(&format!(
            "static const uint32_t automaton_{number}_next[] = {{"
        ));
        w.numbers(edges);
        w.line("};");
        self.head(w);
        w.line("    uint32_t state = from;");
        self.best_before("    ", w);
        w.line("    while (p != end) {");
        w.line(&format!(
            "        uint32_t edge = automaton_{number}_next[state * {} + automaton_{number}_classes[*p++]];",
            self.product.class_count
        ));
        w.line("        state = edge & 0xffff;");
        w.line("        if (edge - 1 < 0xffff) {");
        w.line("            continue;");
        w.line("        }");
        w.line("        switch (edge >> 16) {");
        for (what, (effect, looks)) in kinds.iter().enumerate().skip(1) {
            w.line(&format!("        case {what}:"));
            self.effect(*effect, &[], "            ", w);
            if let Some(none) = looks.and_then(|to| self.nothing_live(to)) {
                w.line(&format!("            if ({none}) {{"));
                w.line("                return (struct nest__step){0, best_n};");
                w.line("            }");
            }
            w.line("            break;");
        }
        w.line("        default:");
        w.line("            break;");
        w.line("        }");
        w.line("        if (state == 0) {");
        w.line("            return (struct nest__step){0, best_n};");
        w.line("        }");
        w.line("    }");
        w.line(&format!("    run->automaton = {number};"));
        w.line("    return (struct nest__step){state, best_n};");
        w.line("}");
    }

    /// The function's first lines.
    fn head(&self, w: &mut Writer) {
        w.line(&format!(
            "static struct nest__step automaton_{}(struct nest__run *run, uint16_t from,",
            self.number
        ));
        w.line("                                      const uint8_t *start, const uint8_t *p,");
        w.line("                                      const uint8_t *end) {");
        w.line("    uint64_t best_n = 0;");
    }

    /// The acceptance before these bytes, if there can be one: because of rules matched separately,
    /// or a rule that stays live after it accepts.
    fn best_before(&self, indent: &str, w: &mut Writer) {
        let product = self.product;
        let accepts = |does: u32| !product.effects[does as usize].accepts.is_empty();
        let mut edges = product.next.iter();
        if !self.matching.standalone.is_empty()
            || edges.any(|(to, does)| *to != 0 && accepts(*does))
        {
            w.line(&format!("{indent}best_n = p == start ? 0 : run->best_n;"));
        }
    }
}
