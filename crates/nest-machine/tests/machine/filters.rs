//! `%filter`: names, options, order, and the servers that have no place for filters.

use nest_machine::{Feature, Machine, Overrides, compile};
use nest_syntax::{Alone, Loader};

const RULE: &str = "%%\n[^\\n]* \"\\n\" { $reply(\"ok\\n\"); }\n";

/// What is said: the code, the place, the text and the help.
fn said(text: &str) -> Vec<String> {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    let sources = &compiled.sources;
    let line = |d: &nest_diag::Diagnostic| {
        format!(
            "{:?} {} `{}` {}; {}",
            d.code,
            sources.line(d.span.file, d.span.start),
            sources.text(d.span),
            d.message,
            d.help.as_deref().unwrap_or("")
        )
    };
    compiled.diagnostics.iter().map(line).collect()
}

fn machine(text: &str) -> Machine {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    compiled
        .machine
        .unwrap_or_else(|| panic!("{text}\n{:#?}", compiled.diagnostics))
}

#[track_caller]
fn refused(lines: &str, expected: &[&str]) {
    assert_eq!(said(&format!("{lines}\n{RULE}")), expected);
}

#[test]
fn a_chain_is_what_the_lines_say() {
    let m = machine(&format!(
        "%filter ratelimit rate=5 per=2s\n%filter request timeout=5s // five\n%filter slowread\n%filter pass\n{RULE}"
    ));
    let chain: Vec<_> = m
        .filters
        .iter()
        .map(|f| (f.text.as_str(), f.clients))
        .collect();
    let expected = [
        ("ratelimit,rate=5,per=2s", None),
        ("request,timeout=5s", None),
        ("slowread", Some("of")),
        ("pass", None),
    ];
    assert_eq!(chain, expected);
    assert!(m.first.is_some() && m.features.contains(Feature::Filters));
    let m = machine(&format!("%filter slowread of=7\n{RULE}"));
    assert_eq!(m.filters[0].clients, None);
    assert!(m.first.is_none());
    let m = machine(RULE);
    assert!(m.filters.is_empty() && !m.features.contains(Feature::Filters));
}

#[test]
fn names_are_known() {
    refused(
        "%filter",
        &[
            "E0101 1 `%filter` `%filter` names no filter; write `%filter NAME KEY=VALUE`, as in `%filter request timeout=5s`",
        ],
    );
    refused(
        "%filter requst",
        &["E0704 1 `requst` there is no filter `requst`; did you mean `request`?"],
    );
    refused(
        "%filter nothing",
        &[
            "E0704 1 `nothing` there is no filter `nothing`; filters: request, check, pass, persist, priority, proxy, ratelimit, slowread",
        ],
    );
}

#[test]
fn options_are_known_and_take_their_values() {
    refused(
        "%filter request timout=5s",
        &[
            "E0704 1 `timout=5s` the filter `request` has no option `timout`; did you mean `timeout`?",
        ],
    );
    refused(
        "%filter pass on=1",
        &[
            "E0704 1 `on=1` the filter `pass` has no option `on`; it has no options: remove this one",
        ],
    );
    refused(
        "%filter request 5s",
        &[
            "E0704 1 `5s` `5s` is not an option of a filter; write `KEY=VALUE` without blanks, as in `timeout=5s`",
        ],
    );
    refused(
        "%filter request timeout slowread",
        &[
            "E0704 1 `timeout` the option `timeout` has no value; write `timeout=VALUE`, with a time from 1 to 86400000 ms, such as 500ms, 5s or 2m",
            "E0704 1 `slowread` `slowread` is not an option of a filter; write `KEY=VALUE` without blanks, as in `timeout=5s`",
        ],
    );
    refused(
        "%filter request timeout=soon limit=0",
        &[
            "E0704 1 `timeout=soon` `soon` is not a value of `timeout`; write a time from 1 to 86400000 ms, such as 500ms, 5s or 2m",
            "E0704 1 `limit=0` `0` is not a value of `limit`; write a number from 1 to 1000000",
        ],
    );
    refused(
        "%filter slowread net24=50 net8=10",
        &[
            "E0704 1 `net8=10` `net16`, which is 15, must not exceed `net8`, which is 10; lower `net16` or raise `net8`",
        ],
    );
    refused(
        "%filter slowread net24=20",
        &[
            "E0704 1 `net24=20` `net24`, which is 20, must not exceed `net16`, which is 15; lower `net24` or raise `net16`",
        ],
    );
    refused(
        "%filter ratelimit per=1ms rate=1001",
        &[
            "E0704 1 `rate=1001` `rate`, which is 1001, must not exceed `per`, which is 1000 microseconds; lower `rate` or raise `per`",
        ],
    );
    machine(&format!("%filter ratelimit per=1ms rate=1000\n{RULE}"));
    machine(&format!("%filter ratelimit rate=1000000\n{RULE}"));
    refused(
        "%filter slowread mode=kill",
        &["E0704 1 `mode=kill` `kill` is not a value of `mode`; write delay or reject"],
    );
    refused(
        "%filter request timeout=5s,idle=5s",
        &[
            "E0704 1 `timeout=5s,idle=5s` `5s,idle=5s` is not a value of `timeout`; write a time from 1 to 86400000 ms, such as 500ms, 5s or 2m",
        ],
    );
    refused(
        "%filter request timeout=5s timeout=6s",
        &["E0704 1 `timeout=6s` the option `timeout` is given twice; remove one of them"],
    );
}

