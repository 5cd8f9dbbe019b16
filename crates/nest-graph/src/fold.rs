//! Simplifies the graph of conversations to a readable picture.
//!
//! A rule that does the same in many sets is drawn once, at a node that represents all of these
//! sets.

use crate::by::By;
use crate::condition::condition;
use crate::conversation::{Conversation, Place, Steps};
use crate::graph::{Edge, Graph, Kind, Label, Node, Note};
use crate::text::{cells, plain, short, title};
use std::collections::{BTreeMap, BTreeSet};

/// The minimum number of sets for a shared node.
const MANY: usize = 3;
/// The same for rules that lead from one set to another: for a few sets, separate arrows are
/// clearer.
const MANY_LEAD: usize = 5;
/// The maximum number of findings listed below a picture.
const MOST_FINDINGS: usize = 20;
/// The maximum number of nodes that represent several sets.
const MOST_SEVERAL: usize = 4;
/// The maximum number of arrows: with more, it is not visible where one leads.
const MOST_EDGES: usize = 120;
/// The maximum length of a line of names.
const LINE: usize = 24;
/// The maximum number of lines of names.
const MOST_LINES: usize = 5;

/// What a rule does, relative to the set in which it does it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Does {
    Stays,
    LeadsTo(Place),
}

impl Conversation<'_> {
    /// The picture.
    #[must_use]
    pub fn graph(&self) -> Graph {
        let mut all = self.groupings().into_iter();
        all.find_map(|groups| self.of_groups(&groups))
            .unwrap_or_else(|| self.by_states())
    }

    /// The picture with these sets joined; `None` if it would have too many lines.
    fn of_groups(&self, groups: &[Vec<usize>]) -> Option<Graph> {
        let mut steps = self.steps(groups);
        let path = self.path(groups);
        join_vague(groups.len(), &mut steps, &path);
        let several = self.several(groups, &mut steps, &path);
        if steps.keys().filter(|(from, to)| from != to).count() > MOST_EDGES {
            return None;
        }
        let mut nodes = vec![self.entry()];
        let mut numbers = BTreeMap::from([(Place::Entry, 0)]);
        for (n, sets) in groups.iter().enumerate() {
            numbers.insert(Place::Group(n), nodes.len());
            nodes.push(self.group(sets));
        }
        if steps.keys().any(|(_, to)| *to == Place::Exit)
            || several.iter().any(|s| s.leads.contains_key(&Place::Exit))
            || !groups.is_empty()
        {
            numbers.insert(Place::Exit, nodes.len());
            nodes.push(self.exit());
        }
        let any = |to: &Place| *to == Place::Any;
        if steps.keys().any(|(_, to)| any(to)) || several.iter().any(|s| s.leads.keys().any(any)) {
            numbers.insert(Place::Any, nodes.len());
            nodes.push(Node::new(
                Kind::Several,
                vec!["anywhere".into()],
                "any of all sets".into(),
            ));
        }
        let mut edges = Vec::new();
        for ((from, to), by) in &steps {
            let on_path = |by: By| path.contains(&(*from, *to, by));
            let labels = by.iter().map(|(by, certain)| Label {
                on_path: on_path(*by),
                ..self.label(*by, *certain)
            });
            let labels: Vec<Label> = labels.collect();
            let shows = labels.iter().any(|l| l.on_path);
            let (a, b) = (numbers[from], numbers[to]);
            if shows {
                nodes[a].on_path = true;
                nodes[b].on_path = true;
            }
            if a == b {
                nodes[a].loops = labels;
            } else {
                edges.push(Edge {
                    from: a,
                    to: b,
                    // A conversation begins with START's action, or without one.
                    labels: if self.m.start.is_none() && a == 0 {
                        Vec::new()
                    } else {
                        labels
                    },
                    on_path: shows,
                });
            }
        }
        for one in several {
            let from = nodes.len();
            nodes.push(self.stands_for(&one, groups));
            for (to, by) in &one.leads {
                let labels = by.iter().map(|(by, certain)| self.label(*by, *certain));
                edges.push(Edge {
                    from,
                    to: numbers[to],
                    labels: labels.collect(),
                    on_path: false,
                });
            }
        }
        Some(Graph {
            title: title(self.m),
            subtitle: self.extent(groups.len()),
            nodes,
            edges,
            notes: self.notes(groups.len()),
        })
    }

    fn extent(&self, groups: usize) -> String {
        let (sets, rules) = (self.reach.sets.len(), self.m.rules.len());
        let mut text = match sets {
            1 => "1 set of states".to_owned(),
            n => format!("{n} sets of states"),
        };
        if groups < sets {
            text += &format!(", joined into {groups}");
        }
        text += &format!(", {}", count(rules, "rule"));
        if !self.m.timers.is_empty() {
            text += &format!(", {}", count(self.m.timers.len(), "TIMEOUT"));
        }
        text
    }

    /// The text below the picture.
    fn notes(&self, groups: usize) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut say = |text: String, finding: bool| notes.push(Note { text, finding });
        if groups < self.reach.sets.len() {
            say(
                "Too many sets of states, or steps between them: those are one in which the same \
                 rules can take something."
                    .into(),
                false,
            );
        }
        if self.moves.iter().flatten().any(|s| !s.certain) {
            say(
                "Dashed, or with a question mark: it cannot be told whether that happens.".into(),
                false,
            );
        }
        notes.extend(self.findings());
        notes
    }

    /// The findings, one per line; only the first if there are very many.
    pub(crate) fn findings(&self) -> Vec<Note> {
        let line = |mark: &crate::marks::Mark| Note {
            text: format!(
                "{} {} line {}: {}",
                mark.number,
                mark.code,
                mark.line,
                plain(&mark.message)
            ),
            finding: true,
        };
        let all = &self.marks.all;
        let shown = if all.len() > MOST_FINDINGS {
            MOST_FINDINGS - 1
        } else {
            all.len()
        };
        let more = all.len() - shown;
        let more = (more > 0).then(|| Note {
            text: format!("and {more} more: nest check lists them"),
            finding: true,
        });
        all[..shown].iter().map(line).chain(more).collect()
    }

    pub(crate) fn label(&self, by: By, certain: bool) -> Label {
        Label {
            text: self.short(by),
            tip: self.long(by),
            certain,
            codes: self.marks.of_step(by),
            on_path: false,
        }
    }

    pub(crate) fn entry(&self) -> Node {
        Node::new(Kind::Entry, Vec::new(), "a client connects".into())
    }

    pub(crate) fn exit(&self) -> Node {
        let mut node = Node::new(
            Kind::Exit,
            vec!["END".into()],
            "END: closed or stuck as shown; from anywhere eof, gone, input, overflow, timeout, shutdown"
                .into(),
        );
        node.small = vec![
            "from anywhere: eof, gone,".into(),
            "input, overflow, timeout,".into(),
            "shutdown".into(),
        ];
        node
    }

    fn group(&self, sets: &[usize]) -> Node {
        let all = |f: fn(u64, u64) -> u64| {
            let states = sets.iter().map(|n| self.reach.sets[*n].states);
            states.reduce(f).unwrap_or(0)
        };
        let (held, marked) = (all(|a, b| a & b), all(|a, b| a | b));
        let names = if sets.len() == 1 {
            self.set_name(sets[0])
        } else {
            let mut names = self.names(held);
            if names.is_empty() {
                names.push("…".into());
            }
            names
        };
        let mut small = Vec::new();
        let mut tip = names.join(" ");
        if sets.len() > 1 {
            let perhaps = self.names(marked & !held);
            if !perhaps.is_empty() {
                let some = format!("some with {}", perhaps.join(" "));
                tip += &format!("; {some}");
                small.push(short(&some, LINE + 4));
            }
            small.push(format!("{} sets", sets.len()));
        } else if let Some(last) = self.reach.sets[sets[0]].last {
            let last = format!("last: {}", self.m.states[last as usize]);
            tip += &format!("; {last}");
            small.push(short(&last, LINE));
        }
        let mut node = Node::new(Kind::State, lines(&names), tip);
        node.small = small;
        node.codes = self.marks.of_states(marked);
        node
    }

    fn stands_for(&self, one: &Several, groups: &[Vec<usize>]) -> Node {
        let name = self.several_name(one, groups).unwrap_or_default();
        let all = one.sets.iter().map(|g| self.group(&groups[*g]).tip);
        let all: Vec<String> = all.collect();
        let mut node = Node::new(
            Kind::Several,
            wrapped(&name),
            format!("in: {}", all.join(" / ")),
        );
        let stays = one.stays.iter();
        node.loops = stays
            .map(|(by, certain)| self.label(*by, *certain))
            .collect();
        node
    }

    /// The description of a group of sets; `None` if it would be a list.
    fn several_name(&self, one: &Several, groups: &[Vec<usize>]) -> Option<String> {
        if one.sets.len() == groups.len() {
            return Some("everywhere".into());
        }
        let others: Vec<usize> = (0..groups.len())
            .filter(|g| !one.sets.contains(g))
            .collect();
        if let [other] = others.as_slice()
            && let [set] = groups[*other].as_slice()
            && self.reach.sets[*set].last.is_none()
        {
            return Some(format!("all but {}", self.set_name(*set).join(" ")));
        }
        // A rule's condition, if it is true in exactly these sets.
        let rules = one.leads.values().flat_map(|by| by.keys());
        rules.chain(one.stays.keys()).find_map(|by| {
            let cond = match by {
                By::Rule(n) => &self.m.rules[*n].cond,
                By::Timer(n) => &self.m.timers[*n].cond,
                By::Start | By::Stuck => return None,
            };
            let holds = |g: &usize| {
                let mut sets = groups[*g].iter();
                sets.all(|s| self.reach.sets[*s].holds(cond))
            };
            let exact = one.sets.iter().all(holds) && !others.iter().any(holds);
            exact.then(|| format!("where {}", condition(self.m, cond)))
        })
    }

    /// Removes from `steps` those that are the same in many groups. The highlighted path stays.
    fn several(
        &self,
        groups: &[Vec<usize>],
        steps: &mut Steps,
        path: &BTreeSet<(Place, Place, By)>,
    ) -> Vec<Several> {
        // What each rule does, and in which sets.
        let mut does: BTreeMap<By, BTreeMap<Does, BTreeMap<usize, bool>>> = BTreeMap::new();
        let mut runs: BTreeMap<By, BTreeSet<usize>> = BTreeMap::new();
        for ((from, to), by) in steps.iter() {
            let Place::Group(group) = from else { continue };
            for (by, certain) in by {
                runs.entry(*by).or_default().insert(*group);
                let mut add = |does_: Does| {
                    let known = does.entry(*by).or_default().entry(does_).or_default();
                    known.insert(*group, *certain);
                };
                add(Does::LeadsTo(*to));
                if from == to {
                    add(Does::Stays);
                }
            }
        }
        let mut found: BTreeMap<BTreeSet<usize>, Several> = BTreeMap::new();
        for (by, all) in &does {
            let sets = &runs[by];
            let shown = path.iter().any(|(.., step)| step == by);
            if sets.len() < MANY || shown || *by == By::Stuck {
                continue;
            }
            for (what, at) in all {
                let certain = at.values().all(|c| *c);
                let few = matches!(what, Does::LeadsTo(Place::Group(_))) && at.len() < MANY_LEAD;
                if few || at.len() < sets.len() || (!certain && at.values().any(|c| *c)) {
                    continue;
                }
                let one = found.entry(sets.clone()).or_insert_with(|| Several {
                    sets: sets.clone(),
                    ..Several::default()
                });
                match what {
                    Does::Stays => one.stays.insert(*by, certain),
                    Does::LeadsTo(to) => one.leads.entry(*to).or_default().insert(*by, certain),
                };
            }
        }
        let mut found: Vec<Several> = found.into_values().collect();
        found.sort_by_key(|one| std::cmp::Reverse(one.saves()));
        found.retain(|one| {
            let worth = !one.leads.is_empty() || one.saves() > 2;
            worth && self.several_name(one, groups).is_some()
        });
        found.truncate(MOST_SEVERAL.min(groups.len()));
        for one in &found {
            for group in &one.sets {
                let from = Place::Group(*group);
                let leads = one
                    .leads
                    .iter()
                    .flat_map(|(to, by)| by.keys().map(move |by| (*to, by)));
                for (to, by) in leads.chain(one.stays.keys().map(|by| (from, by))) {
                    if let Some(all) = steps.get_mut(&(from, to)) {
                        all.remove(by);
                    }
                }
            }
        }
        steps.retain(|_, by| !by.is_empty());
        found
    }
}

