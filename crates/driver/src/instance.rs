//! A driver's instance behind one port: how the VM calls the driver.

use crate::abi::{Data, Entry, Event, Handle, IoSlice, IoVector, Monitor, flag, mode, refusal};
use crate::binary::Binary;
use crate::call::enter;
use crate::data_lock::OfPort;
use crate::events::Events;
use crate::library::InUse;
use crate::queue::Shared;
use myriad_io::bytes::{Output, Piece};
use myriad_io::port::driver::{Context, Driver};
use myriad_io::port::framing::{Framing, Reader};
use myriad_io::port::linked_in::{Settings, SharedLock};
use myriad_io::posix;
use myriad_process::TimerId;
use myriad_sync::Arc;
use myriad_term::{Atom, BinaryBuffer, Pid, am};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::ptr::{NonNull, null_mut};

/// Room that `control` is given for its answer.
const CONTROL_ROOM: usize = 64;
/// Room that `call` is given for its answer.
const CALL_ROOM: usize = 256;

/// Where an instance stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    /// `start` has not returned.
    New,
    Started,
    Stopped,
}

/// A timer that runs.
struct Timer {
    id: TimerId,
    number: u64,
    ends_ns: u64,
}

/// See the module.
pub struct Instance {
    /// The driver, which stays as long as it is in use.
    pub(crate) library: InUse,
    pub(crate) entry: Entry,
    data: Data,
    life: Life,
    command: CString,
    /// What cuts its output in lines, if the port was asked for them.
    pub(crate) lines: Option<Reader>,
    pub(crate) is_binary: bool,
    pub(crate) queue: Arc<Shared>,
    pub(crate) data_lock: Option<OfPort>,
    pub(crate) events: Events,
    timer: Option<Timer>,
    timers: u64,
    /// The processes that it monitors, by the serial numbers of the monitors.
    pub(crate) monitors: HashMap<u64, Pid>,
    /// The process whose request it serves.
    pub(crate) caller: Option<Pid>,
    /// Are answers of `control` binaries (`set_port_control_flags`)?
    pub(crate) control_flags: c_int,
    /// Is this one?
    answer_is_binary: bool,
}

// SAFETY: the driver's data are the driver's, which uses them under the port's lock or its own (ABI1).
unsafe impl Send for Instance {}

impl Instance {
    /// One that has not begun.
    pub(crate) fn new(library: InUse, command: &[u8], settings: &Settings) -> Instance {
        let lines = match settings.framing() {
            Framing::Line(limit) => Some(Reader::new(Framing::Line(limit))),
            _ => None,
        };
        Instance {
            entry: library.entry(),
            library,
            data: Data(null_mut()),
            life: Life::New,
            command: CString::new(command).unwrap_or_default(),
            lines,
            is_binary: settings.is_binary(),
            queue: Shared::new(),
            data_lock: None,
            events: Events::default(),
            timer: None,
            timers: 0,
            monitors: HashMap::new(),
            caller: None,
            control_flags: 0,
            answer_is_binary: false,
        }
    }

    /// One that the driver itself has made, with its data.
    pub(crate) fn started(library: InUse, data: Data, settings: &Settings) -> Instance {
        Instance { data, life: Life::Started, ..Instance::new(library, b"", settings) }
    }

    /// The driver has begun after all, with these data.
    pub(crate) fn set_data(&mut self, data: Data) {
        self.data = data;
    }

    /// Do all ports of the driver share a lock?
    pub(crate) fn shares_lock(&self) -> bool {
        !self.entry.has(flag::PORT_LOCKING)
    }

    /// Calls a function of the driver with its data.
    fn run<R>(&mut self, context: &mut Context<'_>, function: impl FnOnce(Data) -> R) -> R {
        let (port, data) = (Handle::from(context.id()), self.data);
        let shares_lock = self.shares_lock();
        enter(port, NonNull::from(&mut *self).cast(), shares_lock, context, || function(data))
    }

    /// The same, in the name of a process.
    fn run_for<R>(&mut self, context: &mut Context<'_>, caller: Pid, function: impl FnOnce(Data) -> R) -> R {
        let before = self.caller.replace(caller);
        let result = self.run(context, function);
        self.caller = before;
        result
    }

