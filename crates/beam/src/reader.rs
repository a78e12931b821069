//! A bounds-checked reader over one chunk: big-endian integers and the compact operand encoding.
//!
//! Compact encoding: the low three bits of the first byte are the tag. Bit 3 clear: the value is
//! the upper four bits. Bit 3 set, bit 4 clear: the upper three bits and the next byte. Both set:
//! the upper three bits plus two give the number of big-endian two's-complement bytes that follow;
//! if the three bits are all set, that number is itself encoded (tag u) less nine.
//!
//! R1. No read goes beyond the chunk; no count read from it is believed without the bytes it needs.

use crate::error::{ChunkId, LoadError};

/// Registers X0..X1023 and Y0..Y1023 exist.
pub const MAX_REGISTERS: u16 = 1024;

/// Float registers FR0..FR1023: OTP's bound; compilers use few.
pub const MAX_FLOAT_REGISTERS: u16 = 1024;

#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    chunk: ChunkId,
}

/// One operand as encoded; a list announces how many operands follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Raw<'a> {
    U(u64),
    I(i64),
    /// Beyond 64 bits: big-endian two's complement.
    Big(&'a [u8]),
    /// 0 is nil.
    Atom(u32),
    X(u16),
    Y(u16),
    FR(u16),
    Label(u32),
    Lit(u32),
    List(u32),
    /// A heap need: this many (kind, count) pairs follow.
    Alloc(u32),
    TypedX(u16, u32),
    TypedY(u16, u32),
}

