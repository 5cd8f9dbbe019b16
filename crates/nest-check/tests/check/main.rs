//! What `nest check` finds: a part for each kind. They are one program, because linking takes long.

#![allow(clippy::unwrap_used)]

#[path = "../../../../tests/support/spent.rs"]
mod spent;
#[path = "../support/mod.rs"]
mod support;

mod bounds;
mod coverage;
mod findings;
mod globals;
mod incomplete;
mod looks;
mod pages;
mod taint;
