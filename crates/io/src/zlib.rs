//! The NIFs of `zlib`: compression streams.
//!
//! `zlib.erl` puts input in the stream's queue and then asks for one piece of output after another; each call does a bounded
//! amount of work, so no call yields.
//!
//! Z1. A stream is used by its controlling process only; the lock is there because a reference can go anywhere.

mod stream;

use crate::bytes::{io_vector, iodata};
use myriad_process::Payload;
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Atom, Build, Magic, Pid, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx, Escape};
use stream::{AtEnd, Failure, Made, Mode, Stream};

static CLASS: LockClass = LockClass::new("zlib", 340);

/// Most bytes that one call may be asked to make: far above what `zlib.erl` asks for.
const MOST: usize = 1 << 26;
/// Default of `zlib:getBufSize/1`.
const BUFFER_SIZE: usize = 4000;

myriad_vm::bifs! { pub ZLIB = "zlib" {
    "open_nif" / 0 Nif => open_nif;
    "close_nif" / 1 Nif => |ctx, a| with(ctx, a[0], |z| z.stream.close().map(|()| Term::OK).map_err(raise));
    "set_controller_nif" / 2 Nif => set_controller_nif;
    "deflateInit_nif" / 6 Nif => deflate_init_nif;
    "deflateSetDictionary_nif" / 2 Nif => deflate_set_dictionary_nif;
    "deflateReset_nif" / 1 Nif => |ctx, a| with(ctx, a[0], |z| done(z.stream.reset(Mode::Deflate)));
    "deflateEnd_nif" / 1 Nif => |ctx, a| with(ctx, a[0], |z| done(z.stream.end(Mode::Deflate)));
    "deflateParams_nif" / 3 Nif => deflate_params_nif;
    "deflate_nif" / 4 Nif => |ctx, a| make(ctx, a, Mode::Deflate);
    "inflateInit_nif" / 3 Nif => inflate_init_nif;
    "inflateSetDictionary_nif" / 2 Nif => inflate_set_dictionary_nif;
    "inflateGetDictionary_nif" / 1 Nif => inflate_get_dictionary_nif;
    "inflateReset_nif" / 1 Nif => |ctx, a| with(ctx, a[0], |z| done(z.stream.reset(Mode::Inflate)));
    "inflateEnd_nif" / 1 Nif => |ctx, a| with(ctx, a[0], |z| done(z.stream.end(Mode::Inflate)));
    "inflate_nif" / 4 Nif => |ctx, a| make(ctx, a, Mode::Inflate);
    "crc32_nif" / 1 Nif => crc32_nif;
    "getStash_nif" / 1 Nif => get_stash_nif;
    "clearStash_nif" / 1 Nif => clear_stash_nif;
    "setStash_nif" / 2 Nif => set_stash_nif;
    "getBufSize_nif" / 1 Nif => |ctx, a| with(ctx, a[0], |z| Ok(Term::small(z.buffer_size as i64)));
    "setBufSize_nif" / 2 Nif => set_buf_size_nif;
    "enqueue_nif" / 2 Nif => enqueue_nif;
}}

/// What a reference from `zlib:open/0` stands for.
struct Zlib {
    stream: Stream,
    controller: Pid,
    /// A term that `zlib.erl` keeps between calls (output made before an error).
    stash: Option<Payload>,
    buffer_size: usize,
}

type Shared = Mutex<Zlib>;

fn error<T>(reason: Atom) -> Result<T, Escape> {
    Err(Escape::Error(reason.term()))
}

fn raise(failure: Failure) -> Escape {
    Escape::Error(
        match failure {
            Failure::NotInitialized => am::not_initialized,
            Failure::AlreadyInitialized => am::already_initialized,
            Failure::Stream => am::stream_error,
            Failure::Data => am::data_error,
            Failure::Buffer => am::buf_error,
            Failure::Memory => am::enomem,
            Failure::Version => am::version_error,
        }
        .term(),
    )
}

fn done(result: Result<(), Failure>) -> BifResult {
    result.map(|()| Term::OK).map_err(raise)
}

/// Does something with the stream behind an argument (Z1).
fn with<T>(ctx: &Ctx<'_>, term: Term, f: impl FnOnce(&mut Zlib) -> Result<T, Escape>) -> Result<T, Escape> {
    let Some(magic) = term.as_magic() else { return badarg() };
    let Some(zlib) = magic.get::<Shared>() else { return badarg() };
    let mut zlib = zlib.lock();
    if zlib.controller != ctx.pid() {
        return error(am::not_on_controlling_process);
    }
    f(&mut zlib)
}

fn open_nif(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let numbers = ctx.sched.next_ref();
    let zlib = Zlib { stream: Stream::new(), controller: ctx.pid(), stash: None, buffer_size: BUFFER_SIZE };
    Ok(myriad_term::magic::magic_reference(ctx, Magic::new::<Shared>(numbers, Mutex::new(&CLASS, zlib))))
}