    /// A descriptor of the driver's is ready.
    pub(crate) fn ready(&mut self, context: &mut Context<'_>, event: Event, to_read: bool) {
        let function = if to_read { self.entry.ready_input } else { self.entry.ready_output };
        if let Some(function) = function {
            // SAFETY: ABI1: the driver's function, with its data.
            self.run(context, |data| unsafe { function(data, event) });
        }
    }

    /// The result of work that the driver has given to another thread. Is it the driver's now?
    pub(crate) fn ready_async(&mut self, context: &mut Context<'_>, result: *mut c_void) -> bool {
        let function = self.entry.ready_async.filter(|_| self.life == Life::Started);
        if let Some(function) = function {
            // SAFETY: ABI1: the driver's function, with its data and what it has given for this.
            self.run(context, |data| unsafe { function(data, result) });
        }
        function.is_some()
    }

    /// A process that it monitors has ended.
    pub(crate) fn process_ended(&mut self, context: &mut Context<'_>, serial: u64) {
        let function = self.entry.process_exit.filter(|_| self.monitors.contains_key(&serial));
        if let Some(function) = function {
            let monitor = Monitor { serial, port: context.id().number(), spare: [0; 2] };
            // SAFETY: ABI1: the driver's function, with its data.
            self.run(context, |data| unsafe { function(data, &monitor) });
            self.monitors.remove(&serial);
        }
    }

    /// Has `timeout` called after so many milliseconds, and no more at the time that was set before.
    pub(crate) fn set_timer(&mut self, context: &Context<'_>, after_ms: u64) {
        self.cancel_timer(context);
        self.timers += 1;
        let number = self.timers;
        let now_ns = context.vm().platform.now_ns();
        let ends_ns = now_ns.saturating_add(after_ms.saturating_mul(1_000_000));
        self.timer = Some(Timer { id: context.set_timer(after_ms, number), number, ends_ns });
    }

    /// Takes the timer back.
    pub(crate) fn cancel_timer(&mut self, context: &Context<'_>) {
        if let Some(timer) = self.timer.take() {
            context.cancel_timer(timer.id);
        }
    }

    /// The milliseconds that are left; 0 without a timer.
    pub(crate) fn timer_left_ms(&self, context: &Context<'_>) -> u64 {
        let now_ns = context.vm().platform.now_ns();
        self.timer.as_ref().map_or(0, |timer| timer.ends_ns.saturating_sub(now_ns) / 1_000_000)
    }

    /// What the driver has answered in `rbuf`, or in the room it was given; nothing if it refuses.
    fn control_answer(&mut self, used: isize, answer: *mut u8, room: &[u8]) -> Option<Vec<u8>> {
        let used = usize::try_from(used).ok()?;
        let is_binary = self.control_flags & 1 != 0;
        self.answer_is_binary = is_binary;
        if std::ptr::eq(answer, room.as_ptr()) {
            return Some(room[..used.min(room.len())].to_vec());
        }
        if answer.is_null() {
            self.answer_is_binary = false;
            return Some(Vec::new());
        }
        if is_binary {
            let binary = answer.cast::<Binary>();
            // SAFETY: ABI1: with this flag it is a binary that the driver gives away.
            return Some(unsafe {
                let bytes = std::slice::from_raw_parts(Binary::data(binary), Binary::size(binary)).to_vec();
                Binary::release(binary);
                bytes
            });
        }
        // SAFETY: ABI1: else it is memory of `driver_alloc` with so many bytes, which the driver gives away.
        Some(unsafe { take(answer, used, true) })
    }

    /// Sends bytes out by `outputv`.
    fn output_vector(
        &mut self,
        context: &mut Context<'_>,
        sender: Pid,
        function: unsafe extern "C" fn(Data, &mut IoVector),
        data: Output,
    ) {
        let (mut slices, mut binaries) = vector_of(data.pieces());
        let mut vector = IoVector {
            count: slices.len() as c_int,
            size: slices.iter().map(|slice| slice.len).sum(),
            slices: slices.as_mut_ptr(),
            binaries: binaries.as_mut_ptr(),
        };
        // SAFETY: ABI1: the driver's function, with its data.
        self.run_for(context, sender, |data| unsafe { function(data, &mut vector) });
        // The driver may have put others in their place; those that it wants to keep it holds itself.
        for binary in binaries.into_iter().filter(|binary| !binary.is_null()) {
            // SAFETY: each entry of the vector is held by it.
            unsafe { Binary::release(binary) };
        }
    }
}

