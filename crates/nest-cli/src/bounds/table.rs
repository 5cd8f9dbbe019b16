//! Prints bounds as tables for humans. Must not know: where they come from.

use std::fmt::Write;

use nest_check::{Bounds, For, Limits, Reading, Silence};
use nest_machine::Machine;

use super::values::{Item, Memory, duration, limits, size};
use crate::term::{FAINT, GOOD, STRONG};

/// The number of sets of states shown in a line; the others are counted.
const SETS: usize = 4;
/// The number of places shown in a line.
const PLACES: usize = 6;

/// Rows of cells. The first row is a heading. Numbers are aligned to the right.
struct Table {
    rows: Vec<Vec<String>>,
    numbers: Vec<usize>,
}

impl Table {
    fn new(heading: &[&str], numbers: &[usize]) -> Table {
        Table {
            rows: vec![heading.iter().map(|c| (*c).to_owned()).collect()],
            numbers: numbers.to_vec(),
        }
    }

    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The rows; those from index `strong` on are printed in bold.
    fn show(&self, text: &mut String, strong: usize) {
        let columns = self.rows[0].len();
        // The heading is above indented rows.
        let indent = |row: usize, column: usize| if column == 0 && row > 0 { 2 } else { 0 };
        let width = |column: usize| {
            let cells = self.rows.iter().enumerate();
            let widths = cells.map(|(n, row)| indent(n, column) + row[column].chars().count());
            widths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        if !text.is_empty() {
            text.push('\n');
        }
        for (n, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let gap = if column == 0 { indent(n, 0) } else { 2 };
                let wide = widths[column] - indent(n, column);
                let _ = write!(line, "{:gap$}", "");
                if self.numbers.contains(&column) {
                    let _ = write!(line, "{cell:>wide$}");
                } else {
                    let _ = write!(line, "{cell:<wide$}");
                }
            }
            let line = line.trim_end();
            let _ = match n {
                0 => writeln!(text, "{STRONG}{line}{STRONG:#}"),
                n if n >= strong => writeln!(text, "{GOOD}{line}{GOOD:#}"),
                _ => writeln!(text, "{line}"),
            };
        }
    }
}

/// Prints all tables.
pub fn text(m: &Machine, bounds: &Bounds, memory: &[Memory]) -> String {
    let mut text = String::new();
    messages(m, bounds, &mut text);
    reading(m, bounds, &mut text);
    waits(bounds, &mut text);
    connection(memory, &mut text);
    left_out(bounds, memory, &mut text);
    text
}

fn messages(m: &Machine, bounds: &Bounds, text: &mut String) {
    let mut table = Table::new(&["Messages", "", "longest"], &[2]);
    let most = bounds.limits.input;
    for (rule, longest) in m.rules.iter().zip(&bounds.messages) {
        let place = if rule.file == m.file {
            format!("line {}", rule.line)
        } else {
            format!("{}:{}", rule.file, rule.line)
        };
        let name = if rule.label == format!("line {}", rule.line) {
            String::new()
        } else {
            rule.label.clone()
        };
        let longest = match longest {
            None => format!("inputBuffer, {}", size(most)),
            Some(n) if *n > most => format!("{n}, but inputBuffer, {}", size(most)),
            Some(n) => n.to_string(),
        };
        table.row([place, name, longest]);
    }
    table.show(text, usize::MAX);
}

/// Sets of states: `A B; C`.
pub fn sets(sets: &[Vec<String>]) -> String {
    let shown = sets.iter().take(SETS).map(|s| s.join(" "));
    let mut text = shown.collect::<Vec<_>>().join("; ");
    if sets.len() > SETS {
        let _ = write!(text, "; {} more", sets.len() - SETS);
    }
    text
}

/// The locations of TIMEOUT rules.
pub fn timers(m: &Machine, timers: &[usize]) -> String {
    let all: Vec<String> = timers.iter().map(|n| m.timers[*n].label.clone()).collect();
    format!("TIMEOUT in {}", list(&all))
}

fn list(places: &[String]) -> String {
    let mut text = places[..places.len().min(PLACES)].join(", ");
    if places.len() > PLACES {
        let _ = write!(text, ", {} more", places.len() - PLACES);
    }
    text
}

