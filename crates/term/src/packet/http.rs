//! The lines of HTTP: request, response, header.

use crate::atom::AtomError;
use crate::{Atom, Build, Term, TermRef, am};

/// Which line is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// A request or a response.
    First,
    /// A field of the header, or its end.
    Header,
}

/// Methods that are atoms.
const METHODS: &[&str] = &["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE"];

/// Fields that are atoms; a field's number is its place, from 1 up.
const FIELDS: &[&str] = &[
    "Cache-Control",
    "Connection",
    "Date",
    "Pragma",
    "Transfer-Encoding",
    "Upgrade",
    "Via",
    "Accept",
    "Accept-Charset",
    "Accept-Encoding",
    "Accept-Language",
    "Authorization",
    "From",
    "Host",
    "If-Modified-Since",
    "If-Match",
    "If-None-Match",
    "If-Range",
    "If-Unmodified-Since",
    "Max-Forwards",
    "Proxy-Authorization",
    "Range",
    "Referer",
    "User-Agent",
    "Age",
    "Location",
    "Proxy-Authenticate",
    "Public",
    "Retry-After",
    "Server",
    "Vary",
    "Warning",
    "Www-Authenticate",
    "Allow",
    "Content-Base",
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-Location",
    "Content-Md5",
    "Content-Range",
    "Content-Type",
    "Etag",
    "Expires",
    "Last-Modified",
    "Accept-Ranges",
    "Set-Cookie",
    "Set-Cookie2",
    "X-Forwarded-For",
    "Cookie",
    "Keep-Alive",
    "Proxy-Connection",
];

/// Protocol version of a request that names none.
const OLD_VERSION: (i32, i32) = (0, 9);

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// May the character stand in a name (RFC 2616, `token`)?
fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?={}".contains(&byte)
}

/// Splits off the bytes that `test` accepts.
fn take(bytes: &[u8], test: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.iter().position(|b| !test(*b)).unwrap_or(bytes.len()))
}

/// Blanks, of which there must be some.
fn blanks(bytes: &[u8]) -> Option<&[u8]> {
    let (blanks, rest) = take(bytes, is_blank);
    (!blanks.is_empty()).then_some(rest)
}

/// A number in 32 bits, as OTP counts it: digits beyond fall off.
fn decimal(digits: &[u8]) -> i32 {
    digits.iter().fold(0i32, |n, d| n.wrapping_mul(10).wrapping_add(i32::from(d.wrapping_sub(b'0'))))
}

/// `HTTP/Major.Minor` and what follows.
fn version(bytes: &[u8]) -> Option<((i32, i32), &[u8])> {
    let (major, rest) = take(bytes.strip_prefix(b"HTTP/")?, |b| b.is_ascii_digit());
    let (minor, rest) = take(rest.strip_prefix(b".")?, |b| b.is_ascii_digit());
    (!major.is_empty() && !minor.is_empty()).then_some(((decimal(major), decimal(minor)), rest))
}

/// What a request asks for.
enum Uri<'a> {
    Star,
    Path(&'a [u8]),
    Absolute { scheme: Atom, host: &'a [u8], port: Option<i32>, path: &'a [u8] },
    Scheme(&'a [u8], &'a [u8]),
    Other(&'a [u8]),
}

fn strip_scheme<'a>(bytes: &'a [u8], scheme: &str) -> Option<&'a [u8]> {
    let (start, rest) = bytes.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme.as_bytes()).then_some(rest)
}

impl<'a> Uri<'a> {
    fn parse(bytes: &'a [u8]) -> Uri<'a> {
        if bytes == b"*" {
            return Uri::Star;
        }
        if bytes.starts_with(b"/") || bytes.len() == 1 {
            return Uri::Path(bytes);
        }
        for (scheme, start) in [(am::http, "http://"), (am::https, "https://")] {
            if let Some(rest) = strip_scheme(bytes, start) {
                return Uri::absolute(scheme, rest);
            }
        }
        match bytes.iter().position(|b| *b == b':') {
            Some(at) => Uri::Scheme(&bytes[..at], &bytes[at + 1..]),
            None => Uri::Other(bytes),
        }
    }

    fn absolute(scheme: Atom, bytes: &'a [u8]) -> Uri<'a> {
        let (authority, path) = take(bytes, |b| b != b'/');
        let (host, port) = take(authority, |b| b != b':');
        let digits = port.get(1..).unwrap_or(&[]);
        let port = (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then(|| decimal(digits));
        Uri::Absolute { scheme, host, port, path: if path.is_empty() { b"/" } else { path } }
    }
}

/// What a line says.
enum Message<'a> {
    Request { method: &'a [u8], uri: Uri<'a>, version: (i32, i32) },
    Response { version: (i32, i32), status: i32, phrase: &'a [u8] },
    Field { name: &'a [u8], value: &'a [u8] },
    End,
}

fn response(line: &[u8]) -> Option<Message<'_>> {
    let (version, rest) = version(line)?;
    let (status, rest) = take(blanks(rest)?, |b| b.is_ascii_digit());
    let phrase = if rest.is_empty() { rest } else { blanks(rest)? };
    Some(Message::Response { version, status: decimal(status), phrase })
}

fn request(line: &[u8]) -> Option<Message<'_>> {
    let (method, rest) = take(line, is_token);
    let (uri, rest) = take(blanks(rest)?, |b| !is_blank(b));
    if method.is_empty() || uri.is_empty() {
        return None;
    }
    let (_, rest) = take(rest, is_blank);
    let version = if rest.is_empty() { OLD_VERSION } else { version(rest)?.0 };
    Some(Message::Request { method, uri: Uri::parse(uri), version })
}

fn field(line: &[u8]) -> Option<Message<'_>> {
    if line.is_empty() {
        return Some(Message::End);
    }
    let (name, rest) = take(line, is_token);
    let (_, value) = take(rest.strip_prefix(b":")?, is_blank);
    Some(Message::Field { name, value })
}