/// The slices of a vector, and the binary that each is of, held by it: a process's own one as it is, and copies of what lies between those in one together.
fn vector_of(pieces: &[Piece]) -> (Vec<IoSlice>, Vec<*mut Binary>) {
    // The first place is free for a header of the driver's.
    let mut slices = vec![IoSlice { base: null_mut(), len: 0 }];
    let mut binaries: Vec<*mut Binary> = vec![null_mut()];
    let own = |piece: &Piece| if let Piece::Shared(shared, _, _) = piece { Binary::of_shared(shared) } else { None };
    let mut copied = BinaryBuffer::new();
    for piece in pieces.iter().filter(|piece| !piece.bytes().is_empty()) {
        let bytes = piece.bytes();
        let binary = own(piece).unwrap_or_else(|| {
            copied.extend_from_slice(bytes);
            null_mut()
        });
        slices.push(IoSlice { base: bytes.as_ptr().cast_mut(), len: bytes.len() });
        binaries.push(binary);
    }
    let copied = copied.into_shared();
    let mut at = copied.data();
    for (slice, binary) in
        slices.iter_mut().zip(&mut binaries).filter(|(slice, binary)| slice.len > 0 && binary.is_null())
    {
        slice.base = at;
        // SAFETY: the copy has all of these slices, one after another.
        at = unsafe { at.add(slice.len) };
        *binary = Binary::of_shared(&copied).unwrap_or(null_mut());
    }
    (slices, binaries)
}

/// The bytes that a driver has answered with; `frees`: they are ours to give back.
///
/// # Safety
/// So many bytes are there, and with `frees` they came from `driver_alloc` and are used no more.
unsafe fn take(answer: *mut u8, used: usize, frees: bool) -> Vec<u8> {
    // SAFETY: the caller's promise.
    unsafe {
        let bytes = std::slice::from_raw_parts(answer, used).to_vec();
        if frees {
            libc::free(answer.cast());
        }
        bytes
    }
}

impl Driver for Instance {
    fn begin(&mut self, context: &mut Context<'_>) -> Result<(), Atom> {
        let Some(start) = self.entry.start else {
            self.life = Life::Started;
            return Ok(());
        };
        let command = self.command.clone().into_raw();
        let port = Handle::from(context.id());
        self.caller = Some(context.owner());
        // SAFETY: ABI1: the driver's function; the command is its to write to during the call.
        let (data, errno) = self.run(context, |_| unsafe {
            let data = start(port, command);
            (data, std::io::Error::last_os_error().raw_os_error())
        });
        self.caller = None;
        // SAFETY: from `into_raw`, and given back once. A driver that has shortened it has only moved its end.
        unsafe { libc_string_back(command, self.command.as_bytes_with_nul().len()) };
        match data.0 as isize {
            refusal::GENERAL => Err(am::einval),
            refusal::ERRNO => Err(posix::atom(errno.map_or(Errno::INVAL, crate::words::errno))),
            refusal::BADARG => Err(am::badarg),
            _ => {
                self.data = data;
                self.life = Life::Started;
                Ok(())
            }
        }
    }

    fn acknowledges_start(&self) -> bool {
        self.entry.has(flag::USE_INIT_ACK)
    }

    fn output(&mut self, context: &mut Context<'_>, sender: Pid, data: Piece) {
        if self.entry.outputv.is_some() {
            return self.output_pieces(context, sender, Output::One(data));
        }
        let Some(function) = self.entry.output else { return };
        // The driver may write to what it gets.
        let mut bytes = data.bytes().to_vec();
        let (start, len) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: ABI1: the driver's function, with its data; the bytes stay during the call.
        self.run_for(context, sender, |data| unsafe { function(data, start, len) });
    }

    fn output_pieces(&mut self, context: &mut Context<'_>, sender: Pid, data: Output) {
        match self.entry.outputv {
            Some(function) => self.output_vector(context, sender, function, data),
            None => self.output(context, sender, data.into_one()),
        }
    }

