//! Process heaps, fragments, literals and the private-heap collector.
//!
//! Third in the crate order (docs/architecture.md): needs `term` and `sync`.
//!
//! | module | holds |
//! | --- | --- |
//! | [`heap`] | [`Heap`]: the memory of one process; allocation, sizes, figures |
//! | [`collect`] | when and how much is collected, and what size the blocks get |
//! | `copy` | the copying loop: Cheney's, with two destinations |
//! | `old_space`, `gaps` | where a collection puts what becomes old: the end of a block, or the gaps of a large old generation |
//! | `large`, `in_place`, `marking`, `live_map` | the old generation of a large heap, which stays in place: helpers mark what lives, and gaps are filled again |
//! | `evacuation`, `emptying`, `candidates`, `shared_evacuation`, `referrers` | pieces of such a generation of which little lives, which are emptied; which processes refer to those of the one heap |
//! | `sweep` | off-heap chains after a collection; virtual binary heaps |
//! | `relocate` | a young generation moved as a whole to a block of another size |
//! | [`fragment`] | [`Fragment`]: a message's or a spawn's own memory |
//! | [`payload`] | [`Payload`]: a term with the memory that it needs |
//! | [`message`] | [`Message`]: a message as one block |
//! | [`bundle`], `bundle_area` | large messages as blocks that several processes share, in one reserved address range |
//! | `fate` | does it pay to make bundles of such messages? |
//! | `held`, `leave` | the bundles that a heap holds; those of which it copies what it has, to hold them no longer |
//! | `asleep` | large old generations of processes that sleep, which have no collections |
//! | `idle` | heaps that hold many words of bundles while their processes sleep |
//! | `made` | messages that lie on top of the heap, where they were built to be sent |
//! | `sending` | what a process sends, places to be shared, or gets of its parent |
//! | [`literal`] | [`LiteralArea`]: the literals of a module, in one reserved address range |
//! | [`shared`], `one_heap`, `segment`, `young_blocks` | one heap of all processes: its collection, what is young of it, blocks of that which wait to be used again |
//! | `promotion`, `company`, `pinned`, `gathering`, `going_literals` | of that collection: moving what lives, on several threads; whether to call them; what stays in place, and what is left of the rest; the roots of a marking; literals that go |
//! | `lasting`, `area_count` | the literals that a copy may share; how many bundles refer to an area |
//! | `term_walk`, [`heap_walk`] | calling with each term of an area, with each object |
//! | `purge` | does a heap still hold literals of an area; copies them out |
//! | [`settings`], [`sizes`] | what the user may set; the table of block sizes |
//! | [`account`] | totals over all heaps |
//! | [`meter`] | the work that a thread has done, by kinds, for simulators |
//! | [`phases`] | the time that sends and collections take, by parts |
//! | `census` | are the counts of bundles as many as their holders? (under `--cfg heap_check`, and in tests) |
//! | `check` | the invariants below, as a function (run around each collection under `--cfg heap_check`) |
//!
//! Invariants of a [`Heap`] whenever its owner is not inside an operation:
//! - H1. `start <= high_water <= htop <= stop <= hend`; all words in `start..htop` and `stop..hend` are initialised.
//! - H2. Words in `start..htop` are headers, the raw words that a header counts, or words that look like terms (term/B2).
//! - H3. Pointers in a heap lead to its young generation, its old generation, its fragments, literals, or bundles that it holds.
//! - H4. Nothing in the old generation points to the young one or to a fragment; nothing below the high-water mark
//!   points above it. (Objects are immutable, term/T3: they point only to what was there before them.)
//! - H5. Each off-heap object is in just one chain: of the young generation and the fragments, or of the old one.
//! - H6. [`Term::NONE`] is never the head of a list cell: the collector marks moved cells with it.
//!
//! [`Term::NONE`]: myriad_term::Term::NONE

pub mod account;
mod area_count;
mod asleep;
mod attribution;
mod block;
pub mod bundle;
mod bundle_area;
mod candidates;
#[cfg(any(test, heap_check))]
pub mod census;
#[cfg(any(test, heap_check))]
mod check;
pub mod collect;
mod company;
mod copy;
mod due;
mod emptying;
mod evacuation;
mod fate;
pub mod fragment;
mod gaps;
mod gathering;
mod going_literals;
pub mod heap;
pub mod heap_walk;
mod held;
mod idle;
mod in_place;
mod large;
mod lasting;
mod leave;
pub mod literal;
mod live_map;
mod made;
mod marker;
mod marking;
mod marking_times;
pub mod message;
pub mod meter;
mod old_space;
mod one_heap;
pub mod payload;
pub mod phases;
mod pinned;
mod promotion;
mod purge;
mod queue_link;
mod referrers;
mod relocate;
mod reserved;
mod resident;
pub mod roots;
mod segment;
mod sending;
pub mod settings;
pub mod shared;
mod shared_evacuation;
mod shared_page;
pub mod sizes;
mod sweep;
mod term_walk;
#[cfg(test)]
mod tests;
mod transfer;
mod young_blocks;

pub use asleep::Awaited;
pub use collect::{GcReport, MaxHeapExceeded};
pub use fragment::Fragment;
pub use heap::{GcInfo, Heap, RESERVED};
pub use idle::Holder;
pub use lasting::set_going;
pub use literal::{LiteralArea, LiteralRanges, is_literal};
pub use marking::Help;
pub use message::Message;
pub use payload::{Draft, Payload};
pub use queue_link::{QueueLink, Queued};
pub use roots::Roots;
pub use settings::{Architecture, MaxHeapSize, Settings};
pub use transfer::{copied_size, copy_term};
