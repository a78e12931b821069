//! The drivers that are loaded, who has loaded them, and who waits for their loading or unloading.
//!
//! TA1. A driver that is not permanent goes when nothing counts for it any more: no port, no work, and no process that has loaded it and whose count was
//!      not taken back by a reload. A scheduler looks then ([`settle`]): who leaves may hold a port.
//! TA2. Libraries are mapped, begun, ended and unmapped by one thread at a time, which holds `LOADING`; `TABLE` is held while nothing of a library runs.
//!
//! The states and what leads from one to another are those that `erl_ddll`'s documentation tells of.

use crate::abi::Entry;
use crate::call;
use crate::library::{InUse, Library};
use crate::refusals::{self, Refusal};
use crate::words::{latin1, word};
use myriad_process::{Message, Payload};
use myriad_sched::Job;
use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_sync::{Arc, LockClass, Mutex};
use myriad_term::{Atom, Build, Pid, RefNumbers, Term, TermRef, am};
use myriad_vm::{Signal, Vm};

static LOADING_CLASS: LockClass = LockClass::new("driver_loading", 318);
static LOADING: Mutex<()> = Mutex::new(&LOADING_CLASS, ());
static CLASS: LockClass = LockClass::new("drivers", 320);
static TABLE: Mutex<Vec<Driver>> = Mutex::new(&CLASS, Vec::new());
/// The drivers in there, for processes that end.
static DRIVERS: AtomicUsize = AtomicUsize::new(0);

/// What is to become of a driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Ok,
    Permanent,
    /// It goes when nobody uses it any more; with `forced` its ports are being ended.
    Unload {
        forced: bool,
    },
    /// The same, and then it is loaded anew.
    Reload {
        forced: bool,
        path: Vec<u8>,
        kill_ports: bool,
    },
}

/// What a process has to do with a driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It has loaded it. Without `counts` the driver may go meanwhile: a reload is under way.
    Loaded { counts: bool },
    /// It waits for it to be loaded.
    AwaitsLoad(RefNumbers),
    /// It waits for it to be unloaded, or to stay after all.
    AwaitsUnload(RefNumbers),
    /// It waits for it to be unloaded.
    AwaitsUnloadOnly(RefNumbers),
}

/// A process that has to do with a driver.
pub(crate) struct User {
    pub(crate) pid: Pid,
    pub(crate) role: Role,
}

/// A driver that is loaded.
pub(crate) struct Driver {
    pub(crate) library: Arc<Library>,
    pub(crate) path: Vec<u8>,
    pub(crate) kill_ports: bool,
    pub(crate) status: Status,
    /// Newest first.
    pub(crate) users: Vec<User>,
    pub(crate) ports: usize,
}

impl Driver {
    fn new(library: Arc<Library>, path: Vec<u8>, kill_ports: bool, users: Vec<User>) -> Driver {
        Driver { library, path, kill_ports, status: Status::Ok, users, ports: 0 }
    }

    /// May ports be opened?
    fn takes_ports(&self) -> bool {
        !matches!(self.status, Status::Unload { forced: true } | Status::Reload { forced: true, .. })
    }

    /// TA1
    fn is_over(&self) -> bool {
        let counts = |user: &User| user.role == Role::Loaded { counts: true };
        matches!(self.status, Status::Unload { .. } | Status::Reload { .. })
            && self.ports == 0
            && !self.users.iter().any(counts)
    }

    /// How many times processes have loaded it.
    pub(crate) fn loaded(&self) -> usize {
        self.users.iter().filter(|user| matches!(user.role, Role::Loaded { .. })).count()
    }

    /// Takes back one time that a process has loaded it; was there one?
    pub(crate) fn take_load(&mut self, pid: Pid) -> bool {
        let of = |user: &User| user.pid == pid && matches!(user.role, Role::Loaded { .. });
        self.users.iter().position(of).map(|at| self.users.remove(at)).is_some()
    }

    /// A process has loaded it once more.
    pub(crate) fn add(&mut self, pid: Pid, role: Role) {
        self.users.insert(0, User { pid, role });
    }

    /// Tells those that wait in this role, who wait no more.
    pub(crate) fn tell_all(&mut self, vm: &'static Vm, role: fn(Role) -> Option<RefNumbers>, tag: Atom, state: Atom) {
        let name = self.library.name.clone();
        self.users.retain(|user| {
            let Some(reference) = role(user.role) else { return true };
            tell(vm, user.pid, reference, tag, &name, state);
            false
        });
    }

