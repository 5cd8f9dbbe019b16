//! `nest cache-sim`: what it prints and draws, and what it says to what it cannot read.

use crate::common::Place;

/// A file that is asked for again and again, and large ones that come once.
fn log() -> String {
    let mut text = String::new();
    for i in 0..100 {
        for (path, bytes) in [("/again".to_string(), 1000), (format!("/once{i}"), 60_000)] {
            text += &format!("h - - [t] \"GET {path} HTTP/1.1\" 200 {bytes} \"-\" \"x\"\n");
        }
    }
    text
}

#[test]
fn rates_are_printed_and_drawn() {
    let place = Place::new();
    place.write("access.log", log());
    place.write("rates.svg", "before");
    std::fs::hard_link(place.path("rates.svg"), place.path("before")).unwrap();
    let ended = place
        .nest(&[
            "cache-sim",
            "access.log",
            "--sizes",
            "64K,16M",
            "--largest",
            "50K",
            "--plot",
            "rates.svg",
        ])
        .with_status(0);
    // All but the first of /again; 99 * 1000 of 6100000 bytes.
    for row in [
        "  LRU                49.50   49.50",
        "  LRU-Threshold       1.62    1.62",
        "  SIEVE              49.50   49.50",
    ] {
        assert!(ended.out.contains(row), "{row}\n{}", ended.out);
    }
    let picture = std::fs::read_to_string(place.path("rates.svg")).unwrap();
    for word in [
        "<svg",
        "hit rate: files",
        "byte-hit rate",
        "LRU-MIN",
        "size of the cache",
    ] {
        assert!(picture.contains(word), "{word}");
    }
    // The picture takes the place of another file as a whole.
    assert_eq!(place.read("before"), "before");
}

#[test]
fn what_cannot_be_read_is_said_in_a_line() {
    let place = Place::new();
    place.write("words", "these are words\n");
    place.write("posts", "h - - [t] \"POST /a HTTP/1.1\" 200 5\n");
    place.write("both", "these are words\n/a 5\n");
    for (words, status, line) in [
        (
            &["words"][..],
            1,
            "error: words:1: neither a line of the common or combined format, nor PATH BYTES\n",
        ),
        (
            &["posts"],
            1,
            "error: no file was sent: no line is a GET with the status 200\n",
        ),
        (
            &["none"],
            1,
            "error: cannot read none: no such file or directory\n",
        ),
        (
            &["both", "--sizes", "1X"],
            2,
            "error: '1X' is no size from 64K to 1T, such as 64M\n",
        ),
        (
            &["both", "--sizes", "1K"],
            2,
            "error: '1K' is no size from 64K to 1T, such as 64M\n",
        ),
        (
            &["both", "--largest", "x"],
            2,
            "error: 'x' is no size, such as 512K, 64M or 1G\n",
        ),
        (
            &["both", "--sizes", "2T"],
            2,
            "error: '2T' is no size from 64K to 1T, such as 64M\n",
        ),
        (
            &["both", "--plot", "no/x.svg"],
            1,
            "error: cannot write no/x.svg: no such file or directory\n",
        ),
        (
            &["posts", "both", "--plot", "./both"],
            1,
            "error: the plot would overwrite both; choose another name\n",
        ),
    ] {
        let all: Vec<&str> = ["cache-sim"].iter().chain(words).copied().collect();
        let ended = place.nest(&all).with_status(status);
        assert!(ended.err.ends_with(line), "{line}\n{}", ended.err);
    }
    let ended = place.nest(&["cache-sim", "both"]).with_status(0);
    assert!(
        ended
            .err
            .contains("lines passed over: 1, the first at both:1: "),
        "{}",
        ended.err
    );
}

/// As the table shows them.
#[test]
fn sizes_are_understood_up_to_a_terabyte() {
    let place = Place::new();
    place.write("log", "/a 5\n");
    let words = ["cache-sim", "log", "--sizes", "64K,1T", "--largest", "1t"];
    let ended = place.nest(&words).with_status(0);
    assert!(ended.out.contains("     64K      1T\n"), "{}", ended.out);
}

#[test]
fn the_code_of_a_specification_is_a_policy() {
    const RULE: &str = "%%\n\"a\\n\" { if ($fileReply(\"a\") < 0) $close(); }\n";
    let place = Place::new();
    place.write("access.log", log());
    // Small files stay, so /again is there from its second use on.
    place.write(
        "own.nest",
        format!("%option fileCache custom 64K\n%cache {{ return 1 / (double)size; }}\n{RULE}"),
    );
    place.write("lru.nest", format!("%option fileCache LRU 64K\n{RULE}"));
    place.write(
        "wrong.nest",
        format!("%option fileCache custom 64K\n%cache {{ return larges; }}\n{RULE}"),
    );
    let words = |spec| ["cache-sim", "access.log", "--sizes", "64K", "--spec", spec];
    let ended = place.nest(&words("own.nest")).with_status(0);
    assert!(
        ended.out.contains("  custom             49.50\n"),
        "{}",
        ended.out
    );
    let ended = place.nest(&words("lru.nest")).with_status(1);
    assert!(
        ended
            .err
            .ends_with("error: lru.nest has no %cache, the code of the policy custom\n"),
        "{}",
        ended.err
    );
    let ended = place.nest(&words("wrong.nest")).with_status(1);
    assert!(ended.err.contains("wrong.nest:2"), "{}", ended.err);
}

#[test]
fn a_cache_that_decides_nothing_is_refused() {
    const CACHE: &str = "%cache { return 1; }\n";
    const OPTION: &str = "%option fileCache custom 64K\n";
    let place = Place::new();
    for (text, line) in [
        (OPTION.to_string(), "the policy `custom` without its code"),
        (CACHE.to_string(), "`%cache` without the option `fileCache`"),
        (format!("{OPTION}{CACHE}{CACHE}"), "a second `%cache`"),
        (
            format!("{OPTION}%cache 5s {{ return 1; }}\n"),
            "`%cache` takes no `5s`",
        ),
        (format!("{OPTION}%cache\n"), "`%cache` without its code"),
        (
            format!("{OPTION}%cache {{ $close(); return 1; }}\n"),
            "$close in the code of %cache",
        ),
        (
            format!("{OPTION}%cache {{ $broadcast(\"x\", \"y\"); return 1; }}\n"),
            "$broadcast in the code of %cache",
        ),
        (
            format!("{OPTION}%cache {{ $return; }}\n"),
            "$return in the code of %cache",
        ),
    ] {
        place.write(
            "x.nest",
            format!("{text}%%\n\"a\\n\" {{ $reply(\"a\\n\"); }}\n"),
        );
        let ended = place.nest(&["check", "x.nest"]).with_status(1);
        assert!(ended.out.contains(line), "{text}: {}", ended.out);
    }
}
