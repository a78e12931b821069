//! What a stream sends: written at once as far as it goes, queued else. A queue above the high watermark makes the port busy, and the
//! sender that has made it so is answered when it is below the low one.

use super::super::super::driver::Context;
use super::super::super::seldom::Seldom;
use super::super::{Answer, INVALID, Purpose, Refusal, messages};
use super::{State, Tcp};
use crate::bytes::{ByteQueue, Output, Piece};
use crate::posix;
use myriad_process::TimerId;
use myriad_term::{Build, Pid, Term, am};
use rustix::io::Errno;
use rustix::net::Shutdown;
use std::io::IoSlice;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Most pieces of one system call.
const PIECES: usize = 64;
/// Most bytes that go before a packet.
const HEADER: usize = 4;
/// Bytes that are written before the port gives way.
const BUDGET: usize = 1 << 20;

/// A sender that is answered when the port is less busy.
struct Waiter {
    sender: Pid,
    timer: Option<TimerId>,
}

/// How much of what was to be sent is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Written {
    All,
    /// What the port writes in one go.
    Part,
    /// As much as the socket takes, or nothing yet.
    Waits,
}

/// A file that is sent after the queue.
struct File {
    fd: OwnedFd,
    offset: u64,
    left: u64,
    sent: u64,
    caller: Pid,
}

/// The sending side.
#[derive(Default)]
pub(super) struct Sending {
    pub(super) queue: ByteQueue,
    waiter: Option<Waiter>,
    /// Sends that were answered by a timer: their number, so that an old timer counts for none.
    timers: u32,
    busy: bool,
    /// Who is told when the queue is empty.
    subscribers: Seldom<Vec<Pid>>,
    /// To be done when the queue is empty.
    pub(super) shutdown: Option<Shutdown>,
    file: Option<Box<File>>,
}

impl Sending {
    pub(super) fn is_busy(&self) -> bool {
        self.busy
    }

    /// Is somebody who sends so many bytes more answered at once?
    pub(super) fn has_room(&self, len: usize, high: usize) -> bool {
        let is_idle = self.queue.is_empty() && self.file.is_none();
        self.waiter.is_none() && (is_idle || self.queue.len() + HEADER + len < high)
    }

    /// The sender that waits is answered by the caller.
    pub(super) fn take_waiter(&mut self, port: &Context<'_>) -> Option<Pid> {
        let waiter = self.waiter.take()?;
        if let Some(timer) = waiter.timer {
            port.cancel_timer(timer);
        }
        Some(waiter.sender)
    }

    fn set_busy(&mut self, port: &mut Context<'_>, busy: bool) {
        if std::mem::replace(&mut self.busy, busy) != busy {
            port.set_busy(busy);
        }
    }

    /// Forgets what is not sent; who waits to be told of it is told so.
    pub(super) fn clear(&mut self, port: &mut Context<'_>) {
        self.queue.clear();
        self.shutdown = None;
        self.set_busy(port, false);
        self.tell_empty(port);
        if let Some(file) = self.file.take() {
            file.answer(port, Err(am::closed));
        }
    }

    fn tell_empty(&mut self, port: &Context<'_>) {
        for pid in self.subscribers.take() {
            messages::send(port, pid, 0, |f| f.tuple(&[am::empty_out_q.term(), port.port.id.term()]));
        }
    }
}

impl File {
    /// `{sendfile, Socket, {ok, Low, High} | {error, Reason}}`
    fn answer(self, port: &Context<'_>, outcome: Result<(), myriad_term::Atom>) {
        messages::send(port, self.caller, 0, |f| {
            let half = |n: u64| Term::small((n & 0xffff_ffff) as i64);
            let result = match outcome {
                Ok(()) => f.tuple(&[am::ok.term(), half(self.sent), half(self.sent >> 32)]),
                Err(reason) => f.tuple(&[am::error.term(), reason.term()]),
            };
            f.tuple(&[am::sendfile.term(), port.port.id.term(), result])
        });
    }
}

impl Tcp {
    /// The length that goes before a packet.
    fn header(&self, len: usize) -> ([u8; 4], usize) {
        let size = match self.socket.options.packet {
            1 => 1,
            2 => 2,
            3 => 4,
            _ => 0,
        };
        // As by OTP, what does not fit falls off.
        ((len as u32).to_be_bytes(), 4 - size)
    }

