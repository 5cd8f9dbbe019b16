//! `%shared`: the size, the variables and their initialisation. Must not know: what becomes of them in C,
//! where actions use them.

use crate::actions::{self, Owner, SHARED};
use crate::context::Context;
use crate::csections::{self, Scope};
use crate::locks;
use crate::model::{Action, Code, Locals, Shared, What};
use crate::options;
use crate::server_code;
use nest_c::directives::InLock;
use nest_c::scope::Names;
use nest_diag::{Code as Diag, Diagnostic, SourceMap};
use nest_feature::{Feature, Features};
use nest_syntax::ast::{CText, Decl, SharedDecl, Spec};
use tree_sitter::Parser;

/// As much as a server may share: an address space has more.
const MOST: u64 = 1 << 40;

/// The declaration, and what it declares.
pub struct Declared<'s> {
    decl: &'s SharedDecl,
    size: u64,
    variables: Locals,
    /// The variables' names.
    pub names: Names,
}

/// Reads the declaration. `connection`: the names of per-connection variables.
pub fn declared<'s>(
    sources: &SourceMap,
    spec: &'s Spec,
    connection: &Names,
    features: Features,
    parser: &mut Parser,
    out: &mut Vec<Diagnostic>,
) -> Option<Declared<'s>> {
    let mut decls = spec.decls.iter().filter_map(|decl| match decl {
        Decl::Shared(shared) => Some(shared),
        _ => None,
    });
    let decl = decls.next()?;
    for other in decls {
        out.push(
            Diagnostic::new(Diag::E0801, other.word.span, "a second `%shared`")
                .label(decl.word.span, "the first is here")
                .help("declare all shared variables in one"),
        );
    }
    if features.contains(Feature::Inetd) {
        let what = "`%shared` and `inetd` exclude each other";
        let help = "inetd starts a process for each connection: there is no server to share with";
        out.push(Diagnostic::new(Diag::E0604, decl.word.span, what).help(help));
    }
    let size = options::size(&decl.size.text).filter(|size| (1..=MOST).contains(size));
    if size.is_none() {
        let what = format!("`{}` is not a valid size", decl.size.text);
        let help = "write a number of bytes, or a number with K, M or G, up to 1024G";
        out.push(Diagnostic::new(Diag::E0801, decl.size.span, what).help(help));
    }
    actions::no_directives(&decl.declarations, "the declarations of %shared", out);
    let pieces = std::slice::from_ref(&decl.declarations);
    let (mut variables, names) = csections::locals(sources, pieces, Scope::Server, parser, out);
    for name in names.keys().filter(|name| connection.contains_key(*name)) {
        let what = format!("`{name}` is shared, and a per-connection variable, too");
        let help = "choose another name for one of them";
        out.push(Diagnostic::new(Diag::E0103, decl.word.span, what).help(help));
    }
    let groups = variables.groups.iter_mut().map(|group| &mut group.uses);
    let own = variables.variables.iter_mut().flat_map(|v| {
        let initialiser = v.initialiser.iter_mut().map(|action| &mut action.uses);
        std::iter::once(&mut v.uses).chain(initialiser)
    });
    for u in groups.chain(own).flatten() {
        if let What::Variable(index) = u.what {
            u.what = What::Shared(index);
        }
    }
    Some(Declared {
        decl,
        size: size.unwrap_or(1),
        variables,
        names,
    })
}

/// Says what C outside of actions must not name.
pub fn not_named(spec: &Spec, names: &Names, parser: &mut Parser, out: &mut Vec<Diagnostic>) {
    for decl in &spec.decls {
        if let Decl::Prologue(text) = decl {
            locks::not_named(parser, text, "%{ %}", names, out);
        }
    }
    let mut each = |texts: &[CText], place: &str| {
        for text in texts {
            locks::not_named(parser, text, place, names, out);
        }
    };
    each(&spec.locals, "the per-connection declarations");
    each(&spec.startup, "the start-up section");
}

/// The shared variables with their initialisation. `actions`: those of all rules.
pub fn settle(declared: Declared<'_>, actions: &[&Action], cx: &mut Context<'_>) -> Shared {
    let Declared {
        decl,
        size,
        variables,
        ..
    } = declared;
    let code = decl.code.as_ref();
    let code = code.map(|text| actions::action(cx, text, Owner::Server(SHARED)));
    if let Some(code) = &code {
        server_code::no_connection(code, SHARED, cx);
    }
    let recovers = actions.iter().flat_map(|action| &action.uses);
    let mut recovers = recovers.filter_map(|u| match &u.what {
        What::Directive { directive, .. } => Some(directive.does.in_lock),
        _ => None,
    });
    Shared {
        size,
        written: Code::at(cx.sources, decl.size.span),
        variables,
        code,
        recovers: recovers.any(|how| how == InLock::Recovers),
    }
}
