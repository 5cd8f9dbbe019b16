//! What a row of the table of directives says: the columns and their values. Must not know: any row.

use nest_feature::Feature;

use super::roles::Role;

/// How a directive is written and which C replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `$1`, `$0`: these are not rows of the table.
    Part,
    /// `$self`: without parentheses.
    Plain,
    /// `$return`: a statement without parentheses.
    Return,
    /// A call of the C function with the session and the arguments, `least..=most` of them.
    Call {
        /// The minimum number of arguments.
        least: usize,
        /// The maximum number of arguments.
        most: usize,
    },
    /// The same with optional arguments, and their default values.
    Filled {
        /// The minimum number of arguments.
        least: usize,
        /// The default of each further argument.
        rest: &'static [&'static str],
    },
    /// One argument: a duration, or a C expression in milliseconds.
    Duration {
        /// Whether `none` is allowed.
        none: bool,
    },
    /// A call of the C function with the session, `least` arguments and a duration, which may be
    /// left out (0).
    Timed {
        /// The number of arguments before the duration.
        least: usize,
    },
    /// `$block { … }`.
    Block,
    /// `$lock { … }`.
    Lock,
    /// A call without the session, with so many arguments (`$date()`).
    Global {
        /// Their number.
        arguments: usize,
    },
    /// The number of a part, and for [`PartAs::Item`] and [`PartAs::ItemLength`] an index.
    OfPart(PartAs),
    /// One or more states, or `*` where `star`.
    States {
        /// Whether `(*)` means all of them.
        star: bool,
    },
    /// Exactly one state.
    OneState,
    /// `$reply`: a format with arguments, or several strings.
    Reply {
        /// The number of arguments before the text.
        lead: usize,
        /// The function for one string.
        one: &'static str,
        /// The function for several strings.
        list: &'static str,
    },
    /// `$log(level, format, …)`.
    Log,
}

/// The name of the session in generated code.
pub const SELF: &str = "nest_self";

/// What a directive returns of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartAs {
    /// Its length.
    Length,
    /// Its bytes in place, without a NUL after them.
    Bytes,
    /// The number that its bytes represent.
    Number,
    /// The number of its repetitions.
    Count,
    /// The text of one repetition.
    Item,
    /// The length of one repetition.
    ItemLength,
}

impl PartAs {
    /// The number of its arguments.
    #[must_use]
    pub fn arguments(self) -> usize {
        match self {
            PartAs::Item | PartAs::ItemLength => 2,
            _ => 1,
        }
    }

    /// Whether the part must be a repetition.
    #[must_use]
    pub fn is_of_repetition(self) -> bool {
        matches!(self, PartAs::Count | PartAs::Item | PartAs::ItemLength)
    }
}

/// What a directive waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// A message: idleTimeout and readTimeout apply.
    Message,
    /// Any number of bytes: idleTimeout applies.
    Bytes,
    /// A client that reads: writeTimeout applies.
    Output,
    /// A time.
    Time,
    /// Code that blocks: it is never cut short.
    Block,
}

/// How a directive consumes input after the match of its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// It consumes nothing.
    Nothing,
    /// The action does not get the bytes.
    Dropped,
    /// It returns bytes.
    Bytes,
    /// It returns a line.
    Line,
    /// It writes bytes to this argument.
    Into(usize),
}

/// Whether a directive is allowed in `$lock`, where nothing may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InLock {
    /// Only outside.
    No,
    /// Inside and outside.
    Yes,
    /// Only inside.
    Only,
    /// Only inside, and it tells of a holder that has died.
    Recovers,
}

/// What a directive does with the states of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum States {
    /// Nothing.
    Untouched,
    /// Sets the named states.
    Marks,
    /// Clears the named states, or all for `*`.
    Clears,
    /// Clears all states, then sets the named ones.
    Only,
    /// Clears all states.
    ClearsAll,
    /// Tests whether a state is set.
    Tests,
    /// Tests whether a state was the last one set.
    TestsLast,
    /// Passes the session to C code, which may do anything with it.
    HandsOn,
}

/// What a directive does with other connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Nothing.
    Untouched,
    /// Sends to the connection that its first argument names.
    One,
    /// Joins the group that its first argument names.
    Joins,
    /// Leaves it.
    Leaves,
    /// Sends to its members.
    Group,
    /// Counts them.
    Counts,
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
    /// Whether it is allowed in `$block`.
    pub in_block: bool,
    /// Whether it is allowed in `$lock`.
    pub in_lock: InLock,
    /// Whether it sets the idle limit of this connection.
    pub limits_idle: bool,
    /// What it does with other connections.
    pub others: Others,
    /// Whether it gives a pointer to memory that other processes do not have.
    pub private: bool,
    /// The feature that it needs.
    pub needs: Option<Feature>,
}

impl Does {
    /// None of these effects.
    pub const NOTHING: Does = Does {
        waits: None,
        reads: Reads::Nothing,
        replies: false,
        closes: false,
        states: States::Untouched,
        text: &[],
        in_block: false,
        in_lock: InLock::Yes,
        limits_idle: false,
        others: Others::Untouched,
        private: false,
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
    /// How it is written.
    pub form: Form,
    /// Its C counterpart in nest.h.
    pub c: &'static str,
    /// Its form in the language reference.
    pub usage: &'static str,
    /// One line of description.
    pub doc: &'static str,
    /// What it does.
    pub does: Does,
    /// Names of other languages for it.
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
