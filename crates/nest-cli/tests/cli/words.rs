//! Help, usage errors, explain, completions, manual pages, new: what needs no specification.

use crate::common::Place;

#[test]
fn wrong_usage_is_2_and_teaches() {
    let place = Place::new();
    place
        .nest(&[])
        .with_status(2)
        .err_has("Usage: nest")
        .err_has("nest run echo.nest");
    place
        .nest(&["dance"])
        .with_status(2)
        .err_has("unrecognized subcommand 'dance'");
    place.nest(&["chek", "x"]).with_status(2).err_has("'check'");
    place.nest(&["check"]).with_status(2).err_has("<FILE>");
    place
        .nest(&["check", "x.nest", "--model", "fiber"])
        .with_status(2)
        .err_has("process, prefork, thread");
    place
        .nest(&["run", "--watch", "-"])
        .with_status(2)
        .err_has("--watch needs a file");
    place
        .nest(&["build", "x.nest", "more.o"])
        .with_status(2)
        .err_has("more.o is not a C file");
}

#[test]
fn misplaced_arguments_are_told_their_place() {
    let place = Place::new();
    let cases: [(&[&str], &str); 7] = [
        (
            &["run", "e.nest", "--port"],
            "after --, as in nest run FILE -- --port 9000",
        ),
        (
            &["run", "--prot", "9000", "e.nest"],
            "did you mean the server's option '--port'?",
        ),
        (
            &["run", "e.nest", "--set=eventServer=5"],
            "-- --set maxClients=100",
        ),
        (&["run", "--wacth", "e.nest"], "'--watch'"),
        (
            &["gen", "e.nest", "-o", "o", "--with", "systemd", "docker"],
            "--with systemd,docker",
        ),
        (&["e.nest"], "nest run e.nest"),
        (&["check", "--json", "e.nest"], "--format json"),
    ];
    for (arguments, tip) in cases {
        place.nest(arguments).with_status(2).err_has(tip);
    }
}

#[test]
fn help_ends_with_an_example() {
    let place = Place::new();
    let commands = [
        "new",
        "check",
        "graph",
        "gen",
        "build",
        "run",
        "explain",
        "completions",
        "man",
    ];
    for command in commands {
        place
            .nest(&[command, "--help"])
            .with_status(0)
            .out_has("Example:");
    }
    let help = place.nest(&["--help"]).with_status(0).out;
    assert!(commands.iter().all(|c| help.contains(c)), "{help}");
    assert!(!help.contains('\u{1b}'), "colours without a terminal");
}

#[test]
fn colours_are_for_who_wants_them() {
    let place = Place::new();
    let coloured = |arguments: &[&str]| {
        let ended = place.nest(arguments);
        ended.out.contains('\u{1b}') || ended.err.contains('\u{1b}')
    };
    assert!(coloured(&["--color", "always", "--help"]));
    assert!(coloured(&["explain", "E0301", "--color=always"]));
    assert!(coloured(&["--color=always", "dance"]));
    assert!(!coloured(&["--color", "never", "--help"]));
    assert!(!coloured(&["explain", "E0301"]));
    let output = place
        .command(&["explain"])
        .env("NO_COLOR", "1")
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    assert!(!output.stdout.contains(&0x1b), "NO_COLOR is not heard");
}

#[test]
fn codes_are_explained() {
    let place = Place::new();
    let page = place.nest(&["explain", "e0301"]).with_status(0).out;
    assert!(
        page.starts_with("# E0301: a pattern element that is a bare word\n"),
        "{page}"
    );
    for way in ["301", "[E0301]", "error[E0301]:", "E301"] {
        assert_eq!(place.nest(&["explain", way]).with_status(0).out, page);
    }
    place
        .nest(&["explain", "w101"])
        .with_status(0)
        .out_has("# W0101");
    place
        .nest(&["explain", "99"])
        .with_status(2)
        .err_has("no code 99");
    let list = place.nest(&["explain"]).with_status(0).out;
    assert_eq!(list.lines().count(), nest_diag::Code::ALL.len());
    place
        .nest(&["explain", "E03O1"])
        .with_status(2)
        .err_has("did you mean E0301?");
    place
        .nest(&["explain", "banana"])
        .with_status(2)
        .err_has("nest explain lists all codes");
}

#[test]
fn completions_know_every_subcommand_and_help_every_model() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = place.nest(&["completions", shell]).with_status(0).out;
        for word in ["explain", "watch", "sanitize", "thread"] {
            assert!(text.contains(word), "{shell} has no {word}");
        }
    }
    // What no specification can select is for tests alone.
    for (command, shown) in [("build", false), ("run", false), ("test", true)] {
        let text = place.nest(&[command, "--help"]).with_status(0).out;
        assert_eq!(text.contains("- script:"), shown, "{command}: {text}");
    }
    place
        .nest(&["completions", "tcsh"])
        .with_status(2)
        .err_has("bash, zsh, fish");
}

#[test]
fn manual_pages_are_made() {
    let place = Place::new();
    place.nest(&["man"]).with_status(0).out_has(".TH nest 1");
    place
        .nest(&["man", "build"])
        .with_status(0)
        .out_has(".TH nest-build 1")
        .out_has("Example");
    place
        .nest(&["man", "biuld"])
        .with_status(2)
        .err_has("did you mean build?");
    place.nest(&["man", "--all", "pages"]).with_status(0);
    for page in ["nest.1", "nest-run.1", "nest-explain.1"] {
        assert!(
            place
                .read(&format!("pages/{page}"))
                .contains(".SH SYNOPSIS"),
            "{page}"
        );
    }
}

#[test]
fn a_new_specification_has_no_errors() {
    let place = Place::new();
    place
        .nest(&["new", "hello"])
        .with_status(0)
        .err_has("next: nest run hello.nest");
    for model in ["process", "thread", "event", "uring"] {
        let ended = place
            .nest(&["check", "hello.nest", "--model", model])
            .with_status(0);
        assert_eq!(ended.err, "nest: hello.nest: no errors\n");
        assert_eq!(ended.out, "");
    }
    let text = place.read("hello.nest");
    // A name fits its variable: 31 letters and the NUL.
    for word in [
        "%state",
        "NL ",
        "START {",
        "END {",
        "%%",
        "hello.nest",
        "[A-Za-z]{1,31}",
        "name[32]",
    ] {
        assert!(text.contains(word), "no {word}");
    }
    place
        .nest(&["new", "hello"])
        .with_status(1)
        .err_has("hello.nest exists already");
    assert_eq!(place.read("hello.nest"), text);
}

#[test]
fn names_are_checked() {
    let place = Place::new();
    let long = "a".repeat(65);
    for name in ["", "1st", "../up", "a b", "a.b", "\u{fc}ber", &long] {
        place
            .nest(&["new", name])
            .with_status(2)
            .err_has("cannot be a server's name");
    }
    place.nest(&["new", "good_1.nest"]).with_status(0);
    assert!(crate::common::there(&place.path("good_1.nest")));
}

#[test]
fn a_specification_that_cannot_be_written_is_not_there() {
    let place = Place::new();
    place
        .nest_behind("trap '' XFSZ; ulimit -f 0", &["new", "hello"])
        .with_status(1)
        .err_has("cannot write hello.nest: file too large");
    assert!(!crate::common::there(&place.path("hello.nest")));
}

#[test]
fn a_reader_that_leaves_is_told_nothing() {
    let place = Place::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader); // before anything is written
    let ended = place.command(&["explain"]).stdout(writer).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    // As of any program that ends by SIGPIPE: no success, for what was found was not heard.
    assert_eq!(ended.status.code(), Some(141));
}
