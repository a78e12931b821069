//! [`Mailbox`]: what others leave for an object, and which thread owns the object, in one word.
//!
//! The nodes that have been left are a Treiber stack (IBM RJ 5118, 1986) that is only ever emptied whole, and turned round then (bit
//! by bit if it is long, [`Chain::turn`]); so there is no ABA problem, and a batch costs the receiver one line transfer. Below the
//! address of the newest node stand the object's state and whether a thread visits it. So leaving a node and saying that one was
//! left are one compare-exchange: whoever is stopped by the system before it has left nothing, and after it has nothing more to do
//! than what the state asks for.
//!
//! N2. Nodes of one sender are taken in the order they were pushed.
//! N3. After `close`, no push succeeds: a node is either in what a take or `close` returned, or given back.
//!
//! SW1. An object is with whoever changed its state to one that says so, until that thread changes it to another: by a Release that
//!      the next one's Acquire pairs with.
//!      Whoever changed it from one state in which it is nobody's to another may look at it until others learn of that.
//! SW2. One thread at a time visits the object, in states in which it is nobody's: it looks, and changes nothing. The state may
//!      change meanwhile, but to one that gives the object to somebody only when the visitor has left.
//! SW3. Nodes and state change together: who gives the object up sees in that very exchange whether something has been left, and who
//!      leaves something sees in which state that finds the object. So nothing is left for an object that waits and is not told.

use crate::atomic::{
    AtomicPtr,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use crate::chain::{Chain, Link};
use crate::prefetch;
use std::{fmt, marker::PhantomData, ptr, ptr::NonNull};

/// The bits of a state.
const STATE: usize = 0b11;
/// The bit that says that a thread visits.
const VISITED: usize = 0b100;
/// Where the address of the newest node begins.
const ADDRESS: usize = !(STATE | VISITED);
/// The address of the newest node of a closed mailbox. No node has it: the first page is nobody's.
const CLOSED: usize = VISITED << 1;

/// What the word says.
struct Word<N>(*mut N);

impl<N> Copy for Word<N> {}
impl<N> Clone for Word<N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Word<N> {
    #[inline]
    fn newest(self) -> *mut N {
        self.0.map_addr(|address| address & ADDRESS)
    }

    #[inline]
    fn state(self) -> u8 {
        (self.0.addr() & STATE) as u8
    }

    #[inline]
    fn is_visited(self) -> bool {
        self.0.addr() & VISITED != 0
    }

    #[inline]
    fn is_closed(self) -> bool {
        self.0.addr() & ADDRESS == CLOSED
    }

    /// Is there a node? Its address is above that of a closed mailbox.
    #[inline]
    fn has_nodes(self) -> bool {
        self.0.addr() > CLOSED | !ADDRESS
    }

    #[inline]
    fn with_newest(self, newest: *mut N) -> Self {
        let rest = self.0.addr() & !ADDRESS;
        Word(newest.map_addr(|address| address | rest))
    }

    #[inline]
    fn with_state(self, state: u8) -> Self {
        debug_assert!(usize::from(state) <= STATE, "a state has two bits");
        Word(self.0.map_addr(|address| address & !STATE | usize::from(state)))
    }
}

/// Nodes for an object, and its state: a number below 4, whose meaning the user knows. Closed when the object has gone.
pub struct Mailbox<P: Link> {
    word: AtomicPtr<P::Node>,
    owns: PhantomData<P>,
}

// SAFETY: the mailbox only moves nodes from one thread to another.
unsafe impl<P: Link + Send> Sync for Mailbox<P> {}
// SAFETY: the mailbox only moves nodes from one thread to another.
unsafe impl<P: Link + Send> Send for Mailbox<P> {}

/// A visit (SW2); it ends when this is dropped.
#[must_use]
pub struct Visit<'a, P: Link> {
    mailbox: &'a Mailbox<P>,
    /// The state when it began.
    pub state: u8,
}

impl<P: Link> Drop for Visit<'_, P> {
    fn drop(&mut self) {
        // Release: the looks come before what the next owner does; pairs with the Acquire of `try_give`.
        self.mailbox.exchange(Release, |seen| (Some(Word(seen.0.map_addr(|address| address & !VISITED))), ()));
    }
}

