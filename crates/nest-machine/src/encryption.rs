//! What encryption of a listener's connections needs, and what excludes it.
//!
//! Must not know: how connections are encrypted.

use crate::options;
use nest_diag::{Code, Diagnostic, FileId};
use nest_feature::{Feature, Features};
use nest_syntax::ast::{Decl, Spec};

/// E0602: an address says `tls`, and nothing can encrypt. E0604: filters would come before the handshake.
pub fn addresses(spec: &Spec, features: Features, out: &mut Vec<Diagnostic>) {
    let word = spec.decls.iter().find_map(|decl| match decl {
        Decl::Option(option) if option.name.text == "listen" => {
            option.values.iter().find(|w| w.text == options::ENCRYPTED)
        }
        _ => None,
    });
    let Some(word) = word else {
        return;
    };
    if !features.contains(Feature::Tls) {
        let what = "the word `tls` of `listen` needs a certificate";
        out.push(Diagnostic::new(Code::E0602, word.span, what).help(
            "add %option tls CERT KEY, or %option tls none if its configuration names the files",
        ));
    } else if features.contains(Feature::Filters) {
        let what = "`%filter` and the word `tls` of `listen` exclude each other";
        out.push(
            Diagnostic::new(Code::E0604, word.span, what)
                .help("without the word, filters that read no messages may stand before `tls`"),
        );
    }
}

/// E0604: `alpn` in a server that encrypts nothing. A file that servers include may say what their
/// protocol is called, whether they encrypt it or not.
pub fn protocols(spec: &Spec, features: Features, out: &mut Vec<Diagnostic>) {
    let alpn = spec.decls.iter().find_map(|decl| match decl {
        Decl::Option(option) if option.name.text == "alpn" => Some(option.name.span),
        _ => None,
    });
    let own = alpn.filter(|span| span.file == FileId(0));
    if let Some(span) = own.filter(|_| !features.contains(Feature::Tls)) {
        let what = "`alpn` is about encrypted connections, and this server has none";
        out.push(Diagnostic::new(Code::E0604, span, what).help(
            "add %option tls CERT KEY, or %option tls none if its configuration names the files; or \
             remove `alpn`",
        ));
    }
}
