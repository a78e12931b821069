//! Waiting for the end of programs that ports have started.

use super::pollers::Pollers;
use myriad_sync::{LockClass, Mutex};
use myriad_term::Port as PortId;
use myriad_vm::Vm;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Marks the keys of programs.
pub(super) const PROGRAM: u64 = 1 << 62;
/// How often a program is asked whether it has ended, where nothing tells of it (Linux before 5.3, valgrind).
const ASKED: Duration = Duration::from_millis(10);

/// A program that runs.
struct Program {
    pid: u32,
    port: PortId,
    /// Ready when it has ended, or, where there are no descriptors of processes, every [`ASKED`].
    handle: OwnedFd,
    /// The poller that waits for it.
    at: usize,
}

/// The programs that run, by the keys of their descriptors.
pub(super) struct Programs {
    running: Mutex<(u64, HashMap<u64, Program>)>,
}

impl Programs {
    pub(super) fn new(class: &'static LockClass) -> Programs {
        Programs { running: Mutex::new(class, (0, HashMap::new())) }
    }
    /// Waits for the end of a program that a port has started, with the poller `at`.
    ///
    /// # Errors
    ///
    /// Of the system, when it has no descriptor or memory left.
    pub(super) fn watch(&self, vm: &Vm, pollers: &Pollers, at: usize, port: PortId, pid: u32) -> Result<(), Errno> {
        let Some(process) = rustix::process::Pid::from_raw(pid as i32) else { return Ok(()) };
        let handle =
            rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty()).or_else(|_| ticks(ASKED))?;
        let mut running = self.running.lock();
        running.0 += 1;
        let key = PROGRAM | running.0;
        pollers.register(vm, at, handle.as_fd(), key, EventFlags::IN | EventFlags::ET)?;
        running.1.insert(key, Program { pid, port, handle, at });
        Ok(())
    }

    /// A program has ended, or it is time to ask: the port of one that has ended, and its exit status.
    pub(super) fn ended(&self, pollers: &Pollers, key: u64) -> Option<(PortId, i32)> {
        let mut running = self.running.lock();
        let program = running.1.get(&key)?;
        let Some(status) = reap(program.pid) else {
            begin_next_tick(&program.handle);
            return None;
        };
        let program = running.1.remove(&key)?;
        drop(running);
        pollers.get(program.at).remove(program.handle.as_fd());
        Some((program.port, status))
    }
}

/// A descriptor that becomes readable again and again, this far apart.
fn ticks(apart: Duration) -> Result<OwnedFd, Errno> {
    use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    let apart = rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(apart.subsec_nanos()) };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: apart, it_value: apart })?;
    Ok(timer)
}

/// A timer's next interval begins when the timer is read.
fn begin_next_tick(timer: &OwnedFd) {
    // What it tells, how many intervals have passed, is of no interest.
    let _ = rustix::io::read(timer, &mut [0u8; 8]);
}

/// The exit status of a program, as the shell counts it: 128 and the signal if one has ended it. `None`: it runs.
fn reap(pid: u32) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: looks at our own child; writes only to `status`.
        let got = unsafe { libc::waitpid(pid as i32, &raw mut status, libc::WNOHANG) };
        if got == pid as i32 {
            break;
        }
        if got == 0 {
            return None;
        }
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            // Another part of the program has reaped it: its exit status is lost.
            return Some(0);
        }
    }
    if libc::WIFEXITED(status) {
        Some(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        Some(128 + libc::WTERMSIG(status))
    } else {
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{begin_next_tick, reap, ticks};
    use crate::port::poll::poller::epoll_wait;
    use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
    use std::os::fd::AsFd;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_program_is_asked_until_it_has_ended() {
        let epoll = epoll::create(CreateFlags::CLOEXEC).unwrap();
        let timer = ticks(Duration::from_millis(1)).unwrap();
        epoll::add(&epoll, &timer, EventData::new_u64(7), EventFlags::IN | EventFlags::ET).unwrap();
        let program = Command::new("sh").args(["-c", "read line; exit 3"]).stdin(std::process::Stdio::piped()).spawn();
        let mut program = program.unwrap();
        assert_eq!(reap(program.id()), None, "it waits for its input");
        drop(program.stdin.take());
        let mut events: Vec<Event> = Vec::with_capacity(4);
        let status = (0..10_000).find_map(|_| {
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            assert_eq!(epoll_wait(epoll.as_fd(), room, Some(Duration::from_secs(10))), Ok(1));
            begin_next_tick(&timer);
            reap(program.id())
        });
        assert_eq!(status, Some(3));
        assert_eq!(reap(program.id()), Some(0), "somebody else has reaped it");
        assert!(program.wait().is_err(), "nothing is left to wait for");
    }
}
