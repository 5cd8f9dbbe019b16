//! Replaces directives and variables in the user's C code: the only mapping from them to C.

use crate::names;
use nest_c::branches::Point;
use nest_c::directives::{Directive, Form, InLock, PartAs, States};
use nest_machine::{ArgKind, Args, Machine, Use, What};
use nest_pattern::{Cut, Cuts};
use std::ops::Range;

/// The context of the text.
#[derive(Clone, Copy)]
pub enum Context<'a> {
    /// In a function that has `nest_v`; in a rule's action also `nest_m`, with the ends of its
    /// elements.
    Evaluated(Option<&'a Cuts>),
    /// At file scope, inside `sizeof`: only the type of a variable is known.
    Unevaluated,
}

/// Replaced C text; where it differs, the original text that it stands for.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The C text.
    pub text: String,
    /// Ranges of it, in order, each with the range of the original text.
    pub stands: Vec<(Range<usize>, Range<usize>)>,
}

impl Text {
    /// The unchanged text of the user.
    pub fn same(text: &str) -> Text {
        Text {
            text: text.to_string(),
            stands: Vec::new(),
        }
    }

    /// C text that stands for the whole of the user's `old`.
    pub fn whole(text: String, old: &str) -> Text {
        Text {
            stands: vec![(0..text.len(), 0..old.len())],
            text,
        }
    }

    /// The same with C text around it; `length`: that of the user's text.
    pub fn between(mut self, before: &str, after: &str, length: usize) -> Text {
        for (new, _) in &mut self.stands {
            *new = new.start + before.len()..new.end + before.len();
        }
        self.text = format!("{before}{}", self.text);
        self.stands.insert(0, (0..before.len(), 0..0));
        let end = self.text.len();
        self.stands.push((end..end + after.len(), length..length));
        self.text.push_str(after);
        self
    }
}

/// The replacement for `$block`. A C macro may hide a `return` that nest's parser does not see.
/// Therefore the block ends with its scope, so that no action ends on a helper thread.
const BLOCK: &str = "{ nest_block_begin(nest_self); __attribute__((__cleanup__(nest_block_left), \
                     __unused__)) nest_session *const nest_in_block = nest_self;";

/// The replacement for `$lock`. Like a block, it ends with its scope, so that `return` releases the
/// lock. `asks`: whether the code asks for a holder that has died.
fn lock(asks: bool) -> String {
    format!(
        "{{ nest_lock_begin({asks}); __attribute__((__cleanup__(nest_lock_left), __unused__)) char \
         nest_in_lock = 0;"
    )
}

/// `text` with every use replaced; the number of lines does not change.
pub fn replace(m: &Machine, text: &str, uses: &[Use], context: Context<'_>) -> Text {
    all_edits(m, text, uses, context).apply(text)
}

/// The same, with the branches at these points counted.
pub fn replace_and_count(
    m: &Machine,
    text: &str,
    uses: &[Use],
    context: Context<'_>,
    points: &[Point],
) -> Text {
    let mut edits = all_edits(m, text, uses, context);
    for point in points {
        count(point, &mut edits);
    }
    edits.apply(text)
}

/// Text that changes nothing but that `nest__branch`, which returns 1, is called for what runs.
fn count(point: &Point, edits: &mut Edits) {
    match point {
        Point::Condition { at, number } => {
            edits.insert(at.start, "(");
            let other = number + 1;
            let chosen = format!(") ? nest__branch({number}) : !nest__branch({other})");
            edits.insert(at.end, &chosen);
        }
        Point::Label { at, number } => edits.insert(*at, &format!(" nest__branch({number});")),
    }
}

/// The same as [`replace`], with `name` instead of the text at `hole`.
pub fn replace_and_name(
    m: &Machine,
    text: &str,
    uses: &[Use],
    context: Context<'_>,
    (hole, name): (&Range<usize>, String),
) -> Text {
    let mut edits = all_edits(m, text, uses, context);
    edits.put(hole.clone(), name);
    edits.apply(text)
}

