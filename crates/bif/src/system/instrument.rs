//! What module `instrument` asks for.
//!
//! Blocks have no tags: their classes are counted by number and size. So the histograms of `instrument:allocations/0,1` tell what they are for, and
//! all are of the origin `system`.

use myriad_observe::allocators::{self as held, Allocator, UTIL_ALLOCATORS};
use myriad_term::{Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub INSTRUMENT = "erts_internal" {
    "no_aux_work_threads" / 0 Plain => no_aux_work_threads;
    "gather_alloc_histograms" / 1 Plain => gather_alloc_histograms;
    "gather_carrier_info" / 1 Plain => gather_carrier_info;
}}

/// One for each scheduler, and one that no figures come from: a process that asks for figures of allocators expects messages from the others.
fn no_aux_work_threads(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    Ok(Term::small(held::instances(ctx.vm) as i64))
}

/// The largest histogram, and the largest first limit of one.
const WIDEST: usize = 32;
const LARGEST_START: usize = 1 << 28;

/// What [`gather_alloc_histograms`] and [`gather_carrier_info`] are asked.
struct Question {
    allocator: &'static Allocator,
    instance: usize,
    histogram: Histogram,
    reference: Term,
}

impl Question {
    /// `{Allocator, Instance, Width, Start, Ref}`, later with flags before the reference.
    fn of(term: Term) -> Option<Question> {
        let [allocator, instance, width, start, reference] = term.as_tuple_of::<5>().or_else(|| {
            let [allocator, instance, width, start, _, reference] = term.as_tuple_of::<6>()?;
            Some([allocator, instance, width, start, reference])
        })?;
        let name = allocator.as_atom()?;
        let width = width.as_usize().filter(|width| (1..=WIDEST).contains(width))?;
        let question = Question {
            allocator: UTIL_ALLOCATORS.iter().find(|allocator| allocator.name == name)?,
            instance: instance.as_usize()?,
            histogram: Histogram {
                start: start.as_usize().filter(|start| (1..=LARGEST_START).contains(start))?,
                numbers: vec![0; width],
            },
            reference,
        };
        reference.is_reference().then_some(question)
    }
}

/// Numbers of blocks by intervals of their sizes: each is twice as wide as the one before, and the last has all that are larger.
struct Histogram {
    /// The width of the first interval, in bytes.
    start: usize,
    numbers: Vec<u64>,
}

impl Histogram {
    /// An empty one with the same intervals.
    fn like(&self) -> Histogram {
        Histogram { start: self.start, numbers: vec![0; self.numbers.len()] }
    }

    /// There are so many blocks of so many bytes.
    fn add(&mut self, bytes: usize, number: u64) {
        let place = (bytes / self.start).saturating_add(1).ilog2() as usize;
        let place = place.min(self.numbers.len() - 1);
        self.numbers[place] = self.numbers[place].saturating_add(number);
    }

    fn term(&self, ctx: &mut Ctx<'_>) -> Term {
        let numbers: Vec<Term> = self.numbers.iter().map(|number| ctx.uint(*number)).collect();
        ctx.tuple(&numbers)
    }
}

/// Answers with a message for each instance that there is: gives the number of messages.
fn gather(ctx: &mut Ctx<'_>, args: &[Term], answer: impl FnOnce(&mut Ctx<'_>, Question) -> Term) -> BifResult {
    let Some(question) = Question::of(args[0]) else { return badarg() };
    if question.instance >= question.allocator.instances(ctx.vm) {
        // OTP says so of an allocator that schedulers do not have instances of.
        return if question.instance < held::instances(ctx.vm) { Ok(Term::small(0)) } else { badarg() };
    }
    let message = answer(ctx, question);
    ctx.send(ctx.pid().term(), message)?;
    Ok(Term::small(1))
}

/// `{Ref, 0, [{system, Class, Histogram}]}` comes as a message.
fn gather_alloc_histograms(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    gather(ctx, args, |ctx, question| {
        let mut classes = Vec::new();
        for sizes in held::sizes(question.allocator.name, question.instance) {
            let mut histogram = question.histogram.like();
            sizes.numbers.iter().for_each(|(bytes, number)| histogram.add(*bytes, *number));
            let histogram = histogram.term(ctx);
            classes.push(ctx.tuple(&[am::system.term(), sizes.class.term(), histogram]));
        }
        let classes = ctx.list(&classes);
        ctx.tuple(&[question.reference, Term::small(0), classes])
    })
}

/// `{Ref, [{Allocator, false, Size, 0, [{Class, Blocks, Bytes}], FreeBlocks}]}` comes as a message: what an instance holds, by class, is one
/// carrier.
fn gather_carrier_info(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    gather(ctx, args, |ctx, question| {
        let name = question.allocator.name;
        let holdings = held::holdings(ctx.vm, name, question.instance);
        let mut classes = Vec::new();
        for part in holdings.parts.iter().filter(|part| part.blocks > 0) {
            let (blocks, bytes) = (ctx.uint(part.blocks as u64), ctx.uint(part.bytes as u64));
            classes.push(ctx.tuple(&[part.class.term(), blocks, bytes]));
        }
        let mut free = question.histogram;
        holdings.free.iter().for_each(|kept| free.add(kept.bytes, kept.blocks as u64));
        let size = holdings.bytes().saturating_add(holdings.spare);
        let carriers = if size == 0 {
            Term::NIL
        } else {
            let (classes, free, size) = (ctx.list(&classes), free.term(ctx), ctx.uint(size as u64));
            let carrier = ctx.tuple(&[name.term(), Term::FALSE, size, Term::small(0), classes, free]);
            ctx.list(&[carrier])
        };
        ctx.tuple(&[question.reference, carriers])
    })
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn intervals_double() {
        let mut histogram = Histogram { start: 128, numbers: vec![0; 4] };
        [0, 1, 127, 128, 383, 384, 895, 896, usize::MAX].iter().for_each(|bytes| histogram.add(*bytes, 1));
        assert_eq!(histogram.numbers, [3, 2, 2, 2]);
        histogram.add(usize::MAX, u64::MAX);
        assert_eq!(histogram.numbers[3], u64::MAX);
        let mut least = Histogram { start: 1, numbers: vec![0; 32] };
        least.add(usize::MAX, 1);
        assert_eq!(least.numbers[31], 1);
    }
}
