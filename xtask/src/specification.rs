//! A long valid specification, for measuring: like a real one in kind, only more of it.

use std::fmt::Write;

/// States beyond this would be refused.
const STATES: usize = 40;

/// About `lines` lines, never more.
pub fn specification(lines: usize) -> String {
    let mut text = String::from("/* Generated, for measuring. */\n%option eventServer 1000\n");
    let rules = lines.saturating_sub(STATES + 36) / 7;
    for i in 0..STATES {
        let _ = writeln!(text, "%state S{i}");
    }
    text.push_str("NL \\r?\\n\nWORD [A-Za-z][A-Za-z0-9]*\nNUMBER [0-9]{1,9}\nREST [^\\r\\n]*\n");
    text.push_str("LOW S0 || S1 || S2\nHIGH S37 || S38 || S39\n%%\n");
    text.push_str("int count = 0;\nchar name[64];\n\nSTART {\n    $seen(S0);\n");
    text.push_str("    $reply(\"ready\\r\\n\");\n}\n\n");
    for i in 0..rules {
        let (state, next) = (i % STATES, (i + 1) % STATES);
        let condition = match i % 4 {
            0 => format!("S{state}"),
            1 => format!("LOW || S{state}"),
            2 => format!("S{state} && !HIGH"),
            _ => format!("(S{state} || $LASTSEEN(S{next}))"),
        };
        let _ = writeln!(
            text,
            "{condition}: rule{i} = \"COMMAND{i} \" WORD \" \" NUMBER REST NL {{"
        );
        let _ = writeln!(text, "    count += (int)$len(3);");
        let _ = writeln!(text, "    strlcpy(name, $2, sizeof name);");
        let _ = writeln!(text, "    $next(S{next});");
        let _ = writeln!(text, "    $reply(\"{i} %s %d\\r\\n\", name, count);");
        text.push_str("}\n\n");
    }
    text.push_str("QUIT = \"QUIT\" NL { $close(); }\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_lines_that_were_asked_for() {
        for wanted in [500, 2000] {
            let lines = specification(wanted).lines().count();
            assert!(
                lines <= wanted && lines + 30 > wanted,
                "{lines} for {wanted}"
            );
        }
    }
}
