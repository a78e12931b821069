//! [`Mpsc`]: many senders leave nodes without a lock, one receiver takes them all at once.
//!
//! A Treiber stack (IBM RJ 5118, 1986) that is only ever emptied whole, and turned round then (bit by bit if it is long,
//! [`Chain::turn`]); so there is no ABA problem, a send is one compare-exchange, and a batch costs the receiver one line
//! transfer. Nodes carry their own link, so a sender allocates nothing here; what owns a node (a `Box`, or a pointer type of
//! the user's to a block of variable size) is abstracted by [`Link`].
//!
//! N1. A node is reachable by one owner at a time: its sender, then the queue, then the receiver.
//! N2. Nodes of one sender are taken in the order they were pushed.
//! N3. After `close`, no push succeeds: a node is either in what a take or `close` returned, or given back.

use crate::{
    atomic::{
        AtomicPtr,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
        fence,
    },
    cell::UnsafeCell,
};
use std::{fmt, marker::PhantomData, ptr, ptr::NonNull};

/// A pointer that owns a node of a queue.
///
/// # Safety
/// `into_raw` gives up ownership to the pointer and `from_raw` takes it back, unchanged. `next` gives a cell inside
/// the node that no thread touches while a queue or [`Chain`] owns the node. The node's address is not 1.
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
}

/// A type with a link inside, so that a `Box` of it can be queued.
///
/// # Safety
/// `next` gives a field of the object that nothing else uses while the object is queued.
pub unsafe trait HasNext: Sized {
    /// The link.
    fn next(&self) -> &UnsafeCell<*mut Self>;
}

// SAFETY: `Box::into_raw` and `from_raw` are inverse; the link is as `HasNext` promises; a boxed object with a
// pointer in it is at least pointer-aligned, so its address is not 1.
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

/// What a successful push found: the receiver may have to be woken if the queue was empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WasEmpty(pub bool);

/// The queue. One word; closed when its owner has gone.
pub struct Mpsc<P: Link> {
    newest: AtomicPtr<P::Node>,
    owns: PhantomData<P>,
}

// SAFETY: the queue only moves nodes from one thread to another.
unsafe impl<P: Link + Send> Sync for Mpsc<P> {}
// SAFETY: the queue only moves nodes from one thread to another.
unsafe impl<P: Link + Send> Send for Mpsc<P> {}

/// The value of `newest` in a closed queue: no node's address ([`Link`]).
fn closed<N>() -> *mut N {
    ptr::without_provenance_mut(1)
}

impl<P: Link> Mpsc<P> {
    const_unless_loom! {
        /// Empty and open.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self { newest: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
        }
    }

    /// Leaves a node; gives it back if the queue is closed.
    #[inline]
    pub fn push(&self, owner: P) -> Result<WasEmpty, P> {
        let node = owner.into_raw();
        // SAFETY: N1, ours until the exchange; the link lives as long as the node.
        let link = unsafe { &*P::next(node) };
        // Relaxed: a first guess; the exchange below checks it.
        let mut newest = self.newest.load(Relaxed);
        loop {
            if newest == closed() {
                // Acquire: pairs with the Release in `close`, so the sender sees what the owner did before.
                fence(Acquire);
                // SAFETY: it never entered the queue.
                return Err(unsafe { P::from_raw(node) });
            }
            // SAFETY: N1, no other thread can reach the node yet.
            link.with_mut(|next| unsafe { *next = newest });
            // Release: pairs with the Acquire in `take_all` and `close`. Each push is a read-modify-write, so the
            // older nodes stay in the same release sequence. Relaxed on failure: only a newer guess.
            match self.newest.compare_exchange_weak(newest, node.as_ptr(), Release, Relaxed) {
                Ok(_) => return Ok(WasEmpty(newest.is_null())),
                Err(seen) => newest = seen,
            }
        }
    }

    /// Whether there was nothing to take. Orders nothing: a receiver that announces it will sleep and then looks
    /// here needs the announcement to be a read-modify-write that senders also make, or a SeqCst fence on each side.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let newest = self.newest.load(Relaxed);
        newest.is_null() || newest == closed()
    }

    /// Whether [`close`](Self::close) was called.
    #[inline]
    pub fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release in `close`.
        self.newest.load(Acquire) == closed()
    }

    /// Takes everything.
    #[inline]
    pub fn take_all(&self) -> Chain<P> {
        // Relaxed: looks before it takes the line for itself. Only a taker ever empties or closes the queue.
        let mut newest = self.newest.load(Relaxed);
        loop {
            if newest.is_null() || newest == closed() {
                return Chain::empty();
            }
            // Acquire: pairs with the Release in `push`. Not a plain exchange, which could undo a `close`.
            match self.newest.compare_exchange_weak(newest, ptr::null_mut(), Acquire, Relaxed) {
                // SAFETY: the exchange made the chain from `newest` ours alone.
                Ok(_) => return unsafe { Chain::of(newest) },
                Err(seen) => newest = seen,
            }
        }
    }

    /// The nodes that wait, the newest first; those that are pushed from now on are left out.
    ///
    /// # Safety
    /// No thread takes nodes, or closes the queue, as long as the iterator or a node that it gave is in use; the nodes are to be read.
    pub unsafe fn waiting(&self) -> impl Iterator<Item = NonNull<P::Node>> {
        // Acquire: pairs with the Release in `push`.
        let newest = self.newest.load(Acquire);
        let mut next = if newest == closed() { ptr::null_mut() } else { newest };
        std::iter::from_fn(move || {
            let node = NonNull::new(next)?;
            // SAFETY: N1 and the caller's promise: the node stays in the queue, and its link was written before it was pushed.
            next = unsafe { (*P::next(node)).with(|next| *next) };
            Some(node)
        })
    }

    /// Takes everything and refuses what comes later.
    pub fn close(&self) -> Chain<P> {
        // Acquire: pairs with the Release in `push`. Release: pairs with the Acquire of senders that find it closed.
        let newest = self.newest.swap(closed(), AcqRel);
        if newest == closed() {
            return Chain::empty();
        }
        // SAFETY: the exchange made the chain from `newest` ours alone.
        unsafe { Chain::of(newest) }
    }
}

