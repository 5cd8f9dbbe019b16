//! Text for pictures: nothing in it that a viewer would obey, and not too long.

use nest_machine::Machine;
use std::path::Path;
use unicode_width::UnicodeWidthChar;

/// What a picture is of: the file's name, wherever it lies, so that the same specification gives the
/// same picture.
pub fn title(m: &Machine) -> String {
    let name = Path::new(&m.file).file_name();
    plain(&name.map_or(m.file.as_str().into(), |name| name.to_string_lossy()))
}

/// One line: runs of blanks are one, what cannot be seen is written as C and Rust write it.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut out = String::new();
    for word in text
        .split([' ', '\t', '\n', '\r'])
        .filter(|w| !w.is_empty())
    {
        if !out.is_empty() {
            out.push(' ');
        }
        for c in word.chars() {
            match c {
                '\0'..='\x1f' | '\x7f' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
                // C1 controls, what reorders, hides or joins text, and what XML cannot hold.
                '\u{80}'..='\u{9f}'
                | '\u{ad}'
                | '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{e000}'..='\u{f8ff}'
                | '\u{feff}'
                | '\u{fff0}'..='\u{ffff}' => {
                    out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
                }
                c if c.width() == Some(0) => {
                    out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
                }
                c => out.push(c),
            }
        }
    }
    out
}

/// How many characters of a typewriter it is wide.
#[must_use]
pub fn cells(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(1)).sum()
}

/// The text, or as much of it as fits and a sign that there is more.
#[must_use]
pub fn short(text: &str, most: usize) -> String {
    if cells(text) <= most {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(1);
        if used > most {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// For XML, in text and in attributes.
#[must_use]
pub fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// A time as a specification writes it.
#[must_use]
pub fn duration(ms: u32) -> String {
    match ms {
        0 => "0s".into(),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms.is_multiple_of(1000) => format!("{}s", ms / 1000),
        _ => format!("{ms}ms"),
    }
}

/// Bytes as the elements of a pattern would write them: `a`, `a-z`, `[0-9a-f]`, `[^\r\n]`.
#[must_use]
pub fn bytes(set: &[bool; 256]) -> String {
    let count = set.iter().filter(|is| **is).count();
    if count == 256 {
        return "any byte".into();
    }
    let negated = count > 128;
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    for byte in (0..=255u8).filter(|b| set[usize::from(*b)] != negated) {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == byte => *to = byte,
            _ => ranges.push((byte, byte)),
        }
    }
    let mut inside = String::new();
    for (from, to) in &ranges {
        inside.push_str(&byte(*from));
        if to > from {
            if to - from > 1 {
                inside.push('-');
            }
            inside.push_str(&byte(*to));
        }
    }
    match ranges.as_slice() {
        _ if negated => format!("[^{inside}]"),
        [(b' ', b' ')] => "\" \"".into(),
        [(from, to)] if from == to || (from.is_ascii_alphanumeric() && to - from > 1) => match from
        {
            b'\\' | b'-' | b']' | b'^' if from == to => char::from(*from).to_string(),
            _ => inside,
        },
        _ => format!("[{inside}]"),
    }
}

/// A byte in a class.
fn byte(byte: u8) -> String {
    match byte {
        b'\n' => "\\n".into(),
        b'\r' => "\\r".into(),
        b'\t' => "\\t".into(),
        0 => "\\0".into(),
        b'\\' | b'-' | b']' | b'^' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    }
}
