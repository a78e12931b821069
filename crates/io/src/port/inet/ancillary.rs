//! Ancillary data of the system: control messages that come with data.

use super::take_u32;
use crate::system::{Control, controls, put_control};
use myriad_term::{Atom, am};

/// What it is known by: the codes of the options of the same meaning.
const TOS: u8 = 9;
const TCLASS: u8 = 41;
const TTL: u8 = 46;

/// The bytes of a number that begins a control message.
fn number(bytes: &[u8]) -> i32 {
    match bytes.first_chunk::<4>() {
        Some(all) => i32::from_ne_bytes(*all),
        None => bytes.first().map_or(0, |byte| i32::from(*byte)),
    }
}

/// Code and value of the control messages that there is a name for.
pub(super) fn parse(messages: &[u8]) -> Vec<(u8, i32)> {
    let code = |one: Control<'_>| {
        let code = match (one.level, one.kind) {
            (libc::IPPROTO_IP, libc::IP_TOS) => TOS,
            (libc::IPPROTO_IP, libc::IP_TTL) => TTL,
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => TCLASS,
            _ => return None,
        };
        Some((code, number(one.data)))
    };
    controls(messages).filter_map(code).collect()
}

/// The name of a code.
pub(super) fn name(code: u8) -> Option<Atom> {
    Some(match code {
        TOS => am::tos,
        TCLASS => am::tclass,
        TTL => am::ttl,
        _ => return None,
    })
}

/// Control messages of codes with their values in four bytes; nothing if they are no such.
pub(super) fn build(mut options: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    while let Some((code, rest)) = options.split_first() {
        options = rest;
        let value = take_u32(&mut options).ok()?;
        let (level, kind) = match *code {
            TOS => (libc::IPPROTO_IP, libc::IP_TOS),
            TTL => (libc::IPPROTO_IP, libc::IP_TTL),
            TCLASS => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
            _ => return None,
        };
        put_control(&mut out, Control { level, kind, data: &value.to_ne_bytes() });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(level: i32, kind: i32, value: &[u8]) -> Vec<u8> {
        let mut bytes = (16 + value.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    #[test]
    fn control_messages_one_after_the_other() {
        let two = [
            message(libc::IPPROTO_IP, libc::IP_TOS, &[7]),
            message(libc::IPPROTO_IP, libc::IP_TTL, &3i32.to_ne_bytes()),
        ];
        assert_eq!(parse(&two.concat()), [(TOS, 7), (TTL, 3)]);
        assert_eq!(parse(&message(1, 2, &[0; 20])), []);
        let built = build(&[TOS, 0, 0, 0, 5, TCLASS, 0, 0, 0, 6]).unwrap();
        assert_eq!(parse(&built), [(TOS, 5), (TCLASS, 6)]);
        assert_eq!((build(&[TOS, 0]), build(&[1, 0, 0, 0, 0]), build(&[])), (None, None, Some(vec![])));
        assert_eq!((parse(&[]), parse(&[0xff; 24]), parse(&[0; 16])), (vec![], vec![], vec![]));
    }
}
