//! Ports on file descriptors: those of started programs, and those that the VM was started with (`{fd, In, Out}`).
//!
//! Descriptors that the VM was started with may be shared with other programs, so that they must not be made non-blocking:
//! they are only used when `poll` says that they are ready, and then for no more than they take without waiting.

use super::driver::{Context, Driver, DriverType, Opened};
use super::framing::{Frame, Framing, Reader};
use super::options::{Settings, Target};
use super::poll::{Side, Watch};
use super::spawn;
use super::tell::Tell;
use crate::bytes::{APART, ByteQueue, Piece, Run, read_onto};
use crate::posix;
use myriad_term::{Atom, BinaryBuffer, Pid, am};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Ports on started programs.
pub(super) static PROGRAM: DriverType = DriverType {
    open_blocks: true,
    description: "Port controls external process",
    ..DriverType::new("spawn", open_program)
};
/// Ports on files, by their names.
pub(super) static FILE: DriverType =
    DriverType { open_blocks: true, description: OF_DESCRIPTORS, ..DriverType::new("vanilla", open_file) };
/// Ports on descriptors that the VM was started with.
pub(super) static DESCRIPTORS: DriverType =
    DriverType { description: OF_DESCRIPTORS, apart: Some(APART), ..DriverType::new("fd", open_descriptors) };

const OF_DESCRIPTORS: &str = "Port is UNIX fd not opened by emulator";

fn open_program(target: &Target, settings: &Settings) -> Result<Opened, Atom> {
    let (Target::Spawn(text) | Target::Executable(text)) = target else { return Err(am::badarg) };
    let started = spawn::start(target, settings).map_err(posix::atom)?;
    let program = match started.process {
        Err(status) if settings.exit_status => Program::Ended(status),
        Ok(_) if settings.exit_status => Program::Running,
        _ => Program::None,
    };
    let driver = Box::new(Stream::new(settings.framing, program, started.ends));
    Ok(Opened { driver, name: text.clone(), os_pid: started.process.ok() })
}

fn open_file(target: &Target, settings: &Settings) -> Result<Opened, Atom> {
    let Target::File(name) = target else { return Err(am::badarg) };
    let ends = Ends::of_file(name, settings.input, settings.output).map_err(|_| am::einval)?;
    let driver = Box::new(Stream::new(settings.framing, Program::None, ends));
    Ok(Opened { driver, name: name.clone(), os_pid: None })
}

fn open_descriptors(target: &Target, settings: &Settings) -> Result<Opened, Atom> {
    let Target::Fd(input, output) = target else { return Err(am::badarg) };
    if *input < 0 || *output < 0 {
        return Err(am::einval);
    }
    let ends = Ends::of_numbers(settings.input.then_some(*input), settings.output.then_some(*output));
    let driver = Box::new(Stream::new(settings.framing, Program::None, ends));
    Ok(Opened { driver, name: format!("{input}/{output}").into_bytes(), os_pid: None })
}

/// Written in one go where a process calls; the rest is written by the I/O thread.
const DIRECT: usize = 64 << 10;
/// Written in one go by the I/O thread.
const STEP: usize = 256 << 10;
/// Bytes that a blocking pipe takes if it is ready.
const PIPE_BUF: usize = 4096;
/// Bytes that a terminal takes if it is ready.
const TTY_BUF: usize = 256;
/// Most pieces of one system call.
const PIECES: usize = 64;

/// How a descriptor can be written to without waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// It never waits, or says that it would.
    NonBlocking,
    /// A socket in blocking mode.
    Socket,
    /// Takes this number of bytes when `poll` says that it is ready.
    Polled(usize),
}

/// Where output goes.
struct Sink {
    watch: Watch,
    kind: Kind,
    queue: ByteQueue,
    /// The I/O thread has been asked to write the rest.
    armed: bool,
}

/// Whether a program has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Program {
    /// There is none, or its end is of no interest.
    None,
    /// It runs, and its exit status is wanted.
    Running,
    /// It has ended so.
    Ended(i32),
}

/// The descriptors of a port.
pub(super) struct Stream {
    source: Option<Watch>,
    sink: Option<Sink>,
    framing: Framing,
    reader: Reader,
    program: Program,
    /// The input has ended, but not the program.
    ended: bool,
    /// The last read gave much.
    much: bool,
    /// How much it could have given.
    asked: usize,
    /// The input may be read by others too (the break menu, other programs): what was announced may be gone, and a read that waits would hold the
    /// port and its thread.
    is_shared: bool,
}

