//! Lists.

use crate::guards::otp_small;
use crate::work::{dirty, in_slices};
use foldhash::fast::RandomState;
use myriad_term::compare::compare_exact;
use myriad_term::equal::{eq, eq_exact};
use myriad_term::word::ListIter;
use myriad_term::{Build, GrowingList, Term, Tuple, am};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx};
use std::collections::HashMap;

myriad_vm::bifs! { pub LISTS = "lists" {
    "member" / 2 Plain => member_2;
    "reverse" / 2 Plain => reverse_2;
    "keyfind" / 3 Plain => |ctx, a| key_search(ctx, a, |_, found| found.unwrap_or(Term::FALSE));
    "keymember" / 3 Plain => |ctx, a| key_search(ctx, a, |_, found| Term::bool(found.is_some()));
    "keysearch" / 3 Plain => |ctx, a| key_search(ctx, a, |ctx, found| match found {
        Some(tuple) => ctx.tuple(&[Term::atom(am::value), tuple]),
        None => Term::FALSE,
    });
}}

myriad_vm::bifs! { pub LIST_OPERATORS = "erlang" {
    "++" / 2 Plain => append_2;
    "append" / 2 Plain => append_2;
    "--" / 2 Plain => subtract_2;
    "subtract" / 2 Plain => subtract_2;
}}

/// Elements for one reduction: a step of these loops is a few nanoseconds.
const PER_REDUCTION: usize = 16;
/// Elements that are joined or reversed at once, however little of the slice is left: a tenth of a millisecond's work, which
/// counts for the slice after.
const AT_ONCE: usize = 64 * 1024;
/// Elements that are looked at before anything else.
const AT_FIRST: usize = 32;
/// Longer lists are subtracted on a dirty scheduler.
const LONG: usize = 20_000;

/// The end of a list that was walked to it: a proper one?
fn at_end(list: &ListIter) -> Result<(), Escape> {
    if list.tail().is_nil() { Ok(()) } else { badarg() }
}

fn member_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (wanted, mut list) = (args[0], args[1].list_iter());
    let by_word = wanted.is_immediate();
    if by_word {
        // Most lists are short: done before anything is set up for going on later.
        for _ in 0..AT_FIRST {
            match list.next() {
                Some(item) if item.is(wanted) => return Ok(Term::TRUE),
                Some(_) => {}
                None => {
                    at_end(&list)?;
                    return Ok(Term::FALSE);
                }
            }
        }
    }
    in_slices(ctx, PER_REDUCTION, move |_, budget| {
        let mut left = *budget;
        let found = loop {
            if left == 0 {
                break None;
            }
            left -= 1;
            match list.next() {
                Some(item) if item.is(wanted) || !by_word && eq_exact(item, wanted) => break Some(Term::TRUE),
                Some(_) => {}
                None => {
                    at_end(&list)?;
                    break Some(Term::FALSE);
                }
            }
        };
        *budget = left;
        Ok(found)
    })
}

fn reverse_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if let Some(len) = proper_length(args[0], AT_ONCE) {
        ctx.make_room(2 * len)?;
        ctx.bump(len / PER_REDUCTION);
        return Ok(ctx.reversed_prefix(args[0], len, args[1]));
    }
    let (mut list, mut reversed) = (args[0].list_iter(), args[1]);
    in_slices(ctx, PER_REDUCTION, move |ctx, budget| {
        let rest = list.tail();
        let len = list.by_ref().take(*budget).count();
        reversed = ctx.reversed_prefix(rest, len, reversed);
        *budget -= len;
        if *budget == 0 {
            return Ok(None);
        }
        at_end(&list)?;
        Ok(Some(reversed))
    })
}

/// What `lists:keyfind/3` finds, or `false`, as `give` has it.
fn key_search(ctx: &mut Ctx<'_>, args: &[Term], give: fn(&mut Ctx<'_>, Option<Term>) -> Term) -> BifResult {
    let Some(i) = otp_small(args[1]).and_then(|n| usize::try_from(n).ok()?.checked_sub(1)) else { return badarg() };
    let (key, mut list) = (args[0], args[2].list_iter());
    let by_word = key.is_immediate() && !key.is_small() && !key.is_float();
    let is_it = move |item: Term| {
        let element = item.as_tuple().and_then(|t: Tuple| t.elements().get(i).copied());
        element.is_some_and(|e| e.is(key) || !by_word && eq(e, key))
    };
    // Most lists are short: done before anything is set up for going on later.
    for _ in 0..AT_FIRST {
        match list.next() {
            Some(item) if is_it(item) => return Ok(give(ctx, Some(item))),
            Some(_) => {}
            None => {
                at_end(&list)?;
                return Ok(give(ctx, None));
            }
        }
    }
    in_slices(ctx, PER_REDUCTION, move |ctx, budget| {
        let mut left = *budget;
        let found = loop {
            if left == 0 {
                *budget = 0;
                return Ok(None);
            }
            left -= 1;
            let Some(item) = list.next() else {
                at_end(&list)?;
                break None;
            };
            if is_it(item) {
                break Some(item);
            }
        };
        *budget = left;
        Ok(Some(give(ctx, found)))
    })
}

