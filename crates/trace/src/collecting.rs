//! Garbage collections: their trace messages.

use crate::{event, monitor};
use myriad_term::{Arena, Atom, Build, Term, TermRef, am};
use myriad_vm::Ctx;
use myriad_vm::tracer::flags::GARBAGE_COLLECTION;
use myriad_vm::tracer::{Collection, switches};

/// A collection begins, so that `need` words become free.
pub(crate) fn begins(ctx: &mut Ctx<'_>, collection: &Collection, need: usize) {
    tell(ctx, if collection.major { am::gc_major_start } else { am::gc_minor_start }, need);
}

/// It is over.
pub(crate) fn ends(ctx: &mut Ctx<'_>, collection: &Collection) {
    let reclaimed = collection.words_before.saturating_sub(ctx.state.heap.used_words());
    tell(ctx, if collection.major { am::gc_major_end } else { am::gc_minor_end }, reclaimed);
    if ctx.vm.switches.any(switches::COLLECTIONS) {
        ctx.vm.test_hooks.prolong_collection();
        monitor::collection_took(ctx, collection.since_ns);
    }
}

/// `first` stands under `wordsize`, where OTP tells what is wanted, and then what was reclaimed.
fn tell(ctx: &mut Ctx<'_>, tag: Atom, first: usize) {
    if !ctx.process.trace.wants(GARBAGE_COLLECTION) {
        return;
    }
    let info = ctx.state.heap.info();
    let mut memory = &Arena::new();
    let figures = [(am::wordsize, first)].into_iter().chain(info.named());
    let pairs: Vec<TermRef<'_>> =
        figures.map(|(name, n)| memory.tuple(&[name.term(), Term::small(n as i64)])).collect();
    let list = memory.list(&pairs);
    event::about(ctx, GARBAGE_COLLECTION, tag, &[list]);
}
