//! The descriptors that a driver waits for (`driver_select`).
//!
//! A port's descriptors stand in an `epoll` set of its own, level-triggered; the VM's poller waits for that set as for one descriptor that is to
//!      be read, once at a time. So it does not matter to the poller how many there are, and a driver may leave input lying, as the interface allows.

use crate::abi::{Event, mode};
use myriad_io::port::driver::Context;
use myriad_io::port::linked_in::Inlet;
use myriad_sync::{LockClass, Mutex};
use myriad_term::Port as PortId;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::c_int;
use std::os::fd::BorrowedFd;
use std::ptr::null_mut;

static CLASS: LockClass = LockClass::new("driver_events", 327);
/// By descriptor: the port that has selected it last, and so is told of it.
static OWNERS: Mutex<Option<Owners>> = Mutex::new(&CLASS, None);

#[derive(Default)]
struct Owners(HashMap<Event, PortId>);

impl Owners {
    fn remove_if_of(&mut self, event: Event, port: PortId) {
        if self.0.get(&event) == Some(&port) {
            self.0.remove(&event);
        }
    }
}

fn with_owners<R>(work: impl FnOnce(&mut Owners) -> R) -> R {
    work(OWNERS.lock().get_or_insert_default())
}

/// The descriptors that drivers have selected, and how many of them have been closed all the same: figures.
pub(crate) fn selected() -> (usize, usize) {
    with_owners(|owners| {
        // SAFETY: asks the system whether there is such a descriptor.
        let is_closed = |event: &&Event| unsafe { libc::fcntl(**event as c_int, libc::F_GETFD) } < 0;
        (owners.0.len(), owners.0.keys().filter(is_closed).count())
    })
}

/// Most events taken at a time.
const MOST: usize = 32;

/// A descriptor.
struct Selected {
    event: Event,
    /// What it is waited for: `mode::READ`, `mode::WRITE`.
    mode: c_int,
    /// The driver wants to be told when it may be closed.
    in_use: bool,
    /// It is of a kind that is always ready, and not in the set.
    always: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Events {
    set: Option<Inlet>,
    /// The poller waits for the set.
    armed: bool,
    selected: Vec<Selected>,
}

fn descriptor<'a>(event: Event) -> Result<BorrowedFd<'a>, Errno> {
    let number = i32::try_from(event).ok().filter(|number| *number >= 0).ok_or(Errno::BADF)?;
    // SAFETY: only handed to the system, which says whether it is a descriptor.
    Ok(unsafe { BorrowedFd::borrow_raw(number) })
}

fn flags(mode: c_int) -> EventFlags {
    let mut flags = EventFlags::empty();
    flags.set(EventFlags::IN, mode & mode::READ != 0);
    flags.set(EventFlags::OUT, mode & mode::WRITE != 0);
    flags
}

impl Events {
    fn place(&self, event: Event) -> Option<usize> {
        self.selected.iter().position(|selected| selected.event == event)
    }

    /// Waits for more of a descriptor's, or uses it.
    pub(crate) fn select(&mut self, context: &Context<'_>, event: Event, bits: c_int) -> Result<(), Errno> {
        let place = self.place(event).unwrap_or_else(|| {
            self.selected.push(Selected { event, mode: 0, in_use: false, always: false });
            self.selected.len() - 1
        });
        let wanted = self.selected[place].mode | bits & (mode::READ | mode::WRITE);
        let done = self.change(place, wanted);
        match done {
            Ok(()) => {
                self.selected[place].in_use |= bits & mode::USE != 0;
                with_owners(|owners| owners.0.insert(event, context.id()));
            }
            Err(_) if self.selected[place].mode == 0 && !self.selected[place].in_use => {
                self.selected.swap_remove(place);
            }
            Err(_) => {}
        }
        done.and_then(|()| self.arm(context))
    }

    /// Waits for less; is the descriptor's use over, whose end the driver is to be told of?
    pub(crate) fn deselect(&mut self, context: &Context<'_>, event: Event, bits: c_int) -> Result<bool, Errno> {
        let Some(place) = self.place(event) else {
            descriptor(event)?;
            return Ok(bits & mode::USE != 0);
        };
        let ends = bits & mode::USE != 0;
        // With `NO_CALLBACK` it may be waited for in the other way all the same.
        let ends_all = ends && bits & mode::NO_CALLBACK == 0;
        let left = if ends_all { 0 } else { self.selected[place].mode & !bits };
        // It fails where the descriptor is closed by now; then it is in no set.
        let done = self.change(place, left);
        let selected = &mut self.selected[place];
        selected.mode = left;
        selected.in_use &= !ends;
        if left == 0 && !selected.in_use {
            self.selected.swap_remove(place);
            with_owners(|owners| owners.remove_if_of(event, context.id()));
        }
        if ends { Ok(true) } else { done.map(|()| false) }
    }

