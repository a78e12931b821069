//! What shared memory and locks cost on a simulated machine: each access to an atomic or a cell, and each lock, is reported to a [`Meter`].
//!
//! The back end `sim` reports; what an access costs is the machine's concern (crate `sim`), which keeps a directory of cache lines. One thread
//! runs all cores in turn, as [`run_on`] says. While no core runs (boot, tests, what the driver itself does) a report costs nothing, and
//! in the other back ends there are none at all.
//!
//! What is reported of a cell is the line that it begins in. Reference counts of `Arc` are std's and are not reported.

use crate::LockClass;
use std::panic::Location;

/// What a core does to a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read-modify-write.
    Update,
}

/// A lock that is taken, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// Where it is; its identity.
    pub lock: usize,
    /// Where taking it and giving it back writes: an address in the line that has to be fetched.
    pub line: usize,
    /// With other readers.
    pub shared: bool,
}

impl Hold {
    /// By one thread alone.
    #[inline(always)]
    pub(crate) fn exclusive<T>(lock: &T) -> Hold {
        let lock = std::ptr::from_ref(lock).addr();
        Hold { lock, line: lock, shared: false }
    }

    /// By one of several readers.
    #[inline(always)]
    pub(crate) fn shared<T>(lock: &T) -> Hold {
        Hold { shared: true, ..Hold::exclusive(lock) }
    }

    /// By one of several readers, who counts in a group.
    #[inline(always)]
    pub(crate) fn in_group<T, G>(lock: &T, group: &G) -> Hold {
        Hold { line: std::ptr::from_ref(group).addr(), ..Hold::shared(lock) }
    }
}

/// The machine: it lets the time of the core that runs pass. It must not use atomics and locks of this crate, which would be reported in turn.
pub trait Meter {
    /// The core accesses the line of an address, from this place in the source.
    fn access(&self, address: usize, access: Access, place: &'static Location<'static>);
    /// The core asks for the line of an address, which it is about to access, and goes on.
    fn prefetch(&self, address: usize, access: Access, place: &'static Location<'static>);
    /// The core takes a lock, after a wait if another core holds it.
    fn acquire(&self, class: &'static LockClass, hold: Hold);
    /// Could the core take the lock without waiting? A look that finds it held takes time.
    fn is_free(&self, hold: Hold) -> bool;
    /// The core gives a lock back.
    fn release(&self, hold: Hold);
    /// The core waits for a turn of a spin loop.
    fn pause(&self);
}

#[cfg(not(feature = "sim"))]
mod reports {
    use super::{Hold, Meter};
    use crate::LockClass;

    // Loom's cells are its own.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn access(_address: usize, _access: super::Access) {}
    #[inline(always)]
    pub(crate) fn acquire(_class: &'static LockClass, _hold: Hold) {}
    #[inline(always)]
    pub(crate) fn is_free(_hold: Hold) -> bool {
        true
    }

    /// Runs `step`; this build reports nothing to the machine.
    pub fn run_on<R>(_core: usize, _meter: &'static dyn Meter, step: impl FnOnce() -> R) -> R {
        step()
    }

    /// Runs `work`.
    pub fn aside<R>(work: impl FnOnce() -> R) -> R {
        work()
    }

    /// No core: this build does not know which one runs.
    pub fn core() -> Option<usize> {
        None
    }
}

#[cfg(feature = "sim")]
mod reports {
    use super::{Access, Hold, Meter};
    use crate::{LockClass, slot};
    use std::cell::Cell;
    use std::panic::Location;

    std::thread_local! {
        static METER: Cell<Option<&'static dyn Meter>> = const { Cell::new(None) };
        static CORE: Cell<Option<usize>> = const { Cell::new(None) };
    }

    fn report(to: impl FnOnce(&'static dyn Meter)) {
        // A thread that is being torn down runs on no core.
        if let Ok(Some(meter)) = METER.try_with(Cell::get) {
            to(meter);
        }
    }

    #[inline]
    #[track_caller]
    pub(crate) fn access(address: usize, access: Access) {
        let place = Location::caller();
        report(|meter| meter.access(address, access, place));
    }

    #[track_caller]
    pub(crate) fn prefetch(address: usize, access: Access) {
        let place = Location::caller();
        report(|meter| meter.prefetch(address, access, place));
    }

    pub(crate) fn acquire(class: &'static LockClass, hold: Hold) {
        report(|meter| meter.acquire(class, hold));
    }

    pub(crate) fn is_free(hold: Hold) -> bool {
        let mut free = true;
        report(|meter| free = meter.is_free(hold));
        free
    }

    pub(crate) fn release(hold: Hold) {
        report(|meter| meter.release(hold));
    }

    pub(crate) fn pause() {
        report(|meter| meter.pause());
    }

    /// Runs `step` as this core of a machine: what it does is reported, and it counts as a thread of its own where threads have numbers
    /// ([`slot`]).
    pub fn run_on<R>(core: usize, meter: &'static dyn Meter, step: impl FnOnce() -> R) -> R {
        METER.set(Some(meter));
        CORE.set(Some(core));
        let result = slot::stand_for(core, step);
        CORE.set(None);
        METER.set(None);
        result
    }

    /// Runs `work`, which no core of the simulated machine does.
    pub fn aside<R>(work: impl FnOnce() -> R) -> R {
        let meter = METER.take();
        let result = work();
        METER.set(meter);
        result
    }

    /// The core that runs; `None`: what runs is no core's work.
    pub fn core() -> Option<usize> {
        CORE.try_with(Cell::get).ok().flatten()
    }
}

#[cfg(not(loom))]
pub(crate) use reports::access;
pub(crate) use reports::{acquire, is_free};
pub use reports::{aside, core, run_on};
#[cfg(feature = "sim")]
pub(crate) use reports::{pause, prefetch, release};

#[cfg(all(test, feature = "sim"))]
mod tests {
    use super::{Access, Hold, Meter, aside, core, run_on};
    use crate::atomic::{AtomicU64, Ordering::Relaxed};
    use crate::{LockClass, Mutex, RwLock, SpinLock, slot};
    use std::cell::RefCell;
    use std::panic::Location;

