//! Syntax highlighting for the two notations of the book: specifications (and C), and terminal
//! sessions.
//!
//! Marks comments, strings, directives and declarations, and typed text in a terminal. It is made
//! for readers and need not be exact.

use super::paths::escaped;

/// The text as HTML, highlighted if its kind is known.
pub fn highlighted(kind: &str, text: &str) -> String {
    match kind {
        "nest" | "c" | "h" => code(text),
        "console" | "conversation" | "sh" => text.split_inclusive('\n').map(terminal).collect(),
        "text" => text.split_inclusive('\n').map(said).collect(),
        _ => escaped(text),
    }
}

fn terminal(line: &str) -> String {
    let class = if line.starts_with("$ ") {
        "command"
    } else if line.starts_with('>') {
        "typed"
    } else {
        return said(line);
    };
    let (prompt, rest) = line.split_at(1);
    let (rest, end) = rest
        .strip_suffix('\n')
        .map_or((rest, ""), |rest| (rest, "\n"));
    format!(
        "<i>{}</i><b class=\"{class}\">{}</b>{end}",
        escaped(prompt),
        escaped(rest)
    )
}

/// The output of a program; the beginning of a message of nest is highlighted.
fn said(line: &str) -> String {
    for kind in ["error", "warning"] {
        if line.starts_with(&format!("{kind}[")) {
            let (head, rest) = line.split_at(line.find(':').unwrap_or(0));
            return format!("<b class=\"{kind}\">{}</b>{}", escaped(head), escaped(rest));
        }
    }
    escaped(line)
}

fn code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (class, length) = token(rest, first, out.is_empty() || out.ends_with('\n'));
        let (piece, behind) = rest.split_at(length);
        if class.is_empty() {
            out += &escaped(piece);
        } else {
            out += &format!("<span class=\"{class}\">{}</span>", escaped(piece));
        }
        rest = behind;
    }
    out
}

/// The class and the length of the token at the beginning of a text.
fn token(text: &str, first: char, line_start: bool) -> (&'static str, usize) {
    let until = |what: &str| text.find(what).map_or(text.len(), |at| at + what.len());
    let word = |from: usize| {
        text[from..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .map_or(text.len(), |at| from + at)
    };
    match first {
        '/' if text.starts_with("/*") => ("comment", until("*/")),
        '/' if text.starts_with("// ") => ("comment", text.find('\n').unwrap_or(text.len())),
        '"' => ("string", quoted(text)),
        '$' => ("directive", word(1)),
        '%' if line_start => ("declaration", word(1).max(2)),
        '#' if line_start => ("declaration", word(1)),
        c if c.is_ascii_alphanumeric() || c == '_' => ("", word(0)),
        c => ("", c.len_utf8()),
    }
}

/// The length of a string with its quotes; it ends at the end of the line at the latest.
fn quoted(text: &str) -> usize {
    let mut escape = true; // not ended by the opening quote
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return at,
            '"' if !escape => return at + 1,
            _ => escape = c == '\\' && !escape,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens() {
        let shown = highlighted("nest", "%option x // why\n\"a\\\"b\" { $reply(\"&\"); }\n");
        for part in [
            "<span class=\"declaration\">%option</span> x ",
            "<span class=\"comment\">// why</span>\n",
            "<span class=\"string\">&quot;a\\&quot;b&quot;</span>",
            "<span class=\"directive\">$reply</span>(<span class=\"string\">&quot;&amp;&quot;</span>)",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert_eq!(highlighted("text", "$ <"), "$ &lt;");
        assert_eq!(
            highlighted("console", "error[E0301]: <x>\nerror: y\n"),
            "<b class=\"error\">error[E0301]</b>: &lt;x&gt;\nerror: y\n"
        );
        assert_eq!(
            highlighted("nest", "\"open\n"),
            "<span class=\"string\">&quot;open</span>\n"
        );
        assert!(
            highlighted("console", "$ a\nb\n> c\n")
                .ends_with("\nb\n<i>&gt;</i><b class=\"typed\"> c</b>\n")
        );
    }
}