/// If the effect of an action is unknown, so that it may lead to all groups, one arrow represents
/// this.
fn join_vague(groups: usize, steps: &mut Steps, path: &BTreeSet<(Place, Place, By)>) {
    let mut leads: BTreeMap<(Place, By), usize> = BTreeMap::new();
    for ((from, to), by) in steps.iter().filter(|((_, to), _)| *to != Place::Exit) {
        for by in by.iter().filter(|(_, certain)| !**certain) {
            *leads.entry((*from, *by.0)).or_default() += usize::from(matches!(to, Place::Group(_)));
        }
    }
    leads.retain(|(_, by), count| {
        *count == groups && groups > MANY && !path.iter().any(|(.., step)| step == by)
    });
    for ((from, to), by) in steps.iter_mut() {
        if matches!(to, Place::Group(_)) {
            by.retain(|by, _| !leads.contains_key(&(*from, *by)));
        }
    }
    steps.retain(|_, by| !by.is_empty());
    for (from, by) in leads.into_keys() {
        steps
            .entry((from, Place::Any))
            .or_default()
            .insert(by, false);
    }
}

/// What rules do in the same way in several groups.
#[derive(Default)]
struct Several {
    sets: BTreeSet<usize>,
    stays: BTreeMap<By, bool>,
    leads: BTreeMap<Place, BTreeMap<By, bool>>,
}

impl Several {
    /// Labels that can be omitted.
    fn saves(&self) -> usize {
        let all = self.stays.len() + self.leads.values().map(BTreeMap::len).sum::<usize>();
        all * (self.sets.len() - 1)
    }
}

/// `1 rule`, `2 rules`.
pub(crate) fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// Names, several per line.
pub(crate) fn lines(names: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        let name = short(&plain(name), LINE + 4);
        match lines.last_mut() {
            Some(line) if cells(line) + 1 + cells(&name) <= LINE => {
                line.push(' ');
                line.push_str(&name);
            }
            _ => lines.push(name),
        }
    }
    if lines.len() > MOST_LINES {
        let left = lines.len() - MOST_LINES + 1;
        lines.truncate(MOST_LINES - 1);
        lines.push(format!("… {left} lines more"));
    }
    lines
}

/// Words, several per line.
fn wrapped(text: &str) -> Vec<String> {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    lines(&words)
}
