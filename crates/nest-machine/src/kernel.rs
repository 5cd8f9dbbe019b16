//! `kernelCache`: which servers the kernel can stand in for.
//!
//! The kernel answers GET and HEAD of HTTP with files, before the server, and whatever stands in front of
//! it, sees the request. Must not know: how it does so.

use nest_diag::{Code, Diagnostic, SourceMap};
use nest_feature::{Feature, Features};
use nest_syntax::ast::{Decl, Spec};

/// The file that makes a specification one of HTTP.
const HTTP: &str = "http.nest";

/// What cannot be together with the option, and why.
const EXCLUDED: [(Feature, &str, &str); 5] = [
    (
        Feature::Tls,
        "tls",
        "the kernel cannot read requests that are encrypted",
    ),
    (
        Feature::Filters,
        "%filter",
        "the kernel would answer before a filter has seen the request",
    ),
    (
        Feature::Proxied,
        "listen ADDRESS proxy",
        "each connection begins with the header of the proxy, which the kernel takes for no request",
    ),
    (
        Feature::Stages,
        "%decode",
        "the kernel cannot read what only `%decode` makes a request",
    ),
    (
        Feature::Encodes,
        "%encode",
        "the kernel sends files without `%encode`",
    ),
];

/// E0811, E0604: the option in a server for which the kernel cannot answer.
pub fn check(spec: &Spec, sources: &SourceMap, features: Features, out: &mut Vec<Diagnostic>) {
    let option = spec.decls.iter().find_map(|decl| match decl {
        Decl::Option(option) if option.name.text == "kernelCache" => Some(option.name.span),
        _ => None,
    });
    let Some(span) = option else {
        return;
    };
    let http = |name: &str| name.rsplit('/').next() == Some(HTTP);
    if !features.contains(Feature::Files) {
        let what = "`kernelCache` in a server that sends no files";
        out.push(Diagnostic::new(Code::E0811, span, what).help(
            "the kernel answers with files beneath `fileRoot`: send them with `$fileReply`, or remove the \
             option",
        ));
    } else if !sources.files.iter().any(|file| http(&file.name)) {
        let what = format!("`kernelCache` in a specification that does not include `{HTTP}`");
        out.push(Diagnostic::new(Code::E0811, span, what).help(
            "the kernel answers requests of HTTP alone: include the file if the server speaks HTTP, or \
             remove the option",
        ));
    }
    for (feature, name, why) in EXCLUDED {
        if features.contains(feature) {
            let what = format!("`kernelCache` and `{name}` exclude each other");
            let help = format!("{why}; remove one of the two");
            out.push(Diagnostic::new(Code::E0604, span, what).help(help));
        }
    }
}
