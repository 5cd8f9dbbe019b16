//! The load of `nest bench`: conversations are played to servers, every answer is compared, and what
//! the servers need for it is counted and compared.
//!
//! Must not know: specifications, how servers are built, the command line.

mod client;
mod compare;
mod crowd;
mod cut;
mod driver;
mod expect;
mod failed;
mod harm;
mod idle;
mod learn;
mod link;
mod load;
mod plots;
mod random;
mod regress;
mod report;
mod schedule;
mod secrecy;
mod talk;
mod tls;
mod trouble;
mod usage;

pub use compare::{
    Entry, FORMAT, LIMIT, Loaded, MOST_FIGURES, Ratio, Run, Sample, WAITED, best, load_table,
    median, micro, ratio, sentence, steady, table,
};
pub use crowd::{Crowd, Crowded};
pub use cut::{Cut, apply as cut};
pub use driver::drive;
pub use expect::{Expect, Piece, Place, Taken, Way, literal, quoted};
pub use harm::harm_table;
pub use learn::{Answer, form};
pub use load::{Load, Measured, Moment};
pub use random::Random;
pub use regress::{Change, chance, changes};
pub use report::html;
pub use schedule::{Counted, Pace, Schedule};
pub use secrecy::encryption_table;
pub use talk::{Request, Talk};
pub use tls::{Encrypted, Tls};
pub use trouble::{Kind, Trouble};
pub use usage::{Driver, Processes};
