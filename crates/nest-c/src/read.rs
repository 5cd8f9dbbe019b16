//! An action as the C parser reads it, with its uses by place. Must not know: what it does.

use crate::action::{Action, Use, What, without_directives};
use crate::scope::Body;
use std::collections::BTreeMap;
use tree_sitter::{Node, Parser, Tree};

/// An action, parsed.
pub(crate) struct Read<'a> {
    pub(crate) text: &'a str,
    tree: Option<&'a Tree>,
    pub(crate) uses: BTreeMap<usize, &'a Use>,
}

impl<'a> Read<'a> {
    pub(crate) fn of(action: &'a Action, parser: &mut Parser) -> Read<'a> {
        let body = action.body.get_or_init(|| {
            let c = |u: &&Use| !matches!(u.what, What::Variable(_) | What::Shared(_));
            let uses: Vec<Use> = action.uses.iter().filter(c).cloned().collect();
            let plain = without_directives(&action.code.text, &uses);
            Body::of(parser, &plain)
        });
        Read {
            text: &body.text,
            tree: body.tree.as_ref(),
            uses: action.uses.iter().map(|u| (u.at.start, u)).collect(),
        }
    }

    pub(crate) fn body(&self) -> Option<Node<'_>> {
        let root = self.tree?.root_node();
        let only = root.child(0).filter(|_| root.child_count() == 1)?;
        only.child_by_field_name("body")
            .filter(|_| !root.has_error())
    }
}
