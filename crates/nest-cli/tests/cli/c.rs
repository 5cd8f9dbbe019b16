//! The user's C in places where finding its variables, arguments and file scope is not easy: what
//! is accepted compiles without a warning and means what C means, the rest is refused with a reason.

use crate::common::Place;
use std::process::Command;

/// What the server of `text` answers to "A\n", as a script shows it.
#[track_caller]
fn says(text: &str, answer: &str) {
    let place = Place::new();
    place.write("t.nest", text);
    let built = place
        .command(&["build", "--model", "script", "t.nest"])
        .env("CFLAGS", "-O0 -Werror")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    place.write("script", "open 1\nin 1 \"A\\n\"\neof 1\n");
    let output = Command::new(place.path("t"))
        .current_dir(place.path("."))
        .stdin(std::fs::File::open(place.path("script")).unwrap())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        format!("1 out \"{answer}\"\n1 closed\n")
    );
}

#[track_caller]
fn refused(text: &str, code: &str, why: &str) {
    let place = Place::new();
    place.write("t.nest", text);
    place
        .nest(&["check", "t.nest"])
        .with_status(1)
        .out_has(code)
        .out_has(why)
        .err_has("t.nest: 1 error");
}

#[test]
fn parameters_and_members_of_a_variables_name_are_other_things() {
    says(
        "%%\nint n = 1;\nint (*call)(int n);\nstruct { int n, m; } pair = { .n = 3 };\n\
         \"A\\n\" { $reply(\"%d %d %d\\n\", n, pair.n, call == 0); }\n",
        "1 3 1\\n",
    );
}

#[test]
fn types_among_the_variables_may_measure_them() {
    says(
        "%%\nchar buf[10];\nstruct node { char b[sizeof buf]; } node;\nenum { SIZE = sizeof buf };\n\
         typedef char twice[sizeof buf * 2];\ntwice two;\nint list[SIZE];\n\
         \"A\\n\" { $reply(\"%zu %zu %zu\\n\", sizeof node.b, sizeof two, sizeof list / sizeof list[0]); }\n",
        "10 20 10\\n",
    );
}

#[test]
fn arguments_end_before_comments() {
    says(
        "%state S\n%%\n\"A\" \"\\n\" { $seen(S /* why */); $reply($1 /* a part */, $isset(S /**/) ? \"y\" : \"n\" // so\n\
         , \"\\n\" // \"\n ); $reply(\"%d\\n\" /* f */, (int)$len(1 /* first */)); }\n",
        "Ay\\n1\\n",
    );
}

#[test]
fn a_variable_may_have_any_name() {
    says(
        "%%\nint f = 2, *g = &f;\n\"A\\n\" { $reply(\"%d\\n\", f + *g); }\n",
        "4\\n",
    );
}

#[test]
fn locals_of_macros_shadow() {
    says(
        "%{\n#define ADD(a) { int n = (a); sum += n; }\n#define NAME(x) #x \"sum\"\n\
         #define INNER(n) (sum + (n))\n%}\n%%\nint sum = 1, n = 5;\n\
         \"A\\n\" {\n#define HERE(sum) (sum + n)\n ADD(3) $reply(\"%d %d %s %d %d\\n\", sum, n, NAME(m), INNER(1), HERE(2)); }\n",
        "4 5 msum 5 7\\n",
    );
}

#[test]
fn comments_are_no_part_of_a_macro_with_variables() {
    says(
        "%{\n#define NEXT ++n /* the number\n of this one */\n/* before:\n#define NEXT n++\n*/\n%}\n%%\nint n;\n\
         \"A\\n\" { $reply(\"%d\\n\", NEXT); }\n",
        "1\\n",
    );
}

#[test]
fn a_directive_goes_on_in_the_next_line_of_a_macro() {
    says(
        "%state S T\n%%\n\"A\\n\" {\n#define BOTH do { $seen(S, \\\n T); } while (0)\nBOTH;\n\
         $reply(\"%d\\n\", $isset(S) && $isset(T)); }\n",
        "1\\n",
    );
}

#[test]
fn a_macro_with_variables_stays_undefined_where_it_was() {
    says(
        "%{\n#if 0\n#define SUM sum\n#endif\n%}\n%%\nint sum = 1;\n\
         \"A\\n\" {\n#ifdef SUM\n$reply(\"defined\\n\");\n#endif\n$reply(\"%d\\n\", sum); }\n",
        "1\\n",
    );
    refused(
        "%{\n#if 1\n#define SUM sum\n#else\n#define SUM 0\n#endif\n%}\n%%\nint sum;\n\"A\" { }\n",
        "E0103",
        "the macro `SUM` is defined twice",
    );
}

#[test]
fn a_dollar_in_a_literal_may_be_escaped() {
    says(
        "%%\n\"A\\n\" { $reply(\"\\$1 \\\\$2 %c\\n\", '\\$'); }\n",
        "$1 \\\\$2 $\\n",
    );
}

