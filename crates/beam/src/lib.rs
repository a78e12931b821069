//! Reading and validating .beam files.
//!
//! Third from the bottom among the crates (docs/design.md, section 1): it knows bytes and nothing of
//! terms, heaps or processes. `Module::load` turns the bytes of a file into a [`Module`]: tables, and
//! code that has passed the load-time scan (`scan.rs` states what that guarantees). Functions are
//! decoded one by one when they are first wanted ([`Module::decode_function`]). Of decoded functions it tells what engines need to
//! know: frames ([`Module::frames`]), live registers ([`Module::liveness`]), what is proved ([`Module::proofs`]), what is built to be sent
//! ([`Module::messages`]).
//!
//! What the scan does not establish, and the engine must therefore be safe against:
//! - literals, attributes and compile information are external terms that have not been decoded yet;
//! - types in the type table, and `safe` in call_fun2, are the compiler's claims;
//! - terms are of the type that an instruction expects (a Ctx operand holds a match context, the source of put_map_assoc is a
//!   map, ...). [`Module::proofs`] tells which of the instructions that read or write through a term without a look at what it
//!   is (get_list, get_tuple_element, ...) are proved right by the function's own code (`kinds.rs`).

#![forbid(unsafe_code)]

mod atoms;
mod catches;
mod container;
mod decode;
mod disasm;
mod effects;
mod error;
mod flow;
mod frames;
mod kinds;
mod labels;
mod liveness;
mod messages;
mod module;
mod opcode;
mod operands;
mod reader;
mod records;
mod roles;
mod room;
mod scan;
mod tables;
mod types;

pub use atoms::AtomTable;
pub use container::BeamFile;
pub use decode::{Alloc, AnyReg, Arg, Body, Instr, Reg};
pub use error::{ChunkId, LoadError};
pub use frames::{Frames, MIXED};
pub use kinds::{Proofs, is_access};
pub use liveness::{Liveness, RegSet};
pub use messages::{BuiltMessage, Class, Messages, Site};
pub use module::{Module, md5, module_md5};
pub use opcode::{Kind, MAX_OPCODE, Op, WITHDRAWN};
pub use reader::{MAX_FLOAT_REGISTERS, MAX_REGISTERS};
pub use records::{FieldDefault, RecordDef};
pub use scan::{CodeHeader, FunctionDef, LabelDef, LoopHead};
pub use tables::{Export, Import, Lambda, Line, LineTable, Literals, MAX_ARITY, always_raises};
pub use types::Type;
