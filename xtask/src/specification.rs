//! Generates a long valid specification for measurements. It resembles a real one but is longer.

use std::fmt::Write;

/// More states would be refused.
const STATES: usize = 40;

/// At most `lines` lines, and not many fewer.
pub fn specification(lines: usize) -> String {
    let mut text = String::from("/* Generated, for measuring. */\n%option eventServer 1000\n");
    let rules = lines.saturating_sub(STATES + 41) / 7;
    for i in 0..STATES {
        let _ = writeln!(text, "%state S{i}");
    }
    text.push_str("NL \\r?\\n\nWORD [A-Za-z][A-Za-z0-9]*\nNUMBER [0-9]{1,9}\nREST [^\\r\\n]*\n");
    text.push_str("KEY [a-z][a-z0-9_-]*\nVALUE [^;\\r\\n]*\nPATH (\"/\"[A-Za-z0-9._-]+)+\n");
    text.push_str("ADDRESS [^<>@ \\r\\n]+\"@\"[a-z0-9.-]+\n");
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
        // Elements of one length and of several, choices, counts, optional parts; two parts are
        // used.
        let (pattern, word, number) = match i % 5 {
            0 => ("WORD \" \" NUMBER REST NL", 2, 4),
            1 => ("\"FROM:<\" ADDRESS \">\" (\" SIZE=\" {NUMBER})? NL", 3, 5),
            2 => ("KEY \"=\" VALUE (\";\" {KEY} \"=\" {VALUE})* NL", 2, 4),
            3 => ("[0-9]{4} \"-\" [0-9]{2} \" \" WORD \" \"* NL", 6, 2),
            _ => ("(\"ON\"|\"OFF\"|\"AUTO\") \" \" PATH \" \" NUMBER NL", 4, 6),
        };
        let _ = writeln!(text, "{condition}: rule{i} = \"COMMAND{i} \" {pattern} {{");
        let _ = writeln!(text, "    count += (int)$len({number});");
        let _ = writeln!(text, "    strlcpy(name, ${word}, sizeof name);");
        let _ = writeln!(text, "    $next(S{next});");
        let _ = writeln!(text, "    $reply(\"{i} %s %d\\r\\n\", name, count);");
        text.push_str("}\n\n");
    }
    text.push_str("QUIT = \"QUIT\" NL { $close(); }\nother = REST NL { $reply(\"?\\r\\n\"); }\n");
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
