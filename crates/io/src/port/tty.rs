//! The port of an interactive terminal, `tty_sl`, to which `user_drv` gives commands: put, insert and delete text, move the
//! cursor, ring (OTP 25; later releases have `prim_tty` instead).
//!
//! It is a port on descriptors 0 and 1 (`stream.rs`) with a line (`tty/line.rs`) between the commands and the bytes. Input
//! comes unbuffered and without echo; the terminal is as it was before when the port or the VM ends.

mod line;

use self::line::{Charset, Line};
use super::driver::{Context, Driver, DriverType, Opened};
use super::options::{Settings, Target};
use super::stream::{Ends, Program, Stream};
use super::tell::Tell;
use super::{Port, System};
use crate::bytes::{Piece, Run};
use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Atom, BinaryBuffer, Pid, am};
use myriad_vm::Vm;
use rustix::termios::{InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios};

static SAVED_CLASS: LockClass = LockClass::new("terminal_modes", 395);
/// The modes that the terminal had.
static SAVED: Mutex<Option<Termios>> = Mutex::new(&SAVED_CLASS, None);

/// Ctrl-C is a character like others: the shell sees it. Set before there is a terminal.
static INTERRUPTS_ARE_INPUT: AtomicBool = AtomicBool::new(false);

pub(super) static DRIVER: DriverType = DriverType::new("tty_sl", open);

/// There is a port only where there is a terminal.
fn open(target: &Target, settings: &Settings) -> Result<Opened, Atom> {
    let (Target::Spawn(line) | Target::Driver(line)) = target else { return Err(am::badarg) };
    let terminal = Terminal::open().ok_or(am::badarg)?;
    let stream = Stream::new(settings.framing, Program::None, Ends::of_numbers(Some(0), Some(1)));
    Ok(Opened { driver: Box::new(Tty { stream, terminal: Some(terminal) }), name: line.clone(), os_pid: None })
}

/// What the first byte of a command says.
mod command {
    pub const PUT: u8 = 0;
    pub const MOVE: u8 = 1;
    pub const INSERT: u8 = 2;
    pub const DELETE: u8 = 3;
    pub const BEEP: u8 = 4;
    /// As `PUT`, and the owner is told when it is written.
    pub const PUT_SYNC: u8 = 5;
}

/// Operations of `erlang:port_control/3`: OTP adds a number of its own to each, against mistaken ports.
mod control {
    const MAGIC: u32 = 0x018b_0900;
    pub const WINDOW_SIZE: u32 = MAGIC + 100;
    pub const GET_UNICODE: u32 = MAGIC + 101;
    pub const SET_UNICODE: u32 = MAGIC + 102;
}

/// A terminal with its descriptors.
struct Tty {
    stream: Stream,
    /// Until the port is gone.
    terminal: Option<Terminal>,
}

impl Driver for Tty {
    fn start(&mut self, port: &mut Context<'_>) {
        self.stream.start(port);
    }

    fn output(&mut self, port: &mut Context<'_>, sender: Pid, data: Piece) {
        let Some(terminal) = &mut self.terminal else { return };
        let (bytes, answer) = terminal.command(data.bytes());
        let sent = self.stream.send(port, bytes);
        if answer {
            port.tell(sender, Tell::Atom(am::ok));
        }
        if let Err(errno) = sent {
            port.fail(errno);
        }
    }

    fn control(&mut self, _: &mut Context<'_>, _: Pid, operation: u32, data: &[u8]) -> Option<Vec<u8>> {
        self.terminal.as_mut()?.control(operation, data)
    }

    fn ready_input(&mut self, port: &mut Context<'_>, hung_up: bool, buffer: &mut [u8]) {
        let Some(terminal) = &mut self.terminal else { return };
        self.stream
            .take_input(port, hung_up, buffer, |bytes| Run::Owned(BinaryBuffer::from(&terminal.input(bytes)[..])));
    }

    fn ready_output(&mut self, port: &mut Context<'_>) {
        self.stream.ready_output(port);
    }

    fn moved(&mut self, port: &mut Context<'_>) {
        self.stream.moved(port);
    }

    fn flush(&mut self, port: &mut Context<'_>) {
        self.stream.flush(port);
    }

    fn stop(&mut self, port: &mut Context<'_>) {
        self.stream.stop(port);
        self.terminal = None;
    }

    fn queued(&self) -> usize {
        self.stream.queued()
    }

    fn reads_standard_input(&self) -> bool {
        true
    }
}

/// The terminal of a port.
struct Terminal {
    line: Line,
    /// The bytes of a character that has not come whole.
    partial: Vec<u8>,
}

impl Terminal {
    /// Takes the terminal over; nothing if descriptors 0 and 1 are none, or one that cannot move its cursor.
    fn open() -> Option<Terminal> {
        let (input, output) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        let kind = std::env::var_os("TERM").filter(|kind| !kind.is_empty() && kind != "dumb");
        if kind.is_none() || !rustix::termios::isatty(input) || !rustix::termios::isatty(output) {
            return None;
        }
        let before = set_modes()?;
        if SAVED.lock().replace(before).is_none() {
            // SAFETY: the function has no conditions; what it locks no thread keeps. A refusal only costs the old modes.
            unsafe { libc::atexit(at_exit) };
        }
        Some(Terminal { line: Line::new(charset_of_locale()), partial: Vec::new() })
    }

