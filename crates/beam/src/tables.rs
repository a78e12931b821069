//! The small tables of a module: imports, exports, locals, lambdas, literals, line numbers.
//!
//! Atom indexes are checked here; labels and arities when the code has been scanned (`scan.rs`).

use std::ops::Range;

use crate::atoms::AtomTable;
use crate::container::{BeamFile, inflate};
use crate::error::{ChunkId, LoadError};
use crate::reader::{Raw, Reader};

/// The largest arity of a function.
pub const MAX_ARITY: u32 = 255;

/// A function of another module (or a BIF) that the code refers to. Names are atom indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Import {
    /// Its module.
    pub module: u32,
    /// Its name.
    pub function: u32,
    /// Its arity.
    pub arity: u8,
    /// It is a BIF that never returns: erlang:error/1 and the like.
    pub always_raises: bool,
    /// It is a guard BIF that never fails, whatever its arguments.
    pub never_fails: bool,
    /// It is a guard BIF that sets its destination where it takes its fail branch, too.
    pub sets_always: bool,
    /// It is a guard BIF that gives an immediate term, or one that it has been given or that is part of such a one.
    pub builds_nothing: bool,
}

/// Is this a function of module `erlang` that never returns?
pub fn always_raises(function: &str, arity: u8) -> bool {
    matches!((function, arity), ("error", 1..=3) | ("exit" | "throw", 1) | ("nif_error", 1 | 2))
}

fn never_fails(function: &str, arity: u8) -> bool {
    match (function, arity) {
        ("self" | "node", 0) | ("get", 1) => true,
        ("=:=" | "=/=" | "==" | "/=" | "<" | ">" | "=<" | ">=" | "max" | "min", 2) => true,
        (name, 1) => name.starts_with("is_"),
        _ => false,
    }
}

fn builds_nothing(function: &str, arity: u8) -> bool {
    never_fails(function, arity)
        || matches!((function, arity), ("node" | "hd" | "tl" | "tuple_size" | "map_size" | "not", 1))
        || matches!((function, arity), ("element" | "map_get" | "is_map_key" | "and" | "or" | "xor" | "is_function", 2))
        || matches!((function, arity), ("is_record", 2 | 3))
}

/// A row of the export table or of the local function table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name, an atom index.
    pub function: u32,
    /// Its arity.
    pub arity: u8,
    /// Its entry label.
    pub label: u32,
}

/// What a fun is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lambda {
    /// Name of the function that holds its code, an atom index.
    pub function: u32,
    /// Arity of that function: of the fun, plus the free variables.
    pub arity: u8,
    /// Entry label of that function.
    pub label: u32,
    /// Its number in the module, by which a new version of the module finds it again.
    pub index: u32,
    /// How many free variables it closes over.
    pub free: u8,
    /// The old unique number: part of the module's hash when it was compiled.
    pub old_uniq: u32,
}

fn atom(reader: &mut Reader<'_>, atoms: &AtomTable) -> Result<u32, LoadError> {
    let index = reader.u32()?;
    if atoms.has(index) { Ok(index) } else { Err(reader.malformed("no such atom")) }
}

fn arity(reader: &mut Reader<'_>) -> Result<u8, LoadError> {
    u8::try_from(reader.u32()?).map_err(|_| reader.malformed("an arity above 255"))
}

pub(crate) fn imports(file: &BeamFile<'_>, atoms: &AtomTable) -> Result<Vec<Import>, LoadError> {
    let mut reader = Reader::new(ChunkId(*b"ImpT"), file.need(b"ImpT")?);
    let count = reader.count(12)?;
    let mut rows = Vec::with_capacity(count);
    for _ in 0..count {
        let (module, function) = (atom(&mut reader, atoms)?, atom(&mut reader, atoms)?);
        let arity = arity(&mut reader)?;
        let (is_erlang, name) = (atoms.get(module) == Some("erlang"), atoms.get(function).unwrap_or(""));
        rows.push(Import {
            module,
            function,
            arity,
            always_raises: is_erlang && always_raises(name, arity),
            never_fails: is_erlang && never_fails(name, arity),
            // Compilers keep the fail label where they know that the argument is a map, and read the result there.
            sets_always: is_erlang && name == "is_map_key" && arity == 2,
            builds_nothing: is_erlang && builds_nothing(name, arity),
        });
    }
    Ok(rows)
}