impl<P: Link> Mailbox<P> {
    const_unless_loom! {
        /// Empty and open, in this state, without a visitor.
        pub fn new(state: u8) -> Self {
            assert!(state as usize <= STATE, "a state has two bits");
            Self { word: AtomicPtr::new(ptr::without_provenance_mut(state as usize)), owns: PhantomData }
        }
    }

    #[inline]
    fn look(&self) -> Word<P::Node> {
        // Relaxed: a figure, or a first guess that an exchange checks.
        Word(self.word.load(Relaxed))
    }

    /// Puts in the place of the word what `f` makes of it, or leaves it if that is nothing; gives what was there, and what else `f` gives.
    #[inline(always)]
    fn exchange<R>(
        &self,
        order: crate::atomic::Ordering,
        f: impl Fn(Word<P::Node>) -> (Option<Word<P::Node>>, R),
    ) -> (Word<P::Node>, R) {
        let mut seen = self.look();
        loop {
            let (next, result) = f(seen);
            let Some(next) = next else { return (seen, result) };
            // Relaxed on failure: only a newer guess.
            match self.word.compare_exchange_weak(seen.0, next.0, order, Relaxed) {
                Ok(_) => return (seen, result),
                Err(now) => seen = Word(now),
            }
        }
    }

    /// The state (a figure, already old).
    #[inline]
    pub fn state(&self) -> u8 {
        self.look().state()
    }

    /// Leaves a node, and changes the state to what `told` makes of it, if that is anything; gives whether it was. The node comes back if
    /// the mailbox is closed.
    #[inline]
    pub fn push(&self, owner: P, told: impl Fn(u8) -> Option<u8>) -> Result<bool, P> {
        const { assert!(align_of::<P::Node>() > STATE | VISITED, "the state has room below an address") };
        let node = owner.into_raw();
        debug_assert!(node.addr().get() > CLOSED, "nothing lies in the first page");
        // SAFETY: sync.chain/N1, ours until the exchange; the link lives as long as the node.
        let link = unsafe { &*P::next(node) };
        // Release: the node's contents; pairs with the Acquire of `take_all`, `try_give_all` and `close`. Each change of the word is a
        // read-modify-write, so the older nodes stay in the same release sequence. Acquire: SW1, as in `change`.
        let (seen, changed) = self.exchange(AcqRel, |seen| {
            if seen.is_closed() {
                return (None, false);
            }
            // SAFETY: sync.chain/N1, no other thread can reach the node yet.
            link.with_mut(|next| unsafe { *next = seen.newest() });
            let next = seen.with_newest(node.as_ptr());
            match told(seen.state()) {
                Some(state) => (Some(next.with_state(state)), true),
                None => (Some(next), false),
            }
        });
        if seen.is_closed() {
            // Acquire: pairs with the Release in `close`, so the sender sees what the owner did before.
            acquire_fence!(self.word);
            // SAFETY: it never entered the mailbox.
            return Err(unsafe { P::from_raw(node) });
        }
        Ok(changed)
    }

