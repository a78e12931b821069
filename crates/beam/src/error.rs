//! What can be wrong with a .beam file. Every error names the chunk and the place in it, so that a
//! message (and a fuzzer's finding) leads to the byte.

use std::fmt;

use crate::opcode::Op;

/// The four letters that name a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChunkId(pub [u8; 4]);

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Why a .beam file was refused. Offsets count from the start of the chunk's data (for the `Code`
/// chunk: from its first instruction; for literals: within the inflated table).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// Not an IFF file of type BEAM, nor a gzip file that holds one.
    NotBeam,
    /// A gzip or zlib stream is damaged, or yields more than its declared size.
    Inflate {
        /// The compressed chunk; `FOR1` for the file as a whole.
        chunk: ChunkId,
    },
    /// A chunk that every module must have is absent.
    MissingChunk {
        /// The absent chunk.
        chunk: ChunkId,
    },
    /// The data end before what they announce.
    Truncated {
        /// Where the data ended.
        chunk: ChunkId,
        /// Bytes from the start of the chunk.
        offset: usize,
    },
    /// A chunk other than the code holds something impossible.
    Malformed {
        /// The chunk.
        chunk: ChunkId,
        /// Bytes from the start of the chunk.
        offset: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// An opcode number that no release defines.
    UnknownOpcode {
        /// The number.
        opcode: u8,
        /// Bytes from the first instruction.
        offset: usize,
    },
    /// An opcode that no supported release emits or accepts any more.
    WithdrawnOpcode {
        /// The number.
        opcode: u8,
        /// Bytes from the first instruction.
        offset: usize,
    },
    /// An operand of the wrong kind, or out of range.
    Operand {
        /// The instruction.
        op: Op,
        /// Which operand, counted from 0.
        index: u8,
        /// Bytes from the first instruction.
        offset: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// An instruction in the wrong place, or a function that is not formed as functions are.
    Code {
        /// Bytes from the first instruction.
        offset: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A label that is undefined, defined twice, or of another function.
    Label {
        /// The label.
        label: u32,
        /// What is wrong.
        what: &'static str,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBeam => write!(f, "not a BEAM file"),
            Self::Inflate { chunk } => write!(f, "chunk {chunk}: cannot be inflated"),
            Self::MissingChunk { chunk } => write!(f, "chunk {chunk} is missing"),
            Self::Truncated { chunk, offset } => write!(f, "chunk {chunk} ends at byte {offset}, too early"),
            Self::Malformed { chunk, offset, what } => write!(f, "chunk {chunk}, byte {offset}: {what}"),
            Self::UnknownOpcode { opcode, offset } => write!(f, "code byte {offset}: unknown opcode {opcode}"),
            Self::WithdrawnOpcode { opcode, offset } => {
                write!(f, "code byte {offset}: opcode {opcode} is no longer supported; compile the module again")
            }
            Self::Operand { op, index, offset, what } => {
                write!(f, "code byte {offset}: operand {index} of {}: {what}", op.name())
            }
            Self::Code { offset, what } => write!(f, "code byte {offset}: {what}"),
            Self::Label { label, what } => write!(f, "label {label}: {what}"),
        }
    }
}

impl std::error::Error for LoadError {}
