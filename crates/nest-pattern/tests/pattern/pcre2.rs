//! libpcre2, as far as the differential test needs it.
#![allow(unsafe_code)]

use pcre2_sys as sys;
use std::ops::Range;
use std::ptr;

/// A compiled pattern with memory for its results.
pub struct Regex {
    code: *mut sys::pcre2_code_8,
    data: *mut sys::pcre2_match_data_8,
    context: *mut sys::pcre2_match_context_8,
    groups: usize,
}

/// What a match call came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// Bounds of the match, then of each group.
    Match(Vec<Range<usize>>),
    Partial,
    Nothing,
    /// Too much backtracking.
    GaveUp,
}

const COMPILE: u32 =
    sys::PCRE2_NO_AUTO_POSSESS | sys::PCRE2_NO_START_OPTIMIZE | sys::PCRE2_NO_DOTSTAR_ANCHOR;

/// As the runtime compiles patterns (runtime/service/backtracking/backtracking.c).
const RUNTIME: u32 = sys::PCRE2_ANCHORED
    | sys::PCRE2_NO_START_OPTIMIZE
    | sys::PCRE2_NEVER_UTF
    | sys::PCRE2_NEVER_UCP;

const MATCH: u32 = sys::PCRE2_ANCHORED | sys::PCRE2_NOTEMPTY;

impl Regex {
    /// `groups`: how many groups `text` has.
    pub fn new(text: &[u8], groups: usize, match_limit: u32) -> Result<Regex, String> {
        Regex::compiled(text, groups, match_limit, COMPILE)
    }

    /// The same, compiled as by the runtime.
    pub fn runtime(text: &[u8], groups: usize, match_limit: u32) -> Result<Regex, String> {
        Regex::compiled(text, groups, match_limit, RUNTIME)
    }

    fn compiled(
        text: &[u8],
        groups: usize,
        match_limit: u32,
        options: u32,
    ) -> Result<Regex, String> {
        let (mut error, mut offset) = (0, 0);
        // SAFETY: pointer and length are of one slice; the out-parameters are live locals; a null
        // compile context asks for the defaults.
        let code = unsafe {
            let context = ptr::null_mut();
            let (at, len) = (text.as_ptr(), text.len());
            sys::pcre2_compile_8(at, len, options, &mut error, &mut offset, context)
        };
        if code.is_null() {
            return Err(format!("libpcre2 refuses it: error {error} at {offset}"));
        }
        // SAFETY: `code` is a compiled pattern, owned by the Regex from here on; both results are
        // checked before use and freed in Drop.
        let (data, context) = unsafe {
            let data = sys::pcre2_match_data_create_from_pattern_8(code, ptr::null_mut());
            let context = sys::pcre2_match_context_create_8(ptr::null_mut());
            assert!(
                !data.is_null() && !context.is_null(),
                "libpcre2 has no memory"
            );
            sys::pcre2_set_match_limit_8(context, match_limit);
            (data, context)
        };
        Ok(Regex {
            code,
            data,
            context,
            groups,
        })
    }

    /// The first match of at least one byte at the start of `subject`, in Perl's order; it may end
    /// before the end of `subject`.
    pub fn find(&self, subject: &[u8]) -> Found {
        self.run(subject, MATCH)
    }

    /// The same, but `Partial` as soon as a path wants to look behind the end of `subject`.
    pub fn find_hard(&self, subject: &[u8]) -> Found {
        self.run(subject, MATCH | sys::PCRE2_PARTIAL_HARD)
    }

    fn run(&self, subject: &[u8], options: u32) -> Found {
        // SAFETY: pointer and length are of one slice; code, data and context are live until Drop;
        // data was made for this code and is used by one call at a time (Regex is not Sync).
        let result = unsafe {
            let (at, len) = (subject.as_ptr(), subject.len());
            sys::pcre2_match_8(self.code, at, len, 0, options, self.data, self.context)
        };
        match result {
            sys::PCRE2_ERROR_PARTIAL => Found::Partial,
            sys::PCRE2_ERROR_NOMATCH => Found::Nothing,
            sys::PCRE2_ERROR_MATCHLIMIT => Found::GaveUp,
            n if n > 0 => Found::Match(self.bounds()),
            n => panic!("libpcre2 fails with {n}"),
        }
    }

    fn bounds(&self) -> Vec<Range<usize>> {
        // SAFETY: the vector belongs to `data` and has a pair for the match and for each group of
        // the pattern it was made for; it is copied before the next call changes it.
        let pairs = unsafe {
            let first = sys::pcre2_get_ovector_pointer_8(self.data);
            std::slice::from_raw_parts(first, 2 * (self.groups + 1))
        };
        pairs.chunks(2).map(|pair| pair[0]..pair[1]).collect()
    }
}

impl Drop for Regex {
    fn drop(&mut self) {
        // SAFETY: all three were made in `new`, are freed here alone, and not used afterwards.
        unsafe {
            sys::pcre2_match_context_free_8(self.context);
            sys::pcre2_match_data_free_8(self.data);
            sys::pcre2_code_free_8(self.code);
        }
    }
}