impl<P: Link> Drop for Mpsc<P> {
    fn drop(&mut self) {
        drop(self.close());
    }
}

impl<P: Link> fmt::Debug for Mpsc<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mpsc").field("empty", &self.is_empty()).finish_non_exhaustive()
    }
}

/// Nodes taken from a queue, oldest first. Dropping it drops those not yet iterated over.
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
    unsafe fn of(newest: *mut P::Node) -> Self {
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
            turned += 1;
        }
        turned
    }

    /// Is the first node at hand?
    #[inline]
    pub const fn is_turned(&self) -> bool {
        self.rest.is_null()
    }

    /// Calls `look` with each node, in no order: to be read, until it returns.
    pub fn each(&self, mut look: impl FnMut(NonNull<P::Node>)) {
        for mut next in [self.rest, self.oldest] {
            while let Some(node) = NonNull::new(next) {
                look(node);
                // SAFETY: N1, the chain owns the node, and is borrowed meanwhile.
                next = unsafe { (*P::next(node)).with(|next| *next) };
            }
        }
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
        // SAFETY: it came from `into_raw` in `push`, and has just left the chain.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::testing::{numbered, numbers};
    use super::{Mpsc, WasEmpty};

    #[test]
    fn a_chain_may_be_turned_in_parts() {
        let queue = Mpsc::new();
        (0..5).for_each(|n| drop(queue.push(numbered(n))));
        let mut chain = queue.take_all();
        // One is in order from the beginning.
        for (most, turned) in [(0, 0), (1, 1), (1, 1)] {
            assert_eq!(chain.turn(most), turned);
            let mut seen = Vec::new();
            // SAFETY: the node is read before `each` returns.
            chain.each(|node| seen.push(unsafe { node.as_ref() }.number));
            seen.sort_unstable();
            assert_eq!((seen, chain.is_turned(), chain.is_empty()), (vec![0, 1, 2, 3, 4], false, false));
        }
        assert_eq!((chain.turn(9), chain.turn(9), chain.is_turned()), (2, 0, true));
        assert_eq!(chain.next().map(|node| node.number), Some(0));
        assert_eq!(numbers(chain), [1, 2, 3, 4]);
        // Asked for the first, or dropped, in the middle of it.
        for dropped in [true, false] {
            (0..5).for_each(|n| drop(queue.push(numbered(n))));
            let mut chain = queue.take_all();
            assert_eq!(chain.turn(3), 3);
            if dropped {
                drop(chain);
            } else {
                assert_eq!(numbers(chain), [0, 1, 2, 3, 4]);
            }
        }
    }

    #[test]
    fn takes_in_order_and_reports_emptiness() {
        let queue = Mpsc::new();
        assert_eq!(queue.push(numbered(1)).ok(), Some(WasEmpty(true)));
        assert_eq!(queue.push(numbered(2)).ok(), Some(WasEmpty(false)));
        assert_eq!(queue.push(numbered(3)).ok(), Some(WasEmpty(false)));
        // SAFETY: nobody else knows the queue.
        let waiting: Vec<_> = unsafe { queue.waiting().map(|node| node.as_ref().number).collect() };
        assert_eq!(waiting, [3, 2, 1]);
        assert_eq!(numbers(queue.take_all()), [1, 2, 3]);
        assert!(queue.is_empty() && queue.take_all().is_empty());
        assert_eq!(queue.push(numbered(4)).ok(), Some(WasEmpty(true)));
        // Left in the queue: its drop frees it (miri would see a leak).
    }

    #[test]
    fn a_closed_queue_gives_back_what_comes_later() {
        let queue = Mpsc::new();
        assert!(queue.push(numbered(1)).is_ok());
        let mut chain = queue.close();
        assert_eq!(chain.next().map(|node| node.number), Some(1));
        assert!(chain.next().is_none());
        assert_eq!(queue.push(numbered(2)).err().map(|node| node.number), Some(2));
        assert!(queue.is_closed() && queue.is_empty());
        assert!(queue.take_all().is_empty() && queue.close().is_empty() && queue.is_closed());
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn many_senders_lose_nothing_and_keep_their_order() {
        let each: u32 = if cfg!(miri) { 50 } else { 20_000 };
        let queue = Mpsc::new();
        let mut last = [0; 4];
        let mut take = || {
            for number in numbers(queue.take_all()) {
                let sender = &mut last[number as usize % 4];
                assert_eq!(number / 4, *sender + 1);
                *sender += 1;
            }
            last.iter().all(|last| *last == each)
        };
        std::thread::scope(|scope| {
            for sender in 0..4 {
                let queue = &queue;
                scope.spawn(move || (1..=each).for_each(|n| assert!(queue.push(numbered(n * 4 + sender)).is_ok())));
            }
            while !take() {
                std::thread::yield_now();
            }
        });
        assert_eq!(last, [each; 4]);
    }
}

/// Each ordering was weakened to see these fail: Relaxed for Release in `push`, for Acquire in `take_all`, for AcqRel
/// in `close` (either half), and no fence where `push` finds the queue closed. Caught because the link and the
/// owner's last words are cells that loom checks.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Mpsc;
    use super::testing::{numbered, numbers};
    use crate::cell::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    /// A sender of two races a sender of one and the receiver: nothing lost, order kept (N1, N2).
    #[test]
    fn nodes_arrive_once_and_in_sender_order() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let queue = Arc::new(Mpsc::new());
            let senders = [vec![1, 2], vec![9]].map(|nodes| {
                let queue = queue.clone();
                thread::spawn(move || nodes.into_iter().for_each(|n| assert!(queue.push(numbered(n)).is_ok())))
            });
            let mut got = numbers(queue.take_all());
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            got.extend(numbers(queue.take_all()));
            let (nine, rest): (Vec<_>, Vec<_>) = got.into_iter().partition(|number| *number == 9);
            assert_eq!((nine, rest), (vec![9], vec![1, 2]));
        });
    }

    /// Exactly one push after each emptying reports it: two pushes and no take are one report.
    #[test]
    fn one_of_two_senders_finds_it_empty() {
        loom::model(|| {
            let queue = Arc::new(Mpsc::new());
            let senders = [1, 2].map(|number| {
                let queue = queue.clone();
                thread::spawn(move || queue.push(numbered(number)).map(|was| was.0).ok())
            });
            let mut was = senders.map(|sender| sender.join().unwrap());
            was.sort_unstable();
            assert_eq!(was, [Some(false), Some(true)]);
        });
    }

    struct Exiting {
        queue: Mpsc<Box<super::testing::Numbered>>,
        reason: UnsafeCell<u32>,
    }

    // SAFETY: the test orders the accesses to `reason`, and loom checks that it does.
    unsafe impl Sync for Exiting {}
    // SAFETY: the test orders the accesses to `reason`, and loom checks that it does.
    unsafe impl Send for Exiting {}

    /// A node is taken or given back, and a sender that gets it back sees what the owner did before closing (N3).
    #[test]
    fn close_loses_nothing() {
        loom::model(|| {
            let exiting = Arc::new(Exiting { queue: Mpsc::new(), reason: UnsafeCell::new(0) });
            let sender = {
                let exiting = exiting.clone();
                thread::spawn(move || {
                    (1..=2)
                        .filter(|number| {
                            let back = exiting.queue.push(numbered(*number)).is_err();
                            if back {
                                // SAFETY: written before `close`.
                                exiting.reason.with(|reason| assert_eq!(unsafe { *reason }, 7));
                            }
                            !back
                        })
                        .collect::<Vec<_>>()
                })
            };
            // SAFETY: nobody reads it before the close.
            exiting.reason.with_mut(|reason| unsafe { *reason = 7 });
            let taken = numbers(exiting.queue.close());
            assert_eq!(taken, sender.join().unwrap());
        });
    }
}