    /// Has the set know what a descriptor is waited for.
    fn change(&mut self, place: usize, wanted: c_int) -> Result<(), Errno> {
        let selected = &mut self.selected[place];
        let fd = descriptor(selected.event)?;
        if selected.always {
            selected.mode = wanted;
            return Ok(());
        }
        if self.set.is_none() {
            self.set = Some(Inlet::new(epoll::create(CreateFlags::CLOEXEC)?));
        }
        let Some(set) = &self.set else { return Err(Errno::BADF) };
        let data = EventData::new_u64(selected.event as u64);
        // The driver may have closed the descriptor and opened another of its number since: what the set knows counts.
        let done = match wanted {
            0 if selected.mode == 0 => Ok(()),
            0 => match epoll::delete(set.fd(), fd) {
                Err(Errno::NOENT) => Ok(()),
                done => done,
            },
            _ => match epoll::add(set.fd(), fd, data, flags(wanted)) {
                Err(Errno::EXIST) => epoll::modify(set.fd(), fd, data, flags(wanted)),
                done => done,
            },
        };
        match done {
            Err(Errno::PERM) => selected.always = true,
            done => done?,
        }
        selected.mode = wanted;
        Ok(())
    }

    /// Has the poller wait for the set, and goes on soon with what is always ready.
    pub(crate) fn arm(&mut self, context: &Context<'_>) -> Result<(), Errno> {
        let waits = self.selected.iter().any(|selected| selected.mode != 0 && !selected.always);
        if let Some(set) = &mut self.set
            && waits
            && !self.armed
        {
            context.wait_for(set)?;
            self.armed = true;
        }
        if self.selected.iter().any(|selected| selected.mode != 0 && selected.always) {
            context.again();
        }
        Ok(())
    }

    /// What is ready: descriptors and what for. Those that another port has selected since are that one's.
    pub(crate) fn ready(&mut self, me: PortId) -> Vec<(Event, c_int)> {
        let mut ready = self.reported();
        ready.retain(|(event, _)| {
            let is_mine = with_owners(|owners| owners.0.get(event).is_none_or(|owner| *owner == me));
            if !is_mine && let Some(place) = self.place(*event) {
                // If the set does not know it any more, all is well.
                let _ = self.change(place, 0);
                self.selected.swap_remove(place);
            }
            is_mine
        });
        ready
    }

    /// What the set reports, and what is always ready.
    fn reported(&mut self) -> Vec<(Event, c_int)> {
        self.armed = false;
        let always = self.selected.iter().filter(|selected| selected.always);
        let mut ready: Vec<(Event, c_int)> = always.map(|selected| (selected.event, selected.mode)).collect();
        let Some(set) = &self.set else { return ready };
        let mut events: Vec<epoll::Event> = Vec::with_capacity(MOST);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let waited = epoll::wait(set.fd(), rustix::buffer::spare_capacity(&mut events), Some(&now));
        if waited.is_err() {
            return ready;
        }
        for event in &events {
            let flags = event.flags;
            let over = flags.intersects(EventFlags::HUP | EventFlags::ERR);
            let mut mode = 0;
            if over || flags.contains(EventFlags::IN) {
                mode |= mode::READ;
            }
            if over || flags.contains(EventFlags::OUT) {
                mode |= mode::WRITE;
            }
            ready.push((event.data.u64() as Event, mode));
        }
        ready
    }

    /// Is it waited for in this way?
    pub(crate) fn waits_for(&self, event: Event, mode: c_int) -> bool {
        self.selected.iter().any(|selected| selected.event == event && selected.mode & mode != 0)
    }

    /// The port has gone: waits for nothing more. What it has left in use stays so: another port may have taken that over.
    pub(crate) fn close(&mut self, context: &Context<'_>) {
        if let Some(set) = self.set.take() {
            context.wait_no_more(set);
        }
        let me = context.id();
        with_owners(|owners| {
            for selected in std::mem::take(&mut self.selected) {
                owners.remove_if_of(selected.event, me);
            }
        });
    }
}

/// Tells a driver that it may close a descriptor.
pub(crate) fn stop_select(function: Option<unsafe extern "C" fn(Event, *mut std::ffi::c_void)>, event: Event) {
    if let Some(function) = function {
        // SAFETY: ABI1: the driver's function.
        unsafe { function(event, null_mut()) };
    }
}
