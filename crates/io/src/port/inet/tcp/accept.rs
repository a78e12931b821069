//! Connections that are taken: each is a new port of who has asked for it.

use super::super::super::driver::Context;
use super::super::super::options::Settings;
use super::super::super::signals;
use super::super::options::Active;
use super::super::{Answer, Asked, FOREVER, INVALID, Purpose, Socket};
use super::{DRIVER, State, Tcp, opened, time_of};
use crate::posix;
use myriad_term::{Build, Pid, Port as PortId, am};
use rustix::io::Errno;
use rustix::net::{SocketFlags, SocketType};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;

impl Tcp {
    /// Somebody wants the next connection; the answer comes by message.
    pub(super) fn accept(&mut self, port: &mut Context<'_>, caller: Pid, data: &[u8]) -> Answer {
        if self.state != State::Listening {
            return Err(INVALID);
        }
        let (time, []) = time_of(data)? else { return Err(INVALID) };
        let number = self.socket.next_number();
        self.acceptors.get_mut().push_back(Asked::new(port, caller, number, time.unwrap_or(FOREVER), Purpose::Accept));
        self.accept_waiting(port);
        Ok(number.to_be_bytes().to_vec())
    }

    /// Gives the connections that are there to those who wait. One that cannot be taken stays with the system: who has asked for it is told so.
    pub(super) fn accept_waiting(&mut self, port: &mut Context<'_>) {
        while self.socket.readable
            && let Some(asked) = self.acceptors.present().and_then(VecDeque::pop_front)
        {
            if port.system.vm.processes.get(asked.caller).is_none() {
                asked.cancel(port);
                continue;
            }
            let Ok(fd) = self.socket.fd() else { return };
            match rustix::net::accept_with(fd, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(fd) => match self.new_port(port, fd, asked.caller) {
                    Some(id) => asked.answer_with(port, 0, |f| f.tuple(&[am::ok.term(), id.term()])),
                    None => asked.answer(port, Err(am::system_limit)),
                },
                Err(errno @ (Errno::AGAIN | Errno::INTR | Errno::CONNABORTED)) => {
                    self.socket.readable = errno != Errno::AGAIN;
                    self.acceptors.get_mut().push_front(asked);
                }
                Err(errno) => asked.answer(port, Err(posix::atom(errno))),
            }
        }
        if self.acceptors.get().is_some_and(|acceptors| !acceptors.is_empty())
            && let Err(errno) = self.socket.wait(port)
        {
            // Nobody would tell them of a connection.
            for asked in self.acceptors.take() {
                asked.answer(port, Err(posix::atom(errno)));
            }
        }
    }

    /// A port of `owner`'s, linked to it, on a connection; it has the options of the one that it was taken from, but is passive.
    fn new_port(&self, port: &Context<'_>, fd: OwnedFd, owner: Pid) -> Option<PortId> {
        let mut socket = Socket::new(SocketType::STREAM);
        socket.options = self.socket.options.clone();
        socket.options.active = Active::No;
        socket.family = self.socket.family;
        socket.take(fd);
        let queue_limits = Some(self.socket.options.queue_limits);
        let settings = Settings { binary: true, queue_limits, ..Settings::default() };
        let opened = opened(socket, State::Connected, DRIVER.name.as_bytes());
        let id = port.system.create(&DRIVER, opened, &settings, owner, true)?.id;
        signals::link_owner(port.system, id, owner);
        Some(id)
    }
}