/// The length of a proper list of up to `most` elements.
fn proper_length(list: Term, most: usize) -> Option<usize> {
    let (mut rest, mut len) = (list, 0);
    while let Some((_, tail)) = rest.as_cons() {
        if len == most {
            return None;
        }
        len += 1;
        rest = tail;
    }
    rest.is_nil().then_some(len)
}

fn append_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (mut list, result) = (args[0].list_iter(), args[1]);
    if let Some(len) = proper_length(args[0], AT_ONCE) {
        ctx.make_room(2 * len)?;
        ctx.bump(len / PER_REDUCTION);
        return Ok(ctx.list_prefix(args[0], len, result));
    }
    let mut copy = GrowingList::default();
    in_slices(ctx, PER_REDUCTION, move |ctx, budget| {
        let mut items = list.tail().list_iter();
        let len = list.by_ref().take(*budget).count();
        *budget -= len;
        copy.add(ctx, len, |_| items.next().unwrap_or(Term::NIL));
        if list.tail().is_cons() {
            return Ok(None);
        }
        at_end(&list)?;
        Ok(Some(copy.finish(result)))
    })
}

/// Elements of the right list that are searched one by one.
const LINEAR: usize = 8;

fn subtract_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if args.iter().any(|list| list.list_iter().nth(LONG).is_some()) {
        dirty(ctx)?;
    }
    let (mut left, mut right) = (args[0].list_iter(), args[1].list_iter());
    let mut items: Vec<Term> = left.by_ref().collect();
    let mut gone: Vec<Term> = right.by_ref().collect();
    if !left.tail().is_nil() || !right.tail().is_nil() {
        return badarg();
    }
    ctx.bump((items.len() + gone.len()) / 4);
    if items.is_empty() || gone.is_empty() {
        return Ok(args[0]);
    }
    if gone.len() <= LINEAR {
        items.retain(|item| match gone.iter().position(|g| eq_exact(*g, *item)) {
            Some(i) => {
                gone.swap_remove(i);
                false
            }
            None => true,
        });
    } else {
        subtract_counted(&mut items, gone);
    }
    Ok(ctx.list(&items))
}

/// Takes out of `items` as many of each term as `gone` has. Terms without memory are equal if their words are: those are counted
/// in a hash table. (A term with memory may be one that shares its parts many times over: hashing it could take for ever.)
fn subtract_counted(items: &mut Vec<Term>, gone: Vec<Term>) {
    let (plain, others): (Vec<Term>, Vec<Term>) = gone.into_iter().partition(|term| term.is_immediate());
    let mut counts: HashMap<u64, u32, RandomState> =
        HashMap::with_capacity_and_hasher(plain.len(), RandomState::default());
    for term in plain {
        let count = counts.entry(term.raw()).or_insert(0);
        *count = count.saturating_add(1);
    }
    let mut others = Counted::new(others);
    items.retain(|item| {
        if !item.is_immediate() {
            return !others.take(*item);
        }
        match counts.get_mut(&item.raw()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        }
    });
}

/// Terms and how often there are, in the exact order: integers and floats that are equal as numbers stay apart.
struct Counted(Vec<(Term, usize)>);

impl Counted {
    fn new(mut terms: Vec<Term>) -> Counted {
        terms.sort_unstable_by(|a, b| compare_exact(*a, *b));
        let mut counted: Vec<(Term, usize)> = Vec::new();
        for term in terms {
            match counted.last_mut() {
                Some((last, n)) if eq_exact(*last, term) => *n += 1,
                _ => counted.push((term, 1)),
            }
        }
        Counted(counted)
    }

    /// Takes one such term, if there is one left.
    fn take(&mut self, wanted: Term) -> bool {
        match self.0.binary_search_by(|(term, _)| compare_exact(*term, wanted)) {
            Ok(i) if self.0[i].1 > 0 => {
                self.0[i].1 -= 1;
                true
            }
            _ => false,
        }
    }
}
