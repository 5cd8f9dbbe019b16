//! The list of all diagnostic codes: stable number, severity, title, page.
//!
//! The page is the embedded file `codes/CODE.md`: the meaning of the code, an example that causes
//! it, and the fix. `nest explain CODE` prints it; the reference chapter and the completeness test
//! use this list. Ranges: E00xx text and structure, E01xx declarations, E02xx rules and conditions,
//! E03xx patterns, E04xx actions and directives, E05xx per-connection variables and C sections,
//! E06xx options and models, E07xx filters, E08xx shared data, W.... warnings with the same second digit.

/// The severity of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Nothing is generated.
    Error,
    /// Reported; compilation continues.
    Warning,
}

macro_rules! codes {
    ($($name:ident $severity:ident $title:literal;)*) => {
        /// A diagnostic code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Code { $($name,)* }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// `E0101`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Code::$name => stringify!($name),)* }
            }

            /// Error or warning.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Code::$name => Severity::$severity,)* }
            }

            /// The title of its page.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Code::$name => $title,)* }
            }

            /// Its page in Markdown.
            #[must_use]
            pub fn page(self) -> &'static str {
                match self { $(Code::$name => include_str!(concat!("../codes/", stringify!($name), ".md")),)* }
            }

            /// The code with that name, ignoring case.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Code> {
                Self::ALL.iter().copied().find(|c| c.name().eq_ignore_ascii_case(name))
            }
        }
    };
}

codes! {
    E0001 Error "a file that cannot be read";
    E0002 Error "a byte that text cannot contain";
    E0003 Error "an unterminated construct";
    E0004 Error "a missing or an extra section";
    E0005 Error "not in this version";
    E0006 Error "files that include each other";
    E0007 Error "an %include that cannot be read";
    E0008 Error "a limit of the compiler";
    E0101 Error "not a declaration";
    E0102 Error "a reserved name";
    E0103 Error "a name declared twice";
    E0104 Error "a macro that uses itself";
    E0105 Error "a macro without text";
    E0106 Error "too many states";
    E0107 Error "an invalid name";
    E0109 Error "an invalid allow comment";
    E0201 Error "not a rule";
    E0202 Error "an undeclared state";
    E0203 Error "an undeclared name";
    E0204 Error "an invalid condition";
    E0205 Error "a rule without an action";
    E0206 Error "START, END or OVERLOAD twice";
    E0207 Error "a rule without a pattern";
    E0208 Error "a rule name used twice";
    E0209 Error "no rules";
    E0210 Error "Lex syntax";
    E0211 Error "an invalid TIMEOUT rule";
    E0212 Error "an OVERLOAD rule that never runs";
    E0218 Error "classes of clients in a model without a loop";
    E0219 Error "quotas of another number than classes";
    E0220 Error "a class of clients where there are none";
    E0221 Error "a class of clients that there is not";
    E0222 Error "classes of addresses that do not fit";
    E0301 Error "a pattern element that is a bare word";
    E0302 Error "a macro name inside a longer element";
    E0303 Error "a quantifier with nothing to repeat";
    E0304 Error "a count out of range";
    E0305 Error "an invalid class";
    E0306 Error "an invalid escape";
    E0307 Error "an assertion inside a pattern";
    E0308 Error "a construct that needs backtracking";
    E0309 Error "an invalid group";
    E0310 Error "a pattern that matches only the empty string";
    E0311 Error "a pattern too large";
    E0312 Error "a character that is more than one byte";
    E0313 Error "an unmatched parenthesis or bracket";
    E0314 Error "a condition macro in a pattern";
    E0315 Error "a construct of another dialect";
    E0316 Error "a pattern that matches nothing";
    E0401 Error "an unknown directive";
    E0402 Error "a part that does not exist";
    E0403 Error "incorrect use of a directive";
    E0404 Error "a directive outside actions";
    E0405 Error "an undeclared state in a directive";
    E0406 Error "a format that does not fit its arguments";
    E0407 Error "a directive that has no effect here";
    E0408 Error "a time without a unit";
    E0409 Error "a directive inside $block";
    E0410 Error "a $block that is left early";
    E0411 Error "a session stored beyond its action";
    E0501 Error "a declaration that cannot be per connection";
    E0502 Error "C code that cannot be parsed";
    E0503 Error "main in the start-up section";
    E0504 Error "a name that nest uses";
    E0601 Error "an unknown option";
    E0602 Error "an option value out of range";
    E0603 Error "two models";
    E0604 Error "options that exclude each other";
    E0605 Error "an option given twice";
    E0606 Error "other connections in a server of inetd";
    E0701 Error "a filter without a first message";
    E0702 Error "a first message that a filter cannot follow";
    E0703 Error "persist before a server that keeps state";
    E0704 Error "an unknown filter, or an unknown option of a filter";
    E0705 Error "filters in an order that makes no sense";
    E0801 Error "an invalid %shared";
    E0802 Error "a shared variable outside $lock";
    E0803 Error "what must not stand inside $lock";
    E0804 Error "a $lock that is left early";
    E0805 Error "a directive that only $lock may contain";
    E0806 Error "a pointer in %shared that other processes cannot use";
    E0807 Error "a signal that the server itself uses";
    E0808 Error "a %signal without a signal that it can have";
    E0809 Error "a second %signal for a signal";
    E0810 Error "a %cache that decides nothing, or that is missing";
    E0811 Error "a kernelCache for a server that sends no files over HTTP";
    W0101 Warning "a variable among the declarations";
    W0102 Warning "an unused macro";
    W0103 Warning "a macro written like an assignment";
    W0104 Warning "an allow comment without a warning";
    W0201 Warning "a state set and never tested, or tested and never set";
    W0202 Warning "a rule that is never active";
    W0203 Warning "a rule that never matches";
    W0204 Warning "an action after which no rule is active";
    W0205 Warning "two rules distinguished only by their order";
    W0206 Warning "a rule that never matches in a whole line";
    W0301 Warning "letters outside quotes";
    W0302 Warning "an answer that waits for one more byte";
    W0303 Warning "a rule that leaves the line end unread";
    W0304 Warning "a match without a limit";
    W0305 Warning "a NOW that ends a match that could continue";
    W0306 Warning "a NOW that changes nothing";
    W0401 Warning "a part that may contain a NUL used as a string";
    W0402 Warning "client input as a format";
    W0403 Warning "client input as a command";
    W0404 Warning "client input as a path";
    W0405 Warning "a part that may be too long for its array";
    W0501 Warning "a C global that connections do not share";
    W0502 Warning "a group without members, or without messages";
    W0511 Warning "client input as an address to connect to";
}
