//! The words behind an option's name: whether they are values of its kind, and which.

use super::row::{LOGS, LONGEST, OptionInfo, Value};
use nest_diag::{Code, Diagnostic, Span};
use nest_syntax::ast::{Name, OptionDecl};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether number and range of the words fit; says what does not.
pub(super) fn check(info: &OptionInfo, decl: &OptionDecl, out: &mut Vec<Diagnostic>) -> bool {
    let mut bad = |span: Span, what: String, help: String| {
        out.push(Diagnostic::new(Code::E0602, span, what).help(help));
        false
    };
    let (least, most) = match info.value {
        Value::Flag => (0, 0),
        Value::Addresses => (1, 48), // 16, and two words about each
        Value::PerAddress | Value::FileCache => (1, 3),
        Value::Pairs => (1, 32),
        Value::Protocols => (1, 16),
        Value::Overload => (1, 9),
        Value::Model(kind) if kind.row().spares.is_some() => (1, 3),
        Value::Model(_) if !info.selects.is_empty() => (1, 2),
        _ => (1, 1),
    };
    let n = decl.values.len();
    if n < least {
        return bad(
            decl.name.span,
            format!("%option {} needs a value", info.name),
            usage(info),
        );
    }
    if n > most {
        return bad(
            decl.values[most].span,
            match most {
                0 => format!("%option {} takes no value", info.name),
                1 => format!("%option {} takes one value, not {n}", info.name),
                _ => format!("%option {} takes at most {most} values, not {n}", info.name),
            },
            superfluous(info, decl),
        );
    }
    let addresses = decl.values.iter().filter(|w| !is_mark(&w.text)).count();
    if matches!(info.value, Value::Addresses) && addresses > 16 {
        return bad(
            decl.name.span,
            format!(
                "%option {} takes at most 16 addresses, not {addresses}",
                info.name
            ),
            usage(info),
        );
    }
    match info.value {
        Value::Model(kind) => {
            let (word, most) = (&decl.values[0], kind.most_clients());
            if !number(&word.text).is_some_and(|n| (1..=most).contains(&n)) {
                return bad(
                    word.span,
                    format!("`{}` is not a number of clients", word.text),
                    format!("a number from 1 to {most}"),
                );
            }
            let more = &decl.values[1..];
            let fits = match more {
                [] => true,
                [name, numbers] if name.text == "spare" => {
                    spare(&numbers.text).is_some_and(|(a, b)| (1..=b).contains(&a) && b <= most)
                }
                [name] => info.selects.iter().any(|(word, _)| *word == name.text),
                _ => false,
            };
            let (form, help) = match info.selects {
                [] => (
                    "spare A..B",
                    "as in spare 5..20: from 5 to 20 processes or threads wait for a client",
                ),
                _ => (
                    "fallback",
                    "fallback: epoll serves where io_uring cannot be used",
                ),
            };
            fits || bad(
                more[0].span,
                format!("`{}` is not `{form}`", words(more)),
                help.to_string(),
            )
        }
        Value::Number { least, most } => {
            let word = &decl.values[0];
            match number(&word.text) {
                Some(n) if (least..=most).contains(&n) => true,
                _ => bad(
                    word.span,
                    format!("`{}` is not a value of {}", word.text, info.name),
                    format!("a number from {least} to {most}"),
                ),
            }
        }
        Value::Count { most } => {
            let word = &decl.values[0];
            word.text == "auto"
                || number(&word.text).is_some_and(|n| (1..=most).contains(&n))
                || bad(
                    word.span,
                    format!("`{}` is not a value of {}", word.text, info.name),
                    format!("a number from 1 to {most}, or auto"),
                )
        }
        Value::Size { least, most } => {
            let word = &decl.values[0];
            match size(&word.text) {
                Some(n) if (u64::from(least)..=u64::from(most)).contains(&n) => true,
                _ => bad(
                    word.span,
                    format!("`{}` is not a value of {}", word.text, info.name),
                    format!(
                        "bytes from {least} to {}, as in 512, 8K, 1M",
                        show_size(most)
                    ),
                ),
            }
        }
        Value::Duration => {
            let word = &decl.values[0];
            match duration(&word.text) {
                Some(_) => true,
                None => bad(
                    word.span,
                    format!("`{}` is not a value of {}", word.text, info.name),
                    "a whole number and its unit, from 1ms to 24h, as in 500ms, 30s, 5m, 1h; or none"
                        .to_string(),
                ),
            }
        }
        Value::Word(words) => {
            let word = &decl.values[0];
            words.contains(&word.text.as_str())
                || bad(
                    word.span,
                    format!("`{}` is not a value of {}", word.text, info.name),
                    format!("one of: {}", words.join(", ")),
                )
        }
        Value::Log => {
            let word = &decl.values[0];
            LOGS.contains(&word.text.as_str())
                || word.text.contains('/')
                || bad(
                    word.span,
                    format!("`{}` is not a value of {}", word.text, info.name),
                    format!(
                        "one of {}, or a path with a slash, as in ./access.log",
                        LOGS.join(", ")
                    ),
                )
        }
        Value::Addresses => decl.values.iter().enumerate().all(|(i, w)| {
            is_address(&w.text)
                || is_mark_of(&decl.values[..i], &w.text)
                || bad(
                    w.span,
                    format!("`{}` is not an address", w.text),
                    "as in 127.0.0.1:8080, [::1]:8080, [fe80::1%eth0]:8080, *:8080, unix:/path, systemd; \
                     the words proxy and tls may follow each, once"
                        .to_string(),
                )
        }),
        Value::Address => {
            let word = &decl.values[0];
            (word.text != "systemd" && is_address(&word.text))
                || bad(
                    word.span,
                    format!("`{}` is not a value of {}", word.text, info.name),
                    "an address, as in 127.0.0.1:9100, [::1]:9100, *:9100, unix:/path".to_string(),
                )
        }
        Value::Protocols => {
            let unfit = decl.values.iter().find(|w| !protocol(&w.text));
            unfit.is_none_or(|word| {
                bad(
                    word.span,
                    format!("`{}` is not the name of a protocol", word.text),
                    "1 to 255 bytes that can be printed, without blanks, as in http/1.1"
                        .to_string(),
                )
            })
        }
        Value::Overload => {
            let text = words(&decl.values);
            overload(&text)
                || bad(
                    decl.values[0].span,
                    format!("`{text}` is not a value of {}", info.name),
                    "queues with the length at which overload begins and the one at which it ends, \
                     as in accepted 900 800, actions 20 5, files 50 10; or a duration, as in 5ms; or \
                     none"
                        .to_string(),
                )
        }
        Value::FileCache => {
            let text = words(&decl.values);
            file_cache(&text)
                || bad(
                    decl.values[0].span,
                    format!("`{text}` is not a value of {}", info.name),
                    format!(
                        "a policy and a size from 64K to 1T, as in LRU 64M; behind the size of \
                         LRU-Threshold the size of the largest file; or none; policies: {}",
                        POLICIES.join(", ")
                    ),
                )
        }
        Value::PerAddress => {
            let text = words(&decl.values);
            per_address(&text)
                || bad(
                    decl.values[0].span,
                    format!("`{text}` is not a value of {}", info.name),
                    "a number of clients from 1 to 10000, which the lengths of networks may follow, \
                     as in 20, 20 /24, 20 /24 /64; or none"
                        .to_string(),
                )
        }
        Value::Pairs => {
            let blank = decl
                .values
                .iter()
                .find(|w| w.text.is_empty() || w.text.contains([' ', '\t']));
            if let Some(word) = blank {
                let what = format!("`{}` is not the name of a file of {}", word.text, info.name);
                return bad(word.span, what, "a name without blanks".to_string());
            }
            pairs(&words(&decl.values))
                || bad(
                    decl.values[0].span,
                    format!("`{}` is not a value of {}", words(&decl.values), info.name),
                    "a file with a certificate and one with its key, as in cert.pem key.pem; more \
                     such pairs may follow; or none"
                        .to_string(),
                )
        }
        Value::Quota => {
            let word = &decl.values[0];
            slashed(&word.text).is_some()
                || bad(
                    word.span,
                    format!("`{}` is not a value of {}", word.text, info.name),
                    "numbers from 1 to 1000 with slashes between, one for each class, as in 8/1"
                        .to_string(),
                )
        }
        Value::ListenPriority => {
            let word = &decl.values[0];
            word.text == "none"
                || slashed(&word.text).is_some()
                || bad(
                    word.span,
                    format!("`{}` is not a value of {}", word.text, info.name),
                    "the class of each address of listen with slashes between, as in 1/2; or none"
                        .to_string(),
                )
        }
        Value::Processors => {
            let word = &decl.values[0];
            processors(&word.text)
                || bad(
                    word.span,
                    format!("`{}` is not a value of {}", word.text, info.name),
                    "a number of threads from 1 to 64, or two with .. between, as in 4 or 2..8; or none"
                        .to_string(),
                )
        }
        Value::Text | Value::SharedSize | Value::Flag | Value::Later => true,
    }
}

