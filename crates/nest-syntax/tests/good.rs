//! What is right: the tree, in a compact form.

mod support;

use support::{Files, dump, findings, tree};

/// The tree of one pattern, which must be without findings; `D` and `NL` are macros.
fn pattern(text: &str) -> String {
    let tree = tree(&format!("D [0-9]\nNL \\n\n%%\n{text} {{ }}\n"));
    let rule = tree.lines().last().unwrap_or_default();
    rule.strip_suffix(" { }").unwrap_or(rule).to_owned()
}

fn patterns(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(pattern(text), *expected, "{text}");
    }
}

#[test]
fn elements() {
    patterns(&[
        ("\"a\" \"b\"", "\"a\" \"b\""),
        ("\"a\"\"b\"", "\"a\"\"b\""),
        ("\"a\"|\"b\" \"c\"", "\"a\"|\"b\" \"c\""),
        ("D", "{D}"),
        ("D* D+? D?", "{D}{0,} {D}{1,}? {D}{0,1}"),
        ("D{2} {D}{2,} {D}{2,3}?", "{D}{2,2} {D}{2,} {D}{2,3}?"),
        ("\"a\"{NL}", "\"a\"{NL}"),
        ("(?i) \"a\"", "(?i)! \"a\""),
        ("(?i)\"a\"", "(?i)\"a\""),
        ("(?i) (?s-U) .", "(?is-U)! ."),
        ("\"a\"\n   \"b\" // c\n /* d */ \"e\"", "\"a\" \"b\" \"e\""),
        ("\"a//b\" [/*] \\/\\/", "\"a//b\" [*/] \"/\"\"/\""),
        (
            "- = ! , ; : # % & ~ ` @ > < ]",
            "\"-\" \"=\" \"!\" \",\" \";\" \":\" \"#\" \"%\" \"&\" \"~\" \"`\" \"@\" \">\" \"<\" \"]\"",
        ),
        ("/", "\"/\""),
        ("5 55", "\"5\" \"5\"\"5\""),
    ]);
}

#[test]
fn groups() {
    patterns(&[
        ("( \"a\" \"b\" | . )", "(:\"a\"\"b\"|.)"),
        ("(\"a\"|)", "(:\"a\"|)"),
        ("()", "(:)"),
        (
            "(?:\"a\")(?i:\"b\")(?-i:.)(?^:.)(?^s:.)",
            "(:\"a\")(i:\"b\")(-i:.)(-i-s:.)(-is:.)",
        ),
        ("(\"a\"(?i)\"b\"|\"c\")", "(:\"a\"(?i)\"b\"|\"c\")"),
        ("(\"a\" *)", "(:\"a\"{0,})"),
        ("(\"a\" + ?)", "(:\"a\"{1,}?)"),
        ("(\"a\" {2})", "(:\"a\"{2,2})"),
        ("(\"a\" // no\n \"b\")", "(:\"a\"\"b\")"),
        ("\"a\"(?#no)\"b\"", "\"a\"\"b\""),
        ("(?m)(?n)(?J)(?-x)(?)\"a\"", "(?)(?)(?)(?)(?)\"a\""),
        ("(?i-i)\"a\"", "(?-i)\"a\""),
        ("(?U).*", "(?U).{0,}"),
        ("^\"a\"", "^\"a\""),
        ("\\A(?i)(^\"a\"|\\A\"b\")", "^(?i)(:^\"a\"|^\"b\")"),
        ("(^\"a\")?", "(:^\"a\"){0,1}"),
    ]);
}

