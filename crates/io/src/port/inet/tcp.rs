//! The driver `tcp_inet`: streams, over TCP or local.
//!
//! ```text
//!   Closed --open--> Open --listen--> Listening
//!     ^               |  ^                |
//!     |        connect|  |refused         | accept: a new port
//!     |               v  |                v
//!     +--timeout-- Connecting -------> Connected
//!     +-- the end of the input or a failure, if the owner is passive --+
//! ```
//!
//! Where the owner is active, the end closes the port; else the socket alone, and the next to send or to receive learns of it ([`Late`]).

mod accept;
mod input;
mod output;

use super::super::driver::{Context, Driver, DriverType, Opened};
use super::super::options::Target;
use super::super::poll;
use super::super::seldom::Seldom;
use super::options::{Active, Options};
use super::{Answer, Asked, FOREVER, INVALID, Purpose, Refusal, Socket, encode, messages, request, request_of, status};
use crate::bytes::{APART, Output, Piece};
use crate::posix;
use input::Input;
use myriad_process::Payload;
use myriad_term::{Atom, Pid, am};
use output::Sending;
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketType};
use std::collections::VecDeque;

pub(in crate::port) static DRIVER: DriverType = DriverType {
    soft_busy: true,
    sets_busy: true,
    apart: Some(APART),
    ..DriverType::new("tcp_inet", |target, _| match target {
        Target::Spawn(line) | Target::Driver(line) => Ok(opened(Socket::new(SocketType::STREAM), State::Closed, line)),
        _ => Err(am::badarg),
    })
};

fn opened(socket: Socket, state: State, name: &[u8]) -> Opened {
    let driver = Tcp {
        socket,
        state,
        connecting: Seldom::default(),
        acceptors: Seldom::default(),
        input: Input::default(),
        output: Sending::default(),
        late: Late::default(),
        told_closed: false,
    };
    Opened { driver: Box::new(driver), name: name.to_vec(), os_pid: None }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Closed,
    Open,
    Connecting,
    Connected,
    Listening,
}

/// What the next to send and the next to receive are told of a connection that was lost while they asked for nothing.
#[derive(Default)]
struct Late {
    send: Option<Atom>,
    receive: Option<Atom>,
}

/// A stream's socket, open or still to be opened.
struct Tcp {
    socket: Socket,
    state: State,
    /// Who waits for the connection.
    connecting: Seldom<Option<Asked>>,
    /// Who waits for the next connection, first one first.
    acceptors: Seldom<VecDeque<Asked>>,
    input: Input,
    output: Sending,
    late: Late,
    /// The owner has been told that it is closed.
    told_closed: bool,
}

// As of `Port`: an idle connection has one, and it is a block of the allocator's.
const _: () = assert!(size_of::<Tcp>() <= 448);

impl Tcp {
    fn status(&self) -> u32 {
        let state = match self.state {
            State::Closed => 0,
            State::Open => status::OPEN,
            State::Connecting => status::OPEN | status::CONNECTING,
            State::Connected => status::OPEN | status::CONNECTED,
            State::Listening if self.acceptors.get().is_none_or(VecDeque::is_empty) => status::OPEN | status::LISTENING,
            State::Listening => status::OPEN | status::LISTENING | status::ACCEPTING,
        };
        state | if self.output.is_busy() { status::BUSY } else { 0 }
    }

