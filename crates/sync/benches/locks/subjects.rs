//! The locks that are measured. A new lock is one line here.

use crate::measure::{Clocked, Lock, Point, run};
use myriad_sync::{
    GroupRwLock, LockClass, McsLock, Mutex, ReactiveLock, RwLock, SpinLock, Spread, TicketLock, TimePublishedLock,
};
use std::{hint::black_box, sync, time::Duration};

/// A lock to measure: its name in the tables, and [`run`] for its type.
pub struct Subject {
    pub name: &'static str,
    pub run: fn(&'static str, Clocked, u32, usize, Duration) -> Point,
}

static CLASS: LockClass = LockClass::new("measured", 1);

/// A list of locks: name, type, how to make one, and how the `turn`-th section of a thread is run under it.
macro_rules! subjects {
    ($list:ident: $($id:ident $name:literal, $type:ty = $new:expr, |$lock:pat_param, $turn:pat_param, $body:ident| $enter:expr;)*) => {
        $(
            struct $id($type);

            impl Lock for $id {
                fn new() -> Self {
                    Self($new)
                }

                #[inline]
                fn section(&self, $turn: u64, $body: impl FnOnce()) {
                    let $lock = &self.0;
                    $enter;
                }
            }
        )*

        pub const $list: [Subject; { [$($name),*].len() }] = [$(Subject { name: $name, run: run::<$id> }),*];
    };
}

// A section writes the value, as real ones do: the line moves with the lock.
subjects! { EXCLUSIVE:
    Std "std's mutex", sync::Mutex<u64> = sync::Mutex::new(0), |lock, _, body| { let mut held = lock.lock().unwrap(); *held += 1; body() };
    Futex "mutex", Mutex<u64> = Mutex::new(&CLASS, 0), |lock, _, body| { let mut held = lock.lock(); *held += 1; body() };
    Spin "spin", SpinLock<u64> = SpinLock::new(&CLASS, 0), |lock, _, body| { let mut held = lock.lock(); *held += 1; body() };
    Ticket "ticket", TicketLock<u64> = TicketLock::new(&CLASS, 0), |lock, _, body| { let mut held = lock.lock(); *held += 1; body() };
    Reactive "reactive", ReactiveLock<u64> = ReactiveLock::new(&CLASS, 0), |lock, _, body| { let mut held = lock.lock(); *held += 1; body() };
    Mcs "MCS", McsLock<u64> = McsLock::new(&CLASS, 0), |lock, _, body| lock.with(|value| { *value += 1; body() });
    Published "time-published", TimePublishedLock<u64> = TimePublishedLock::new(&CLASS, 0), |lock, _, body| lock.with(|value| { *value += 1; body() });
}

/// One section in so many of a thread writes, in the list of readers.
const WRITES: u64 = 64;

subjects! { READING:
    ReadMutex "mutex", Mutex<u64> = Mutex::new(&CLASS, 0), |lock, _, body| { black_box(*lock.lock()); body() };
    ReadStd "readers-writer", RwLock<u64> = RwLock::new(&CLASS, 0), |lock, turn, body| if turn.is_multiple_of(WRITES) { let mut held = lock.write(); *held += 1; body() } else { let held = lock.read(); black_box(*held); body() };
    ReadGroups "reader groups", GroupRwLock<u64> = GroupRwLock::new(&CLASS, Spread::AtSecondReader(16), 0), |lock, turn, body| if turn.is_multiple_of(WRITES) { let mut held = lock.write(); *held += 1; body() } else { let held = lock.read(); black_box(*held); body() };
}
