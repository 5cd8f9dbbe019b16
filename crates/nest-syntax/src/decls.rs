//! Parses the declarations section, including all included files.
//!
//! Macros are only delimited here, because the kind of a macro depends on all other declarations
//! (see `macros`). Must not know rules, or which options exist.

use std::collections::BTreeSet;
use std::rc::Rc;

use nest_diag::{Code, Diagnostic, SourceMap, Span, nearest};

use crate::ast::{Decl, FilterDecl, Name, OptionDecl};
use crate::csource;
use crate::delimit;
use crate::loader::Loader;
use crate::names::{Kind, Names, RESERVED};
use crate::reader::{Reader, Source, has_divider, shown};
use crate::{rules, server_code, stages};

/// The deepest nesting of includes.
const DEEPEST: usize = 64;

const KNOWN: [&str; 11] = [
    "%option", "%state", "%include", "%filter", "%shared", "%timer", "%signal", "%worker",
    "%cache", "%decode", "%encode",
];

const FILTER: &str = "write `%filter NAME KEY=VALUE`, as in `%filter request timeout=5s`";

/// A declaration, or a macro whose kind is not known yet.
pub(crate) enum Raw {
    Done(Decl),
    Macro {
        name: Name,
        unit: usize,
        start: usize,
        end: usize,
    },
}

/// A file whose declarations have been parsed.
pub(crate) struct Unit {
    pub source: Rc<Source>,
    /// The position after its first `%%`.
    pub rules: Option<usize>,
}

/// All declarations of all files.
pub(crate) struct Declarations<'l> {
    loader: &'l mut dyn Loader,
    pub sources: SourceMap,
    pub units: Vec<Unit>,
    pub decls: Vec<Raw>,
    pub names: Names,
    pub diags: Vec<Diagnostic>,
    /// The files being parsed, outermost first.
    open: Vec<String>,
    seen: BTreeSet<String>,
}

