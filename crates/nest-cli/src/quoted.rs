//! Texts in quotes, as profiles and recordings have them.
//!
//! Must not know: what the texts are for.

/// The bytes up to the closing quote, and what follows. The opening quote was taken.
pub fn quoted(text: &[u8]) -> Result<(Vec<u8>, &[u8]), String> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match byte {
            b'"' => return Ok((bytes, rest)),
            b'\\' => {
                let (kind, behind) = rest.split_first().unwrap_or((&0, rest));
                rest = behind;
                bytes.push(match kind {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'"' | b'\\' => *kind,
                    b'x' => {
                        let digits = rest
                            .get(..2)
                            .filter(|d| d.iter().all(u8::is_ascii_hexdigit));
                        let digits = digits.and_then(|d| std::str::from_utf8(d).ok());
                        let value = digits.and_then(|d| u8::from_str_radix(d, 16).ok());
                        rest = rest.get(2..).unwrap_or_default();
                        value.ok_or("\\x needs two hexadecimal digits; write as in \\x0a")?
                    }
                    _ => {
                        return Err("an unknown escape; write \\n, \\r, \\t, \\\", \\\\ or \
                                    \\xHH"
                            .to_owned());
                    }
                });
            }
            _ => bytes.push(*byte),
        }
    }
    Err("a text does not end in its line; write \" at its end".to_owned())
}
