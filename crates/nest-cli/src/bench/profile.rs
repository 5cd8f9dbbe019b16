//! The profile file of `nest bench`: which rules clients use how often, the values of parts of their
//! messages, how long clients think, and how many slow and hostile ones there are beside them.
//!
//! Must not know: how conversations are made, how clients are played.

use std::collections::BTreeMap;

use nest_bench::Random;
use nest_machine::Machine;
use nest_machine::options::duration;
use nest_pattern::{Dfa, Form, Nfa};

use super::words::Words;
use crate::quoted::quoted;

/// The longest profile, value and think time that are accepted.
pub const MOST_BYTES: usize = 1 << 16;
const MOST_VALUE: usize = 1000;
pub const MOST_THINK: u32 = 5000;
/// The most values of parts: each is compared with the pattern of its rule.
const MOST_VALUES: usize = 1000;
/// The largest weight.
const MOST_WEIGHT: u32 = 1000;
/// The most addresses from which clients come, and how many they are without a profile.
const MOST_SOURCES: u32 = 1 << 16;
const SOURCES: u32 = 64;
/// The largest automaton of a rule whose parts have chosen values.
const STATES: usize = 5000;

/// What a profile says; nothing without one.
#[derive(Default)]
pub struct Profile {
    /// Of rules, where it is not 1.
    weights: BTreeMap<usize, u32>,
    /// Of rules: the values of parts, by the number in `$n`.
    parts: BTreeMap<usize, BTreeMap<u32, Vec<Value>>>,
    /// Milliseconds before a message of a rule, and of any other one.
    thinks: BTreeMap<usize, (u32, u32)>,
    think: Option<(u32, u32)>,
    /// Slow and hostile clients, in percent of the others.
    slow: Option<f64>,
    hostile: Option<f64>,
    sources: Option<u32>,
}

/// What a part is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    /// This text.
    Text(Vec<u8>),
    /// A decimal number, from one to another.
    Numbers(u64, u64),
}

impl Value {
    fn draw(&self, random: &mut Random) -> Vec<u8> {
        match self {
            Value::Text(text) => text.clone(),
            Value::Numbers(least, most) => {
                let span = usize::try_from(most - least).unwrap_or(usize::MAX - 1);
                let more = random.draw(span.saturating_add(1)) as u64;
                (least + more).to_string().into_bytes()
            }
        }
    }

    /// Texts of which each must be possible: if they are, the others are too.
    fn limits(&self) -> Vec<Vec<u8>> {
        match self {
            Value::Text(text) => vec![text.clone()],
            Value::Numbers(least, most) => {
                [least, most].map(|n| n.to_string().into_bytes()).to_vec()
            }
        }
    }
}

