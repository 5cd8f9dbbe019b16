//! What a row of the table of directives says: the columns and their values. Must not know: any row.

use nest_feature::Feature;

use super::roles::Role;

/// How a directive is written and what it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `$1`, `$0`: not in the table by name.
    Part,
    /// `$self`: no parentheses.
    Plain,
    /// `$return`: a statement without parentheses.
    Return,
    /// A call of the C function with the session and the arguments, `least..=most` of them.
    Call {
        /// Fewest arguments.
        least: usize,
        /// Most arguments.
        most: usize,
    },
    /// The same; arguments that may be left out, and what stands for them then.
    Filled {
        /// Fewest arguments.
        least: usize,
        /// For each further one.
        rest: &'static [&'static str],
    },
    /// One argument: a duration, or C's milliseconds.
    Duration {
        /// Whether `none` may stand in its place.
        none: bool,
    },
    /// `$block { … }`.
    Block,
    /// A call without the session (`$date()`).
    Global,
    /// One argument: the number of a part.
    OfPart(PartAs),
    /// One or more states, or `*` where `star`.
    States {
        /// Whether `(*)` means all of them.
        star: bool,
    },
    /// Exactly one state.
    OneState,
    /// `$reply`: a format with arguments, or strings one behind the other.
    Reply {
        /// The function for one string.
        one: &'static str,
        /// The function for several.
        list: &'static str,
    },
    /// `$log(level, format, …)`.
    Log,
    /// Known to the language, not in this version.
    Later,
}

/// The generated code's name of the session.
pub const SELF: &str = "nest_self";

/// What a directive gives of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartAs {
    /// How many bytes it has.
    Length,
    /// Its bytes where they are, without a NUL behind them.
    Bytes,
    /// The number that its bytes are.
    Number,
}

/// What something waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// A message: idleTimeout and readTimeout hold.
    Message,
    /// Bytes, as many as come: idleTimeout holds.
    Bytes,
    /// A client that reads: writeTimeout holds.
    Output,
    /// The time.
    Time,
    /// Code that blocks: it is never cut short.
    Block,
}

/// How something takes more of what the client sends: the message is not over where its match ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// It takes nothing.
    Nothing,
    /// The action gets none of it.
    Dropped,
    /// It returns bytes.
    Bytes,
    /// It returns a line.
    Line,
    /// It puts bytes into this argument.
    Into(usize),
}

/// What something does with the states of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum States {
    /// Nothing.
    Untouched,
    /// Marks those that it names.
    Marks,
    /// Clears those that it names, or all for `*`.
    Clears,
    /// Clears all, then marks those that it names.
    Only,
    /// Clears all.
    ClearsAll,
    /// Tests whether one is marked.
    Tests,
    /// Tests whether one was marked last.
    TestsLast,
    /// Hands the session to C, which may do anything with it.
    HandsOn,
}

/// What a directive, or a function of `nest.h`, does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Does {
    /// What it may wait for.
    pub waits: Option<Wait>,
    /// How it takes more input.
    pub reads: Reads,
    /// Whether it sends something to the client.
    pub replies: bool,
    /// Whether it ends the connection.
    pub closes: bool,
    /// What it does with states.
    pub states: States,
    /// What its arguments are to text from the client, the session left out; the last one stands for
    /// all behind it. Empty: nothing that matters.
    pub text: &'static [Role],
    /// Whether it may stand inside `$block`.
    pub in_block: bool,
    /// Whether it sets this connection's limit of silence.
    pub limits_idle: bool,
    /// The feature that it needs.
    pub needs: Option<Feature>,
}

impl Does {
    /// Nothing of all this.
    pub const NOTHING: Does = Does {
        waits: None,
        reads: Reads::Nothing,
        replies: false,
        closes: false,
        states: States::Untouched,
        text: &[],
        in_block: false,
        limits_idle: false,
        needs: None,
    };

    /// Whether it changes states or ends the connection.
    #[must_use]
    pub fn changes(&self) -> bool {
        let states = matches!(
            self.states,
            States::Marks | States::Clears | States::Only | States::ClearsAll
        );
        states || self.closes
    }
}

/// One directive.
#[derive(Clone, Copy, Debug)]
pub struct Directive {
    /// Without the `$`.
    pub name: &'static str,
    /// Its shape.
    pub form: Form,
    /// Its C counterpart in nest.h.
    pub c: &'static str,
    /// As the reference shows it.
    pub usage: &'static str,
    /// One line.
    pub doc: &'static str,
    /// What it does.
    pub does: Does,
    /// Names that other languages have for it.
    pub known_as: &'static [&'static str],
    /// Functions of C's library that reach files outside fileRoot; it does the same inside.
    pub instead_of: &'static [&'static str],
}

impl Directive {
    /// With the `$`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        let is_name = |c: char| c.is_ascii_alphanumeric();
        let end = self.usage[1..].find(|c| !is_name(c));
        &self.usage[..end.map_or(self.usage.len(), |end| end + 1)]
    }
}

/// A function of `nest.h`.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub c: &'static str,
    /// What it does.
    pub does: Does,
}
