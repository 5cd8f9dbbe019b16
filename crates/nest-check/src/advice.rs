//! The words of the findings about text from the client. Must not know: how they are found.

use crate::checker::Checker;
use nest_c::Owner;
use nest_c::directives::{DIRECTIVES, Directive};
use nest_c::taint::{Flow, Held, Origin, Use};

impl Checker<'_> {
    /// The text, as the action names it.
    fn named(&self, flow: &Flow) -> String {
        match flow.origin {
            Origin::Part { rule, part } if flow.owner == Owner::Rule(rule) => format!("`${part}`"),
            Origin::Part { rule, part } => {
                let label = &self.m.rules[rule].label;
                format!("`${part}` of {label}")
            }
            Origin::Input(name) => format!("what `{name}` gives"),
        }
    }

    /// By which function.
    fn by(flow: &Flow) -> String {
        match &flow.inside {
            Some(inside) => format!("{} in `{inside}`", flow.by),
            None => flow.by.clone(),
        }
    }

    pub(crate) fn string(&self, flow: &Flow) -> (String, String) {
        let (text, by) = (self.named(flow), Checker::by(flow));
        let what = match flow.to {
            Use::Name => format!(
                "{text} may contain a NUL: {by} uses the text before it, which the pattern does \
                 not match"
            ),
            _ => format!("{text} may contain a NUL, and {by} ignores everything after it"),
        };
        let help = match flow.origin {
            Origin::Part { part, .. } => format!(
                "exclude NUL from the class, as in `[^\\n\\0]`; for binary data use \
                 $ptr({part}) and $len({part})"
            ),
            Origin::Input(_) => "leave NUL out".to_string(),
        };
        (what, help)
    }

    pub(crate) fn format(&self, flow: &Flow) -> (String, String) {
        let (text, by) = (self.named(flow), Checker::by(flow));
        let what =
            format!("{text} is used in the format of {by}: a client can read and write memory");
        (
            what,
            "write \"%s\" as the format, and the text as its argument".to_string(),
        )
    }

    pub(crate) fn command(&self, flow: &Flow) -> (String, String) {
        let (text, by) = (self.named(flow), Checker::by(flow));
        if flow.to == Use::Program {
            let what = format!("{text} determines which program {by} runs");
            let help = "name the program in the action, and pass the text as an argument";
            return (what, help.to_string());
        }
        let what = format!("{text} is used in a command that {by} passes to a shell");
        let help = "start the program without a shell (posix_spawn), or let the pattern match \
            only letters and digits, as in `[A-Za-z0-9]+`";
        (what, help.to_string())
    }

    pub(crate) fn path(&self, flow: &Flow) -> (String, String) {
        let (text, by) = (self.named(flow), Checker::by(flow));
        let what = format!("{text} may lead {by} out of any directory");
        let by = flow.by.as_str();
        let same = DIRECTIVES.iter().filter(|d| d.instead_of.contains(&by));
        let mut same: Vec<&str> = same.map(Directive::word).collect();
        same.sort_unstable();
        let name = match flow.held {
            Held::Part | Held::Within | Held::Copy => "a text without `/` that is not `..`",
            Held::Among { .. } => "a text without `/` or without `..`",
        };
        let element = format!("let the element match only {name}, as in `[A-Za-z0-9_-]+`");
        let help = if same.is_empty() {
            element
        } else {
            let same = same.join(" or ");
            format!("{same} cannot leave fileRoot; otherwise {element}")
        };
        (what, help)
    }

    pub(crate) fn address(&self, flow: &Flow) -> (String, String) {
        let (text, by) = (self.named(flow), Checker::by(flow));
        let what = format!("{text} chooses where {by} connects to");
        let help = "choose the address from a list of your own, or let the element match only names that \
                    the pattern lists, as in `\"news\"|\"mail\"`";
        (what, help.to_string())
    }

    pub(crate) fn copy(
        &self,
        flow: &Flow,
        array: &str,
        capacity: u64,
        beside: u64,
        taints: usize,
    ) -> (String, String) {
        let (text, by) = (self.named(flow), Checker::by(flow));
        let Origin::Part { rule, part } = flow.origin else {
            return (String::new(), String::new());
        };
        let nfa = &self.m.rules[rule].nfa;
        let (least, most) = (nfa.shape(part).least, self.most(rule, part));
        let Use::Buffer {
            taints: ref all, ..
        } = flow.to
        else {
            return (String::new(), String::new());
        };
        // As many as a look at its length has left.
        let most = all
            .first()
            .and_then(|(_, cap)| *cap)
            .map_or(most, |cap| most.min(cap));
        let fits = capacity.saturating_sub(beside);
        if taints > 1 {
            let what = format!("{by} may write more than the {capacity} bytes of `{array}`");
            let help = "limit the repetitions in the pattern, or use snprintf, which takes the size of the array";
            return (what, help.to_string());
        }
        let what = format!(
            "{text} may have {most} bytes, but {by} copies it into `{array}`, which has space for {fits}"
        );
        let example = match flow.by.as_str() {
            "sprintf" => format!("write snprintf({array}, sizeof {array}, …)"),
            "memcpy" | "memmove" | "mempcpy" => "check its length before".to_string(),
            "strcat" | "strncat" | "strlcat" => {
                format!("write nest_strlcat({array}, …, sizeof {array})")
            }
            _ => format!("write nest_strlcpy({array}, …, sizeof {array})"),
        };
        let written = (part as usize).checked_sub(1);
        let written = written.and_then(|n| self.m.rules[rule].elements.get(n));
        let bounded = written.and_then(|e| bounded(e, least, fits));
        let help = match bounded {
            Some(element) => format!("write the limit in the pattern, `{element}`, or {example}"),
            None => format!("let the pattern match at most {fits} bytes, or {example}"),
        };
        (what, help)
    }
}

/// An element that repeats one class, with a bound.
fn bounded(element: &str, least: u32, most: u64) -> Option<String> {
    let class = element.strip_suffix(['+', '*'])?;
    let one =
        class.starts_with('[') && class.find(']')? + 1 == class.len() && u64::from(least) <= most;
    one.then(|| format!("{class}{{{least},{most}}}"))
}
