//! How words and headers are laid out, for whatever makes machine code that looks at them (docs/design.md, section 2).

use crate::{binary, word};

/// The bits of a word that are its tag. That of a small integer is 0.
pub const TAG_MASK: u64 = word::TAG_MASK;
/// The tag of a boxed object's word; the address without it is that of the header.
pub const BOXED: u64 = word::BOXED;
/// The tag of a list cell's word; the address without it is that of the head, and the tail follows.
pub const LIST: u64 = word::LIST;
/// How far a small integer's value is shifted.
pub const SMALL_SHIFT: u32 = 3;
/// The bits of an immediate that tell what it is...
pub const SUB_MASK: u64 = word::SUB_MASK;
/// ...in an atom...
pub const ATOM: u64 = word::ATOM;
/// ...and in a pid of this node.
pub const LOCAL_PID: u64 = word::PID;
/// The first of two tags of self-tagged doubles, the other being one more.
pub const FLOAT: u64 = 3;
/// How far the bits of such a double are rotated to the left.
pub const FLOAT_ROTATE: u32 = word::FLOAT_ROTATE;
/// The bits of a header that are its tag and kind: all of [`Header::new`](crate::boxed::Header::new) with a size of 0.
pub const KIND_MASK: u64 = 0xff;
/// Where a header has the size, 32 bits.
pub const SIZE_SHIFT: u32 = 8;
/// Where the address of a shared binary's bytes is in what its second word leads to; its first word is how many there are.
pub const SHARED_DATA: usize = binary::DATA_OFFSET;