    /// It stays for ever.
    pub(crate) fn make_permanent(&mut self, vm: &'static Vm) {
        self.tell_all(vm, awaits_anything, am::UP, am::permanent);
        self.users.clear();
        self.status = Status::Permanent;
    }

    /// A reload that was asked for does not come.
    pub(crate) fn cancel_reload(&mut self, vm: &'static Vm) {
        if matches!(self.status, Status::Reload { .. }) {
            self.tell_all(vm, awaits_load, am::DOWN, word("load_cancelled"));
        }
    }
}

pub(crate) fn awaits_load(role: Role) -> Option<RefNumbers> {
    match role {
        Role::AwaitsLoad(reference) => Some(reference),
        _ => None,
    }
}

pub(crate) fn awaits_unload(role: Role) -> Option<RefNumbers> {
    match role {
        Role::AwaitsUnload(reference) => Some(reference),
        _ => None,
    }
}

fn awaits_any_unload(role: Role) -> Option<RefNumbers> {
    match role {
        Role::AwaitsUnload(reference) | Role::AwaitsUnloadOnly(reference) => Some(reference),
        _ => None,
    }
}

fn awaits_anything(role: Role) -> Option<RefNumbers> {
    awaits_load(role).or(awaits_any_unload(role))
}

/// Sends `{Tag, Reference, driver, Name, What}`.
fn send(
    vm: &'static Vm,
    to: Pid,
    reference: RefNumbers,
    tag: Atom,
    name: &[u8],
    what: impl for<'b> FnOnce(&mut myriad_heap::Draft<'b>) -> TermRef<'b>,
) {
    let name = Atom::new(&latin1(name)).map_or(Term::NIL, Term::atom);
    let message = Payload::build(24, |draft| {
        let reference = draft.reference(reference);
        let what = what(draft);
        draft.tuple(&[tag.term(), reference, am::driver.term(), name, what])
    });
    vm.signal_pid(to, Signal::Message(Message::new(message, Term::NONE)));
}

pub(crate) fn tell(vm: &'static Vm, to: Pid, reference: RefNumbers, tag: Atom, name: &[u8], state: Atom) {
    send(vm, to, reference, tag, name, |_| state.term());
}

fn tell_failure(vm: &'static Vm, to: Pid, reference: RefNumbers, name: &[u8], refusal: &Refusal) {
    send(vm, to, reference, am::DOWN, name, |draft| {
        let reason = refusals::term(draft, refusal);
        draft.tuple(&[word("load_failure").term(), reason])
    });
}

/// Works at the table; libraries are neither loaded nor unloaded meanwhile.
pub(crate) fn with<R>(work: impl FnOnce(&mut Vec<Driver>) -> R) -> R {
    let mut table = TABLE.lock();
    let result = work(&mut table);
    // Relaxed: a process that ends sees what it has done itself.
    DRIVERS.store(table.len(), Ordering::Relaxed);
    result
}

/// The driver of this name.
pub(crate) fn named<'a>(table: &'a mut [Driver], name: &[u8]) -> Option<&'a mut Driver> {
    table.iter_mut().find(|driver| driver.library.name == name)
}

fn of<'a>(table: &'a mut [Driver], library: &Arc<Library>) -> Option<&'a mut Driver> {
    table.iter_mut().find(|driver| Arc::ptr_eq(&driver.library, library))
}

/// The entry of a driver on which ports may be opened.
pub(crate) fn entry(name: &[u8]) -> Option<Entry> {
    with(|table| named(table, name).filter(|driver| driver.takes_ports()).map(|driver| driver.library.entry()))
}

/// The same, and it is used from now on.
pub(crate) fn enter(name: &[u8]) -> Option<InUse> {
    with(|table| {
        let driver = named(table, name).filter(|driver| driver.takes_ports())?;
        driver.ports += 1;
        Some(InUse::counted(driver.library.clone()))
    })
}

/// One more use of a driver that is in use.
pub(crate) fn count(library: &Arc<Library>) {
    with(|table| {
        if let Some(driver) = of(table, library) {
            driver.ports += 1;
        }
    });
}