impl Profile {
    /// Reads the text of a file called `name`. The error names the line, and says what to write.
    pub fn read(m: &Machine, name: &str, text: &[u8]) -> Result<Profile, String> {
        if text.len() > MOST_BYTES {
            return Err(format!("{name} has more than {} KB", MOST_BYTES / 1024));
        }
        let mut profile = Profile::default();
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let done = words(line).and_then(|words| profile.line(m, &words));
            done.map_err(|why| format!("{name}:{number}: {why}"))?;
        }
        Ok(profile)
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        let timed = !self.thinks.is_empty() || self.think.is_some();
        self.weights.is_empty() && self.parts.is_empty() && !timed
    }

    fn line(&mut self, m: &Machine, words: &[Word]) -> Result<(), String> {
        let plain: Vec<&str> = words.iter().map(Word::plain).collect();
        let twice = |what: &str| {
            Err(format!(
                "this is the second {what}; write one line for both"
            ))
        };
        match plain[..] {
            [] => Ok(()),
            ["weight", name, number] => {
                let weight = number.parse().ok().filter(|n| *n <= MOST_WEIGHT);
                let weight = weight.ok_or_else(|| {
                    format!("{number} is not a weight; write a number from 0 to {MOST_WEIGHT}")
                })?;
                match self.weights.insert(rule(m, name)?, weight) {
                    None => Ok(()),
                    Some(_) => twice(&format!("weight of {name}")),
                }
            }
            ["part", name, part, _, ..] => {
                let at = rule(m, name)?;
                let count = m.rules[at].parts;
                let number = part.strip_prefix('$').and_then(|n| n.parse::<u32>().ok());
                let number = number.filter(|n| *n > 0 && *n as usize <= count);
                let number = number.ok_or_else(|| {
                    format!("{name} has no part {part}; write one of $1 to ${count}")
                })?;
                let values = words[3..].iter().map(Word::value);
                let values = values.collect::<Result<Vec<Value>, String>>()?;
                let known = self.parts.values().flat_map(BTreeMap::values);
                if known.map(Vec::len).sum::<usize>() + values.len() > MOST_VALUES {
                    return Err(format!(
                        "parts have more than {MOST_VALUES} values; write fewer, or a range as in 1..500"
                    ));
                }
                for text in values.iter().flat_map(Value::limits) {
                    possible(m, at, number, &text)?;
                }
                match self.parts.entry(at).or_default().insert(number, values) {
                    None => Ok(()),
                    Some(_) => twice(&format!("list for {part} of {name}")),
                }
            }
            ["think", time] => match self.think.replace(times(time)?) {
                None => Ok(()),
                Some(_) => twice("think time of all rules"),
            },
            ["think", name, time] => match self.thinks.insert(rule(m, name)?, times(time)?) {
                None => Ok(()),
                Some(_) => twice(&format!("think time of {name}")),
            },
            ["slow", share] => match self.slow.replace(percent(share)?) {
                None => Ok(()),
                Some(_) => twice("share of slow clients"),
            },
            ["hostile", share] => match self.hostile.replace(percent(share)?) {
                None => Ok(()),
                Some(_) => twice("share of hostile clients"),
            },
            ["sources", number] => {
                let count = number.parse().ok();
                let count = count.filter(|n| (1..=MOST_SOURCES).contains(n));
                let count = count.ok_or_else(|| {
                    format!(
                        "{number} is not a number of addresses; write one from 1 to {MOST_SOURCES}"
                    )
                })?;
                match self.sources.replace(count) {
                    None => Ok(()),
                    Some(_) => twice("number of addresses"),
                }
            }
            _ => Err("write \"weight RULE N\", \"part RULE $N VALUE ...\", \
                      \"think [RULE] TIME\", \"slow N%\", \"hostile N%\" or \"sources N\""
                .to_owned()),
        }
    }

    /// How many slow and how many hostile clients there are beside so many others.
    pub fn crowd(&self, clients: usize) -> (usize, usize) {
        let count = |share: Option<f64>| {
            share.map_or(0, |percent| {
                (clients as f64 * percent / 100.0).ceil() as usize
            })
        };
        (count(self.slow), count(self.hostile))
    }

    /// From how many addresses clients come.
    pub fn sources(&self) -> u32 {
        self.sources.unwrap_or(SOURCES)
    }

    /// The weight of a rule.
    pub fn weight(&self, rule: usize) -> u32 {
        self.weights.get(&rule).copied().unwrap_or(1)
    }

    /// Whether parts of the rule have values.
    pub fn has_parts(&self, rule: usize) -> bool {
        self.parts.contains_key(&rule)
    }

    /// A message of a rule whose parts have values; `None` if there is none for the values drawn.
    pub fn message(&self, m: &Machine, rule: usize, random: &mut Random) -> Option<Vec<u8>> {
        let parts = self.parts.get(&rule)?;
        let mut chosen = Vec::new();
        for (number, values) in parts {
            let value = &values[random.draw(values.len())];
            chosen.push((*number, value.draw(random)));
        }
        with(m, rule, &chosen, random)
    }

    /// How long a client thinks before it sends a message of a rule, in milliseconds.
    pub fn think(&self, rule: usize, random: &mut Random) -> u32 {
        let Some((least, most)) = self.thinks.get(&rule).copied().or(self.think) else {
            return 0;
        };
        let more = random.draw((most - least) as usize + 1);
        least + u32::try_from(more).unwrap_or_default()
    }
}