    /// Whether there is nothing to take. Orders nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.look().has_nodes()
    }

    /// Whether [`close`](Self::close) was called.
    #[inline]
    pub fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release in `close`.
        Word(self.word.load(Acquire)).is_closed()
    }

    /// Takes everything.
    #[inline]
    pub fn take_all(&self) -> Chain<P> {
        // Acquire: pairs with the Release in `push`.
        let (taken, ()) =
            self.exchange(Acquire, |seen| (seen.has_nodes().then(|| seen.with_newest(ptr::null_mut())), ()));
        Self::chain(taken)
    }

    /// The nodes of what the word was before an exchange made it empty.
    #[inline]
    fn chain(taken: Word<P::Node>) -> Chain<P> {
        if taken.has_nodes() {
            // SAFETY: the exchange made the nodes from the newest on the caller's alone.
            unsafe { Chain::of(taken.newest()) }
        } else {
            Chain::empty()
        }
    }

    /// The nodes that wait, the newest first; those that are pushed from now on are left out. The one that follows is asked for when one is given ([`prefetch()`]).
    ///
    /// # Safety
    /// No thread takes nodes, or closes the mailbox, as long as the iterator or a node that it gave is in use; the links of the nodes are to be read.
    pub unsafe fn waiting(&self) -> impl Iterator<Item = NonNull<P::Node>> {
        // Acquire: pairs with the Release in `push`.
        let newest = Word(self.word.load(Acquire));
        let mut next = if newest.has_nodes() { newest.newest() } else { ptr::null_mut() };
        std::iter::from_fn(move || {
            let node = NonNull::new(next)?;
            // SAFETY: sync.chain/N1 and the caller's promise: the node stays in the mailbox, and its link was written before it was pushed.
            next = unsafe { (*P::next(node)).with(|next| *next) };
            prefetch(next);
            Some(node)
        })
    }

    /// Takes everything and refuses what comes later.
    pub fn close(&self) -> Chain<P> {
        // Acquire: pairs with the Release in `push`. Release: pairs with the Acquire of senders that find it closed.
        let closed = ptr::without_provenance_mut(CLOSED);
        let (taken, ()) = self.exchange(AcqRel, |seen| (Some(seen.with_newest(closed)), ()));
        Self::chain(taken)
    }

    /// Changes the state to what `f` makes of it and of whether there are nodes, where no thread comes to own the object by that;
    /// gives what else `f` gives.
    #[inline]
    pub fn change<R>(&self, f: impl Fn(u8, bool) -> (u8, R)) -> R {
        // AcqRel: Release orders what this thread did with the object before the state; Acquire pairs with that of its last owner,
        // for a thread that looks at it afterwards (SW1).
        let (_, result) = self.exchange(AcqRel, |seen| {
            let (state, result) = f(seen.state(), seen.has_nodes());
            (Some(seen.with_state(state)), result)
        });
        result
    }

    /// Changes the state to what `f` makes of it, where that may give the object to the calling thread. `None`: somebody visits it;
    /// to be tried again soon.
    #[inline]
    pub fn try_give<R>(&self, f: impl Fn(u8) -> (u8, R)) -> Option<R> {
        self.give(f, |seen| seen).map(|(_, result)| result)
    }

    /// As [`Mailbox::try_give`], and takes everything.
    #[inline]
    pub fn try_give_all<R>(&self, f: impl Fn(u8) -> (u8, R)) -> Option<(R, Chain<P>)> {
        let emptied = |seen: Word<_>| if seen.has_nodes() { seen.with_newest(ptr::null_mut()) } else { seen };
        self.give(f, emptied).map(|(taken, result)| (result, Self::chain(taken)))
    }

    #[inline(always)]
    fn give<R>(
        &self,
        f: impl Fn(u8) -> (u8, R),
        rest: impl Fn(Word<P::Node>) -> Word<P::Node>,
    ) -> Option<(Word<P::Node>, R)> {
        // Acquire: pairs with the Release in `change`, of the last owner, with that of the visitor that left, and with that of `push`.
        let (seen, result) = self.exchange(Acquire, |seen| {
            if seen.is_visited() {
                return (None, None);
            }
            let (state, result) = f(seen.state());
            (Some(rest(seen).with_state(state)), Some(result))
        });
        result.map(|result| (seen, result))
    }

    /// Visits the object, if its state is one without an owner, as `free` says, and no other thread visits it.
    #[inline]
    pub fn visit(&self, free: impl Fn(u8) -> bool) -> Option<Visit<'_, P>> {
        // Acquire: pairs with the Release in `change`, of the last owner.
        let (_, state) = self.exchange(Acquire, |seen| {
            if seen.is_visited() || !free(seen.state()) {
                return (None, None);
            }
            (Some(Word(seen.0.map_addr(|address| address | VISITED))), Some(seen.state()))
        });
        state.map(|state| Visit { mailbox: self, state })
    }
}

impl<P: Link> Drop for Mailbox<P> {
    fn drop(&mut self) {
        drop(self.close());
    }
}

