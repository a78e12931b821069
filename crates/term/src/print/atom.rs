//! Atoms as text, in quotes where Erlang's grammar wants them.

use crate::atom::Atom;

/// A lower-case letter that may begin an atom.
const fn is_lower(c: char) -> bool {
    matches!(c, 'a'..='z' | 'ß'..='ö' | 'ø'..='ÿ')
}

/// A letter, digit or underscore.
const fn is_word(c: char) -> bool {
    is_lower(c) || matches!(c, 'A'..='Z' | '0'..='9' | '_' | 'À'..='Ö' | 'Ø'..='Þ')
}

/// Is the text an atom only when quoted? (Reserved words are not told apart.)
pub fn needs_quotes(text: &str) -> bool {
    !text.starts_with(is_lower) || !text.chars().all(is_word)
}

/// Writes the text of an atom, quoted if need be.
pub(super) fn write(out: &mut Vec<u8>, text: &str) {
    if !needs_quotes(text) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'\'');
    for c in text.chars() {
        let escape: &[u8] = match c {
            '\'' => b"\\'",
            '\\' => b"\\\\",
            '\n' => b"\\n",
            '\t' => b"\\t",
            '\r' => b"\\r",
            '\u{8}' => b"\\b",
            '\u{b}' => b"\\v",
            '\u{c}' => b"\\f",
            _ if c.is_control() && c != '\u{7f}' => {
                out.extend_from_slice(format!("\\{:03o}", u32::from(c)).as_bytes());
                continue;
            }
            _ => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
        };
        out.extend_from_slice(escape);
    }
    out.push(b'\'');
}

/// The text of an atom, quoted if need be.
pub fn atom_text(atom: Atom) -> String {
    let mut out = Vec::new();
    write(&mut out, atom.text());
    String::from_utf8(out).unwrap_or_default()
}
