//! `unicode:characters_to_binary/3` to UTF-16 and UTF-32.

use crate::unicode::{End, Sink, Walk, encoding, in_slices};
use myriad_term::{BinaryBuffer, Term, am};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// A sink of UTF-16 or UTF-32.
struct Units {
    bytes: BinaryBuffer,
    wide: bool,
    little: bool,
}

impl Units {
    #[inline]
    fn push<const N: usize>(&mut self, mut unit: [u8; N]) {
        if self.little {
            unit.reverse();
        }
        self.bytes.extend_from_slice(&unit);
    }
}

impl Sink for Units {
    fn text(&mut self, text: &str) {
        self.bytes.reserve(2 * text.len());
        text.chars().for_each(|char| self.char(char));
    }

    fn latin1(&mut self, bytes: &[u8]) {
        self.bytes.reserve(2 * bytes.len());
        bytes.iter().for_each(|byte| self.char(char::from(*byte)));
    }

    #[inline]
    fn char(&mut self, char: char) {
        if self.wide {
            return self.push(u32::from(char).to_be_bytes());
        }
        match u16::try_from(char) {
            Ok(unit) => self.push(unit.to_be_bytes()),
            Err(_) => char.encode_utf16(&mut [0; 2]).iter().for_each(|unit| self.push(unit.to_be_bytes())),
        }
    }
}

/// The sink of an encoding with wide units.
fn units(encoding: Term) -> Option<Units> {
    let (name, little) = match encoding.as_tuple_of::<2>() {
        Some([name, endian]) if endian.is_am(am::little) => (name, true),
        Some([name, endian]) if endian.is_am(am::big) => (name, false),
        Some(_) => return None,
        None => (encoding, false),
    };
    match name.as_atom()? {
        am::utf16 => Some(Units { bytes: BinaryBuffer::new(), wide: false, little }),
        am::utf32 => Some(Units { bytes: BinaryBuffer::new(), wide: true, little }),
        _ => None,
    }
}

/// Converts what is right; anything else is declined.
pub fn characters_to_binary(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(latin1), Some(sink)) = (encoding(args[1]), units(args[2])) else { return Err(Escape::Decline) };
    let mut walk = Walk::new(sink, args[0], latin1);
    in_slices(ctx, move |ctx, budget| match walk.run(ctx, budget) {
        Ok(None) => Ok(None),
        Ok(Some(End::Done)) => Ok(Some(std::mem::take(&mut walk.sink.bytes).shrunk().into_term(ctx))),
        _ => Err(Escape::Decline),
    })
}
