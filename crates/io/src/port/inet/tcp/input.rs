//! What a stream receives: read when somebody wants it, cut into packets, delivered.
//!
//! What is delivered as it comes is parsed where it was read. Only what is not wanted yet, and the beginning of a packet, is kept
//! ([`Input::pending`]); the rest of a large packet is read to where it stays, and no room is taken for it before it comes, but for [`AHEAD`].

use super::super::super::driver::Context;
use super::super::super::poll;
use super::super::super::sender::Direct;
use super::super::options::{Active, Deliver, Options};
use super::super::{Answer, Asked, INVALID, Purpose, Refusal, messages};
use super::{State, Tcp, time_of};
use crate::bytes::read_onto;
use myriad_heap::Draft;
use myriad_process::Payload;
use myriad_term::binary::HEAP_BINARY_LIMIT;
use myriad_term::packet::{self, Format, Frame};
use myriad_term::{BinaryBuffer, Build, Pid, Term, TermRef, am};
use rustix::io::Errno;
use std::ops::Range;

/// Room that is taken ahead for a packet.
const AHEAD: usize = 1 << 20;
/// The rest of a packet is read into its own memory if it is so large.
const LARGE: usize = 16 << 10;
/// As much as is read of what has no known end.
const READ: usize = 64 << 10;
/// Bytes that are read before the port gives way.
const BUDGET: usize = 1 << 20;
/// OTP's limit of what can be asked for at once.
const MOST: u32 = 1 << 26;

/// Who waits for input.
pub(super) struct Receive {
    pub(super) asked: Asked,
    /// So many bytes; 0: a packet, or what there is.
    length: usize,
}

/// The receiving side.
#[derive(Default)]
pub(super) struct Input {
    /// What was read and not delivered; the part before `start` is used up.
    pending: BinaryBuffer,
    start: usize,
    pub(super) receive: Option<Receive>,
    /// The next line of HTTP is one of a header.
    pub(super) in_header: bool,
    /// The end was told: nothing is read until somebody asks again.
    pub(super) ended: bool,
    /// The last read gave much.
    much: bool,
}

impl Input {
    pub(super) fn clear(&mut self) {
        (self.pending, self.start) = (BinaryBuffer::new(), 0);
        self.in_header = false;
    }

    pub(super) fn memory(&self) -> usize {
        self.pending.capacity()
    }

    fn bytes(&self) -> &[u8] {
        self.pending.get(self.start..).unwrap_or(&[])
    }

    /// Forgets the first `used` bytes.
    fn skip(&mut self, used: usize) {
        self.start += used;
        if self.start >= self.pending.len() {
            (self.pending, self.start) = (BinaryBuffer::new(), 0);
        } else if self.start > self.pending.len() / 2 {
            self.pending.skip(self.start);
            self.start = 0;
        }
    }
}

/// The bytes of a packet.
enum Body<'a> {
    Borrowed(&'a [u8]),
    /// A part of memory that it can keep.
    Owned(BinaryBuffer, Range<usize>),
}

impl Body<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Body::Borrowed(bytes) => bytes,
            Body::Owned(bytes, range) => bytes.get(range.clone()).unwrap_or(&[]),
        }
    }

    /// As a binary, without copying what it owns.
    fn binary<'b>(self, f: &mut Draft<'b>) -> TermRef<'b> {
        match self {
            Body::Owned(mut bytes, range) if range.len() > HEAP_BINARY_LIMIT => {
                bytes.truncate(range.end);
                let whole = f.shared_binary(bytes.into_shared());
                if range.start == 0 { whole } else { f.sub_binary(whole, range.start * 8, range.len() * 8) }
            }
            other => f.binary(other.bytes()),
        }
    }

    /// As the owner wants data: a list, or a binary after a list of the header's bytes.
    fn data<'b>(self, f: &mut Draft<'b>, options: &Options) -> TermRef<'b> {
        match options.split(self.bytes().len()) {
            (0, true) => self.binary(f),
            (listed, binary) => {
                let (header, rest) = self.bytes().split_at(listed);
                let tail = if binary { f.binary(rest) } else { Term::NIL };
                f.byte_list(header, tail)
            }
        }
    }
}

