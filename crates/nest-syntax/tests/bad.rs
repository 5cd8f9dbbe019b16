//! What is wrong is said with its code, its place and its reason, once, and the rest is still read.

mod support;

use nest_diag::{Code, Diagnostic};
use support::{Files, check, findings, read, wrong};

#[test]
fn text_and_structure() {
    check(&[
        (
            "A\0 x\n%%\n\"a\" { }\n",
            &[
                "E0002 1:2 `\0` a specification is text and contains no NUL",
                "E0301 1:4 `x` `x` is not a macro",
            ],
        ),
        (
            r##"%%
"abc { }
"b" { }
"##,
            &["E0003 2:1 `\"abc { }` the string is not terminated"],
        ),
        (
            r##"%%
[abc { }
"b" { }
"##,
            &["E0003 2:1 `[abc { }` the class is not terminated"],
        ),
        (
            r##"%%
"a" { "x }
"##,
            &[
                "E0003 2:7 `\"x }` the string is not terminated [2:5 so the action that begins here does not end]",
            ],
        ),
        (
            r##"%%
"a" { /* x }
"##,
            &[
                "E0003 2:7 `/* x }` the comment is not terminated [2:5 so the action that begins here does not end]",
            ],
        ),
        (
            r##"%%
/* a
"##,
            &["E0003 2:1 `/*` the comment is not terminated"],
        ),
        (
            r##"%{ int x;
%%
"a" { }
"##,
            &["E0003 1:1 `%{` the block is not terminated"],
        ),
        (
            r##"%state A
%%
A { "a" { }
%%
x();
"##,
            &["E0003 3:3 `{` this multistate is not closed"],
        ),
        (
            r##"%%
\Qabc { }
(?#x { }
"##,
            &[
                "E0003 2:1 `\\Q` `\\Q` is not terminated",
                "E0003 3:1 `(?#` the comment is not terminated",
            ],
        ),
        (
            r##"%option x "y
%%
"a" { }
"##,
            &["E0003 1:11 `\"y` the string is not terminated"],
        ),
        (
            r##"NL \n
"##,
            &["E0004 2:1 `` there is no rules section"],
        ),
        (
            r##"NL \n
"a" NL {
  x(); }
"b" { }
"##,
            &["E0004 2:1 `\"a\" NL {` there is no rules section"],
        ),
        (
            r##"%state A
A: "a" {
  x();
}
"##,
            &["E0004 2:1 `A: \"a\" {` there is no rules section"],
        ),
        (
            r##"%encoding x(y)
%decode x(y)
%%
"a" { }
x"##,
            &[
                "E0101 1:1 `%encoding` `%encoding` is not a declaration",
                "E0301 5:1 `x` `x` is not a macro",
                "E0205 5:1 `x` the rule has no action",
            ],
        ),
        (
            "%%\nTIMEOUT(5s { f(); }\nslow = TIMEOUT(5s) { }\nTIMEOUT(5s)\n\"a\" { }\n",
            &[
                "E0211 2:8 `(` TIMEOUT's parenthesis is not closed on its line",
                "E0211 3:1 `slow` a TIMEOUT rule has no name",
                "E0205 4:1 `TIMEOUT(5s)` the rule has no action [5:1 the next rule starts here]",
            ],
        ),
    ]);
}

#[test]
fn declarations() {
    check(&[
        (
            r##"%opton x
%foo {
 x
}
foo-bar x
12 x
#include <x>
%%
"a" { }
"##,
            &[
                "E0101 1:1 `%opton` `%opton` is not a declaration",
                "E0101 2:1 `%foo` `%foo` is not a declaration",
                "E0101 5:1 `foo-` not a declaration",
                "E0101 6:1 `12 x` not a declaration",
                "E0101 7:1 `#include <x>` not a declaration",
            ],
        ),
        (
            r##"int n;
FILE *log; // x
int f(void);
typedef int t;
struct s {
 int a;
} b;
%%
"a" { }
"##,
            &[
                "W0101 1:1 `int n;` the variable is ignored: it is among the declarations",
                "W0101 2:1 `FILE *log;` the variable is ignored: it is among the declarations",
                "E0101 3:1 `int f(void);` C code among the declarations",
                "E0101 4:1 `typedef int t;` C code among the declarations",
                "W0101 5:1 `struct s {\n int a;\n} b;` the variable is ignored: it is among the \
                 declarations",
            ],
        ),
        (
            r##"%state START A TIMEOUT
END x
NOW y
%%
DEFAULT = "a" { }
A = "b" { }
"##,
            &[
                "E0102 1:8 `START` `START` is reserved",
                "E0102 1:16 `TIMEOUT` `TIMEOUT` is reserved",
                "E0102 2:1 `END` `END` is reserved",
                "E0102 3:1 `NOW` `NOW` is reserved",
                "E0102 5:1 `DEFAULT` a rule cannot be named `DEFAULT`",
                "E0102 6:1 `A` a rule cannot be named `A`",
            ],
        ),
        (
            r##"%state A B
A x
X y
X z
%state B
%%
A: "a" { }
"##,
            &[
                "E0103 2:1 `A` `A` is declared twice [1:8 first declared here]",
                "E0301 3:3 `y` `y` is not a macro",
                "E0103 4:1 `X` `X` is declared twice [3:1 first declared here]",
                "E0103 5:8 `B` `B` is declared twice [1:10 first declared here]",
            ],
        ),
        (
            r##"A B
B C
C A
D D
E !F
F E
G "x"{G}
%%
"a" { }
"##,
            &[
                "E0104 1:1 `A` the macro `A` uses itself [3:3 this leads back to it]",
                "E0104 4:1 `D` the macro `D` uses itself [4:3 this leads back to it]",
                "E0104 5:1 `E` the macro `E` uses itself [6:3 this leads back to it]",
                "E0104 7:1 `G` the macro `G` uses itself [7:7 this leads back to it]",
            ],
        ),
        (
            r##"X
Y   // only a comment
%%
X Y { }
"##,
            &[
                "E0105 1:1 `X` the macro `X` has no text",
                "E0105 2:1 `Y` the macro `Y` has no text",
            ],
        ),
        (
            r##"%state A, B; 1x c-d
%state
%%
A: "a" { }
B: "a" { }
"##,
            &[
                "E0107 1:8 `A,` `A,` is not a name",
                "E0107 1:11 `B;` `B;` is not a name",
                "E0107 1:14 `1x` `1x` is not a name",
                "E0107 1:17 `c-d` `c-d` is not a name",
                "E0107 2:1 `%state` `%state` names no state",
            ],
        ),
        (
            r##"%option
%include
%include x.nest
%include "a" b
%%
"a" { }
"##,
            &[
                "E0101 1:1 `%option` `%option` names no option",
                "E0101 2:1 `%include` `%include` takes one path in quotes",
                "E0101 3:1 `%include x.nest` `%include` takes one path in quotes",
                "E0101 4:1 `%include \"a\" b` `%include` takes one path in quotes",
            ],
        ),
        (
            r##"%x A
%s B C
%%
<A>"a" { }
<B,C>"a" { }
<*>"a" { }
<<EOF>> { f(); }
"b"/"c" { yytext; yyleng; }
"##,
            &[
                "E0210 1:1 `%x` `%x` is Lex's",
                "E0210 2:1 `%s` `%s` is Lex's",
                "E0210 4:1 `<A>` this is a Lex start condition",
                "E0210 5:1 `<B,C>` this is a Lex start condition",
                "E0210 6:1 `<*>` this is a Lex start condition",
                "E0210 7:1 `<<EOF>>` `<<EOF>>` is Lex syntax; a rule matches bytes",
                "E0210 8:4 `/` `/` is Lex syntax for trailing context",
                "E0210 8:11 `yytext` `yytext` is Lex's name for the text of a match",
                "E0210 8:19 `yyleng` `yyleng` is Lex's name for the length of a match",
            ],
        ),
    ]);
}

#[test]
fn rules_and_conditions() {
    check(&[
        (
            r##"%%
"a" { }
%{ x %}
%state A
#define X
int x;
A: "a" { }
"##,
            &[
                "E0201 3:1 `%{` C text is among the rules",
                "E0201 4:1 `%state A` the declaration `%state` is among the rules",
                "E0201 5:1 `#define X` the preprocessor line `#define` is among the rules",
                "E0201 6:1 `int x;` a C declaration is among the rules",
                "E0202 7:1 `A` the state `A` is not declared",
            ],
        ),
        (
            "%%\n#define X 1\nint x[X];\n#x \"a\" { }\nint y;\n",
            &[
                "E0201 2:1 `#define X 1` the preprocessor line `#define` is among the rules",
                "E0201 5:1 `int y;` a C declaration is among the rules",
            ],
        ),
        (
            r##"%state Ready
%%
Raedy: "a" { }
Ready && Foo { "b" { } }
$LASTSEEN(X): "c" { }
"##,
            &[
                "E0202 3:1 `Raedy` the state `Raedy` is not declared",
                "E0202 4:10 `Foo` the state `Foo` is not declared",
                "E0202 5:11 `X` the state `X` is not declared",
            ],
        ),
        (
            r##"%state A
P "p"
C A
%%
A && P: "a" { }
END: "a" { }
A & C: "b" { }
A, C: "c" { }
$LASTSEEN(C): "d" { }
$LASTSEEN: "e" { }
A "f" { }
A && : "g" { }
(A: "h" { }
A == C: "h" { }
"##,
            &[
                "E0204 5:6 `P` `P` is a pattern macro and cannot stand in a condition",
                "E0204 6:1 `END` `END` is not a state",
                "E0204 7:3 `&` `&` is not a condition operator",
                "E0204 8:2 `,` `,` is not a condition operator",
                "E0204 9:11 `C` `C` is a condition macro, not a state",
                "E0204 10:1 `$LASTSEEN` this is not a condition",
                "E0204 11:3 `\"` the condition ends with `:` or `{`, not with `\"`",
                "E0204 12:6 `:` a condition needs a state here, not `:`",
                "E0313 13:1 `(` this parenthesis is not closed",
                "E0204 14:3 `=` the condition ends with `:` or `{`, not with `=`",
            ],
        ),
        (
            r##"%state A B
%%
A: "a"
B: "b" { }
"c" A { }
"d"
%%
"##,
            &[
                "E0205 3:4 `\"a\"` the rule has no action [4:1 the next rule starts here]",
                "E0205 5:5 `A` the state `A` appears in a pattern",
                "E0205 6:1 `\"d\"` the rule has no action",
            ],
        ),
        (
            r##"%state A
%%
A { "x"
}
"y"
"##,
            &[
                "E0205 3:5 `\"x\"` the rule has no action",
                "E0205 5:1 `\"y\"` the rule has no action",
            ],
        ),
        (
            r##"%%
"a" $close();
"b" { }
"##,
            &["E0205 2:5 `$close` `$close` appears in a pattern"],
        ),
        (
            r##"%state A
%%
A: { $close(); }
A { if (x) { y(); } }
{ x(); }
(?i) { x(); }
n = { x(); }
A: { f(x); }
"##,
            &[
                "E0207 3:1 `A:` the rule has no pattern",
                "E0207 4:1 `A` the rule has no pattern",
                "E0207 5:1 `{` the rule has no pattern",
                "E0207 6:1 `(?i)` the pattern contains nothing to match",
                "E0207 7:1 `n =` the rule has no pattern",
                "E0207 8:1 `A:` the rule has no pattern",
            ],
        ),
        (
            r##"%%
"a" { } }
}
"b" { }
"##,
            &[
                "E0313 2:9 `}` this brace closes nothing",
                "E0313 3:1 `}` this brace closes nothing",
            ],
        ),
        (
            r##"%%
int x
"b" { }
"##,
            &["E0502 2:1 `int x` the declaration is not terminated"],
        ),
    ]);
}

/// The findings of `text`, whose includes are `files`.
fn including(text: &str, files: &[(&str, &str)]) -> Vec<String> {
    let files = files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let mut files = Files(files.collect());
    let (sources, _, diags) = nest_syntax::parse("test.nest", text, &mut files);
    findings(&sources, &diags)
}

#[test]
fn includes() {
    let rule = "%%\n\"a\" { }\n";
    assert_eq!(
        including(&format!("%include \"none\"\n{rule}"), &[]),
        ["E0007 1:10 `\"none\"` cannot read `none`: no such file"]
    );
    assert_eq!(
        including(
            &format!("%include \"a\"\n{rule}"),
            &[("a", "%include \"b\"\n"), ("b", "X x\n%include \"a\"\n")]
        ),
        [
            "E0301 1:3 `x` `x` is not a macro",
            "E0006 2:10 `\"a\"` the files include each other: a -> b -> a",
        ]
    );
    assert_eq!(
        including(
            &format!("%include \"a\"\n{rule}"),
            &[("a", "%include \"test.nest\"\n"), ("test.nest", "")]
        ),
        ["E0006 1:10 `\"test.nest\"` the files include each other: test.nest -> a -> test.nest"]
    );
    let files: Vec<(String, String)> = (0..80)
        .map(|i| (format!("f{i}"), format!("%include \"f{}\"\n", i + 1)))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    assert_eq!(
        including(&format!("%include \"f0\"\n{rule}"), &files),
        ["E0008 1:10 `\"f63\"` files are included deeper than 64 levels"]
    );
}

#[test]
fn limits() {
    let (open, close) = ("(".repeat(251), ")".repeat(251));
    for (text, place) in [
        (format!("%%\n\"x\"{open}\"a\"{close} {{ }}\n"), "2:254 `(`"),
        (
            format!("%state A\n%%\n{open}A{close}: \"a\" {{ }}\n"),
            "3:251 `(`",
        ),
        (
            format!("%state A\n%%\n{}A: \"a\" {{ }}\n", "!".repeat(251)),
            "3:1 `!`",
        ),
        (
            format!(
                "%state A\n%%\n{}\"a\" {{ }}{}\n",
                "A {".repeat(65),
                "}".repeat(65)
            ),
            "3:195 `{`",
        ),
    ] {
        let found = wrong(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with(&format!("E0008 {place} ")),
            "{found:?}"
        );
    }
    let (open, close) = ("(".repeat(250), ")".repeat(250));
    assert!(wrong(&format!("%%\n{open}[a]{close} {{ }}\n")).is_empty());
    assert!(wrong(&format!("%state A\n%%\n{open}A{close}: \"a\" {{ }}\n")).is_empty());
}

/// The fix of the one finding of `text`.
fn help(text: &str) -> String {
    let (_, _, diags) = read(text);
    let [
        Diagnostic {
            help: Some(help), ..
        },
    ] = diags.as_slice()
    else {
        panic!("{text}: {diags:?}")
    };
    help.clone()
}

#[test]
fn fixes() {
    for (text, fix) in [
        (
            "%state Ready\n%%\nRaedy: \"a\" { }\n",
            "did you mean `Ready`?",
        ),
        (
            "%state Ready\n%%\nFoo: \"a\" { }\n",
            "declare it: `%state Foo`",
        ),
        (
            "LINE \\n\n%%\nLNIE { }\n",
            "did you mean `LINE`? quote it to match text: \"LNIE\"",
        ),
        ("LINE \\n\n%%\n{LIN} { }\n", "did you mean `LINE`?"),
        (
            "LINE \\n\n%%\n\"a\"LINE { }\n",
            "write `{LINE}`; quote it to match text: \"LINE\"",
        ),
        ("%stat A\n%%\n\"a\" { }\n", "did you mean `%state`?"),
        ("%%\n[[:alpah:]] { }\n", "did you mean `alpha`?"),
        ("%%\n.{,3} { }\n", "write `{0,3}`"),
        ("%%\n.{3,2} { }\n", "write `{2,3}`"),
        (
            "%state A B\n%%\n<A,B>\"a\" { }\n",
            "write `A || B:` before the pattern",
        ),
        (
            "%%\n(?<n>\"a\") { }\n",
            "write `( )`, groups have no names or numbers; `$1`, `$2`, … are the elements",
        ),
        (
            "%%\n\"a\" $ { }\n",
            "match the line end itself: write \"\\r\\n\", or a macro for it; or allow it with \
             `%option backtracking yes`",
        ),
    ] {
        assert_eq!(help(text), fix, "{text}");
    }
}

#[test]
fn every_code_of_this_crate_is_tested() {
    // What the other crates report; E0001 is the command line's.
    let others = [
        "E0001", "E0005", "E0106", "E0109", "E0206", "E0212", "E0218", "E0219", "E0220", "E0221",
        "E0222", "E0208", "E0209", "E0310", "E0311", "E0316", "W0102", "W0103", "W0104", "W0201",
        "W0202", "W0203", "W0204", "W0205", "W0206", "W0302", "W0303", "W0304", "W0305", "W0306",
        "W0401", "W0402", "W0403", "W0404", "W0405",
    ];
    let tests = concat!(include_str!("bad.rs"), include_str!("bad_patterns.rs"));
    for code in Code::ALL {
        let name = code.name();
        let mine = matches!(name.as_bytes()[1..3], [b'0', b'0'..=b'3']) || name == "E0502";
        if mine && !others.contains(&name) {
            assert!(tests.contains(&format!("\"{name} ")), "no test of {name}");
        }
    }
}
