//! Where the reading of a pattern is. Must not know: notation.

use crate::names::Names;
use crate::reader::Reader;

/// Groups may nest this deep, as in PCRE2.
pub(super) const DEEPEST: usize = 250;

/// The rest of the pattern cannot be understood; the reason is reported.
pub(crate) struct Abort;

/// A pattern that is being read.
pub(super) struct Parser<'r, 'a> {
    pub(super) r: &'r mut Reader<'a>,
    pub(super) names: &'r Names,
    pub(super) in_rule: bool,
    /// Open groups.
    pub(super) depth: usize,
    /// Plain `( )` groups so far: PCRE2 reads `\12` by their number.
    pub(super) groups: u32,
    /// Nothing that can match stands before here: `^` says nothing.
    pub(super) leading: bool,
    /// How many `^` and `\A` said nothing so far.
    pub(super) anchors: u32,
    /// Up to here the letters have been looked at.
    pub(super) letters_end: usize,
    /// Where the element being read starts.
    pub(super) element: usize,
}