fn reading(m: &Machine, bounds: &Bounds, text: &mut String) {
    let heading = [
        "Reading",
        "held",
        "a silent client",
        "an unfinished message",
    ];
    let mut table = Table::new(&heading, &[1]);
    for Reading {
        sets: all,
        held,
        silence,
    } in &bounds.reading
    {
        let most = bounds.limits.input;
        let held = size(held.unwrap_or(most).min(most));
        let silent = match silence {
            Silence::Ends { ms, timer: None } => ends(*ms, "idleTimeout"),
            Silence::Ends {
                ms,
                timer: Some(timer),
            } => ends(*ms, &timers(m, &[*timer])),
            Silence::May(all) if all.is_empty() => "may stay".to_owned(),
            Silence::May(all) => format!("may stay: {}", timers(m, all)),
            Silence::Stays(all) if all.is_empty() => "stays: no idleTimeout".to_owned(),
            Silence::Stays(all) => format!("stays: {} never closes", timers(m, all)),
        };
        let message = limit(bounds.limits.read, "readTimeout", "stays: no readTimeout");
        table.row([sets(all), held, silent, message]);
    }
    table.show(text, usize::MAX);
    if bounds.limits.own_idle {
        let _ = writeln!(text, "  {FAINT}$timeout may change idleTimeout{FAINT:#}");
    }
    if !bounds.complete {
        let why = "there are too many sets of states to analyse; these bounds hold for all of them";
        let _ = writeln!(text, "  {FAINT}{why}{FAINT:#}");
    }
}

fn ends(ms: u64, by: &str) -> String {
    format!("{}, {by}", duration(ms))
}

fn limit(ms: Option<u64>, option: &str, none: &str) -> String {
    ms.map_or_else(|| none.to_owned(), |ms| ends(ms, option))
}

/// The options that end a wait, with their values.
fn ended(what: For, all: &Limits) -> String {
    let value = |option: &str| match option {
        "idleTimeout" => all.idle,
        "readTimeout" => all.read,
        _ => all.write,
    };
    match what {
        For::Time => "its own time".to_owned(),
        For::Block => "no limit: code that blocks is not cut short".to_owned(),
        _ => {
            let options = limits(what).into_iter();
            let shown = options.map(|o| limit(value(o), o, &format!("no {o}")));
            shown.collect::<Vec<_>>().join("; ")
        }
    }
}

fn waits(bounds: &Bounds, text: &mut String) {
    if bounds.waits.is_empty() {
        return;
    }
    let mut table = Table::new(&["Waiting in actions", "in", "at most"], &[]);
    for wait in &bounds.waits {
        let by = wait.by.join(", ");
        table.row([by, list(&wait.places), ended(wait.what, &bounds.limits)]);
    }
    table.show(text, usize::MAX);
}

/// One column per model.
fn connection(memory: &[Memory], text: &mut String) {
    let mut heading = vec!["Memory of a connection, at most"];
    heading.extend(memory.iter().map(|m| m.model));
    let numbers: Vec<usize> = (1..heading.len()).collect();
    let mut table = Table::new(&heading, &numbers);
    items(memory, |m| &m.items, &mut table);
    let strong = table.rows.len();
    let total = memory.iter().map(|m| size(m.bytes));
    table.row(std::iter::once("in all".to_owned()).chain(total));
    items(memory, |m| &m.common, &mut table);
    let clients = memory.iter().map(|m| m.clients).max().unwrap_or(0);
    let name = format!("{clients} clients");
    let common = |m: &Memory| m.common.iter().map(|item| item.bytes).sum::<u64>();
    let all = memory.iter().map(|m| size(m.bytes * m.clients + common(m)));
    table.row(std::iter::once(name).chain(all));
    table.show(text, strong);
}

/// A row for each item of any model.
fn items(memory: &[Memory], of: fn(&Memory) -> &Vec<Item>, table: &mut Table) {
    let mut names: Vec<(&str, Option<&str>)> = Vec::new();
    for item in memory.iter().flat_map(of) {
        let name = (item.what.as_str(), item.option.as_deref());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for (what, option) in names {
        let cell = |m: &Memory| {
            let item = of(m).iter().find(|i| i.what == what);
            item.map_or("-".to_owned(), |i| size(i.bytes))
        };
        let name = match option {
            Some(option) => format!("{what} ({option})"),
            None => what.to_owned(),
        };
        table.row(std::iter::once(name).chain(memory.iter().map(cell)));
    }
}

/// What is not included in the numbers, and why.
fn left_out(bounds: &Bounds, memory: &[Memory], text: &mut String) {
    let mut lines = vec![
        "what the system keeps for a connection, and what the allocator adds to a block".to_owned(),
    ];
    for (function, places) in &bounds.allocates {
        lines.push(format!("memory from {function} in {}", list(places)));
    }
    if bounds.formats {
        let what = "the text of a $reply with a format, if it does not fit into outputBuffer";
        lines.push(what.to_owned());
    }
    if memory.iter().any(|m| m.model == "process") {
        let what = "more stack than usual: a process may have as much as the system allows";
        lines.push(what.to_owned());
    }
    let _ = writeln!(text, "  {FAINT}not included:{FAINT:#}");
    for line in lines {
        let _ = writeln!(text, "  {FAINT}- {line}{FAINT:#}");
    }
}
