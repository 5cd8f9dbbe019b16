//! The decisions of a conversation, by libpcre2 and a second reading of `docs/language.md`.
//!
//! Derivation. Let s be the first i > 0 bytes of a message, and the rule live before byte i. A
//! backtracking matcher tries the paths of the pattern in the order in which the thread list
//! holds them; with PCRE2_NOTEMPTY it passes over a path that matches nothing.
//! - *accepts at i*: the plain match of s has length i. If it has, no preferred path matched a
//!   shorter text, which would have cut this one off. If a thread is at Match at i, every
//!   preferred path over at most i bytes would have cut it off, so the plain match finds it.
//! - *live at i*: the match with PCRE2_PARTIAL_HARD is partial. It ends at the first path that
//!   either matches or wants byte i+1. If wanting comes first, that thread is in the list, cut off
//!   by nothing. If a match comes first, it has cut off all that want more behind it.
//! - *parts*: the groups of the plain match over the consumed bytes; by the first point it has
//!   their length, and is the preferred path of that length.
//!
//! The optimisations that shorten the search (auto-possession, start optimisation, implicit
//! anchors of `.*`) are off: they may skip paths that cannot match but do touch the end. One
//! thing of the language is left out: a class that leaves no byte, for which libpcre2 would wait.
//! Empty iterations of loops mean the same in both.

use crate::differential::Case;
use crate::pcre2::{Found, Regex};
use nest_pattern::sim::{Decision, Outcome, Reason};

/// libpcre2 needed too long for a verdict.
pub struct GaveUp;

/// The whole conversation; it ends with an end, or waiting for more.
pub fn decisions(case: &Case, rules: &[Regex]) -> Result<Vec<Decision>, GaveUp> {
    let mut made = Vec::new();
    let mut unread = &case.input[..];
    for point in 0.. {
        let Some(decision) = decide(case, rules, case.active(point), unread)? else {
            break;
        };
        let consumed = match decision.outcome {
            Outcome::Run { length, .. } => Some(length),
            Outcome::End(_) => None,
        };
        made.push(decision);
        match consumed {
            Some(length) => unread = &unread[length..],
            None => break,
        }
    }
    Ok(made)
}

fn decide(
    case: &Case,
    rules: &[Regex],
    active: Vec<usize>,
    unread: &[u8],
) -> Result<Option<Decision>, GaveUp> {
    let ended = |reason, looked_at| {
        Some(Decision {
            outcome: Outcome::End(reason),
            looked_at,
        })
    };
    let mut live = active;
    let mut best = None;
    let (mut i, mut decided) = (0, false);
    while i < unread.len() && i < case.input_buffer && !live.is_empty() && !decided {
        i += 1;
        let mut still = Vec::new();
        let mut accepted = false;
        for rule in live {
            if let Found::Match(bounds) = verdict(rules[rule].find(&unread[..i]))?
                && bounds[0] == (0..i)
            {
                decided |= case.early[rule];
                if !std::mem::replace(&mut accepted, true) {
                    best = Some((rule, bounds));
                }
            }
            if verdict(rules[rule].find_hard(&unread[..i]))? == Found::Partial {
                still.push(rule);
            }
        }
        live = still;
    }
    let undecided = !decided && (!live.is_empty() || unread.is_empty());
    if undecided && i == case.input_buffer {
        return Ok(ended(Reason::Overflow, i));
    }
    if undecided && !case.eof {
        return Ok(None);
    }
    let Some((rule, bounds)) = best else {
        return Ok(ended(
            if unread.is_empty() {
                Reason::Eof
            } else {
                Reason::Input
            },
            i,
        ));
    };
    let Found::Match(again) = verdict(rules[rule].find(&unread[..bounds[0].end]))? else {
        panic!("a match of the same bytes is found again");
    };
    let outcome = Outcome::Run {
        rule,
        length: again[0].end,
        parts: again[1..].to_vec(),
    };
    Ok(Some(Decision {
        outcome,
        looked_at: i,
    }))
}

fn verdict(found: Found) -> Result<Found, GaveUp> {
    if found == Found::GaveUp {
        Err(GaveUp)
    } else {
        Ok(found)
    }
}