fn all_edits(m: &Machine, text: &str, uses: &[Use], context: Context<'_>) -> Edits {
    let mut edits = Edits { list: Vec::new() };
    for u in uses {
        if edits.covered(&u.at) {
            continue;
        }
        match &u.what {
            What::Variable(i) => edits.put(u.at.clone(), variable(m, *i, context)),
            What::Shared(i) => edits.put(u.at.clone(), shared(m, *i, context)),
            What::Lock { close } => {
                let asks = uses.iter().any(|other| {
                    (u.at.end..*close).contains(&other.at.start) && recovers(&other.what)
                });
                edits.put(u.at.clone(), lock(asks));
                edits.insert(close + 1, " }");
            }
            What::Dollar => edits.put(u.at.clone(), "$".to_string()),
            What::Milliseconds(ms) => edits.put(u.at.clone(), format!("{ms}u")),
            What::Block { close } => {
                edits.put(u.at.clone(), BLOCK.to_string());
                edits.insert(close + 1, " }");
            }
            What::Part(n) => edits.put(u.at.clone(), format!("nest_part(nest_self, {n})")),
            What::Directive {
                directive,
                call: None,
            } => {
                edits.put(u.at.clone(), directive.c.to_string());
            }
            What::Directive {
                directive,
                call: Some(args),
            } => {
                call(m, text, (&u.at, directive, args), context, &mut edits);
            }
        }
    }
    edits
}

fn variable(m: &Machine, index: usize, context: Context<'_>) -> String {
    let name = &m.locals.variables[index].name;
    match context {
        Context::Evaluated(_) => format!("nest_v->{name}"),
        Context::Unevaluated => format!("(*({} *)0)", names::variable_type(m, name)),
    }
}

fn shared(m: &Machine, index: usize, context: Context<'_>) -> String {
    let shared = m.shared.as_ref();
    let name = shared.map_or("", |shared| &shared.variables.variables[index].name);
    match context {
        Context::Evaluated(_) => format!("nest_shared->{name}"),
        Context::Unevaluated => format!("(*({} *)0)", names::shared_type(m, name)),
    }
}

/// Whether it asks whether a holder of the lock has died.
fn recovers(what: &What) -> bool {
    matches!(what, What::Directive { directive, .. } if directive.does.in_lock == InLock::Recovers)
}

fn call(
    m: &Machine,
    text: &str,
    (head, directive, args): (&Range<usize>, &Directive, &Args),
    context: Context<'_>,
    edits: &mut Edits,
) {
    let c = directive.c;
    let whole = head.start..args.close + 1;
    let lines = line_ends(&text[whole.clone()]);
    match directive.form {
        Form::States { .. } => {
            let mut steps: Vec<String> = Vec::new();
            if directive.does.states == States::Only {
                steps.push("nest_clear_all(nest_self)".to_string());
            }
            for arg in &args.args {
                steps.push(match arg.kind {
                    ArgKind::State(n) => format!("{c}(nest_self, {})", names::state(m, n)),
                    _ => "nest_clear_all(nest_self)".to_string(),
                });
            }
            let all = if let [one] = steps.as_slice() {
                one.clone()
            } else {
                format!("({})", steps.join(", "))
            };
            edits.put(whole, format!("{all}{lines}"));
        }
        Form::OneState => {
            let ArgKind::State(n) = args.args[0].kind else {
                return;
            };
            let state = names::state(m, n);
            let value = if directive.does.states == States::TestsLast {
                format!("({c}(nest_self) == {state})")
            } else {
                format!("{c}(nest_self, {state})")
            };
            edits.put(whole, format!("{value}{lines}"));
        }
        Form::OfPart(kind) if kind.arguments() == 1 => {
            let ArgKind::PartNumber(n) = args.args[0].kind else {
                return;
            };
            let known = match context {
                Context::Evaluated(Some(cuts)) => in_place(cuts, kind, n),
                _ => None,
            };
            let value = known.unwrap_or_else(|| format!("{c}(nest_self, {n})"));
            edits.put(whole, format!("{value}{lines}"));
        }
        Form::Reply { lead, one, list } if !args.format => {
            reply(head, args, lead, (one, list), edits);
        }
        Form::Global { .. } => edits.put(head.clone(), c.to_string()),
        _ => {
            edits.put(head.clone(), c.to_string());
            let comma = if args.args.is_empty() { "" } else { ", " };
            edits.insert(args.open + 1, &format!("nest_self{comma}"));
            if let Form::Filled { least, rest } = directive.form {
                for value in &rest[args.args.len() - least..] {
                    edits.insert(args.close, &format!(", {value}"));
                }
            }
            if let Form::Timed { least } = directive.form
                && args.args.len() == least
            {
                edits.insert(args.close, ", 0");
            }
            for arg in &args.args {
                if let ArgKind::Level(level) = arg.kind {
                    edits.put(arg.at.clone(), level.to_string());
                }
                if let ArgKind::PartNumber(n) = arg.kind {
                    edits.put(arg.at.clone(), n.to_string());
                }
            }
        }
    }
}

