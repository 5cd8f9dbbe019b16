//! What users do with `nest`: a part for each command. They are one program, because linking takes long.
//! `mutations` is another: it measures what its own process uses of the processor.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod bench;
mod bench_hostile;
mod bench_tls;
mod bench_turning;
mod bounds;
mod branches;
mod build;
mod c;
mod cache_sim;
mod check;
mod deploy;
mod filter;
mod generate;
mod graph;
mod matching;
mod pages;
mod project;
mod record;
mod run;
mod taint;
mod test;
mod trace;
mod witnesses;
mod words;
