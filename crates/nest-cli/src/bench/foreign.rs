//! Servers that nest has not built, beside those that it has: the same work for all.
//!
//! A server that nest has built must give each answer. Another one may answer otherwise, for example
//! with other words for an error. The conversation is then cut before that message, for all servers,
//! and what was measured before is measured again. Must not know: how servers are measured.

use nest_bench::{Cut, Entry, Talk, Trouble, cut};

use crate::term::{self, Failure};

/// How often conversations are cut: a server that then still answers otherwise does so by chance.
const CUTS: usize = 10;
/// One of so many messages must remain: fewer are not the load that was meant.
const LEAST: usize = 4;

/// Why something was not measured.
pub enum Stop {
    /// The run ends.
    Failed(Failure),
    /// A server that nest has not built answers otherwise.
    Otherwise(String, Vec<Trouble>),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}

/// Measures servers with conversations to which all of them give the same answers. Returns the
/// figures, and what was cut. `measured` measures them; it is told whether the servers that nest has
/// built are still to be verified. `keep`: conversations must be such that they can be repeated.
pub fn equal_work(
    mut talks: Vec<Talk>,
    keep: bool,
    mut measured: impl FnMut(&[Talk], bool) -> Result<Vec<Entry>, Stop>,
) -> Result<(Vec<Entry>, Vec<Cut>), Failure> {
    let messages = |talks: &[Talk]| talks.iter().map(Talk::asks).sum::<usize>();
    let of = (talks.len(), messages(&talks));
    let mut cuts: Vec<Cut> = Vec::new();
    let mut own = true;
    for _ in 0..CUTS {
        let (server, troubles) = match measured(&talks, own) {
            Ok(all) => return Ok((all, cuts)),
            Err(Stop::Failed(failure)) => return Err(failure),
            Err(Stop::Otherwise(server, troubles)) => (server, troubles),
        };
        own = false;
        let known = cuts.iter().position(|cut| cut.server == server);
        let place = known.unwrap_or_else(|| {
            cuts.push(Cut {
                server: server.clone(),
                of,
                ..Cut::default()
            });
            cuts.len() - 1
        });
        let cut_now = &mut cuts[place];
        cut(&mut talks, &troubles, keep, cut_now);
        let left = messages(&talks);
        term::note(format!(
            "{server} answers otherwise: {left} of {} messages remain, for all servers",
            of.1
        ));
        if left * LEAST < of.1 {
            let why = format!("so often that only {left} of {} messages remain", of.1);
            return Err(too_much(cut_now, &why));
        }
    }
    let why = "each time to other messages, so that there is no equal work";
    let failure = cuts.last().map(|cut| too_much(cut, why));
    Err(failure.unwrap_or(Failure::Reported))
}

/// A server with which there is nothing to compare.
fn too_much(cut: &Cut, why: &str) -> Failure {
    let Cut { server, first, .. } = cut;
    Failure::new(format!(
        "{server} answers otherwise {why}; leave out rules with a profile, in lines such as weight RULE 0\n\
         the first difference: {first}"
    ))
}
