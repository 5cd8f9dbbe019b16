//! What brings the text of included files. Must not know: what is in it.

/// Brings the text of an `%include`; the compiler itself does no I/O.
pub trait Loader {
    /// `path` as written, `from`: the name of the including file. The new file's name and text,
    /// or why there is none.
    ///
    /// # Errors
    /// One sentence for the user.
    fn load(&mut self, from: &str, path: &str) -> Result<(String, String), String>;
}

/// For a specification that stands alone: no file is there.
pub struct Alone;

impl Loader for Alone {
    fn load(&mut self, _from: &str, _path: &str) -> Result<(String, String), String> {
        Err("no file".to_owned())
    }
}
