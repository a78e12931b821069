//! What a crate above this one needs to put drivers of its own behind ports.

pub use super::backlog::Limits;
pub use super::driver::Finder;
pub use super::drivers::{name_in, names};
pub use super::options::{Settings, Target};
pub use super::shared_lock::SharedLock;

use super::driver::{Context, Driver, Opened};
use super::framing::{Frame, Framing};
use super::poll::{Side, Watch};
use super::tell::Tell;
use super::{Port, System, Task};
use crate::bytes::Run;
use myriad_heap::Draft;
use myriad_process::{Message, Payload};
use myriad_sync::atomic::Ordering;
use myriad_term::{Atom, Build, Pid, Port as PortId, Term, TermRef, am};
use myriad_vm::{Signal, Vm};
use rustix::io::Errno;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Has `open_port/2` find drivers by this, too. The first call counts.
pub fn find_by(vm: &Vm, finder: Finder) {
    if let Some(system) = System::of(vm) {
        system.finder.get_or_init(|| finder);
    }
}

/// Calls a port's driver in the port's turn, unless the port is gone by then.
pub fn in_turn(vm: &'static Vm, port: PortId, call: impl FnOnce(&mut dyn Driver, &mut Context<'_>) + Send + 'static) {
    let Some(system) = System::of(vm) else { return };
    let Some(port) = system.get(port) else { return };
    port.perform(system, None, Task::Untold, |system, port| port.with_driver(system, call));
}

/// The same, by a scheduler: for threads that are none.
pub fn in_turn_soon(
    vm: &'static Vm,
    port: PortId,
    call: impl FnOnce(&mut dyn Driver, &mut Context<'_>) + Send + 'static,
) {
    let Some(system) = System::of(vm) else { return };
    let Some(port) = system.get(port) else { return };
    port.leave(system, None, move |system, port: &Port| port.with_driver(system, call));
}

/// Calls a port's driver at once, out of turn, if the port is not gone. With `patient` it waits for who holds the port, which the caller may not
/// hold.
pub fn at_once<T>(
    vm: &'static Vm,
    port: PortId,
    patient: bool,
    call: impl FnOnce(&mut dyn Driver, &mut Context<'_>) -> T,
) -> Option<T> {
    let system = System::of(vm)?;
    let port = system.get(port)?;
    let mut state = if patient { port.lock() } else { port.try_lock()? };
    (!state.common.is_gone()).then(|| port.call_driver(system, &mut state, call))
}

/// Is there such a port?
pub fn is_there(vm: &'static Vm, port: PortId) -> bool {
    System::of(vm).is_some_and(|system| system.get(port).is_some())
}

/// Sends the owner of a port, if that is there, a message, whoever has the port. Out of turn: it may overtake what the port sends, and is not traced.
pub fn send_to_owner(vm: &'static Vm, port: PortId, message: Payload) -> bool {
    let Some(system) = System::of(vm) else { return false };
    let Some(port) = system.get(port) else { return false };
    // Relaxed: one that is about to be another may get it.
    let owner = Pid::from_data(port.owner.load(Ordering::Relaxed));
    system.signal(owner, Signal::Message(Message::new(message, Term::NONE)));
    true
}

impl Settings {
    /// How input is to be cut into messages.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Is input given as binaries?
    pub fn is_binary(&self) -> bool {
        self.binary
    }
}

/// The command line of a driver's port.
pub fn command_line(target: &Target) -> Option<&[u8]> {
    match target {
        Target::Spawn(line) | Target::Driver(line) => Some(line),
        _ => None,
    }
}

/// A descriptor whose input is waited for.
pub struct Inlet(Watch);

impl Inlet {
    /// Not waited for yet.
    pub fn new(descriptor: OwnedFd) -> Inlet {
        Inlet(Watch::new(descriptor, Side::Input))
    }

    /// The descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }
}

impl Context<'_> {
    /// The port.
    pub fn id(&self) -> PortId {
        self.port.id
    }

    /// Has [`Driver::ready_input`] called once when there is input.
    ///
    /// # Errors
    /// The system's.
    pub fn wait_for(&self, inlet: &mut Inlet) -> Result<(), Errno> {
        self.arm(&mut inlet.0)
    }

    /// Waits no more, and closes the descriptor.
    pub fn wait_no_more(&self, inlet: Inlet) {
        inlet.0.close(&self.system.poll.pollers);
    }

    /// Sends a process a message. Is the process there?
    pub fn send(&self, to: Pid, message: Payload) -> bool {
        let lives = self.port.trace_message(self.system, to, message.term());
        lives && self.system.signal(to, Signal::Message(Message::new(message, Term::NONE)))
    }

    /// Sends the owner bytes: `{Port, {data, Bytes}}`.
    pub fn deliver(&self, bytes: &[u8]) {
        self.tell_owner(Tell::Data(Run::Borrowed(bytes)));
    }

    /// Sends the owner `{Port, {data, Head ++ Bytes}}`, where the head is a list of bytes in any case; without `bytes` the list ends there.
    pub fn deliver_headed(&self, head: &[u8], bytes: Option<&[u8]>) {
        self.tell_owner(Tell::Headed(head.to_vec(), bytes.map(<[u8]>::to_vec)));
    }

    /// Sends the owner `{Port, {data, Term}}`, whose term `build` makes; nothing if it makes none.
    pub fn deliver_with(&self, build: impl for<'b> FnOnce(&mut Draft<'b>) -> Option<TermRef<'b>>) {
        let mut is_made = false;
        let message = Payload::build(24, |draft| {
            let Some(data) = build(draft) else { return Term::NIL };
            is_made = true;
            let body = draft.tuple(&[am::data.term(), data]);
            draft.tuple(&[self.port.id.term(), body])
        });
        // To nobody it is not told.
        if is_made && self.system.lives(self.owner()) {
            self.send(self.owner(), message);
        }
    }

    /// Sends the owner a line or a part of one.
    pub fn deliver_frame(&self, frame: Frame<'_>) {
        self.tell_owner(match frame {
            Frame::Data(bytes) => Tell::Data(bytes),
            Frame::Line(bytes) => Tell::Line(bytes),
            Frame::PartOfLine(bytes) => Tell::PartOfLine(bytes),
        });
    }

    /// Sends the owner `{Port, Atom}`.
    pub fn deliver_atom(&self, atom: Atom) {
        self.tell_owner(Tell::Atom(atom));
    }

    /// Does the owner want to be told of the end of input, rather than have the port end?
    pub fn keeps_at_end(&self) -> bool {
        self.port.eof
    }

    /// The program that the port stands for, as `port_info/2` shows it.
    pub fn set_os_pid(&mut self, pid: Option<u64>) {
        self.common.rare.get_mut().os_pid = pid;
    }

    /// Makes another port of the same driver's, linked to its owner; nothing if there are too many. It need not begin.
    pub fn create_port(&self, driver: Box<dyn Driver>, name: &[u8], owner: Pid, settings: &Settings) -> Option<PortId> {
        self.system.vm.processes.get(owner)?;
        let opened = Opened { driver, name: name.to_vec(), os_pid: None };
        let port = self.system.create(self.port.driver, opened, settings, owner, true)?;
        super::signals::link_owner(self.system, port.id, owner);
        Some(port.id)
    }

    /// The VM.
    pub fn vm(&self) -> &'static Vm {
        self.system.vm
    }
}