#[test]
fn the_order_makes_sense() {
    refused(
        "%filter check",
        &["E0705 1 `check` `check` needs complete messages; put `%filter request` before it"],
    );
    refused(
        "%filter request\n%filter pass\n%filter request",
        &[
            "E0705 3 `request` `request` needs connections whose message is not complete; put it before `request`, or remove it",
        ],
    );
    refused(
        &"%filter pass\n".repeat(17),
        &["E0705 17 `pass` more than 16 filters; remove some of them"],
    );
    refused(
        &"%filter slowread\n".repeat(5),
        &[
            "E0705 5 `slowread` more than 4 filters follow a connection to its end; remove one of the filters `slowread`",
        ],
    );
    assert_eq!(
        machine(&format!("{}{RULE}", "%filter pass\n".repeat(16)))
            .filters
            .len(),
        16
    );
}

#[test]
fn a_server_that_speaks_first_has_no_first_message() {
    let text =
        "%filter pass\n%filter request\n%%\nSTART { $reply(\"220\\n\"); }\n\"a\" { $close(); }\n";
    let found = said(text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("E0701 4 `$reply` START replies"),
        "{found:?}"
    );
    machine(&text.replace("%filter request\n", ""));
}

#[test]
fn inetd_accepts_instead() {
    refused(
        "%option inetd\n%filter pass",
        &[
            "E0604 2 `pass` `%filter` and `inetd` exclude each other; inetd accepts the clients: filters would have nobody to wait for",
        ],
    );
}

#[test]
fn a_filter_cannot_read_what_is_encrypted() {
    let said = said(&format!("%option tls a.pem a.key\n%filter request\n{RULE}"));
    assert_eq!(
        said,
        [
            "E0604 2 `request` `%filter request` and `tls` exclude each other; a filter cannot read messages that are encrypted; remove one of the two"
        ]
    );
    machine(&format!("%option tls a.pem a.key\n%filter pass\n{RULE}"));
}

#[test]
fn files_of_encryption_come_in_pairs() {
    for (value, wanted) in [
        ("a.pem", "`a.pem` is not a value of tls"),
        ("a b c", "`a b c` is not a value of tls"),
        ("a \"b c\"", "`b c` is not the name of a file of tls"),
        ("a \"\"", "`` is not the name of a file of tls"),
    ] {
        let said = said(&format!("%option tls {value}\n{RULE}"));
        assert!(
            said[0].starts_with("E0602 1 ") && said[0].contains(wanted),
            "{said:?}"
        );
    }
    for value in ["none", "a b", "a b c d"] {
        machine(&format!("%option tls {value}\n{RULE}"));
    }
    let said = said(&format!("%option tls a b\n%option inetd\n{RULE}"));
    assert!(
        said[0].contains("`tls` and `inetd` exclude each other"),
        "{said:?}"
    );
}

/// A file that names its protocol.
struct Library;

impl Loader for Library {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        Ok((path.to_string(), "%option alpn mine/1\n%%\n".to_string()))
    }
}

#[test]
fn protocols_are_named_where_connections_are_encrypted() {
    let most = "x".repeat(255);
    let text = format!("%option tls none\n%option alpn h2 \"http/1.1\" {most}\n{RULE}");
    assert_eq!(machine(&text).settings.protocols, ["h2", "http/1.1", &most]);
    assert!(machine(RULE).settings.protocols.is_empty());
    for name in ["\"\"", "\"a b\"", "\"ä\"", &"x".repeat(256)] {
        let said = said(&format!("%option tls none\n%option alpn h2 {name}\n{RULE}"));
        assert!(
            said[0].starts_with("E0602 2 ") && said[0].contains("is not the name of a protocol"),
            "{said:?}"
        );
    }
    refused(
        "%option alpn h2",
        &[
            "E0604 1 `alpn` `alpn` is about encrypted connections, and this server has none; add %option tls CERT KEY, or %option tls none if its configuration names the files; or remove `alpn`",
        ],
    );
    for tls in ["", "%option tls none\n"] {
        let text = format!("{tls}%include \"mine.nest\"\n{RULE}");
        let compiled = compile("t.nest", &text, &mut Library, &Overrides::default());
        let machine = compiled.machine.expect("a library may name its protocol");
        assert_eq!(machine.settings.protocols, ["mine/1"]);
    }
}

#[test]
fn an_encrypted_address_needs_a_certificate_and_no_filter() {
    let found = said(&format!("%option listen *:80 *:443 tls\n{RULE}"));
    assert!(
        found[0].starts_with("E0602 1 `tls` the word `tls` of `listen` needs a certificate"),
        "{found:?}"
    );
    let listen = "%option listen *:80 *:443 tls\n%option tls a.pem a.key";
    machine(&format!("{listen}\n{RULE}"));
    let found = said(&format!("{listen}\n%filter pass\n{RULE}"));
    assert!(
        found[0].starts_with("E0604 1 `tls` `%filter` and the word `tls` of `listen`"),
        "{found:?}"
    );
}

