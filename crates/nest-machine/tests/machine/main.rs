//! What the compiler makes of specifications: a part for each question. They are one program, because linking
//! takes long. `reach_random` is another: a step of the checks runs it alone.

#![allow(clippy::unwrap_used)]

mod allows;
mod effects;
mod filters;
mod first;
mod kept;
mod kernel;
mod moves;
mod product;
mod reach;
mod reach_cases;
mod reference;
mod stages;
mod unused;
mod waiting;
mod whole;
mod wins;