    /// The bytes for the terminal that a command leads to, and whether the owner waits for an answer.
    fn command(&mut self, bytes: &[u8]) -> (Piece, bool) {
        if let Ok(size) = rustix::termios::tcgetwinsize(rustix::stdio::stdout())
            && size.ws_col > 0
        {
            self.line.set_columns(usize::from(size.ws_col));
        }
        let (what, rest) = bytes.split_first().unwrap_or((&command::PUT, &[]));
        let text = || String::from_utf8_lossy(rest);
        let count = || rest.first_chunk().map_or(0, |bytes| i64::from(i16::from_be_bytes(*bytes)));
        match *what {
            command::PUT | command::PUT_SYNC => self.line.put(&text()),
            command::INSERT => self.line.insert(&text()),
            command::MOVE => self.line.move_by(count()),
            command::DELETE => self.line.delete(count()),
            command::BEEP => self.line.beep(),
            _ => {}
        }
        (Piece::Own(self.line.take_output(), 0), *what == command::PUT_SYNC)
    }

    /// The answer to `erlang:port_control/3`; nothing for an unknown operation.
    fn control(&mut self, operation: u32, data: &[u8]) -> Option<Vec<u8>> {
        match operation {
            control::WINDOW_SIZE => {
                let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
                let numbers = [u32::from(size.ws_col), u32::from(size.ws_row)];
                Some(numbers.iter().flat_map(|n| n.to_ne_bytes()).collect())
            }
            control::GET_UNICODE => Some(vec![u8::from(self.line.is_utf8())]),
            control::SET_UNICODE => {
                let before = self.line.is_utf8();
                self.line.set_utf8(*data.first()? != 0);
                Some(vec![u8::from(before)])
            }
            _ => None,
        }
    }

    /// Input as UTF-8, whole characters only.
    fn input(&mut self, bytes: &[u8]) -> Vec<u8> {
        if !self.line.is_utf8() {
            return bytes.iter().map(|b| char::from(*b)).collect::<String>().into_bytes();
        }
        self.partial.extend_from_slice(bytes);
        let keep = match std::str::from_utf8(&self.partial) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.partial.len(),
        };
        let rest = self.partial.split_off(keep);
        // What is no UTF-8 at all shows as such, and does not stop the shell.
        let whole = std::mem::replace(&mut self.partial, rest);
        String::from_utf8(whole).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()).into_bytes()
    }
}

/// Input comes as it is typed, and is not shown; output goes as it is written. Gives the modes before.
fn set_modes() -> Option<Termios> {
    let input = rustix::stdio::stdin();
    let before = rustix::termios::tcgetattr(input).ok()?;
    let mut modes = before.clone();
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    modes.input_modes.remove(InputModes::ICRNL | InputModes::INLCR | InputModes::ISTRIP);
    modes.output_modes.remove(OutputModes::OPOST);
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    // Relaxed: set before any terminal is opened.
    if INTERRUPTS_ARE_INPUT.load(Ordering::Relaxed) {
        // As POSIX has it for a code that is not used.
        modes.special_codes[SpecialCodeIndex::VINTR] = 0;
    }
    rustix::termios::tcsetattr(input, OptionalActions::Drain, &modes).ok()?;
    Some(before)
}

/// Ctrl-C comes to the shell as a character (`+Bc`).
pub fn interrupts_are_input() {
    // Relaxed: before there is a terminal.
    INTERRUPTS_ARE_INPUT.store(true, Ordering::Relaxed);
}

/// Runs `f` with the interactive terminal, or else the standard input, lent to it: its port, if there is one, waits.
pub fn with_terminal(vm: &Vm, f: impl FnOnce()) {
    let is_input = |port: &&Port| port.lock().driver.reads_standard_input();
    // io/PT1: the menu's thread is none of the VM's.
    let _pin = vm.progress.pin();
    let port = System::of(vm).and_then(|system| system.all().into_iter().find(is_input));
    let _held = port.as_ref().map(|port| port.lock());
    lend(f);
}

/// Lends the terminal to another user, with the modes that it had at first.
fn lend(f: impl FnOnce()) {
    let modes = SAVED.lock().clone();
    if let Some(modes) = &modes {
        // A terminal that is gone has no modes.
        let _ = rustix::termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, modes);
    }
    f();
    if modes.is_some() {
        set_modes();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

extern "C" fn at_exit() {
    restore();
}

/// Gives the terminal its modes back.
fn restore() {
    if let Some(modes) = SAVED.lock().take() {
        // A terminal that is gone has no modes.
        let _ = rustix::termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, &modes);
    }
}

/// What the locale's encoding holds.
fn charset_of_locale() -> Charset {
    let name = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|v| std::env::var(v).ok().filter(|v| !v.is_empty()));
    let name = name.unwrap_or_default().to_ascii_lowercase();
    if name.contains("utf-8") || name.contains("utf8") {
        Charset::Utf8
    } else if matches!(&*name, "" | "c" | "posix") {
        Charset::Ascii
    } else {
        Charset::Latin1
    }
}
