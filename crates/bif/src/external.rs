//! The external term format: `term_to_binary` and its kin.
//!
//! Long work gives way between slices. What cannot stop in the middle, compressing, runs on a dirty scheduler where it is
//! much.

use crate::argument::Bytes;
use crate::work::{Budget, TERMS_PER_REDUCTION, dirty};
use myriad_term::etf::{DecodeError, DecodeOptions, Decoder, EncodeOptions, Encoder, Piece, Sizer, measure};
use myriad_term::{Build, Mfa, Term, am};
use myriad_vm::bif::{BADARG, Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub EXTERNAL = "erlang" {
    "term_to_binary" / 1 Plain => |ctx, a| { let options = defaults(ctx); encode(ctx, a[0], options, false) };
    "term_to_binary" / 2 Plain => |ctx, a| { let options = encode_options(ctx, a[1])?; encode(ctx, a[0], options, false) };
    "term_to_iovec" / 1 Plain => |ctx, a| { let options = defaults(ctx); encode(ctx, a[0], options, true) };
    "term_to_iovec" / 2 Plain => |ctx, a| { let options = encode_options(ctx, a[1])?; encode(ctx, a[0], options, true) };
    "external_size" / 1 Plain => |ctx, a| { let options = defaults(ctx); size(ctx, a[0], options) };
    "external_size" / 2 Plain => |ctx, a| { let options = size_options(ctx, a[1])?; size(ctx, a[0], options) };
    "binary_to_term" / 1 Plain => |ctx, a| decode(ctx, a[0], DecodeOptions::default(), false);
    "binary_to_term" / 2 Plain => binary_to_term_2;
}}

/// Level that the option `compressed` means.
const DEFAULT_LEVEL: u8 = 6;
/// More bytes than this are (de)compressed on a dirty scheduler.
const COMPRESS_LIMIT: usize = 32 * 1024;

/// Terms of this number of bytes and more are measured before they are decoded, unless there is room for them anyway.
const MEASURED: usize = 1024;
/// Bytes of a term that are measured: a fraction of a millisecond.
const MOST_MEASURED: usize = 1 << 19;

fn defaults(ctx: &Ctx<'_>) -> EncodeOptions {
    EncodeOptions { minor_version: if ctx.vm.release.utf8_atoms { 2 } else { 1 }, ..EncodeOptions::default() }
}

/// The items of a proper list of options.
fn each_option(list: Term, mut f: impl FnMut(Term) -> Option<()>) -> Result<(), Escape> {
    let mut options = list.list_iter();
    for option in options.by_ref() {
        if f(option).is_none() {
            return badarg();
        }
    }
    if options.tail().is_nil() { Ok(()) } else { badarg() }
}

fn number_up_to(term: Term, most: u8) -> Option<u8> {
    term.as_usize().and_then(|n| u8::try_from(n).ok()).filter(|n| *n <= most)
}

fn encode_options(ctx: &Ctx<'_>, list: Term) -> Result<EncodeOptions, Escape> {
    let mut options = defaults(ctx);
    each_option(list, |option| {
        match (option.as_atom(), option.as_tuple_of::<2>()) {
            (Some(am::compressed), _) => options.compressed = DEFAULT_LEVEL,
            (Some(am::deterministic), _) => options.deterministic = true,
            (_, Some([key, level])) if key.is_am(am::compressed) => options.compressed = number_up_to(level, 9)?,
            (_, Some([key, n])) if key.is_am(am::minor_version) => options.minor_version = number_up_to(n, 2)?,
            _ => return None,
        }
        Some(())
    })?;
    Ok(options)
}

fn size_options(ctx: &Ctx<'_>, list: Term) -> Result<EncodeOptions, Escape> {
    let mut options = defaults(ctx);
    let most = if ctx.vm.release.utf8_atoms { 2 } else { 1 };
    each_option(list, |option| match option.as_tuple_of::<2>() {
        Some([key, n]) if key.is_am(am::minor_version) => {
            options.minor_version = number_up_to(n, most)?;
            Some(())
        }
        _ => None,
    })?;
    Ok(options)
}

