//! What an argument is to a function that handles text from the client. The tables of directives and
//! of C's library share these words. Must not know: either table.

/// What an argument is to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing that matters here.
    Other,
    /// A string by which something is decided.
    Text,
    /// The same, where the next argument says where it was left, if it is not NULL.
    Number,
    /// The name of a file.
    Path,
    /// The name of a file beneath fileRoot.
    Own,
    /// What a shell reads.
    Command,
    /// A program that is run.
    Program,
    /// An address to which the server connects.
    Address,
    /// Its arguments, one by one or as a list: a shell's command may be among them.
    Arguments,
    /// A format; what it formats stands behind it.
    Format,
    /// Where text is put: what was there before is gone.
    To,
    /// The same, behind what is there.
    Behind,
    /// A string that is put there.
    From,
    /// Bytes that are put there.
    Bytes,
    /// The capacity of the array.
    Size,
    /// How many bytes are put there at most.
    Count,
    /// The address of a pointer to the new text.
    New,
}
