//! Intrinsics that sort lists: `lists:sort/1`, `usort/1`, `keysort/2` and `ukeysort/2`.
//!
//! A merge sort from the runs that the list has already, so that what is nearly sorted costs little more than a walk. It is
//! stable, keeps the first of equal elements where duplicates go, and stops between any two comparisons: long lists are
//! sorted slice by slice. Lists that are not as they should be (improper, a key that is not there) are
//! declined, so that errors come from the Erlang code; so are lists with elements that compare equal and differ (1 and 1.0), of which `sort/1` and
//! `usort/1` do not keep the order.
//!
//! S1. `runs` are the ends of sorted runs that lie in a row in `from`; those before `run` have been merged into `to`.

use crate::work::in_slices;
use myriad_heap::meter::{self, Work};
use myriad_term::compare::compare;
use myriad_term::equal::eq_exact;
use myriad_term::{Build, Term, Tuple};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};
use std::cmp::Ordering;

/// Comparisons for one reduction.
const PER_REDUCTION: usize = 8;
/// Shorter runs are made this long by insertion.
const LEAST_RUN: usize = 8;

/// What is sorted: an element, or one with its key beside it.
trait Item: Copy + Send + 'static {
    /// From the list's element; none if it has no key.
    fn of(element: Term, key: usize) -> Option<Self>;
    fn key(self) -> Term;
    fn element(self) -> Term;
    /// Do the elements differ, though their keys compare equal, in a way that makes their order matter?
    fn differs(self, other: Self) -> bool;

    /// The order of the keys; `odd` if the two differ though it is equal.
    #[inline]
    fn order(self, other: Self, odd: &mut bool) -> Ordering {
        let order = compare(self.key(), other.key());
        if order.is_eq() {
            *odd |= self.differs(other);
        }
        order
    }
}

impl Item for Term {
    #[inline]
    fn of(element: Term, _: usize) -> Option<Term> {
        Some(element)
    }

    #[inline]
    fn key(self) -> Term {
        self
    }

    #[inline]
    fn element(self) -> Term {
        self
    }

    #[inline]
    fn differs(self, other: Term) -> bool {
        if self.is(other) {
            return false;
        }
        match (self.as_float(), other.as_float()) {
            // The two zeros.
            (Some(a), Some(b)) => a.to_bits() != b.to_bits(),
            _ => !eq_exact(self, other),
        }
    }
}

/// A key and its tuple.
#[derive(Clone, Copy)]
struct Keyed(Term, Term);

impl Item for Keyed {
    #[inline]
    fn of(element: Term, key: usize) -> Option<Keyed> {
        let key = *element.as_tuple().and_then(|t: Tuple| t.elements().get(key))?;
        Some(Keyed(key, element))
    }

    #[inline]
    fn key(self) -> Term {
        self.0
    }

    #[inline]
    fn element(self) -> Term {
        self.1
    }

    /// Sorting by keys is stable, whatever they are.
    #[inline]
    fn differs(self, _: Keyed) -> bool {
        false
    }
}

/// `lists:sort/1` and `usort/1`.
pub fn sort(ctx: &mut Ctx<'_>, args: &[Term], unique: bool) -> BifResult {
    sort_by::<Term>(ctx, args[0], 0, unique)
}

/// `lists:keysort/2` and `ukeysort/2`.
pub fn key_sort(ctx: &mut Ctx<'_>, args: &[Term], unique: bool) -> BifResult {
    match args[0].as_usize().and_then(|n| n.checked_sub(1)) {
        Some(key) => sort_by::<Keyed>(ctx, args[1], key, unique),
        None => Err(Escape::Decline),
    }
}

