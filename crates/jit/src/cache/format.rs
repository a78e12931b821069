//! The bytes of a cache file: the machine code of functions of one version of a module.
//!
//! ```text
//!    magic | identity | number of functions | (index | length | record) ... | checksum
//!      8       16              4                4       4      length            4
//! ```
//!
//! Numbers have the lowest byte first. The checksum (CRC-32) is over all before it. What is read may be anything: each count is compared with
//! the bytes that are left before memory is taken for it, and what does not fit together is no record.

use crate::name::{Constant, Name};
use crate::outline::{Made, Outline};
use myriad_interp::leaves::Leaf;
use myriad_native::code::{Code, Figures, Relocation};
use myriad_native::form::{Point, Symbol};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// Says what the file is, and which version of this page.
const MAGIC: &[u8; 8] = b"MyrCode1";
/// Bytes before the functions.
const HEADER: usize = 8 + 16 + 4;
/// The largest alignment of code.
const MOST_ALIGN: u32 = 4096;
/// Bytes of the largest file.
pub(super) const MOST_BYTES: u64 = 64 << 20;

/// What the code of a file is for: a hash of all that decides what it is.
pub(super) type Identity = [u8; 16];

/// Functions of a file that has been checked: where their records are, by index.
pub(super) struct File {
    bytes: Vec<u8>,
    records: BTreeMap<u32, Range<usize>>,
}

impl File {
    /// Checks bytes from a disk; `None`: they are not, or no longer, what was written for this identity.
    pub(super) fn of(bytes: Vec<u8>, identity: &Identity) -> Option<File> {
        let (checked, sum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(checked) != u32::from_le_bytes(*sum) {
            return None;
        }
        let mut reader = Reader(checked);
        if reader.take(8)? != MAGIC || reader.take(16)? != identity {
            return None;
        }
        let count = reader.count(8)?;
        let mut records = BTreeMap::new();
        for _ in 0..count {
            let (index, length) = (reader.u32()?, reader.u32()? as usize);
            let start = checked.len() - reader.0.len();
            reader.take(length)?;
            records.insert(index, start..start + length);
        }
        reader.0.is_empty().then_some(())?;
        Some(File { bytes, records })
    }

    /// The function of an index.
    pub(super) fn function(&self, index: u32) -> Option<Made> {
        made(self.record(index)?)
    }

    /// All records.
    pub(super) fn records(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.records.keys().filter_map(|index| Some((*index, self.record(*index)?)))
    }

    fn record(&self, index: u32) -> Option<&[u8]> {
        self.bytes.get(self.records.get(&index)?.clone())
    }
}

/// The file of some records, by index.
pub(super) fn file(identity: &Identity, records: &BTreeMap<u32, Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + 4 + records.values().map(|record| record.len() + 8).sum::<usize>());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(identity);
    put(&mut bytes, records.len() as u32);
    for (index, record) in records {
        put(&mut bytes, *index);
        put(&mut bytes, record.len() as u32);
        bytes.extend_from_slice(record);
    }
    let sum = crc32fast::hash(&bytes);
    put(&mut bytes, sum);
    bytes
}

// ---- writing

fn put(to: &mut Vec<u8>, number: u32) {
    to.extend_from_slice(&number.to_le_bytes());
}

fn put_pairs(to: &mut Vec<u8>, pairs: impl ExactSizeIterator<Item = (u32, u32)>) {
    put(to, pairs.len() as u32);
    for (a, b) in pairs {
        put(to, a);
        put(to, b);
    }
}

fn put_indexes(to: &mut Vec<u8>, indexes: &HashSet<usize>) {
    let mut sorted: Vec<u32> = indexes.iter().map(|index| *index as u32).collect();
    sorted.sort_unstable();
    put(to, sorted.len() as u32);
    sorted.into_iter().for_each(|index| put(to, index));
}

fn put_name(to: &mut Vec<u8>, name: &Name) {
    let mut numbers = |tag: u8, numbers: &[u32]| {
        to.push(tag);
        numbers.iter().for_each(|number| put(to, *number));
    };
    match name {
        Name::Visit(index) => numbers(0, &[*index as u32]),
        Name::Adoption(index) => numbers(1, &[*index as u32]),
        Name::Record(index) => numbers(2, &[*index as u32]),
        Name::Marker { label, slot, line } => numbers(3, &[*label, *slot, *line]),
        Name::Module => numbers(4, &[]),
        Name::Function(index) => numbers(5, &[*index]),
        Name::Import(index) => numbers(6, &[*index]),
        Name::Atom(index) => numbers(7, &[*index]),
        Name::Literal(index) => numbers(8, &[*index]),
        Name::Integer(bytes) => {
            numbers(9, &[bytes.len() as u32]);
            to.extend_from_slice(bytes);
        }
        Name::Leaf(leaf) => numbers(10, &[*leaf as u32]),
        Name::Fun(index) => numbers(11, &[*index]),
    }
}

