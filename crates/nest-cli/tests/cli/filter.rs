//! `--filter`: what is built and generated, what is refused, and that nothing of the specification's C
//! takes part.

use crate::common::{GOOD, Place, there};
use std::process::Command;

/// What a filter says of itself.
fn said(place: &Place, program: &str, argument: &str) -> String {
    let output = Command::new(place.path(program)).arg(argument).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{program} {argument}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_filter_is_built_by_both_compilers_without_a_warning() {
    let place = Place::new();
    // The C of the specification is not compiled.
    let text = GOOD.replace("$close();", "$close(); no_such_function();");
    place.write(
        "hi.nest",
        format!("%option readTimeout 7s\n%option idleTimeout none\n{text}"),
    );
    for cc in ["gcc", "clang"] {
        for (filter, stages) in [
            ("request", "connections requests 1\n"),
            ("check", "requests requests 0\n"),
            ("persist", "requests requests 13\n"),
        ] {
            let mut command = place.command(&["build", "--filter", filter, "hi.nest", "--cc", cc]);
            let built = command.env("CFLAGS", "-Werror").output().unwrap();
            let err = String::from_utf8(built.stderr).unwrap();
            assert_eq!(err, format!("nest: hi-{filter} is built\n"), "{cc}");
            assert_eq!(said(&place, &format!("hi-{filter}"), "--check"), stages);
        }
    }
    let help = said(&place, "hi-request", "--help");
    for default in [
        "default 7000ms",
        "default 86400000ms",
        "default 8192",
        "of hi is",
    ] {
        assert!(help.contains(default), "{default}: {help}");
    }
    // What nest has built, it may build again; nothing else is overwritten.
    place
        .nest(&["build", "--filter", "check", "hi.nest", "-o", "hi-request"])
        .with_status(0);
    place.write("other", "text");
    place
        .nest(&["build", "--filter", "check", "hi.nest", "-o", "other"])
        .with_status(1)
        .err_has("add --force");
    assert_eq!(place.read("other"), "text");
}

#[test]
fn what_has_no_filter_is_refused() {
    let place = Place::new();
    place.write(
        "speaks.nest",
        "%%\nSTART { $reply(\"hi\"); }\n\"x\" { $close(); }\n",
    );
    place.write("keeps.nest", "%%\nint n;\n\"x\" { n++; }\n");
    place.write("wrong.nest", "%%\n\"x\" { $oops(); }\n");
    for (filter, spec, code) in [
        ("request", "speaks.nest", "error[E0701]"),
        ("check", "speaks.nest", "speaks.nest:2:9"),
        ("persist", "keeps.nest", "error[E0703]: the variable `n`"),
        ("request", "wrong.nest", "error[E0401]"),
    ] {
        place
            .nest(&["build", "--filter", filter, spec, "-o", "made"])
            .with_status(1)
            .err_has(code);
        place
            .nest(&["gen", "--filter", filter, spec, "-o", "dir"])
            .with_status(1)
            .err_has(code);
    }
    assert!(!there(&place.path("made")) && !there(&place.path("dir")));
    place
        .nest(&["build", "--filter", "request", "keeps.nest"])
        .with_status(0);
    for wrong in [
        &[
            "build",
            "--filter",
            "request",
            "--model",
            "event",
            "keeps.nest",
        ][..],
        &["build", "--filter", "request", "--trace", "keeps.nest"],
        &["build", "--filter", "request", "keeps.nest", "more.c"],
        &["build", "--filter", "ratelimit", "keeps.nest"],
        &[
            "gen",
            "--filter",
            "request",
            "--with",
            "docker",
            "keeps.nest",
            "-o",
            "dir",
        ],
    ] {
        place.nest(wrong).with_status(2);
    }
}

#[test]
fn a_project_of_a_filter_is_built_by_make() {
    let place = Place::new();
    place.write("hi.nest", GOOD);
    for filter in ["check", "request"] {
        place
            .nest(&["gen", "--filter", filter, "hi.nest", "-o", "out"])
            .with_status(0);
        let mut made = Command::new("make");
        let made = made.args(["-s", "-C"]).arg(place.path("out"));
        let made = made.env("CFLAGS", "-O0 -Werror").output().unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        assert!(there(&place.path(&format!("out/hi-{filter}"))));
    }
    // The other filter's program is gone, and the same is not written twice.
    assert!(!there(&place.path("out/frame/check.c")));
    place
        .nest(&["gen", "--filter", "request", "hi.nest", "-o", "out"])
        .with_status(0)
        .err_has("nothing has changed");
    // A server and a filter do not share a folder.
    place
        .nest(&["gen", "hi.nest", "-o", "out"])
        .with_status(1)
        .err_has("choose another directory");
    place
        .nest(&["gen", "hi.nest", "-o", "server"])
        .with_status(0);
    place
        .nest(&["gen", "--filter", "request", "hi.nest", "-o", "server"])
        .with_status(1);
}