fn sort_by<T: Item>(ctx: &mut Ctx<'_>, list: Term, key: usize, unique: bool) -> BifResult {
    if !list.is_cons() {
        return Err(Escape::Decline);
    }
    let mut rest = list.list_iter();
    let mut sorting = Sorting::<T>::default();
    let mut result = Term::NIL;
    in_slices(ctx, PER_REDUCTION, move |ctx, budget| {
        let given = *budget;
        if !sorting.complete {
            let mut left = *budget;
            while left > 0 {
                left -= 1;
                match rest.next() {
                    Some(element) => sorting.take(T::of(element, key).ok_or(Escape::Decline)?),
                    None if rest.tail().is_nil() => {
                        sorting.complete = true;
                        break;
                    }
                    None => return Err(Escape::Decline),
                }
            }
            *budget = left;
            meter::count(Work::Comparison, (given - left) as u64);
            if !sorting.complete {
                return Ok(None);
            }
            sorting.end();
        }
        let before = *budget;
        let merged = sorting.merge(budget);
        meter::count(Work::Comparison, (before - *budget) as u64);
        if sorting.odd {
            return Err(Escape::Decline);
        }
        if !merged {
            return Ok(None);
        }
        // The list is made from its end, as far as the slice goes.
        while let Some(item) = sorting.from.pop() {
            let before = sorting.from.last();
            if !(unique && before.is_some_and(|before| before.order(item, &mut false).is_eq())) {
                result = ctx.cons(item.element(), result);
            }
            *budget = budget.saturating_sub(1);
            if *budget == 0 {
                break;
            }
        }
        Ok(sorting.from.is_empty().then_some(result))
    })
}

/// A sort in progress (S1).
struct Sorting<T> {
    /// All elements have been taken.
    complete: bool,
    from: Vec<T>,
    to: Vec<T>,
    runs: Vec<usize>,
    merged: Vec<usize>,
    run: usize,
    /// How far the two runs at hand have been merged.
    left: usize,
    right: usize,
    /// Does the last run, while elements are taken, fall? It does if each is less than the one before.
    falling: bool,
    /// Elements have been met that compare equal and differ.
    odd: bool,
}

impl<T> Default for Sorting<T> {
    fn default() -> Self {
        Sorting {
            complete: false,
            from: Vec::new(),
            to: Vec::new(),
            runs: Vec::new(),
            merged: Vec::new(),
            run: 0,
            left: 0,
            right: 0,
            falling: false,
            odd: false,
        }
    }
}

impl<T: Item> Sorting<T> {
    /// One more element: it lengthens the last run, or begins a new one.
    #[inline]
    fn take(&mut self, item: T) {
        let start = self.runs.last().copied().unwrap_or(0);
        let len = self.from.len() - start;
        if let Some(last) = self.from.last().copied().filter(|_| len > 0) {
            let falls = last.order(item, &mut self.odd).is_gt();
            if len == 1 {
                self.falling = falls;
            } else if falls != self.falling {
                self.rise(start);
                if len < LEAST_RUN {
                    let odd = &mut self.odd;
                    let at = start + self.from[start..].partition_point(|other| other.order(item, odd).is_le());
                    self.from.insert(at, item);
                    return;
                }
                self.runs.push(self.from.len());
            }
        }
        self.from.push(item);
    }

    /// Makes the last run, from `start` on, rise. Its elements differ if it falls, so that turning it round keeps the order
    /// of equal ones.
    fn rise(&mut self, start: usize) {
        if self.falling {
            self.from[start..].reverse();
            self.falling = false;
        }
    }

    /// All elements are there.
    fn end(&mut self) {
        let start = self.runs.last().copied().unwrap_or(0);
        self.rise(start);
        if start < self.from.len() {
            self.runs.push(self.from.len());
        }
        self.begin(0);
    }

    /// Where run number `run` begins.
    fn start(&self, run: usize) -> usize {
        run.checked_sub(1).map_or(0, |before| self.runs[before])
    }

    /// Turns to the runs `run` and `run + 1`.
    fn begin(&mut self, run: usize) {
        self.run = run;
        self.left = self.start(run);
        self.right = self.runs.get(run).copied().unwrap_or(self.from.len());
    }

