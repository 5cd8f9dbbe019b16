//! Calls: directives, functions of C's library by the table, functions of the specification by
//! what they do. Must not know: statements.

use super::copies::copied;
use super::format::{character, literal};
use super::table::{Gives, Known, known, of_nest};
use super::types::{Flow, Held, Origin, Use};
use super::values::{ANYTHING, About, FORMATS, Number, PATHS, SHELLS, Text, Value};
use super::walk::{COMPARE, Given, Site, Walk};
use crate::action::{ArgKind, Args, What};
use crate::directives::{self, Directive, Does, Form, PartAs, Reads, roles::Role};
use crate::library::{Function, children};
use crate::source::Owner;
use std::collections::BTreeSet;
use std::ops::Range;
use tree_sitter::Node;

/// Functions of the specification inside each other.
const FRAMES: usize = 4;

impl<'a> Walk<'a, '_> {
    pub fn call(&mut self, node: Node<'a>) -> Value {
        let (Some(function), Some(list)) = (
            node.child_by_field_name("function"),
            node.child_by_field_name("arguments"),
        ) else {
            return Value::default();
        };
        if let Some(What::Directive { directive, call }) = self.use_at(function).map(|u| &u.what) {
            return self.directive(directive, call.as_ref(), list, node);
        }
        let args = self.arguments(list);
        if function.kind() != "identifier" {
            return self.unknown(&args);
        }
        let name = self.word(function);
        let library = self.common.library;
        if library.macros.contains_key(name) {
            return self.unknown(&args);
        }
        if let Some(all) = library.functions.get(name) {
            return match all.as_slice() {
                [one] => self.inside(name, one, args, node),
                _ => self.unknown(&args),
            };
        }
        if let Some(value) = self.of_part(name, &args) {
            return value;
        }
        if let Some((name, does)) = directives::function(name)
            && let Some(value) = self.reads(name, does, 1, &args)
        {
            return value;
        }
        if let Some(row) = known(name) {
            return self.known(name, row, &args, node);
        }
        if let Some(at) = self.common.formats.get(name).copied() {
            self.argument(name, &args, at, &Use::Format);
            return Value::default();
        }
        if name.starts_with("nest_") {
            return Value::default();
        }
        self.unknown(&args)
    }

    fn arguments(&mut self, list: Node<'a>) -> Vec<Given<'a>> {
        let all = children(list).into_iter();
        let given = all.map(|node| Given {
            node,
            value: self.eval(node),
        });
        given.collect()
    }

    /// Somebody unknown has it.
    fn unknown(&mut self, args: &[Given<'a>]) -> Value {
        let about = args.iter().flat_map(|a| a.value.verdict()).collect();
        for arg in args {
            self.changed(&arg.value);
        }
        Value {
            about,
            ..Value::default()
        }
    }

    fn directive(
        &mut self,
        directive: &'static Directive,
        call: Option<&Args>,
        list: Node<'a>,
        node: Node<'a>,
    ) -> Value {
        let part = call.and_then(|call| match call.args.first()?.kind {
            ArgKind::PartNumber(n) => Some(n),
            _ => None,
        });
        if directive.form == Form::OfPart(PartAs::Item)
            && let Some(part) = part
        {
            self.arguments(list);
            return self.item(part);
        }
        if let (Some(part), Owner::Rule(rule)) = (part, self.owner) {
            return of_part(directive.form, Origin::Part { rule, part });
        }
        let args = self.arguments(list);
        let (word, does) = (directive.word(), &directive.does);
        match self.reads(word, does, 0, &args) {
            Some(value) => value,
            None => match of_nest(does, 0) {
                Some(row) => self.known(word, row, &args, node),
                None => Value::default(),
            },
        }
    }

    /// The text of a repetition of a part, which can be what the part can be.
    fn item(&mut self, part: u32) -> Value {
        self.load(&format!("${part}"))
    }

    /// What `nest.h` gives of a part.
    fn of_part(&mut self, name: &str, args: &[Given<'a>]) -> Option<Value> {
        let whole = name == directives::PART.c;
        let form = directives::becoming(name).map(|d| d.form);
        let is_item = form == Some(Form::OfPart(PartAs::Item));
        let form = match form {
            Some(form) if is_item => form,
            Some(form @ Form::OfPart(PartAs::Length | PartAs::Bytes)) => form,
            _ if whole => Form::Part,
            _ => return None,
        };
        let (Some(Number::Is(part)), Owner::Rule(rule)) = (args.get(1)?.value.number, self.owner)
        else {
            return Some(Value::default());
        };
        let part = u32::try_from(part).ok()?;
        if is_item {
            return Some(self.item(part));
        }
        if whole {
            let mut value = self.load(&format!("${part}"));
            value.place = Some(format!("${part}"));
            return Some(value);
        }
        Some(of_part(form, Origin::Part { rule, part }))
    }

    /// Input that is read: returned, or put into an argument. `first`: arguments before its own.
    fn reads(
        &mut self,
        name: &'static str,
        does: &Does,
        first: usize,
        args: &[Given<'a>],
    ) -> Option<Value> {
        let read = Value::of(Origin::Input(name), Held::Copy);
        let to = match does.reads {
            Reads::Bytes | Reads::Line => return Some(read),
            Reads::Into(to) => args.get(first + to),
            Reads::Nothing | Reads::Dropped => return None,
        };
        let to = to.map(|a| a.value.clone()).unwrap_or_default();
        self.write(&to, read.taints, true);
        Some(Value::default())
    }

    /// A function of the specification, given these.
    fn inside(
        &mut self,
        name: &'a str,
        function: &'a Function<'_>,
        mut args: Vec<Given<'a>>,
        node: Node<'a>,
    ) -> Value {
        let open = self.frames.iter().any(|frame| frame.name == name);
        if open || self.frames.len() > FRAMES || function.body.has_error() {
            return self.unknown(&args);
        }
        let verdict = args.iter().flat_map(|a| a.value.verdict());
        let about: BTreeSet<(Origin, About)> = verdict.collect();
        if self.frames.len() == 1 {
            let places = args.iter().map(|a| (self.place(a.node), a.value.clone()));
            self.site = Some(Site {
                call: self.place(node),
                args: places.collect(),
            });
        }
        let behind = args.split_off(args.len().min(function.parameters.len()));
        let rest = behind.into_iter().map(|a| a.value);
        let rest = rest.fold(Value::default(), Value::join);
        let given = args.into_iter().map(|a| a.value);
        let parameters = function.parameters.iter().copied().zip(given).collect();
        self.enter(self.common.library.text, None, name, parameters);
        self.frame().rest = rest;
        self.run(function.body);
        let gives = self.frames.pop().map(|frame| {
            let end = std::mem::take(&mut self.env);
            self.env = end.join(frame.jumps.returns);
            let own = format!("{}:", frame.number);
            self.vars().retain(|key, _| !key.starts_with(&own));
            frame.gives
        });
        if self.frames.len() == 1 {
            self.site = None;
        }
        let mut value = gives.unwrap_or_default();
        value.about.extend(about);
        value
    }

    /// A node's place in the action.
    fn place(&self, node: Node<'a>) -> Range<usize> {
        let shift = crate::scope::BODY.len();
        node.start_byte().saturating_sub(shift)..node.end_byte().saturating_sub(shift)
    }

    /// An argument's texts come to a use.
    fn argument(&mut self, by: &str, args: &[Given<'a>], at: usize, to: &Use) {
        let Some(arg) = args.get(at) else { return };
        for text in arg.value.taints.clone() {
            // Such as the name behind the last slash: where it begins was looked for.
            let mut about = arg.value.about.iter().filter(|(o, _)| *o == text.origin);
            if *to != Use::Path || !about.any(|(_, a)| a.looks() & (ANYTHING | PATHS) != 0) {
                self.report(by, arg.node, text, to.clone());
            }
        }
    }

    pub fn report(&mut self, by: &str, node: Node<'a>, text: Text, mut to: Use) {
        let Text { origin, held } = text;
        let looked = |looks| {
            let known = self.env.looked.get(&origin).copied().unwrap_or(0);
            known & (ANYTHING | looks) != 0 || self.env.mended.contains(&origin)
        };
        let known = match &mut to {
            Use::Text | Use::Name => !matches!(held, Held::Part | Held::Within),
            Use::Buffer { taints, .. } => taints.iter_mut().any(|(origin, cap)| {
                let bound = self.env.measured.get(origin).copied();
                *cap = bound.into_iter().chain(*cap).min();
                bound == Some(0)
            }),
            Use::Format => looked(FORMATS),
            Use::Path => looked(PATHS),
            Use::Command | Use::Program => looked(SHELLS),
            Use::Address => looked(0),
        };
        if known || self.env.dead {
            return;
        }
        let (at, inside) = match &self.site {
            None => (self.place(node), None),
            Some(Site { call, args }) => {
                let has = |v: &Value| v.taints.iter().any(|t| t.origin == origin);
                let arg = args.iter().find(|(_, value)| has(value));
                let inside = self.frames.get(1).map(|frame| frame.name.to_string());
                (arg.map_or(call.clone(), |(at, _)| at.clone()), inside)
            }
        };
        let same = |(place, flow): &(Range<usize>, Flow)| {
            *place == at && flow.origin == origin && flow.to == to
        };
        if self.found.iter().any(same) {
            return;
        }
        let flow = Flow {
            owner: self.owner,
            span: nest_diag::Span::new(nest_diag::FileId(0), 0, 0),
            origin,
            held,
            to,
            by: by.to_string(),
            inside,
        };
        self.found.push((at, flow));
    }

    /// Whether it compares no more bytes than a literal has, of which none is a NUL.
    fn beginning(&self, name: &str, args: &[Given<'a>]) -> bool {
        let count = args
            .get(2)
            .and_then(|n| n.value.number.or(self.constant(n.node)));
        let Some(Number::Is(count)) = count else {
            return false;
        };
        let written = args.iter().filter_map(|a| literal(self.word(a.node)));
        let longest = written.map(|text| text.len() as u64).max();
        name.starts_with("strn") && longest.is_some_and(|longest| count <= longest)
    }

    /// What is found out about texts by a function that compares them, or looks for something.
    fn verdict(&self, name: &str, args: &[Given<'a>]) -> BTreeSet<(Origin, About)> {
        let needle = args.get(1).map_or("", |a| self.word(a.node));
        let bytes = match name {
            "strchr" | "strrchr" | "index" | "rindex" | "memchr" | "memrchr" => {
                character(needle).map(|byte| vec![byte])
            }
            "strstr" | "strcasestr" | "strpbrk" | "strtok" | "strtok_r" => {
                literal(needle).map(String::into_bytes)
            }
            _ => None,
        };
        let all = args.iter().flat_map(|a| a.value.verdict());
        let compares = COMPARE.contains(&name);
        let Some(bytes) = bytes else {
            let found = |(origin, about)| match about {
                About::Content if compares => (origin, About::Equal),
                about => (origin, about),
            };
            return all.map(found).collect();
        };
        let found = |(origin, about)| match about {
            About::Content => {
                let sees = bytes.iter().map(|byte| (origin, About::Sees(*byte)));
                sees.collect()
            }
            about => vec![(origin, about)],
        };
        all.flat_map(found).collect()
    }

    fn known(&mut self, name: &str, row: Known, args: &[Given<'a>], node: Node<'a>) -> Value {
        for (n, arg) in args.iter().enumerate() {
            match row.role(n) {
                Role::Text if self.beginning(name, args) => {}
                Role::Text | Role::From => self.argument(name, args, n, &Use::Text),
                Role::Own => self.argument(name, args, n, &Use::Name),
                Role::Number => {
                    let end = args.get(n + 1).map_or("NULL", |end| self.word(end.node));
                    if !matches!(end, "NULL" | "0" | "nullptr") {
                        self.argument(name, args, n, &Use::Text);
                    }
                }
                Role::Path => {
                    self.argument(name, args, n, &Use::Path);
                    self.argument(name, args, n, &Use::Name);
                }
                Role::Command => self.argument(name, args, n, &Use::Command),
                Role::Address => {
                    self.argument(name, args, n, &Use::Address);
                    self.argument(name, args, n, &Use::Name);
                }
                Role::Program => self.argument(name, args, n, &Use::Program),
                Role::Arguments => {
                    // One by one, or as a list, of which the command is what is kept.
                    let before = n.checked_sub(1).map(|n| self.word(args[n].node));
                    if before == Some("\"-c\"") || !name.starts_with("execl") {
                        self.argument(name, args, n, &Use::Command);
                    }
                }
                Role::Format => self.argument(name, args, n, &Use::Format),
                _ => {}
            }
            if name == "memchr" && n == 0 {
                let looked_for = args.get(1).map_or("", |a| self.word(a.node));
                if matches!(looked_for, "0" | "'\\0'") {
                    self.checked
                        .extend(arg.value.taints.iter().map(|t| t.origin));
                }
            }
        }
        if name.starts_with("strtok") {
            // It ends behind its first word.
            let text = args.first().map(|a| a.value.taints.clone());
            for text in text.into_iter().flatten() {
                self.env.measure(text.origin, 0);
            }
        }
        self.copy(name, &row, args, node);
        if name == "sscanf" {
            // Words of it, whichever they are.
            let words = args.first().map(|a| copied(&a.value.taints));
            let words: BTreeSet<Text> = words.into_iter().flatten().map(Text::among).collect();
            for to in args.iter().skip(2) {
                self.write(&to.value, words.clone(), true);
            }
        }
        let first = || args.first().map(|a| a.value.clone()).unwrap_or_default();
        match row.gives {
            Gives::Nothing => Value::default(),
            Gives::First => {
                let first = first();
                let now = first.place.as_ref().map(|place| self.load(place));
                now.unwrap_or(first)
            }
            Gives::Duplicate => Value {
                taints: copied(&first().taints),
                ..Value::default()
            },
            Gives::Inside => Value {
                about: self.verdict(name, args),
                ..first().inside()
            },
            Gives::Verdict => Value {
                about: self.verdict(name, args),
                ..Value::default()
            },
            Gives::Length => {
                let taints = args.iter().flat_map(|a| &a.value.taints);
                let first = args.first().map(|a| &a.value.taints);
                let only = first.filter(|taints| taints.len() == 1);
                let number = match only.and_then(BTreeSet::first) {
                    Some(t) if t.held == Held::Part => Some(Number::Length(t.origin, 0)),
                    _ => None,
                };
                Value {
                    about: taints.map(|t| (t.origin, About::StringLength)).collect(),
                    number: match args.first().and_then(|a| literal(self.word(a.node))) {
                        Some(text) if name == "strlen" => Some(Number::Is(text.len() as u64)),
                        _ => number.filter(|_| name == "strlen"),
                    },
                    ..Value::default()
                }
            }
            Gives::Never => {
                self.env.dead = true;
                Value::default()
            }
        }
    }
}

/// What a directive gives of a part.
fn of_part(form: Form, origin: Origin) -> Value {
    match form {
        Form::OfPart(PartAs::Length) => Value {
            about: BTreeSet::from([(origin, About::Length)]),
            number: Some(Number::Length(origin, 0)),
            ..Value::default()
        },
        // The bytes, without a NUL behind them.
        Form::OfPart(PartAs::Bytes) => Value::of(
            origin,
            Held::Among {
                begins: true,
                alone: true,
                quoted: false,
            },
        ),
        _ => Value::default(),
    }
}