fn put_constant(to: &mut Vec<u8>, constant: &Constant) {
    match constant {
        Constant::Word(word) => {
            to.push(0);
            to.extend_from_slice(&word.to_le_bytes());
        }
        Constant::Named(name) => {
            to.push(1);
            put_name(to, name);
        }
    }
}

/// The record of a function.
pub(super) fn record(Made { code, outline }: &Made) -> Vec<u8> {
    let mut to = Vec::with_capacity(64 + code.bytes.len() + 8 * code.sources.len() + 16 * code.relocations.len());
    put(&mut to, code.align as u32);
    put(&mut to, code.entry);
    put(&mut to, code.bytes.len() as u32);
    to.extend_from_slice(&code.bytes);
    put(&mut to, outline.names.len() as u32);
    outline.names.iter().for_each(|name| put_name(&mut to, name));
    put(&mut to, code.relocations.len() as u32);
    for Relocation { offset, symbol, addend } in &code.relocations {
        put(&mut to, *offset);
        put(&mut to, symbol.0);
        to.extend_from_slice(&addend.to_le_bytes());
    }
    put_pairs(&mut to, code.points.iter().map(|(point, offset)| (point.0, *offset)));
    put_pairs(&mut to, code.sources.iter().copied());
    put(&mut to, outline.orders.len() as u32);
    for order in &outline.orders {
        put(&mut to, order.len() as u32);
        order.iter().for_each(|constant| put_constant(&mut to, constant));
    }
    put_pairs(&mut to, outline.labels.iter().map(|(label, point)| (*label, point.0)));
    put_indexes(&mut to, &outline.tails);
    put_indexes(&mut to, &outline.returning);
    to
}

// ---- reading

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.chunk().map(u32::from_le_bytes)
    }

    fn index(&mut self) -> Option<usize> {
        self.u32().map(|index| index as usize)
    }

    /// A number of things that take at least so many bytes each.
    fn count(&mut self, least: usize) -> Option<usize> {
        self.index().filter(|count| *count <= self.0.len() / least)
    }

    fn list<T>(&mut self, least: usize, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count(least)?;
        (0..count).map(|_| item(self)).collect()
    }

    fn pairs(&mut self) -> Option<Vec<(u32, u32)>> {
        self.list(8, |reader| Some((reader.u32()?, reader.u32()?)))
    }

    fn indexes(&mut self) -> Option<HashSet<usize>> {
        self.list(4, Self::index).map(HashSet::from_iter)
    }

    fn name(&mut self) -> Option<Name> {
        Some(match self.u8()? {
            0 => Name::Visit(self.index()?),
            1 => Name::Adoption(self.index()?),
            2 => Name::Record(self.index()?),
            3 => Name::Marker { label: self.u32()?, slot: self.u32()?, line: self.u32()? },
            4 => Name::Module,
            5 => Name::Function(self.u32()?),
            6 => Name::Import(self.u32()?),
            7 => Name::Atom(self.u32()?),
            8 => Name::Literal(self.u32()?),
            9 => {
                // What takes less than a word is in the code itself.
                let bytes = self.count(1).filter(|bytes| *bytes >= 8)?;
                Name::Integer(self.take(bytes)?.into())
            }
            10 => Name::Leaf(Leaf::of_number(self.u32()?)?),
            11 => Name::Fun(self.u32()?),
            _ => return None,
        })
    }

    fn constant(&mut self) -> Option<Constant> {
        match self.u8()? {
            0 => self.chunk().map(|word| Constant::Word(u64::from_le_bytes(word))),
            1 => self.name().map(Constant::Named),
            _ => None,
        }
    }
}