impl<P: Link> fmt::Debug for Mailbox<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").field("state", &self.state()).field("empty", &self.is_empty()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Mailbox;
    use crate::chain::testing::{numbered, numbers};

    const FREE: u8 = 0;
    const CALLED: u8 = 1;
    const OWNED: u8 = 2;

    fn is_free(state: u8) -> bool {
        state != OWNED
    }

    /// Who leaves something for a free object calls it.
    fn call(state: u8) -> Option<u8> {
        (state == FREE).then_some(CALLED)
    }

    #[test]
    fn a_chain_may_be_turned_in_parts() {
        let mailbox = Mailbox::new(FREE);
        (0..5).for_each(|n| drop(mailbox.push(numbered(n), call)));
        let mut chain = mailbox.take_all();
        // One is in order from the beginning.
        for (most, turned) in [(0, 0), (1, 1), (1, 1)] {
            assert_eq!(chain.turn(most), turned);
            let mut seen = Vec::new();
            // SAFETY: the node is read while the chain is borrowed.
            chain.nodes().for_each(|node| seen.push(unsafe { node.as_ref() }.number));
            seen.sort_unstable();
            assert_eq!((seen, chain.is_turned(), chain.is_empty()), (vec![0, 1, 2, 3, 4], false, false));
        }
        assert_eq!((chain.turn(9), chain.turn(9), chain.is_turned()), (2, 0, true));
        assert_eq!(chain.next().map(|node| node.number), Some(0));
        assert_eq!(numbers(chain), [1, 2, 3, 4]);
        // Asked for the first, or dropped, in the middle of it.
        for dropped in [true, false] {
            (0..5).for_each(|n| drop(mailbox.push(numbered(n), call)));
            let mut chain = mailbox.take_all();
            assert_eq!(chain.turn(3), 3);
            if dropped {
                drop(chain);
            } else {
                assert_eq!(numbers(chain), [0, 1, 2, 3, 4]);
            }
        }
    }

    #[test]
    fn nodes_and_state_change_together() {
        let mailbox = Mailbox::new(FREE);
        assert_eq!([1, 2, 3].map(|n| mailbox.push(numbered(n), call).ok()), [Some(true), Some(false), Some(false)]);
        // SAFETY: nobody else knows the mailbox.
        let waiting: Vec<_> = unsafe { mailbox.waiting().map(|node| node.as_ref().number).collect() };
        assert_eq!(waiting, [3, 2, 1]);
        assert_eq!(mailbox.try_give(|state| (OWNED, state)), Some(CALLED));
        assert!(!mailbox.is_empty(), "they were not asked for");
        assert_eq!(numbers(mailbox.take_all()), [1, 2, 3]);
        assert!(mailbox.is_empty() && mailbox.take_all().is_empty());
        assert_eq!(mailbox.push(numbered(4), call).ok(), Some(false));
        let give_up = |state, some| (if some { CALLED } else { FREE }, (state, some));
        assert_eq!((mailbox.change(give_up), mailbox.state()), ((OWNED, true), CALLED));
        let (state, chain) = mailbox.try_give_all(|state| (OWNED, state)).expect("nobody visits it");
        assert_eq!((state, numbers(chain), mailbox.is_empty()), (CALLED, vec![4], true));
        assert_eq!((mailbox.change(give_up), mailbox.state()), ((OWNED, false), FREE));
        assert!(mailbox.push(numbered(5), call).is_ok());
        // Left in the mailbox: its drop frees it (miri would see a leak).
    }

    #[test]
    fn a_closed_mailbox_gives_back_what_comes_later() {
        let mailbox = Mailbox::new(OWNED);
        assert!(mailbox.push(numbered(1), call).is_ok());
        assert_eq!(numbers(mailbox.close()), [1]);
        assert_eq!(mailbox.push(numbered(2), call).err().map(|node| node.number), Some(2));
        assert!(mailbox.is_closed() && mailbox.is_empty());
        assert!(mailbox.take_all().is_empty() && mailbox.close().is_empty() && mailbox.is_closed());
        // The state goes on.
        assert_eq!((mailbox.change(|state, some| (CALLED, (state, some))), mailbox.state()), ((OWNED, false), CALLED));
        let (state, chain) = mailbox.try_give_all(|state| (OWNED, state)).expect("nobody visits it");
        assert!(state == CALLED && chain.is_empty() && mailbox.is_closed());
    }

    #[test]
    fn one_visits_what_is_nobodys_and_no_owner_comes_meanwhile() {
        let mailbox = Mailbox::new(FREE);
        let visit = mailbox.visit(is_free).expect("it is nobody's");
        assert!(mailbox.visit(is_free).is_none(), "another one visits");
        assert_eq!(mailbox.push(numbered(1), call).ok(), Some(true));
        assert_eq!((mailbox.state(), visit.state), (CALLED, FREE));
        assert_eq!(mailbox.try_give(|_| (OWNED, ())), None);
        assert!(mailbox.try_give_all(|_| (OWNED, ())).is_none() && !mailbox.is_empty());
        drop(visit);
        assert_eq!(mailbox.try_give(|state| (OWNED, state)), Some(CALLED));
        assert!(mailbox.visit(is_free).is_none(), "it has an owner");
        mailbox.change(|_, _| (FREE, ()));
        assert!(mailbox.visit(is_free).is_some());
        assert_eq!(numbers(mailbox.take_all()), [1]);
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn many_senders_lose_nothing_and_keep_their_order() {
        let each: u32 = if cfg!(miri) { 50 } else { 20_000 };
        let mailbox = Mailbox::new(OWNED);
        let mut last = [0; 4];
        let mut take = || {
            for number in numbers(mailbox.take_all()) {
                let sender = &mut last[number as usize % 4];
                assert_eq!(number / 4, *sender + 1);
                *sender += 1;
            }
            last.iter().all(|last| *last == each)
        };
        std::thread::scope(|scope| {
            for sender in 0..4 {
                let mailbox = &mailbox;
                let send = move |n| assert!(mailbox.push(numbered(n * 4 + sender), call).is_ok());
                scope.spawn(move || (1..=each).for_each(send));
            }
            while !take() {
                std::thread::yield_now();
            }
        });
        assert_eq!(last, [each; 4]);
    }
}

