//! The external term format (erl_ext_dist), both ways.
//!
//! E1. Decoding takes memory in proportion to its input, whatever sizes the input claims: each promised term needs at least
//!     one byte, so the terms that open containers still wait for may not outnumber the bytes that are left.
//! E2. Neither way recurses on terms: nesting is limited by memory only.
//! E3. Both can stop after a number of steps and continue later, over terms and an [`crate::Alloc`] that have not moved
//!     since (a fragment, or a heap that is not collected until the work is done).
//!
//! Which forms are written is OTP's choice, release by release: see [`EncodeOptions`]. What distribution adds in front of
//! a term (headers, fragments) is not here; its atom references are ([`DecodeOptions::atoms`]).

mod compress;
pub mod decode;
pub mod encode;
pub mod measure;
mod output;
mod reader;
mod scalar;
mod size;
#[cfg(test)]
mod tests;

pub use decode::{DecodeError, DecodeOptions, Decoded, Decoder, decode};
pub use encode::{EncodeOptions, Encoder, encode, encode_to_binary};
pub use output::Piece;
pub use size::{Sizer, external_size};

use crate::atom::Atom;

/// First byte of an external term.
pub const VERSION: u8 = 131;

/// Tags of the terms' forms.
pub mod tag {
    macro_rules! tags {
        ($($(#[$doc:meta])* $name:ident $value:literal)*) => { $($(#[$doc])* pub const $name: u8 = $value;)* };
    }
    tags! {
        /// Native record (OTP 29).
        RECORD 67
        /// Double, 8 bytes.
        NEW_FLOAT 70
        /// Bit string.
        BIT_BINARY 77
        /// zlib stream of a term.
        COMPRESSED 80
        /// Reference to the distribution header's atoms.
        ATOM_CACHE_REF 82
        /// Pid with a creation of four bytes.
        NEW_PID 88
        /// Port with a creation of four bytes.
        NEW_PORT 89
        /// Reference with a creation of four bytes.
        NEWER_REFERENCE 90
        /// Integer, one byte.
        SMALL_INTEGER 97
        /// Integer, four bytes, signed.
        INTEGER 98
        /// Double as text of 31 characters.
        FLOAT 99
        /// Latin-1 atom, length of two bytes.
        ATOM 100
        /// Reference of the first kind.
        REFERENCE 101
        /// Port with a creation of one byte.
        PORT 102
        /// Pid with a creation of one byte.
        PID 103
        /// Tuple, arity of one byte.
        SMALL_TUPLE 104
        /// Tuple, arity of four bytes.
        LARGE_TUPLE 105
        /// Empty list.
        NIL 106
        /// List of bytes.
        STRING 107
        /// List with its tail.
        LIST 108
        /// Binary.
        BINARY 109
        /// Big integer, length of one byte.
        SMALL_BIG 110
        /// Big integer, length of four bytes.
        LARGE_BIG 111
        /// Local fun.
        NEW_FUN 112
        /// `fun M:F/A`.
        EXPORT 113
        /// Reference with a creation of one byte.
        NEW_REFERENCE 114
        /// Latin-1 atom, length of one byte.
        SMALL_ATOM 115
        /// Map.
        MAP 116
        /// UTF-8 atom, length of two bytes.
        ATOM_UTF8 118
        /// UTF-8 atom, length of one byte.
        SMALL_ATOM_UTF8 119
        /// Port with a number of eight bytes.
        V4_PORT 120
    }
}

/// What "this node" is: what its pids, ports and references are written as, and which are read as its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeIdentity {
    /// Node name.
    pub name: Atom,
    /// Creation.
    pub creation: u32,
}

impl NodeIdentity {
    /// This node as it is named now.
    pub fn local() -> NodeIdentity {
        let (name, creation) = crate::node::local();
        NodeIdentity { name, creation }
    }

    /// Does a node name and creation mean this node? Creation 0 is any of a node's lives.
    pub fn is(self, name: Atom, creation: u32) -> bool {
        name == self.name && (creation == self.creation || creation == 0)
    }
}
