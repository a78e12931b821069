//! Packets in a stream of bytes, as `erlang:decode_packet/3` and sockets know them: where one ends is in `frame`, the lines of HTTP are in `http`.

mod frame;
mod http;
#[cfg(test)]
mod tests;

use crate::{Build, Term, TermRef};
pub use frame::{Format, Frame, Limits, first};
pub use http::{Line, line_term};

/// Content type, version and data of a record of TLS; a greeting of version 2 is given the form of later ones.
pub fn tls_record<'h, B: Build<'h>>(memory: &mut B, record: &[u8]) -> [TermRef<'h>; 3] {
    const HANDSHAKE: u8 = 22;
    let (kind, major, minor, data) = match *record {
        _ if frame::is_tls_2_hello(record) => {
            let after = record.get(3..).unwrap_or(&[]);
            let len = (after.len() as u32).to_be_bytes();
            let mut data = vec![1, len[1], len[2], len[3]];
            data.extend_from_slice(after);
            (HANDSHAKE, record.get(3).copied().unwrap_or(0), record.get(4).copied().unwrap_or(0), memory.binary(&data))
        }
        [kind, major, minor, _, _, ref data @ ..] => (kind, major, minor, memory.binary(data)),
        _ => (0, 0, 0, memory.binary(&[])),
    };
    let number = |n: u8| Term::small(i64::from(n));
    let version = memory.tuple(&[number(major), number(minor)]);
    [number(kind), version, data]
}