    #[derive(PartialEq, Debug)]
    enum Told {
        Access(usize, Access),
        Prefetch(usize, Access),
        Acquire(&'static str, Hold),
        Release(Hold),
        Pause,
    }

    struct Listener {
        told: RefCell<Vec<Told>>,
        all_free: bool,
    }

    impl Meter for Listener {
        fn access(&self, address: usize, access: Access, place: &'static Location<'static>) {
            assert!(place.file().starts_with("crates/sync/src/"), "{place}");
            self.told.borrow_mut().push(Told::Access(address, access));
        }
        fn prefetch(&self, address: usize, access: Access, place: &'static Location<'static>) {
            assert!(place.file().ends_with("cost.rs"), "{place}");
            self.told.borrow_mut().push(Told::Prefetch(address, access));
        }
        fn acquire(&self, class: &'static LockClass, hold: Hold) {
            self.told.borrow_mut().push(Told::Acquire(class.name(), hold));
        }
        fn is_free(&self, _: Hold) -> bool {
            self.all_free
        }
        fn release(&self, hold: Hold) {
            self.told.borrow_mut().push(Told::Release(hold));
        }
        fn pause(&self) {
            self.told.borrow_mut().push(Told::Pause);
        }
    }

    static CLASS: LockClass = LockClass::new("a lock", 1);

    fn listener(all_free: bool) -> &'static Listener {
        Box::leak(Box::new(Listener { told: RefCell::default(), all_free }))
    }

    /// What `work` reports as core 900.
    fn told(work: impl FnOnce()) -> Vec<Told> {
        let listener = listener(true);
        run_on(900, listener, work);
        listener.told.take()
    }

    #[test]
    fn each_access_is_reported_while_a_core_runs() {
        let word = AtomicU64::new(0);
        let at = std::ptr::from_ref(&word).addr();
        let all = told(|| {
            word.store(1, Relaxed);
            word.fetch_add(1, Relaxed);
            aside(|| word.swap(7, Relaxed));
            let _ = word.compare_exchange(0, 1, Relaxed, Relaxed);
            assert_eq!(word.load(Relaxed), 7);
        });
        word.store(2, Relaxed);
        let kinds = [Access::Write, Access::Update, Access::Update, Access::Read];
        assert_eq!(all, kinds.map(|access| Told::Access(at, access)));
    }

    #[test]
    fn a_line_that_is_asked_for_is_reported() {
        let word = 0u64;
        let all = told(|| {
            crate::prefetch(&raw const word);
            crate::prefetch_to_write(&raw const word);
        });
        let address = std::ptr::from_ref(&word).addr();
        assert_eq!(all, [Told::Prefetch(address, Access::Read), Told::Prefetch(address, Access::Write)]);
    }

    #[test]
    fn a_core_is_a_thread_of_its_own() {
        let own = slot::index();
        let listener = listener(true);
        assert_eq!(run_on(901, listener, || (core(), slot::index())), (Some(901), 901));
        assert_eq!((core(), slot::index()), (None, own));
    }

    #[test]
    fn locks_are_reported_by_class() {
        let (mutex, spin, rw) = (Mutex::new(&CLASS, 1), SpinLock::new(&CLASS, 2), RwLock::new(&CLASS, 3));
        let all = told(|| {
            assert_eq!(*mutex.lock(), 1);
            assert_eq!(spin.try_lock().as_deref(), Some(&2));
            assert_eq!(*rw.read(), 3);
            assert_eq!(*rw.write(), 3);
        });
        let mut held = Vec::new();
        let mut shared = Vec::new();
        for event in all {
            match event {
                Told::Acquire(class, hold) => {
                    assert_eq!(class, "a lock");
                    shared.push(hold.shared);
                    held.push(hold);
                }
                Told::Release(hold) => held.retain(|other| *other != hold),
                Told::Access(..) | Told::Prefetch(..) | Told::Pause => {}
            }
        }
        assert_eq!((shared, held), (vec![false, false, true, false], vec![]));
    }

    #[test]
    fn what_the_machine_says_is_held_is_not_taken() {
        let (mutex, spin, rw) = (Mutex::new(&CLASS, 1), SpinLock::new(&CLASS, 2), RwLock::new(&CLASS, 3));
        let taken = || {
            let mutex = mutex.try_lock().is_some();
            let spin = spin.try_lock().is_some();
            let read = rw.try_read().is_some();
            [mutex, spin, read, rw.try_write().is_some()]
        };
        assert_eq!(run_on(902, listener(false), taken), [false; 4]);
        assert_eq!(taken(), [true; 4]);
    }
}
