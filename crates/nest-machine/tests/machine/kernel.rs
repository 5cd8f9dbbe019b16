//! `kernelCache`: the servers that have it, and those for which it is a mistake.

use nest_machine::{Feature, Overrides, compile};
use nest_syntax::Loader;

/// `http.nest` and `other.nest`, which declare nothing.
struct Two;

impl Loader for Two {
    fn load(&mut self, _: &str, name: &str) -> Result<(String, String), String> {
        match name {
            "http.nest" | "web/http.nest" | "other.nest" => {
                Ok((name.to_owned(), "%%\n".to_owned()))
            }
            _ => Err("there is no such file".to_owned()),
        }
    }
}

const FILES: &str = "%%\n\"get \" [a-z]{1,20} \"\\n\" { $fileReply($2); }\n";

/// What is said of a specification, and whether it has the feature.
fn said(lines: &str, rules: &str) -> (Vec<String>, bool) {
    let text = format!("%option kernelCache 8M\n{lines}\n{rules}");
    let compiled = compile("t.nest", &text, &mut Two, &Overrides::default());
    let line = |d: &nest_diag::Diagnostic| format!("{:?} {}", d.code, d.message);
    let errors = compiled.diagnostics.iter().filter(|d| d.is_error());
    let has = compiled.machine.as_ref();
    let has = has.is_some_and(|m| m.features.contains(Feature::KernelCache));
    (errors.map(line).collect(), has)
}

#[track_caller]
fn refused(lines: &str, rules: &str, expected: &str) {
    assert_eq!(said(lines, rules).0, [expected]);
}

#[test]
fn files_over_http_have_it() {
    assert_eq!(said("%include \"http.nest\"", FILES), (vec![], true));
    assert_eq!(said("%include \"web/http.nest\"", FILES), (vec![], true));
}

#[test]
fn others_do_not() {
    const OTHER: &str = "E0811 `kernelCache` in a specification that does not include `http.nest`";
    refused("", FILES, OTHER);
    refused("%include \"other.nest\"", FILES, OTHER);
    let rules = "%%\n\"get\\n\" { $reply(\"ok\\n\"); }\n";
    let none = "E0811 `kernelCache` in a server that sends no files";
    refused("%include \"http.nest\"", rules, none);
}

#[test]
fn what_stands_in_front_excludes_it() {
    for (line, name) in [
        ("%option tls none", "tls"),
        ("%filter slowread", "%filter"),
        ("%option listen *:80 proxy", "listen ADDRESS proxy"),
    ] {
        let expected = format!("E0604 `kernelCache` and `{name}` exclude each other");
        refused(&format!("{line}\n%include \"http.nest\""), FILES, &expected);
    }
    let inetd = "E0604 `kernelCache` and `inetd` exclude each other";
    refused("%option inetd\n%include \"http.nest\"", FILES, inetd);
}
