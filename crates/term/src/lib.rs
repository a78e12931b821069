//! Terms: the word, boxed objects, comparison, hashing, printing, external term format.
//!
//! Second in the crate order (docs/architecture.md): needs `sync` only. Nothing outside this crate knows the bit layout;
//! other crates ask the accessors here.
//!
//! Invariants of every [`TermRef`] that safe code can hold:
//! - T1. A boxed or list word points at an initialised object whose header tells its size. (Guaranteed: words become terms by
//!   builders, or by `unsafe` functions.)
//! - T2. A `TermRef<'h>` is held for `'h`: its objects stay where they are, and what is read through it lives no longer.
//!   The types guarantee it for the terms of arenas, fragments, payloads, table rows and specifications, which borrow what holds
//!   them. For a [`Term`], a term of the running process, it is a promise: `unsafe` operations move objects (a collection)
//!   and free them (the end of a process, the purge of a module), and their callers promise that every term that is used
//!   afterwards is a root. A built-in never sees a term move: it asks for a collection by giving way, and is called
//!   again. References into an object live no longer than a borrow of the term or of what holds it; instructions of the
//!   interpreter, which take addresses, do so in `unsafe` functions.
//! - T3. Objects are immutable once their term is published, except by the named `unsafe` functions that the
//!   compiler's own guarantees allow (`set_tuple_element`, appending to a writable binary). (A promise of these.)
//!
//! A term cannot outlive what holds it, nor a reference the term:
//!
//! ```compile_fail,E0515
//! fn bytes() -> &'static [u8] {
//!     let term = myriad_term::Term::NIL;
//!     term.as_aligned_bytes().unwrap()
//! }
//! ```
//!
//! ```compile_fail,E0521
//! fn keep(term: myriad_term::TermRef<'_>) -> myriad_term::Term {
//!     term
//! }
//! ```

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
pub mod layout;
pub mod magic;
pub mod map;
pub mod memory;
mod mix;
pub mod node;
pub mod number_text;
pub mod packet;
pub mod phash;
pub mod print;
mod secret_hash;
pub mod size;
mod stack;
#[cfg(test)]
mod test_terms;
mod visited;
pub mod word;

pub use alloc::{Alloc, Build, OffHeap};
pub use arena::Arena;
pub use atom::Atom;
pub use binary::{BinaryBuffer, Bits, SharedBinary};
pub use boxed::{Boxed, Kind, Tuple};
pub use code::{CodeNames, Export, FunEntry, FunId, Mfa};
pub use growing::GrowingList;
pub use id::{Pid, Port, RefNumbers, RefUse};
pub use magic::Magic;
pub use map::Map;
pub use word::{Tag, Term, TermRef};