/// What to write in place of too many values.
fn superfluous(info: &OptionInfo, decl: &OptionDecl) -> String {
    let words: Vec<&str> = decl.values.iter().map(|v| v.text.as_str()).collect();
    let joined = words.concat();
    let fits = match info.value {
        Value::Duration => duration(&joined).is_some(),
        Value::Size { .. } => size(&joined).is_some(),
        _ => false,
    };
    match info.value {
        _ if matches!(words[0], "=" | ":") => {
            format!("write `%option {} {}`", info.name, words[1..].join(" "))
        }
        _ if fits => format!("write the unit directly after the number: {joined}"),
        Value::Text => format!("write it in quotes: \"{}\"", words.join(" ")),
        _ => usage(info),
    }
}

fn usage(info: &OptionInfo) -> String {
    match info.value {
        Value::Model(kind) if kind.row().spares.is_some() => format!(
            "%option {} N spare A..B: the maximum number of clients, and how many wait for one",
            info.name
        ),
        Value::Model(_) if !info.selects.is_empty() => format!(
            "%option {} N [fallback]: the maximum number of clients, and whether epoll may serve",
            info.name
        ),
        Value::Model(_) => format!("%option {} N, the maximum number of clients", info.name),
        Value::Flag => format!("%option {} stands alone", info.name),
        _ => info.doc.to_string(),
    }
}

