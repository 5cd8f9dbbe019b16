//! What stands beside each value in a format of printf. Must not know: where the values come from.

/// A conversion of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// Which value it takes, from 0.
    pub value: usize,
    /// Whether it takes a string.
    pub text: bool,
    /// Most bytes of that string; nothing if the format names none.
    pub most: Option<u64>,
    /// Another value gives the most bytes.
    pub star: bool,
    /// The text from the end of the conversion before it.
    pub before: String,
}

/// The conversions of a format, and the text behind the last one.
pub fn conversions(format: &str) -> (Vec<Conversion>, String) {
    let mut found = Vec::new();
    let mut before = String::new();
    let mut chars = format.chars().peekable();
    let mut value = 0;
    while let Some(c) = chars.next() {
        if c != '%' {
            before.push(c);
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            before.push('%');
            continue;
        }
        let (mut precise, mut digits, mut star) = (false, String::new(), false);
        let kind = loop {
            match chars.next() {
                Some('.') => precise = true,
                Some('*') => {
                    value += 1;
                    star |= precise;
                }
                Some(d) if precise && d.is_ascii_digit() => digits.push(d),
                Some(c) if "-+ #'0123456789hljztLq".contains(c) => {}
                other => break other,
            }
        };
        let most = if precise && !star {
            digits.parse().ok().or(Some(0))
        } else {
            None
        };
        found.push(Conversion {
            value,
            text: kind == Some('s'),
            most,
            star,
            before: std::mem::take(&mut before),
        });
        value += usize::from(kind != Some('m'));
    }
    (found, before)
}

/// The bytes of string literals that stand one behind the other, as they are written; none if
/// something else stands among them.
pub fn literal(written: &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = written.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        match chars.next() {
            None => return Some(text),
            Some('"') => {}
            Some(_) => return None,
        }
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => text.push(escape(&mut chars)?),
                c => text.push(c),
            }
        }
    }
}

/// One character for each escape; which one matters only where paths and commands have a meaning
/// for it.
fn escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    Some(match chars.next()? {
        'n' => '\n',
        't' => '\t',
        'x' => {
            while chars.next_if(char::is_ascii_hexdigit).is_some() {}
            '\x01'
        }
        '0'..='7' => {
            let mut more = 2;
            while more > 0 && chars.next_if(|c| ('0'..='7').contains(c)).is_some() {
                more -= 1;
            }
            '\x01'
        }
        c if c.is_ascii_alphabetic() => '\x01',
        c => c,
    })
}

/// The byte that a character of C is, where it is plain; 0 is one, too.
pub fn character(written: &str) -> Option<u8> {
    let inside = written
        .strip_prefix('\'')
        .and_then(|w| w.strip_suffix('\''));
    match inside.map(str::as_bytes) {
        Some([byte]) => Some(*byte),
        Some([b'\\', b'0']) => Some(0),
        Some([b'\\', b't']) => Some(b'\t'),
        Some([b'\\', byte]) if !byte.is_ascii_alphanumeric() => Some(*byte),
        None if matches!(written, "0" | "NULL" | "nullptr") => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_take_values_in_turn() {
        let (found, behind) = conversions("a %d/%-5.*s/%.8s%%%m%s.txt");
        let described: Vec<(usize, bool, Option<u64>, &str)> = found
            .iter()
            .map(|c| (c.value, c.text, c.most, c.before.as_str()))
            .collect();
        let expected = [
            (0, false, None, "a "),
            (2, true, None, "/"),
            (3, true, Some(8), "/"),
            (4, false, None, "%"),
            (4, true, None, ""),
        ];
        assert_eq!(described, expected);
        assert_eq!(behind, ".txt");
    }

    #[test]
    fn literals_are_joined() {
        assert_eq!(literal("\"a\\n\" \n \"b\\\"\"").as_deref(), Some("a\nb\""));
        assert_eq!(literal("\"a\" PRIu64 \"b\""), None);
        assert_eq!(literal("\"\\x41\\101c\"").as_deref(), Some("\u{1}\u{1}c"));
    }
}