/// Longer names stay as they are.
const LONGEST_USUAL: usize = 50;

/// The name in its usual form: small letters, but capitals at the start and after a `-`, unless that follows another such.
fn usual_form(name: &[u8]) -> Vec<u8> {
    if name.len() > LONGEST_USUAL {
        return name.to_vec();
    }
    let mut usual = name.to_ascii_lowercase();
    let mut begins = true;
    for byte in &mut usual {
        if begins {
            byte.make_ascii_uppercase();
        }
        begins = !begins && *byte == b'-';
    }
    usual
}

/// The term of a line with its end of line: `{http_error, Line}` if it is none.
///
/// # Errors
/// The table of atoms is full.
pub fn line_term<'h, B: Build<'h>>(
    memory: &mut B,
    packet: &[u8],
    line: Line,
    binaries: bool,
) -> Result<TermRef<'h>, AtomError> {
    let text =
        |memory: &mut B, bytes: &[u8]| if binaries { memory.binary(bytes) } else { memory.byte_list(bytes, Term::NIL) };
    let number = |n: i32| Term::small(i64::from(n));
    let tag = |atom| Term::atom(atom);
    let content = packet.strip_suffix(b"\n").map_or(packet, |l| l.strip_suffix(b"\r").unwrap_or(l));
    let message = match line {
        Line::First if content.starts_with(b"HTTP/") => response(content),
        Line::First => request(content),
        Line::Header => field(content),
    };
    Ok(match message {
        Some(Message::Request { method, uri, version: (major, minor) }) => {
            let method = match METHODS.iter().find(|m| m.as_bytes() == method) {
                Some(known) => Atom::new(known)?.term(),
                None => text(memory, method),
            };
            let uri = match uri {
                Uri::Star => am::times.term(),
                Uri::Path(path) => {
                    let path = text(memory, path);
                    memory.tuple(&[tag(am::abs_path), path])
                }
                Uri::Absolute { scheme, host, port, path } => {
                    let (host, path) = (text(memory, host), text(memory, path));
                    memory.tuple(&[
                        tag(am::absoluteURI),
                        scheme.term(),
                        host,
                        port.map_or(Term::UNDEFINED, number),
                        path,
                    ])
                }
                Uri::Scheme(scheme, rest) => {
                    let (scheme, rest) = (text(memory, scheme), text(memory, rest));
                    memory.tuple(&[tag(am::scheme), scheme, rest])
                }
                Uri::Other(other) => text(memory, other),
            };
            let version = memory.tuple(&[number(major), number(minor)]);
            memory.tuple(&[tag(am::http_request), method, uri, version])
        }
        Some(Message::Response { version: (major, minor), status, phrase }) => {
            let version = memory.tuple(&[number(major), number(minor)]);
            let phrase = text(memory, phrase);
            memory.tuple(&[tag(am::http_response), version, number(status), phrase])
        }
        Some(Message::Field { name, value }) => {
            let usual = usual_form(name);
            let (place, field) = match FIELDS.iter().position(|f| f.as_bytes() == usual) {
                Some(at) => (at + 1, Atom::new(FIELDS[at])?.term()),
                None => (0, text(memory, &usual)),
            };
            let (name, value) = (text(memory, name), text(memory, value));
            memory.tuple(&[tag(am::http_header), Term::small(place as i64), field, name, value])
        }
        Some(Message::End) => tag(am::http_eoh),
        None => {
            let line = text(memory, packet);
            memory.tuple(&[tag(am::http_error), line])
        }
    })
}