/// A message of a rule in which parts are these texts.
fn with(m: &Machine, at: usize, parts: &[(u32, Vec<u8>)], random: &mut Random) -> Option<Vec<u8>> {
    let rule = &m.rules[at];
    let mut nfa: Nfa = rule.nfa.clone();
    for (number, text) in parts {
        nfa = nfa.with_form(*number, &Form::exactly(text)).ok()??;
    }
    let dfa = Dfa::build(&nfa, STATES)?;
    let chosen: usize = parts.iter().map(|(_, text)| text.len()).sum();
    let message = Words::of(&dfa)?.draw_within(random, chosen)?;
    // Where the pattern could divide a message otherwise, the match decides.
    let found = nest_pattern::sim::parts(&rule.nfa, &message)?;
    let same = |(number, text): &(u32, Vec<u8>)| {
        let range = found.get(*number as usize - 1).cloned();
        range.is_some_and(|range| message[range] == text[..])
    };
    parts.iter().all(same).then_some(message)
}

/// Fails if a part cannot be this text.
fn possible(m: &Machine, at: usize, number: u32, text: &[u8]) -> Result<(), String> {
    let rule = &m.rules[at];
    let shown = nest_bench::literal(text);
    if rule.dfa.is_none() {
        return Err(format!(
            "the pattern of {} has no automaton, so its parts cannot be chosen; remove the line",
            rule.label
        ));
    }
    if with(m, at, &[(number, text.to_vec())], &mut Random(0)).is_some() {
        return Ok(());
    }
    Err(format!(
        "${number} of {} cannot be {shown}; write a text that {} matches",
        rule.label,
        rule.elements[number as usize - 1]
    ))
}

/// The rule of a name, or in a line.
fn rule(m: &Machine, name: &str) -> Result<usize, String> {
    let label = match name.parse::<u32>() {
        Ok(line) => format!("line {line}"),
        Err(_) => name.to_owned(),
    };
    let mut found = (0..m.rules.len()).filter(|n| m.rules[*n].label == label);
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => Err(format!(
            "several files have a rule in {label}; give the rule a name, and write the name"
        )),
        (None, _) => {
            let labels = m.rules.iter().map(|rule| rule.label.as_str());
            let labels: Vec<&str> = labels.map(|l| l.trim_start_matches("line ")).collect();
            Err(format!(
                "there is no rule {name}; write a name, or the line of a pattern: {}",
                labels.join(", ")
            ))
        }
    }
}

/// `5%` or `0.5%`.
fn percent(text: &str) -> Result<f64, String> {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number = text.strip_suffix('%').filter(|text| digits(text));
    let number = number.and_then(|text| text.parse::<f64>().ok());
    number
        .filter(|percent| *percent > 0.0 && *percent <= 100.0)
        .ok_or_else(|| {
            format!("{text} is not a share of clients; write one of at most 100%, as in 5%")
        })
}

/// `10ms` or `10ms..1s`.
fn times(text: &str) -> Result<(u32, u32), String> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let time = |text: &str| match text {
        "0" => Some(0),
        _ => duration(text).filter(|ms| *ms > 0),
    };
    let both = time(least).zip(time(most));
    both.filter(|(least, most)| least <= most && *most <= MOST_THINK)
        .ok_or_else(|| {
            let most = MOST_THINK / 1000;
            format!(
                "{text} is not a think time; write a time of at most {most}s, as in 20ms or 0..1s"
            )
        })
}

/// A word of a line.
struct Word {
    text: Vec<u8>,
    quoted: bool,
}

impl Word {
    fn plain(&self) -> &str {
        let text = std::str::from_utf8(&self.text).unwrap_or("\"");
        if self.quoted { "\"" } else { text }
    }

