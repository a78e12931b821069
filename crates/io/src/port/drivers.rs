//! The drivers that are built in, and port 0, which stands for what starts programs in OTP.

use super::driver::{Context, Driver, DriverType, Opened};
use super::inet::{tcp, udp};
use super::options::{Settings, Target};
use super::poll::Sockets;
use super::{System, poll, ram_file, spawn, stream, tty};
use crate::bytes::Piece;
use myriad_sync::OnceLock;
use myriad_term::Pid;
use myriad_vm::Vm;

/// Those that are found by name.
static DRIVERS: [&DriverType; 5] =
    [&tcp::DRIVER, &udp::DRIVER, &ram_file::DRIVER, &tty::DRIVER, &DriverType::absent("sctp_inet")];

/// The name of a driver in what `open_port/2` is asked for: the first word.
pub fn name_in(line: &[u8]) -> &[u8] {
    line.split(|b| b.is_ascii_whitespace()).next().unwrap_or(line)
}

/// The names of those that are built in.
pub fn names() -> impl Iterator<Item = &'static str> {
    DRIVERS.into_iter().filter(|driver| !driver.is_absent).map(|driver| driver.name)
}

/// The driver for what `open_port/2` is asked for; nothing if there is none of the name.
pub(super) fn find(system: &System, target: &Target) -> Option<&'static DriverType> {
    let named = |line: &[u8]| {
        let word = name_in(line);
        // One that has been loaded goes before one that this VM lacks.
        let built_in = DRIVERS.into_iter().find(|driver| driver.name.as_bytes() == word);
        let loaded = || system.finder.get().and_then(|find| find(word));
        built_in.filter(|driver| !driver.is_absent).or_else(loaded).or(built_in)
    };
    match target {
        Target::Driver(line) => named(line),
        // A program, if there is no driver of that name.
        Target::Spawn(line) => named(line).or(Some(&stream::PROGRAM)),
        Target::Executable(_) => Some(&stream::PROGRAM),
        Target::File(_) => Some(&stream::FILE),
        Target::Fd(..) => Some(&stream::DESCRIPTORS),
    }
}

/// The driver of port 0: there is nothing to talk to.
struct Forker;

static FORKER: DriverType = DriverType {
    of_system: true,
    description: "Port controls forker process",
    ..DriverType::new("forker", |_, _| Ok(Opened { driver: Box::new(Forker), name: b"forker".to_vec(), os_pid: None }))
};

impl Driver for Forker {
    fn output(&mut self, _: &mut Context<'_>, _: Pid, _: Piece) {}
}

/// Starts the I/O thread and makes port 0 of the system that is to stand in `place`.
pub(crate) fn start(
    vm: &'static Vm,
    place: &'static OnceLock<System>,
    sockets: &'static dyn Sockets,
) -> Result<(), String> {
    spawn::keep_descriptors_from_programs();
    let poll = poll::Poll::new(vm.schedulers.len()).map_err(|e| format!("cannot poll for input and output: {e}"))?;
    if place.set(System::new(vm, poll, sockets)).is_err() {
        return Err("the port system was started before".to_owned());
    }
    let Some(system) = place.get() else { return Err("no port system".to_owned()) };
    let settings = Settings::default();
    let opened = (FORKER.open)(&Target::Spawn(Vec::new()), &settings).map_err(|_| "port 0 cannot be opened")?;
    system.create(&FORKER, opened, &settings, Pid::new(0, 0), false).ok_or("no room for a port")?;
    poll::start(system)?;
    vm.platform.wait_for(Box::new(poll::Waiting(system)));
    Ok(())
}
