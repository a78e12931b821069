//! [`Futex`]: a thread sleeps as long as a word holds a value.
//!
//! F1. A waker changes the word and then calls [`wake_one`](Futex::wake_one) or [`wake_all`](Futex::wake_all). A thread that looked at the word before the
//!     change either sleeps already, and is woken, or does not fall asleep.
//!
//! On Linux the kernel's (Franke, Russell, Kirkwood: Fuss, Futexes and Furwocks, 2002), elsewhere and in the model a lock and a
//! condition, in drawn interleavings a sleep of the run. The time to sleep goes to the kernel as a span, not as a point in time: it is
//! then the kernel's clock alone that ends a sleep, also where a library that shifts time stands between the process and its clock
//! (libfaketime).

pub(crate) use chosen::Futex;

#[cfg(all(target_os = "linux", not(any(loom, interleaved)), not(feature = "single")))]
mod chosen {
    use crate::atomic::AtomicU32;
    use std::{io, ptr, time::Duration};

    /// Nothing: the kernel knows which threads sleep.
    #[derive(Debug)]
    pub(crate) struct Futex;

    impl Futex {
        pub(crate) const fn new() -> Self {
            Self
        }

        /// Sleeps while `word` holds `value`, at most `time`; may end before that. Says whether the time ran out.
        pub(crate) fn wait(&self, word: &AtomicU32, value: u32, time: Option<Duration>) -> bool {
            let span = time.map(|time| libc::timespec {
                tv_sec: time.as_secs().try_into().unwrap_or(libc::time_t::MAX),
                tv_nsec: time.subsec_nanos().into(),
            });
            let span = span.as_ref().map_or(ptr::null(), ptr::from_ref);
            // SAFETY: the kernel reads the word and the time, both of which are borrowed until it returns.
            let status = unsafe {
                libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, value, span)
            };
            status == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::ETIMEDOUT)
        }

        /// Wakes one that sleeps on `word`.
        pub(crate) fn wake_one(&self, word: &AtomicU32) {
            wake(word, 1);
        }

        /// Wakes all that sleep on `word`.
        pub(crate) fn wake_all(&self, word: &AtomicU32) {
            wake(word, libc::c_int::MAX);
        }
    }

    fn wake(word: &AtomicU32, most: libc::c_int) {
        // SAFETY: the kernel takes the word's address alone.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, most) };
    }
}

/// Threads of a run sleep by the seed.
#[cfg(interleaved)]
mod chosen {
    use crate::atomic::AtomicU32;
    use crate::interleave;
    use std::time::Duration;

    /// Nothing: the run knows which threads sleep.
    #[derive(Debug)]
    pub(crate) struct Futex;

    impl Futex {
        pub(crate) const fn new() -> Self {
            Self
        }

        /// Sleeps while `word` holds `value`, at most `time`. Says whether the time ran out.
        #[track_caller]
        pub(crate) fn wait(&self, word: &AtomicU32, value: u32, time: Option<Duration>) -> bool {
            let holds = |seen: Option<usize>| seen.map_or_else(|| word.in_memory(), |seen| seen as u32) == value;
            interleave::wait(word.as_ptr().addr(), holds, time)
        }

        /// Wakes one that sleeps on `word`.
        #[track_caller]
        pub(crate) fn wake_one(&self, word: &AtomicU32) {
            interleave::wake(word.as_ptr().addr(), 1);
        }

        /// Wakes all that sleep on `word`.
        #[track_caller]
        pub(crate) fn wake_all(&self, word: &AtomicU32) {
            interleave::wake(word.as_ptr().addr(), usize::MAX);
        }
    }
}

#[cfg(all(not(interleaved), any(loom, feature = "single", not(target_os = "linux"))))]
mod chosen {
    use crate::atomic::{AtomicU32, Ordering::Relaxed};
    use crate::backend::locks;
    use std::time::Duration;

    /// Sleeping threads wait for the condition.
    #[derive(Debug)]
    pub(crate) struct Futex {
        // A leaf that nothing is taken under, so it needs no class.
        lock: locks::Mutex<()>,
        wake: locks::Condvar,
    }

    impl Futex {
        const_unless_loom! {
            pub(crate) fn new() -> Self {
                Self { lock: locks::Mutex::new(()), wake: locks::Condvar::new() }
            }
        }

        /// Sleeps while `word` holds `value`, at most `time`; may end before that. Says whether the time ran out.
        pub(crate) fn wait(&self, word: &AtomicU32, value: u32, time: Option<Duration>) -> bool {
            let guard = self.lock.lock();
            // Relaxed: a waker takes the lock after its change, so it finds us asleep, or we see the change here (F1). An
            // exchange, which as the kernel's look never sees an old value: a load would give the model much more to try.
            if word.compare_exchange(value, value, Relaxed, Relaxed).is_err() {
                return false;
            }
            match time {
                None => {
                    drop(self.wake.wait(guard));
                    false
                }
                Some(time) => self.wake.wait_timeout(guard, time).1,
            }
        }

        /// Wakes one that sleeps on `word`.
        pub(crate) fn wake_one(&self, _word: &AtomicU32) {
            drop(self.lock.lock());
            self.wake.notify_one();
        }

        /// Wakes all that sleep on `word`.
        #[cfg_attr(feature = "single", allow(dead_code, reason = "nobody sleeps"))]
        pub(crate) fn wake_all(&self, _word: &AtomicU32) {
            drop(self.lock.lock());
            self.wake.notify_all();
        }
    }
}