/// Each ordering was weakened to see these fail: Relaxed for either half of the AcqRel of `push`, of `change` or of `close`, for the Acquire of
/// `take_all`, `give` or `visit`, for the Release of a visit's end, and no fence where `push` finds the mailbox closed. So were the
/// protocols: a `change` in the place of `try_give`, a visit without a look at the state, giving the object up without a look at the
/// nodes, a push that leaves the state as it is. Caught because the link, the owner's last words and the object are cells that
/// loom checks.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Mailbox;
    use crate::atomic::{
        AtomicBool,
        Ordering::{Acquire, Relaxed, Release},
    };
    use crate::cell::UnsafeCell;
    use crate::chain::testing::{Numbered, numbered, numbers};
    use loom::thread;
    use std::sync::Arc;

    const WAITING: u8 = 0;
    const RUNNABLE: u8 = 1;
    const RUNNING: u8 = 2;

    fn told(state: u8) -> Option<u8> {
        (state == WAITING).then_some(RUNNABLE)
    }

    /// An object for which things are left, which a sender puts in a queue, and which a scheduler takes out and runs.
    struct Object {
        mailbox: Mailbox<Box<Numbered>>,
        queued: AtomicBool,
        data: UnsafeCell<u32>,
    }

    // SAFETY: SW1 and SW2, which the models check.
    unsafe impl Sync for Object {}
    // SAFETY: as above.
    unsafe impl Send for Object {}

    impl Object {
        fn new(state: u8) -> Arc<Object> {
            Arc::new(Object { mailbox: Mailbox::new(state), queued: AtomicBool::new(false), data: UnsafeCell::new(0) })
        }

        fn read(&self) -> u32 {
            // SAFETY: the caller may look at it (SW1, SW2).
            self.data.with(|data| unsafe { *data })
        }

        fn write(&self) {
            // SAFETY: the caller owns it (SW1).
            self.data.with_mut(|data| unsafe { *data += 1 });
        }

        /// What a sender does: leaves something, and puts the object in the queue if it waited, after a look at it.
        fn send(&self, number: u32) {
            if self.mailbox.push(numbered(number), told).is_ok_and(|waited| waited) {
                assert!(self.read() <= 3);
                // Release: pairs with the Acquire in `run`, as the lock of a run queue does.
                self.queued.store(true, Release);
            }
        }

        /// As [`Object::send`], without anything that is left.
        fn wake(&self) {
            if self.mailbox.change(|state, _| told(state).map_or((state, false), |told| (told, true))) {
                assert!(self.read() <= 3);
                // Release: as above.
                self.queued.store(true, Release);
            }
        }

        /// What a scheduler does, if it finds it in the queue: takes what was left, and lets it wait.
        fn run(&self, at_once: bool) -> Vec<u32> {
            let mut got = Vec::new();
            // Acquire: see `send`.
            if self.queued.compare_exchange(true, false, Acquire, Relaxed).is_err() {
                return got;
            }
            assert!(self.read() <= 3, "who has taken it out of the queue may look at it");
            loop {
                let given = if at_once {
                    self.mailbox.try_give_all(|_| (RUNNING, ())).map(|((), chain)| got.extend(numbers(chain)))
                } else {
                    self.mailbox.try_give(|_| (RUNNING, ()))
                };
                if given.is_some() {
                    break;
                }
                thread::yield_now();
            }
            self.write();
            if !at_once {
                got.extend(numbers(self.mailbox.take_all()));
            }
            if self.mailbox.change(|_, some| if some { (RUNNABLE, true) } else { (WAITING, false) }) {
                // Release: as above.
                self.queued.store(true, Release);
            }
            got
        }

        fn look(&self) -> Option<u32> {
            let _visit = self.mailbox.visit(|state| state != RUNNING)?;
            Some(self.read())
        }
    }

    fn model(preemptions: usize, test: impl Fn() + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(test);
    }

    /// A sender of two races a sender of one and the receiver: nothing lost, order kept (sync.chain/N1, N2).
    #[test]
    fn loom_nodes_arrive_once_and_in_sender_order() {
        model(3, || {
            let mailbox = Arc::new(Mailbox::new(RUNNING));
            let senders = [vec![1, 2], vec![9]].map(|nodes| {
                let mailbox = mailbox.clone();
                thread::spawn(move || nodes.into_iter().for_each(|n| assert!(mailbox.push(numbered(n), told).is_ok())))
            });
            let mut got = numbers(mailbox.take_all());
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            got.extend(numbers(mailbox.take_all()));
            let (nine, rest): (Vec<_>, Vec<_>) = got.into_iter().partition(|number| *number == 9);
            assert_eq!((nine, rest), (vec![9], vec![1, 2]));
        });
    }

    /// One of two senders finds it waiting.
    #[test]
    fn loom_one_of_two_senders_wakes_it() {
        loom::model(|| {
            let mailbox = Arc::new(Mailbox::new(WAITING));
            let senders = [1, 2].map(|number| {
                let mailbox = mailbox.clone();
                thread::spawn(move || mailbox.push(numbered(number), told).ok())
            });
            let mut woke = senders.map(|sender| sender.join().unwrap());
            woke.sort_unstable();
            assert_eq!(woke, [Some(false), Some(true)]);
        });
    }

    /// A node is taken or given back, and a sender that gets it back sees what the owner did before closing (N3).
    #[test]
    fn loom_close_loses_nothing() {
        loom::model(|| {
            let object = Object::new(RUNNING);
            let sender = {
                let object = object.clone();
                thread::spawn(move || {
                    (1..=2)
                        .filter(|number| {
                            let back = object.mailbox.push(numbered(*number), told).is_err();
                            if back {
                                assert_eq!(object.read(), 1);
                            }
                            !back
                        })
                        .collect::<Vec<_>>()
                })
            };
            object.write();
            let taken = numbers(object.mailbox.close());
            assert_eq!(taken, sender.join().unwrap());
        });
    }

    /// SW3, where the scheduler takes what is there with the object, and where it does so afterwards.
    #[test]
    fn loom_nothing_is_left_for_an_object_that_waits() {
        for at_once in [true, false] {
            model(3, move || {
                let object = Object::new(WAITING);
                let senders = [vec![1, 2], vec![9]].map(|all| {
                    let object = object.clone();
                    thread::spawn(move || all.into_iter().for_each(|number| object.send(number)))
                });
                let mut got = object.run(at_once);
                got.extend(object.run(at_once));
                senders.into_iter().for_each(|sender| sender.join().unwrap());
                while object.queued.load(Acquire) {
                    got.extend(object.run(at_once));
                }
                got.sort_unstable();
                assert_eq!((got, object.mailbox.state()), (vec![1, 2, 9], WAITING));
            });
        }
    }

    /// SW1, SW2.
    #[test]
    fn loom_visitors_and_owners_never_meet() {
        for at_once in [true, false] {
            model(3, move || {
                let object = Object::new(WAITING);
                let visitor = {
                    let object = object.clone();
                    thread::spawn(move || object.look().is_none_or(|seen| seen <= 2))
                };
                let scheduler = {
                    let object = object.clone();
                    thread::spawn(move || drop(object.run(at_once)))
                };
                object.send(1);
                object.wake();
                object.run(at_once);
                assert!(visitor.join().unwrap());
                scheduler.join().unwrap();
                assert!(object.look().is_some());
            });
        }
    }
}
