//! The functions that build a row of the table of directives: each sets one column. Must not know: any
//! row.

use super::roles::Role;
use super::rows::{Directive, Does, Form, Function, InLock, Others, Reads, States, Wait};
use nest_feature::Feature;

pub(super) const fn d(
    name: &'static str,
    form: Form,
    c: &'static str,
    usage: &'static str,
    doc: &'static str,
) -> Directive {
    Directive {
        name,
        form,
        c,
        usage,
        doc,
        does: Does::NOTHING,
        known_as: &[],
        instead_of: &[],
    }
}

pub(super) const fn f(c: &'static str, does: Does) -> Function {
    Function { c, does }
}

impl Directive {
    pub(super) const fn states(mut self, states: States) -> Self {
        self.does.states = states;
        self
    }

    pub(super) const fn closes(mut self) -> Self {
        self.does.closes = true;
        self
    }

    pub(super) const fn replies(mut self) -> Self {
        self.does.replies = true;
        self.waits(Wait::Output)
    }

    pub(super) const fn reads(mut self, reads: Reads, wait: Wait) -> Self {
        self.does.reads = reads;
        self.waits(wait)
    }

    pub(super) const fn waits(mut self, wait: Wait) -> Self {
        self.does.waits = Some(wait);
        self.does.in_lock = InLock::No;
        self
    }

    pub(super) const fn text(mut self, text: &'static [Role]) -> Self {
        self.does.text = text;
        self
    }

    /// Its first argument is the name of a file beneath fileRoot.
    pub(super) const fn names_file(mut self) -> Self {
        self.does.text = FILE_NAME;
        self.does.in_lock = InLock::No;
        self.does.needs = Some(Feature::Files);
        self
    }

    /// It gives a pointer to memory that other processes do not have.
    pub(super) const fn private(mut self) -> Self {
        self.does.private = true;
        self
    }

    pub(super) const fn needs(mut self, need: Feature) -> Self {
        self.does.needs = Some(need);
        self
    }

    /// It sends to others, or is about a group, and needs this.
    pub(super) const fn others(mut self, others: Others, need: Feature) -> Self {
        self.does.others = others;
        self.does.in_lock = InLock::No;
        self.does.needs = Some(need);
        self
    }

    pub(super) const fn limits_idle(mut self) -> Self {
        self.does.limits_idle = true;
        self
    }

    pub(super) const fn in_block(mut self) -> Self {
        self.does.in_block = true;
        self
    }

    /// It must not stand in `$lock`, although it does not wait.
    pub(super) const fn not_in_lock(mut self) -> Self {
        self.does.in_lock = InLock::No;
        self
    }

    pub(super) const fn lock_only(mut self, how: InLock) -> Self {
        self.does.in_lock = how;
        self.does.needs = Some(Feature::Shared);
        self
    }

    pub(super) const fn known_as(mut self, names: &'static [&'static str]) -> Self {
        self.known_as = names;
        self
    }

    pub(super) const fn instead_of(mut self, names: &'static [&'static str]) -> Self {
        self.instead_of = names;
        self
    }
}

/// The first argument is the name of a file beneath fileRoot.
pub(super) const FILE_NAME: &[Role] = &[Role::Own, Role::Other];
