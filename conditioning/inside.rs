//! What a server contains that has its filters inside: cc-chain, the frame, and filters.
//!
//! The options of a filter, and what it needs and gives, are read from its C text: there is no other
//! list of them. Must not know: specifications, how the files are compiled.

/// A C file, at its place below the folder of connection conditioning.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Its path, with `/`.
    pub path: &'static str,
    /// Its content.
    pub text: &'static str,
}

macro_rules! sources {
    ($($path:literal)*) => {
        &[$(Source { path: $path, text: include_str!($path) },)*]
    };
}

/// The folders in which these files look for headers.
pub const INCLUDES: &[&str] = &["chain", "frame", "libcc", "protocol"];

/// What every such server contains.
pub const COMMON: &[Source] = sources! {
    "libcc/wire.h" "libcc/wire.c"
    "frame/ccfilter.h" "frame/frame.h" "frame/counters.h" "frame/bundle.c" "frame/control.c" "frame/down.c"
    "frame/inbox.c" "frame/lease.c" "frame/loop.c" "frame/main.c" "frame/options.c" "frame/ready.c" "frame/refuse.c"
    "frame/up.c"
    "chain/chain.h" "chain/names.h" "chain/inside.h" "chain/inside.c" "chain/keep.c" "chain/main.c" "chain/plan.c" "chain/serve.c"
    "chain/server.c" "chain/show.c" "chain/stage.c" "chain/start.c" "chain/state.c" "chain/text.c" "chain/usage.c"
};

/// What filters need that follow the automaton of a protocol.
pub const PROTOCOL: &[Source] = sources! {
    "frame/ccfpack.h" "frame/ccfauto.h" "frame/ccftree.h" "frame/auto.c" "frame/pack.c" "frame/tree.c"
    "protocol/protocol.h" "protocol/messages.h" "protocol/messages.c"
};

const MESSAGES: &[Source] = sources! {
    "frame/ccfpack.h" "frame/ccfauto.h" "frame/ccftree.h" "frame/auto.c" "frame/pack.c" "frame/tree.c"
    "protocol/protocol.h" "protocol/messages.h" "protocol/messages.c" "frame/ccfrepeat.h" "frame/repeat.c"
};

const TREE: &[Source] = sources! { "frame/ccftree.h" "frame/tree.c" };
const NETS: &[Source] = sources! { "frame/nets.h" "frame/nets.c" "frame/ccftree.h" "frame/tree.c" };

const HEADER: &[Source] = sources! { "filters/proxy/header.h" "filters/proxy/header.c" };

/// As many chains of filters a listening socket has at most at once: while those that were replaced have
/// clients, another one accepts.
pub const CHAINS: usize = 8;

/// A filter that a server may contain.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// The file with its main function.
    pub main: Source,
    /// What it needs besides [`COMMON`].
    pub needs: &'static [Source],
    /// Whether it follows the automaton of the server's protocol.
    pub protocol: bool,
    /// The option that says how many clients the server serves.
    pub clients: Option<&'static str>,
    /// The text with the rows of its options.
    options: &'static str,
}

macro_rules! program {
    ($name:literal $path:literal $needs:expr, $protocol:literal, $clients:expr, $options:literal) => {
        Program {
            name: $name,
            main: Source {
                path: $path,
                text: include_str!($path),
            },
            needs: $needs,
            protocol: $protocol,
            clients: $clients,
            options: include_str!($options),
        }
    };
}

/// All of them.
pub const PROGRAMS: &[Program] = &[
    program!("request" "protocol/request.c" PROTOCOL, true, None, "protocol/messages.c"),
    program!("check" "protocol/check.c" PROTOCOL, true, None, "protocol/check.c"),
    program!("pass" "filters/pass/pass.c" &[], false, None, "filters/pass/pass.c"),
    program!("persist" "protocol/persist.c" MESSAGES, true, None, "protocol/messages.c"),
    program!("priority" "filters/priority/priority.c" TREE, false, None, "filters/priority/priority.c"),
    program!("proxy" "filters/proxy/proxy.c" HEADER, false, None, "filters/proxy/proxy.c"),
    program!("ratelimit" "filters/ratelimit/ratelimit.c" NETS, false, None, "filters/ratelimit/ratelimit.c"),
    program!("slowread" "filters/slowread/slowread.c" NETS, false, Some("of"), "filters/slowread/slowread.c"),
];

/// What an option's text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// A number of milliseconds, with a unit; without one, of seconds.
    Time,
    /// A number of bytes, or with `k` or `m`.
    Size,
    /// A word.
    Choice,
    /// Any text that a specification can write, which the filter itself checks.
    Text,
}