fn encode(ctx: &mut Ctx<'_>, term: Term, options: EncodeOptions, in_pieces: bool) -> BifResult {
    let mut encoder = Encoder::new(term, options);
    if in_pieces {
        encoder = encoder.in_pieces();
    }
    let mut budget = Budget::of_slice(ctx, TERMS_PER_REDUCTION);
    let finished = encoder.run(budget.left());
    budget.charge(ctx);
    // Compressing cannot stop: long work goes elsewhere as a whole.
    if options.compressed > 0 && (!finished || encoder.size() > COMPRESS_LIMIT) {
        dirty(ctx)?;
    }
    if finished {
        return Ok(encoded(ctx, encoder, in_pieces));
    }
    let mut encoder = Some(encoder);
    ctx.yield_to(Box::new(move |ctx| {
        let Some(running) = &mut encoder else { return badarg() };
        let mut budget = Budget::of_slice(ctx, TERMS_PER_REDUCTION);
        let finished = running.run(budget.left());
        budget.charge(ctx);
        match encoder.take_if(|_| finished) {
            Some(encoder) => Ok(encoded(ctx, encoder, in_pieces)),
            None => Err(Escape::Yield),
        }
    }))
}

fn encoded(ctx: &mut Ctx<'_>, encoder: Encoder, in_pieces: bool) -> Term {
    if !in_pieces {
        return encoder.into_bytes().into_term(ctx);
    }
    let mut binaries = Vec::new();
    for piece in encoder.into_pieces() {
        binaries.push(match piece {
            Piece::Bytes(bytes) => bytes.into_term(ctx),
            Piece::Shared { binary, offset, len } => {
                let whole = binary.len();
                let binary = ctx.shared_binary(binary);
                if offset == 0 && len == whole { binary } else { ctx.sub_binary(binary, offset * 8, len * 8) }
            }
        });
    }
    ctx.list(&binaries)
}

fn size(ctx: &mut Ctx<'_>, term: Term, options: EncodeOptions) -> BifResult {
    let mut sizer = Sizer::new(term, options);
    let mut go_on = move |ctx: &mut Ctx<'_>| {
        let mut budget = Budget::of_slice(ctx, TERMS_PER_REDUCTION);
        let size = sizer.run(budget.left());
        budget.charge(ctx);
        size.map(|size| ctx.uint(size as u64)).ok_or(Escape::Yield)
    };
    match go_on(ctx) {
        Err(Escape::Yield) => ctx.yield_to(Box::new(go_on)),
        result => result,
    }
}

fn binary_to_term_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (mut options, mut used) = (DecodeOptions::default(), false);
    let right = each_option(args[1], |option| {
        match option.as_atom()? {
            am::safe => options.safe = true,
            am::used => used = true,
            _ => return None,
        }
        Some(())
    });
    if right.is_err() {
        return ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::badopt));
    }
    decode(ctx, args[0], options, used)
}

fn refused(error: DecodeError) -> Escape {
    match error {
        DecodeError::BadArg => BADARG,
        DecodeError::SystemLimit => SYSTEM_LIMIT,
    }
}

/// The function that a process is said to be in while a term is decoded, slice by slice.
const BINARY_TO_TERM_TRAP: Mfa = Mfa { module: am::erts_internal, function: am::binary_to_term_trap, arity: 1 };

fn decode(ctx: &mut Ctx<'_>, binary: Term, options: DecodeOptions<'static>, used: bool) -> BifResult {
    let Some(input) = Bytes::of(binary) else { return badarg() };
    if let [_, 80, a, b, c, d, ..] = input[..] {
        let size = u32::from_be_bytes([a, b, c, d]) as usize;
        if size.max(input.len()) > COMPRESS_LIMIT {
            dirty(ctx)?;
        }
    }
    if input.len() >= MEASURED && ctx.make_room(input.len() / 4).is_err() {
        ctx.make_room(measure::words(&input, 1, MOST_MEASURED))?;
    }
    let mut decoder = Decoder::new(&input, options).map_err(refused)?;
    let mut go_on = move |ctx: &mut Ctx<'_>| {
        let mut budget = Budget::of_slice(ctx, TERMS_PER_REDUCTION);
        let decoded = decoder.run(ctx, &input, budget.left()).map_err(refused)?;
        budget.charge(ctx);
        match decoded {
            Some(decoded) if used => Ok(ctx.tuple(&[decoded.term, Term::small(decoded.used as i64)])),
            Some(decoded) => Ok(decoded.term),
            None => Err(Escape::Yield),
        }
    };
    match go_on(ctx) {
        Err(Escape::Yield) => ctx.yield_as(Some(BINARY_TO_TERM_TRAP), Box::new(go_on)),
        result => result,
    }
}
