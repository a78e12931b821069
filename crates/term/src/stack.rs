//! A stack of plain values for walks over terms: the first few in place, the rest in a vector; and a row of slots to stand on
//! one.
//!
//! Terms can be millions deep, so no walk may recurse; most are shallow, so most walks should not allocate.

use crate::word::TermRef;
use std::mem::MaybeUninit;

/// A last-in first-out stack whose first `N` values need no allocation.
pub(crate) struct Stack<T: Copy, const N: usize> {
    len: usize,
    near: [MaybeUninit<T>; N],
    far: Vec<T>,
}

impl<T: Copy, const N: usize> Stack<T, N> {
    /// An empty stack.
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Stack { len: 0, near: [MaybeUninit::uninit(); N], far: Vec::new() }
    }

    /// Puts a value on top.
    #[inline(always)]
    pub(crate) fn push(&mut self, value: T) {
        if self.len < N {
            self.near[self.len].write(value);
            self.len += 1;
        } else {
            self.far.push(value);
        }
    }

    /// Takes the top value.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if let Some(value) = self.far.pop() {
            return Some(value);
        }
        self.len = self.len.checked_sub(1)?;
        // SAFETY: places below the old `len` were written by `push`, and `T` is Copy.
        Some(unsafe { self.near[self.len].assume_init() })
    }
}

/// Slots of an object in a row, of which the next is still to be seen to.
#[derive(Clone, Copy)]
pub(crate) struct Slots<'h> {
    next: *const TermRef<'h>,
    left: usize,
}

impl<'h> Slots<'h> {
    /// None at all.
    pub(crate) const NONE: Slots<'h> = Slots { next: std::ptr::null(), left: 0 };

    /// All of them.
    pub(crate) fn of(slots: &[TermRef<'h>]) -> Slots<'h> {
        Slots { next: slots.as_ptr(), left: slots.len() }
    }

    /// Was that the last one?
    pub(crate) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// The next one, which stays.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<TermRef<'h>> {
        // SAFETY: as in `next`.
        (self.left > 0).then(|| unsafe { *self.next })
    }

    /// The next one; none at the end.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<TermRef<'h>> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: one of the slots of an object that stays (term/T2); `left` counts them.
        unsafe {
            let term = *self.next;
            self.next = self.next.add(1);
            Some(term)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stack;

    #[test]
    fn last_in_first_out_across_the_border() {
        let mut s: Stack<u32, 4> = Stack::new();
        for round in 0..3 {
            for i in 0..10 {
                s.push(round * 100 + i);
            }
            for i in (3..10).rev() {
                assert_eq!(s.pop(), Some(round * 100 + i));
            }
        }
        for round in (0..3).rev() {
            for i in (0..3).rev() {
                assert_eq!(s.pop(), Some(round * 100 + i));
            }
        }
        assert_eq!(s.pop(), None);
    }
}