#[test]
fn escapes() {
    patterns(&[
        (
            "\\a\\e\\f\\n\\r\\t",
            "\"\\x07\"\"\\x1b\"\"\\x0c\"\"\\n\"\"\\r\"\"\\t\"",
        ),
        (
            "\\0\\01\\012\\0123",
            "\"\\x00\"\"\\x01\"\"\\n\"\"\\n\"\"3\"",
        ),
        (
            "\\101\\377\\o{101}\\12\\18",
            "\"A\"\"\\xff\"\"A\"\"\\n\"\"\\x01\"\"8\"",
        ),
        ("\\x4\\x41\\x411\\x{4a}", "\"\\x04\"\"A\"\"A\"\"1\"\"J\""),
        ("\\cA\\ca\\c[\\c?", "\"\\x01\"\"\\x01\"\"\\x1b\"\"\\x7f\""),
        ("\\d\\D\\w\\W", "[0-9][^0-9][0-9A-Z_a-z][^0-9A-Z_a-z]"),
        (
            "\\s\\S\\h\\H",
            "[\\t-\\r ][^\\t-\\r ][\\t \\xa0][^\\t \\xa0]",
        ),
        (
            "\\v\\V\\N\\C",
            "[\\n-\\r\\x85][^\\n-\\r\\x85][^\\n][\\x00-\\xff]",
        ),
        ("\\N{2}", "[^\\n]{2,2}"),
        (
            "\\.\\*\\\"\\{\\}\\ \\<\\_",
            "\".\"\"*\"\"\\\"\"\"{\"\"}\"\" \"\"<\"\"_\"",
        ),
        ("\\Qa b*\\E", "\"a b*\""),
        ("\\Qab\\E+", "(:\"a\"\"b\"{1,})"),
        ("\\Qa\\E+\\E", "\"a\"{1,}"),
        (
            "\"\\a\\b\\e\\f\\n\\r\\t\\v\\\\\\\"\\'\\?\"",
            "\"\\x07\\x08\\x1b\\x0c\\n\\r\\t\\x0b\\\\\\\"\\'?\"",
        ),
        (
            "\"\\0\\12\\0012\\x4a\\u00e9\\U0001f600é\"",
            "\"\\x00\\n\\x012J\\xc3\\xa9\\xf0\\x9f\\x98\\x80\\xc3\\xa9\"",
        ),
        ("\"\"", "\"\""),
    ]);
}

#[test]
fn classes() {
    patterns(&[
        ("[abc]", "[a-c]"),
        ("[^abc]", "[^a-c]"),
        ("[]abc]", "[]a-c]"),
        ("[^]]", "[^]]"),
        ("[a-]", "[-a]"),
        ("[-a]", "[-a]"),
        ("[a-c-e]", "[-a-ce]"),
        ("[\\d-]", "[-0-9]"),
        ("[W-]46]", "[-W]\"4\"\"6\"\"]\""),
        ("[--/]", "[--/]"),
        ("[[]", "[[]"),
        ("[[:alpha:]_]", "[A-Z_a-z]"),
        ("[[:^digit:]]", "[\\x00-/:-\\xff]"),
        ("[a[:x]", "[:[ax]"),
        ("[\\b\\]\\-]", "[\\x08-]]"),
        ("[a&&b]", "[&a-b]"),
        ("[ \t\"//]", "[\\t \\\"/]"),
        ("[a\\Q]-z\\E]", "[-]az]"),
        ("[\\E^a]", "[^a]"),
        ("[a\\E-c]", "[a-c]"),
        ("[\\x00-\\xff]", "[\\x00-\\xff]"),
        ("[\\8\\101]", "[8A]"),
        ("[{}()*+?.|^$]", "[$(-+.?^{-}]"),
    ]);
}

#[test]
fn conditions() {
    let cond = |text: &str| {
        let tree = tree(&format!("%state A B C\nAB A&&B\n%%\n{text} \"x\" {{ }}\n"));
        tree.lines()
            .last()
            .unwrap_or_default()
            .replace(": \"x\" { }", "")
    };
    for (text, expected) in [
        ("A:", "A"),
        ("A||B&&C:", "(A || (B && C))"),
        ("(A||B)&&C:", "((A || B) && C)"),
        ("!A && !!B :", "(!A && !!B)"),
        ("!(A || $LASTSEEN(B)):", "!(A || $LASTSEEN(B))"),
        ("AB || START || DEFAULT:", "(AB || START || DEFAULT)"),
        ("A /* a */ ||\n // b\n B:", "(A || B)"),
        ("$LASTSEEN( START ):", "$LASTSEEN(START)"),
    ] {
        assert_eq!(cond(text), expected, "{text}");
    }
}

