//! Descriptors that libraries wait for (`enif_select`): once one is ready, a process gets a message.
//!
//! They stand in an `epoll` of their own, which the VM's pollers wait for as for any descriptor. Each is waited for once at a time
//! (`EPOLLONESHOT`), for as much as is asked for by then.
//!
//! SE1. What is known of a descriptor changes under the lock, and so does what `epoll` knows. An event counts if the descriptor still has the
//!      number under which it was waited for: one that was closed and opened again has another.
//! SE2. Nothing that may run a library's function is dropped or called under the lock: what is taken out goes afterwards.
//! SE3. A descriptor holds its object from the first time that it is waited for until it is given up, when the object's function `stop` is
//!      called.

use crate::env;
use crate::resource::Resource;
use myriad_process::{Message, Payload};
use myriad_sync::{LockClass, Mutex, OnceLock};
use myriad_term::magic::Magic;
use myriad_term::{Pid, Term};
use myriad_vm::{Signal, Vm};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What may be waited for: input, output, errors.
pub(crate) const MODES: usize = 3;
/// The bits of `ErlNifSelectFlags` for these.
const FLAGS: [c_int; MODES] = [1, 2, 1 << 5];
/// What `epoll` has for them; it tells of errors by itself.
const EVENTS: [c_int; MODES] = [libc::EPOLLIN, libc::EPOLLOUT, 0];

/// No process gets a message any more, and the object's `stop` is called.
pub(crate) const STOP: c_int = 1 << 2;
/// What is waited for is waited for no more.
pub(crate) const CANCEL: c_int = 1 << 3;
/// The message is the caller's.
pub(crate) const CUSTOM: c_int = 1 << 4;

/// The answers: `stop` was called.
const STOP_CALLED: c_int = 1;
/// It is no descriptor that can be waited for.
const INVALID: c_int = c_int::MIN | 1 << 2;
/// It cannot be done.
pub(crate) const FAILED: c_int = c_int::MIN | 1 << 3;
/// What was waited for no more.
const CANCELLED: [c_int; MODES] = [1 << 4, 1 << 5, 1 << 6];

/// Who waits for something.
pub(crate) struct Waiter {
    pub(crate) to: Pid,
    pub(crate) message: Payload,
}

/// A descriptor.
struct Selected {
    /// The object (SE3).
    object: Magic,
    /// SE1.
    number: u32,
    waiters: [Option<Waiter>; MODES],
}

impl Selected {
    /// What `epoll` is to tell of.
    fn events(&self) -> u32 {
        let wanted = self.waiters.iter().zip(EVENTS).filter(|(waiter, _)| waiter.is_some());
        wanted.map(|(_, event)| event).fold(libc::EPOLLONESHOT, |all, event| all | event) as u32
    }

    fn waits(&self) -> bool {
        self.waiters.iter().any(Option::is_some)
    }
}

/// All that libraries wait for.
struct Selects {
    epoll: OwnedFd,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    selected: BTreeMap<c_int, Selected>,
    /// The number of the latest.
    number: u32,
}

static CLASS: LockClass = LockClass::new("nif_selects", 915);

/// Those of the VM, once a library has waited for something.
static SELECTS: OnceLock<Option<&'static Selects>> = OnceLock::new();

/// Those of the VM; nothing if the system has none to give.
fn selects(vm: &'static Vm) -> Option<&'static Selects> {
    *SELECTS.get_or_init(|| {
        // SAFETY: makes a descriptor of its own.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return None;
        }
        // SAFETY: just made, and nobody else's.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let seen = epoll.try_clone().ok()?;
        let selects: &'static Selects =
            Box::leak(Box::new(Selects { epoll, table: Mutex::new(&CLASS, Table::default()) }));
        vm.platform.call_when_readable(seen, Box::new(move || selects.serve(vm))).ok()?;
        Some(selects)
    })
}

/// How many descriptors libraries wait for.
pub fn count() -> usize {
    SELECTS.get().copied().flatten().map_or(0, |selects| selects.table.lock().selected.len())
}

/// Waits for a descriptor as `flags` say, or no more, and gives the answer of `enif_select`. `waiter` makes who waits for one of the modes.
pub(crate) fn select(
    vm: &'static Vm,
    descriptor: c_int,
    flags: c_int,
    object: Magic,
    waiter: impl Fn(usize) -> Option<Waiter>,
) -> c_int {
    let Some(selects) = selects(vm) else { return FAILED };
    let modes = [0, 1, 2].map(|mode| flags & FLAGS[mode] != 0);
    if descriptor < 0 {
        INVALID
    } else if flags & STOP != 0 {
        selects.stop(descriptor, &object)
    } else if flags & CANCEL != 0 {
        selects.cancel(descriptor, modes)
    } else {
        let mut waiters: [Option<Waiter>; MODES] = [const { None }; MODES];
        for (mode, place) in waiters.iter_mut().enumerate().filter(|(mode, _)| modes[*mode]) {
            match waiter(mode) {
                Some(waiter) => *place = Some(waiter),
                None => return FAILED,
            }
        }
        selects.wait_for(descriptor, object, waiters)
    }
}

