//! Any bytes are cut into packets, by a port's framing and by `erlang:decode_packet/3`, and none is lost or made up.
//!
//! The input's first two bytes say how, and in what pieces the rest comes.

use super::process::{built_in, call, in_process};
use myriad_io::port::framing::{Frame, Framing, Reader};
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::Ctx;

/// Packet types that have a name.
const NAMED: [&str; 12] =
    ["raw", "line", "asn1", "cdr", "sunrm", "fcgi", "tpkt", "http", "httph", "http_bin", "httph_bin", "ssl_tls"];
/// Those that have a number.
const NUMBERED: [i64; 4] = [0, 1, 2, 4];

/// A port's input.
pub fn framing(bytes: &[u8]) {
    let Some((&[how, step], bytes)) = bytes.split_first_chunk::<2>() else { return };
    let framing = match how % 8 {
        0 => Framing::Stream,
        1 => Framing::Packet(1),
        2 => Framing::Packet(2),
        3 | 4 => Framing::Packet(4),
        _ => Framing::Line(1 + usize::from(how >> 3)),
    };
    let read = |step: usize| {
        let mut reader = Reader::new(framing);
        let mut frames: Vec<Frame<'_>> = Vec::new();
        bytes.chunks(step).for_each(|piece| reader.feed(piece, |frame| frames.push(frame)));
        frames.extend(reader.finish());
        frames
    };
    // How the bytes arrive makes no difference, except where each piece is a message.
    let frames = read(1 + usize::from(step));
    assert!(framing == Framing::Stream || frames == read(usize::MAX), "pieces of {step} bytes read otherwise");
    if let Framing::Packet(_) = framing {
        // What the packets would be sent as is what was read.
        let mut sent = Vec::new();
        for frame in &frames {
            let Frame::Data(data) = frame else { panic!("a line among packets") };
            sent.extend(framing.header(data.len()).expect("it fits the header").bytes());
            sent.extend(data.iter());
        }
        assert!(bytes.starts_with(&sent), "packets are not as sent");
    }
}

/// `erlang:decode_packet/3`, again and again on what is left.
pub fn packet(bytes: &[u8]) {
    let Some((&[how, limits], bytes)) = bytes.split_first_chunk::<2>() else { return };
    in_process(|ctx| cut(ctx, usize::from(how), limits, bytes));
}

fn cut(ctx: &mut Ctx<'_>, how: usize, limits: u8, bytes: &[u8]) {
    let kind = match NAMED.get(how % 16) {
        Some(name) => Atom::new(name).expect("a short name").term(),
        None => Term::small(NUMBERED[how % 4]),
    };
    let mut options = Vec::new();
    for (name, value) in [("packet_size", limits & 15), ("line_length", limits >> 4)] {
        if value != 0 {
            let name = Atom::new(name).expect("a short name").term();
            options.push(ctx.tuple(&[name, Term::small(i64::from(value) * 5)]));
        }
    }
    let options = ctx.list(&options);
    let function = Atom::new("decode_packet").expect("a short name");
    let def = built_in(ctx, am::erlang, function, 3).expect("a built-in");
    let mut rest = ctx.binary(bytes);
    while let Ok(result) = call(ctx, def, &[kind, rest, options]) {
        let Some([_, packet, after]) = result.as_tuple_of::<3>() else { return };
        drop(myriad_term::print::text(packet, 1000));
        let size = |t: Term| t.as_bits().map(|b| b.len());
        let Some(left) = size(after) else { return };
        if left == 0 {
            return;
        }
        assert!(Some(left) < size(rest), "nothing was taken");
        rest = after;
    }
}
