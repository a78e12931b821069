//! What module `instrument` asks for.
//!
//! The histograms of blocks by what they are for (`instrument:allocations/0,1`) are not to be had, as on OTP of allocators that are switched off
//! (`+Mea min`): blocks have no tags, and their classes are counted by number and size.

use myriad_observe::allocators::{self as held, UTIL_ALLOCATORS};
use myriad_term::{Atom, Build, Term};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub INSTRUMENT = "erts_internal" {
    "no_aux_work_threads" / 0 Plain => no_aux_work_threads;
    "gather_alloc_histograms" / 1 Plain => |_, _| Ok(Term::small(0));
    "gather_carrier_info" / 1 Plain => gather_carrier_info;
}}

/// One for each scheduler, and one that no figures come from: a process that asks for figures of allocators expects messages from the others.
fn no_aux_work_threads(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    Ok(Term::small(held::instances(ctx.vm) as i64))
}

/// The largest histogram, and the largest first limit of one.
const WIDEST: usize = 32;
const LARGEST_START: usize = 1 << 28;

/// What [`gather_carrier_info`] is asked.
struct Question {
    allocator: Atom,
    instance: usize,
    /// How many intervals the histogram of free blocks has, and the end of the first, in bytes.
    width: usize,
    start: usize,
    reference: Term,
}

impl Question {
    /// `{Allocator, Instance, Width, Start, Ref}`, later with flags before the reference.
    fn of(term: Term) -> Option<Question> {
        let [allocator, instance, width, start, reference] = term.as_tuple_of::<5>().or_else(|| {
            let [allocator, instance, width, start, _, reference] = term.as_tuple_of::<6>()?;
            Some([allocator, instance, width, start, reference])
        })?;
        let question = Question {
            allocator: allocator.as_atom()?,
            instance: instance.as_usize()?,
            width: width.as_usize().filter(|width| (1..=WIDEST).contains(width))?,
            start: start.as_usize().filter(|start| (1..=LARGEST_START).contains(start))?,
            reference,
        };
        reference.is_reference().then_some(question)
    }
}

/// The interval of a histogram for so many bytes: each ends at twice the end of the one before, and the last has all that are larger.
fn interval(bytes: usize, start: usize, width: usize) -> usize {
    let doublings = bytes.div_ceil(start).max(1).next_power_of_two().ilog2() as usize;
    doublings.min(width - 1)
}

/// `{Ref, [{Allocator, false, Size, 0, [{Class, Blocks, Bytes}], FreeBlocks}]}` comes as a message: what an instance holds, by class, is one
/// carrier. Gives the number of messages.
fn gather_carrier_info(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(question) = Question::of(args[0]) else { return badarg() };
    let Some(allocator) = UTIL_ALLOCATORS.iter().find(|a| a.name == question.allocator) else { return badarg() };
    if question.instance >= allocator.instances(ctx.vm) {
        // OTP says so of an allocator that schedulers do not have instances of.
        return if question.instance < held::instances(ctx.vm) { Ok(Term::small(0)) } else { badarg() };
    }
    let holdings = held::holdings(ctx.vm, question.allocator, question.instance);
    let mut classes = Vec::new();
    for part in holdings.parts.iter().filter(|part| part.blocks > 0) {
        let (blocks, bytes) = (ctx.uint(part.blocks as u64), ctx.uint(part.bytes as u64));
        classes.push(ctx.tuple(&[part.class.term(), blocks, bytes]));
    }
    let mut free = vec![Term::small(0); question.width];
    for kept in &holdings.free {
        let place = &mut free[interval(kept.bytes, question.start, question.width)];
        *place = Term::small((place.as_usize().unwrap_or(0) + kept.blocks) as i64);
    }
    let size = holdings.bytes().saturating_add(holdings.spare);
    let carriers = if size == 0 {
        Term::NIL
    } else {
        let (classes, free, size) = (ctx.list(&classes), ctx.tuple(&free), ctx.uint(size as u64));
        let carrier = ctx.tuple(&[allocator.name.term(), Term::FALSE, size, Term::small(0), classes, free]);
        ctx.list(&[carrier])
    };
    let message = ctx.tuple(&[question.reference, carriers]);
    ctx.send(ctx.pid().term(), message)?;
    Ok(Term::small(1))
}

#[cfg(test)]
mod tests {
    use super::interval;

    #[test]
    fn intervals_double() {
        let places = [1, 128, 129, 256, 257, 513, usize::MAX].map(|bytes| interval(bytes, 128, 4));
        assert_eq!(places, [0, 0, 1, 1, 2, 3, 3]);
    }
}
