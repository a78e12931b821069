//! Any bytes given to an inflating stream inflate or are refused, whatever the format it expects.
//!
//! The input's first byte says which format and how large the pieces are.

use super::process::{built_in, call, in_process};
use myriad_term::{Atom, Build, Term};
use myriad_vm::{BifResult, Ctx};

/// Window bits of: zlib, raw, gzip, either.
const FORMATS: [i64; 6] = [15, -15, 31, 47, 8, -9];
/// Output asked for at most.
const MOST: usize = 1 << 20;

/// See the file's head.
pub fn inflate(bytes: &[u8]) {
    let Some((how, bytes)) = bytes.split_first() else { return };
    let how = usize::from(*how);
    in_process(|ctx| drop(whole(ctx, how, bytes)));
}

fn zlib(ctx: &mut Ctx<'_>, function: &str, args: &[Term]) -> BifResult {
    let (module, function) = (Atom::new("zlib")?, Atom::new(function)?);
    let def = built_in(ctx, module, function, args.len()).expect("a function of zlib");
    call(ctx, def, args)
}

fn whole(ctx: &mut Ctx<'_>, how: usize, bytes: &[u8]) -> BifResult {
    let stream = zlib(ctx, "open_nif", &[])?;
    let format = Term::small(FORMATS[how % FORMATS.len()]);
    zlib(ctx, "inflateInit_nif", &[stream, format, Term::small((how / 8 % 3) as i64)])?;
    let pieces: Vec<Term> = bytes.chunks(1 + how * 16).map(|piece| ctx.binary(piece)).collect();
    let input = ctx.list(&pieces);
    zlib(ctx, "enqueue_nif", &[stream, input])?;
    let room = Term::small(16 + (how % 7 * 1000) as i64);
    let mut made = 0;
    while made < MOST {
        let result = zlib(ctx, "inflate_nif", &[stream, room, room, Term::small(0)])?;
        // Else a dictionary is wanted.
        let Some([state, output]) = result.as_tuple_of::<2>() else { break };
        made += 1 + output.list_iter().filter_map(|piece| Some(piece.as_binary()?.len())).sum::<usize>();
        if state.as_atom().is_some_and(|s| s.text() == "finished") {
            break;
        }
    }
    zlib(ctx, "inflateEnd_nif", &[stream])?;
    zlib(ctx, "close_nif", &[stream])
}