#[test]
fn a_header_of_a_proxy_is_not_for_filters() {
    refused(
        "%option listen *:80 proxy\n%filter pass",
        &[
            "E0604 2 `pass` `%filter` and the word `proxy` of `listen` exclude each other; filters would take the header of the proxy for the client's message",
        ],
    );
}

#[test]
fn a_header_of_a_proxy_comes_before_the_handshake() {
    let listen = "%option listen *:80 proxy\n%option tls a.pem a.key";
    machine(&format!("{listen}\n{RULE}"));
    let filter = "%option tls a.pem a.key\n%filter proxy";
    refused(
        filter,
        &[
            "E0604 2 `proxy` `%filter proxy` and `tls` exclude each other; write the word `proxy` behind the addresses of `listen`, and no filters",
        ],
    );
    let later = "%option caseless\n%%\nx = \"x\" \\n { $startTLS(); }";
    machine(&format!("{listen}\n{later}"));
}

#[test]
fn proxy_follows_an_address_once() {
    let addresses = "127.0.0.1:8080, [::1]:8080, [fe80::1%eth0]:8080, *:8080, unix:/path, systemd";
    for (value, wrong) in [
        ("proxy", true),
        ("*:80 proxy proxy", true),
        ("*:80 proxy", false),
        ("*:80 proxy tls *:81 tls proxy *:82 tls", false),
        ("*:80 proxy tls proxy", true),
        ("*:80 *:81 proxy systemd proxy", false),
    ] {
        let text = format!("%option tls none\n%option listen {value}\n{RULE}");
        if wrong {
            let help = format!("as in {addresses}; the words proxy and tls may follow each, once");
            let expected = format!("E0602 2 `proxy` `proxy` is not an address; {help}");
            assert_eq!(said(&text), [expected]);
        } else {
            assert!(machine(&text).features.contains(Feature::Proxied));
        }
    }
    let m = machine(&format!("%option listen *:80\n{RULE}"));
    assert!(!m.features.contains(Feature::Proxied));
    let many = |more| format!("%option listen {}{more}\n{RULE}", "*:0 proxy ".repeat(15));
    machine(&many("*:0"));
    assert!(said(&many("*:0 *:0"))[0].contains("at most 16 addresses, not 17"));
}

#[test]
fn persist_is_for_servers_that_keep_nothing() {
    let before = "%filter request\n%filter persist idle=5s\n";
    let m = machine(&format!("{before}%filter check\n{RULE}"));
    assert_eq!(m.filters[1].text, "persist,idle=5s");
    for (rest, wanted) in [
        (
            "%%\nint n = 0;\nx = \"x\" { n++; }\n",
            "the variable `n` may be changed here",
        ),
        (
            "%state A\n%%\nx = \"x\" { $seen(A); }\nA: \"y\" { }\n",
            "may change the state A",
        ),
        (
            "%%\nx = \"x\" { $keep(8); }\n",
            "$keep leaves something for the next message",
        ),
        (
            "%%\nx = \"x\" { $join(\"all\"); }\n",
            "$join leaves something for the next message",
        ),
        (
            "%option tls a.pem a.key\n%%\nx = \"x\" { $startTLS(); }\n",
            "$startTLS leaves something for the next message",
        ),
    ] {
        let kept = said(&format!("{before}{rest}"));
        assert!(
            kept[0].starts_with("E0703 ") && kept[0].contains(wanted),
            "{kept:?}"
        );
    }
}

#[test]
fn persist_has_a_place_in_the_order() {
    refused(
        "%filter persist",
        &["E0705 1 `persist` `persist` needs complete messages; put `%filter request` before it"],
    );
    refused(
        "%filter request\n%filter check\n%filter persist",
        &[
            "E0705 3 `persist` `check` before `persist` would see only the first message of a connection; put `persist` before it",
        ],
    );
    refused(
        "%filter request\n%filter persist\n%filter persist",
        &["E0705 3 `persist` `persist` has nothing to split; remove one of the two"],
    );
}

#[test]
fn the_filter_proxy_selects_what_knows_its_clients() {
    let m = machine(&format!(
        "%filter proxy trust=10.0.0.0/8+::1/128 timeout=1s\n%filter request\n{RULE}"
    ));
    assert!(m.features.contains(Feature::Proxied));
    let m = machine(&format!("%filter pass\n{RULE}"));
    assert!(!m.features.contains(Feature::Proxied));
    refused(
        "%filter proxy mode=out",
        &[
            "E0704 1 `mode=out` `mode=out` is for chains in front of another server; remove it: this server knows its clients from the filter itself",
        ],
    );
    let behind = said(&format!("%filter request\n%filter proxy\n{RULE}"));
    assert!(
        behind[0].contains("`proxy` needs connections whose message is not complete"),
        "{behind:?}"
    );
}