impl<'a> Reader<'a> {
    pub(crate) fn new(chunk: ChunkId, bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, chunk }
    }

    /// A reader of `bytes[start..end]` whose offsets count from the start of `bytes`.
    pub(crate) fn window(chunk: ChunkId, bytes: &'a [u8], start: usize, end: usize) -> Self {
        let bytes = bytes.get(..end).unwrap_or(bytes);
        Self { bytes, at: start.min(bytes.len()), chunk }
    }

    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// The next byte, not taken.
    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Takes the byte that `peek` gave.
    #[inline]
    pub(crate) fn skip(&mut self) {
        self.at += 1;
    }

    /// Goes to an offset.
    pub(crate) fn seek(&mut self, offset: usize) {
        self.at = offset.min(self.bytes.len());
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    #[cold]
    pub(crate) fn truncated(&self) -> LoadError {
        LoadError::Truncated { chunk: self.chunk, offset: self.bytes.len() }
    }

    #[cold]
    pub(crate) fn malformed(&self, what: &'static str) -> LoadError {
        LoadError::Malformed { chunk: self.chunk, offset: self.at, what }
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, LoadError> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.truncated())?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], LoadError> {
        if count > self.remaining() {
            return Err(self.truncated());
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, LoadError> {
        Ok(self.take(2)?.iter().fold(0, |n, b| n << 8 | u16::from(*b)))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, LoadError> {
        Ok(self.take(4)?.iter().fold(0, |n, b| n << 8 | u32::from(*b)))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, LoadError> {
        Ok(self.take(8)?.iter().fold(0, |n, b| n << 8 | i64::from(*b)))
    }

    /// A count of things of at least `size` bytes each (R1).
    pub(crate) fn count(&mut self, size: usize) -> Result<usize, LoadError> {
        let count = self.u32()? as usize;
        if count > self.remaining() / size {
            return Err(self.malformed("a count larger than the chunk can hold"));
        }
        Ok(count)
    }

    /// A value with tag u.
    pub(crate) fn unsigned(&mut self) -> Result<u64, LoadError> {
        match self.raw()? {
            Raw::U(value) => Ok(value),
            _ => Err(self.malformed("an unsigned value must stand here")),
        }
    }

    /// The bytes of a value too long for the one-byte and two-byte forms.
    fn long(&mut self, first: u8) -> Result<&'a [u8], LoadError> {
        let size = match first >> 5 {
            7 => {
                // The size of a size of a size is nowhere needed: one level, no recursion.
                let inner = self.u8()?;
                let more = match inner & 0x1f {
                    tag if tag & 7 != 0 => return Err(self.malformed("a size must be unsigned")),
                    tag if tag & 8 == 0 => usize::from(inner >> 4),
                    tag if tag & 16 == 0 => usize::from(inner >> 5) << 8 | usize::from(self.u8()?),
                    _ if inner >> 5 == 7 => return Err(self.malformed("a size beyond all files")),
                    _ => {
                        let bytes = self.take(usize::from(inner >> 5) + 2)?;
                        let size = bytes.iter().try_fold(0_u32, |n, b| Some(n.checked_mul(256)? | u32::from(*b)));
                        size.ok_or_else(|| self.malformed("a size beyond all files"))? as usize
                    }
                };
                more + 9
            }
            few => usize::from(few) + 2,
        };
        self.take(size)
    }

    /// The value part of an operand whose tag allows no negative values; of more than 64 bits, the largest of 64, which is
    /// within no limit but that of bit sizes, where it means the same: more than there are.
    #[inline]
    fn value(&mut self, first: u8) -> Result<u64, LoadError> {
        if first & 8 == 0 {
            return Ok(u64::from(first >> 4));
        }
        if first & 16 == 0 {
            return Ok(u64::from(first >> 5) << 8 | u64::from(self.u8()?));
        }
        let bytes = self.long(first)?;
        if bytes[0] & 0x80 != 0 {
            return Err(self.malformed("a negative value where none may be"));
        }
        let value = bytes.iter().try_fold(0_u64, |n, b| Some(n.checked_mul(256)? | u64::from(*b)));
        Ok(value.unwrap_or(u64::MAX))
    }

    #[inline]
    fn index(&mut self, first: u8) -> Result<u32, LoadError> {
        u32::try_from(self.value(first)?).map_err(|_| self.malformed("an index beyond 32 bits"))
    }

    #[inline]
    fn register(&mut self, first: u8, limit: u16) -> Result<u16, LoadError> {
        let value = self.value(first)?;
        if value < u64::from(limit) { Ok(value as u16) } else { Err(self.malformed("no such register")) }
    }

    fn integer(&mut self, first: u8) -> Result<Raw<'a>, LoadError> {
        if first & 0x18 != 0x18 {
            return Ok(Raw::I(self.value(first)? as i64));
        }
        let bytes = self.long(first)?;
        if bytes.len() > 8 {
            return Ok(Raw::Big(bytes));
        }
        let start = if bytes[0] & 0x80 != 0 { -1 } else { 0 };
        Ok(Raw::I(bytes.iter().fold(start, |n, b| n << 8 | i64::from(*b))))
    }

    /// The next operand.
    #[inline]
    pub(crate) fn raw(&mut self) -> Result<Raw<'a>, LoadError> {
        let first = self.u8()?;
        match first & 7 {
            0 => Ok(Raw::U(self.value(first)?)),
            1 => self.integer(first),
            2 => Ok(Raw::Atom(self.index(first)?)),
            3 => Ok(Raw::X(self.register(first, MAX_REGISTERS)?)),
            4 => Ok(Raw::Y(self.register(first, MAX_REGISTERS)?)),
            5 => Ok(Raw::Label(self.index(first)?)),
            6 => Err(self.malformed("a character operand, which no compiler emits")),
            _ => self.extended(first),
        }
    }

    fn extended(&mut self, first: u8) -> Result<Raw<'a>, LoadError> {
        match first >> 4 {
            1 => Ok(Raw::List(self.list_count(1)?)),
            2 => {
                let inner = self.u8()?;
                match inner & 7 {
                    0 => Ok(Raw::FR(self.register(inner, MAX_FLOAT_REGISTERS)?)),
                    _ => Err(self.malformed("a float register's number must be unsigned")),
                }
            }
            3 => Ok(Raw::Alloc(self.list_count(2)?)),
            4 => {
                let index = self.unsigned_index()?;
                Ok(Raw::Lit(index))
            }
            5 => {
                let inner = self.u8()?;
                let register = match inner & 7 {
                    3 | 4 => self.register(inner, MAX_REGISTERS)?,
                    _ => return Err(self.malformed("only a register can be typed")),
                };
                let type_index = self.unsigned_index()?;
                Ok(if inner & 7 == 3 { Raw::TypedX(register, type_index) } else { Raw::TypedY(register, type_index) })
            }
            _ => Err(self.malformed("an unknown extended operand")),
        }
    }

    fn unsigned_index(&mut self) -> Result<u32, LoadError> {
        let inner = self.u8()?;
        match inner & 7 {
            0 => self.index(inner),
            _ => Err(self.malformed("an unsigned value must stand here")),
        }
    }

    /// The length of a list whose items take at least `size` bytes each (R1).
    fn list_count(&mut self, size: usize) -> Result<u32, LoadError> {
        let count = self.unsigned_index()?;
        if count as usize > self.remaining() / size {
            return Err(self.malformed("a list longer than the chunk"));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(bytes: &[u8]) -> Result<Raw<'_>, LoadError> {
        Reader::new(ChunkId(*b"Code"), bytes).raw()
    }

    #[test]
    fn short_and_long_values() {
        assert_eq!(one(&[0xf0]), Ok(Raw::U(15)));
        assert_eq!(one(&[0x08 | 0xe0, 0xff]), Ok(Raw::U(0x7ff)));
        assert_eq!(one(&[0x18, 0x12, 0x34]), Ok(Raw::U(0x1234)));
        assert_eq!(one(&[0x19, 0xff, 0xfe]), Ok(Raw::I(-2)));
        assert_eq!(one(&[0x01 | 0xa0]), Ok(Raw::I(10)));
        assert_eq!(one(&[0xd9, 0x7f, 0, 0, 0, 0, 0, 0, 1]), Ok(Raw::I(0x7f00_0000_0000_0001)));
        let nine = [0xf9, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!(one(&nine), Ok(Raw::Big(&nine[2..])));
    }

    #[test]
    fn extended_operands() {
        assert_eq!(one(&[0x27, 0x30]), Ok(Raw::FR(3)));
        assert_eq!(one(&[0x47, 0x50]), Ok(Raw::Lit(5)));
        assert_eq!(one(&[0x57, 0x23, 0x10]), Ok(Raw::TypedX(2, 1)));
        assert_eq!(one(&[0x57, 0x24, 0x10]), Ok(Raw::TypedY(2, 1)));
        assert_eq!(one(&[0x17, 0x20, 0x03, 0x13]), Ok(Raw::List(2)));
    }

    #[test]
    fn refuses_what_cannot_be() {
        assert!(one(&[]).is_err());
        assert!(one(&[0x18, 0xff, 0xff]).is_err(), "negative unsigned");
        assert!(one(&[0x17, 0x20]).is_err(), "list longer than the chunk");
        assert!(one(&[0x0b | 0x80, 0x00]).is_err(), "x1024");
        assert!(one(&[0x06]).is_err(), "character");
        assert!(one(&[0xf9, 0xf8, 0xff]).is_err(), "size of size");
        assert!(one(&[0x57, 0x21, 0x10]).is_err(), "typed integer");
    }
}