    /// Sends, and answers by message: at once, or when the port is less busy.
    pub(super) fn send(&mut self, port: &mut Context<'_>, sender: Pid, data: Output) {
        if self.state != State::Connected {
            let reason = self.late.send.take().unwrap_or_else(|| posix::atom(Errno::NOTCONN));
            return messages::reply(port, sender, Err(reason));
        }
        let len = data.len();
        let (length, from) = self.header(len);
        let header = &length[from..];
        self.socket.statistics.sent.count(header.len() + len);
        let waits = !self.output.queue.is_empty() || self.output.file.is_some();
        let later = waits || self.socket.options.delay_send;
        let written = match data {
            Output::One(piece) => self.send_one(header, piece, later),
            Output::Several(pieces) => self.send_several(header, pieces, later),
        };
        if let Err(errno) = written {
            return self.output_failed(port, errno, Some(sender));
        }
        if waits {
            if self.output.queue.len() >= self.socket.options.high {
                return self.wait_until_sent(port, sender);
            }
        } else if later || written == Ok(Written::Part) {
            port.again();
        } else if written == Ok(Written::Waits)
            && let Err(errno) = self.socket.wait(port)
        {
            return self.output_failed(port, errno, Some(sender));
        }
        messages::reply(port, sender, Ok(()));
    }

