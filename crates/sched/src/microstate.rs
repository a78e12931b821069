//! Microstate accounting: how long each thread has been in which state (`statistics(microstate_accounting)`, module `msacc`).
//!
//! Each thread that is accounted says in which state it is, always: that is one store to a line of its own. Only while accounting
//! is on it also looks at the clock when the state changes, and adds the time since the last change to the state that it leaves.
//!
//! Time is counted by a clock of accounting's own, which runs while accounting is on and stands still otherwise. So a thread that
//! stays in one state while others switch accounting on, off and on again has nothing to do for it: what it adds later is the
//! difference of that clock. OTP wakes each thread to ask it; here the thread that asks adds the time since the other's last change
//! to what the other has counted.
//!
//! MS1. The account of a thread is written by that thread alone; its `sequence` tells readers when they saw it half changed.
//! MS2. While accounting is off and a thread has seen that (`Account::period` is the shared one), its `since` is where the clock
//!      stands. So the state may change without a look at the clock.
//! MS3. Counts never go back: resetting notes what they were (`Control::before`), and readers subtract that.

use crate::platform::Platform;
use myriad_sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use myriad_sync::{CachePadded, LockClass, Mutex, SeqLock};
use std::cell::Cell;

static CLASS: LockClass = LockClass::new("microstates", 285);

