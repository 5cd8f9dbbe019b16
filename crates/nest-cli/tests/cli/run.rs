//! `nest run`: the server's arguments, status, signals, trace, and following its files.

use crate::common::{GOOD, Place, port_in, talk};

#[test]
fn the_server_takes_over() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    let mut server = place.start(&["run", "a.nest", "--", "--port", "0"]);
    let port = server.port();
    assert_eq!(talk(port, "HI\r\n"), "hello\r\n");
    server.signal("TERM");
    assert_eq!(server.end().code(), Some(0));
    place
        .nest(&["run", "a.nest", "--", "--no-such-option"])
        .with_status(2);
    // The second time nothing is compiled: no compiler is needed.
    let mut cached = place.command(&["run", "a.nest", "--", "--version"]);
    assert_eq!(cached.output().unwrap().status.code(), Some(0));
}

#[test]
fn start_up_code_has_what_stands_behind_the_dashes() {
    let place = Place::new();
    let code =
        "for (int i = 1; i <= argc; i++) puts(i < argc ? argv[i] : argv[i] ? \"?\" : \".\");";
    place.write(
        "a.nest",
        format!("%{{\n#include <stdio.h>\n%}}\n{GOOD}%%\n{code}\nreturn argc;\n"),
    );
    let port = ["run", "a.nest", "--", "--port", "0"];
    place.nest(&port[..2]).with_status(1).out_has(".\n");
    place.nest(&port).with_status(1).out_has(".\n");
    let more = [&port[..], &["--", "one", "--", "--port"]].concat();
    place
        .nest(&more)
        .with_status(4)
        .out_has("one\n--\n--port\n.\n");
    place
        .nest(&["run", "a.nest", "--", "--"])
        .with_status(1)
        .out_has(".\n");
}

#[test]
fn the_exit_status_is_the_servers() {
    let place = Place::new();
    place.write("a.nest", format!("{GOOD}%%\nreturn 7;\n"));
    place.nest(&["run", "a.nest"]).with_status(7);
    place.nest(&["run", "--trace", "a.nest"]).with_status(7);
    place.write("bad.nest", "%%\nHI { ; }\n");
    place
        .nest(&["run", "bad.nest"])
        .with_status(1)
        .err_has("E0301");
}

#[test]
fn the_cache_sees_every_change() {
    let place = Place::new();
    let spec = format!("%{{\n#include \"status.h\"\n%}}\n{GOOD}%%\nreturn STATUS + more();\n");
    place.write("a.nest", spec.replace("%}", "int more(void);\n%}"));
    place.write("status.h", "#define STATUS 1\n");
    place.write("more.c", "int more(void);\nint more(void) { return 10; }\n");
    place.nest(&["run", "a.nest", "more.c"]).with_status(11);
    place.nest(&["run", "a.nest", "more.c"]).with_status(11);
    place.write("status.h", "#define STATUS 2\n");
    place.nest(&["run", "a.nest", "more.c"]).with_status(12);
    place.write("more.c", "int more(void);\nint more(void) { return 20; }\n");
    place.nest(&["run", "a.nest", "more.c"]).with_status(22);
    place.write("status.h", "#define STATUS 1\n");
    place.nest(&["run", "a.nest", "more.c"]).with_status(21);
}

#[test]
fn a_trace_tells_what_happens() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    for model in ["thread", "process"] {
        let arguments = [
            "run", "--trace", "--model", model, "a.nest", "--", "--port", "0",
        ];
        let mut server = place.start(&arguments);
        let port = server.port();
        assert_eq!(talk(port, "HI\r\nQUIT\r\n"), "hello\r\n");
        for expected in [
            "open",
            "<- \"HI\\r\\n\"",
            "-> \"hello\\r\\n\"",
            "<- \"QUIT",
            "end  closed",
        ] {
            server.line_with(expected);
        }
        server.signal("TERM");
        assert_eq!(server.end().code(), Some(0), "{model}");
    }
}

