//! `erlang:decode_packet/3`: the parser is in [`myriad_term::packet`].

#[cfg(test)]
mod tests;

use crate::guards::sub_binary;
use myriad_term::packet::{Format, Frame, Limits, Line, first, line_term, tls_record};
use myriad_term::{Build, Term, am};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub PACKETS = "erlang" {
    "decode_packet" / 3 Plain => decode_packet_3;
}}

/// Bytes that are looked at for one reduction.
const BYTES_PER_REDUCTION: usize = 256;

/// How the type's packets are framed; for HTTP, what the line is and whether its parts are binaries.
fn format(kind: Term) -> Option<(Format, Option<(Line, bool)>)> {
    let plain = |format| Some((format, None));
    let line = |line, binaries| Some((Format::Http(line), Some((line, binaries))));
    match (kind.as_small(), kind.as_atom()) {
        (Some(0), _) | (_, Some(am::raw)) => plain(Format::Raw),
        (Some(bytes @ (1 | 2 | 4)), _) => plain(Format::Length(bytes as usize)),
        (_, Some(am::line)) => plain(Format::Line),
        (_, Some(am::asn1)) => plain(Format::Asn1),
        (_, Some(am::cdr)) => plain(Format::Cdr),
        (_, Some(am::sunrm)) => plain(Format::SunRm),
        (_, Some(am::fcgi)) => plain(Format::Fcgi),
        (_, Some(am::tpkt)) => plain(Format::Tpkt),
        (_, Some(am::ssl_tls)) => plain(Format::Tls),
        (_, Some(am::http)) => line(Line::First, false),
        (_, Some(am::http_bin)) => line(Line::First, true),
        (_, Some(am::httph)) => line(Line::Header, false),
        (_, Some(am::httph_bin)) => line(Line::Header, true),
        _ => None,
    }
}

fn limits(options: Term, lines: bool) -> Result<Limits, Escape> {
    let mut limits = Limits::default();
    let mut options = options.list_iter();
    for option in options.by_ref() {
        let Some([key, value]) = option.as_tuple_of::<2>() else { return badarg() };
        let Some(value) = value.as_usize() else { return badarg() };
        match (key.as_atom(), u32::try_from(value), u8::try_from(value)) {
            (Some(am::packet_size), Ok(_), _) => limits.packet = value,
            (Some(am::line_length), Ok(_), _) => limits.line = value,
            (Some(am::line_delimiter), _, Ok(delimiter)) if lines => limits.delimiter = delimiter,
            _ => return badarg(),
        }
    }
    if options.tail().is_nil() { Ok(limits) } else { badarg() }
}

fn decode_packet_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((format, http)) = format(args[0]) else {
        return ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::badopt));
    };
    let Some(bits) = args[1].as_bits() else { return badarg() };
    let limits = limits(args[2], matches!(format, Format::Line))?;
    // Bits after the last whole byte belong to no packet.
    let size = bits.len() / 8;
    let bytes = bits.part(0, size * 8).unwrap_or(bits).to_bytes();
    let (part, next) = match first(&bytes, format, &limits) {
        Frame::Packet(part, next) => (part, next),
        Frame::More(total) => {
            ctx.bump(size / BYTES_PER_REDUCTION);
            let total = total.map_or(Term::UNDEFINED, |total| Term::small(total as i64));
            return Ok(ctx.tuple(&[Term::atom(am::more), total]));
        }
        Frame::Invalid => return Ok(ctx.tuple(&[Term::atom(am::error), Term::atom(am::invalid)])),
    };
    ctx.bump(next / BYTES_PER_REDUCTION);
    let Some(packet) = bytes.get(part.clone()) else { return badarg() };
    let packet = match (http, format) {
        (Some((line, binaries)), _) => line_term(ctx, packet, line, binaries)?,
        (_, Format::Tls) => {
            let [kind, version, data] = tls_record(ctx, packet);
            ctx.tuple(&[Term::atom(am::ssl_tls), Term::NIL, kind, version, data])
        }
        _ => sub_binary(ctx, args[1], part.start * 8, part.len() * 8),
    };
    let rest = sub_binary(ctx, args[1], next * 8, bits.len() - next * 8);
    Ok(ctx.tuple(&[Term::OK, packet, rest]))
}