#[test]
fn macros_of_both_kinds_in_any_order() {
    let text = "Z Y || A\nY X\nX !(A) && $LASTSEEN(A) // not text\nQ P P\nP \"p\" /* not text */\nR {Q}\n\
                S \"a // b\" [ // c] // not text\nT \"a\" /* b\n c */\n%state A\n%%\n\"a\" { }\n";
    assert_eq!(
        tree(text),
        "condition Z = (Y || A)\ncondition Y = X\ncondition X = (!A && $LASTSEEN(A))\n\
         pattern Q = {P} {P}\npattern P = \"p\"\npattern R = {Q}\n\
         pattern S = \"a // b\" [ /c]\npattern T = \"a\"\nstate A\n\"a\" { }\n"
    );
}

#[test]
fn rules() {
    let text = "%state A B\n%%\nSTART { s(); }\nEND: { e(); }\nSTART: \"q\" { 1; }\n(START) { \"r\" { 2; } }\n\
                n = \"x\" { 3; }\nA: m = \"y\" { 4; } A && B {\n \"z\" { 5; }\n B: { k = \"w\" { 6; } } }\n\
                A: \"in\"\n \"lines\"\n { 7; } \"same\" { 8; }\n\"last\"{}\n%%\nmain();\n";
    assert_eq!(
        tree(text),
        "state A B\nSTART { s(); }\nEND { e(); }\nSTART: \"q\" { 1; }\nSTART: \"r\" { 2; }\n\
         n = \"x\" { 3; }\nA: m = \"y\" { 4; }\n(A && B): \"z\" { 5; }\n(A && B): B: k = \"w\" { 6; }\n\
         A: \"in\" \"lines\" { 7; }\n\"same\" { 8; }\n\"last\" {}\nstartup \"\\nmain();\\n\"\n"
    );
}

#[test]
fn now_marks_a_rule() {
    let text = "%state A\n%%\nA: n = \"x\" NOW { 1; }\n\"y\"\n  NOW // at once\n{ 2; }\n\"z\" \"NOW\" { 3; }\n";
    assert_eq!(
        tree(text),
        "state A\nA: n = \"x\" NOW { 1; }\n\"y\" NOW { 2; }\n\"z\" \"NOW\" { 3; }\n"
    );
}

#[test]
fn timeouts() {
    let text = "%state A B\n%%\nTIMEOUT(5s) { 1; }\nA: TIMEOUT ( 200ms ) { 2; }\nA {\n\
                TIMEOUT(1m) /* why */ { 3; }\n!B: TIMEOUT(1h)\n{ 4; } }\n\"x\"\nTIMEOUT(2s) { 5; }\n\
                (START) { TIMEOUT(any thing) { 6; } }\n";
    let (sources, spec, diags) = nest_syntax::parse("m", text, &mut Files::default());
    assert_eq!(
        findings(&sources, &diags),
        ["E0205 9:1 `\"x\"` the rule has no action [10:1 the next rule starts here]"]
    );
    assert_eq!(
        dump(&spec),
        "state A B\nTIMEOUT(5s) { 1; }\nA: TIMEOUT(200ms) { 2; }\nA: TIMEOUT(1m) { 3; }\n\
         A: !B: TIMEOUT(1h) { 4; }\nTIMEOUT(2s) { 5; }\nSTART: TIMEOUT(any thing) { 6; }\n"
    );
}

#[test]
fn a_rule_may_look_like_a_function() {
    let text = "%%\nint n;\nQ(\\r?\\n) { return; }\n\"b\" { 2; }\n";
    assert_eq!(
        tree(text),
        "local \"int n;\"\n\"Q\"(:\"\\r\"{0,1}\"\\n\") { return; }\n\"b\" { 2; }\n"
    );
}

#[test]
fn multistates_are_told_from_actions() {
    let text = "%state A\ndo \"d\"\n%%\nA: {\n return = [^;}]* \";\" { 1; }\n \"};\" { 2; }\n}\n\
                A { // a(); }\n \"x\" { 3; } }\nA { \"a;}\" { 4; } }\nA: { do \"!\" { 5; } }\n";
    assert_eq!(
        tree(text),
        "state A\npattern do = \"d\"\nA: return = [^;}]{0,} \";\" { 1; }\nA: \"};\" { 2; }\n\
         A: \"x\" { 3; }\nA: \"a;}\" { 4; }\nA: {do} \"!\" { 5; }\n"
    );
}