/// Descriptors for a port that is not made yet.
pub(super) struct Ends {
    /// To read from.
    pub(super) input: Option<OwnedFd>,
    /// To write to.
    pub(super) output: Option<OwnedFd>,
}

impl Ends {
    /// Copies of descriptors that the VM was started with; one that is not open is left out.
    pub(super) fn of_numbers(input: Option<i64>, output: Option<i64>) -> Ends {
        let copy = |number: Option<i64>, write: bool| {
            let number = number.and_then(|n| i32::try_from(n).ok()).filter(|n| *n >= 0)?;
            // SAFETY: only copied, by a call that fails if it is no open descriptor.
            let fd = unsafe { BorrowedFd::borrow_raw(number) };
            let copy = rustix::io::fcntl_dupfd_cloexec(fd, 10).ok()?;
            Some(if write { reopened_terminal(&copy).unwrap_or(copy) } else { copy })
        };
        Ends { input: copy(input, false), output: copy(output, true) }
    }
}

impl Ends {
    /// A file (a named pipe, a device) opened for reading, writing or both.
    pub(super) fn of_file(name: &[u8], input: bool, output: bool) -> Result<Ends, Errno> {
        let way = match (input, output) {
            (true, false) => OFlags::RDONLY,
            (false, true) => OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC,
            _ => OFlags::RDWR | OFlags::CREATE,
        };
        let flags = way | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(name, flags, Mode::from_raw_mode(0o666))?;
        let copy = if input && output { Some(rustix::io::fcntl_dupfd_cloexec(&fd, 10)?) } else { None };
        Ok(if input { Ends { input: Some(fd), output: copy } } else { Ends { input: None, output: Some(fd) } })
    }
}

/// A terminal opened anew, so that it can be non-blocking for us alone.
fn reopened_terminal(fd: &OwnedFd) -> Option<OwnedFd> {
    if !rustix::termios::isatty(fd) {
        return None;
    }
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open(format!("/proc/self/fd/{}", fd.as_raw_fd()), flags, Mode::empty()).ok()
}

fn kind_of(fd: BorrowedFd<'_>) -> Kind {
    if rustix::fs::fcntl_getfl(fd).is_ok_and(|f| f.contains(OFlags::NONBLOCK)) {
        return Kind::NonBlocking;
    }
    match rustix::fs::fstat(fd).map(|s| FileType::from_raw_mode(s.st_mode)) {
        Ok(FileType::RegularFile) => Kind::NonBlocking,
        Ok(FileType::Socket) => Kind::Socket,
        _ if rustix::termios::isatty(fd) => Kind::Polled(TTY_BUF),
        _ => Kind::Polled(PIPE_BUF),
    }
}

fn is_ready(fd: BorrowedFd<'_>, to: PollFlags) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut [PollFd::from_borrowed_fd(fd, to)], Some(&now)), Ok(n) if n > 0)
}

