//! What a checker of invariants is told: steps of protocols that leave no trace for it to find afterwards.
//!
//! Code that makes such a step calls [`tell`], in builds with debug assertions; release builds tell nothing, and [`Moment`] has no size
//! there. A checker listens on its own thread ([`listen`]). It is meant for a simulation, where one thread runs all cores in turn: there
//! the order of what is told is the order in which it happened. Crate `sim` has the checker (`invariants.rs`).

/// A step of a protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A process with this pid stands in its table from now on.
    Made(u64),
    /// It does not any more.
    Gone(u64),
    /// A scheduler has taken it out of a run queue, and runs it.
    Runs(u64),
    /// A signal, known by the address of its block, has been left in the outer queue of a process.
    Left {
        /// The process's pid.
        receiver: u64,
        /// The signal.
        signal: usize,
    },
    /// A signal has been taken out of the queue, to be handled or dropped.
    Taken(usize),
    /// A thread with this slot of a domain of thread progress holds nothing that it found before, and may find things from now on.
    Quiescent {
        /// The domain's address.
        domain: usize,
        /// The number of the slot.
        slot: usize,
    },
    /// A thread with this slot finds nothing until it is quiescent again.
    Outside {
        /// The domain's address.
        domain: usize,
        /// The number of the slot.
        slot: usize,
    },
    /// Work runs that was retired at this moment: nobody may hold any more what could be found then.
    Freed {
        /// The domain's address.
        domain: usize,
        /// When it was retired.
        retired: Moment,
    },
}

/// The place of something among the events that the calling thread tells of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Moment(#[cfg(debug_assertions)] u64);

impl Moment {
    /// This one: later than all events so far.
    #[inline(always)]
    pub fn now() -> Moment {
        #[cfg(debug_assertions)]
        let moment = Moment(told::next());
        #[cfg(not(debug_assertions))]
        let moment = Moment();
        moment
    }
}

/// Hears of an event, and when it happened.
pub type Listener = fn(Moment, Event);

/// Tells the listener of the calling thread, if there is one.
#[inline(always)]
pub fn tell(event: Event) {
    #[cfg(debug_assertions)]
    told::to_listener(event);
    #[cfg(not(debug_assertions))]
    let _ = event;
}

/// Has `listener` called with each event that the calling thread tells of, in builds with debug assertions.
pub fn listen(listener: Listener) {
    #[cfg(debug_assertions)]
    told::LISTENER.set(Some(listener));
    #[cfg(not(debug_assertions))]
    let _ = listener;
}

#[cfg(debug_assertions)]
mod told {
    use super::{Event, Listener, Moment};
    use std::cell::Cell;

    std::thread_local! {
        pub(super) static LISTENER: Cell<Option<Listener>> = const { Cell::new(None) };
        static MOMENTS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn next() -> u64 {
        // A thread that is being torn down tells nobody.
        MOMENTS.try_with(|moments| moments.replace(moments.get() + 1)).unwrap_or(0)
    }

    pub(super) fn to_listener(event: Event) {
        if let Ok(Some(listener)) = LISTENER.try_with(Cell::get) {
            listener(Moment::now(), event);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Event, Moment, listen, tell};
    use std::cell::RefCell;

    thread_local! {
        static TOLD: RefCell<Vec<(Moment, Event)>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn a_listener_hears_its_own_thread_in_order() {
        tell(Event::Made(1));
        listen(|moment, event| TOLD.with_borrow_mut(|told| told.push((moment, event))));
        tell(Event::Made(2));
        let between = Moment::now();
        tell(Event::Gone(2));
        std::thread::spawn(|| tell(Event::Made(3))).join().expect("it tells nobody");
        let told = TOLD.take();
        let events: Vec<Event> = told.iter().map(|(_, event)| *event).collect();
        if cfg!(debug_assertions) {
            assert_eq!(events, [Event::Made(2), Event::Gone(2)]);
            assert!(told[0].0 < between && between < told[1].0);
        } else {
            assert_eq!(events, []);
        }
    }
}