    /// Merges pairs of runs until one is left (true) or the budget is used up.
    fn merge(&mut self, budget: &mut usize) -> bool {
        while self.runs.len() > 1 {
            if *budget == 0 {
                return false;
            }
            match (self.runs.get(self.run).copied(), self.runs.get(self.run + 1).copied()) {
                (Some(middle), Some(end)) => {
                    if self.merge_two(middle, end, budget) {
                        self.merged.push(end);
                        self.begin(self.run + 2);
                    }
                }
                (Some(end), None) => {
                    // The odd one at the end.
                    self.to.extend_from_slice(&self.from[self.left..end]);
                    self.merged.push(end);
                    self.begin(self.run + 1);
                }
                (None, _) => {
                    std::mem::swap(&mut self.from, &mut self.to);
                    self.to.clear();
                    std::mem::swap(&mut self.runs, &mut self.merged);
                    self.merged.clear();
                    self.begin(0);
                }
            }
        }
        true
    }

    /// Merges two neighbouring runs, the left ending at `middle`, the right at `end`: to their ends, or as far as the budget
    /// goes.
    fn merge_two(&mut self, middle: usize, end: usize, budget: &mut usize) -> bool {
        let (mut left, mut right) = (&self.from[self.left..middle], &self.from[self.right..end]);
        let (mut steps, mut odd) = (*budget, self.odd);
        while let ([a, after_a @ ..], [b, after_b @ ..]) = (left, right) {
            if steps == 0 {
                break;
            }
            steps -= 1;
            if a.order(*b, &mut odd).is_le() {
                self.to.push(*a);
                left = after_a;
            } else {
                self.to.push(*b);
                right = after_b;
            }
        }
        (*budget, self.odd) = (steps, odd);
        let done = left.is_empty() || right.is_empty();
        if done {
            self.to.extend_from_slice(left);
            self.to.extend_from_slice(right);
        }
        (self.left, self.right) = (middle - left.len(), end - right.len());
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_testing::Random;

    /// Sorted with `budget` comparisons at a time.
    fn sorted(items: &[(i64, i64)], budget: usize) -> Vec<(i64, i64)> {
        let mut sorting = Sorting::<Keyed>::default();
        for (key, number) in items {
            sorting.take(Keyed(Term::small(*key), Term::small(*number)));
        }
        sorting.end();
        while !sorting.merge(&mut { budget }) {}
        sorting.from.iter().map(|i| (i.0.small_value(), i.1.small_value())).collect()
    }

    #[test]
    fn sorts_stably_however_often_it_stops() {
        let mut random = Random::new(7);
        for len in [0, 1, 2, 3, 7, 8, 9, 16, 17, 100, 1000] {
            for keys in [1, 2, 5, 1000] {
                let items: Vec<(i64, i64)> = (0..len).map(|i| (random.below(keys), i)).collect();
                let mut expected = items.clone();
                expected.sort_by_key(|(key, _)| *key);
                for budget in [1, 3, 1 << 20] {
                    assert_eq!(sorted(&items, budget), expected);
                }
                let falling: Vec<(i64, i64)> = expected.iter().rev().copied().collect();
                let mut again = falling.clone();
                again.sort_by_key(|(key, _)| *key);
                assert_eq!(sorted(&falling, 5), again);
                assert_eq!(sorted(&expected, 5), expected);
            }
        }
    }

    #[test]
    fn what_is_sorted_is_one_run() {
        let mut sorting = Sorting::<Term>::default();
        (0..1000).for_each(|i| sorting.take(Term::small(i)));
        sorting.end();
        assert_eq!(sorting.runs, [1000]);
        let mut sorting = Sorting::<Term>::default();
        (0..1000).rev().for_each(|i| sorting.take(Term::small(i)));
        sorting.end();
        assert_eq!(sorting.runs, [1000]);
        assert_eq!(sorting.from.first().map(|t| t.small_value()), Some(0));
    }
}