/// `ExpT`, which must be there, or `LocT`, which may be missing.
pub(crate) fn exports(file: &BeamFile<'_>, id: &[u8; 4], atoms: &AtomTable) -> Result<Vec<Export>, LoadError> {
    let Some(mut reader) = file.reader(id) else { return Ok(Vec::new()) };
    let count = reader.count(12)?;
    let mut rows = Vec::with_capacity(count);
    for _ in 0..count {
        let (function, arity) = (atom(&mut reader, atoms)?, arity(&mut reader)?);
        rows.push(Export { function, arity, label: reader.u32()? });
    }
    Ok(rows)
}

pub(crate) fn lambdas(file: &BeamFile<'_>, atoms: &AtomTable) -> Result<Vec<Lambda>, LoadError> {
    let Some(mut reader) = file.reader(b"FunT") else { return Ok(Vec::new()) };
    let count = reader.count(24)?;
    let mut rows = Vec::with_capacity(count);
    for _ in 0..count {
        let (function, arity_all) = (atom(&mut reader, atoms)?, arity(&mut reader)?);
        let (label, index, free, old_uniq) = (reader.u32()?, reader.u32()?, reader.u32()?, reader.u32()?);
        let free = match u8::try_from(free) {
            Ok(free) if free <= arity_all => free,
            _ => return Err(reader.malformed("a fun with more free variables than its function has arguments")),
        };
        rows.push(Lambda { function, arity: arity_all, label, index, free, old_uniq });
    }
    Ok(rows)
}

/// The literal table: external terms, not decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Literals {
    data: Box<[u8]>,
    ranges: Vec<Range<u32>>,
}

impl Literals {
    /// Bytes of all, and of the table.
    pub fn bytes(&self) -> usize {
        self.data.len() + size_of_val(&*self.ranges)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The external term of an index, version byte 131 first.
    pub fn get(&self, index: u32) -> Option<&[u8]> {
        let range = self.ranges.get(index as usize)?;
        self.data.get(range.start as usize..range.end as usize)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len() as u32).filter_map(|index| self.get(index))
    }

    /// A size word of 0 means that the table follows uncompressed (OTP 28); otherwise it is the
    /// table's size before compression.
    pub(crate) fn parse(file: &BeamFile<'_>) -> Result<Self, LoadError> {
        const ID: ChunkId = ChunkId(*b"LitT");
        let Some(mut reader) = file.reader(&ID.0) else { return Ok(Self::default()) };
        let declared = reader.u32()? as usize;
        let packed = reader.take(reader.remaining())?;
        let data = if declared == 0 { packed.to_vec() } else { inflate(ID, packed, declared)? }.into_boxed_slice();
        let mut reader = Reader::new(ID, &data);
        let count = reader.count(4)?;
        let mut ranges = Vec::with_capacity(count);
        for _ in 0..count {
            let size = reader.u32()? as usize;
            let start = reader.offset();
            if reader.take(size)?.first() != Some(&131) {
                return Err(reader.malformed("a literal that is not an external term"));
            }
            ranges.push(start as u32..reader.offset() as u32);
        }
        Ok(Self { data, ranges })
    }
}

/// A place in source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// 0: the module's own file, `Module.erl`; else the name of number `file - 1`.
    pub file: u32,
    /// The line number.
    pub line: u32,
}

/// From the operand of a `line` instruction to file and line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineTable {
    /// Whether the module has a table of a known version. Without one, `line` operands mean nothing.
    pub present: bool,
    /// By the operand of `line`, less 1 (operand 0: place unknown).
    pub items: Vec<Line>,
    /// Names of source files.
    pub files: Vec<Box<str>>,
    /// Bit 0: has executable_line; bit 1: wants counters on every line (OTP 27).
    pub flags: u32,
}