macro_rules! states {
    ($($(#[$meta:meta])* $name:ident $atom:ident;)*) => {
        /// What a thread does.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum State {
            $($(#[$meta])* $name,)*
        }

        /// The states' names, by number.
        pub const NAMES: [myriad_term::Atom; STATES] = [$(myriad_term::am::$atom),*];
        /// How many there are.
        pub const STATES: usize = [$(State::$name),*].len();

        impl State {
            /// All of them, by number.
            const ALL: [State; STATES] = [$(State::$name),*];
        }
    };
}

states! {
    /// Frees what no thread can see any more, gives memory back.
    Aux aux;
    /// Asks which file descriptors are ready.
    CheckIo check_io;
    /// Runs processes: their code, built-ins, signals.
    Emulator emulator;
    /// Collects garbage.
    Gc gc;
    /// Anything else: looks for work, fires timers.
    Other other;
    /// Works in a port.
    Port port;
    /// Waits.
    Sleep sleep;
}

/// Nanoseconds by state.
pub type Times = [u64; STATES];

/// One thread's.
struct Account {
    seqlock: SeqLock,
    times: [AtomicU64; STATES],
    /// Accounting's clock when the state last changed.
    since: AtomicU64,
    /// The shared period that the thread saw last.
    period: AtomicU32,
    state: AtomicU8,
}

impl Default for Account {
    fn default() -> Account {
        Account {
            seqlock: SeqLock::new(),
            times: Default::default(),
            since: AtomicU64::new(0),
            period: AtomicU32::new(0),
            state: AtomicU8::new(State::Sleep as u8),
        }
    }
}

impl Account {
    /// Relaxed: the thread's own, and readers of other threads look within `sequence`.
    fn state(&self) -> State {
        State::ALL.get(usize::from(self.state.load(Ordering::Relaxed))).copied().unwrap_or(State::Other)
    }

    /// What has been counted until the clock shows this.
    fn times(&self, clock: u64) -> Times {
        loop {
            let seen = self.seqlock.read_optimistically(|| {
                // Relaxed: sched/Q1 of `SeqLock`.
                let mut times: Times = std::array::from_fn(|i| self.times[i].load(Ordering::Relaxed));
                times[self.state() as usize] += clock.saturating_sub(self.since.load(Ordering::Relaxed));
                times
            });
            match seen {
                Some(times) => return times,
                None => myriad_sync::thread::yield_now(),
            }
        }
    }
}

/// What the thread needs that switches accounting on or off, or resets it.
struct Control {
    /// What had been counted when it was last reset (MS3).
    before: Box<[Times]>,
}

/// The accounts of all threads.
pub struct Microstates {
    /// Odd while accounting is on.
    period: CachePadded<AtomicU32>,
    /// What the platform's time is ahead of accounting's, while it is on.
    ahead: AtomicU64,
    /// Where accounting's clock stands, while it is off.
    stands_at: AtomicU64,
    accounts: Box<[CachePadded<Account>]>,
    control: Mutex<Control>,
}

impl Microstates {
    /// For `threads` threads: the schedulers, dirty CPU schedulers, dirty I/O schedulers (in this order), and the thread that waits
    /// for ports.
    pub fn new(threads: usize) -> Microstates {
        Microstates {
            period: CachePadded::new(AtomicU32::new(0)),
            ahead: AtomicU64::new(0),
            stands_at: AtomicU64::new(0),
            accounts: (0..threads).map(|_| CachePadded::default()).collect(),
            control: Mutex::new(&CLASS, Control { before: vec![[0; STATES]; threads].into() }),
        }
    }

    /// The number of the thread that waits for ports.
    pub fn poll_thread(&self) -> usize {
        self.accounts.len() - 1
    }

    /// A period and what accounting's clock shows in it.
    fn clock(&self, platform: &dyn Platform) -> (u32, u64) {
        loop {
            // Acquire: pairs with the Release in `set`: what the clock is reckoned with is that of this period.
            let period = self.period.load(Ordering::Acquire);
            let clock = if period & 1 == 0 {
                self.stands_at.load(Ordering::Relaxed)
            } else {
                platform.now_ns().saturating_sub(self.ahead.load(Ordering::Relaxed))
            };
            // Relaxed: if accounting was switched since the first look, the clock may be wrong by as long as that took.
            if self.period.load(Ordering::Relaxed) == period {
                return (period, clock);
            }
        }
    }

    /// Is accounting off, and has the thread of this account, which asks, seen that (MS2)?
    #[inline]
    fn is_off_for(&self, account: &Account) -> bool {
        // Relaxed: to be early or late by an instruction does not matter.
        let period = self.period.load(Ordering::Relaxed);
        period & 1 == 0 && account.period.load(Ordering::Relaxed) == period
    }

    /// The calling thread, whose account this is, changes its state.
    fn change(&self, account: &Account, state: State, platform: &dyn Platform) {
        if self.is_off_for(account) {
            // Relaxed: MS2.
            account.state.store(state as u8, Ordering::Relaxed);
        } else {
            self.count(account, account.state(), state, platform);
        }
    }

    #[cold]
    #[inline(never)]
    fn count(&self, account: &Account, old: State, new: State, platform: &dyn Platform) {
        let (period, clock) = self.clock(platform);
        let since = account.since.load(Ordering::Relaxed);
        debug_assert!(old == account.state(), "MS1: another thread has changed it");
        let spent = &account.times[old as usize];
        let _write = account.seqlock.write();
        // Relaxed: MS1.
        spent.store(spent.load(Ordering::Relaxed) + clock.saturating_sub(since), Ordering::Relaxed);
        account.since.store(clock.max(since), Ordering::Relaxed);
        account.period.store(period, Ordering::Relaxed);
        account.state.store(new as u8, Ordering::Relaxed);
    }

    /// Switches it on or off; gives what it was.
    pub fn set(&self, on: bool, platform: &dyn Platform) -> bool {
        let _control = self.control.lock();
        // Relaxed: only changed under the lock.
        let period = self.period.load(Ordering::Relaxed);
        let was = period & 1 != 0;
        if was != on {
            let now = platform.now_ns();
            if on {
                self.ahead.store(now.saturating_sub(self.stands_at.load(Ordering::Relaxed)), Ordering::Relaxed);
            } else {
                self.stands_at.store(now.saturating_sub(self.ahead.load(Ordering::Relaxed)), Ordering::Relaxed);
            }
            // Release: pairs with the Acquire in `clock`.
            self.period.store(period.wrapping_add(1), Ordering::Release);
        }
        was
    }

    /// Counts from nothing again; gives whether it is on.
    pub fn reset(&self, platform: &dyn Platform) -> bool {
        let mut control = self.control.lock();
        let (period, clock) = self.clock(platform);
        control.before = self.accounts.iter().map(|account| account.times(clock)).collect();
        period & 1 != 0
    }

    /// How long each thread has been in which state, in the order of [`Microstates::new`].
    pub fn times(&self, platform: &dyn Platform) -> Vec<Times> {
        let control = self.control.lock();
        let (_, clock) = self.clock(platform);
        let since = |(account, before): (&CachePadded<Account>, &Times)| {
            let times = account.times(clock);
            std::array::from_fn(|i| times[i].saturating_sub(before[i]))
        };
        self.accounts.iter().zip(&control.before).map(since).collect()
    }
}

/// The calling thread, if it is accounted.
#[derive(Clone, Copy)]
struct Thread {
    all: &'static Microstates,
    account: &'static Account,
    platform: &'static dyn Platform,
}

thread_local! {
    static THREAD: Cell<Option<Thread>> = const { Cell::new(None) };
}

/// The calling thread is this one of [`Microstates::new`] from now on.
pub fn join(all: &'static Microstates, platform: &'static dyn Platform, number: usize, state: State) {
    if let Some(account) = all.accounts.get(number) {
        THREAD.set(Some(Thread { all, account, platform }));
        enter(state);
    }
}

/// The calling thread is in this state from now on.
#[inline]
pub fn enter(state: State) {
    let Some(Thread { all, account, .. }) = THREAD.get() else { return };
    if all.is_off_for(account) {
        // Relaxed: MS2.
        account.state.store(state as u8, Ordering::Relaxed);
    } else {
        enter_counted(state);
    }
}

#[cold]
#[inline(never)]
fn enter_counted(state: State) {
    if let Some(Thread { all, account, platform }) = THREAD.get() {
        all.change(account, state, platform);
    }
}

/// While it lives the thread that made it is in a state; then it is in the one before again.
#[must_use = "ends when dropped"]
pub struct Within {
    before: Option<State>,
    /// It belongs to its thread.
    _here: std::marker::PhantomData<*const ()>,
}

/// The calling thread is in this state until what this gives is dropped.
#[inline]
pub fn within(state: State) -> Within {
    let before = THREAD.get().map(|thread| thread.account.state());
    enter(state);
    Within { before, _here: std::marker::PhantomData }
}

impl Drop for Within {
    #[inline]
    fn drop(&mut self) {
        if let Some(state) = self.before {
            enter(state);
        }
    }
}

/// Runs what thread progress has made possible (the form that [`myriad_sync::Progress`] takes).
pub fn as_aux(work: &mut dyn FnMut()) {
    let _aux = within(State::Aux);
    work();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Time as the test sets it.
    #[derive(Default)]
    struct Hand(AtomicU64);

    impl Hand {
        fn at(&self, ns: u64) -> &Hand {
            self.0.store(ns, Ordering::Relaxed);
            self
        }
    }

    impl Platform for Hand {
        fn now_ns(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
        fn system_ns(&self) -> i64 {
            0
        }
        fn seed(&self, _: usize) -> u64 {
            1
        }
        fn park(&self, _: usize, _: Option<Duration>) {}
        fn unpark(&self, _: usize) {}
    }

    fn shown(times: &Times) -> Vec<(State, u64)> {
        State::ALL.into_iter().zip(*times).filter(|(_, ns)| *ns > 0).collect()
    }

    #[test]
    fn time_goes_to_the_state_it_was_spent_in() {
        let (all, hand) = (Microstates::new(2), Hand::default());
        let one = &all.accounts[0];
        all.change(one, State::Other, hand.at(10));
        assert!(!all.set(true, hand.at(100)));
        all.change(one, State::Emulator, hand.at(130));
        assert_eq!(one.state(), State::Emulator);
        all.change(one, State::Gc, hand.at(140));
        all.change(one, State::Emulator, hand.at(145));
        let times = all.times(hand.at(150));
        assert_eq!(shown(&times[0]), [(State::Emulator, 15), (State::Gc, 5), (State::Other, 30)]);
        assert_eq!(shown(&times[1]), [(State::Sleep, 50)], "it never changed its state");
    }

    #[test]
    fn nothing_is_counted_while_it_is_off() {
        let (all, hand) = (Microstates::new(1), Hand::default());
        let one = &all.accounts[0];
        all.change(one, State::Emulator, hand.at(5));
        for round in 0..3 {
            let start = 1000 * round;
            assert!(!all.set(true, hand.at(start + 100)));
            assert!(all.set(false, hand.at(start + 110)));
        }
        // The thread did not see any of it.
        assert_eq!(shown(&all.times(hand.at(9000))[0]), [(State::Emulator, 30)]);
        all.change(one, State::Sleep, hand.at(9500));
        all.change(one, State::Other, hand.at(9600));
        assert_eq!(shown(&all.times(hand.at(9700))[0]), [(State::Emulator, 30)]);
        all.set(true, hand.at(10_000));
        all.change(one, State::Aux, hand.at(10_007));
        assert_eq!(shown(&all.times(hand.at(10_009))[0]), [(State::Aux, 2), (State::Emulator, 30), (State::Other, 7)]);
    }

    #[test]
    fn reset_counts_from_nothing() {
        let (all, hand) = (Microstates::new(1), Hand::default());
        all.set(true, hand.at(10));
        all.change(&all.accounts[0], State::Port, hand.at(20));
        assert!(all.reset(hand.at(25)));
        assert_eq!(shown(&all.times(hand.at(31))[0]), [(State::Port, 6)]);
        all.set(false, hand.at(40));
        assert!(!all.reset(hand.at(50)));
        assert_eq!(shown(&all.times(hand.at(60))[0]), []);
    }

    /// Whatever a reader sees meanwhile, the sum is the time that has passed.
    #[test]
    fn readers_see_whole_accounts() {
        let (all, hand) = (Microstates::new(1), Hand::default());
        all.set(true, hand.at(0));
        let done = myriad_sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for ns in 1..200_000 {
                    let state = if ns % 2 == 0 { State::Emulator } else { State::Gc };
                    all.change(&all.accounts[0], state, hand.at(ns));
                }
                done.store(true, Ordering::Release);
            });
            while !done.load(Ordering::Acquire) {
                let before = hand.now_ns();
                let sum: u64 = all.times(&hand)[0].iter().sum();
                let after = hand.now_ns();
                assert!((before.saturating_sub(1)..=after + 1).contains(&sum), "{before} {sum} {after}");
            }
        });
    }
}
