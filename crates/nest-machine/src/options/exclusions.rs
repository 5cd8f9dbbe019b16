//! Options that exclude or need each other. Must not know: what else an option does.

use super::row::OptionInfo;
use nest_diag::{Code, Diagnostic};
use nest_syntax::ast::OptionDecl;

const COUNTS: &str = "counts are of a server that runs by itself; remove one of the two";
const PLACES: &str = "inetd takes the clients, and may start a process for each; limit them in its \
                      configuration, and remove the option here";
const CLEAR: &str = "a connection of inetd may be a pair of pipes; let the server listen itself, or remove the \
                     option";
const SHARES: &str = "inetd may start a process for a connection, which shares nothing with others; remove one of the two";
const LINES: &str = "such a server logs to standard error or to syslog; remove one of the two";

/// E0604. `seen`: the options that are given.
pub(super) fn look(seen: &[(&'static OptionInfo, &OptionDecl)], out: &mut Vec<Diagnostic>) {
    let given = |name: &str| seen.iter().find(|(i, _)| i.name == name).map(|(_, d)| d);
    if let Some(inetd) = given("inetd") {
        for name in ["standAlone", "serverPort", "listen"] {
            if let Some(other) = given(name) {
                out.push(
                    Diagnostic::new(
                        Code::E0604,
                        other.name.span,
                        format!("`{name}` and `inetd` exclude each other"),
                    )
                    .label(inetd.name.span, "inetd listens instead of the server")
                    .help("write addresses in the configuration of inetd"),
                );
            }
        }
    }
    for (name, help) in [
        ("profiling", COUNTS),
        ("metrics", COUNTS),
        ("accessLog", LINES),
        ("errorLog", LINES),
        ("tls", CLEAR),
        ("perAddress", PLACES),
        ("overload", PLACES),
        ("fileCache", SHARES),
        ("priorities", SHARES),
        ("kernelCache", CLEAR),
    ] {
        let (Some(inetd), Some(other)) = (given("inetd"), given(name)) else {
            continue;
        };
        out.push(
            Diagnostic::new(
                Code::E0604,
                other.name.span,
                format!("`{name}` and `inetd` exclude each other"),
            )
            .label(inetd.name.span, "inetd starts a server for each connection")
            .help(help),
        );
    }
    let debug = given("mode").filter(|decl| decl.values[0].text == "debug");
    for name in ["traceFile", "traceSize"] {
        if let Some(other) = given(name).filter(|_| debug.is_none()) {
            let what = format!("`{name}` is about a file that this server does not write");
            let help = format!("add `%option mode debug`, or remove `{name}`");
            out.push(Diagnostic::new(Code::E0604, other.name.span, what).help(help));
        }
    }
    if let (Some(inetd), Some(debug)) = (given("inetd"), debug) {
        let what = "`mode debug` and `inetd` exclude each other";
        out.push(
            Diagnostic::new(Code::E0604, debug.name.span, what)
                .label(inetd.name.span, "inetd starts a server for each connection")
                .help("let the server listen itself while you look for a mistake in it"),
        );
    }
    let allowed = given("backtracking").is_some_and(|d| d.values[0].text == "yes");
    if let Some(limit) = given("backtrackingLimit").filter(|_| !allowed) {
        let what = "`backtrackingLimit` is the limit of a matcher that this server does not have";
        let help = "add `%option backtracking yes`, or remove the limit";
        out.push(Diagnostic::new(Code::E0604, limit.name.span, what).help(help));
    }
    if given("inetd").is_some() {
        return;
    }
    if let (Some(port), Some(listen)) = (given("serverPort"), given("listen")) {
        out.push(
            Diagnostic::new(
                Code::E0604,
                listen.name.span,
                "`listen` and `serverPort` exclude each other",
            )
            .label(port.name.span, "the port is given here")
            .help("write the port in the address, as in `%option listen *:8080`"),
        );
    }
}