/// Whether a text is `none`, N or N..M, with at most 64 threads.
fn processors(text: &str) -> bool {
    let number = |word: &str| {
        let digits = (1..=2).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit());
        word.parse().ok().filter(|n| digits && (1..=64).contains(n))
    };
    let (least, most): (Option<u32>, Option<u32>) = match text.split_once("..") {
        Some((least, most)) => (number(least), number(most)),
        None => (number(text), number(text)),
    };
    text == "none" || least.zip(most).is_some_and(|(a, b)| a <= b)
}

fn words(values: &[Name]) -> String {
    let words: Vec<&str> = values.iter().map(|v| v.text.as_str()).collect();
    words.join(" ")
}

/// `5..20` as two numbers.
pub(super) fn spare(text: &str) -> Option<(u32, u32)> {
    let (least, most) = text.split_once("..")?;
    Some((number(least)?, number(most)?))
}

/// `30s` as milliseconds, from 1 to [`LONGEST`]; `none` as 0.
#[must_use]
pub fn duration(text: &str) -> Option<u32> {
    if text == "none" {
        return Some(0);
    }
    let ms = milliseconds(text)?;
    u32::try_from(ms).ok().filter(|n| (1..=LONGEST).contains(n))
}

/// `90m` as milliseconds: a time that is no value of an option may be of any length.
#[must_use]
pub fn milliseconds(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit: u64 = match &text[digits..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(unit)
}

/// `8/2/1`: numbers from 1 to 1000.
pub(super) fn slashed(text: &str) -> Option<Vec<u32>> {
    let share = |word| number(word).filter(|n| (1..=1000).contains(n));
    text.split('/').map(share).collect()
}

/// The queues that overload may watch, and the largest length that makes sense.
const QUEUES: [(&str, u32); 3] = [
    ("accepted", 1_000_000),
    ("actions", 250),
    ("files", 1_000_000),
];

/// Whether the text is a value of overload: `none`, `5ms`, `20 5`, `actions 20 5 files 50 10`.
fn overload(text: &str) -> bool {
    if duration(text).is_some() {
        return true;
    }
    let mut words = text.split(' ');
    let mut met = [false; QUEUES.len()];
    while let Some(word) = words.next() {
        let (queue, high) = match QUEUES.iter().position(|(name, _)| *name == word) {
            Some(queue) => (queue, words.next()),
            None => (0, Some(word)),
        };
        let numbers = (high.and_then(number), words.next().and_then(number));
        let fits = matches!(numbers, (Some(h), Some(l)) if l < h && h <= QUEUES[queue].1);
        if !fits || std::mem::replace(&mut met[queue], true) {
            return false;
        }
    }
    true
}

/// The policies of fileCache.
pub const POLICIES: [&str; 8] = [
    "LRU",
    "LFU",
    "LRU-MIN",
    "LRU-Threshold",
    "Hyper-G",
    "SIEVE",
    "S3-FIFO",
    CUSTOM,
];

/// The policy whose code is that of `%cache`.
pub const CUSTOM: &str = "custom";

/// A size of fileCache as bytes, `64M` or `1T`.
#[must_use]
pub fn cache_size(text: &str) -> Option<u64> {
    match text.strip_suffix(['t', 'T']) {
        Some(digits) => size(&format!("{digits}G")).and_then(|n| n.checked_mul(1 << 10)),
        None => size(text),
    }
}

/// Whether the text is a value of fileCache: `none`, `LRU 64M`, `LRU-Threshold 64M 256K`.
fn file_cache(text: &str) -> bool {
    let bytes = cache_size;
    let fits = |n: &u64| (64 << 10..=1 << 40).contains(n);
    match text.split(' ').collect::<Vec<_>>()[..] {
        ["none"] => true,
        ["LRU-Threshold", most, largest] => {
            let (most, largest) = (bytes(most).filter(fits), bytes(largest));
            most.zip(largest).is_some_and(|(m, l)| l > 0 && l <= m)
        }
        [policy, most] => {
            policy != "LRU-Threshold"
                && POLICIES.contains(&policy)
                && bytes(most).is_some_and(|n| fits(&n))
        }
        _ => false,
    }
}

/// A number as a server reads it: digits, and no sign.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// Whether the text is a value of tls: `none`, or names of files in pairs.
fn pairs(text: &str) -> bool {
    text == "none" || text.split(' ').count().is_multiple_of(2)
}

/// Whether the text can be the name of a protocol in a handshake.
fn protocol(text: &str) -> bool {
    (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

/// Whether the text is a value of perAddress: `none`, `20`, `20 /24`, `20 /24 /64`.
fn per_address(text: &str) -> bool {
    let fits = |text: &str, most: u32| number(text).is_some_and(|n| (1..=most).contains(&n));
    let length = |text: &str, most| text.strip_prefix('/').is_some_and(|n| fits(n, most));
    match text.split(' ').collect::<Vec<_>>()[..] {
        ["none"] => true,
        [clients] => fits(clients, 10_000),
        [clients, four] => fits(clients, 10_000) && length(four, 32),
        [clients, four, six] => fits(clients, 10_000) && length(four, 32) && length(six, 128),
        _ => false,
    }
}

/// Behind an address of `listen`: connections begin with a PROXY header.
pub const PROXY: &str = "proxy";

/// Behind an address of `listen`: connections are encrypted from their beginning.
pub const ENCRYPTED: &str = "tls";

/// Whether the text is a word about the address of `listen` before it.
#[must_use]
pub fn is_mark(text: &str) -> bool {
    text == PROXY || text == ENCRYPTED
}

/// Whether the text is such a word, and follows an address that does not have it yet.
fn is_mark_of(before: &[Name], text: &str) -> bool {
    let address = before.iter().rposition(|w| !is_mark(&w.text));
    is_mark(text)
        && address.is_some_and(|at| {
            is_address(&before[at].text) && before[at..].iter().all(|w| w.text != text)
        })
}

/// Whether the text has the form of an address (whether it can be bound shows at run time).
#[must_use]
pub fn is_address(text: &str) -> bool {
    if text == "systemd" {
        return true;
    }
    if let Some(path) = text.strip_prefix("unix:") {
        return (1..=LONGEST_PATH).contains(&path.len());
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let inside = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let host_fits = host == "*" || host.parse::<Ipv4Addr>().is_ok() || inside.is_some_and(is_six);
    host_fits && port.len() <= 5 && number(port).is_some_and(|n| n <= u32::from(u16::MAX))
}

/// The longest path of a Unix socket that a server takes.
const LONGEST_PATH: usize = 106;

/// Whether the text is an IPv6 address. That of a link, and no other, has its interface behind it.
fn is_six(text: &str) -> bool {
    let (address, interface) = match text.split_once('%') {
        Some((_, "")) => return false,
        Some((address, _)) => (address, true),
        None => (text, false),
    };
    let address = address.parse::<Ipv6Addr>();
    address.is_ok_and(|address| address.is_unicast_link_local() == interface)
}

/// `8K` as bytes.
#[must_use]
pub fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.chars().last()? {
        'k' | 'K' => (&text[..text.len() - 1], 1u64 << 10),
        'm' | 'M' => (&text[..text.len() - 1], 1 << 20),
        'g' | 'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn show_size(n: u32) -> String {
    match n {
        n if n != 0 && n % (1 << 30) == 0 => format!("{}G", n >> 30),
        n if n != 0 && n % (1 << 20) == 0 => format!("{}M", n >> 20),
        n if n != 0 && n % 1024 == 0 => format!("{}K", n >> 10),
        n => n.to_string(),
    }
}
