//! Packets are the same however their bytes come.

use super::{Format, Frame, Limits, Line, first};
use proptest::prelude::*;

const FORMATS: [Format; 12] = [
    Format::Length(1),
    Format::Length(2),
    Format::Length(4),
    Format::Line,
    Format::Asn1,
    Format::Cdr,
    Format::SunRm,
    Format::Fcgi,
    Format::Tpkt,
    Format::Tls,
    Format::Http(Line::First),
    Format::Http(Line::Header),
];

/// A packet that is handed on, or that there is none any more.
type Cut = Result<Vec<u8>, ()>;

/// The packets of a stream that comes in parts, each kept until it is whole.
fn cut(parts: &[&[u8]], format: Format, limits: &Limits) -> Vec<Cut> {
    let (mut pending, mut packets) = (Vec::new(), Vec::new());
    for part in parts {
        pending.extend_from_slice(part);
        loop {
            match first(&pending, format, limits) {
                Frame::Packet(range, next) => {
                    assert!(next > 0 && range.end <= next && next <= pending.len());
                    packets.push(Ok(pending[range].to_vec()));
                    pending.drain(..next);
                }
                Frame::More(total) => {
                    assert!(total.is_none_or(|total| total > pending.len()), "what is there is not enough");
                    break;
                }
                Frame::Invalid => {
                    packets.push(Err(()));
                    return packets;
                }
            }
        }
    }
    packets
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let header = prop::sample::select(vec![
        &b"GIOP\x01\0\0\0\0\0\0\x02"[..],
        b"\x01\x01\0\x01\0\x02\x03\0",
        b"\x03\0\0\x06",
        b"\x16\x03\x01\0\x02",
        b"\x80\0\0\x03",
        b"\x30\x03",
        b"\0\0\0\x02",
        b"GET / HTTP/1.1\r\n",
        b"Host: a\r\n b\r\n",
        b"\r\n",
        b"\n",
    ]);
    let piece = prop_oneof![
        header.prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..6),
        prop::collection::vec(0u8..4, 0..6)
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Where nothing limits packets, any split of the bytes gives the same. (With limits a long line that is not whole is refused earlier than one
    /// that is, and cut elsewhere; the limit itself is kept in any case.)
    #[test]
    fn any_split_gives_the_same_packets(
        bytes in bytes(),
        splits in prop::collection::vec(0usize..64, 0..6),
        format in prop::sample::select(FORMATS.to_vec()),
    ) {
        let mut places: Vec<usize> = splits.into_iter().map(|at| at.min(bytes.len())).collect();
        places.sort_unstable();
        let mut parts = Vec::new();
        let mut from = 0;
        for at in places {
            parts.push(&bytes[from..at]);
            from = at;
        }
        parts.push(&bytes[from..]);
        let limits = Limits::default();
        let whole = cut(&[&bytes], format, &limits);
        prop_assert_eq!(&cut(&parts, format, &limits), &whole);
        let each: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&cut(&each, format, &limits), &whole);
    }

    /// No packet is larger than what limits it.
    #[test]
    fn limits_are_kept(bytes in bytes(), most in 1usize..20, format in prop::sample::select(FORMATS.to_vec())) {
        let limits = Limits { packet: most, ..Limits::default() };
        for packet in cut(&bytes.chunks(1).collect::<Vec<_>>(), format, &limits).into_iter().flatten() {
            // Headers that belong to a packet do not count.
            prop_assert!(packet.len() <= most + 12);
        }
    }
}