#[test]
fn a_pattern_for_libpcre2_may_be_long() {
    says(
        &format!(
            "%option backtracking yes\n%%\n(\"{}\"|\"A\") (?=\"\\n\") \"\\n\" {{ $reply(\"yes\\n\"); }}\n",
            "ab".repeat(2100)
        ),
        "yes\\n",
    );
}

#[test]
fn a_comment_may_stand_before_the_body_of_a_start_up_function() {
    says(
        "%%\n\"A\\n\" { $reply(\"%d\\n\", twice(4)); }\n%%\n\
         static int twice(int n) // doubles it\n{ return 2 * n; }\n",
        "8\\n",
    );
}

#[test]
fn start_up_statements_may_stand_under_a_condition() {
    says(
        "%{\nstatic int before, after;\n%}\n%%\n\"A\\n\" { $reply(\"%d %d\\n\", before, after); }\n%%\n\
         #define ONE 1\n#if ONE\nbefore = ONE;\n#else\n#error wrong\n#endif\n\
         #ifdef ONE\nstatic int two(void) { return 2; }\n#endif\nafter = two();\n",
        "1 2\\n",
    );
    refused(
        "%%\n\"A\\n\" { }\n%%\n#if 1\nint f(void) { return 1; }\nf();\n#endif\n",
        "E0502",
        "under one condition",
    );
}

#[test]
fn what_cannot_be_a_variable_says_why() {
    refused(
        "%%\n%{\n#if 1\nint shared;\n#endif\n%}\n\"A\" { }\n",
        "E0501",
        "under a condition",
    );
    refused(
        "%%\n_Alignas(16) char bytes[16];\n\"A\" { }\n",
        "E0501",
        "alignment",
    );
    refused(
        "%%\nint a, (*f(int))(int);\n\"A\" { }\n",
        "E0501",
        "`f` is a function among variables",
    );
    refused(
        "%%\nint n;\nint sizes[sizeof(int) * n];\n\"A\" { }\n",
        "E0501",
        "the size of `sizes` is not constant",
    );
}

#[test]
fn what_an_if_0_takes_out_does_not_count() {
    says(
        "%%\n\"A\\n\" {\n#if 0\n } }\n#if 1\n { \n#else\n }\n#endif\n }\n#else\n {\n#endif\n#if 1\n }\n#endif\n\
         #if 0 /* no */\n {\n#endif\n $reply(\"still here\\n\"); }\n",
        "still here\\n",
    );
}

#[test]
fn arguments_that_are_left_out_and_times_with_units() {
    says(
        "%{\n#include <errno.h>\n%}\n%%\nint n = 1;\n\
         \"A\\n\" { char *p = $readLine(); int none = p == NULL && errno == 0;\n\
         $timeout(n ? 5s : 1m); $timeout(none); $sleep(1ms); $sleep(n); $sleep((uint32_t)(n + 2ms));\n\
         $reply(\"%d %ld %ld %d\\n\", none, $skip(3), $readInto(&n, sizeof n), $pending() || $draining()); }\n\
         TIMEOUT(5s) { $close(); }\n",
        "1 0 0 0\\n",
    );
}

#[test]
fn a_file_is_a_path_or_an_open_one() {
    says(
        "%{\n#include <errno.h>\n%}\n%%\nchar name[] = \"none\";\n\
         \"A\\n\" { nest_file info, *at = &info; const char *fixed = \"none\"; int wrong = 0;\n\
         wrong += $fileOpen(name, &info) < 0 && errno == ENOENT;\n\
         wrong += $fileReply(name) < 0 && errno == ENOENT;\n\
         wrong += $fileReply(fixed, 1) < 0; wrong += $fileReply(\"none\", 1, 2) < 0;\n\
         wrong += $fileOpen(\"t.nest\", at) == 0 && info.size > 100;\n\
         wrong += $fileReply(info, 0, 2) == 2; wrong += $fileReply(at, 2, 1) == 1;\n\
         $reply(\"%d\\n\", wrong); }\n",
        "%{\\n7\\n",
    );
}

#[test]
fn what_stands_in_a_block_is_c() {
    says(
        "%{\n#include <errno.h>\n%}\n%%\nint n = 1, errors;\n\
         \"A\\n\" { int m = 0; if (n) $block { for (int i = 0; ; i++) { if (i > 2) break; m += i; }\n\
         n += m; errno = EDOM; }\n else m = 9;\n int error = errno; $block { errors = errno == EDOM; errno = 0; }\n\
         $reply(\"%d %d %d %d\\n\", n, m, error == EDOM, errors); }\n",
        "4 3 1 1\\n",
    );
}

#[test]
fn a_server_without_patterns_draws_no_warning() {
    let place = Place::new();
    place.write("t.nest", "%%\nTIMEOUT(5s) { $close(); }\n");
    let built = place
        .command(&["build", "--model", "script", "t.nest"])
        .env("CFLAGS", "-O1 -Werror")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
}
