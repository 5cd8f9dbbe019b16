//! Which sets of states conversations can be in at a read point, and how they come there.
//!
//! From START on, every rule that is active and can take anything, and every TIMEOUT rule that can
//! fire, is followed by what its action may do ([`Effects`]). All sets that can be are among those
//! found; some may be among them that cannot, since what decides a branch of C is not known.
//! Where they are too many, [`Reach::bounds`] holds for all of them. Must not know: automata's
//! emission, the C of actions.

mod first;
mod moves;
mod product;
mod rivals;
mod sets;
mod win;

pub use first::first;
pub use moves::Move;
pub use product::{At, BESIDE, DfaProduct, Search};
pub use sets::{Bounds, MOST_SETS, Reach, Reached, Step};
pub use win::{Winners, Wins};
