//! Prints the trace of a server for humans, line by line: arrows for input and output, a colour for
//! each conversation.
//!
//! Knows the format of trace lines (`ID what rest`, as written by runtime/service/trace/trace.c), but
//! not how they arrive. A line of another format is printed unchanged.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use crate::term::{self, FAINT, STRONG};

/// One for each conversation, in turn.
const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Yellow,
    AnsiColor::Green,
    AnsiColor::Magenta,
    AnsiColor::Blue,
    AnsiColor::Red,
];

/// Data is never shortened to less than this.
const LEAST: usize = 16;

/// Prints trace lines for a given width.
pub struct Printer {
    /// The width in columns; `None`: lines are not shortened.
    width: Option<usize>,
}

impl Printer {
    /// Uses the width of the terminal on standard output; without one, lines are not shortened.
    pub fn for_terminal() -> Self {
        Printer {
            width: term::width(),
        }
    }

    /// A formatted line with its line end.
    pub fn line(&self, line: &str) -> String {
        self.parsed(line).unwrap_or_else(|| format!("{line}\n"))
    }

    fn parsed(&self, line: &str) -> Option<String> {
        let (id, rest) = line.split_once(' ')?;
        let (what, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let number: u64 = id.parse().ok()?;
        let colour = usize::try_from(number % COLOURS.len() as u64).unwrap_or(0);
        let style: Style = COLOURS[colour].on_default();
        let mut text = format!("{style}{id:>5}{style:#} ");
        let used = id.len().max(5) + 4;
        match what {
            "open" => writeln!(text, "{STRONG}open{STRONG:#}"),
            "take" => {
                let (rule, data) = rest
                    .split_once(" \"")
                    .map(|(rule, data)| (rule, data.strip_suffix('"').unwrap_or(data)))?;
                let data = self.shorten(data, used + rule.len() + 2);
                writeln!(text, "{style}<-{style:#} {data}  {FAINT}{rule}{FAINT:#}")
            }
            "reply" => {
                let data = rest.strip_prefix('"')?.strip_suffix('"')?;
                writeln!(text, "{style}->{style:#} {}", self.shorten(data, used))
            }
            "timeout" => writeln!(text, "{style}--{style:#} silence  {FAINT}{rest}{FAINT:#}"),
            "states" => {
                let (states, last) = rest.rsplit_once("last=")?;
                let last = if last == "-" {
                    String::new()
                } else {
                    format!(", last {last}")
                };
                let states = states.trim_end();
                let states = if states.is_empty() {
                    "no state"
                } else {
                    states
                };
                writeln!(text, "   {FAINT}{states}{last}{FAINT:#}")
            }
            "end" => writeln!(text, "{STRONG}end{STRONG:#}  {rest}"),
            _ => return None,
        }
        .ok()?;
        Some(text)
    }

    /// The data in quotes. If it does not fit into the line, it is shortened and its number of
    /// bytes is added.
    fn shorten(&self, data: &str, used: usize) -> String {
        let units = escapes(data);
        let length = data.chars().count() + 2;
        let Some(width) = self.width.filter(|width| used + length > *width) else {
            return format!("\"{data}\"");
        };
        let tail = format!("... ({} bytes)", units.len());
        let capacity = width.saturating_sub(used + 2 + tail.len()).max(LEAST);
        let mut shown = String::new();
        let mut columns = 0;
        for unit in units {
            columns += unit.chars().count();
            if columns > capacity {
                break;
            }
            shown.push_str(unit);
        }
        format!("\"{shown}\"{tail}")
    }
}

/// Splits escaped data into bytes: `\xHH`, `\n`, or a character that stands for itself.
fn escapes(data: &str) -> Vec<&str> {
    let mut units = Vec::new();
    let mut rest = data;
    while let Some(first) = rest.chars().next() {
        let length = match (first, rest.as_bytes().get(1)) {
            ('\\', Some(b'x')) => 4,
            ('\\', Some(_)) => 2,
            _ => first.len_utf8(),
        };
        let unit = rest.get(..length).unwrap_or(rest);
        units.push(unit);
        rest = &rest[unit.len()..];
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(width: Option<usize>, line: &str) -> String {
        anstream::adapter::strip_str(&Printer { width }.line(line)).to_string()
    }

    #[test]
    fn every_kind_of_line() {
        assert_eq!(plain(None, "1 open"), "    1 open\n");
        assert_eq!(
            plain(None, r#"1 take line 7 "A \" B\r\n""#),
            "    1 <- \"A \\\" B\\r\\n\"  line 7\n"
        );
        assert_eq!(plain(None, r#"12 reply "x""#), "   12 -> \"x\"\n");
        assert_eq!(
            plain(None, "1 states START A last=A"),
            "    1    START A, last A\n"
        );
        assert_eq!(plain(None, "1 states START last=-"), "    1    START\n");
        assert_eq!(
            plain(None, "1 timeout line 9"),
            "    1 -- silence  line 9\n"
        );
        assert_eq!(plain(None, "1 end closed"), "    1 end  closed\n");
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        for line in [
            "",
            "hello",
            "1 dance",
            "1 reply x",
            "x open",
            "1 take \"",
            "\u{fffd} \\x",
        ] {
            assert_eq!(plain(Some(20), line), format!("{line}\n"));
        }
    }

    #[test]
    fn long_data_is_cut_between_bytes() {
        let data = "\\x00".repeat(100);
        let line = plain(Some(60), &format!("1 reply \"{data}\""));
        assert!(line.trim_end().chars().count() <= 60, "{line}");
        assert!(line.ends_with("\\x00\"... (100 bytes)\n"), "{line}");
        assert!(plain(None, &format!("1 reply \"{data}\"")).contains(&data));
        assert_eq!(escapes("a\\x"), ["a", "\\x"]);
        assert_eq!(escapes("\\\u{e9}"), ["\\\u{e9}"]);
    }
}
