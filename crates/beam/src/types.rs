//! The type chunk: what the compiler knew about the values of registers. A hint for optimisers:
//! a missing or unknown chunk costs speed, not correctness. A lying chunk is possible, so code that
//! trusts it must stay memory-safe when it lies (OTP itself trusts it).
//!
//! Versions 1 (OTP 25), 3 (27) and 4 (29) are read into one lattice value; others are ignored.

use crate::container::BeamFile;
use crate::error::LoadError;

/// A set of types, with bounds where all members are integers or floats of a known range, and a
/// unit where they are bit strings of a known unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// Union of the `Type::*` bits.
    pub bits: u16,
    /// Lower bound of a number.
    pub min: Option<i64>,
    /// Upper bound of a number.
    pub max: Option<i64>,
    /// The size of a bit string in bits is a multiple of this; from 1.
    pub unit: u16,
}

impl Type {
    /// Atoms.
    pub const ATOM: u16 = 1 << 0;
    /// Bit strings, binaries among them.
    pub const BITSTRING: u16 = 1 << 1;
    /// Cons cells.
    pub const CONS: u16 = 1 << 2;
    /// Floats.
    pub const FLOAT: u16 = 1 << 3;
    /// Funs.
    pub const FUN: u16 = 1 << 4;
    /// Integers.
    pub const INTEGER: u16 = 1 << 5;
    /// Maps.
    pub const MAP: u16 = 1 << 6;
    /// The empty list.
    pub const NIL: u16 = 1 << 7;
    /// Pids.
    pub const PID: u16 = 1 << 8;
    /// Ports.
    pub const PORT: u16 = 1 << 9;
    /// References.
    pub const REFERENCE: u16 = 1 << 10;
    /// Tuples.
    pub const TUPLE: u16 = 1 << 11;
    /// Native records (OTP 29).
    pub const RECORD: u16 = 1 << 12;
    /// Match contexts, which are no terms.
    pub const MATCH_STATE: u16 = 1 << 13;
    /// All of them.
    pub const ALL: u16 = (1 << 14) - 1;

    /// Anything.
    pub const ANY: Type = Type { bits: Type::ALL, min: None, max: None, unit: 1 };

    /// Whether no value outside `bits` is possible.
    pub const fn is_only(&self, bits: u16) -> bool {
        self.bits & !bits == 0
    }

    /// Whether some value of `bits` is possible.
    pub const fn may_be(&self, bits: u16) -> bool {
        self.bits & bits != 0
    }
}

pub(crate) fn parse(file: &BeamFile<'_>) -> Result<Vec<Type>, LoadError> {
    let Some(mut reader) = file.reader(b"Type") else { return Ok(Vec::new()) };
    let version = reader.u32()?;
    if !matches!(version, 1 | 3 | 4) {
        return Ok(Vec::new());
    }
    let count = reader.count(if version == 1 { 18 } else { 2 })?;
    let mut types = Vec::with_capacity(count);
    for _ in 0..count {
        let bits = reader.u16()?;
        types.push(if version == 1 {
            let (min, max) = (reader.i64()?, reader.i64()?);
            // No bounds are written as an empty range.
            let bounded = min <= max;
            Type { bits: from_version_1(bits), min: bounded.then_some(min), max: bounded.then_some(max), unit: 1 }
        } else {
            let announce = if version == 3 { bits >> 12 } else { bits >> 13 };
            let mut bound = |bit: u16| (announce & bit != 0).then(|| reader.i64()).transpose();
            let (min, max) = (bound(1)?, bound(2)?);
            let unit = if announce & 4 != 0 { u16::from(reader.u8()?) + 1 } else { 1 };
            // All types that the version knows: anything, also what it does not know.
            let known = if version == 3 { Type::RECORD - 1 } else { Type::MATCH_STATE - 1 };
            let bits = if bits & known == known { Type::ALL } else { bits & known };
            Type { bits, min, max, unit }
        });
    }
    Ok(types)
}

/// Version 1 has the match state at bit 2 and all later types one bit higher.
fn from_version_1(bits: u16) -> u16 {
    const ALL_1: u16 = (1 << 13) - 1;
    if bits & ALL_1 == ALL_1 {
        return Type::ALL;
    }
    let state = if bits & 4 != 0 { Type::MATCH_STATE } else { 0 };
    bits & 3 | (bits & ALL_1) >> 1 & !3 | state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::form;

    fn parse_bytes(data: &[u8]) -> Result<Vec<Type>, LoadError> {
        let bytes = form(&[(b"Type", data.to_vec())]);
        parse(&BeamFile::parse(&bytes).unwrap())
    }

    #[test]
    fn version_1() {
        let mut data = b"\0\0\0\x01\0\0\0\x03".to_vec();
        for (bits, min, max) in [(0x1fff_u16, 0_i64, -1_i64), (1 << 6, 3, 9), (1 << 3 | 1 << 2, 0, -1)] {
            data.extend(bits.to_be_bytes());
            data.extend(min.to_be_bytes());
            data.extend(max.to_be_bytes());
        }
        let types = parse_bytes(&data).unwrap();
        assert_eq!(types[0], Type::ANY);
        assert_eq!(types[1], Type { bits: Type::INTEGER, min: Some(3), max: Some(9), unit: 1 });
        assert_eq!(types[2], Type { bits: Type::CONS | Type::MATCH_STATE, min: None, max: None, unit: 1 });
        assert!(parse_bytes(&data[..20]).is_err());
    }

    #[test]
    fn versions_3_and_4() {
        let mut v3 = b"\0\0\0\x03\0\0\0\x03\x0f\xff".to_vec();
        v3.extend((Type::INTEGER | 1 << 12).to_be_bytes());
        v3.extend(7_i64.to_be_bytes());
        v3.extend((Type::BITSTRING | 1 << 14).to_be_bytes());
        v3.push(7);
        let types = parse_bytes(&v3).unwrap();
        assert_eq!(types[0], Type::ANY);
        assert_eq!(types[1], Type { bits: Type::INTEGER, min: Some(7), max: None, unit: 1 });
        assert_eq!(types[2], Type { bits: Type::BITSTRING, min: None, max: None, unit: 8 });
        let mut v4 = b"\0\0\0\x04\0\0\0\x02\x1f\xff".to_vec();
        v4.extend((Type::INTEGER | Type::RECORD | 1 << 14).to_be_bytes());
        v4.extend((-1_i64).to_be_bytes());
        let types = parse_bytes(&v4).unwrap();
        assert_eq!(types[0], Type::ANY);
        assert_eq!(types[1], Type { bits: Type::INTEGER | Type::RECORD, min: None, max: Some(-1), unit: 1 });
    }

    #[test]
    fn other_versions_are_ignored() {
        assert_eq!(parse_bytes(b"\0\0\0\x02junk").unwrap(), []);
        assert_eq!(parse_bytes(b"\0\0\0\x05").unwrap(), []);
    }
}
