//! The machine's processors, in Erlang's terms.

use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_sync::machine::topology::{Inside, Level, Part};
use myriad_sync::machine::{Machine, Topology};
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::{Ctx, Vm};

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

/// The reverse of [`term`]. `None`: it makes no sense.
pub fn of_term(term: Term) -> Option<Topology> {
    Topology::of_parts(&parts_of(term, LEVELS)?)
}

/// No topology is deeper: nodes, processors, their nodes, cores, threads.
const LEVELS: usize = 5;

/// A list of `{Level, Inside}`; between them there may be an empty list, of what is to be told of the part some day.
fn parts_of(list: Term, levels: usize) -> Option<Vec<Part>> {
    let deeper = levels.checked_sub(1)?;
    let mut parts = Vec::new();
    list.list_length()?;
    for part in list.list_iter() {
        let (level, inside) = match part.as_tuple()?.elements() {
            [level, inside] => (*level, *inside),
            [level, none, inside] if none.is_nil() => (*level, *inside),
            _ => return None,
        };
        let level = match level.as_atom()? {
            am::node => Level::Node,
            am::processor => Level::Processor,
            am::core => Level::Core,
            am::thread => Level::Thread,
            _ => return None,
        };
        let inside = match inside.as_tuple() {
            Some(logical) => match logical.elements() {
                [key, number] if key.is_am(am::logical) => Inside::Logical(u32::try_from(number.as_small()?).ok()?),
                _ => return None,
            },
            None => Inside::Parts(parts_of(inside, deeper)?),
        };
        parts.push(Part { level, inside });
    }
    Some(parts)
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
pub fn look(vm: &Vm) -> bool {
    vm.binding.forget_machine();
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
