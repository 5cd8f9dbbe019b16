//! Source text in terminal cells: how a line is displayed, and in which column a byte appears.
//!
//! The contents of a file cannot move the cursor or hide text: control characters are shown as
//! pictures, tabs as blanks, invisible characters as a replacement character. Long lines are cut to
//! a window.

use unicode_width::UnicodeWidthChar;

const TAB: usize = 4;
/// Lines of up to this many cells are shown completely.
const WIDTH: usize = 140;
/// Cells shown before the mark when a line is cut.
const LEAD: usize = 40;

/// A line, or a window of it, ready to print.
pub(crate) struct Cells {
    pub text: String,
    /// First byte of the window.
    from: usize,
    /// The column of each byte of the window, and of its end.
    columns: Vec<usize>,
}

impl Cells {
    /// `line` with its byte `focus` (at most its length) visible.
    pub fn new(line: &str, focus: usize) -> Self {
        let mut cells = Self::lay(line, 0);
        if cells.from + cells.columns.len() - 1 < line.len() {
            let lead = line[..focus]
                .char_indices()
                .rev()
                .nth(LEAD)
                .map_or(0, |(at, _)| at);
            cells = Self::lay(line, lead);
        }
        cells
    }

    /// The column (from 0) of byte `at`; outside of the window, its edge.
    pub fn column(&self, at: usize) -> usize {
        let last = self.columns.len() - 1;
        self.columns[at.saturating_sub(self.from).min(last)]
    }

    fn lay(line: &str, from: usize) -> Self {
        let mut text = String::new();
        let mut column = 0;
        if from > 0 {
            text.push('…');
            column = 1;
        }
        let mut columns = Vec::new();
        for c in line[from..].chars() {
            if column >= WIDTH {
                columns.push(column);
                text.push('…');
                return Cells {
                    text,
                    from,
                    columns,
                };
            }
            columns.extend(std::iter::repeat_n(column, c.len_utf8()));
            column += push(&mut text, c, column);
        }
        columns.push(column);
        Cells {
            text,
            from,
            columns,
        }
    }
}

/// `text` without terminal control sequences.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        push(&mut out, c, 0);
    }
    out
}

/// Appends `c` as displayed in `column`. Returns the number of cells.
fn push(out: &mut String, c: char, column: usize) -> usize {
    if c == '\t' {
        let width = TAB - column % TAB;
        out.extend(std::iter::repeat_n(' ', width));
        return width;
    }
    let shown = match c {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        // C1 controls, and characters that reorder or hide text.
        '\u{80}'..='\u{9f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => '\u{fffd}',
        c => c,
    };
    out.push(shown);
    shown.width().unwrap_or(1)
}
