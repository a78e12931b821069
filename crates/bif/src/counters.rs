//! Arrays of counters that many schedulers add to (`counters:new/2` with `write_concurrency`).
//!
//! W1. Each counter has a cell for each normal scheduler, and one for all the dirty ones; its value is their sum. Cells of one
//!     scheduler lie together, eight to a line of the cache, so schedulers that add write no line in common.
//! W2. No order is promised: all accesses are Relaxed. Reading while others add gives some sum of what was added.

use crate::atomics::{PURPOSE, bits};
use myriad_sync::atomic::{AtomicI64, Ordering::Relaxed};
use myriad_term::magic::{Magic, magic_reference};
use myriad_term::{Build, Term, am, map, memory};
use myriad_vm::bif::{BADARG, Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub INTERNAL_COUNTERS = "erts_internal" {
    "counters_new" / 1 Plain => counters_new_1;
    "counters_get" / 2 Plain => counters_get_2;
    "counters_add" / 3 Plain => counters_add_3;
    "counters_put" / 3 Plain => counters_put_3;
    "counters_info" / 1 Plain => counters_info_1;
}}

/// Cells of one line of the cache.
const CELLS: usize = 8;

#[repr(align(64))]
struct Line([AtomicI64; CELLS]);

/// More no address space holds.
const MAX_LINES: usize = isize::MAX as usize / size_of::<Line>();

struct Counters {
    size: usize,
    /// Cells of a counter.
    lanes: usize,
    /// The lines of counters 0 to 7 for each lane, those of 8 to 15, and so on.
    lines: Box<[Line]>,
}

/// The array, and the place of a counter that is counted from 1.
fn counter(array: &Magic, index: Term) -> Result<(&Counters, usize), Escape> {
    let counters = array.get::<Counters>().ok_or(BADARG)?;
    match index.as_usize().and_then(|i| i.checked_sub(1)).filter(|i| *i < counters.size) {
        Some(index) => Ok((counters, index)),
        None => badarg(),
    }
}

impl Counters {
    /// The cells of a counter.
    fn cells(&self, index: usize) -> impl Iterator<Item = &AtomicI64> {
        let first = index / CELLS * self.lanes;
        self.lines[first..first + self.lanes].iter().map(move |line| &line.0[index % CELLS])
    }

    /// The cell of a counter that the scheduler adds to.
    fn own(&self, ctx: &Ctx<'_>, index: usize) -> &AtomicI64 {
        let lane = if ctx.sched.dirty { 0 } else { (1 + ctx.sched.id) % self.lanes };
        &self.lines[index / CELLS * self.lanes + lane].0[index % CELLS]
    }
}

fn counters_new_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if args[0].as_big().is_some_and(|(negative, _)| !negative) {
        return Err(SYSTEM_LIMIT);
    }
    let Some(size) = args[0].as_usize().filter(|n| *n > 0) else { return badarg() };
    let lanes = ctx.vm.config.schedulers + 1;
    let count = size.div_ceil(CELLS).checked_mul(lanes).ok_or(SYSTEM_LIMIT)?;
    if count > MAX_LINES {
        return Err(SYSTEM_LIMIT);
    }
    let mut lines = memory::named(PURPOSE, || Vec::with_capacity(count));
    lines.resize_with(count, || Line(std::array::from_fn(|_| AtomicI64::new(0))));
    let counters = Counters { size, lanes, lines: lines.into_boxed_slice() };
    let numbers = ctx.sched.next_ref();
    Ok(magic_reference(ctx, Magic::new(numbers, counters)))
}

fn counters_get_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let array = args[0].as_magic().ok_or(BADARG)?;
    let (counters, index) = counter(&array, args[1])?;
    // Relaxed: W2.
    let sum = counters.cells(index).fold(0i64, |sum, cell| sum.wrapping_add(cell.load(Relaxed)));
    Ok(ctx.int(sum))
}

fn counters_add_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let by = bits(args[2])?;
    let array = args[0].as_magic().ok_or(BADARG)?;
    let (counters, index) = counter(&array, args[1])?;
    // Relaxed: W2.
    counters.own(ctx, index).fetch_add(by, Relaxed);
    Ok(Term::OK)
}

fn counters_put_3(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let value = bits(args[2])?;
    if args[2].as_big().is_some_and(|(negative, _)| !negative && value < 0) {
        return badarg();
    }
    let array = args[0].as_magic().ok_or(BADARG)?;
    let (counters, index) = counter(&array, args[1])?;
    let mut value = value;
    for cell in counters.cells(index) {
        // Relaxed: W2.
        cell.store(value, Relaxed);
        value = 0;
    }
    Ok(Term::OK)
}

fn counters_info_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let array = args[0].as_magic().ok_or(BADARG)?;
    let counters = array.get::<Counters>().ok_or(BADARG)?;
    let memory = size_of::<Counters>() + size_of_val(&counters.lines[..]);
    let pairs = [(am::size.term(), ctx.uint(counters.size as u64)), (am::memory.term(), ctx.uint(memory as u64))];
    Ok(map::from_pairs(ctx, &pairs))
}