impl<'l> Declarations<'l> {
    pub fn new(loader: &'l mut dyn Loader) -> Self {
        Declarations {
            loader,
            sources: SourceMap::default(),
            units: Vec::new(),
            decls: Vec::new(),
            names: Names::new(),
            diags: Vec::new(),
            open: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Parses the declarations of the file `name` and of the files it includes.
    pub fn file(&mut self, name: &str, text: String) {
        let file = self.sources.add(name, text.as_str());
        let source = Rc::new(Source::new(file, name, text));
        self.seen.insert(name.to_owned());
        self.open.push(name.to_owned());
        let unit = self.units.len();
        self.units.push(Unit {
            source: Rc::clone(&source),
            rules: None,
        });
        let start = if source.text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        let mut r = Reader::new(&source, start, source.text.len());
        if let Some(nul) = source.text.find('\0') {
            r.report(
                Code::E0002,
                nul,
                nul + 1,
                "a specification is text and contains no NUL",
                "write `\\0` in a pattern or string",
            );
        }
        let mut section = Section {
            all: self,
            unit,
            r: &mut r,
            searches: csource::Declarations::default(),
        };
        let rules = section.read();
        self.units[unit].rules = rules;
        self.diags.append(&mut r.diags);
        self.open.pop();
    }
}

/// The declarations of one file.
struct Section<'s, 'l, 'r, 'a> {
    all: &'s mut Declarations<'l>,
    unit: usize,
    r: &'r mut Reader<'a>,
    searches: csource::Declarations,
}

impl Section<'_, '_, '_, '_> {
    /// Parses up to the first `%%`.
    fn read(&mut self) -> Option<usize> {
        let divided = has_divider(&self.r.source.text);
        loop {
            let newline = self.r.gap(true);
            let start = self.r.at;
            if start >= self.r.end {
                if !divided && self.unit == 0 {
                    self.no_rules(start, start);
                }
                return None;
            }
            if self.r.looking_at("%%") && (newline || start < 4) {
                return Some(start + 2);
            }
            // Without a `%%`, the first line that is not a declaration is taken for a rule, so that
            // there is only one error.
            if !divided && self.unit == 0 && !self.plausible() {
                let end = self.r.line_end(start);
                self.no_rules(
                    start,
                    start + self.r.bytes[start..end].trim_ascii_end().len(),
                );
                return None;
            }
            self.declaration();
        }
    }

    fn no_rules(&mut self, start: usize, end: usize) {
        self.r.report(
            Code::E0004,
            start,
            end,
            "there is no rules section",
            "write a line `%%` between the declarations and the rules",
        );
    }

    /// Whether the first tokens here start a declaration.
    fn plausible(&self) -> bool {
        let end = self.r.ident_end(self.r.at);
        let next = self.r.after_blanks(end);
        let next = if next < self.r.end {
            self.r.bytes[next]
        } else {
            0
        };
        self.r.looking_at("%")
            || (end > self.r.at
                && !RESERVED.contains(&self.r.text(self.r.at, end))
                && self.all.names.kind(self.r.text(self.r.at, end)) != Some(Kind::State)
                && !matches!(next, b':' | b'='))
    }

    fn declaration(&mut self) {
        let start = self.r.at;
        if self.r.looking_at("%{") {
            if let Some(text) = rules::fence(self.r) {
                self.all.decls.push(Raw::Done(Decl::Prologue(text)));
            }
            return;
        }
        let sign = usize::from(self.r.peek() == Some(b'%'));
        let end = self.r.ident_end(start + sign);
        let word = self.r.text(start, end);
        match word {
            "%option" => self.named(end, "write `%option NAME VALUE`", |name, values| {
                Decl::Option(OptionDecl { name, values })
            }),
            "%filter" => self.named(end, FILTER, |name, options| {
                Decl::Filter(FilterDecl { name, options })
            }),
            "%state" => self.states(end),
            "%include" => self.include(end),
            "%shared" | "%timer" | "%signal" | "%worker" | "%cache" => {
                match server_code::parse(self.r, start, end) {
                    Some(decl) => self.all.decls.push(Raw::Done(decl)),
                    None => self.skip_line(true),
                }
            }
            "%decode" | "%encode" => {
                let decl = stages::parse(self.r, start, end);
                self.all.decls.extend(decl.map(Raw::Done));
            }
            "%s" | "%x" => {
                self.r.report(
                    Code::E0210,
                    start,
                    end,
                    format!("`{word}` is Lex's"),
                    "write `%state`; a state stays set until `$clear` or `$next`",
                );
                self.states(end);
            }
            _ if sign == 1 => self.other_directive(start, end),
            _ if end > start && self.c_declaration(start, end) => {}
            _ if end > start => self.macro_line(start, end),
            _ => self.nothing(start),
        }
    }

    /// The words from `from` to the end of the line, without comments; `quotes`: without quotes.
    fn words(&mut self, from: usize, quotes: bool) -> Vec<Name> {
        self.r.at = from;
        let mut words = Vec::new();
        loop {
            let (at, said) = (self.r.at, self.r.diags.len());
            let newline = self.r.gap(false);
            let start = self.r.at;
            if (newline && start > from) || start >= self.r.end {
                self.r.at = at;
                self.r.diags.truncate(said);
                return words;
            }
            if quotes && self.r.peek() == Some(b'"') {
                let line = self.r.line_end(start);
                let inside = &self.r.bytes[start + 1..line.max(start + 1)];
                let Some(n) = inside.iter().position(|b| *b == b'"') else {
                    let end = start + self.r.bytes[start..line].trim_ascii_end().len();
                    self.r.at = line;
                    self.r.report(
                        Code::E0003,
                        start,
                        end,
                        "the string is not terminated",
                        "end it with `\"` on the same line",
                    );
                    return words;
                };
                self.r.at = start + n + 2;
                let mut word = self.r.name(start + 1, start + 1 + n);
                word.span = self.r.span(start, self.r.at);
                words.push(word);
                continue;
            }
            let rest = &self.r.bytes[start..self.r.end];
            let end = rest
                .iter()
                .position(|b| crate::reader::is_blank(*b))
                .map_or(self.r.end, |n| start + n);
            self.r.at = end;
            words.push(self.r.name(start, end));
        }
    }

    /// `%option NAME VALUES`, `%filter NAME OPTIONS`.
    fn named(&mut self, from: usize, help: &str, make: fn(Name, Vec<Name>) -> Decl) {
        let start = self.r.at;
        let mut words = self.words(from, true).into_iter();
        if let Some(name) = words.next() {
            let decl = make(name, words.collect());
            self.all.decls.push(Raw::Done(decl));
        } else {
            let word = self.r.text(start, from);
            let what = format!("`{word}` names no {}", &word[1..]);
            self.r.report(Code::E0101, start, from, what, help);
        }
    }

    fn states(&mut self, from: usize) {
        let start = self.r.at;
        let words = self.words(from, false);
        if words.is_empty() {
            self.r.report(
                Code::E0107,
                start,
                from,
                "`%state` names no state",
                "write `%state NAME`",
            );
        }
        let mut states = Vec::new();
        for word in words {
            let text = word.text.trim_end_matches([',', ';']);
            if text.len() < word.text.len()
                && crate::reader::ident_end(text.as_bytes(), 0) == text.len()
            {
                self.not_a_name(
                    &word,
                    "separate states with blanks, and write nothing after the last",
                );
                let name = Name {
                    text: text.to_owned(),
                    span: word.span,
                };
                if !text.is_empty() && self.declare(&name, Kind::State) {
                    states.push(name);
                }
            } else if crate::reader::ident_end(text.as_bytes(), 0) != text.len() {
                self.not_a_name(
                    &word,
                    "names consist of letters, digits and `_`, and do not \
                    begin with a digit",
                );
            } else if self.declare(&word, Kind::State) {
                states.push(word);
            }
        }
        self.all.decls.push(Raw::Done(Decl::State(states)));
    }

    fn not_a_name(&mut self, word: &Name, help: &str) {
        let message = format!("`{}` is not a name", shown(&word.text));
        self.r
            .diags
            .push(Diagnostic::new(Code::E0107, word.span, message).help(help));
    }

    /// Declares a name. Reports an error and returns false if it is already declared.
    fn declare(&mut self, name: &Name, kind: Kind) -> bool {
        if RESERVED.contains(&name.text.as_str()) {
            let message = format!("`{}` is reserved", name.text);
            let found = Diagnostic::new(Code::E0102, name.span, message).help(
                "START, END, OVERLOAD, DEFAULT, TIMEOUT and NOW cannot be declared: choose another \
                 name",
            );
            self.r.diags.push(found);
            return false;
        }
        match self.all.names.declare(&name.text, kind, name.span) {
            Ok(()) => true,
            Err(first) => {
                let message = format!("`{}` is declared twice", name.text);
                let mut found = Diagnostic::new(Code::E0103, name.span, message)
                    .help("each name can be declared once: rename one of them, or remove it");
                if let Some(first) = first {
                    found = found.label(first, "first declared here");
                }
                self.r.diags.push(found);
                false
            }
        }
    }

    fn include(&mut self, from: usize) {
        let start = self.r.at;
        let words = self.words(from, true);
        let after = self.r.at;
        let [path] = words.as_slice() else {
            let end = words.last().map_or(from, |w| w.span.end as usize);
            self.expected_path(start, end);
            return;
        };
        if path.span.end as usize - path.span.start as usize != path.text.len() + 2 {
            self.expected_path(start, path.span.end as usize);
            return;
        }
        if self.all.open.len() >= DEEPEST {
            self.report_at(
                path.span,
                Code::E0008,
                format!("files are included deeper than {DEEPEST} levels"),
                "include all files from one file",
            );
            return;
        }
        match self.all.loader.load(&self.r.source.name, &path.text) {
            Err(reason) => self.report_at(
                path.span,
                Code::E0007,
                format!("cannot read `{}`: {reason}", path.text),
                "the path is relative to the including file",
            ),
            Ok((name, _)) if self.all.open.contains(&name) => {
                let chain = self.all.open.iter().skip_while(|open| **open != name);
                let chain: Vec<&str> = chain.map(String::as_str).chain([name.as_str()]).collect();
                let message = format!("the files include each other: {}", chain.join(" -> "));
                self.report_at(path.span, Code::E0006, message, "remove one `%include`");
            }
            Ok((name, _)) if self.all.seen.contains(&name) => {}
            Ok((name, text)) => self.all.file(&name, text),
        }
        self.r.at = after;
    }

    fn report_at(&mut self, span: Span, code: Code, message: String, help: &str) {
        self.r
            .diags
            .push(Diagnostic::new(code, span, message).help(help));
    }

    fn expected_path(&mut self, start: usize, end: usize) {
        self.r.report(
            Code::E0101,
            start,
            end,
            "`%include` takes one path in quotes",
            "write `%include \"file.nest\"`",
        );
    }

    /// A `%word` that is no declaration.
    fn other_directive(&mut self, start: usize, end: usize) {
        let word = self.r.text(start, end);
        let meant = if word.len() > 16 {
            None
        } else {
            nearest(word, KNOWN)
        };
        let help = meant.map_or_else(
            || "declarations start with %option, %state, %include, %{ or a macro's name".to_owned(),
            |meant| format!("did you mean `{meant}`?"),
        );
        let end = end.max(self.r.char_end(start));
        self.r.report(
            Code::E0101,
            start,
            end,
            format!("`{word}` is not a declaration"),
            help,
        );
        self.r.at = end.max(start + 1);
        self.skip_line(false);
    }

    /// Skips to the end of the line, and over a block in braces that starts in it. If a block is
    /// required, it may start in the next line.
    fn skip_line(&mut self, block: bool) {
        let line = self.r.line_end(self.r.at);
        let mut brace = self.r.bytes[self.r.at..line]
            .iter()
            .position(|b| *b == b'{');
        if brace.is_none() && block {
            let next = self.r.after_blanks(line);
            if next < self.r.end && self.r.bytes[next] == b'{' {
                brace = Some(next - self.r.at);
            }
        }
        let Some(n) = brace else {
            self.r.at = line;
            return;
        };
        let open = self.r.at + n;
        match csource::block_end(&self.r.bytes[..self.r.end], open + 1, &mut |_, _| {}) {
            Ok((_, next)) => self.r.at = self.r.line_end(next),
            Err(unended) => {
                let help = "close it with `}`";
                rules::unterminated(self.r, open, open + 1, "the block", help, &unended);
            }
        }
    }

    /// A C declaration in the wrong section: a variable is ignored with a warning.
    fn c_declaration(&mut self, start: usize, end: usize) -> bool {
        let word = self.r.text(start, end);
        let keyword = csource::is_declaration_word(word);
        let bytes = &self.r.bytes[..self.r.end];
        let Some(stop) = self.searches.end(bytes, start, keyword) else {
            return false;
        };
        if !keyword && !self.typed(end, stop) {
            return false;
        }
        let text = self.r.text(start, stop);
        let function = text
            .find('(')
            .is_some_and(|n| !text[n + 1..].trim_start().starts_with('*'));
        self.r.at = stop;
        if word == "typedef" || function {
            self.r.report(
                Code::E0101,
                start,
                stop,
                "C code among the declarations",
                "write it into `%{ %}`",
            );
        } else {
            self.r.report(
                Code::W0101,
                start,
                stop,
                "the variable is ignored: it is among the declarations",
                "write it after `%%` for a variable of each connection, or in `%{ %}` for a C \
                 global",
            );
        }
        true
    }

    /// Whether the name before `end` is a type, as in `FILE *log;`: the line contains nothing else.
    fn typed(&self, end: usize, stop: usize) -> bool {
        let line = self.r.line_end(end);
        let next = self.r.bytes[self.r.after_blanks(end).min(line)..line].first();
        let rest = self.r.bytes[stop.min(line)..line].trim_ascii();
        (rest.is_empty() || rest.starts_with(b"//") || rest.starts_with(b"/*"))
            && next.is_some_and(|b| *b == b'*' || crate::reader::is_ident_start(*b))
    }

    /// `NAME text`.
    fn macro_line(&mut self, start: usize, end: usize) {
        let name = self.r.name(start, end);
        let next = if end < self.r.end {
            self.r.bytes[end]
        } else {
            b'\n'
        };
        let (from, text_end) = delimit::macro_text(self.r, end);
        let rest = self.r.text(from, text_end);
        let rule = matches!(name.text.as_str(), "START" | "END" | "OVERLOAD")
            && rest.starts_with(['{', ':'])
            || matches!(next, b':')
            || (self.all.names.kind(&name.text) == Some(Kind::State)
                && rest.starts_with(['{', ':']));
        if rule {
            self.r.at = start;
            self.nothing(start);
        } else if !crate::reader::is_blank(next) && !matches!(next, b'"' | b'[' | b'(' | b'\\') {
            let end = self.r.char_end(end);
            self.r.report(
                Code::E0101,
                start,
                end.max(start + 1),
                "not a declaration",
                "a macro consists of a name, a blank and a text; names are letters, digits and `_`",
            );
        } else if from == text_end {
            self.declare(&name, Kind::Pattern);
            self.r.report(
                Code::E0105,
                start,
                end,
                format!("the macro `{}` has no text", name.text),
                "write its text after its name, on the same line",
            );
        } else if self.declare(&name, Kind::Pattern) {
            self.all.decls.push(Raw::Macro {
                name,
                unit: self.unit,
                start: from,
                end: text_end,
            });
        }
    }

    /// A line that is no declaration.
    fn nothing(&mut self, start: usize) {
        let line = self.r.line_end(start);
        let end = start + self.r.bytes[start..line].trim_ascii_end().len();
        let word = self.r.text(start, self.r.ident_end(start + 1));
        let (message, help) = if csource::is_preprocessor_word(word) {
            ("not a declaration", "write preprocessor lines in `%{ %}`")
        } else if self.r.looking_at("#") {
            (
                "`#` does not begin a comment",
                "comments are `// …` and `/* … */`",
            )
        } else {
            (
                "not a declaration",
                "declarations are %option, %state, %include, %{ %} and macros (`NAME text`); rules \
                 follow the first `%%`",
            )
        };
        self.r.report(Code::E0101, start, end, message, help);
        self.skip_line(false);
        if self.r.at == start {
            self.r.at = self.r.char_end(start);
        }
    }
}