fn set_controller_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(pid) = args[1].as_local_pid() else { return badarg() };
    with(ctx, args[0], |z| {
        z.controller = pid;
        Ok(Term::OK)
    })
}

/// An argument that is a C `int`.
fn int(term: Term) -> Result<i32, Escape> {
    term.as_small().and_then(|n| i32::try_from(n).ok()).ok_or(myriad_vm::bif::BADARG)
}

fn deflate_init_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (level, method, bits) = (int(args[1])?, int(args[2])?, int(args[3])?);
    let (memory, strategy) = (int(args[4])?, int(args[5])?);
    with(ctx, args[0], |z| done(z.stream.start_deflate(level, method, bits, memory, strategy)))
}

fn inflate_init_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let bits = int(args[1])?;
    let at_end = match int(args[2])? {
        0 => AtEnd::Error,
        1 => AtEnd::Reset,
        2 => AtEnd::Cut,
        _ => return badarg(),
    };
    with(ctx, args[0], |z| done(z.stream.start_inflate(bits, at_end)))
}

fn deflate_set_dictionary_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(dictionary) = iodata(args[1]) else { return badarg() };
    let adler = with(ctx, args[0], |z| z.stream.set_dictionary(Mode::Deflate, &dictionary).map_err(raise))?;
    Ok(Term::small(i64::from(adler)))
}

fn inflate_set_dictionary_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(dictionary) = iodata(args[1]) else { return badarg() };
    with(ctx, args[0], |z| z.stream.set_dictionary(Mode::Inflate, &dictionary).map_err(raise))?;
    Ok(Term::OK)
}

fn inflate_get_dictionary_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let dictionary = with(ctx, args[0], |z| z.stream.dictionary().map_err(raise))?;
    Ok(ctx.binary(&dictionary))
}

fn deflate_params_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (level, strategy) = (int(args[1])?, int(args[2])?);
    with(ctx, args[0], |z| done(z.stream.set_params(level, strategy)))
}

/// `deflate_nif`/`inflate_nif(Z, InputSize, OutputSize, Flush)`: `{continue | finished, Output}` or
/// `{need_dictionary, Adler32, Output}`.
fn make(ctx: &mut Ctx<'_>, args: &[Term], mode: Mode) -> BifResult {
    let (Some(input), Some(output)) = (args[1].as_usize(), args[2].as_usize()) else { return badarg() };
    if output == 0 || output > MOST || input > MOST {
        return badarg();
    }
    let flush = int(args[3])?;
    let (made, bytes, consumed) = with(ctx, args[0], |z| z.stream.make(mode, input, output, flush).map_err(raise))?;
    ctx.bump((consumed + bytes.len()) / 50 + 20);
    let list = if bytes.is_empty() {
        Term::NIL
    } else {
        let binary = bytes.shrunk().into_term(ctx);
        ctx.list(&[binary])
    };
    Ok(match made {
        Made::Continue => ctx.tuple(&[Term::atom(am::continue_), list]),
        Made::Finished => ctx.tuple(&[Term::atom(am::finished), list]),
        Made::NeedDictionary(adler) => {
            ctx.tuple(&[Term::atom(am::need_dictionary), Term::small(i64::from(adler)), list])
        }
    })
}

fn crc32_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let crc = with(ctx, args[0], |z| z.stream.crc().map_err(raise))?;
    Ok(Term::small(i64::from(crc)))
}

fn get_stash_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    // Copied out under the lock, in a payload of its own: the stash may be cleared before the caller is done with it.
    let stash = with(ctx, args[0], |z| Ok(z.stash.as_ref().map(|p| Payload::copy(p.term()))))?;
    Ok(match stash {
        Some(payload) => {
            let term = payload.attach(&mut ctx.state.heap);
            ctx.tuple(&[Term::OK, term])
        }
        None => Term::atom(am::empty),
    })
}

fn clear_stash_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with(ctx, args[0], |z| if z.stash.take().is_some() { Ok(Term::OK) } else { error(am::error) })
}

fn set_stash_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with(ctx, args[0], |z| {
        if z.stash.is_some() {
            return error(am::error);
        }
        z.stash = Some(Payload::whole(args[1]));
        Ok(Term::OK)
    })
}

fn set_buf_size_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(size) = args[1].as_usize().filter(|s| (1..=MOST).contains(s)) else { return badarg() };
    with(ctx, args[0], |z| {
        z.buffer_size = size;
        Ok(Term::OK)
    })
}

fn enqueue_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(pieces) = io_vector(args[1]) else { return badarg() };
    ctx.bump(pieces.len());
    with(ctx, args[0], |z| {
        pieces.into_iter().for_each(|p| z.stream.enqueue(p));
        Ok(Term::OK)
    })
}
