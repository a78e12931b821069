//! Between lists and binaries: iodata to binaries, sizes and vectors, binaries to lists, splitting.

use crate::guards::sub_binary;
use crate::iodata::{each_run, is_longer};
use crate::work;
use myriad_term::{Bits, Build, SharedBinary, Term};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub IOLISTS = "erlang" {
    "iolist_size" / 1 Plain => iolist_size_1;
    "iolist_to_binary" / 1 Plain => iolist_to_binary_1;
    "iolist_to_iovec" / 1 Plain => iolist_to_iovec_1;
    "list_to_binary" / 1 Plain => list_to_binary_1;
    "list_to_bitstring" / 1 Plain => list_to_bitstring_1;
    "binary_to_list" / 1 Plain => binary_to_list_1;
    "binary_to_list" / 3 Plain => binary_to_list_3;
    "bitstring_to_list" / 1 Plain => bitstring_to_list_1;
    "split_binary" / 2 Plain => split_binary_2;
}}

/// More cells and bytes than this go to a dirty scheduler.
const LONG: usize = 250_000;
/// Bytes for one reduction, mixed from copying and walking.
const BYTES_PER_REDUCTION: usize = 64;
/// Binaries of a vector that are smaller are copied together.
const OWN_PIECE: usize = 512;

/// Goes to a dirty scheduler if the data are long.
pub fn dirty_if_long(ctx: &Ctx<'_>, data: Term) -> Result<(), Escape> {
    if !ctx.sched.dirty && data.is_cons() && is_longer(data, LONG) { work::dirty(ctx) } else { Ok(()) }
}

/// A binary of bytes that are owned: not copied if it is to be shared.
pub fn binary_of_vec(ctx: &mut Ctx<'_>, mut bytes: Vec<u8>) -> Term {
    if bytes.len() <= myriad_term::binary::HEAP_BINARY_LIMIT {
        return ctx.binary(&bytes);
    }
    if bytes.capacity() - bytes.len() > bytes.len() / 4 {
        bytes.shrink_to_fit();
    }
    ctx.shared_binary(SharedBinary::from_vec(bytes))
}

/// All bytes of iodata.
pub fn bytes_of(ctx: &mut Ctx<'_>, data: Term) -> Result<Vec<u8>, Escape> {
    dirty_if_long(ctx, data)?;
    let mut bytes = Vec::new();
    each_run(data, |run| bytes.extend_from_slice(run))?;
    ctx.bump(bytes.len() / BYTES_PER_REDUCTION);
    Ok(bytes)
}

fn iolist_size_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if let Some(bits) = args[0].as_bits() {
        return if bits.is_binary() { Ok(Term::small((bits.len() / 8) as i64)) } else { badarg() };
    }
    let (mut size, mut cells) = (0usize, 0);
    let mut left = Vec::new();
    let mut at = args[0];
    loop {
        while let Some((head, tail)) = at.as_cons() {
            cells += 1;
            if head.is_list() {
                left.push(tail);
                at = head;
                continue;
            }
            size += byte_size(head, true)?;
            at = tail;
        }
        size += if at.is_nil() { 0 } else { byte_size(at, false)? };
        match left.pop() {
            Some(tail) => at = tail,
            None => break,
        }
    }
    ctx.bump(cells / 16);
    Ok(ctx.uint(size as u64))
}

/// What an element (or a tail, which may be no byte) of iodata adds.
fn byte_size(item: Term, head: bool) -> Result<usize, Escape> {
    match (item.as_small(), item.as_bits()) {
        (Some(0..=255), _) if head => Ok(1),
        (_, Some(bits)) if bits.is_binary() => Ok(bits.len() / 8),
        _ => badarg(),
    }
}

fn iolist_to_binary_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if let Some(bits) = args[0].as_bits() {
        return if bits.is_binary() { Ok(args[0]) } else { badarg() };
    }
    let bytes = bytes_of(ctx, args[0])?;
    Ok(binary_of_vec(ctx, bytes))
}

pub(crate) fn list_to_binary_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if args[0].is_list() { iolist_to_binary_1(ctx, args) } else { badarg() }
}

/// Bits one after another.
#[derive(Default)]
struct BitBuffer {
    bytes: Vec<u8>,
    bits: usize,
}

impl BitBuffer {
    fn push(&mut self, bits: Bits<'_>) {
        let used = self.bits % 8;
        if used == 0 {
            self.bytes.extend_from_slice(&bits.to_bytes());
        } else {
            // The last byte's free low bits are zero: `Bits::byte` fills with zeros.
            for i in 0..bits.len().div_ceil(8) {
                let byte = bits.byte(i);
                if let Some(last) = self.bytes.last_mut() {
                    *last |= byte >> used;
                }
                self.bytes.push(byte << (8 - used));
            }
        }
        self.bits += bits.len();
        self.bytes.truncate(self.bits.div_ceil(8));
    }
}

