//! The NIFs of `prim_buffer`: byte buffers that processes share by a reference.

use crate::bytes::{ByteQueue, io_vector};
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Build, Magic, Term, am};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx};

static CLASS: LockClass = LockClass::new("prim_buffer", 340);

myriad_vm::bifs! { pub PRIM_BUFFER = "prim_buffer" {
    "new" / 0 Nif => new_0;
    "size" / 1 Nif => |ctx, a| with(a[0], |b| Ok(ctx.uint(b.queue.len() as u64)));
    "peek_head" / 1 Nif => |ctx, a| with(a[0], |b| b.queue.front_term(ctx).map_or_else(badarg, Ok));
    "copying_read" / 2 Nif => copying_read_2;
    "write" / 2 Nif => write_2;
    "skip" / 2 Nif => skip_2;
    "find_byte_index" / 2 Nif => find_byte_index_2;
    "try_lock" / 1 Nif => try_lock_1;
    "unlock" / 1 Nif => unlock_1;
}}

#[derive(Default)]
struct Buffer {
    queue: ByteQueue,
    /// Taken by `try_lock/1`: an advisory lock among the users.
    locked: bool,
}

type Shared = Mutex<Buffer>;

fn with<T>(term: Term, f: impl FnOnce(&mut Buffer) -> Result<T, Escape>) -> Result<T, Escape> {
    let Some(magic) = term.as_magic() else { return badarg() };
    let Some(buffer) = magic.get::<Shared>() else { return badarg() };
    f(&mut buffer.lock())
}

fn new_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let numbers = ctx.sched.next_ref();
    let magic = Magic::new::<Shared>(numbers, Mutex::new(&CLASS, Buffer::default()));
    Ok(myriad_term::magic::magic_reference(ctx, magic))
}

fn copying_read_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(count) = args[1].as_usize() else { return badarg() };
    let bytes = with(args[0], |b| if count <= b.queue.len() { Ok(b.queue.take(count)) } else { badarg() })?;
    ctx.bump(bytes.len() / 256);
    Ok(ctx.binary(&bytes))
}

fn write_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(pieces) = io_vector(args[1]) else { return badarg() };
    ctx.bump(pieces.len());
    with(args[0], |b| {
        pieces.into_iter().for_each(|p| b.queue.push(p));
        Ok(Term::OK)
    })
}

fn skip_2(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(count) = args[1].as_usize() else { return badarg() };
    with(args[0], |b| {
        if count > b.queue.len() {
            return badarg();
        }
        b.queue.skip(count);
        Ok(Term::OK)
    })
}

fn find_byte_index_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(byte) = args[1].as_small().and_then(|b| u8::try_from(b).ok()) else { return badarg() };
    let (found, len) = with(args[0], |b| Ok((b.queue.find(byte), b.queue.len())))?;
    ctx.bump(len / 1024);
    Ok(match found {
        Some(at) => ctx.tuple(&[Term::OK, Term::small(at as i64)]),
        None => Term::atom(am::not_found),
    })
}

fn try_lock_1(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with(args[0], |b| Ok(Term::atom(if std::mem::replace(&mut b.locked, true) { am::busy } else { am::acquired })))
}

fn unlock_1(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with(args[0], |b| {
        if std::mem::replace(&mut b.locked, false) {
            Ok(Term::OK)
        } else {
            Err(Escape::Error(Term::atom(am::lock_order_violation)))
        }
    })
}
