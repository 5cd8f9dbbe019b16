//! Parses words in a pattern: macros, and text that looks like one.

use nest_diag::Code;

use super::parser::{Abort, Parser};
use crate::ast::{Atom, Piece};
use crate::names::Kind;
use crate::reader::{is_blank, is_ident_start};

impl Parser<'_, '_> {
    /// Constructs that Lex users write at the start of a rule.
    pub(super) fn lex_habit(&mut self) -> Result<(), Abort> {
        let start = self.r.at;
        if self.r.looking_at("<<EOF>>") {
            self.r.at += "<<EOF>>".len();
            let end = self.r.at;
            self.r.report(
                Code::E0210,
                start,
                end,
                "`<<EOF>>` is Lex syntax; a rule matches bytes",
                "write an END rule for what happens when the client has gone",
            );
            return Err(Abort);
        }
        if !self.r.looking_at("<") {
            return Ok(());
        }
        let mut at = start + 1;
        let mut states = false;
        loop {
            let end = if self.r.bytes[..self.r.end].get(at) == Some(&b'*') {
                at + 1
            } else {
                self.r.ident_end(at)
            };
            let word = self.r.text(at, end);
            states |= matches!(word, "*" | "INITIAL")
                || self.names.kind(word) == Some(Kind::State)
                || (!word.is_empty() && !word.bytes().any(|b| b.is_ascii_lowercase()));
            match self.r.bytes[..self.r.end].get(end) {
                Some(b',') if end > at => at = end + 1,
                Some(b'>') if end > at && states => {
                    let list = self.r.text(start + 1, end).replace(',', " || ");
                    let help = match list.replace("INITIAL", "DEFAULT") {
                        all if all.contains('*') => {
                            "remove it: a rule without a condition is active in every state"
                                .to_owned()
                        }
                        list => format!("write `{list}:` before the pattern"),
                    };
                    self.r.at = end + 1;
                    self.r.report(
                        Code::E0210,
                        start,
                        end + 1,
                        "this is a Lex start condition",
                        help,
                    );
                    return Ok(());
                }
                _ => return Ok(()),
            }
        }
    }

    /// An element that is a single identifier, with at most a quantifier.
    pub(super) fn bare_word(&mut self) -> Result<Option<Piece>, Abort> {
        let start = self.r.at;
        let end = self.r.ident_end(start);
        if end == start {
            return Ok(None);
        }
        let word = self.r.text(start, end);
        let kind = self.names.kind(word);
        let next = self.r.bytes[..self.r.end].get(end).copied();
        if kind == Some(Kind::State)
            && matches!(
                next,
                None | Some(b':' | b'&' | b'|' | b' ' | b'\t' | b'\r' | b'\n' | b'{')
            )
        {
            self.r.at = end;
            self.r.report(
                Code::E0205,
                start,
                end,
                format!("the state `{word}` appears in a pattern"),
                "if a new rule starts here, the rule above has no action: write `{ }` after its \
                 pattern; if text is meant, quote it",
            );
            return Err(Abort);
        }
        self.r.at = end;
        let diags = self.r.diags.len();
        let (quant, possessive) = self.quantifier()?;
        let complete = match self.r.peek() {
            None => true,
            Some(b'{') => !self.macro_use_here(),
            Some(byte) => is_blank(byte),
        };
        if !complete {
            self.r.diags.truncate(diags);
            self.r.at = start;
            return Ok(None);
        }
        self.leading = false;
        match kind {
            Some(Kind::Pattern) => {}
            Some(Kind::Condition) => self.condition_macro(start, end),
            _ => {
                let help = self
                    .names
                    .suggest(word, |kind| kind == Kind::Pattern)
                    .map_or(String::new(), |meant| format!("{meant} "));
                let help = match word {
                    "TIMEOUT" => "write `TIMEOUT(30s) { action }`; or ".to_string(),
                    "NOW" => "write NOW after the pattern, before the action; or ".to_string(),
                    _ => help,
                };
                self.r.report(
                    Code::E0301,
                    start,
                    end,
                    format!("`{word}` is not a macro"),
                    format!("{help}quote it to match text: \"{word}\""),
                );
            }
        }
        let piece = Piece {
            atom: Atom::Macro(self.r.name(start, end)),
            quant,
            span: self.r.span(start, self.r.at),
        };
        Ok(Some(if possessive {
            super::special::possessive(piece)
        } else {
            piece
        }))
    }

    pub(super) fn condition_macro(&mut self, start: usize, end: usize) {
        let word = self.r.text(start, end);
        self.r.report(
            Code::E0314,
            start,
            end,
            format!("`{word}` is a condition macro and cannot stand in a pattern"),
            "write the condition before the pattern, with a `:` between them",
        );
    }

    /// A literal character, unless the word that starts with it is the name of a macro.
    pub(super) fn character(&mut self, start: usize, byte: u8) -> Atom {
        if start >= self.letters_end && is_ident_start(byte) {
            let end = self.r.ident_end(start);
            let word = self.r.text(start, end);
            self.letters_end = end;
            match self.names.kind(word) {
                Some(Kind::Pattern) => {
                    self.r.at = end;
                    self.r.report(
                        Code::E0302,
                        start,
                        end,
                        format!("the macro `{word}` is inside a longer element"),
                        format!("write `{{{word}}}`; quote it to match text: \"{word}\""),
                    );
                    return Atom::Macro(self.r.name(start, end));
                }
                Some(Kind::Condition) if start == self.element => {
                    self.condition_macro(start, end);
                }
                _ if word
                    .as_bytes()
                    .windows(2)
                    .any(|w| w.iter().all(u8::is_ascii_alphabetic)) =>
                {
                    let only = if self.r.text(0, start).ends_with('\'') {
                        "; `'` does not quote here"
                    } else {
                        ""
                    };
                    self.r.report(
                        Code::W0301,
                        start,
                        end,
                        format!("`{word}` is outside quotes"),
                        format!("write \"{word}\" to match text{only}"),
                    );
                }
                _ => {}
            }
        }
        Atom::Bytes(vec![byte])
    }

    /// `{NAME}`; the parser is after its `{`.
    pub(super) fn macro_use(&mut self, start: usize) -> Result<Option<Atom>, Abort> {
        let end = self.r.ident_end(start + 1);
        let name = self.r.name(start + 1, end);
        self.r.at = end + 1;
        match self.names.kind(&name.text) {
            Some(Kind::Pattern) => {}
            Some(Kind::Condition) => self.condition_macro(start + 1, end),
            Some(Kind::State) => self.r.report(
                Code::E0205,
                start + 1,
                end,
                format!("the state `{}` appears in a pattern", name.text),
                "write the state in the condition before the pattern",
            ),
            None => {
                let help = self
                    .names
                    .suggest(&name.text, |kind| kind == Kind::Pattern)
                    .unwrap_or_else(|| {
                        format!(
                            "declare it before the first `%%`, as in `{0} [0-9]+`; if an action is \
                             meant, write `{{ {0}; }}`",
                            name.text
                        )
                    });
                self.r.report(
                    Code::E0203,
                    start + 1,
                    end,
                    format!("the macro `{}` is not declared", name.text),
                    help,
                );
            }
        }
        Ok(Some(Atom::Macro(name)))
    }

    /// Whether `{NAME}` is here.
    pub(super) fn macro_use_here(&self) -> bool {
        let start = self.r.at + 1;
        let end = self.r.ident_end(start);
        self.r.peek() == Some(b'{')
            && end > start
            && self.r.bytes[..self.r.end].get(end) == Some(&b'}')
    }
}