impl Kind {
    /// The units of numbers, and what each stands for.
    const fn units(self) -> &'static [(&'static str, i64)] {
        match self {
            Kind::Time => &[
                ("ms", 1),
                ("s", 1000),
                ("m", 60_000),
                ("h", 3_600_000),
                ("", 1000),
            ],
            Kind::Size => &[("k", 1024), ("m", 1_048_576), ("", 1)],
            Kind::Number | Kind::Choice | Kind::Text => &[("", 1)],
        }
    }
}

/// An option of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterOption {
    /// Its key.
    pub name: &'static str,
    /// What its text may be.
    pub kind: Kind,
    /// The least and the greatest number.
    pub range: (i64, i64),
    /// The words of a choice.
    pub words: Vec<&'static str>,
    /// The number that it is if it is not set, where its text says one.
    pub default: Option<i64>,
}

/// A number that must not exceed another one of the same filter.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The option that must not exceed the other one.
    pub low: &'static str,
    /// The other one.
    pub high: &'static str,
    /// By which its number is multiplied before.
    pub factor: i64,
    /// What it then counts, with a blank before it; may be empty.
    pub unit: &'static str,
}

const SHARES: &[Limit] = &[
    Limit {
        low: "net16",
        high: "net8",
        factor: 1,
        unit: "",
    },
    Limit {
        low: "net24",
        high: "net16",
        factor: 1,
        unit: "",
    },
];

const RATE: &[Limit] = &[Limit {
    low: "rate",
    high: "per",
    factor: 1000,
    unit: " microseconds",
}];

impl FilterOption {
    /// Whether the text is a value of it.
    #[must_use]
    pub fn takes(&self, text: &str) -> bool {
        match self.kind {
            Kind::Choice => self.words.contains(&text),
            Kind::Text => !text.is_empty() && !text.contains(','),
            Kind::Number | Kind::Time | Kind::Size => self.number(text).is_some(),
        }
    }

    /// The number that the text is: of a time in milliseconds, of a size in bytes.
    #[must_use]
    pub fn number(&self, text: &str) -> Option<i64> {
        if matches!(self.kind, Kind::Choice | Kind::Text) {
            return None;
        }
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let mut units = self.kind.units().iter();
        let (_, factor) = units.find(|(unit, _)| *unit == &text[digits..])?;
        let value = text[..digits].parse::<i64>().ok()?.checked_mul(*factor)?;
        (self.range.0..=self.range.1)
            .contains(&value)
            .then_some(value)
    }

    /// What its value must be, for messages.
    #[must_use]
    pub fn form(&self) -> String {
        let (least, most) = self.range;
        match self.kind {
            Kind::Choice => self.words.join(" or "),
            Kind::Text => "text without blanks and commas".to_string(),
            Kind::Number => format!("a number from {least} to {most}"),
            Kind::Size => format!("a size from {least} to {most} bytes, such as 512, 16k or 1m"),
            Kind::Time => format!("a time from {least} to {most} ms, such as 500ms, 5s or 2m"),
        }
    }
}

/// What arrives at a filter, or leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Whatever it is.
    Any,
    /// Connections whose request is not complete.
    Connections,
    /// Connections with a complete request.
    Requests,
}

impl Program {
    /// The filter of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Program> {
        PROGRAMS.iter().find(|program| program.name == name)
    }

    /// Its options.
    #[must_use]
    pub fn options(&self) -> Vec<FilterOption> {
        self.options
            .split("{\"")
            .skip(1)
            .filter_map(option)
            .collect()
    }

    /// What it needs to arrive.
    #[must_use]
    pub fn arrives(&self) -> Stage {
        self.stage(" .needs = ")
    }

    /// What leaves it.
    #[must_use]
    pub fn leaves(&self) -> Stage {
        self.stage(" .gives = ")
    }

    /// Whether it follows connections to their end.
    #[must_use]
    pub fn leases(&self) -> bool {
        self.member(" .traits = ").contains("CCF_LEASES")
    }

    /// Whether it presents a connection several times.
    #[must_use]
    pub fn splits(&self) -> bool {
        self.member(" .traits = ").contains("CCF_SPLITS")
    }

    /// Numbers that must not exceed others, as its function `check` says.
    #[must_use]
    pub fn limits(&self) -> &'static [Limit] {
        match self.name {
            "slowread" => SHARES,
            "ratelimit" => RATE,
            _ => &[],
        }
    }

    fn stage(&self, member: &str) -> Stage {
        match self.member(member) {
            "CCF_CONNECTIONS" => Stage::Connections,
            "CCF_REQUESTS" => Stage::Requests,
            _ => Stage::Any,
        }
    }

    /// The value of a member of its `struct ccf_filter`; empty if it has none.
    fn member(&self, start: &str) -> &'static str {
        let rest = self
            .main
            .text
            .split_once(start)
            .map_or("", |(_, rest)| rest);
        rest.split([',', '}']).next().unwrap_or_default().trim()
    }
}

