//! Assembles C text: lines, `#line`, literals. No other file does.

use crate::places::{Piece, Places};
use crate::replace::Text;
use nest_machine::Code;

/// A C file that is being written.
pub struct Writer {
    file: &'static str,
    text: String,
    line: usize,
    places: Places,
}

/// A value in an initialiser. Tables have many numbers, so these are written without the overhead
/// of format strings.
pub trait Item {
    /// Appends it.
    fn put(&self, text: &mut String);
}

impl Item for usize {
    fn put(&self, text: &mut String) {
        if *self > 9 {
            (self / 10).put(text);
        }
        text.push(char::from(b'0' + (self % 10) as u8));
    }
}

impl Item for u32 {
    fn put(&self, text: &mut String) {
        (*self as usize).put(text);
    }
}

impl Item for u8 {
    fn put(&self, text: &mut String) {
        usize::from(*self).put(text);
    }
}

impl Item for String {
    fn put(&self, text: &mut String) {
        text.push_str(self);
    }
}

/// `{kind, …}`.
impl Item for (&str, [usize; 3]) {
    fn put(&self, text: &mut String) {
        text.push('{');
        text.push_str(self.0);
        for n in self.1 {
            text.push_str(", ");
            n.put(text);
        }
        text.push('}');
    }
}

/// The maximum indentation of the user's text.
const FARTHEST: usize = 200;

impl Writer {
    /// An empty file; `file` is its name for `#line`.
    pub fn new(file: &'static str) -> Writer {
        Writer {
            file,
            text: String::new(),
            line: 1,
            places: Places::default(),
        }
    }

    /// Text that ends with a newline.
    pub fn put(&mut self, text: &str) {
        self.line += text.matches('\n').count();
        self.text.push_str(text);
    }

    /// One line.
    pub fn line(&mut self, text: &str) {
        self.put(text);
        self.text.push('\n');
        self.line += 1;
    }

    /// A wrapped comment.
    pub fn comment(&mut self, text: &str) {
        let mut row = String::from("/*");
        for word in text.split(' ') {
            if row.len() + word.len() > 96 {
                self.line(&row);
                row = String::from(" *");
            }
            row.push(' ');
            row.push_str(word);
        }
        self.line(&format!("{row} */"));
    }

    /// A comment that begins a section of the file.
    pub fn begin(&mut self, part: &str) {
        self.line(&format!("\n/* Begin {part} */"));
    }

    /// The comment that ends it.
    pub fn end(&mut self, part: &str) {
        self.line(&format!("/* End {part} */"));
    }

    /// The user's text, with `#line` so that the compiler reports locations in the specification.
    /// `text` replaces the original text (uses replaced).
    pub fn user(&mut self, at: &Code, text: &Text) {
        self.put(&format!("#line {} {}\n", at.line, string(&at.file)));
        let pad = if text.text.starts_with('\n') {
            0
        } else {
            at.column.min(FARTHEST) - 1
        };
        self.put(&" ".repeat(pad));
        self.line(&text.text);
        self.put(&format!("#line {} {}\n", self.line + 1, string(self.file)));
        self.places.add(Piece {
            code: at.clone(),
            text: text.clone(),
            pad,
        });
    }

    /// Numbers inside an initialiser, wrapped.
    pub fn numbers<T: Item>(&mut self, numbers: impl IntoIterator<Item = T>) {
        const INDENT: &str = "   ";
        let mut row = String::from(INDENT);
        for n in numbers {
            let end = row.len();
            row.push(' ');
            n.put(&mut row);
            row.push(',');
            if row.len() > 100 {
                let item = row.split_off(end);
                self.line(&row);
                row.truncate(INDENT.len());
                row.push_str(&item);
            }
        }
        self.line(&row);
    }

    /// The file.
    pub fn finish(self) -> String {
        self.text
    }

    /// The file, and the origin of the user's text in it.
    pub fn finish_with_places(self) -> (String, Places) {
        (self.text, self.places)
    }
}

/// A C string literal.
pub fn string(text: impl AsRef<[u8]>) -> String {
    let mut out = String::from("\"");
    let mut before = 0;
    for b in text.as_ref() {
        match b {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(*b));
            }
            b'?' if before == b'?' => out.push_str("\\?"), // avoids a trigraph
            b' '..=b'~' => out.push(char::from(*b)),
            _ => out.push_str(&format!("\\{b:03o}")),
        }
        before = *b;
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::string;

    #[test]
    fn strings_hold_any_bytes() {
        assert_eq!(string("a\"\\\n"), r#""a\"\\\012""#);
        assert_eq!(string([0, 255]), r#""\000\377""#);
        assert_eq!(string("?"), r#""?""#);
        assert_eq!(string("??/"), r#""?\?/""#);
        assert_eq!(string("???="), r#""?\?\?=""#);
    }
}
