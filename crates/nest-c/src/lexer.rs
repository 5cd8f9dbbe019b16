//! C as tokens: enough to find names, directives and arguments without being fooled by strings,
//! character constants and comments. Must not know: scopes, types, directives' meanings.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identifier or keyword.
    Name,
    /// `$name`, `$12`, or a lone `$`.
    Dollar,
    /// `\$`.
    EscapedDollar,
    /// A preprocessing number.
    Number,
    /// A string literal, its prefix included.
    Text,
    /// A character constant.
    Char,
    /// One character of punctuation.
    Punct(u8),
    /// Bytes that are not ASCII outside strings: part of a name for C.
    Other,
}

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What.
    pub kind: Kind,
    /// Its bytes.
    pub at: Range<usize>,
}

fn is_name_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// All tokens of `text`; comments and blanks are passed over. Never fails: what is unterminated
/// ends at the end of its line or of the text.
#[must_use]
pub fn tokens(text: &str) -> Vec<Token> {
    let s = text.as_bytes();
    let mut out = Vec::new();
    let mut i = 0;
    while i < s.len() {
        let start = i;
        let kind = match s[i] {
            b if b.is_ascii_whitespace() => {
                i += 1;
                continue;
            }
            b'/' if s.get(i + 1) == Some(&b'*') => {
                i = text[i + 2..].find("*/").map_or(s.len(), |n| i + 2 + n + 2);
                continue;
            }
            b'/' if s.get(i + 1) == Some(&b'/') => {
                i = line_end(s, i);
                continue;
            }
            b'\\' if s[i + 1..].starts_with(b"\n") || s[i + 1..].starts_with(b"\r\n") => {
                i += escape(s, i);
                continue;
            }
            b'\\' if s.get(i + 1) == Some(&b'$') => {
                i += 2;
                Kind::EscapedDollar
            }
            b'$' => {
                i += 1;
                if s.get(i).is_some_and(u8::is_ascii_digit) {
                    i = run(s, i, |b| b.is_ascii_digit());
                } else if s.get(i).is_some_and(|b| is_name_start(*b)) {
                    i = run(s, i, is_name);
                }
                Kind::Dollar
            }
            b'"' => {
                i = literal_end(s, i + 1, b'"');
                Kind::Text
            }
            b'\'' => {
                i = literal_end(s, i + 1, b'\'');
                Kind::Char
            }
            b if is_name_start(b) => {
                i = run(s, i, is_name);
                match (&text[start..i], s.get(i)) {
                    ("L" | "u" | "U" | "u8", Some(b'"')) => {
                        i = literal_end(s, i + 1, b'"');
                        Kind::Text
                    }
                    ("L" | "u" | "U" | "u8", Some(b'\'')) => {
                        i = literal_end(s, i + 1, b'\'');
                        Kind::Char
                    }
                    _ => Kind::Name,
                }
            }
            b if b.is_ascii_digit()
                || (b == b'.' && s.get(i + 1).is_some_and(u8::is_ascii_digit)) =>
            {
                i = number_end(s, i);
                Kind::Number
            }
            b if !b.is_ascii() => {
                i = run(s, i, |b| !b.is_ascii());
                Kind::Other
            }
            b => {
                i += 1;
                Kind::Punct(b)
            }
        };
        out.push(Token { kind, at: start..i });
    }
    out
}

fn run(s: &[u8], from: usize, keep: impl Fn(u8) -> bool) -> usize {
    from + s[from..].iter().take_while(|b| keep(**b)).count()
}

fn number_end(s: &[u8], from: usize) -> usize {
    let mut i = from + 1;
    while let Some(&b) = s.get(i) {
        let exponent = matches!(s[i - 1], b'e' | b'E' | b'p' | b'P') && matches!(b, b'+' | b'-');
        if !(is_name(b) || b == b'.' || exponent) {
            break;
        }
        i += 1;
    }
    i
}

/// The end of a line comment: a backslash before the newline continues it.
fn line_end(s: &[u8], from: usize) -> usize {
    let mut i = from;
    while i < s.len() && s[i] != b'\n' {
        i += if s[i] == b'\\' { escape(s, i) } else { 1 };
    }
    i.min(s.len())
}

/// The length of a backslash and what it takes its meaning from: a line may end with two bytes.
fn escape(s: &[u8], at: usize) -> usize {
    2 + usize::from(s[at + 1..].starts_with(b"\r\n"))
}

fn literal_end(s: &[u8], from: usize, quote: u8) -> usize {
    let mut i = from;
    while i < s.len() {
        match s[i] {
            b'\\' => i += escape(s, i),
            b if b == quote => return i + 1,
            b'\n' => return i,
            _ => i += 1,
        }
    }
    s.len()
}