    fn request(&mut self, port: &mut Context<'_>, caller: Pid, request: u64, data: &[u8]) -> Answer {
        match request {
            request::OPEN => {
                self.socket.open(data, None)?;
                self.state = State::Open;
            }
            request::FDOPEN => {
                self.socket.open(data, Some(&port.system.poll.pollers))?;
                let is_connected = rustix::net::getpeername(self.socket.fd()?).is_ok();
                self.state = if is_connected { State::Connected } else { State::Open };
            }
            request::CLOSE => self.shut(port),
            request::CONNECT => return self.connect(port, caller, data),
            request::LISTEN => self.listen(data)?,
            request::ACCEPT => return self.accept(port, caller, data),
            request::SETOPTS => self.set_options(port, data)?,
            request::SUBSCRIBE => return self.subscribe(caller, data),
            request::TCP_RECEIVE => return self.receive(port, caller, data),
            request::UNRECEIVE => self.unreceive(port, data)?,
            request::SHUTDOWN => self.shutdown(data)?,
            request::SENDFILE => self.send_file(port, caller, data)?,
            request::GETSTATUS => {
                let processes = &port.system.vm.processes;
                if let Some(acceptors) = self.acceptors.present() {
                    acceptors.retain(|asked| processes.get(asked.caller).is_some());
                }
                return Ok(self.status().to_be_bytes().to_vec());
            }
            _ => {
                let (status, queued) = (self.status(), self.output.queue.len());
                return self.socket.answer(request, data, status, queued).unwrap_or(Err(Refusal::BadPort));
            }
        }
        Ok(Vec::new())
    }

    fn connect(&mut self, port: &mut Context<'_>, caller: Pid, data: &[u8]) -> Answer {
        match self.state {
            State::Closed => return Err(Refusal::BadPort),
            State::Connected => return Err(Errno::ISCONN.into()),
            State::Connecting => return Err(INVALID),
            State::Open | State::Listening => {}
        }
        let (time, address) = data.split_first_chunk::<4>().ok_or(INVALID)?;
        let (to, _) = self.socket.address(address)?;
        let number = self.socket.next_number();
        match to.with(|to| rustix::net::connect(self.socket.fd()?, to)) {
            Ok(()) => {
                self.state = State::Connected;
                messages::answer(port, caller, number, Ok(()));
                self.pump(port);
            }
            Err(Errno::INPROGRESS) => {
                self.socket.readable = false;
                self.socket.wait(port)?;
                let asked = Asked::new(port, caller, number, u32::from_be_bytes(*time), Purpose::Connect);
                *self.connecting.get_mut() = Some(asked);
                self.state = State::Connecting;
                if u32::from_be_bytes(*time) == 0 {
                    self.connecting_timed_out(port);
                }
            }
            Err(errno) => return Err(errno.into()),
        }
        Ok(number.to_be_bytes().to_vec())
    }

    fn connecting_timed_out(&mut self, port: &mut Context<'_>) {
        if let Some(asked) = self.connecting.take() {
            port.timed_out();
            self.shut(port);
            asked.answer(port, Err(am::timeout));
        }
    }

    /// The connection may have been made, or refused.
    fn look_at_connection(&mut self, port: &mut Context<'_>) {
        let Ok(fd) = self.socket.fd() else { return };
        let outcome = match rustix::net::sockopt::socket_error(fd) {
            Ok(Ok(())) if rustix::net::getpeername(fd).is_err() => return,
            Ok(outcome) => outcome,
            Err(errno) => Err(errno),
        };
        let Some(asked) = self.connecting.take() else { return };
        match outcome {
            Ok(()) => self.state = State::Connected,
            Err(_) => self.state = State::Open,
        }
        asked.answer(port, outcome.map_err(posix::atom));
        self.pump(port);
    }

    fn listen(&mut self, data: &[u8]) -> Result<(), Refusal> {
        if self.state == State::Closed {
            return Err(Refusal::BadPort);
        }
        let [high, low] = *data else { return Err(INVALID) };
        rustix::net::listen(self.socket.fd()?, i32::from(u16::from_be_bytes([high, low])))?;
        self.state = State::Listening;
        self.socket.readable = true;
        Ok(())
    }

    fn set_options(&mut self, port: &mut Context<'_>, data: &[u8]) -> Result<(), Refusal> {
        let (family, kind, packet) = (self.socket.family, self.socket.kind, self.socket.options.packet);
        let fd = self.socket.watch.as_ref().map(poll::Watch::fd);
        let limits = self.socket.options.queue_limits;
        let set = self.socket.options.set(fd, family, kind, data);
        if self.socket.options.queue_limits != limits {
            port.set_queue_limits(self.socket.options.queue_limits);
        }
        if self.socket.options.packet != packet {
            self.input.in_header = false;
        }
        if std::mem::take(&mut self.socket.options.ran_out) {
            messages::tell(port, am::tcp_passive);
        }
        set?;
        if self.socket.options.active != Active::No {
            self.input.ended = false;
            match self.state {
                State::Closed => self.tell_closed_late(port),
                _ => self.pump(port),
            }
        }
        Ok(())
    }