impl LineTable {
    /// The place that an operand of `line` names. Those beyond OTP's limits for a place (24 bits of line, 8 of file) are
    /// unknown, as they are there.
    pub fn get(&self, operand: u32) -> Option<Line> {
        let line = self.items.get(operand.checked_sub(1)? as usize).copied()?;
        (line.line < (1 << 24) - 1 && line.file < 255).then_some(line)
    }

    /// The name of a file; None for 0, the module's own, for which OTP takes an empty name, too.
    pub fn file(&self, file: u32) -> Option<&str> {
        self.files.get(file.checked_sub(1)? as usize).map(|name| &**name).filter(|name| !name.is_empty())
    }

    /// Versions other than 0 are ignored, as OTP does.
    pub(crate) fn parse(file: &BeamFile<'_>) -> Result<Self, LoadError> {
        let Some(mut reader) = file.reader(b"Line") else { return Ok(Self::default()) };
        if reader.u32()? != 0 {
            return Ok(Self::default());
        }
        let flags = reader.u32()?;
        let _instructions = reader.u32()?;
        let (lines, names) = (reader.u32()? as usize, reader.u32()? as usize);
        if lines > reader.remaining() || names > reader.remaining() / 2 {
            return Err(reader.malformed("a count larger than the chunk can hold"));
        }
        let mut items = Vec::with_capacity(lines);
        let mut current = 0;
        while items.len() < lines {
            match reader.raw()? {
                Raw::I(line) => {
                    let line = u32::try_from(line).map_err(|_| reader.malformed("no such line number"))?;
                    items.push(Line { file: current, line });
                }
                Raw::Atom(file) if file as usize <= names => current = file,
                _ => return Err(reader.malformed("neither a line nor a file")),
            }
        }
        let mut files = Vec::with_capacity(names);
        for _ in 0..names {
            let size = usize::from(reader.u16()?);
            files.push(String::from_utf8_lossy(reader.take(size)?).into());
        }
        Ok(Self { present: true, items, files, flags })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::form;
    use std::io::Write;

    fn with<T>(id: &[u8; 4], data: &[u8], then: impl Fn(&BeamFile<'_>) -> T) -> T {
        let bytes = form(&[(id, data.to_vec())]);
        then(&BeamFile::parse(&bytes).unwrap())
    }

    #[test]
    fn literals_packed_and_plain() {
        let table = b"\0\0\0\x02\0\0\0\x02\x83j\0\0\0\x03\x83a\x07";
        let mut plain = vec![0; 4];
        plain.extend(table);
        let mut packed = (table.len() as u32).to_be_bytes().to_vec();
        let mut z = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        z.write_all(table).unwrap();
        packed.extend(z.finish().unwrap());
        for data in [plain, packed] {
            let literals = with(b"LitT", &data, |file| Literals::parse(file).unwrap());
            assert_eq!(literals.iter().collect::<Vec<_>>(), [&b"\x83j"[..], b"\x83a\x07"]);
            assert_eq!(literals.get(2), None);
        }
    }

    #[test]
    fn literals_that_cannot_be() {
        for bad in [&b"\0\0\0\0"[..], b"\0\0\0\0\0\0\0\x09", b"\0\0\0\0\0\0\0\x01\0\0\0\x01j", b"\0\0\0\x09junkjunk"] {
            assert!(with(b"LitT", bad, Literals::parse).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn lines_with_files() {
        // Line 5 of the module's file, then lines 6 and 300 of file 1.
        let data = b"\0\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\x03\0\0\0\x01\x51\x12\x61\x29\x2c\0\x03a.x";
        let lines = with(b"Line", data, |file| LineTable::parse(file).unwrap());
        assert_eq!(lines.get(0), None);
        assert_eq!(lines.get(1), Some(Line { file: 0, line: 5 }));
        assert_eq!(lines.get(2), Some(Line { file: 1, line: 6 }));
        assert_eq!(lines.get(3), Some(Line { file: 1, line: 300 }));
        assert_eq!((lines.get(4), lines.file(0), lines.file(1)), (None, None, Some("a.x")));
        let other = with(b"Line", b"\0\0\0\x01junk", |file| LineTable::parse(file).unwrap());
        assert!(!other.present);
        assert!(with(b"Line", b"\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\0\x12", LineTable::parse).is_err());
    }
}
