//! `nest build`: what takes part, what is refused, what the C compiler's errors look like.

use crate::common::{GOOD, Place, there};

#[test]
fn a_server_is_built_in_its_place() {
    let place = Place::new();
    place.write("dir/echo.nest", GOOD);
    place
        .nest(&["build", "dir/echo.nest"])
        .with_status(0)
        .err_has("echo is built");
    assert!(there(&place.path("echo")));
    place
        .nest(&["build", "dir/echo.nest", "-o", "dir/other"])
        .with_status(0);
    assert!(there(&place.path("dir/other")));
    place
        .nest_with(&["build", "-"], GOOD)
        .with_status(0)
        .err_has("server is built");
    assert!(there(&place.path("server")));
    let left: Vec<_> = std::fs::read_dir(place.path("."))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_server_is_built_for_each_model() {
    let place = Place::new();
    place.write("echo.nest", GOOD);
    let built = place.nest(&["build", "echo.nest", "--model", "all", "-o", "servers/all"]);
    let mut built = built.with_status(0);
    for model in ["process", "prefork", "thread", "event", "uring"] {
        let name = format!("servers/all/echo-{model}");
        built = built.err_has(&format!("{name} is built"));
        assert!(there(&place.path(&name)), "{name}");
    }
    place
        .nest(&["build", "echo.nest", "--model", "all"])
        .with_status(0);
    assert!(there(&place.path("echo-prefork")));
    place
        .nest_with(&["build", "-", "--model", "all"], GOOD)
        .with_status(2)
        .err_has("give --model all a file");
}

#[test]
fn c_of_the_user_takes_part() {
    let place = Place::new();
    place.write(
        "spec/s.nest",
        "%{\n#include \"beside.h\"\n#include \"far.h\"\n%}\n%option threadServer 2\n%%\n\
         \"HI\" { helper($self, BESIDE + FAR); }\n",
    );
    place.write("spec/beside.h", "#define BESIDE 1\nstruct nest_session;\n");
    place.write(
        "far/far.h",
        "#define FAR 2\nvoid helper(struct nest_session *, int);\n",
    );
    place.write(
        "c/helper.c",
        "#include \"nest.h\"\n#include \"far.h\"\n\
         void helper(struct nest_session *s, int n) { nest_replyf(s, \"%d\", n + FAR); }\n",
    );
    place
        .nest(&["build", "spec/s.nest", "c/helper.c", "-I", "far"])
        .with_status(0);
    place
        .nest(&["build", "spec/s.nest", "-I", "far"])
        .with_status(1)
        .err_has("helper");
    place
        .nest(&["build", "spec/s.nest", "c/gone.c", "-Ifar"])
        .with_status(1)
        .err_has("c/gone.c");
    let missing = [
        "build",
        "spec/s.nest",
        "c/helper.c",
        "-I",
        "far",
        "-l",
        "no_such_library",
    ];
    place
        .nest(&missing)
        .with_status(1)
        .err_has("no_such_library");
}

#[test]
fn c_errors_point_into_the_specification() {
    let place = Place::new();
    let bad = "%option threadServer 2\n%%\n\"HI\" {\n    int n = 1;\n    m = n;\n}\n";
    place.write("d/bad.nest", bad);
    place
        .nest(&["build", "d/bad.nest"])
        .with_status(1)
        .err_has("d/bad.nest:5:5: error:");
    place.write("number.nest", "%%\nunsigned n;\n\"HI\" { $reply(n); }\n");
    place
        .nest(&["build", "number.nest"])
        .with_status(1)
        .err_has("number.nest:3:")
        .err_has("int-conversion");
    assert!(!there(&place.path("bad")));
    place
        .nest_with(&["build", "-"], bad)
        .with_status(1)
        .err_has("<stdin>:5:5: error:");
}

#[test]
fn columns_behind_a_directive_are_the_specifications() {
    let place = Place::new();
    let bad = "%state S\n%%\nint count;\n\"A\" [0-9]+ \"\\n\" { $seen(S); count = foo; $close(); }\n\
               S: \"B\" {\n\t$reply(\"a\", $1,\n\t    \"b\"); $seen(S,\n S); bar = 1; }\n\
               S: \"\u{fc}\" { $reply(\"\u{fc}\"); fuss = 1; } \"\u{fc}\" { $flush(); baz = 1; }\n";
    place.write("bad.nest", bad);
    for cc in ["gcc", "clang"] {
        let ended = place
            .nest(&["build", "bad.nest", "--cc", cc])
            .with_status(1);
        let ended = ended
            .err_has("bad.nest:4:37: error:")
            .err_has(
                "    4 | \"A\" [0-9]+ \"\\n\" { $seen(S); count = foo; $close(); }\n      \
                 |                                     ^^^\n",
            )
            .err_has("bad.nest:8:6: error:");
        // Where two pieces of C on a line would do, the line is what is right.
        let ended = ended.err_has("bad.nest:9: error:");
        assert!(!ended.err.contains("nest_"), "{cc}: {}", ended.err);
    }
}

#[test]
fn c_errors_of_variables_point_to_their_declarations() {
    let place = Place::new();
    let bad =
        "%%\nstruct missing m,\n    *ok;\nunknown_t *u;\nchar few[1 - 2];\n\"A\" { ok = 0; }\n";
    place.write("bad.nest", bad);
    for cc in ["gcc", "clang"] {
        let ended = place
            .nest(&["build", "bad.nest", "--cc", cc])
            .with_status(1);
        let ended = ended
            .err_has("bad.nest:2:16: error:")
            .err_has("bad.nest:4:1: error:");
        let ended = ended.err_has("bad.nest:5:");
        assert!(!ended.err.contains("actions.c:"), "{cc}: {}", ended.err);
    }
    place.write(
        "value.nest",
        "%%\nint n = 1,\n    m = \"x\";\n\"A\" { n = m; }\n",
    );
    place
        .nest(&["build", "value.nest"])
        .with_status(1)
        .err_has("value.nest:3:5: error:");
}

#[test]
fn a_missing_compiler_is_one_line() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    let ended = place
        .nest(&["build", "a.nest", "--cc", "no-such-cc"])
        .with_status(1);
    assert_eq!(
        ended.err,
        "error: there is no C compiler 'no-such-cc'; install gcc or clang, or name one with --cc\n"
    );
    place
        .nest(&["build", "a.nest", "--cc", " "])
        .with_status(2)
        .err_has("name is empty");
    place
        .nest(&["build", "a.nest", "--cc", "false"])
        .with_status(1)
        .err_has("false failed");
}

