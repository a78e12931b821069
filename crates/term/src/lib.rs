//! Terms: the word, boxed objects, comparison, hashing, printing, external term format.
//!
//! Second in the crate order (docs/architecture.md): needs `sync` only. Nothing outside this crate knows the bit layout;
//! other crates ask the accessors here.
//!
//! Invariants of every [`Term`] that safe code can hold:
//! - T1. A boxed or list word points at an initialised object whose header tells its size.
//! - T2. The object stays where it is for as long as safe code can look at it: moving objects (a collection) and
//!   freeing them (a process, a fragment, a table row) are `unsafe` operations, whose callers promise that no term
//!   into that memory is used afterwards. So the accessors here are safe functions, and a BIF never sees a term move.
//! - T3. Objects are immutable once their term is published, except by the named `unsafe` functions that the
//!   compiler's own guarantees allow (`set_tuple_element`, appending to a writable binary).

pub mod alloc;
pub mod am;
pub mod arena;
pub mod arith;
pub mod atom;
pub mod big;
pub mod binary;
pub mod boxed;
pub mod code;
pub mod compare;
pub mod copy;
pub mod copy_shared;
pub mod equal;
pub mod etf;
pub mod growing;
pub mod hash;
pub mod id;
mod identity;
pub mod magic;
pub mod map;
pub mod memory;
mod mix;
pub mod node;
pub mod number_text;
pub mod phash;
pub mod print;
pub mod size;
mod stack;
#[cfg(test)]
mod test_terms;
mod visited;
pub mod word;

pub use alloc::{Alloc, Build, OffHeap};
pub use arena::Arena;
pub use atom::Atom;
pub use binary::{Bits, SharedBinary};
pub use boxed::{Boxed, Kind, Tuple};
pub use code::{CodeNames, Export, FunEntry, FunId, Mfa};
pub use growing::GrowingList;
pub use id::{Pid, Port, RefNumbers, RefUse};
pub use magic::Magic;
pub use map::Map;
pub use word::{Tag, Term};
