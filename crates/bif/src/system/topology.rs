//! The machine's processors, in Erlang's terms.

use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_sync::machine::topology::{Inside, Level, Part};
use myriad_sync::machine::{Machine, Topology};
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::Ctx;

/// `[{processor, [{core, {logical, 0}}, ...]}]`, or `undefined`.
pub fn term(ctx: &mut Ctx<'_>, topology: Option<&Topology>) -> Term {
    topology.map_or(Term::UNDEFINED, |topology| parts(ctx, &topology.parts()))
}

fn parts(ctx: &mut Ctx<'_>, all: &[Part]) -> Term {
    let terms: Vec<Term> = all
        .iter()
        .map(|part| {
            let inside = match &part.inside {
                Inside::Logical(number) => ctx.tuple(&[Term::atom(am::logical), Term::small(i64::from(*number))]),
                Inside::Parts(inner) => parts(ctx, inner),
            };
            ctx.tuple(&[Term::atom(level(part.level)), inside])
        })
        .collect();
    ctx.list(&terms)
}

fn level(level: Level) -> Atom {
    match level {
        Level::Node => am::node,
        Level::Processor => am::processor,
        Level::Core => am::core,
        Level::Thread => am::thread,
    }
}

/// How many logical processors this process may use, as last looked at; 0: not since the VM started.
static AVAILABLE: AtomicUsize = AtomicUsize::new(0);

/// How many logical processors this process may use, as last looked at.
pub fn available() -> usize {
    // Relaxed: a figure.
    match AVAILABLE.load(Ordering::Relaxed) {
        0 => myriad_sync::parallelism_at_start(),
        seen => seen,
    }
}

/// Looks at it anew. Has there been a change?
pub fn look() -> bool {
    let (before, now) = (available(), myriad_sync::available_parallelism());
    // Relaxed: as above.
    AVAILABLE.store(now, Ordering::Relaxed);
    before != now
}

/// How many logical processors there are, and how many of them are online.
pub fn logical_processors() -> (usize, usize) {
    let machine = Machine::read();
    (machine.processors.len(), machine.processors.iter().filter(|p| p.is_online).count())
}
