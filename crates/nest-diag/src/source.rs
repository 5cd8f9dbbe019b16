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
    /// The number of characters that begin before each block of [`BLOCK`] bytes.
    characters: Vec<usize>,
}

/// Columns count the characters of at most this many bytes, however long a line is.
const BLOCK: usize = 1024;

impl SourceFile {
    /// Where a line begins, by its number from 1.
    #[must_use]
    pub fn line_start(&self, line: usize) -> usize {
        let known = line.checked_sub(1).and_then(|n| self.starts.get(n));
        known.copied().unwrap_or(self.text.len())
    }

    /// The number of characters before a position.
    fn characters_before(&self, at: usize) -> usize {
        let block = at / BLOCK;
        let before = self.characters.get(block).copied();
        match before {
            Some(before) => before + begun_in(&self.text.as_bytes()[block * BLOCK..at]),
            // The text ends at the end of a block.
            None => self.text.as_bytes().chunks(BLOCK).last().map_or(0, |last| {
                self.characters.last().copied().unwrap_or(0) + begun_in(last)
            }),
        }
    }
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
            characters: text
                .as_bytes()
                .chunks(BLOCK)
                .scan(0, |count, block| {
                    let before = *count;
                    *count += begun_in(block);
                    Some(before)
                })
                .collect(),
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

    /// The line of a position, from 1.
    #[must_use]
    pub fn line(&self, file: FileId, offset: u32) -> usize {
        let at = offset as usize;
        let line = self.file(file).starts.partition_point(|start| *start <= at);
        line.max(1)
    }

    /// Line and column, both from 1; columns count characters. Takes logarithmic time.
    #[must_use]
    pub fn position(&self, file: FileId, offset: u32) -> (usize, usize) {
        let found = self.file(file);
        let mut at = (offset as usize).min(found.text.len());
        while !found.text.is_char_boundary(at) {
            at -= 1;
        }
        let line = found.starts.partition_point(|start| *start <= at).max(1);
        let column = found.characters_before(at) - found.characters_before(found.starts[line - 1]);
        (line, column + 1)
    }
}

/// The number of characters whose first byte is among these.
fn begun_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_in_lines_of_any_length() {
        let text = format!("a\n{}\n{}", "é".repeat(2000), "x".repeat(90));
        let mut sources = SourceMap::default();
        let file = sources.add("a", text.clone());
        let (mut line, mut column) = (1, 1);
        for (at, c) in text.char_indices() {
            let at = u32::try_from(at).unwrap();
            assert_eq!(sources.position(file, at), (line, column));
            assert_eq!(sources.line(file, at), line);
            if c == '\n' {
                (line, column) = (line + 1, 1);
            } else {
                column += 1;
            }
        }
        let long = "y".repeat(2 * BLOCK);
        let file = sources.add("b", long);
        assert_eq!(sources.position(file, u32::MAX), (1, 2 * BLOCK + 1));
        let file = sources.add("c", "");
        assert_eq!(sources.position(file, 0), (1, 1));
    }
}
