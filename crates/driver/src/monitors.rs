//! Processes that drivers monitor.
//!
//! MO1. A monitor is put in first, and then it is asked whether the process ends (`sync::ExitFlag`): either the process finds it when it ends, or it is
//!      taken back.
//!
//! What the process itself has of a monitor is only to be shown ([`OfProcess`]).

use myriad_process::links::{Shown, Watch};
use myriad_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Pid, Port as PortId, RefNumbers};
use myriad_vm::{Signal, Vm};
use std::collections::HashMap;

static CLASS: LockClass = LockClass::new("driver_monitors", 326);
/// By process: the ports that monitor it, and the serial numbers of the monitors.
type Monitors = HashMap<Pid, Vec<(PortId, u64)>>;

static MONITORS: Mutex<Option<Monitors>> = Mutex::new(&CLASS, None);

/// The processes in there, for those who end.
static WATCHED: AtomicUsize = AtomicUsize::new(0);
static SERIAL: AtomicU64 = AtomicU64::new(1);

fn with<R>(work: impl FnOnce(&mut Monitors) -> R) -> R {
    let mut monitors = MONITORS.lock();
    let monitors = monitors.get_or_insert_default();
    let result = work(monitors);
    // Relaxed: who ends sees what was put in before it was marked so (MO1).
    WATCHED.store(monitors.len(), Ordering::Relaxed);
    result
}

/// Monitors a process; the serial number of the monitor, or nothing if the process has ended.
pub(crate) fn watch(vm: &'static Vm, pid: Pid, port: PortId) -> Option<u64> {
    let process = vm.processes.get(pid)?;
    // Relaxed: only that each number comes once matters.
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    with(|monitors| monitors.entry(pid).or_default().push((port, serial)));
    if process.must_take_back() {
        forget(vm, port, std::iter::once((serial, pid)));
        return None;
    }
    show(vm, pid, serial, Some(port));
    Some(serial)
}

/// What `process_info(Pid, monitored_by)` shows of a monitor.
struct OfProcess(PortId);

impl Watch for OfProcess {
    fn shown(&self) -> Option<Shown> {
        Some(Shown::Port(self.0))
    }
}

/// Has a process show that a port monitors it, or no more.
fn show(vm: &'static Vm, pid: Pid, serial: u64, port: Option<PortId>) {
    // No reference of the node's has this word last.
    let key = RefNumbers([serial as u32, (serial >> 32) as u32, u32::MAX]);
    let change = move |ctx: &mut myriad_vm::Ctx<'_>| {
        let watches = &mut ctx.state.relations.tables().watches;
        match port {
            Some(port) => watches.insert(key, Box::new(OfProcess(port))),
            None => watches.remove(&key),
        };
    };
    vm.signal_pid(pid, Signal::Call(Box::new(change)));
}

/// A port monitors these no more.
pub(crate) fn forget(vm: &'static Vm, port: PortId, gone: impl Iterator<Item = (u64, Pid)>) {
    for (serial, pid) in gone {
        with(|monitors| {
            if let Some(of) = monitors.get_mut(&pid) {
                of.retain(|known| *known != (port, serial));
                if of.is_empty() {
                    monitors.remove(&pid);
                }
            }
        });
        show(vm, pid, serial, None);
    }
}

/// A process has ended: the ports that monitor it, with the serial numbers of the monitors.
pub(crate) fn take(pid: Pid) -> Vec<(PortId, u64)> {
    // Relaxed: MO1.
    if WATCHED.load(Ordering::Relaxed) == 0 {
        return Vec::new();
    }
    with(|monitors| monitors.remove(&pid)).unwrap_or_default()
}