    fn control(&mut self, context: &mut Context<'_>, caller: Pid, operation: u32, data: &[u8]) -> Option<Vec<u8>> {
        let function = self.entry.control?;
        let (mut bytes, mut room) = (data.to_vec(), [0; CONTROL_ROOM]);
        let (start, len) = (bytes.as_mut_ptr(), bytes.len());
        let mut answer = room.as_mut_ptr();
        // SAFETY: ABI1: the driver's function, with its data; bytes and room stay during the call.
        let used = self.run_for(context, caller, |data| unsafe {
            function(data, operation, start, len, &mut answer, CONTROL_ROOM)
        });
        self.control_answer(used, answer, &room)
    }

    fn has_control(&self) -> bool {
        self.entry.control.is_some()
    }

    fn has_call(&self) -> bool {
        self.entry.call.is_some()
    }

    fn answers_in_binaries(&self) -> bool {
        self.answer_is_binary
    }

    fn call(&mut self, context: &mut Context<'_>, caller: Pid, operation: u32, data: &[u8]) -> Option<Vec<u8>> {
        const KEEPS_BUFFER: u32 = 1;
        let function = self.entry.call?;
        let (mut bytes, mut room, mut flags) = (data.to_vec(), [0; CALL_ROOM], 0);
        let (start, len) = (bytes.as_mut_ptr(), bytes.len());
        let own = room.as_mut_ptr();
        let mut answer = own;
        // SAFETY: ABI1: the driver's function, with its data; bytes and room stay during the call.
        let used = self.run_for(context, caller, |data| unsafe {
            function(data, operation, start, len, &mut answer, CALL_ROOM, &mut flags)
        });
        let used = usize::try_from(used).ok().filter(|used| *used > 0 && !answer.is_null())?;
        // SAFETY: ABI1: so many bytes are there; what is not the room came from `driver_alloc`, unless it is to be kept.
        Some(unsafe { take(answer, used, answer != own && flags & KEEPS_BUFFER == 0) })
    }

    fn ready_input(&mut self, context: &mut Context<'_>, _: bool, _: &mut [u8]) {
        for (event, ready) in self.events.ready(context.id()) {
            for (bit, to_read) in [(mode::READ, true), (mode::WRITE, false)] {
                if ready & bit != 0 && self.events.waits_for(event, bit) {
                    self.ready(context, event, to_read);
                }
            }
        }
        if let Err(errno) = self.events.arm(context) {
            context.fail(errno);
        }
    }

    fn timeout(&mut self, context: &mut Context<'_>, timer: u64) {
        if self.timer.as_ref().is_none_or(|set| set.number != timer) {
            return;
        }
        self.timer = None;
        context.timed_out();
        if let Some(function) = self.entry.timeout {
            // SAFETY: ABI1: the driver's function, with its data.
            self.run(context, |data| unsafe { function(data) });
        }
    }

    fn flush(&mut self, context: &mut Context<'_>) {
        if self.queue.len() > 0
            && let Some(function) = self.entry.flush
        {
            // SAFETY: ABI1: the driver's function, with its data.
            self.run(context, |data| unsafe { function(data) });
        }
    }

    fn stop(&mut self, context: &mut Context<'_>) {
        self.cancel_timer(context);
        crate::monitors::forget(context.vm(), context.id(), self.monitors.drain());
        if self.life == Life::Started {
            self.life = Life::Stopped;
            if let Some(function) = self.entry.stop {
                // SAFETY: ABI1: the driver's function, with its data, which it gets for the last time.
                self.run(context, |data| unsafe { function(data) });
            }
        }
        self.cancel_timer(context);
        self.events.close(context);
        self.queue.close(context.id());
        self.data_lock = None;
        self.library.leave();
    }

    fn queued(&self) -> usize {
        self.queue.len()
    }

    fn monitors(&self) -> Vec<Pid> {
        self.monitors.values().copied().collect()
    }

    fn shared_lock(&self) -> Option<Arc<SharedLock>> {
        self.shares_lock().then(|| self.library.lock())
    }
}

/// Gives a command line back.
///
/// # Safety
/// `text` came from [`CString::into_raw`] and had `len` bytes with its end.
unsafe fn libc_string_back(text: *mut std::ffi::c_char, len: usize) {
    // SAFETY: the caller's promise; a vector of so many bytes, as the string had them.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(text.cast::<u8>(), len)) });
}