impl Tcp {
    /// A request to receive; its answer comes by message.
    pub(super) fn receive(&mut self, port: &mut Context<'_>, caller: Pid, data: &[u8]) -> Answer {
        if self.state != State::Connected {
            let Some(reason) = self.late.receive.take() else { return Err(Errno::NOTCONN.into()) };
            let number = self.socket.next_number();
            messages::answer(port, caller, number, Err(reason));
            return Ok(number.to_be_bytes().to_vec());
        }
        let (time, rest) = time_of(data)?;
        // As by OTP, what is negative asks for what there is.
        let length = i32::from_be_bytes(*rest.first_chunk::<4>().ok_or(INVALID)?).max(0) as u32;
        if rest.len() != 4 {
            return Err(INVALID);
        }
        self.may_receive(length)?;
        let number = self.socket.next_number();
        let asked = Asked::without_timer(caller, number);
        self.input.receive = Some(Receive { asked, length: length as usize });
        self.input.ended = false;
        self.pump(port);
        // Nothing is there: it is waited for.
        match time {
            Some(0) => {
                if let Some(receive) = self.input.receive.take() {
                    receive.asked.answer(port, Err(am::timeout));
                }
            }
            Some(time) => {
                if let Some(receive) = &mut self.input.receive {
                    receive.asked.set_timer(port, time, Purpose::Receive);
                }
            }
            None => {}
        }
        Ok(number.to_be_bytes().to_vec())
    }

    /// May a connection be asked for so many bytes now?
    fn may_receive(&self, length: u32) -> Result<(), Refusal> {
        if self.socket.options.active != Active::No {
            Err(INVALID)
        } else if length > MOST {
            Err(Errno::NOMEM.into())
        } else if length > 0 && self.socket.options.format(false) != Format::Raw {
            Err(INVALID)
        } else if self.input.receive.is_some() {
            Err(Errno::ALREADY.into())
        } else {
            Ok(())
        }
    }

    /// [`Driver::receive_at_once`](super::Driver::receive_at_once): what is read and is not enough stays, for the request by message that follows.
    pub(super) fn receive_now(&mut self, port: &mut Context<'_>, caller: Pid, length: u32) -> Option<Payload> {
        let may_be_there = self.socket.readable || !self.input.bytes().is_empty();
        if self.state != State::Connected || !may_be_there || self.may_receive(length).is_err() {
            return None;
        }
        self.input.receive = Some(Receive { asked: Asked::by_call(caller), length: length as usize });
        self.input.ended = false;
        self.pump(port);
        self.input.receive = None;
        match port.common.direct.take() {
            Some(Direct::Receive(payload)) => Some(payload),
            _ => None,
        }
    }

    /// Bytes that are put back, before those that come.
    pub(super) fn unreceive(&mut self, port: &mut Context<'_>, data: &[u8]) -> Result<(), Refusal> {
        if self.state != State::Connected {
            return Err(Errno::NOTCONN.into());
        }
        let rest = self.input.bytes();
        let mut pending = BinaryBuffer::from(data);
        pending.extend_from_slice(rest);
        self.input.pending = pending;
        self.input.start = 0;
        self.pump(port);
        Ok(())
    }

    fn wants_input(&self, port: &Context<'_>) -> bool {
        let wanted = self.socket.options.active != Active::No || self.input.receive.is_some();
        wanted && self.state == State::Connected && !self.input.ended && port.is_open()
    }

    /// Delivers what is there, as far as it is wanted.
    pub(super) fn pump(&mut self, port: &mut Context<'_>) {
        if !self.wants_input(port) {
            return;
        }
        if self.socket.readable {
            return poll::with_buffer(|buffer| self.pump_with(port, buffer));
        }
        self.pump_with(port, &mut []);
    }