fn list_to_bitstring_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if !args[0].is_list() {
        return badarg();
    }
    dirty_if_long(ctx, args[0])?;
    let mut buffer = BitBuffer::default();
    let mut left = Vec::new();
    let mut at = args[0];
    loop {
        while let Some((head, tail)) = at.as_cons() {
            if head.is_list() {
                left.push(tail);
                at = head;
                continue;
            }
            match (head.as_small().map(u8::try_from), head.as_bits()) {
                (Some(Ok(byte)), _) => buffer.push(Bits::new(&[byte], 0, 8)),
                (_, Some(bits)) => buffer.push(bits),
                _ => return badarg(),
            }
            at = tail;
        }
        match at.as_bits() {
            Some(bits) => buffer.push(bits),
            None if at.is_nil() => {}
            None => return badarg(),
        }
        match left.pop() {
            Some(tail) => at = tail,
            None => break,
        }
    }
    ctx.bump(buffer.bytes.len() / BYTES_PER_REDUCTION);
    Ok(ctx.bitstring(&buffer.bytes, buffer.bits))
}

/// Pieces of a vector: large binaries as they are, what is between them copied together.
fn iolist_to_iovec_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if let Some(bits) = args[0].as_bits() {
        return match bits.is_binary() {
            true if bits.is_empty() => Ok(Term::NIL),
            true => Ok(ctx.list(args)),
            false => badarg(),
        };
    }
    dirty_if_long(ctx, args[0])?;
    let mut vector = Vector { pieces: Vec::new(), small: Vec::new() };
    let mut left = Vec::new();
    let mut at = args[0];
    loop {
        while let Some((head, tail)) = at.as_cons() {
            if head.is_list() {
                left.push(tail);
                at = head;
                continue;
            }
            match head.as_small().map(u8::try_from) {
                Some(Ok(byte)) => vector.small.push(byte),
                _ => vector.binary(ctx, head)?,
            }
            at = tail;
        }
        if !at.is_nil() {
            vector.binary(ctx, at)?;
        }
        match left.pop() {
            Some(tail) => at = tail,
            None => break,
        }
    }
    vector.flush(ctx);
    Ok(ctx.list(&vector.pieces))
}

struct Vector {
    pieces: Vec<Term>,
    small: Vec<u8>,
}

impl Vector {
    fn binary(&mut self, ctx: &mut Ctx<'_>, item: Term) -> Result<(), Escape> {
        let Some(bits) = item.as_bits().filter(|b| b.is_binary()) else { return badarg() };
        match bits.as_bytes() {
            Some(bytes) if bytes.len() >= OWN_PIECE => {
                self.flush(ctx);
                self.pieces.push(item);
            }
            _ => self.small.extend_from_slice(&bits.to_bytes()),
        }
        Ok(())
    }

    fn flush(&mut self, ctx: &mut Ctx<'_>) {
        if !self.small.is_empty() {
            ctx.bump(self.small.len() / BYTES_PER_REDUCTION);
            let piece = binary_of_vec(ctx, std::mem::take(&mut self.small));
            self.pieces.push(piece);
        }
    }
}

fn byte_list(ctx: &mut Ctx<'_>, bytes: &[u8], tail: Term) -> Result<Term, Escape> {
    ctx.make_room(2 * bytes.len())?;
    if bytes.len() > LONG {
        work::dirty(ctx)?;
    }
    ctx.bump(bytes.len() / 16);
    Ok(ctx.byte_list(bytes, tail))
}

fn binary_to_list_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[0].as_binary() {
        Some(bytes) => byte_list(ctx, &bytes, Term::NIL),
        None => badarg(),
    }
}

/// Bytes from one place to another, counted from one.
fn binary_to_list_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(bits), Some(from), Some(to)) = (args[0].as_bits(), args[1].as_usize(), args[2].as_usize()) else {
        return badarg();
    };
    if from < 1 || from > to || to > bits.len() / 8 {
        return badarg();
    }
    match bits.part((from - 1) * 8, (to - from + 1) * 8) {
        Some(part) => byte_list(ctx, &part.to_bytes(), Term::NIL),
        None => badarg(),
    }
}

fn bitstring_to_list_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(bits) = args[0].as_bits() else { return badarg() };
    let whole = bits.len() / 8 * 8;
    let rest = bits.len() - whole;
    let tail = if rest == 0 {
        Term::NIL
    } else {
        let last = ctx.bitstring(&[bits.byte(whole / 8)], rest);
        ctx.cons(last, Term::NIL)
    };
    match bits.part(0, whole) {
        Some(part) => byte_list(ctx, &part.to_bytes(), tail),
        None => badarg(),
    }
}

fn split_binary_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(bits), Some(at)) = (args[0].as_bits(), args[1].as_usize()) else { return badarg() };
    if at > bits.len() / 8 {
        return badarg();
    }
    let head = sub_binary(ctx, args[0], 0, at * 8);
    let tail = sub_binary(ctx, args[0], at * 8, bits.len() - at * 8);
    Ok(ctx.tuple(&[head, tail]))
}
