//! What patterns mean: by example (`behaviour`, `deciding`, `limits`, `parts`), and against libpcre2
//! (`differential`).

mod behaviour;
mod deciding;
mod differential;
mod generate;
mod items;
mod limits;
mod notation;
mod parts;
mod pcre2;
mod print;
mod random;
mod reference;
#[path = "../../../../tests/support/sample.rs"]
mod sample;
mod shrink;
