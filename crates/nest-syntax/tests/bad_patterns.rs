//! What is wrong with a pattern is said with its code, its place and its reason, once.

mod support;

use support::check;

#[test]
fn patterns() {
    check(&[
        (
            r##"NL \n
%%
QUIT NL { }
NLL { }
a* { }
"##,
            &[
                "E0301 3:1 `QUIT` `QUIT` is not a macro",
                "E0301 4:1 `NLL` `NLL` is not a macro",
                "E0301 5:1 `a` `a` is not a macro",
            ],
        ),
        (
            r##"NL \n
%%
NOW { }
"a" NOW {NL} { }
"b" NOW "c" { }
"d" NOW+ { }
"e" NOW NOW { }
"f" { } NOW
"g" { }
"##,
            &[
                "E0301 3:1 `NOW` `NOW` is not a macro",
                "E0301 4:5 `NOW` `NOW` is not a macro",
                "E0301 5:5 `NOW` `NOW` is not a macro",
                "E0301 6:5 `NOW` `NOW` is not a macro",
                "E0301 7:5 `NOW` `NOW` is not a macro",
                "E0301 8:9 `NOW` `NOW` is not a macro",
            ],
        ),
        (
            r##"NL \n
A [a]
%%
"x"NL { }
(NL|"y") { }
[0-9]A { }
"##,
            &[
                "E0302 4:4 `NL` the macro `NL` is inside a longer element",
                "E0302 5:2 `NL` the macro `NL` is inside a longer element",
                "E0302 6:6 `A` the macro `A` is inside a longer element",
            ],
        ),
        (
            r##"%%
* { }
"a" + { }
(?i)* "x" { }
a** { }
^* { }
"x" {2} { }
"##,
            &[
                "E0303 2:1 `*` the quantifier has nothing to repeat",
                "E0303 3:5 `+` the quantifier has nothing to repeat",
                "E0303 4:1 `(?i)*` the quantifier has nothing to repeat",
                "E0301 5:1 `a` `a` is not a macro",
                "E0303 5:3 `*` a quantifier follows a quantifier",
                "E0303 6:1 `^*` the quantifier has nothing to repeat",
                "E0303 7:5 `{2}` the count has nothing to repeat",
            ],
        ),
        (
            r##"%%
.{70000} { }
.{3,2} { }
.{2x} { }
.{,3} { }
"##,
            &[
                "E0304 2:2 `{70000}` the count is larger than 65535",
                "E0304 3:2 `{3,2}` the limits of the count are out of order",
                "E0304 4:2 `{2` the count is invalid",
                "E0304 5:2 `{,3}` the count has no lower bound",
            ],
        ),
        (
            r##"%%
[z-a] { }
[a-\d] { }
[\d-z] { }
[[:alpah:]] { }
[:alpha:] { }
[[.x.]] { }
[[:^upper:]] { }
"##,
            &[
                "E0305 2:2 `z-a` the range is out of order",
                "E0305 3:2 `a-\\d` a range cannot end with a class",
                "E0305 4:2 `\\d-` a range cannot start with a class",
                "E0305 5:2 `[:alpah:]` there is no class `alpah`",
                "E0305 6:1 `[:alpha:]` a POSIX class is outside a class",
                "E0305 7:2 `[.x.]` collating elements are not supported",
                "E0305 8:2 `[:^upper:]` `[:^upper:]` has another meaning when case is ignored",
            ],
        ),
        (
            r##"%%
"\q" { }
"\xfff" { }
"\777" { }
"\x" { }
"\ud800" { }
\j { }
\x { }
\x{100} { }
\o{9} { }
\400 { }
[\N] { }
\c
 { }
"a" \
 { }
"##,
            &[
                "E0306 2:2 `\\q` `\\q` is not an escape of C strings",
                "E0306 3:2 `\\xfff` the escape is more than one byte",
                "E0306 4:2 `\\777` the escape is more than one byte",
                "E0306 5:2 `\\x` `\\x` needs a hexadecimal digit",
                "E0306 6:2 `\\ud800` the escape is not a character",
                "E0306 7:1 `\\j` `\\j` is not an escape",
                "E0306 8:1 `\\x` `\\x` needs a hexadecimal digit",
                "E0306 9:1 `\\x{100}` the escape is more than one byte",
                "E0306 10:1 `\\o{9}` `\\o` is not complete",
                "E0306 11:1 `\\400` the escape is more than one byte",
                "E0306 12:2 `\\N` `\\N` has no meaning in a class",
                "E0306 13:1 `\\c` `\\c` needs a letter",
                "E0306 15:5 `\\` a line end follows the backslash",
            ],
        ),
        (
            r##"X "a"\
%%
X { }
"##,
            &["E0306 1:6 `\\` nothing follows the backslash"],
        ),
        (
            r##"X ^"a"
%%
X $ { }
"a"^ { }
\b\B\z\Z\G { }
(?=a)(?!a)(?<=a)(?<!a) { }
[[:<:]]a { }
(^"a")* { }
"##,
            &[
                "E0307 1:3 `^` `^` is an assertion, which a macro cannot contain",
                "E0307 3:3 `$` `$` depends on text outside the match",
                "E0307 4:4 `^` `^` is an assertion inside the match",
                "E0307 5:1 `\\b` `\\b` depends on text outside the match",
                "E0307 5:3 `\\B` `\\B` depends on text outside the match",
                "E0307 5:5 `\\z` `\\z` depends on text outside the match",
                "E0307 5:7 `\\Z` `\\Z` depends on text outside the match",
                "E0307 5:9 `\\G` `\\G` is an assertion inside the match",
                "E0307 6:1 `(?=` a look-ahead depends on text outside the match",
                "E0307 6:6 `(?!` a look-ahead depends on text outside the match",
                "E0307 6:11 `(?<=` a look-behind depends on text outside the match",
                "E0307 6:17 `(?<!` a look-behind depends on text outside the match",
                "E0307 7:1 `[[:<:]]` `[[:<:]]` depends on text outside the match",
                "E0307 8:1 `(^\"a\")*` a repeated group is an assertion inside the match",
            ],
        ),
        (
            r##"%%
(a)\1 \g{-1} \k<n> (?P=n) { }
(?>a) .*+ \R \K { }
(?R) (?1) (?&n) (?P>n) (?(1)a|b) { }
(*FAIL) (*pla:a) { }
"##,
            &[
                "E0308 2:4 `\\1` a back-reference needs backtracking",
                "E0308 2:7 `\\g{-1}` a back-reference needs backtracking",
                "E0308 2:14 `\\k<n>` a back-reference needs backtracking",
                "E0308 2:20 `(?P=n)` a back-reference needs backtracking",
                "E0308 3:1 `(?>` an atomic group needs backtracking",
                "E0308 3:8 `*+` a possessive quantifier needs backtracking",
                "E0308 3:11 `\\R` `\\R` is an atomic group, which needs backtracking",
                "E0308 3:14 `\\K` `\\K` needs backtracking",
                "E0308 4:1 `(?R)` a recursion needs backtracking",
                "E0308 4:6 `(?1)` a recursion needs backtracking",
                "E0308 4:11 `(?&n)` a recursion needs backtracking",
                "E0308 4:17 `(?P>n)` a recursion needs backtracking",
                "E0308 4:24 `(?(` a conditional group needs backtracking",
                "E0308 5:1 `(*FAIL` `(*FAIL` needs backtracking",
                "E0308 5:9 `(*pla` `(*pla` needs backtracking",
            ],
        ),
        (
            r##"%%
(?<n>a) (?P<n>a) (?'n'a) (?|a) (?y) (?i-s-i:a) { }
"a" (?i) { }
"a"| "b" { }
"##,
            &[
                "E0309 2:1 `(?<n>` a named group",
                "E0309 2:9 `(?P<n>` a named group",
                "E0309 2:18 `(?'n'` a named group",
                "E0309 2:26 `(?|` `(?|` renumbers groups, but groups have no numbers here",
                "E0309 2:32 `(?y` `y` has no meaning after `(?`",
                "E0309 2:37 `(?i-s-` `-` has no meaning after `(?`",
                "E0309 3:5 `(?i)` flags in a separate element apply to nothing",
                "E0309 4:1 `\"a\"|` an alternative is empty",
            ],
        ),
        (
            "%%\n\u{e9} { }\n[\u{e9}\u{e8}] { }\n\\\u{e9} { }\n\\Q\u{e9}\\E { }\n\"\u{e9}\" { }\n",
            &[
                "E0312 2:1 `é` `é` is more than one byte",
                "E0312 3:2 `é` `é` is more than one byte, and a class contains single bytes",
                "E0312 4:2 `é` `é` is more than one byte",
                "E0312 5:3 `é` `é` is more than one byte",
            ],
        ),
        (
            r##"%%
(a { }
a) { }
((a) { }
a} { }
"##,
            &[
                "E0313 2:1 `(` this parenthesis is not closed",
                "E0313 3:2 `)` this parenthesis closes nothing",
                "E0313 4:1 `(` this parenthesis is not closed",
                "E0313 5:2 `}` this brace closes nothing",
            ],
        ),
        (
            r##"X {
%%
X { }
"##,
            &["E0313 1:3 `{` a macro has no action"],
        ),
        (
            r##"%state A
C A
%%
"a" C { }
"a"{C} { }
"a"{A} { }
"a"{Z} { }
"##,
            &[
                "E0314 4:5 `C` `C` is a condition macro and cannot stand in a pattern",
                "E0314 5:5 `C` `C` is a condition macro and cannot stand in a pattern",
                "E0205 6:5 `A` the state `A` appears in a pattern",
                "E0203 7:5 `Z` the macro `Z` is not declared",
            ],
        ),
        (
            r##"%%
\X \p{L} \N{U+41} (?x) (?C1) (*UTF) { }
"##,
            &[
                "E0315 2:1 `\\X` `\\X` is for Unicode, but patterns match bytes",
                "E0315 2:4 `\\p{L}` `\\p` is for Unicode, but patterns match bytes",
                "E0315 2:10 `\\N{U+41}` `\\N{U+…}` is for Unicode, but patterns match bytes",
                "E0315 2:21 `x` the flag `x` changes what blanks and `#` mean",
                "E0315 2:24 `(?C1)` a callout has no meaning here",
                "E0315 2:30 `(*UTF` `(*UTF` configures another matcher",
            ],
        ),
        (
            r##"%%
GET/ { }
(foo|"b") { }
"##,
            &[
                "W0301 2:1 `GET` `GET` is outside quotes",
                "W0301 3:2 `foo` `foo` is outside quotes",
            ],
        ),
        (
            r##"%%
(?x "a") { }
"##,
            &[
                "E0309 2:1 `(?x ` ` ` has no meaning after `(?`",
                "E0315 2:3 `x` the flag `x` changes what blanks and `#` mean",
            ],
        ),
    ]);
}