/// Reads `NAME", CCF_KIND, &variable, least, most, words, …`.
fn option(row: &'static str) -> Option<FilterOption> {
    let (name, rest) = row.split_once('"')?;
    let mut fields = rest.split(',').skip(1).map(str::trim);
    let kind = match fields.next()? {
        "CCF_NUMBER" => Kind::Number,
        "CCF_TIME" => Kind::Time,
        "CCF_SIZE" => Kind::Size,
        "CCF_CHOICE" => Kind::Choice,
        "CCF_TEXT" => Kind::Text,
        _ => return None,
    };
    let range = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
    let words = fields.next()?.trim_matches('"').split('|').collect();
    let default = row.split_once("default ").map_or("", |(_, rest)| rest);
    let mut option = FilterOption {
        name,
        kind,
        range,
        words,
        default: None,
    };
    option.default = option.number(default.split('"').next()?);
    Some(option)
}

#[cfg(test)]
mod tests {
    use super::{CHAINS, COMMON, Kind, PROGRAMS, Program, Stage};

    /// A row that cannot be read would be an option that specifications cannot set.
    #[test]
    fn every_option_is_read() {
        for program in PROGRAMS {
            let rows = program.options.matches(", CCF_").count();
            assert_eq!(program.options().len(), rows, "{}", program.name);
            assert!(program.main.text.contains("int main("), "{}", program.name);
        }
        assert!(Program::find("pass").unwrap().options().is_empty());
    }

    #[test]
    fn limits_are_what_the_c_text_says() {
        for program in PROGRAMS {
            let options = program.options();
            let number = |name: &str| options.iter().find(|o| o.name == name)?.default;
            let text = program.main.text;
            for limit in program.limits() {
                let (low, high) = (number(limit.low).unwrap(), number(limit.high).unwrap());
                assert!(low <= high * limit.factor, "{limit:?}");
                // The filter has a reason that names both.
                let mut reasons = text.lines().filter(|l| l.contains(" must not exceed "));
                assert!(
                    reasons.any(|l| l.contains(limit.low) && l.contains(limit.high)),
                    "{limit:?}"
                );
            }
            assert_eq!(
                text.contains(" must not exceed "),
                !program.limits().is_empty(),
                "{}",
                program.name
            );
        }
    }

    #[test]
    fn defaults_have_units() {
        let options = Program::find("ratelimit").unwrap().options();
        let default = |name| options.iter().find(|o| o.name == name).unwrap().default;
        assert_eq!(default("per"), Some(1000));
        assert_eq!(default("wait"), Some(0));
        assert_eq!(default("rate"), Some(20));
        assert_eq!(default("limit"), None);
    }

    #[test]
    fn chains_are_as_many_as_the_c_text_says() {
        let counters = COMMON
            .iter()
            .find(|s| s.path == "frame/counters.h")
            .unwrap();
        assert!(counters.text.contains(&format!("CCF__CHAINS = {CHAINS},")));
    }

    #[test]
    fn options_are_what_the_c_text_says() {
        let slowread = Program::find("slowread").unwrap();
        let options = slowread.options();
        let mode = options.iter().find(|o| o.name == "mode").unwrap();
        assert_eq!(
            (mode.kind, mode.words.as_slice()),
            (Kind::Choice, &["delay", "reject"][..])
        );
        assert!(mode.takes("reject") && !mode.takes("") && !mode.takes("delay|reject"));
        assert!(
            slowread
                .clients
                .is_some_and(|name| options.iter().any(|o| o.name == name))
        );
        let request = Program::find("request").unwrap().options();
        let timeout = request.iter().find(|o| o.name == "timeout").unwrap();
        assert_eq!((timeout.kind, timeout.range), (Kind::Time, (1, 86_400_000)));
        for good in ["1ms", "5s", "5", "2m", "24h"] {
            assert!(timeout.takes(good), "{good}");
        }
        for bad in [
            "",
            "s",
            "0",
            "5x",
            "25h",
            "-5s",
            "5 s",
            "99999999999999999999",
            "9223372036854775807h",
        ] {
            assert!(!timeout.takes(bad), "{bad}");
        }
        let size = request.iter().find(|o| o.name == "size").unwrap();
        assert!(size.takes("16k") && size.takes("1m") && !size.takes("16K") && !size.takes("0"));
    }

    #[test]
    fn stages_are_what_the_c_text_says() {
        let of = |name| Program::find(name).unwrap();
        assert_eq!(of("request").arrives(), Stage::Connections);
        assert_eq!(of("request").leaves(), Stage::Requests);
        assert_eq!(of("check").arrives(), Stage::Requests);
        assert_eq!(of("pass").arrives(), Stage::Any);
        assert_eq!(of("proxy").arrives(), Stage::Connections);
        assert_eq!(of("proxy").leaves(), Stage::Connections);
        assert!(of("slowread").leases() && !of("request").leases());
        assert!(of("persist").splits() && of("persist").leases() && !of("slowread").splits());
    }
}
