//! Where the first packet of a run of bytes ends.

use super::Line;
use memchr::memchr;
use std::ops::Range;

/// The ways in which packets show where they end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// All that is there.
    Raw,
    /// A length of this number of bytes, which are no part of the packet.
    Length(usize),
    /// A line.
    Line,
    /// ASN.1 BER.
    Asn1,
    /// CORBA's GIOP.
    Cdr,
    /// Sun's RPC, record marking.
    SunRm,
    /// FastCGI.
    Fcgi,
    /// TPKT, RFC 1006.
    Tpkt,
    /// SSL and TLS records.
    Tls,
    /// A line of HTTP.
    Http(Line),
}

/// What the options say.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most bytes of a packet, 0 for any.
    pub packet: usize,
    /// A longer line is cut, 0 for none.
    pub line: usize,
    /// What ends a line.
    pub delimiter: u8,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { packet: 0, line: 0, delimiter: b'\n' }
    }
}

/// What there is at the start.
#[derive(PartialEq, Eq, Debug)]
pub enum Frame {
    /// A packet: the part of it that is handed on, and where the next begins.
    Packet(Range<usize>, usize),
    /// Not enough; how many bytes would do, if that is known.
    More(Option<usize>),
    /// No packet.
    Invalid,
}

/// Most bytes of a packet with its header.
const LARGEST: u64 = i32::MAX as u64;

/// A number with the most significant byte first.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// A packet of `header` bytes and then `body` bytes.
fn sized(bytes: &[u8], header: usize, body: u64, limits: &Limits) -> Frame {
    let total = header as u64 + body;
    if limits.packet != 0 && body > limits.packet as u64 || total > LARGEST {
        return Frame::Invalid;
    }
    let total = total as usize;
    if bytes.len() < total { Frame::More(Some(total)) } else { Frame::Packet(0..total, total) }
}

/// A greeting of version 2 of SSL.
pub fn is_tls_2_hello(record: &[u8]) -> bool {
    matches!(record, [first, _, 1, ..] if first & 0x80 != 0)
}

/// The first packet.
pub fn first(bytes: &[u8], format: Format, limits: &Limits) -> Frame {
    let more = Frame::More(None);
    match (format, bytes) {
        (_, []) => more,
        (Format::Raw, _) => Frame::Packet(0..bytes.len(), bytes.len()),
        (Format::Length(header), _) => match bytes.get(..header) {
            Some(len) => match sized(bytes, header, number(len), limits) {
                Frame::Packet(_, next) => Frame::Packet(header..next, next),
                other => other,
            },
            None => more,
        },
        (Format::Line, _) => line(bytes, limits),
        (Format::Asn1, _) => asn1(bytes, limits),
        (Format::Cdr, [b'G', b'I', b'O', b'P', _, _, flags, _, a, b, c, d, ..]) => {
            let len = [*a, *b, *c, *d];
            let body = if flags & 1 == 1 { u32::from_le_bytes(len) } else { u32::from_be_bytes(len) };
            sized(bytes, 12, u64::from(body), limits)
        }
        (Format::Cdr, _) if bytes.len() >= 12 => Frame::Invalid,
        (Format::SunRm, [a, b, c, d, ..]) => sized(bytes, 4, number(&[a & 0x7f, *b, *c, *d]), limits),
        (Format::Fcgi, [version, _, _, _, high, low, padding, _, ..]) => match version {
            1 => {
                let content = number(&[*high, *low]);
                match sized(bytes, 8, content + u64::from(*padding), limits) {
                    Frame::Packet(_, next) => Frame::Packet(0..8 + content as usize, next),
                    other => other,
                }
            }
            _ => Frame::Invalid,
        },
        (Format::Tpkt, [version, _, high, low, ..]) => match (version, number(&[*high, *low]).checked_sub(4)) {
            (3, Some(body)) => sized(bytes, 4, body, limits),
            _ => Frame::Invalid,
        },
        (Format::Tls, [high, low, _, third, fourth, ..]) => {
            if !is_tls_2_hello(bytes) {
                return sized(bytes, 5, number(&[*third, *fourth]), limits);
            }
            match number(&[high & 0x7f, *low]).checked_sub(3) {
                Some(body) => sized(bytes, 5, body, limits),
                None => Frame::Invalid,
            }
        }
        (Format::Http(kind), _) => http(bytes, kind, limits),
        (Format::Cdr | Format::SunRm | Format::Fcgi | Format::Tpkt | Format::Tls, _) => more,
    }
}

fn too_long(len: usize, limits: &Limits) -> bool {
    limits.packet != 0 && len > limits.packet
}

fn line(bytes: &[u8], limits: &Limits) -> Frame {
    let cut = |len: usize| {
        let len = if limits.line != 0 { limits.line.min(len) } else { len };
        Frame::Packet(0..len, len)
    };
    match memchr(limits.delimiter, bytes) {
        Some(at) if too_long(at + 1, limits) => Frame::Invalid,
        Some(at) => cut(at + 1),
        None if too_long(bytes.len(), limits) => Frame::Invalid,
        None if limits.line != 0 && bytes.len() >= limits.line => cut(bytes.len()),
        None => Frame::More(None),
    }
}

/// Tag and length of the Basic Encoding Rules.
fn asn1(bytes: &[u8], limits: &Limits) -> Frame {
    let more = Frame::More(None);
    let Some((tag, mut rest)) = bytes.split_first() else { return more };
    if tag & 0x1f == 0x1f {
        loop {
            let Some((part, after)) = rest.split_first() else { return more };
            rest = after;
            if part & 0x80 == 0 {
                break;
            }
        }
    }
    let Some((len, rest)) = rest.split_first() else { return more };
    let header = bytes.len() - rest.len();
    if len & 0x80 == 0 {
        return sized(bytes, header, u64::from(*len), limits);
    }
    let len = usize::from(len & 0x7f);
    match rest.get(..len) {
        Some(_) if len > 4 => Frame::Invalid,
        Some(body) => sized(bytes, header + len, number(body), limits),
        None => more,
    }
}

/// A line of HTTP; a line of a header takes in the next one where that begins with a blank. It is never cut.
fn http(bytes: &[u8], kind: Line, limits: &Limits) -> Frame {
    // The length of lines limits only where that of packets does not.
    let most = if limits.packet != 0 { limits.packet } else { limits.line };
    let beyond = |len: usize| most != 0 && len > most;
    let mut from = 0;
    while let Some(at) = bytes.get(from..).and_then(|rest| memchr(b'\n', rest)) {
        let len = from + at + 1;
        let goes_on = match bytes.get(len) {
            _ if kind == Line::First => Some(false),
            _ if matches!(bytes.get(..len), Some(b"\n" | b"\r\n")) => Some(false),
            // Nothing follows the shortest of lines.
            next => next.map(|b| matches!(b, b' ' | b'\t') && len > 2),
        };
        match goes_on {
            _ if beyond(len) => return Frame::Invalid,
            Some(false) => return Frame::Packet(0..len, len),
            Some(true) => from = len,
            None => return Frame::More(None),
        }
    }
    // The end of the line will be one more.
    if beyond(bytes.len() + 1) { Frame::Invalid } else { Frame::More(None) }
}