    /// As `pump`, with a buffer for the time of the call; without one, nothing is read.
    pub(super) fn pump_with(&mut self, port: &mut Context<'_>, buffer: &mut [u8]) {
        let mut budget = BUDGET;
        while self.wants_input(port) {
            let more = match self.deliver_pending(port) {
                Ok(more) => more,
                Err(Invalid) => return self.input_over(port, Some(Errno::MSGSIZE)),
            };
            if !self.wants_input(port) {
                return;
            }
            if !self.socket.readable || buffer.is_empty() {
                if let Err(errno) = self.socket.wait(port) {
                    self.input_over(port, Some(errno));
                }
                return;
            }
            if budget == 0 {
                return port.again();
            }
            match self.read(port, more, buffer) {
                Ok(0) => self.input_over(port, None),
                Ok(count) => budget = budget.saturating_sub(count),
                Err(Errno::AGAIN) => self.socket.readable = false,
                Err(Errno::INTR) => {}
                Err(errno) => return self.input_over(port, Some(errno)),
            }
        }
    }

    /// The first packet of these bytes, if all of it is there.
    fn frame(&self, bytes: &[u8]) -> Frame {
        let format = self.socket.options.format(self.input.in_header);
        match &self.input.receive {
            Some(receive) if receive.length > 0 && format == Format::Raw => {
                if bytes.len() < receive.length {
                    Frame::More(Some(receive.length))
                } else {
                    Frame::Packet(0..receive.length, receive.length)
                }
            }
            _ => packet::first(bytes, format, &self.socket.options.limits()),
        }
    }

    /// Delivers packets of these bytes while they are wanted: gives how many bytes were used, and how many the next packet has, if that is known.
    fn deliver_all(&mut self, port: &mut Context<'_>, bytes: &[u8]) -> Result<(usize, Option<usize>), Invalid> {
        let mut used = 0;
        while self.wants_input(port) {
            let rest = bytes.get(used..).unwrap_or(&[]);
            match self.frame(rest) {
                Frame::Packet(range, next) => {
                    self.deliver(port, Body::Borrowed(rest.get(range).unwrap_or(&[])), next);
                    used += next;
                }
                Frame::More(total) => return Ok((used, total)),
                Frame::Invalid => return Err(Invalid),
            }
        }
        Ok((used, None))
    }

    /// As `deliver_all`, of what is kept.
    fn deliver_pending(&mut self, port: &mut Context<'_>) -> Result<Option<usize>, Invalid> {
        if self.input.bytes().len() > LARGE
            && let Frame::Packet(range, next) = self.frame(self.input.bytes())
            && self.input.start + next == self.input.pending.len()
        {
            // All of it: the memory goes with the packet.
            let start = std::mem::take(&mut self.input.start);
            let bytes = std::mem::take(&mut self.input.pending);
            self.deliver(port, Body::Owned(bytes, start + range.start..start + range.end), next);
            return Ok(None);
        }
        let (pending, start) = (std::mem::take(&mut self.input.pending), std::mem::take(&mut self.input.start));
        let delivered = self.deliver_all(port, pending.get(start..).unwrap_or(&[]));
        (self.input.pending, self.input.start) = (pending, start);
        let (used, more) = delivered?;
        self.input.skip(used);
        Ok(more)
    }

    /// Reads once, and delivers or keeps what has come; gives how many bytes. `more`: the size of the packet that has begun, if that is known.
    fn read(&mut self, port: &mut Context<'_>, more: Option<usize>, buffer: &mut [u8]) -> Result<usize, Errno> {
        let wanted = more.map_or(0, |total| total.saturating_sub(self.input.bytes().len()));
        let is_raw = self.socket.options.format(false) == Format::Raw;
        let options = &self.socket.options;
        let most = if is_raw && options.is_buffer_set && more.is_none() { options.buffer } else { READ };
        let fd = self.socket.fd()?;
        let (asked, count) = if wanted >= LARGE {
            self.input.pending.reserve(wanted.min(AHEAD));
            let room = self.input.pending.capacity() - self.input.pending.len();
            let asked = wanted.min(room);
            (asked, read_onto(fd, &mut self.input.pending, asked)?)
        } else if is_raw && more.is_none() && self.input.much && self.input.pending.is_empty() {
            let mut whole = BinaryBuffer::with_capacity(most);
            let count = read_onto(fd, &mut whole, most)?;
            self.input.much = count > most / 2;
            self.note_read(most, count);
            if count > 0 {
                self.deliver(port, Body::Owned(whole.shrunk(), 0..count), count);
            }
            return Ok(count);
        } else {
            let asked = most.min(buffer.len());
            let count = rustix::io::read(fd, &mut buffer[..asked])?;
            self.input.much = count > asked / 2;
            self.note_read(asked, count);
            let bytes = &buffer[..count];
            if !self.input.pending.is_empty() {
                self.input.pending.extend_from_slice(bytes);
                return Ok(count);
            }
            match self.deliver_all(port, bytes) {
                Ok((used, _)) if self.state == State::Connected => {
                    self.input.pending = BinaryBuffer::from(bytes.get(used..).unwrap_or(&[]));
                }
                Ok(_) => {}
                Err(Invalid) => return Err(Errno::MSGSIZE),
            }
            return Ok(count);
        };
        self.note_read(asked, count);
        Ok(count)
    }