    fn value(&self) -> Result<Value, String> {
        if self.text.len() > MOST_VALUE {
            return Err(format!(
                "a value has more than {MOST_VALUE} bytes; write a shorter one"
            ));
        }
        if let Some((least, most)) = self.plain().split_once("..") {
            let number = |text: &str| {
                let digits = text.bytes().all(|byte| byte.is_ascii_digit());
                text.parse::<u64>().ok().filter(|_| digits)
            };
            return match number(least).zip(number(most)) {
                Some((least, most)) if least <= most => Ok(Value::Numbers(least, most)),
                _ => Err(format!(
                    "{least}..{most} is not a range; write two numbers, the smaller one first, or \
                     quote a text"
                )),
            };
        }
        Ok(Value::Text(self.text.clone()))
    }
}

/// The words of a line, up to a comment.
fn words(line: &[u8]) -> Result<Vec<Word>, String> {
    let mut all = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        match rest.first() {
            None | Some(b'#') => return Ok(all),
            Some(b'"') => {
                let (text, behind) = quoted(&rest[1..])?;
                if behind
                    .first()
                    .is_some_and(|byte| !byte.is_ascii_whitespace())
                {
                    return Err("a text ends within a word; write a blank behind it".to_owned());
                }
                rest = behind;
                all.push(Word { text, quoted: true });
            }
            Some(_) => {
                let end = rest.iter().position(u8::is_ascii_whitespace);
                let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
                if word.len() > MOST_VALUE {
                    return Err(format!(
                        "a word has more than {MOST_VALUE} bytes; write a shorter one"
                    ));
                }
                if !word.iter().all(u8::is_ascii_graphic) || word.contains(&b'"') {
                    return Err(
                        "a word has bytes that must be quoted; write \"...\", in which \
                                \\xHH is any byte"
                            .to_owned(),
                    );
                }
                rest = behind;
                let text = word.to_vec();
                all.push(Word {
                    text,
                    quoted: false,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Profile, Random};
    use crate::bench::specification;
    use nest_machine::Machine;

    fn machine() -> Machine {
        let text = "%%\nget = \"GET \" [a-z]{1,9} \"\\n\" { $reply($2); }\n\
                    set = \"SET \" [a-z]{1,9} \" \" [0-9]{1,4} \"\\n\" { $reply($4); }\n\
                    \"BYE\\n\" { $close(); }\n";
        specification::machine(text)
    }

    fn read(text: &str) -> Result<Profile, String> {
        Profile::read(&machine(), "p", text.as_bytes())
    }

    #[test]
    fn values_are_those_of_the_file() {
        let m = machine();
        let text = "# a comment\nweight get 9\nweight 4 0\npart set $2 one \"two\" # more\n\
                    part set $4 98..101\nthink 10ms\nthink set 0..2ms\nslow 5%\nhostile 0.5%\nsources 9\n";
        let profile = Profile::read(&m, "p", text.as_bytes()).unwrap();
        assert_eq!([0, 1, 2].map(|n| profile.weight(n)), [9, 1, 0]);
        let mut random = Random(1);
        let mut all: Vec<Vec<u8>> = (0..400)
            .map(|_| profile.message(&m, 1, &mut random).unwrap())
            .collect();
        all.sort();
        all.dedup();
        let wanted = ["one", "two"]
            .map(|word| [100, 101, 98, 99].map(|n| format!("SET {word} {n}\n").into_bytes()));
        assert_eq!(all, wanted.concat());
        assert!(!profile.has_parts(0));
        assert_eq!(profile.think(0, &mut random), 10);
        assert!((0..99).all(|_| profile.think(1, &mut random) <= 2));
        assert_eq!((profile.crowd(64), profile.sources()), ((4, 1), 9));
        assert_eq!(read("").unwrap().crowd(64), (0, 0));
        assert!(read("").unwrap().is_empty() && !profile.is_empty());
    }

    #[test]
    fn mistakes_name_the_line() {
        for (text, message) in [
            ("\nfoo", "p:2: write \"weight RULE N\", "),
            ("weight get", "p:1: write \"weight RULE N\", "),
            (
                "weight got 1",
                "p:1: there is no rule got; write a name, or the line of a pattern: get, set, 4",
            ),
            (
                "weight get -1",
                "p:1: -1 is not a weight; write a number from 0 to 1000",
            ),
            (
                "weight get 1\nweight get 2",
                "p:2: this is the second weight of get",
            ),
            (
                "part get $9 a",
                "p:1: get has no part $9; write one of $1 to $3",
            ),
            (
                "part get $2 A",
                "p:1: $2 of get cannot be \"A\"; write a text that [a-z]{1,9} matches",
            ),
            ("part set $4 1..10000", "p:1: $4 of set cannot be \"10000\""),
            ("part set $4 9..1", "p:1: 9..1 is not a range"),
            ("part set $4 1..x", "p:1: 1..x is not a range"),
            ("part get $2 \"a", "p:1: a text does not end in its line"),
            ("part get $2 \"a\"b", "p:1: a text ends within a word"),
            ("part get $2 \"\\q\"", "p:1: an unknown escape"),
            (
                "part get $2 \"\\x1\"",
                "p:1: \\x needs two hexadecimal digits",
            ),
            (
                "part get $2 \u{e9}",
                "p:1: a word has bytes that must be quoted",
            ),
            (
                "think 6s",
                "p:1: 6s is not a think time; write a time of at most 5s",
            ),
            ("think 2s..1s", "p:1: 2s..1s is not a think time"),
            ("think none", "p:1: none is not a think time"),
            (
                "slow 5",
                "p:1: 5 is not a share of clients; write one of at most 100%, as in 5%",
            ),
            ("hostile 101%", "p:1: 101% is not a share of clients"),
            ("hostile 0%", "p:1: 0% is not a share of clients"),
            ("hostile 1e1%", "p:1: 1e1% is not a share of clients"),
            (
                "slow 5%\nslow 6%",
                "p:2: this is the second share of slow clients",
            ),
            (
                "sources 0",
                "p:1: 0 is not a number of addresses; write one from 1 to 65536",
            ),
        ] {
            let error = read(text).err().unwrap_or_default();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
        let long = format!("part get $2 {}", "a".repeat(2000));
        assert!(read(&long).is_err_and(|e| e.contains("more than 1000 bytes")));
        assert!(read(&format!("weight {} 1", "a".repeat(1001))).is_err_and(|e| e.len() < 100));
        let many = format!("part get $2{}\n", " abc".repeat(501)).replace("get", "@");
        let many = many.replace('@', "get") + &many.replace('@', "set");
        let error = read(&many).err().unwrap_or_default();
        assert!(
            error.starts_with("p:2: parts have more than 1000 values; write"),
            "{error}"
        );
        assert!(read(&" ".repeat(70_000)).is_err_and(|e| e == "p has more than 64 KB"));
    }

    #[test]
    fn any_bytes_are_read_or_refused() {
        let m = machine();
        let pieces: [&[u8]; 16] = [
            b"weight ", b"part ", b"think ", b"get ", b"set ", b"$2 ", b"$4 ", b"1", b"..",
            b"7ms ", b"\"", b"\\x", b"#", b"\n", b"\xff", b"abc ",
        ];
        let mut random = Random(7);
        let mut kept = 0;
        for _ in 0..3000 {
            let count = random.draw(12);
            let text: Vec<u8> = (0..count)
                .flat_map(|_| pieces[random.draw(pieces.len())].to_vec())
                .collect();
            match Profile::read(&m, "p", &text) {
                Ok(_) => kept += 1,
                Err(error) => {
                    let one = error.starts_with("p:") && !error.contains('\n');
                    assert!(one && error.contains("write"), "{error}");
                }
            }
        }
        assert!(kept > 10);
    }
}