/// The function of a record.
fn made(record: &[u8]) -> Option<Made> {
    let mut reader = Reader(record);
    let align = reader.u32().filter(|align| align.is_power_of_two() && *align <= MOST_ALIGN)? as usize;
    let entry = reader.u32()?;
    let length = reader.count(1)?;
    let bytes = reader.take(length)?.to_vec();
    let within = |offset: u32| (offset as usize) < length;
    let names = reader.list(1, Reader::name)?;
    let relocations = reader.list(16, |reader| {
        let (offset, symbol) = (reader.u32()?, Symbol(reader.u32()?));
        let addend = reader.chunk().map(i64::from_le_bytes)?;
        let fits = (offset as usize).checked_add(8)? <= length && (symbol.0 as usize) < names.len();
        fits.then_some(Relocation { offset, symbol, addend })
    })?;
    let points: Vec<(Point, u32)> = reader.pairs()?.into_iter().map(|(point, offset)| (Point(point), offset)).collect();
    let sources = reader.pairs()?;
    let orders = reader.list(4, |reader| reader.list(2, Reader::constant))?;
    let labels = reader.pairs()?.into_iter().map(|(label, point)| (label, Point(point))).collect();
    let (tails, returning) = (reader.indexes()?, reader.indexes()?);
    let offsets = points.iter().map(|(_, offset)| *offset).chain(sources.iter().map(|(offset, _)| *offset));
    let is_sound = reader.0.is_empty()
        && within(entry)
        && offsets.into_iter().all(within)
        && sources.is_sorted_by(|a, b| a.0 <= b.0);
    let figures = Figures::default();
    let code = Code { bytes, align, relocations, entry, points, sources, declined: None, figures };
    is_sound.then_some(Made { code, outline: Outline { names, orders, labels, tails, returning } })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn example() -> Made {
        let names = vec![
            Name::Visit(1),
            Name::Adoption(2),
            Name::Record(3),
            Name::Marker { label: 4, slot: 5, line: 6 },
            Name::Module,
            Name::Function(7),
            Name::Import(8),
            Name::Atom(9),
            Name::Literal(10),
            Name::Integer(Box::new([1, 2, 3, 4, 5, 6, 7, 8, 9])),
        ];
        let relocations = vec![Relocation { offset: 2, symbol: Symbol(9), addend: -8 }];
        let code = Code {
            bytes: (0..40).collect(),
            align: 16,
            relocations,
            entry: 3,
            points: vec![(Point(1), 12)],
            sources: vec![(4, 0), (8, 1)],
            declined: None,
            figures: Figures::default(),
        };
        let orders = vec![vec![Constant::Word(9), Constant::Named(Name::Atom(3))]];
        let labels = vec![(4, Point(1))];
        let outline = Outline { names, orders, labels, tails: HashSet::from([5]), returning: HashSet::from([1, 3]) };
        Made { code, outline }
    }

    const IDENTITY: Identity = [7; 16];

    fn whole() -> Vec<u8> {
        let record = record(&example());
        file(&IDENTITY, &BTreeMap::from([(3, record.clone()), (8, record)]))
    }

    #[test]
    fn what_is_written_is_read() {
        let file = File::of(whole(), &IDENTITY).expect("a file");
        assert_eq!(file.records().map(|(index, _)| index).collect::<Vec<_>>(), [3, 8]);
        assert_eq!(file.function(4), None);
        assert_eq!(file.function(8), Some(example()));
    }

    #[test]
    fn a_file_for_something_else_is_none() {
        assert!(File::of(whole(), &[8; 16]).is_none());
        assert!(File::of(Vec::new(), &IDENTITY).is_none());
    }

    #[test]
    fn a_truncated_file_is_none() {
        let whole = whole();
        for length in 0..whole.len() {
            assert!(File::of(whole[..length].to_vec(), &IDENTITY).is_none(), "{length}");
        }
    }

    #[test]
    fn a_file_with_an_altered_byte_is_none() {
        let whole = whole();
        for at in 0..whole.len() {
            for bits in [1, 0x80, 0xff] {
                let mut altered = whole.clone();
                altered[at] ^= bits;
                assert!(File::of(altered, &IDENTITY).is_none(), "{at} {bits}");
            }
        }
    }

    /// Even with the right checksum nothing is believed.
    #[test]
    fn any_record_is_read_in_bounds_or_not_at_all() {
        let sound = record(&example());
        let mut read = 0;
        for at in 0..sound.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut altered = sound.clone();
                altered[at] = byte;
                let file = File::of(file(&IDENTITY, &BTreeMap::from([(0, altered)])), &IDENTITY).expect("a file");
                let Some(Made { code, outline }) = file.function(0) else { continue };
                read += 1;
                let length = code.bytes.len();
                assert!((code.entry as usize) < length);
                assert!(code.relocations.iter().all(|r| r.offset as usize + 8 <= length));
                assert!(code.relocations.iter().all(|r| (r.symbol.0 as usize) < outline.names.len()));
                assert!(code.points.iter().all(|(_, offset)| (*offset as usize) < length));
            }
        }
        assert!(read > 100, "most bytes are code: {read}");
        for length in 0..sound.len() {
            let cut = BTreeMap::from([(0, sound[..length].to_vec())]);
            assert!(File::of(file(&IDENTITY, &cut), &IDENTITY).expect("a file").function(0).is_none());
        }
    }
}
