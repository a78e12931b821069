//! Between lists and binaries: iodata to binaries, sizes and vectors, binaries to lists, splitting.

use crate::guards::sub_binary;
use crate::iodata::{Gathering, Sink, Walk, each_run, is_longer};
use crate::work::{self, Pace, in_slices, in_slices_at};
use myriad_term::{BinaryBuffer, Bits, Build, Mfa, Term, am};
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
/// Cells that are walked for one reduction.
const CELLS_PER_REDUCTION: usize = 8;
/// Bytes for one reduction, mixed from copying and walking.
const BYTES_PER_REDUCTION: usize = 64;
/// Binaries of a vector that are smaller are copied together.
const OWN_PIECE: usize = 512;

/// Goes to a dirty scheduler if the data are long.
pub fn dirty_if_long(ctx: &Ctx<'_>, data: Term) -> Result<(), Escape> {
    if !ctx.sched.dirty && data.is_cons() && is_longer(data, LONG) { work::dirty(ctx) } else { Ok(()) }
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
    let (mut walk, mut size) = (Walk::new(args[0]), 0);
    in_slices(ctx, CELLS_PER_REDUCTION, move |ctx, budget| {
        let done = walk.count::<false>(&mut size, budget)?;
        Ok(done.then(|| ctx.uint(size as u64)))
    })
}

/// The function that a process is said to be in while a list is made a binary, slice by slice.
const LIST_TO_BINARY: Mfa = Mfa { module: am::erts_internal, function: am::list_to_binary_continue, arity: 1 };

fn iolist_to_binary_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if let Some(bits) = args[0].as_bits() {
        return if bits.is_binary() { Ok(args[0]) } else { badarg() };
    }
    let mut gathering = Gathering::new(args[0], BinaryBuffer::new());
    in_slices_at(ctx, Pace::of(CELLS_PER_REDUCTION).in_function(LIST_TO_BINARY), move |ctx, budget| {
        let done = gathering.run(budget)?;
        Ok(done.then(|| std::mem::take(&mut gathering.sink).shrunk().into_term(ctx)))
    })
}

pub(crate) fn list_to_binary_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if args[0].is_list() { iolist_to_binary_1(ctx, args) } else { badarg() }
}

/// Bits one after another.
#[derive(Default)]
struct BitBuffer {
    bytes: BinaryBuffer,
    bits: usize,
}

impl AsMut<BinaryBuffer> for BitBuffer {
    fn as_mut(&mut self) -> &mut BinaryBuffer {
        &mut self.bytes
    }
}

impl Sink for BitBuffer {
    const BITS: bool = true;

    fn bytes(&mut self, run: &[u8]) {
        let used = self.bits % 8;
        self.bits += 8 * run.len();
        if used == 0 {
            self.bytes.extend_from_slice(run);
            return;
        }
        // The last byte's free low bits are zero.
        let mut last = self.bytes.pop().unwrap_or(0);
        for byte in run {
            self.bytes.push(last | byte >> used);
            last = byte << (8 - used);
        }
        self.bytes.push(last);
    }

    fn binary(&mut self, bits: Bits<'_>) {
        let whole = bits.len() / 8;
        if let Some(part) = bits.part(0, 8 * whole) {
            self.bytes(&part.to_bytes());
        }
        let rest = bits.len() % 8;
        if rest > 0 {
            // Bits behind the end are zeros here: `Bits::byte` fills with them.
            self.bytes(&[bits.byte(whole)]);
            self.bits -= 8 - rest;
            self.bytes.truncate(self.bits.div_ceil(8));
        }
    }
}

fn list_to_bitstring_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if !args[0].is_list() {
        return badarg();
    }
    let mut gathering = Gathering::new(args[0], BitBuffer::default());
    in_slices_at(ctx, Pace::of(CELLS_PER_REDUCTION).in_function(LIST_TO_BINARY), move |ctx, budget| {
        if !gathering.run(budget)? {
            return Ok(None);
        }
        let buffer = &mut gathering.sink;
        if buffer.bits.is_multiple_of(8) {
            return Ok(Some(std::mem::take(&mut buffer.bytes).shrunk().into_term(ctx)));
        }
        Ok(Some(ctx.bitstring(&buffer.bytes, buffer.bits)))
    })
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
    let mut vector = Vector { pieces: Vec::new(), small: BinaryBuffer::new() };
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
    small: BinaryBuffer,
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
            let piece = std::mem::take(&mut self.small).shrunk().into_term(ctx);
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
