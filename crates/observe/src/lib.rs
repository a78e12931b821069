//! What people and tools see of a running VM, and of one that breaks: crash dumps, `process_info`, heap walks, figures of memory.
//!
//! Above `trace` and `vm` in the crate order (docs/architecture.md), which know this crate by a trait alone ([`myriad_vm::observer::Observer`]);
//! below the built-ins, which hand on what it finds.
//!
//! | module | holds |
//! | --- | --- |
//! | [`crash_dump`] | `erl_crash.dump`, and its sections one by one |
//! | [`debugger`] | what a debugger calls to see terms, processes, stacks, heaps |
//! | [`dump_file`] | reading a dump, for people: `myriad heap` |
//! | [`info`] | `process_info/1,2`: asked, or read by a visitor |
//! | [`stack`] | what stands on a process's Erlang stack, for people to read |
//! | `census` | are the counts of bundles as many as their holders? (under `--cfg heap_check`) |
//! | [`heap_walk`] | every object of every heap, message, table and timer |
//! | [`memory`], [`allocators`] | what takes how much memory; by class and scheduler |

pub mod allocators;
#[cfg(heap_check)]
pub mod census;
pub mod crash_dump;
pub mod debugger;
pub mod dump_file;
pub mod heap_walk;
pub mod info;
pub mod memory;
pub mod stack;

use crash_dump::Haste;
use myriad_vm::Ctx;
use myriad_vm::observer::Observer;

/// The observer that writes crash dumps, and answers in their words.
pub struct Dumps;

impl Observer for Dumps {
    fn fatal(&self, slogan: &str) {
        crash_dump::report(slogan, None, Haste::Orderly);
    }

    fn process_dump(&self, ctx: &Ctx<'_>) -> String {
        crash_dump::text(|out| crash_dump::own(ctx, out))
    }
}
