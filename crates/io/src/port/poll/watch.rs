//! A descriptor that a port waits for.

use super::pollers::Pollers;
use myriad_term::Port as PortId;
use myriad_vm::Vm;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};

/// Marks the keys of descriptors that are waited for in both directions.
pub(super) const BOTH: u64 = 1 << 60;

/// Which side of a port a file descriptor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Input,
    Output,
    Both,
}

/// A file descriptor that is waited for at times.
pub(crate) struct Watch {
    fd: OwnedFd,
    side: Side,
    /// Waited for all the time: an event for each time that it becomes ready.
    edge: bool,
    /// It is another's: it is not closed.
    lent: bool,
    state: Registered,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Registered {
    No,
    /// With the poller of this number.
    At(usize),
    /// With none: always ready.
    Always,
}

/// How it is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Armed {
    /// By a poller.
    Waiting,
    /// It is always ready: the port is to be told, under this key.
    Ready(u64),
}

/// The key of a port's descriptor.
fn key_of(port: PortId, side: Side) -> u64 {
    match side {
        Side::Input => port.number() << 1,
        Side::Output => port.number() << 1 | 1,
        Side::Both => port.number() << 1 | BOTH,
    }
}

impl Watch {
    /// For a file descriptor, not waited for yet.
    pub(crate) fn new(fd: OwnedFd, side: Side) -> Watch {
        Watch { fd, side, edge: false, lent: false, state: Registered::No }
    }

    /// For reading from a non-blocking pipe: once armed it need not be armed again after it has been seen empty.
    pub(crate) fn of_pipe(fd: OwnedFd) -> Watch {
        Watch { edge: true, ..Watch::new(fd, Side::Input) }
    }

    /// For a non-blocking socket, which need be armed once only. With `output`, both directions are told of.
    pub(crate) fn of_socket(fd: OwnedFd, output: bool) -> Watch {
        Watch { edge: true, ..Watch::new(fd, if output { Side::Both } else { Side::Input }) }
    }

    /// The same for a descriptor that stays open when this ends ([`Watch::close`], [`Watch::end`]).
    pub(crate) fn lent(self) -> Watch {
        Watch { lent: true, ..self }
    }

    /// The file descriptor.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Does it report what comes without being armed again, once it has been seen empty?
    pub(crate) fn tells_by_itself(&self) -> bool {
        self.edge && matches!(self.state, Registered::At(_))
    }

    /// Is it registered with a poller?
    pub(super) fn is_polled(&self) -> bool {
        matches!(self.state, Registered::At(_))
    }

    /// Waits until it is ready, once, or from now on, and tells this port, which is at home with the poller `home`.
    ///
    /// # Errors
    ///
    /// Of the system, when it has no memory left.
    pub(super) fn arm(&mut self, vm: &Vm, pollers: &Pollers, port: PortId, home: usize) -> Result<Armed, Errno> {
        self.arm_as(vm, pollers, key_of(port, self.side), home)
    }

    /// As [`Watch::arm`], under this key.
    pub(super) fn arm_as(&mut self, vm: &Vm, pollers: &Pollers, key: u64, home: usize) -> Result<Armed, Errno> {
        let side = match self.side {
            Side::Input => EventFlags::IN | EventFlags::RDHUP,
            Side::Output => EventFlags::OUT,
            Side::Both => EventFlags::IN | EventFlags::RDHUP | EventFlags::OUT,
        };
        let flags = side | if self.edge { EventFlags::ET } else { EventFlags::ONESHOT };
        match self.state {
            Registered::Always => return Ok(Armed::Ready(key)),
            Registered::At(at) if at == home => match pollers.get(at).renew(self.fd.as_fd(), key, flags) {
                // Another port has the same descriptor: the latest is told, which this one is now.
                Err(Errno::NOENT) => self.leave(pollers),
                renewed => return renewed.map(|()| Armed::Waiting),
            },
            Registered::At(_) => self.leave(pollers),
            Registered::No => {}
        }
        match pollers.register(vm, home, self.fd.as_fd(), key, flags) {
            Ok(()) => {
                self.state = Registered::At(home);
                Ok(Armed::Waiting)
            }
            Err(Errno::PERM) => {
                self.state = Registered::Always;
                Ok(Armed::Ready(key))
            }
            Err(errno) => Err(errno),
        }
    }

    fn leave(&mut self, pollers: &Pollers) {
        if let Registered::At(at) = self.state {
            pollers.get(at).remove(self.fd.as_fd());
            self.state = Registered::No;
        }
    }

    /// Waits no more, and closes it, unless it is lent.
    pub(crate) fn close(mut self, pollers: &Pollers) {
        // If that fails, closing ends it too, but for copies of the descriptor.
        self.leave(pollers);
        self.end();
    }

    /// Closes it, unless it is lent.
    pub(crate) fn end(self) {
        if self.lent {
            let _ = self.fd.into_raw_fd();
        }
    }
}