/// The lines of the preprocessor: what stands behind their `#`. They go on behind a backslash, and where
/// a comment goes on.
#[must_use]
pub fn preprocessor(text: &str) -> Vec<Range<usize>> {
    let plain = without_comments(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < plain.len() {
        let start = at;
        let end = loop {
            let end = plain[at..].find('\n').map_or(plain.len(), |n| at + n);
            let goes_on = plain[at..end].trim_end_matches('\r').ends_with('\\');
            at = end + 1;
            if !goes_on || at >= plain.len() {
                break end;
            }
        };
        if let Some(line) = plain[start..end].trim_start().strip_prefix('#') {
            found.push(end - line.trim_start().len()..end);
        }
    }
    found
}

/// The text with blanks in place of comments; positions stay.
fn without_comments(text: &str) -> String {
    let s = text.as_bytes();
    let mut out = s.to_vec();
    let mut i = 0;
    while i < s.len() {
        let start = i;
        i = match s[i..] {
            [quote @ (b'"' | b'\''), ..] => literal_end(s, i + 1, quote),
            [b'/', b'*', ..] => text[i + 2..].find("*/").map_or(s.len(), |n| i + 2 + n + 2),
            [b'/', b'/', ..] => line_end(s, i),
            _ => i + 1,
        };
        if s[start] == b'/' && i > start + 1 {
            out[start..i].fill(b' ');
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_string())
}

/// The call behind token `head`: its arguments' ranges, without the blanks and comments around
/// them, and the range of the parentheses; none if no `(` follows or it is never closed.
#[must_use]
pub fn call(tokens: &[Token], head: usize) -> Option<Call> {
    let open = tokens
        .get(head + 1)
        .filter(|t| t.kind == Kind::Punct(b'('))?;
    let mut depth = 1;
    let mut args: Vec<Range<usize>> = Vec::new();
    let mut arg = open.at.end..open.at.end;
    for token in tokens.iter().skip(head + 2) {
        match token.kind {
            Kind::Punct(b'(' | b'[' | b'{') => depth += 1,
            Kind::Punct(b',') if depth == 1 => {
                args.push(arg);
                arg = token.at.end..token.at.end;
                continue;
            }
            Kind::Punct(b')' | b']' | b'}') => {
                depth -= 1;
                if depth == 0 {
                    if !(args.is_empty() && arg.is_empty()) {
                        args.push(arg);
                    }
                    return Some(Call {
                        open: open.at.start,
                        args,
                        close: token.at.start,
                    });
                }
            }
            _ => {}
        }
        if arg.is_empty() {
            arg.start = token.at.start;
        }
        arg.end = token.at.end;
    }
    None
}

/// Which brackets of a kind belong together: for each token its closing one, and its opening one.
#[must_use]
pub fn pairs(tokens: &[Token], open: u8, close: u8) -> (Vec<Option<usize>>, Vec<Option<usize>>) {
    let (mut closing, mut opening) = (vec![None; tokens.len()], vec![None; tokens.len()]);
    let mut left = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        if token.kind == Kind::Punct(open) {
            left.push(i);
        } else if token.kind == Kind::Punct(close)
            && let Some(from) = left.pop()
        {
            closing[from] = Some(i);
            opening[i] = Some(from);
        }
    }
    (closing, opening)
}

/// Arguments of a call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Offset of `(`.
    pub open: usize,
    /// The arguments, blanks and comments around them left out.
    pub args: Vec<Range<usize>>,
    /// Offset of `)`.
    pub close: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(s: &str) -> Vec<&str> {
        tokens(s).into_iter().map(|t| &s[t.at]).collect()
    }

    #[test]
    fn strings_and_comments_hide_dollars() {
        assert_eq!(
            pieces(r#"a /* $1 */ "$2" '$' $3 // $4"#),
            ["a", "\"$2\"", "'$'", "$3"]
        );
        assert_eq!(pieces("1.5e+3f x\\$y"), ["1.5e+3f", "x", "\\$", "y"]);
        assert_eq!(pieces("u8\"x\" L'y' Lz"), ["u8\"x\"", "L'y'", "Lz"]);
    }

    #[test]
    fn unterminated_literals_end() {
        assert_eq!(pieces("\"abc\nd"), ["\"abc", "d"]);
        assert_eq!(pieces("'\\"), ["'\\"]);
        assert_eq!(pieces("/* never"), Vec::<&str>::new());
    }

    #[test]
    fn lines_of_any_kind_are_continued() {
        assert_eq!(pieces("\"a\\\nb $1\" c"), ["\"a\\\nb $1\"", "c"]);
        assert_eq!(pieces("\"a\\\r\nb $1\" c"), ["\"a\\\r\nb $1\"", "c"]);
        assert_eq!(pieces("// a\\\r\n$1\r\nc"), ["c"]);
        assert_eq!(pieces("// a\\"), Vec::<&str>::new());
        assert_eq!(pieces("f(a, \\\n b)"), ["f", "(", "a", ",", "b", ")"]);
    }

    #[test]
    fn comments_end_no_line() {
        let text = "/*\n#if 0\n*/ # define A \"/*\" /* one\n or */ + 1 // \u{e9}\nint a;\n#if A \\\r\n > 1\n#error don't";
        let lines: Vec<&str> = preprocessor(text).into_iter().map(|at| &text[at]).collect();
        assert_eq!(
            lines,
            [
                "define A \"/*\" /* one\n or */ + 1 // \u{e9}",
                "if A \\\r\n > 1",
                "error don't"
            ]
        );
    }

    #[test]
    fn arguments_are_split_at_depth_one() {
        let s = "$reply( \"a,\" , f(b, c) , {d, e} )";
        let t = tokens(s);
        let call = call(&t, 0).expect("closed");
        let args: Vec<&str> = call.args.iter().map(|r| &s[r.clone()]).collect();
        assert_eq!(args, ["\"a,\"", "f(b, c)", "{d, e}"]);
    }
}
