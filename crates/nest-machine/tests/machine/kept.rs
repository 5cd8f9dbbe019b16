//! What a server keeps from one message to the next: the state, variable or directive is named, and
//! only where there is one.

use nest_machine::kept::kept;
use nest_machine::{Overrides, compile};
use nest_syntax::Alone;

/// What is kept, as the message says it, and the text that it is about.
fn said(text: &str) -> Option<(String, String)> {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    let machine = compiled
        .machine
        .unwrap_or_else(|| panic!("{text}\n{:#?}", compiled.diagnostics));
    let found = kept(&machine)?;
    let place = compiled.sources.text(found.span).to_string();
    Some((found.message, place))
}

#[track_caller]
fn keeps(text: &str, name: &str, place: &str) {
    let (message, at) = said(text).unwrap_or_else(|| panic!("nothing is kept: {text}"));
    assert!(message.contains(name), "{text}: {message}");
    assert_eq!(at, place, "{text}");
}

#[test]
fn states_are_named() {
    keeps(
        "%state A\n%%\nx = \"x\" { $seen(A); }\n",
        "state A,",
        "\"x\"",
    );
    keeps(
        "%state A B\n%%\nSTART { $seen(A); }\nA: \"x\" { }\nA: \"y\" { if (1 > 0) $next(B); }\n",
        "state A,",
        "\"y\"",
    );
    keeps(
        "%state A\n%%\n\"x\" { }\nTIMEOUT(1s) { $seen(A); }\n",
        "state A,",
        "1s",
    );
    for text in [
        "%%\n\"x\" { $reply(\"y\"); }\n",
        "%state A\n%%\nSTART { $seen(A); }\nA: \"x\" { $next(A); }\nA: \"y\" { $close(); }\n",
        "%state A\n%%\n\"x\" { $seen(A); $close(); }\n",
        "%state A B\n%%\nSTART { if (1 > 0) $seen(A); else $seen(B); }\nA: \"x\" { $next(B); }\n\
         B: \"x\" { $next(A); }\n",
    ] {
        assert_eq!(said(text), None, "{text}");
    }
}

#[test]
fn variables_are_named() {
    let rule = |declaration: &str, action: &str| {
        format!("%%\n{declaration}\nSTART {{ }}\n\"x\" {{ {action} }}\n")
    };
    for (declaration, action, name) in [
        ("int n;", "n = 1;", "n"),
        ("int n;", "$reply(\"%d\", n++);", "n"),
        ("int n;", "int *p = &n; *p = 1;", "n"),
        (
            "char text[9];",
            "nest_strlcpy(text, $1, sizeof text);",
            "text",
        ),
        ("char text[9];", "text[0] = 'a';", "text"),
        ("char text[3][9];", "nest_strlcpy(text[1], $1, 9);", "text"),
        ("char *text;", "*text = 'a';", "text"),
        ("struct { int n; char b[9]; } s;", "s.n = 1;", "s"),
        (
            "struct { int n; char b[9]; } s;",
            "nest_strlcpy(s.b, $1, 9);",
            "s",
        ),
    ] {
        let text = rule(declaration, action);
        let (message, place) = said(&text).unwrap_or_else(|| panic!("nothing is kept: {text}"));
        assert!(message.contains(&format!("variable `{name}`")), "{message}");
        assert_eq!(place, name, "{text}");
    }
    for (declaration, action) in [
        ("int n;", "if (n > 3) $reply(\"%d\", n + 1);"),
        ("int n;", "int m = n; $reply(\"%d\", m);"),
        ("long n[4];", "$reply(\"%ld\", n[1] * 2);"),
        ("char text[9];", "$reply(text);"),
        ("char text[9];", "if (text[0] == 'a') $close();"),
        ("int n;", "int n = 2; n++;"),
    ] {
        let text = rule(declaration, action);
        assert_eq!(said(&text), None, "{text}");
    }
    // START runs for each message, so what only START sets is no obstacle.
    assert_eq!(
        said("%%\nint n;\nSTART { n = 4; }\n\"x\" { $reply(\"%d\", n); }\n"),
        None
    );
}

#[test]
fn directives_are_named() {
    keeps(
        "%%\n\"x\" { char *p = $keep(9); if (p != NULL) p[0] = 'a'; }\n",
        "$keep",
        "$keep",
    );
}
