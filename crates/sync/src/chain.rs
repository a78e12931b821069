//! [`Chain`]: nodes that a receiver has taken from a [`Mailbox`](crate::Mailbox), and [`Link`], by which they hang together.
//!
//! Nodes carry their own link, so that leaving one allocates nothing; what owns a node (a `Box`, or a pointer type of the user's to a block of
//! variable size) is abstracted by [`Link`].
//!
//! N1. A node is reachable by one owner at a time: its sender, then the mailbox, then the receiver.

use crate::cell::UnsafeCell;
use crate::{prefetch, prefetch_to_write};
use std::{fmt, marker::PhantomData, ptr, ptr::NonNull};

/// A pointer that owns a node of a mailbox.
///
/// # Safety
/// `into_raw` gives up ownership to the pointer and `from_raw` takes it back, unchanged. `next` gives a cell inside
/// the node that no thread touches while a mailbox or [`Chain`] owns the node.
pub unsafe trait Link: Sized {
    /// What is pointed at, or its header.
    type Node;
    /// Gives ownership to the result.
    fn into_raw(self) -> NonNull<Self::Node>;
    /// Takes ownership back.
    ///
    /// # Safety
    /// `node` came from `into_raw`, and is given to `from_raw` once.
    unsafe fn from_raw(node: NonNull<Self::Node>) -> Self;
    /// The node's link.
    ///
    /// # Safety
    /// `node` came from `into_raw` and has not been taken back.
    unsafe fn next(node: NonNull<Self::Node>) -> *const UnsafeCell<*mut Self::Node>;
    /// Where a node may be that was left earlier in the same mailbox, if the node says so: a hint, which nobody follows.
    ///
    /// # Safety
    /// As for `next`.
    unsafe fn earlier(_: NonNull<Self::Node>) -> Option<*const u8> {
        None
    }
}

/// A type with a link inside, so that a `Box` of it can be queued.
///
/// # Safety
/// `next` gives a field of the object that nothing else uses while the object is queued.
pub unsafe trait HasNext: Sized {
    /// The link.
    fn next(&self) -> &UnsafeCell<*mut Self>;
}

// SAFETY: `Box::into_raw` and `from_raw` are inverse; the link is as `HasNext` promises.
unsafe impl<T: HasNext> Link for Box<T> {
    type Node = T;

    fn into_raw(self) -> NonNull<T> {
        NonNull::from(Box::leak(self))
    }

    unsafe fn from_raw(node: NonNull<T>) -> Self {
        // SAFETY: the caller's promise: from `into_raw`, once.
        unsafe { Box::from_raw(node.as_ptr()) }
    }

    unsafe fn next(node: NonNull<T>) -> *const UnsafeCell<*mut T> {
        // SAFETY: the node lives and is only shared here (the caller's promise).
        unsafe { ptr::from_ref(node.as_ref().next()) }
    }
}

/// Nodes taken from a mailbox, oldest first. Dropping it drops those not yet iterated over.
///
/// They come newest first and are to be turned round, which takes long if they are many. It is done when the first of them is asked
/// for; an owner that cannot wait for that turns them before, in parts ([`Chain::turn`]).
pub struct Chain<P: Link> {
    /// Newest first: still to be turned.
    rest: *mut P::Node,
    /// Oldest first.
    oldest: *mut P::Node,
    owns: PhantomData<P>,
}

// SAFETY: the chain owns its nodes.
unsafe impl<P: Link + Send> Send for Chain<P> {}

impl<P: Link> Chain<P> {
    /// No nodes.
    pub const fn empty() -> Self {
        Self { rest: ptr::null_mut(), oldest: ptr::null_mut(), owns: PhantomData }
    }

    /// Whether nothing is left.
    pub const fn is_empty(&self) -> bool {
        self.rest.is_null() && self.oldest.is_null()
    }

    /// # Safety
    /// The caller owns the nodes linked from `newest`.
    #[inline]
    pub(crate) unsafe fn of(newest: *mut P::Node) -> Self {
        let mut chain = Self { rest: newest, oldest: ptr::null_mut(), owns: PhantomData };
        // One alone is in order then.
        chain.turn(1);
        chain
    }

    /// Turns up to `most` nodes; gives how many it were.
    #[inline]
    pub fn turn(&mut self, most: usize) -> usize {
        let mut turned = 0;
        while turned < most
            && let Some(node) = NonNull::new(self.rest)
        {
            // SAFETY: N1, the chain owns the node; the link lives as long as the node.
            let link = unsafe { &*P::next(node) };
            // SAFETY: N1, nobody else touches the link.
            self.rest = link.with_mut(|next| unsafe { std::mem::replace(&mut *next, self.oldest) });
            self.oldest = node.as_ptr();
            // SAFETY: N1, the chain owns the node.
            if let Some(earlier) = unsafe { P::earlier(node) } {
                prefetch_to_write(earlier);
            }
            turned += 1;
        }
        turned
    }

    /// Is the first node at hand?
    #[inline]
    pub const fn is_turned(&self) -> bool {
        self.rest.is_null()
    }

    /// The nodes, in no order: their links are to be read, as long as the chain is borrowed. The one that follows is asked for when one is given ([`prefetch()`]).
    pub fn nodes(&self) -> impl Iterator<Item = NonNull<P::Node>> {
        let (mut next, mut others) = (self.rest, self.oldest);
        std::iter::from_fn(move || {
            if next.is_null() {
                next = std::mem::replace(&mut others, ptr::null_mut());
            }
            let node = NonNull::new(next)?;
            // SAFETY: N1, the chain owns the node, and is borrowed meanwhile.
            next = unsafe { (*P::next(node)).with(|next| *next) };
            prefetch(next);
            Some(node)
        })
    }
}

impl<P: Link> Iterator for Chain<P> {
    type Item = P;

    #[inline]
    fn next(&mut self) -> Option<P> {
        if !self.is_turned() {
            self.turn(usize::MAX);
        }
        let node = NonNull::new(self.oldest)?;
        // SAFETY: N1, the chain owns the node; the link lives as long as the node.
        let link = unsafe { &*P::next(node) };
        // SAFETY: N1, nobody else touches the link.
        self.oldest = link.with(|next| unsafe { *next });
        // SAFETY: it came from `into_raw` in `Mailbox::push`, and has just left the chain.
        Some(unsafe { P::from_raw(node) })
    }
}

impl<P: Link> Drop for Chain<P> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_empty() {
            self.for_each(drop);
        }
    }
}

impl<P: Link> fmt::Debug for Chain<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("empty", &self.is_empty()).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::HasNext;
    use crate::cell::UnsafeCell;

    pub(crate) struct Numbered {
        next: UnsafeCell<*mut Numbered>,
        pub(crate) number: u32,
    }

    // SAFETY: the pointer is followed only by the owner of the node (N1).
    unsafe impl Send for Numbered {}

    // SAFETY: nothing else uses the field.
    unsafe impl HasNext for Numbered {
        fn next(&self) -> &UnsafeCell<*mut Self> {
            &self.next
        }
    }

    pub(crate) fn numbered(number: u32) -> Box<Numbered> {
        Box::new(Numbered { next: UnsafeCell::new(std::ptr::null_mut()), number })
    }

    pub(crate) fn numbers(chain: super::Chain<Box<Numbered>>) -> Vec<u32> {
        chain.map(|node| node.number).collect()
    }
}