/// One use less.
pub(crate) fn uncount(library: &Arc<Library>) {
    let is_over = with(|table| {
        let Some(driver) = of(table, library) else { return false };
        driver.ports = driver.ports.saturating_sub(1);
        driver.is_over()
    });
    if is_over {
        settle_soon();
    }
}

/// Has a scheduler look for drivers that are to go.
pub(crate) fn settle_soon() {
    if let Some(vm) = call::vm() {
        vm.schedulers.enqueue_job(Job::new(move || {
            settle(vm);
            100
        }));
    }
}

/// Loads a driver that is not there, for a process.
pub(crate) fn load(path: &[u8], name: &[u8], kill_ports: bool, pid: Pid) -> Result<(), Refusal> {
    let _loading = LOADING.lock();
    let there = with(|table| {
        let driver = named(table, name)?;
        driver.add(pid, Role::Loaded { counts: true });
        Some(())
    });
    if there.is_some() {
        // Another process has been faster.
        return Ok(());
    }
    let library = Library::load(path, name)?;
    let users = vec![User { pid, role: Role::Loaded { counts: true } }];
    with(|table| table.insert(0, Driver::new(library, path.to_vec(), kill_ports, users)));
    Ok(())
}

/// Adds a driver that is part of another one's library, for ever.
pub(crate) fn add_permanent(library: Arc<Library>) {
    with(|table| {
        let mut driver = Driver::new(library, Vec::new(), false, Vec::new());
        driver.status = Status::Permanent;
        table.insert(0, driver);
    });
}

/// Takes out a driver that was added so; was there one, without ports?
pub(crate) fn remove_added(name: &[u8]) -> bool {
    let gone = with(|table| {
        let of = |driver: &Driver| driver.library.name == name && !driver.library.is_loaded() && driver.ports == 0;
        table.iter().position(of).map(|at| table.remove(at))
    });
    gone.is_some_and(|driver| {
        driver.library.unload();
        true
    })
}

/// Has a driver stay for ever; is it there?
pub(crate) fn lock(vm: &'static Vm, library: &Arc<Library>) -> bool {
    with(|table| of(table, library).map(|driver| driver.make_permanent(vm)).is_some())
}

/// Takes out drivers that are to go and that nobody uses, and loads those anew that are to be.
fn settle(vm: &'static Vm) {
    let _loading = LOADING.lock();
    while let Some(mut driver) = with(|table| table.iter().position(Driver::is_over).map(|at| table.remove(at))) {
        driver.library.unload();
        driver.tell_all(vm, awaits_any_unload, am::DOWN, am::unloaded);
        let Status::Reload { path, kill_ports, .. } = driver.status.clone() else { continue };
        let name = driver.library.name.clone();
        match Library::load(&path, &name) {
            Ok(library) => {
                driver.tell_all(vm, awaits_load, am::UP, am::loaded);
                let users = driver.users.into_iter();
                let users = users.map(|user| User { role: Role::Loaded { counts: true }, ..user }).collect();
                with(|table| table.insert(0, Driver::new(library, path, kill_ports, users)));
            }
            Err(refusal) => {
                for user in driver.users {
                    if let Some(reference) = awaits_load(user.role) {
                        tell_failure(vm, user.pid, reference, &name, &refusal);
                    }
                }
            }
        }
    }
}

/// A process has ended: what it has loaded it no longer uses, and it waits for nothing. Gives the drivers whose ports are to end.
pub(crate) fn process_ended(vm: &'static Vm, pid: Pid) -> Vec<Arc<Library>> {
    // Relaxed: as in `with`.
    let mut ends_ports = Vec::new();
    if DRIVERS.load(Ordering::Relaxed) == 0 {
        return ends_ports;
    }
    let is_over = with(|table| {
        for driver in table.iter_mut().filter(|driver| driver.status != Status::Permanent) {
            let before = driver.users.len();
            driver.users.retain(|user| user.pid != pid);
            if driver.users.len() == before || driver.loaded() > 0 || matches!(driver.status, Status::Unload { .. }) {
                continue;
            }
            driver.cancel_reload(vm);
            let forced = driver.ports > 0 && driver.kill_ports;
            driver.status = Status::Unload { forced };
            if forced {
                ends_ports.push(driver.library.clone());
            }
        }
        table.iter().any(Driver::is_over)
    });
    if is_over {
        settle_soon();
    }
    ends_ports
}