impl Sink {
    /// Writes what goes without waiting, at most `limit` bytes.
    fn write_some(&mut self, limit: usize) -> Result<(), Errno> {
        let mut left = limit;
        while left > 0 && !self.queue.is_empty() {
            let fd = self.watch.fd();
            let written = match self.kind {
                Kind::NonBlocking => {
                    let slices: Vec<IoSlice<'_>> = self.queue.pieces().take(PIECES).map(IoSlice::new).collect();
                    rustix::io::writev(fd, &slices)
                }
                Kind::Socket => send(fd, self.queue.front()),
                Kind::Polled(_) if !is_ready(fd, PollFlags::OUT) => Err(Errno::AGAIN),
                Kind::Polled(step) => {
                    let front = self.queue.front();
                    rustix::io::write(fd, &front[..front.len().min(step)])
                }
            };
            match written {
                Ok(n) => {
                    self.queue.skip(n);
                    left = left.saturating_sub(n.max(1));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    fn arm(&mut self, port: &Context<'_>) -> Result<(), Errno> {
        if self.queue.is_empty() || self.armed {
            return Ok(());
        }
        self.armed = true;
        port.arm(&mut self.watch)
    }
}

/// Sends to a socket without waiting, and without a signal if the other end is closed.
fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the bytes are live and as many as said.
    let sent = unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).map_err(|_| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

impl Stream {
    /// On these descriptors.
    pub(super) fn new(framing: Framing, program: Program, ends: Ends) -> Stream {
        let sink = ends.output.map(|fd| {
            let kind = kind_of(fd.as_fd());
            Sink { watch: Watch::new(fd, Side::Output), kind, queue: ByteQueue::default(), armed: false }
        });
        let mut is_shared = false;
        let source = ends.input.map(|fd| {
            let is_pipe = rustix::fs::fstat(&fd).is_ok_and(|s| FileType::from_raw_mode(s.st_mode) == FileType::Fifo);
            let own = rustix::fs::fcntl_getfl(&fd).is_ok_and(|f| f.contains(OFlags::NONBLOCK));
            is_shared = !own;
            if is_pipe && own { Watch::of_pipe(fd) } else { Watch::new(fd, Side::Input) }
        });
        let reader = Reader::new(framing);
        Stream { source, sink, framing, reader, program, ended: false, much: false, asked: 0, is_shared }
    }

    fn stop_input(&mut self, port: &Context<'_>) {
        if let Some(source) = self.source.take() {
            source.close(&port.system.poll.pollers);
        }
    }

    /// Writes bytes, or queues what does not go without waiting.
    pub(super) fn send(&mut self, port: &Context<'_>, mut data: Piece) -> Result<(), Errno> {
        let header = self.framing.header(data.bytes().len()).ok_or(Errno::INVAL)?;
        let mut header = header.bytes();
        let sink = self.sink.as_mut().ok_or(Errno::BADF)?;
        let at_once = sink.queue.is_empty();
        if at_once && sink.kind == Kind::NonBlocking {
            let all = header.len() + data.bytes().len();
            match write_two(sink.watch.fd(), header, data.bytes()) {
                Ok(written) if written >= all => return Ok(()),
                Ok(written) => {
                    data.skip(written.saturating_sub(header.len()));
                    header = header.get(written..).unwrap_or(&[]);
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        sink.queue.push(Piece::Own(header.to_vec(), 0));
        sink.queue.push(data);
        if at_once && sink.kind != Kind::NonBlocking {
            sink.write_some(DIRECT)?;
        }
        sink.arm(port)
    }
}

fn write_two(fd: BorrowedFd<'_>, header: &[u8], data: &[u8]) -> Result<usize, Errno> {
    match (header, data) {
        ([], []) => Ok(0),
        ([], data) => rustix::io::write(fd, data),
        _ => rustix::io::writev(fd, &[IoSlice::new(header), IoSlice::new(data)]),
    }
}

/// What one read has given.
enum Input {
    /// Bytes in memory of their own, for the owner as they are.
    Whole(BinaryBuffer),
    /// This number of bytes more of a large packet, where they belong.
    Packet(usize),
    /// This number of bytes, in the buffer.
    Bytes(usize),
}

impl Stream {
    /// Reads what is there, if there is something to read from. [`Stream::asked`] is then how much there could have been.
    fn read(&mut self, buffer: &mut [u8]) -> Option<Result<Input, Errno>> {
        let fd = self.source.as_ref()?.fd();
        self.asked = buffer.len();
        if self.is_shared && !is_ready(fd, PollFlags::IN) {
            return Some(Err(Errno::AGAIN));
        }
        // What goes to the owner as it comes is read into the memory that it is sent in, if there is likely to be much.
        let read = if self.much && self.framing == Framing::Stream {
            let mut whole = BinaryBuffer::with_capacity(buffer.len());
            let read = read_onto(fd, &mut whole, buffer.len());
            self.much = whole.len() >= buffer.len() / 2;
            read.map(|_| Input::Whole(whole.shrunk()))
        } else if let Some((packet, wanted)) = self.reader.large_packet() {
            self.asked = wanted.min(packet.capacity() - packet.len());
            read_onto(fd, packet, wanted).map(Input::Packet)
        } else {
            let read = rustix::io::read(fd, &mut *buffer);
            self.much = read.is_ok_and(|n| n >= buffer.len() / 2);
            read.map(Input::Bytes)
        };
        Some(read)
    }
}

fn deliver(port: &Context<'_>, frame: Frame<'_>) {
    port.tell_owner(match frame {
        Frame::Data(bytes) => Tell::Data(bytes),
        Frame::Line(bytes) => Tell::Line(bytes),
        Frame::PartOfLine(bytes) => Tell::PartOfLine(bytes),
    });
}

impl Stream {
    /// There is input (or its end; `hung_up`: the end is known to be there after it). Bytes that are not read where they belong go through
    /// `filter` first.
    pub(super) fn take_input<'b>(
        &mut self,
        port: &mut Context<'_>,
        hung_up: bool,
        buffer: &'b mut [u8],
        filter: impl FnOnce(&'b [u8]) -> Run<'b>,
    ) {
        // Counted before the owner gets them; a packet without its header.
        let is_packets = matches!(self.framing, Framing::Packet(_));
        let read = match self.read(buffer) {
            Some(Ok(Input::Whole(bytes))) => {
                let n = bytes.len();
                port.count_input(n);
                if n > 0 {
                    deliver(port, Frame::Data(Run::Owned(bytes)));
                }
                Ok(n)
            }
            Some(Ok(Input::Packet(n))) => {
                if let Some(Frame::Data(packet)) = self.reader.whole_packet() {
                    port.count_input(packet.len());
                    deliver(port, Frame::Data(packet));
                }
                Ok(n)
            }
            Some(Ok(Input::Bytes(n))) => {
                let bytes = filter(&buffer[..n]);
                if !is_packets {
                    port.count_input(n);
                }
                self.reader.feed(&bytes, |frame| {
                    if let Frame::Data(packet) = &frame
                        && is_packets
                    {
                        port.count_input(packet.len());
                    }
                    deliver(port, frame);
                });
                Ok(n)
            }
            Some(Err(errno)) => Err(errno),
            None => return,
        };
        let all_read = match read {
            Ok(0) => {
                self.stop_input(port);
                self.ended = true;
                return self.end_if_over(port);
            }
            Ok(n) => n < self.asked,
            Err(errno @ (Errno::AGAIN | Errno::INTR)) => errno == Errno::AGAIN,
            Err(errno) => return port.fail(errno),
        };
        let Some(source) = &mut self.source else { return };
        // The end that was reported with the last bytes is not reported again.
        if all_read && !hung_up && source.tells_by_itself() {
            return;
        }
        if let Err(errno) = port.arm(source) {
            port.fail(errno);
        }
    }

    /// The port is over when its input has ended, and the program too if its exit status is wanted.
    fn end_if_over(&mut self, port: &mut Context<'_>) {
        if !self.ended || !port.is_open() || self.program == Program::Running {
            return;
        }
        // A line without an end comes after the status, as from OTP.
        let rest = self.reader.finish();
        if let Program::Ended(status) = self.program {
            port.tell_owner(Tell::ExitStatus(status));
        }
        if let Some(frame) = rest {
            deliver(port, frame);
        }
        if port.port.eof {
            port.tell_owner(Tell::Atom(am::eof));
        } else {
            port.exit(am::normal);
        }
    }
}

impl Driver for Stream {
    fn start(&mut self, port: &mut Context<'_>) {
        if let Some(source) = &mut self.source
            && port.arm(source).is_err()
        {
            self.stop_input(port);
        }
    }

    fn output(&mut self, port: &mut Context<'_>, _: Pid, data: Piece) {
        if let Err(errno) = self.send(port, data) {
            port.fail(errno);
        }
    }

    fn ready_input(&mut self, port: &mut Context<'_>, hung_up: bool, buffer: &mut [u8]) {
        self.take_input(port, hung_up, buffer, Run::Borrowed);
    }

    fn ready_output(&mut self, port: &mut Context<'_>) {
        let Some(sink) = &mut self.sink else { return };
        sink.armed = false;
        if let Err(errno) = sink.write_some(STEP).and_then(|()| sink.arm(port)) {
            port.fail(errno);
        }
    }

    fn moved(&mut self, port: &mut Context<'_>) {
        if let Some(source) = &mut self.source {
            port.follow(source);
        }
    }

    fn program_ended(&mut self, port: &mut Context<'_>, status: i32) {
        if self.program == Program::Running {
            self.program = Program::Ended(status);
            self.end_if_over(port);
        }
    }

    fn flush(&mut self, port: &mut Context<'_>) {
        if !port.is_open() {
            self.stop_input(port);
        }
    }

    fn stop(&mut self, port: &mut Context<'_>) {
        self.stop_input(port);
        if let Some(sink) = self.sink.take() {
            sink.watch.close(&port.system.poll.pollers);
        }
    }

    fn queued(&self) -> usize {
        self.sink.as_ref().map_or(0, |sink| sink.queue.len())
    }

    fn reads_standard_input(&self) -> bool {
        let file = |fd: BorrowedFd<'_>| rustix::fs::fstat(fd).ok().map(|stat| (stat.st_dev, stat.st_ino));
        self.source.as_ref().is_some_and(|watch| file(watch.fd()) == file(rustix::stdio::stdin()))
    }
}