#[test]
fn nothing_of_the_users_is_overwritten() {
    let place = Place::new();
    place.write("echo", GOOD);
    place
        .nest(&["build", "echo"])
        .with_status(1)
        .err_has("would overwrite echo");
    assert_eq!(place.read("echo"), GOOD);
    place.write("a.nest", GOOD);
    place.write("a/file", "");
    place
        .nest(&["build", "a.nest"])
        .with_status(1)
        .err_has("a is a directory");
    place.write("m.c", "");
    place
        .nest(&["build", "a.nest", "m.c", "-o", "./m.c"])
        .with_status(1)
        .err_has("overwrite m.c");
    place
        .nest(&["build", "a.nest", "-o", "gone/a"])
        .with_status(1)
        .err_has("cannot write gone/a");
}

#[test]
fn only_what_nest_has_built_is_replaced() {
    let place = Place::new();
    place.write("echo.nest", GOOD);
    place.write("echo", "notes about the server\n");
    place
        .nest(&["build", "echo.nest"])
        .with_status(1)
        .err_has("echo is not a server that nest built; name the server with -o, or add --force");
    assert_eq!(place.read("echo"), "notes about the server\n");
    place
        .nest(&["build", "echo.nest", "--force"])
        .with_status(0);
    // Now it is a server, and it stays one without its symbols.
    place.nest(&["build", "echo.nest"]).with_status(0);
    let strip = std::process::Command::new("strip")
        .arg(place.path("echo"))
        .status();
    assert!(strip.is_ok_and(|status| status.success()));
    place.nest(&["build", "echo.nest"]).with_status(0);
    // Another program, a link to it, a link to nothing and a device stay; an empty file is no loss.
    std::fs::copy(env!("CARGO_BIN_EXE_nest"), place.path("other")).unwrap();
    std::os::unix::fs::symlink("other", place.path("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", place.path("lost")).unwrap();
    for output in ["other", "link", "lost", "/dev/null"] {
        place
            .nest(&["build", "echo.nest", "-o", output])
            .with_status(1)
            .err_has("is not a server that nest built");
    }
    place.write("empty", "");
    place
        .nest(&["build", "echo.nest", "-o", "empty"])
        .with_status(0);
    // The specification stays in any case.
    place
        .nest(&["build", "echo.nest", "--force", "-o", "echo.nest"])
        .with_status(1)
        .err_has("would overwrite echo.nest");
}

#[test]
fn a_damaged_executable_is_not_replaced() {
    let place = Place::new();
    place.write("echo.nest", GOOD);
    place.nest(&["build", "echo.nest"]).with_status(0);
    let whole = std::fs::read(place.path("echo")).unwrap();
    for length in [3, 20, 63, 64, 100, 200, 300] {
        std::fs::write(place.path("cut"), &whole[..length]).unwrap();
        place
            .nest(&["build", "echo.nest", "-o", "cut"])
            .with_status(1)
            .err_has("is not a server that nest built");
    }
    // Sizes and positions that lead far away.
    let mut wild = whole.clone();
    wild[32..64].fill(0xff);
    std::fs::write(place.path("wild"), wild).unwrap();
    place
        .nest(&["build", "echo.nest", "-o", "wild"])
        .with_status(1)
        .err_has("is not a server that nest built");
}

#[test]
fn a_library_is_needed_only_where_it_is_selected() {
    let place = Place::new();
    let rules = "%%\nsame = ([a-z]) \"\\n\" { $reply($1); }\n";
    place.write("without.nest", rules);
    let selected = format!("%option backtracking yes\n{rules}").replace(") ", ") \\1 ");
    place.write("with.nest", &selected);
    place.write("bad.nest", selected.replace("$1", "unknown"));
    let links = |name: &str| {
        place
            .nest(&["build", &format!("{name}.nest")])
            .with_status(0);
        let program = std::fs::read(place.path(name)).unwrap();
        program.windows(10).any(|text| text == b"libpcre2-8")
    };
    assert!(links("with") && !links("without"));
    // Compilers of a system without the header, and of one without the library.
    let refuse = |what: &str| format!("#!/bin/sh\n{what}exec cc \"$@\"\n");
    place.program(
        "headerless",
        &refuse(
            "for a; do case $a in *.c) if grep -qrs '<pcre2.h>' \"$a\" \"$(dirname \"$a\")\"; then \
             echo no pcre2.h >&2; exit 1; fi;; esac; done\n",
        ),
    );
    place.program(
        "libraryless",
        &refuse("for a; do [ \"$a\" != -lpcre2-8 ] || { echo no library >&2; exit 1; }; done\n"),
    );
    for (cc, missing) in [
        ("headerless", "pcre2.h"),
        ("libraryless", "the library pcre2-8"),
    ] {
        let cc = place.path(cc).display().to_string();
        let refused = place
            .nest(&["build", "with.nest", "--cc", &cc])
            .with_status(1);
        let message = format!(
            "error: %option backtracking yes needs {missing}, which is missing; install libpcre2-dev \
             (in Debian), or say where it is with -I and -L\n"
        );
        assert_eq!(refused.err, message);
        place
            .nest(&["build", "without.nest", "--cc", &cc])
            .with_status(0);
    }
    // An error in an action is not taken for it.
    place
        .nest(&["build", "bad.nest"])
        .with_status(1)
        .err_has("unknown")
        .err_has("bad.nest:3");
}