#[test]
fn per_connection_declarations() {
    let text = "%state S\n%%\nint n = 1, *p = &n;\nchar a[] = \"x;{\", b = ';';\n%{ struct s { int i; }; %}\n\
                size_t k;\nvoid (*f)(int, char *);\nstruct t { int j; } t1 = { .j = 2 };\nunsigned\n  long u;\n\
                name = \"x\" { }\nS: \"y\" { }\n";
    let tree = tree(text);
    let locals: Vec<&str> = tree.lines().filter(|l| l.starts_with("local ")).collect();
    assert_eq!(
        locals,
        [
            "local \"int n = 1, *p = &n;\"",
            "local \"char a[] = \\\"x;{\\\", b = ';';\"",
            "local \" struct s { int i; }; \"",
            "local \"size_t k;\"",
            "local \"void (*f)(int, char *);\"",
            "local \"struct t { int j; } t1 = { .j = 2 };\"",
            "local \"unsigned\\n  long u;\"",
        ]
    );
}

#[test]
fn actions_end_as_c_sees_it() {
    for action in [
        "{ }",
        "{ { } }",
        "{ \"}\" }",
        "{ '}' '\\'' \"\\\"}\" }",
        "{ /* } */ }",
        "{ // }\n }",
        "{ // spliced \\\n }\n }",
        "{ \"spliced \\\n }\" }",
        "{\n#define X }\n }",
        "{\n#error don't }\n }",
        "{\n#if A\n if (a) {\n#elif B\n if (b) {\n#else\n {\n#endif\n } }",
        "{\n#define Y(a) \\\n } \\\n }\n }",
        "{ <% %> }",
        "{ n = 1'000'000; }",
        "{ 0x1e+'}' }",
        "{ a %b; c%%d; }",
        "{ $reply(\"%s\", $1); \\$ }",
    ] {
        let text = format!("%%\n\"a\" {action}\n\"b\" {{ last }}\n");
        assert_eq!(tree(&text), format!("\"a\" {action}\n\"b\" {{ last }}\n"));
    }
}

#[test]
fn includes_stand_in_their_place() {
    let files = [
        (
            "a",
            "%state IN\n%include \"b\"\nX \"x\"\n%%\nint a;\nIN: \"a\" X { }\n%%\na();",
        ),
        ("b", "%include \"c\"\n%state DEEP\n%%\n\"b\" { }\n"),
        ("c", "Y \"y\"\n"),
    ];
    let mut files = Files(files.map(|(n, t)| (n.to_owned(), t.to_owned())).into());
    let text = "%state OUT\n%include \"a\"\n%include \"b\" // again\n%option standAlone\n%%\n\
                int m;\nDEEP: X Y { }\n%%\nm();";
    let (sources, spec, diags) = nest_syntax::parse("m", text, &mut files);
    assert!(diags.is_empty(), "{:?}", findings(&sources, &diags));
    assert_eq!(
        dump(&spec),
        "state OUT\nstate IN\npattern Y = \"y\"\nstate DEEP\npattern X = \"x\"\noption standAlone []\n\
         local \"int m;\"\nlocal \"int a;\"\nDEEP: {X} {Y} { }\nIN: \"a\" {X} { }\n\"b\" { }\n\
         startup \"\\nm();\"\nstartup \"\\na();\"\n"
    );
    let names: Vec<&str> = sources.files.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["m", "a", "b", "c"]);
}

#[test]
fn whole_files() {
    let mail = tree(include_str!("specs/mail.nest"));
    assert!(
        mail.contains("Greeted: Sender: Ready: \"DATA\" {NL} (:.|\"\\n\"){0,}? {NL} \".\" {NL} {")
    );
    assert!(mail.contains("option listen [\"unix:/tmp/mail sock\", \"8080\"]\n"));
    assert_eq!(
        tree(include_str!("specs/odd.nest")),
        "state A B\npattern NL = \"\\r\\n\"\nlocal \"int n;\"\nA: \"x\" {NL} { $seen(B); }\n\
         \"\\xc3\\xa9\" { /* \u{e9} */ }\nstartup \"\\r\\nn = 1;\\r\\n\"\n"
    );
}