impl Selects {
    /// Tells `epoll` of a descriptor: whether it could.
    fn control(&self, operation: c_int, descriptor: c_int, events: u32, number: u32) -> Result<(), c_int> {
        let data = u64::from(number) << 32 | u64::from(descriptor as u32);
        let mut event = libc::epoll_event { events, u64: data };
        // SAFETY: a descriptor of ours, and an event that is read; what the other number is, the system finds out.
        match unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, descriptor, &raw mut event) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        }
    }

    /// Has `epoll` wait for what is asked for of a descriptor; it may know that or not.
    fn arm(&self, descriptor: c_int, selected: &Selected) -> Result<(), c_int> {
        let arm = |operation| self.control(operation, descriptor, selected.events(), selected.number);
        match arm(libc::EPOLL_CTL_MOD) {
            Err(libc::ENOENT) => arm(libc::EPOLL_CTL_ADD),
            done => done,
        }
    }

    fn wait_for(&self, descriptor: c_int, object: Magic, waiters: [Option<Waiter>; MODES]) -> c_int {
        let mut table = self.table.lock();
        table.number = table.number.wrapping_add(1);
        let number = table.number;
        let selected = table.selected.entry(descriptor).or_insert_with(|| Selected {
            object: object.clone(),
            number,
            waiters: [const { None }; MODES],
        });
        // The latest object is told, if there are several.
        let old_object = std::mem::replace(&mut selected.object, object);
        let mut old = [const { None }; MODES];
        for (mode, waiter) in waiters.into_iter().enumerate() {
            if let Some(waiter) = waiter {
                old[mode] = selected.waiters[mode].replace(waiter);
            }
        }
        let armed = self.arm(descriptor, selected);
        let failed = armed.is_err().then(|| table.selected.remove(&descriptor));
        drop(table);
        drop((old_object, old, failed));
        match armed {
            Ok(()) => 0,
            Err(libc::EBADF | libc::EPERM | libc::ELOOP | libc::EINVAL) => INVALID,
            Err(_) => FAILED,
        }
    }

    fn cancel(&self, descriptor: c_int, modes: [bool; MODES]) -> c_int {
        let mut table = self.table.lock();
        let Some(selected) = table.selected.get_mut(&descriptor) else { return 0 };
        let (mut answer, mut cancelled) = (0, [const { None }; MODES]);
        for mode in (0..MODES).filter(|mode| modes[*mode]) {
            cancelled[mode] = selected.waiters[mode].take();
            answer |= cancelled[mode].as_ref().map_or(0, |_| CANCELLED[mode]);
        }
        // It can only fail if the library has closed it, and then nothing comes.
        let _ = self.control(libc::EPOLL_CTL_MOD, descriptor, selected.events(), selected.number);
        drop(table);
        drop(cancelled);
        answer
    }

    fn stop(&self, descriptor: c_int, object: &Magic) -> c_int {
        let mut table = self.table.lock();
        let selected = table.selected.remove(&descriptor);
        if selected.is_some() {
            // It can only fail if the library has closed it.
            let _ = self.control(libc::EPOLL_CTL_DEL, descriptor, 0, 0);
        }
        drop(table);
        let waited = selected.iter().flat_map(|selected| selected.waiters.iter().zip(CANCELLED));
        let answer = waited.filter(|(waiter, _)| waiter.is_some()).fold(STOP_CALLED, |all, (_, bit)| all | bit);
        if let Some(resource) = object.get::<Resource>() {
            resource.of().call(|callbacks| {
                if let Some(stop) = callbacks.stop {
                    env::for_callback(callbacks.library, "stop", |env| {
                        // SAFETY: ABI1: the type's function, of an object that is held meanwhile.
                        unsafe { stop(env, resource.object(), descriptor, 1) };
                    });
                }
            });
        }
        answer
    }

    /// Sends the messages of what is ready.
    fn serve(&self, vm: &'static Vm) {
        const MOST: usize = 32;
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; MOST];
        // SAFETY: room for so many events. What is left makes the descriptor readable again.
        let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), MOST as c_int, 0) };
        let mut ready = Vec::new();
        let mut table = self.table.lock();
        for event in &events[..usize::try_from(count).unwrap_or(0)] {
            let (descriptor, number, met) =
                (event.u64 as u32 as c_int, (event.u64 >> 32) as u32, event.events as c_int);
            let selected = table.selected.get_mut(&descriptor).filter(|selected| selected.number == number);
            let Some(selected) = selected else { continue };
            let over = met & (libc::EPOLLERR | libc::EPOLLHUP) != 0;
            let is_met =
                [met & libc::EPOLLIN != 0 || over, met & libc::EPOLLOUT != 0 || over, met & libc::EPOLLERR != 0];
            ready.extend((0..MODES).filter(|mode| is_met[*mode]).filter_map(|mode| selected.waiters[mode].take()));
            if selected.waits() {
                // It can only fail if the library has closed it.
                let _ = self.control(libc::EPOLL_CTL_MOD, descriptor, selected.events(), number);
            }
        }
        drop(table);
        let pinned = vm.progress.pin();
        for Waiter { to, message } in ready {
            vm.signal_pid(to, Signal::Message(Message::new(message, Term::NONE)));
        }
        drop(pinned);
    }
}
