//! Native record definitions (chunk `Recs`, OTP 29, experimental).
//!
//! Version 0: u32 count, u32 fields in all; then a definition each in operand encoding, as if it were
//! the instruction call_last: opcode byte, name, exported, list of field and default (a u of 0: none).
//! Other versions are ignored.

use crate::atoms::AtomTable;
use crate::container::BeamFile;
use crate::error::LoadError;
use crate::opcode::Op;
use crate::reader::{Raw, Reader};
use crate::tables::Literals;

/// A native record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordDef {
    /// Its name, an atom index.
    pub name: u32,
    /// Whether other modules may use it.
    pub exported: bool,
    /// Its fields (atom indexes), in the order of the definition, and their defaults.
    pub fields: Vec<(u32, FieldDefault)>,
}

/// The default of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldDefault {
    /// There is none: leaving the field out raises novalue.
    None,
    /// A literal's index.
    Lit(u32),
    /// An atom's index; 0 is nil.
    Atom(u32),
    /// A small integer.
    Int(i64),
}

pub(crate) fn parse(file: &BeamFile<'_>, atoms: &AtomTable, literals: &Literals) -> Result<Vec<RecordDef>, LoadError> {
    let Some(mut reader) = file.reader(b"Recs") else { return Ok(Vec::new()) };
    if reader.u32()? != 0 {
        return Ok(Vec::new());
    }
    let (count, _fields) = (reader.u32()? as usize, reader.u32()?);
    if count > reader.remaining() / 4 {
        return Err(reader.malformed("a count larger than the chunk can hold"));
    }
    (0..count).map(|_| record(&mut reader, atoms, literals)).collect()
}

fn record(reader: &mut Reader<'_>, atoms: &AtomTable, literals: &Literals) -> Result<RecordDef, LoadError> {
    if reader.u8()? != Op::CallLast.number() {
        return Err(reader.malformed("not a record definition"));
    }
    let name = atom(reader, atoms)?;
    let exported = match atoms.get(atom(reader, atoms)?) {
        Some("true") => true,
        Some("false") => false,
        _ => return Err(reader.malformed("neither exported nor not")),
    };
    let Raw::List(count) = reader.raw()? else { return Err(reader.malformed("not a list of fields")) };
    if count % 2 != 0 {
        return Err(reader.malformed("a field without its default"));
    }
    let mut fields = Vec::with_capacity(count as usize / 2);
    for _ in 0..count / 2 {
        let field = atom(reader, atoms)?;
        let default = match reader.raw()? {
            Raw::U(0) => FieldDefault::None,
            Raw::Lit(literal) if (literal as usize) < literals.len() => FieldDefault::Lit(literal),
            Raw::Atom(atom) if atom == 0 || atoms.has(atom) => FieldDefault::Atom(atom),
            Raw::I(value) => FieldDefault::Int(value),
            _ => return Err(reader.malformed("not a default")),
        };
        fields.push((field, default));
    }
    Ok(RecordDef { name, exported, fields })
}

fn atom(reader: &mut Reader<'_>, atoms: &AtomTable) -> Result<u32, LoadError> {
    match reader.raw()? {
        Raw::Atom(atom) if atoms.has(atom) => Ok(atom),
        _ => Err(reader.malformed("not an atom")),
    }
}