    /// A read that does not give all that it could leaves nothing, but perhaps the end.
    fn note_read(&mut self, asked: usize, count: usize) {
        self.socket.readable = count == asked || count == 0 || self.socket.hung_up;
    }

    /// Gives a packet, which takes `size` bytes of the stream, to who waits for it, or to the owner.
    fn deliver(&mut self, port: &mut Context<'_>, body: Body<'_>, size: usize) {
        let count = body.bytes().len();
        self.socket.statistics.received.count(size);
        let format = self.socket.options.format(self.input.in_header);
        let words = if self.socket.options.binary { 2 * self.socket.options.header.min(count) } else { 2 * count };
        let id = port.port.id.term();
        let mut is_line = true;
        let ends_header = matches!(body.bytes(), b"\n" | b"\r\n");
        if let Some(receive) = self.input.receive.take() {
            let options = &self.socket.options;
            receive.asked.answer_with(port, words, |f| {
                let data = match format {
                    Format::Http(_) => {
                        let line = http(f, body.bytes(), format, options);
                        is_line = line.is_some();
                        line.unwrap_or_else(|| http_error(f, body.bytes(), options))
                    }
                    Format::Tls => tls(f, body.bytes(), id),
                    _ => body.data(f, options),
                };
                f.tuple(&[am::ok.term(), data])
            });
        } else {
            let options = &self.socket.options;
            messages::send(port, port.owner(), words, |f| match (format, options.deliver) {
                (Format::Http(_), _) => {
                    let line = http(f, body.bytes(), format, options);
                    is_line = line.is_some();
                    let line = line.unwrap_or_else(|| http_error(f, body.bytes(), options));
                    f.tuple(&[am::http.term(), id, line])
                }
                (Format::Tls, _) => tls(f, body.bytes(), id),
                (_, Deliver::Term) => {
                    let data = body.data(f, options);
                    f.tuple(&[am::tcp.term(), id, data])
                }
                (_, Deliver::Port) => {
                    let data = body.data(f, options);
                    let data = f.tuple(&[am::data.term(), data]);
                    f.tuple(&[id, data])
                }
            });
            if self.socket.options.one_delivered() {
                messages::tell(port, am::tcp_passive);
            }
        }
        if self.socket.options.http_alternates() && is_line {
            self.input.in_header = !(self.input.in_header && ends_header);
        }
    }
}

/// What comes is no packet, or one that is too large.
struct Invalid;

/// The term of a line of HTTP; nothing if it is none.
fn http<'b>(f: &mut Draft<'b>, bytes: &[u8], format: Format, options: &Options) -> Option<TermRef<'b>> {
    let Format::Http(line) = format else { return None };
    let term = packet::line_term(f, bytes, line, options.http_binaries()).ok()?;
    let is_error = term.as_tuple_of::<2>().is_some_and(|[tag, _]| tag.is_am(am::http_error));
    (!is_error).then_some(term)
}

fn http_error<'b>(f: &mut Draft<'b>, bytes: &[u8], options: &Options) -> TermRef<'b> {
    let line = if options.http_binaries() { f.binary(bytes) } else { f.byte_list(bytes, Term::NIL) };
    f.tuple(&[am::http_error.term(), line])
}

/// `{ssl_tls, Socket, Type, Version, Data}`
fn tls<'b>(f: &mut Draft<'b>, bytes: &[u8], id: TermRef<'b>) -> TermRef<'b> {
    let [kind, version, data] = packet::tls_record(f, bytes);
    f.tuple(&[am::ssl_tls.term(), id, kind, version, data])
}
