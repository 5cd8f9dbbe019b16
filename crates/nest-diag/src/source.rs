//! Source text: files, spans of bytes, lines and columns. Must not know: what is wrong with it.

/// A file of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A half-open byte range of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of `file`.
    #[must_use]
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span {
            file,
            start: clamp(start),
            end: clamp(end),
        }
    }

    /// The smallest span that holds both; both must be of one file.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span {
            file: self.file,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// One source file: the name as the user wrote it, and its text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// As given on the command line or in `%include`; `<stdin>` for standard input.
    pub name: String,
    /// The text; it stays as it was added.
    pub text: String,
    /// Where each line begins.
    starts: Vec<usize>,
}

/// All files of one compilation; [`FileId`] indexes it.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    /// In the order in which they were read; the first is the specification itself.
    pub files: Vec<SourceFile>,
}

impl SourceMap {
    /// Adds a file.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let text: String = text.into();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(end, _)| end + 1));
        self.files.push(SourceFile {
            name: name.into(),
            starts: starts.collect(),
            text,
        });
        FileId(u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX))
    }

    /// The file.
    #[must_use]
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// The text of a span.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file)
            .text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// Line and column, both from 1; columns count characters. O(line length).
    #[must_use]
    pub fn position(&self, file: FileId, offset: u32) -> (usize, usize) {
        let SourceFile { text, starts, .. } = self.file(file);
        let mut at = (offset as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let line = starts.partition_point(|start| *start <= at);
        let start = line.checked_sub(1).map_or(0, |before| starts[before]);
        let column = text.get(start..at).unwrap_or_default().chars().count();
        (line.max(1), column + 1)
    }
}
