//! The I/O thread: waits until file descriptors are ready or programs have ended, and tells the ports.
//!
//! What epoll does not take (regular files and some devices) is always ready: its keys stand in a list that the thread goes
//! through without waiting, one step of each port at a time.

use super::System;
use myriad_sync::{LockClass, Mutex};
use myriad_term::Port as PortId;
use polling::{Event, Events, Poller};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

static READY_CLASS: LockClass = LockClass::new("poll_ready", 360);
static LATER_CLASS: LockClass = LockClass::new("poll_later", 370);
static CHILDREN_CLASS: LockClass = LockClass::new("poll_children", 350);

/// Marks the keys of programs.
const CHILD: usize = 1 << 62;

/// Which side of a port a file descriptor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Input,
    Output,
}

/// A program that runs.
struct Child {
    pid: u32,
    port: PortId,
    /// Ready when it has ended.
    handle: OwnedFd,
}

/// What has to be done where no port's lock is held.
type Job = Box<dyn FnOnce(&System) + Send>;

/// What the thread waits for.
pub(super) struct Poll {
    poller: Poller,
    ready: Mutex<Vec<usize>>,
    later: Mutex<Vec<Job>>,
    children: Mutex<(usize, HashMap<usize, Child>)>,
}

/// A file descriptor that is waited for at times.
pub(super) struct Watch {
    fd: OwnedFd,
    key: usize,
    side: Side,
    state: Registered,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Registered {
    No,
    Yes,
    /// Not in epoll: always ready.
    Always,
}

fn key_of(port: PortId, side: Side) -> usize {
    (port.number() as usize) << 1 | usize::from(side == Side::Output)
}

impl Watch {
    /// For a file descriptor of a port, not waited for yet.
    pub(super) fn new(fd: OwnedFd, port: PortId, side: Side) -> Watch {
        Watch { fd, key: key_of(port, side), side, state: Registered::No }
    }

    /// The file descriptor.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Waits once until it is ready.
    pub(super) fn arm(&mut self, system: &System) -> io::Result<()> {
        let poll = &system.poll;
        let interest = match self.side {
            Side::Input => Event::readable(self.key),
            Side::Output => Event::writable(self.key),
        };
        match self.state {
            Registered::Yes => return poll.poller.modify(&self.fd, interest),
            Registered::Always => {}
            Registered::No => {
                // SAFETY: the descriptor is taken out before it is closed: see `close`.
                match unsafe { poll.poller.add(&self.fd, interest) } {
                    Ok(()) => {
                        self.state = Registered::Yes;
                        return Ok(());
                    }
                    Err(error) if error.raw_os_error() == Some(libc::EPERM) => self.state = Registered::Always,
                    Err(error) => return Err(error),
                }
            }
        }
        poll.ready.lock().push(self.key);
        poll.poller.notify()
    }

    /// Waits no more, and closes it.
    pub(super) fn close(self, system: &System) {
        if self.state == Registered::Yes {
            // It is registered; and if that fails, closing ends it too, but for copies of the descriptor.
            let _ = system.poll.poller.delete(&self.fd);
        }
    }
}

impl Poll {
    pub(super) fn new() -> io::Result<Poll> {
        Ok(Poll {
            poller: Poller::new()?,
            ready: Mutex::new(&READY_CLASS, Vec::new()),
            later: Mutex::new(&LATER_CLASS, Vec::new()),
            children: Mutex::new(&CHILDREN_CLASS, (0, HashMap::new())),
        })
    }

    /// Has the I/O thread do this soon; what is asked for in turn is done in turn.
    pub(super) fn later(&self, job: impl FnOnce(&System) + Send + 'static) {
        self.later.lock().push(Box::new(job));
        // If it cannot be woken now, it does it when it wakes.
        let _ = self.poller.notify();
    }
}

/// Waits for the end of a program that a port has started.
pub(super) fn watch_child(system: &'static System, port: PortId, pid: u32) -> io::Result<()> {
    let Some(process) = rustix::process::Pid::from_raw(pid as i32) else { return Ok(()) };
    let handle = match rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(_) => {
            // An old kernel: a thread that waits.
            let wait = move || {
                if let Some(status) = reap(pid, 0) {
                    ended(system, port, status);
                }
            };
            return myriad_sync::thread::spawn("reaper", wait).map(drop);
        }
    };
    let key = {
        let mut children = system.poll.children.lock();
        children.0 += 1;
        let key = CHILD | children.0;
        // SAFETY: taken out before it is closed, in `child_ended`.
        unsafe { system.poll.poller.add(&handle, Event::readable(key))? };
        children.1.insert(key, Child { pid, port, handle });
        key
    };
    debug_assert!(key & CHILD != 0);
    Ok(())
}

/// The exit status of a program, as the shell counts it: 128 and the signal if one has ended it.
fn reap(pid: u32, flags: i32) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: waits for our own child; writes only to `status`.
        let got = unsafe { libc::waitpid(pid as i32, &raw mut status, flags) };
        if got == pid as i32 {
            break;
        }
        if got == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return None;
        }
    }
    if libc::WIFEXITED(status) {
        Some(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        Some(128 + libc::WTERMSIG(status))
    } else {
        None
    }
}

fn ended(system: &System, port: PortId, status: i32) {
    if let Some(port) = system.get(port) {
        port.child_ended(system, status);
    }
}

fn child_ended(system: &System, key: usize) {
    let child = system.poll.children.lock().1.remove(&key);
    if let Some(child) = child {
        let _ = system.poll.poller.delete(&child.handle);
        debug_assert!(child.handle.as_raw_fd() >= 0);
        // If somebody else has reaped it, nobody knows how it ended.
        ended(system, child.port, reap(child.pid, libc::WNOHANG).unwrap_or(0));
    }
}

fn port_ready(system: &System, key: usize, buffer: &mut [u8]) {
    let id = PortId::from_number((key >> 1) as u64);
    if let Some(port) = system.get(id) {
        if key & 1 == 0 { port.readable(system, buffer) } else { port.writable(system) }
    }
}

/// Starts the thread.
pub(super) fn start(system: &'static System) -> Result<(), String> {
    let slot = system.vm.progress.register().ok_or("too many threads")?;
    let body = move || {
        let mut events = Events::new();
        // As much as OTP reads at a time.
        let mut buffer = vec![0; 64 << 10];
        loop {
            let waiting = system.poll.ready.lock().is_empty();
            events.clear();
            slot.park();
            let waited = system.poll.poller.wait(&mut events, (!waiting).then_some(Duration::ZERO));
            slot.unpark();
            if system.vm.is_stopping() {
                return;
            }
            if waited.is_err() {
                // Only an interrupted wait can fail; a moment's rest keeps any other failure from filling a processor.
                myriad_sync::thread::sleep(Duration::from_millis(1));
            }
            for event in events.iter() {
                if event.key & CHILD != 0 {
                    child_ended(system, event.key);
                } else {
                    port_ready(system, event.key, &mut buffer);
                }
            }
            let jobs = std::mem::take(&mut *system.poll.later.lock());
            for job in jobs {
                job(system);
            }
            let ready = std::mem::take(&mut *system.poll.ready.lock());
            for key in ready {
                port_ready(system, key, &mut buffer);
            }
            slot.quiescent();
        }
    };
    myriad_sync::thread::spawn("io_poll", body).map(drop).map_err(|e| format!("cannot start the I/O thread: {e}"))
}
