//! Specifications that would become too large, to measure that the compiler gives up in time.
//!
//! Must not know: how the compiler counts.

use std::fmt::Write;

/// What is measured, and its text.
pub fn all() -> Vec<(&'static str, String)> {
    vec![
        ("500 rules active together", rules()),
        ("a choice of 1,000 words", words()),
        ("8 rules of counts in counts", nested()),
        ("100 rules of .*foo.*bar", anywhere()),
        ("50 rules of (a|b)*a(a|b){20}", doubling()),
        ("200 rules of [a-z]*xy[a-z]*", overlapping()),
        ("512 conditions that exclude each other", excluding()),
    ]
}

/// All possible states and 500 rules, each with two paths to other states.
pub fn states() -> String {
    let names: Vec<String> = (0..62).map(|i| format!("S{i}")).collect();
    let mut text = format!(
        "%state {}\n{MACROS}START {{ $seen(S0); }}\n",
        names.join(" ")
    );
    for i in 0..500 {
        let (at, to) = (i % 62, (i * 7 + i / 62 + 1) % 62);
        let _ = writeln!(
            text,
            "S{at}: r{i} = \"COMMAND{i} \" [a-z]+ NL {{ if ($len(2) > 3) $next(S{to}); $reply($2); }}"
        );
    }
    text
}

const MACROS: &str = "NL \\r?\\n\n%%\n";

/// As many rules as requested.
fn repeat(count: usize, rule: impl Fn(usize) -> String) -> String {
    let mut text = String::from(MACROS);
    for i in 0..count {
        let _ = writeln!(text, "r{i} = {} NL {{ $reply($2); }}", rule(i));
    }
    text
}

fn rules() -> String {
    repeat(500, |i| {
        format!("\"COMMAND{i} \" [A-Za-z][A-Za-z0-9]* \" \" [^\\r\\n]*")
    })
}

/// Words with little in common: the digits of multiples of a prime, as letters.
fn words() -> String {
    let word = |i: usize| -> String {
        let digits = (i * 7_919 * 104_729).to_string();
        digits
            .bytes()
            .map(|d| char::from(d - b'0' + b'a'))
            .collect()
    };
    let words: Vec<String> = (1..=1000).map(|i| format!("\"{}\"", word(i))).collect();
    repeat(1, |_| {
        format!("\"x \" ({}) \" \" [^\\r\\n]*", words.join("|"))
    })
}

fn nested() -> String {
    repeat(8, |i| {
        format!("\"{i} \" (([a-z]{{1,20}}\" \"){{1,20}}\";\"){{1,30}} [^\\r\\n]*")
    })
}

fn anywhere() -> String {
    repeat(100, |i| format!(".* \"foo{i}\" .* \"bar{i}\" .*"))
}

fn doubling() -> String {
    repeat(50, |i| {
        format!("\"{i} \" (\"a\"|\"b\")* \"a\" (\"a\"|\"b\"){{20}}")
    })
}

fn overlapping() -> String {
    let letter = |i: usize| char::from(b'a' + u8::try_from(i % 26).unwrap_or(0));
    repeat(200, |i| {
        format!("[a-z]* \"{}{}\" [a-z]*", letter(i), letter(i / 26))
    })
}

fn excluding() -> String {
    let states: Vec<String> = (0..9).map(|i| format!("S{i}")).collect();
    let mut text = format!("%state {}\n{MACROS}", states.join(" "));
    let _ = writeln!(text, "START {{ $seen({}); }}", states.join(", "));
    for i in 0..512 {
        let state = |(at, name): (usize, &String)| match i >> at & 1 {
            1 => name.clone(),
            _ => format!("!{name}"),
        };
        let condition: Vec<String> = states.iter().enumerate().map(state).collect();
        let _ = writeln!(
            text,
            "{}: \"C{i}\" NL {{ $clear(S0); }}",
            condition.join(" && ")
        );
    }
    text
}