    /// The owner wants input of a connection that was lost while it was passive.
    fn tell_closed_late(&mut self, port: &mut Context<'_>) {
        if let Some(reason) = self.late.receive.take().filter(|reason| *reason != am::closed) {
            messages::tell_reason(port, am::tcp_error, reason);
        }
        self.tell_closed(port);
        if self.socket.options.exit_on_close {
            self.end(port);
        }
    }

    /// `{tcp_closed, Socket}`, once.
    fn tell_closed(&mut self, port: &Context<'_>) {
        if !std::mem::replace(&mut self.told_closed, true) {
            messages::tell(port, am::tcp_closed);
        }
    }

    /// Ends the port, of which the owner has been told.
    fn end(&mut self, port: &mut Context<'_>) {
        self.input.ended = true;
        port.unlink_owner();
        port.exit(am::normal);
    }

    fn shutdown(&mut self, data: &[u8]) -> Result<(), Refusal> {
        if self.state != State::Connected {
            return Err(Errno::NOTCONN.into());
        }
        let how = match data {
            [0] => Shutdown::Read,
            [1] => Shutdown::Write,
            [2] => Shutdown::Both,
            _ => return Err(INVALID),
        };
        if how != Shutdown::Read && !self.output.queue.is_empty() {
            self.output.shutdown = Some(how);
            return Ok(());
        }
        Ok(rustix::net::shutdown(self.socket.fd()?, how)?)
    }

    /// Closes the socket, but not the port.
    fn shut(&mut self, port: &mut Context<'_>) {
        self.input.clear();
        self.output.clear(port);
        self.socket.close(port);
        self.state = State::Closed;
    }

    /// The input has ended, or failed.
    fn input_over(&mut self, port: &mut Context<'_>, error: Option<Errno>) {
        let shows_reset = self.socket.options.show_reset;
        let shown = error.filter(|errno| *errno != Errno::CONNRESET || shows_reset).map(posix::atom);
        let reason = shown.unwrap_or(am::closed);
        self.input.clear();
        self.input.ended = true;
        if let Some(waiter) = self.output.take_waiter(port) {
            self.output.clear(port);
            messages::reply(port, waiter, Err(reason));
        }
        if self.socket.options.active == Active::No {
            let receive = self.input.receive.take();
            if self.socket.options.exit_on_close {
                self.shut(port);
                self.late.send = if shown.is_none() { Some(am::closed) } else { None };
            }
            if let Some(receive) = receive {
                receive.asked.answer(port, Err(reason));
            }
            return;
        }
        if let Some(shown) = shown {
            messages::tell_reason(port, am::tcp_error, shown);
        }
        self.tell_closed(port);
        if self.socket.options.exit_on_close {
            self.end(port);
        }
    }

    /// Output has failed; `sender` is who waits to be told so.
    fn output_failed(&mut self, port: &mut Context<'_>, errno: Errno, sender: Option<Pid>) {
        let is_reset = matches!(errno, Errno::CONNRESET | Errno::PIPE);
        let shown = (is_reset && self.socket.options.show_reset).then_some(am::econnreset);
        let reason = shown.unwrap_or(am::closed);
        let sender = self.output.take_waiter(port).or(sender);
        if self.socket.options.active == Active::No {
            let receive = self.input.receive.take();
            self.shut(port);
            match receive {
                Some(receive) => receive.asked.answer(port, Err(am::closed)),
                None => self.late.receive = Some(reason),
            }
            match sender {
                Some(sender) => messages::reply(port, sender, Err(reason)),
                None => self.late.send = Some(reason),
            }
            return;
        }
        // Who knows of the end already learns of the reset when he asks for input again.
        if self.told_closed {
            self.late.receive = shown;
        } else if let Some(shown) = shown {
            messages::tell_reason(port, am::tcp_error, shown);
        }
        self.tell_closed(port);
        if let Some(sender) = sender {
            messages::reply(port, sender, Err(reason));
        }
        if self.socket.options.exit_on_close {
            self.end(port);
        } else {
            self.shut(port);
            self.late.send = if shown.is_none() { Some(am::closed) } else { None };
        }
    }
}