    /// Sends a header and a piece, or queues what does not go.
    fn send_one(&mut self, mut header: &[u8], mut piece: Piece, later: bool) -> Result<Written, Errno> {
        if !later {
            match write_two(self.socket.fd()?, header, piece.bytes()) {
                Ok(written) if written >= header.len() + piece.bytes().len() => return Ok(Written::All),
                Ok(written) => {
                    piece.skip(written.saturating_sub(header.len()));
                    header = header.get(written..).unwrap_or(&[]);
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        self.output.queue.push(Piece::Own(header.to_vec(), 0));
        self.output.queue.push(piece);
        Ok(Written::Waits)
    }

    fn send_several(&mut self, header: &[u8], pieces: Vec<Piece>, later: bool) -> Result<Written, Errno> {
        self.output.queue.push(Piece::Own(header.to_vec(), 0));
        pieces.into_iter().for_each(|piece| self.output.queue.push(piece));
        if later {
            return Ok(Written::Waits);
        }
        let more = self.write_some()?;
        Ok(if self.output.queue.is_empty() {
            Written::All
        } else if more {
            Written::Part
        } else {
            Written::Waits
        })
    }

    /// The port is busy with what this one has sent.
    fn wait_until_sent(&mut self, port: &mut Context<'_>, sender: Pid) {
        // A sender that has forced its way is answered with the one before it.
        if let Some(before) = self.output.take_waiter(port) {
            messages::reply(port, before, Ok(()));
        }
        self.output.set_busy(port, true);
        self.output.timers = self.output.timers.wrapping_add(1);
        let number = Purpose::Send.timer(self.output.timers);
        let timer = self.socket.options.send_timeout.map(|time| port.set_timer(u64::from(time), number));
        self.output.waiter = Some(Waiter { sender, timer });
    }

    pub(super) fn send_timed_out(&mut self, port: &mut Context<'_>, timer: u64) {
        if timer != Purpose::Send.timer(self.output.timers) {
            return;
        }
        let Some(sender) = self.output.take_waiter(port) else { return };
        port.timed_out();
        self.output.set_busy(port, false);
        messages::reply(port, sender, Err(am::timeout));
        if self.socket.options.send_timeout_close {
            self.shut(port);
        }
    }

    /// The socket takes output again, or it is time to try.
    pub(super) fn write_queued(&mut self, port: &mut Context<'_>) {
        match self.write_some() {
            Ok(true) => port.again(),
            Ok(false) => {
                if !self.output.queue.is_empty() || self.output.file.is_some() {
                    if let Err(errno) = self.socket.wait(port) {
                        return self.output_failed(port, errno, None);
                    }
                } else {
                    self.output.tell_empty(port);
                    if let Some(how) = self.output.shutdown.take()
                        && let Ok(fd) = self.socket.fd()
                    {
                        // Its caller has gone on; what it fails with, the next operation meets.
                        let _ = rustix::net::shutdown(fd, how);
                    }
                }
            }
            Err(errno) => return self.output_failed(port, errno, None),
        }
        if self.output.queue.len() <= self.socket.options.low && self.output.file.is_none() {
            self.output.set_busy(port, false);
            if let Some(sender) = self.output.take_waiter(port) {
                messages::reply(port, sender, Ok(()));
            }
        }
        if let Some(file) = self.output.file.take_if(|file| file.left == 0) {
            file.answer(port, Ok(()));
            self.write_queued(port);
        }
    }

    /// Writes what goes: the queue, then the file, which ends with nothing left. `true` if there is more that may go.
    fn write_some(&mut self) -> Result<bool, Errno> {
        let mut budget = BUDGET;
        let fd = self.socket.fd()?;
        let started = self.output.file.as_ref().is_some_and(|file| file.sent > 0);
        while !self.output.queue.is_empty() && !started {
            if budget == 0 {
                return Ok(true);
            }
            let slices: Vec<IoSlice<'_>> = self.output.queue.pieces().take(PIECES).map(IoSlice::new).collect();
            match rustix::io::writev(fd, &slices) {
                Ok(count) => {
                    self.output.queue.skip(count);
                    budget = budget.saturating_sub(count);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(errno) => return Err(errno),
            }
        }
        let Some(file) = &mut self.output.file else { return Ok(false) };
        while file.left > 0 {
            if budget == 0 {
                return Ok(true);
            }
            let most = file.left.min(BUDGET as u64) as usize;
            match rustix::fs::sendfile(fd, &file.fd, Some(&mut file.offset), most) {
                Ok(0) => file.left = 0,
                Ok(count) => {
                    file.left -= (count as u64).min(file.left);
                    file.sent += count as u64;
                    budget = budget.saturating_sub(count);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(errno) => return Err(errno),
            }
        }
        Ok(false)
    }

    /// The bytes that wait; if there are any, the caller is told when there are none.
    pub(super) fn subscribe(&mut self, caller: Pid, data: &[u8]) -> Answer {
        let mut out = Vec::new();
        for what in data {
            if *what != 1 {
                return Err(Refusal::BadArgument);
            }
            let queued = self.output.queue.len();
            if queued > 0 {
                self.output.subscribers.get_mut().push(caller);
            }
            out.push(*what);
            out.extend((queued as u32).to_be_bytes());
        }
        Ok(out)
    }

    /// Sends a part of a file after what is queued: the number of its descriptor in the machine's order, the offset, the length.
    pub(super) fn send_file(&mut self, port: &mut Context<'_>, caller: Pid, data: &[u8]) -> Result<(), Refusal> {
        let (number, rest) = data.split_first_chunk::<4>().ok_or(INVALID)?;
        let (offset, rest) = rest.split_first_chunk::<8>().ok_or(INVALID)?;
        let length = rest.first_chunk::<8>().filter(|_| rest.len() == 8).ok_or(INVALID)?;
        if self.state != State::Connected {
            return Err(Errno::NOTCONN.into());
        }
        if self.output.file.is_some() {
            return Err(Errno::ALREADY.into());
        }
        let number = i32::from_ne_bytes(*number);
        if number < 0 {
            return Err(Errno::BADF.into());
        }
        // SAFETY: only copied, by a call that fails if it is no open descriptor.
        let fd = rustix::io::fcntl_dupfd_cloexec(unsafe { BorrowedFd::borrow_raw(number) }, 3)?;
        let (offset, left) = (u64::from_be_bytes(*offset), u64::from_be_bytes(*length));
        self.output.file = Some(Box::new(File { fd, offset, left, sent: 0, caller }));
        self.output.set_busy(port, true);
        if self.output.queue.is_empty() {
            self.write_queued(port);
        }
        Ok(())
    }
}

fn write_two(fd: BorrowedFd<'_>, header: &[u8], data: &[u8]) -> Result<usize, Errno> {
    match (header, data) {
        ([], []) => Ok(0),
        ([], data) => rustix::io::write(fd, data),
        _ => rustix::io::writev(fd, &[IoSlice::new(header), IoSlice::new(data)]),
    }
}