#[test]
fn a_signal_during_a_build_leaves_nothing() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    // The answer waits for a byte after the message: W0302.
    let waits =
        "%%\nadd = \"add \" [0-9]+ { $reply(\"added\\n\"); }\nbye = \"bye\\n\" { $close(); }\n";
    place.write("b.nest", waits);
    place.write("log", "/a 5\n");
    place.write("tmp/.keep", "");
    place.program("slow", "#!/bin/sh\ntouch started\nexec sleep 60\n");
    for arguments in [
        &["build", "a.nest"][..],
        &["check", "--replay", "1", "b.nest"],
        &["check", "--bounds", "b.nest"],
        &["cache-sim", "log"],
    ] {
        let _ = std::fs::remove_file(place.path("started"));
        let mut command = place.command(arguments);
        command.env("CC", "./slow").env("TMPDIR", place.path("tmp"));
        let mut child = command.spawn().unwrap();
        while !place.path("started").exists() {
            assert!(
                child.try_wait().unwrap().is_none(),
                "{arguments:?} ended before it compiled"
            );
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(15),
            "{arguments:?}"
        );
        let left = std::fs::read_dir(place.path("tmp")).unwrap().count();
        assert_eq!(left, 1, "{arguments:?} leaves temporary files");
    }
}

#[test]
fn a_certificate_that_cannot_be_made_leaves_nothing() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    place.write("bin/.keep", "");
    place.program(
        "bin/openssl",
        "#!/bin/sh\nwhile [ \"$#\" -gt 1 ]; do case $1 in -keyout|-out) echo x > \"$2\";; esac; shift; done\n\
         echo no entropy >&2\nexit 1\n",
    );
    let path = format!(
        "{}:{}",
        place.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let mut command = place.command(&["run", "--tls", "self", "a.nest"]);
    let ended = command.env("PATH", path).output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        said.contains("cannot make a certificate: no entropy"),
        "{said}"
    );
    let left = std::fs::read_dir(place.path("cache/nest")).unwrap();
    let names: Vec<_> = left.map(|e| e.unwrap().file_name()).collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_server_ends_when_nobody_reads_its_trace() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    let mut command = place.command(&["run", "--trace", "a.nest", "--", "--port", "0"]);
    let (reader, writer) = std::io::pipe().unwrap();
    let log = std::fs::File::create(place.path("log")).unwrap();
    let mut child = command.stdout(writer).stderr(log).spawn().unwrap();
    drop(command);
    let mut lines = std::io::BufReader::new(reader);
    let mut line = String::new();
    while !line.contains("listening on ") {
        line.clear();
        assert_ne!(
            std::io::BufRead::read_line(&mut lines, &mut line).unwrap(),
            0,
            "{}",
            place.read("log")
        );
    }
    let port = port_in(&line);
    drop(lines);
    drop(std::net::TcpStream::connect(("127.0.0.1", port)).unwrap()); // the trace has a line
    assert_eq!(child.wait().unwrap().code(), Some(141));
    // The server has ended before nest.
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_watched_server_follows_its_files() {
    let place = Place::new();
    place.write("a.nest", format!("%include \"b.nest\"\n{GOOD}"));
    place.write(
        "b.nest",
        "NAME \"x\"\n%%\n{NAME} \\r?\\n { $reply(\"x\\r\\n\"); }\n",
    );
    let mut server = place.start(&["run", "--watch", "a.nest", "--", "--port", "0"]);
    let port = server.port();
    assert_eq!(talk(port, "HI\r\nx\r\n"), "hello\r\nx\r\n");

    place.write(
        "a.nest",
        format!("%include \"b.nest\"\n{}", GOOD.replace("hello", "howdy")),
    );
    server.line_with("a.nest has changed, building");
    let port = server.port();
    assert_eq!(talk(port, "HI\r\n"), "howdy\r\n");

    place.write("a.nest", "%%\nHI { ; }\n");
    server.line_with("E0301");
    server.line_with("the old server continues");
    assert_eq!(talk(port, "HI\r\n"), "howdy\r\n");

    place.write("a.nest", format!("%include \"b.nest\"\n{GOOD}"));
    let port = server.port();
    place.write("b.nest", "%%\n\"y\" \\r?\\n { $reply(\"y\\r\\n\"); }\n");
    server.line_with("b.nest has changed");
    let port_then = server.port();
    assert_ne!(port, 0);
    assert_eq!(talk(port_then, "y\r\n"), "y\r\n");
    server.signal("INT");
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn hup_makes_a_server_read_its_configuration_again() {
    for how in [&[][..], &["--trace"], &["--watch"]] {
        let place = Place::new();
        place.write("a.nest", GOOD);
        place.write("config.nest", "serverPort 0\nidleTimeout 1m\n");
        let mut server = place.start(&[&["run"], how, &["a.nest"]].concat());
        let port = server.port();
        place.write("config.nest", "serverPort 0\nidleTimeout 2m\n");
        server.signal("HUP");
        server.line_with("idleTimeout");
        assert_eq!(talk(port, "HI\r\n"), "hello\r\n", "{how:?}");
        server.signal("TERM");
        assert_eq!(server.end().code(), Some(0), "{how:?}");
    }
}