/// The line ends of a text; in a line of the preprocessor each has a backslash before it.
fn line_ends(text: &str) -> String {
    let mut ends = String::new();
    for line in text.split_inclusive('\n').filter(|l| l.ends_with('\n')) {
        let goes_on = line.trim_end_matches(['\r', '\n']).ends_with('\\');
        ends.push_str(if goes_on { " \\\n" } else { "\n" });
    }
    ends
}

/// A part's length or place from what is known of the message without a call.
fn in_place(cuts: &Cuts, kind: PartAs, n: u32) -> Option<String> {
    let parts = cuts.cuts.len() + 1;
    let place = |at: usize| match at {
        0 => Some("0u".to_string()),
        _ if at == parts => Some("nest_m->n".to_string()),
        _ => match cuts.cuts[at - 1] {
            Cut::Unused => None,
            Cut::Start(by) => Some(format!("{by}u")),
            Cut::End(by) => Some(format!("(nest_m->n - {by}u)")),
            Cut::Tag(tag, 0) => Some(format!("nest_m->tags[{tag}]")),
            Cut::Tag(tag, by) => Some(format!("(nest_m->tags[{tag}] + {by}u)")),
        },
    };
    let (from, to) = match n as usize {
        0 => (place(0)?, place(parts)?),
        n => (place(n - 1)?, place(n)?),
    };
    match kind {
        PartAs::Length => Some(format!("(size_t)({to} - {from})")),
        PartAs::Bytes => Some(format!("((const char *)nest_m->p + {from})")),
        _ => None,
    }
}

/// Strings in turn, behind `lead` other arguments.
fn reply(
    head: &Range<usize>,
    args: &Args,
    lead: usize,
    (one, list): (&str, &str),
    edits: &mut Edits,
) {
    let strings = &args.args[lead..];
    if let [arg] = strings
        && arg.kind == ArgKind::Expression
    {
        edits.put(head.clone(), one.to_string());
        edits.insert(args.open + 1, "nest_self, ");
        return;
    }
    edits.put(head.clone(), list.to_string());
    edits.insert(args.open + 1, "nest_self, ");
    edits.insert(
        strings[0].at.start,
        &format!("{}, (const nest_bytes[]){{", strings.len()),
    );
    for arg in strings {
        if let ArgKind::Part(n) = arg.kind {
            edits.put(arg.at.clone(), format!("nest_part_bytes(nest_self, {n})"));
        } else {
            edits.insert(arg.at.start, "nest_text(");
            edits.insert(arg.at.end, ")");
        }
    }
    edits.insert(args.close, "}");
}

/// Replacements and insertions, applied together.
struct Edits {
    /// The range, the text, and the order of creation (for insertions at one position).
    list: Vec<(Range<usize>, String)>,
}

impl Edits {
    fn put(&mut self, at: Range<usize>, text: String) {
        self.list.push((at, text));
    }

    fn insert(&mut self, at: usize, text: &str) {
        self.list.push((at..at, text.to_string()));
    }

    /// Whether the range is inside something that has been replaced.
    fn covered(&self, at: &Range<usize>) -> bool {
        self.list
            .iter()
            .any(|(r, _)| !r.is_empty() && r.start <= at.start && at.end <= r.end)
    }

    fn apply(mut self, text: &str) -> Text {
        // A stable sort. Among insertions at one position, that of the enclosing call comes first
        // where arguments begin. Where they end, the innermost was inserted last and would have to
        // come first; this would matter only if `)` and `}` had the same offset, which is
        // impossible.
        self.list.sort_by_key(|(r, _)| (r.start, r.end));
        let mut out = String::with_capacity(text.len() + 64 * self.list.len());
        let mut stands = Vec::with_capacity(self.list.len());
        let mut at = 0;
        for (old, new) in self.list {
            out.push_str(&text[at..old.start]);
            at = old.end;
            stands.push((out.len()..out.len() + new.len(), old));
            out.push_str(&new);
        }
        out.push_str(&text[at..]);
        Text { text: out, stands }
    }
}
