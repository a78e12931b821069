//! On which processors a thread may run.

use std::io;

/// A thread, as the operating system numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread(#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing is bound there"))] i32);

impl Thread {
    /// The one that calls. `None`: the system cannot bind threads.
    pub fn current() -> Option<Thread> {
        #[cfg(all(target_os = "linux", not(any(loom, miri))))]
        {
            // SAFETY: the call takes nothing and cannot fail.
            let id = unsafe { libc::syscall(libc::SYS_gettid) };
            i32::try_from(id).ok().map(Thread)
        }
        #[cfg(not(all(target_os = "linux", not(any(loom, miri)))))]
        None
    }

    /// From now on the thread runs on these processors only.
    pub fn run_on(self, processors: &[u32]) -> io::Result<()> {
        #[cfg(all(target_os = "linux", not(any(loom, miri))))]
        {
            let words = processors.iter().max().map_or(1, |most| *most as usize / 64 + 1);
            let mut mask = vec![0_u64; words];
            for processor in processors {
                mask[*processor as usize / 64] |= 1 << (processor % 64);
            }
            // SAFETY: the kernel reads so many bytes of the mask, which is as long.
            let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, self.0, words * 8, mask.as_ptr()) };
            if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        }
        #[cfg(not(all(target_os = "linux", not(any(loom, miri)))))]
        {
            let _ = processors;
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, miri))))]
mod tests {
    use super::Thread;
    use crate::machine::Machine;

    fn allowed() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
    }

    #[test]
    fn a_thread_is_bound_and_unbound() {
        let usable = Machine::read().usable();
        let bound = move || {
            let (before, thread) = (allowed(), Thread::current().unwrap());
            let last = *usable.last().unwrap();
            thread.run_on(&[last]).unwrap();
            assert_eq!(allowed(), last.to_string());
            thread.run_on(&usable).unwrap();
            assert_eq!(allowed(), before);
            // Processors that are not there.
            assert!(thread.run_on(&[9999]).is_err());
            assert!(thread.run_on(&[]).is_err());
        };
        std::thread::spawn(bound).join().unwrap();
    }
}
