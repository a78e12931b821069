//! How nice a private thread is: Erlang's priorities as the operating system's, as far as that lets a thread have them.
//!
//! Processes with private threads do not follow the priorities of run queues (Hedqvist 1998, 5.2.6). Hedqvist's levels from 0 to 31 have
//! normal processes at 20, where the middle of the nice values from -20 to 19 is: so a thread is as nice as the level of its process says,
//! compared with the VM's own niceness.

use myriad_process::Priority;
use myriad_sync::{OnceLock, thread};

/// The calling thread gives way to those that run processes, from now on, as one of low priority does: for work that nobody waits for.
pub fn give_way() {
    os::set(os::of_vm() + offset(Priority::LOW));
}

/// How much nicer than the VM a thread of this priority is.
fn offset(priority: Priority) -> i32 {
    priority.level() as i32 - Priority::NORMAL.level() as i32
}

/// The niceness of the calling thread, by the priority that it was last given.
pub(crate) struct Niceness(Priority);

impl Niceness {
    /// The calling thread, which is new, becomes as nice as the VM: it began as nice as the thread that started it.
    pub(crate) fn of_new_thread() -> Self {
        os::set(os::of_vm());
        Niceness(Priority::NORMAL)
    }

    /// The calling thread becomes as nice as a process of this priority is to be. A system that does not let it rise keeps it where it is; such a
    /// thread is not lowered either, since it could never rise again for its next process.
    pub(crate) fn become_that_of(&mut self, priority: Priority) {
        if priority != self.0 {
            self.0 = priority;
            if may_rise() {
                os::set(os::of_vm() + offset(priority));
            }
        }
    }
}

/// Does the system let a thread rise that has been lowered? A thread that ends at once finds out.
fn may_rise() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| {
        let tries = thread::spawn("nice", || os::set(os::of_vm() + 1) && os::set(os::of_vm()));
        tries.is_ok_and(|tries| tries.join().unwrap_or(false))
    })
}

/// Linux has a niceness for each thread; elsewhere it is the whole process's, which is not touched.
#[cfg(target_os = "linux")]
mod os {
    /// The niceness of the thread that the VM was started on.
    pub(super) fn of_vm() -> i32 {
        let main = std::process::id();
        // SAFETY: takes numbers and gives one.
        unsafe { libc::getpriority(libc::PRIO_PROCESS, main) }
    }

    /// The calling thread is as nice from now on; `false`: the system refuses.
    pub(super) fn set(nice: i32) -> bool {
        // SAFETY: takes numbers and gives one; 0 is the calling thread.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) == 0 }
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    pub(super) fn of_vm() -> i32 {
        0
    }

    pub(super) fn set(_: i32) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{Priority, offset};

    #[test]
    fn higher_priorities_are_less_nice() {
        let all = [Priority::MAX, Priority::HIGH, Priority::NORMAL, Priority::LOW];
        assert_eq!(all.map(offset), [-15, -5, 0, 10]);
    }

    /// As nice as the priority says, and back; or as nice as ever, if that could not be undone.
    #[test]
    #[cfg(all(target_os = "linux", not(miri), not(interleaved)))]
    fn a_thread_is_as_nice_as_its_process_is_to_be() {
        use super::{Niceness, may_rise, os};
        // SAFETY: takes numbers and gives one; 0 is the calling thread.
        let own = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) } - os::of_vm();
        let body = move || {
            let mut niceness = Niceness::of_new_thread();
            [Priority::LOW, Priority::NORMAL, Priority::HIGH].map(|priority| {
                niceness.become_that_of(priority);
                own()
            })
        };
        let [low, normal, high] = myriad_sync::thread::spawn("nice", body).expect("a thread").join().expect("no panic");
        // A niceness is 19 at most, wherever the VM begins.
        let lowest = offset(Priority::LOW).min(19 - os::of_vm());
        assert_eq!((low, normal), (if may_rise() { lowest } else { 0 }, 0));
        assert!([0, offset(Priority::HIGH)].contains(&high), "{high}");
    }
}
