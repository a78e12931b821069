//! The atom table, in its three forms: `Atom` (Latin-1, before OTP 20), `AtU8` (UTF-8 with one-byte
//! lengths), and `AtU8` with a negative count (OTP 28: each length is a compact tagged integer).
//!
//! A1. Index 0 is nil, never an atom; index 1 is the module's name.
//! A2. No atom is longer than 255 characters.

use crate::container::BeamFile;
use crate::error::{ChunkId, LoadError};
use crate::reader::Reader;

/// The longest atom, in characters.
const MAX_CHARACTERS: usize = 255;

/// The atoms of a module, by index from 1. One block of text for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtomTable {
    text: String,
    /// Where each atom ends in `text`; entry 0 is the empty place of nil (A1).
    ends: Vec<u32>,
}

impl AtomTable {
    /// The number of the last atom.
    pub fn last(&self) -> u32 {
        self.ends.len().saturating_sub(1) as u32
    }

    /// The atom of an index; None for 0 (nil) and beyond the end.
    pub fn get(&self, index: u32) -> Option<&str> {
        let index = index as usize;
        let start = *self.ends.get(index.checked_sub(1)?)? as usize;
        self.text.get(start..*self.ends.get(index)? as usize)
    }

    /// All atoms, in order; the first has index 1.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (1..=self.last()).filter_map(|index| self.get(index))
    }

    /// Whether the index names an atom (not nil).
    pub(crate) fn has(&self, index: u32) -> bool {
        index != 0 && (index as usize) < self.ends.len()
    }

    pub(crate) fn parse(file: &BeamFile<'_>) -> Result<Self, LoadError> {
        if let Some(reader) = file.reader(b"AtU8") {
            return Self::parse_utf8(reader);
        }
        match file.reader(b"Atom") {
            Some(reader) => Self::parse_latin1(reader),
            None => Err(LoadError::MissingChunk { chunk: ChunkId(*b"AtU8") }),
        }
    }

    fn parse_utf8(mut reader: Reader<'_>) -> Result<Self, LoadError> {
        let count = reader.u32()? as i32;
        let tagged = count < 0;
        let count = count.unsigned_abs() as usize;
        let mut table = Self::reserve(&reader, count)?;
        for _ in 0..count {
            let size = if tagged { reader.unsigned()? } else { u64::from(reader.u8()?) };
            let size = usize::try_from(size).map_err(|_| reader.truncated())?;
            let bytes = reader.take(size)?;
            let text = std::str::from_utf8(bytes).map_err(|_| reader.malformed("an atom that is not UTF-8"))?;
            if size > MAX_CHARACTERS && text.chars().count() > MAX_CHARACTERS {
                return Err(reader.malformed("an atom of more than 255 characters"));
            }
            table.text.push_str(text);
            table.ends.push(table.text.len() as u32);
        }
        table.finish(&reader)
    }

    fn parse_latin1(mut reader: Reader<'_>) -> Result<Self, LoadError> {
        let count = reader.u32()? as usize;
        let mut table = Self::reserve(&reader, count)?;
        for _ in 0..count {
            let size = usize::from(reader.u8()?);
            table.text.extend(reader.take(size)?.iter().map(|byte| char::from(*byte)));
            table.ends.push(table.text.len() as u32);
        }
        table.finish(&reader)
    }

    fn reserve(reader: &Reader<'_>, count: usize) -> Result<Self, LoadError> {
        if count > reader.remaining() {
            return Err(reader.malformed("a count larger than the chunk can hold"));
        }
        let mut ends = Vec::with_capacity(count + 1);
        ends.push(0);
        Ok(Self { text: String::with_capacity(reader.remaining()), ends })
    }

    fn finish(self, reader: &Reader<'_>) -> Result<Self, LoadError> {
        match self.last() {
            0 => Err(reader.malformed("no atoms: the first one must be the module's name")),
            _ => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::form;

    fn parse(id: &[u8; 4], data: Vec<u8>) -> Result<Vec<String>, LoadError> {
        let bytes = form(&[(id, data)]);
        let table = AtomTable::parse(&BeamFile::parse(&bytes)?)?;
        Ok(table.iter().map(str::to_owned).collect())
    }

    #[test]
    fn all_three_forms() {
        let want = ["m".to_owned(), "å".to_owned(), String::new()];
        assert_eq!(parse(b"AtU8", b"\0\0\0\x03\x01m\x02\xc3\xa5\0".to_vec()).unwrap(), want);
        assert_eq!(parse(b"Atom", b"\0\0\0\x03\x01m\x01\xe5\0".to_vec()).unwrap(), want);
        assert_eq!(parse(b"AtU8", b"\xff\xff\xff\xfd\x10m\x20\xc3\xa5\0".to_vec()).unwrap(), want);
    }

    #[test]
    fn long_atoms_by_characters_not_bytes() {
        let atom = |count: usize| {
            let size = 2 * count;
            let mut data = b"\xff\xff\xff\xff".to_vec();
            data.extend([0x08 | ((size >> 8) << 5) as u8, size as u8]);
            data.extend("å".repeat(count).bytes());
            parse(b"AtU8", data)
        };
        assert_eq!(atom(255).unwrap()[0].chars().count(), 255);
        assert!(atom(256).is_err());
    }

    #[test]
    fn refuses_what_cannot_be() {
        assert!(parse(b"AtU8", b"\0\0\0\0".to_vec()).is_err(), "no module name");
        assert!(parse(b"AtU8", b"\x7f\xff\xff\xff\x01m".to_vec()).is_err(), "count");
        assert!(parse(b"AtU8", b"\x80\0\0\0\x01m".to_vec()).is_err(), "most negative count");
        assert!(parse(b"AtU8", b"\0\0\0\x01\x01\xe5".to_vec()).is_err(), "not UTF-8");
        assert!(parse(b"Code", vec![]).is_err(), "no atom chunk");
    }

    #[test]
    fn nil_is_no_atom() {
        let bytes = form(&[(b"AtU8", b"\0\0\0\x01\x01m".to_vec())]);
        let table = AtomTable::parse(&BeamFile::parse(&bytes).unwrap()).unwrap();
        assert_eq!((table.get(0), table.get(1), table.get(2)), (None, Some("m"), None));
    }
}