impl Driver for Tcp {
    fn output(&mut self, port: &mut Context<'_>, sender: Pid, data: Piece) {
        self.send(port, sender, Output::One(data));
    }

    fn output_pieces(&mut self, port: &mut Context<'_>, sender: Pid, data: Output) {
        self.send(port, sender, data);
    }

    fn answers_at_once(&self, len: usize) -> bool {
        self.output.has_room(len, self.socket.options.high)
    }

    fn receive_at_once(&mut self, port: &mut Context<'_>, caller: Pid, length: u32) -> Option<Payload> {
        self.receive_now(port, caller, length)
    }

    fn control(&mut self, port: &mut Context<'_>, caller: Pid, operation: u32, data: &[u8]) -> Option<Vec<u8>> {
        encode(self.request(port, caller, request_of(operation), data))
    }

    fn ready_input(&mut self, port: &mut Context<'_>, hung_up: bool, buffer: &mut [u8]) {
        self.socket.note_input(hung_up);
        match self.state {
            State::Listening => self.accept_waiting(port),
            State::Connecting => self.look_at_connection(port),
            State::Connected => self.pump_with(port, buffer),
            State::Closed | State::Open => {}
        }
    }

    fn ready_output(&mut self, port: &mut Context<'_>) {
        match self.state {
            State::Connecting => self.look_at_connection(port),
            State::Connected => self.write_queued(port),
            State::Closed | State::Open | State::Listening => {}
        }
    }

    fn moved(&mut self, port: &mut Context<'_>) {
        self.socket.moved(port);
    }

    fn timeout(&mut self, port: &mut Context<'_>, timer: u64) {
        match Purpose::of(timer) {
            Some(Purpose::Connect) => self.connecting_timed_out(port),
            Some(Purpose::Accept) => {
                if let Some(acceptors) = self.acceptors.present()
                    && let Some(at) = acceptors.iter().position(|asked| asked.has_timer(timer))
                    && let Some(asked) = acceptors.remove(at)
                {
                    port.timed_out();
                    asked.answer(port, Err(am::timeout));
                }
            }
            Some(Purpose::Receive) => {
                if let Some(receive) = self.input.receive.take_if(|receive| receive.asked.has_timer(timer)) {
                    port.timed_out();
                    receive.asked.answer(port, Err(am::timeout));
                }
            }
            Some(Purpose::Send) => self.send_timed_out(port, timer),
            None => {}
        }
    }

    fn flush(&mut self, port: &mut Context<'_>) {
        if port.is_open() {
            return;
        }
        self.input.clear();
        if self.socket.fd().is_ok_and(Options::closes_at_once) {
            self.output.clear(port);
        }
    }

    fn stop(&mut self, port: &mut Context<'_>) {
        let waiting = self.connecting.take().into_iter().chain(self.acceptors.take());
        let receive = self.input.receive.take().map(|receive| receive.asked);
        for asked in waiting.chain(receive) {
            asked.answer(port, Err(am::closed));
        }
        self.shut(port);
    }

    fn stop_waits(&self) -> bool {
        self.socket.options.lingers
    }

    fn queued(&self) -> usize {
        self.output.queue.len()
    }

    fn memory(&self) -> usize {
        self.input.memory()
    }
}

/// The time of a request, in milliseconds.
fn time_of(data: &[u8]) -> Result<(Option<u32>, &[u8]), Refusal> {
    let (time, rest) = data.split_first_chunk::<4>().ok_or(INVALID)?;
    Ok((Some(u32::from_be_bytes(*time)).filter(|time| *time != FOREVER), rest))
}
