//! What drivers and the VM have in common: the layouts of `erl_driver.h`, version 3.3.
//!
//! ABI1. What comes from a driver is as the interface asks for: pointers lead to what they say and stay during the call, and a binary is one that
//!       the driver holds. A driver that breaks this breaks the VM, as it does OTP's.

use crate::binary::Binary;
use myriad_nif::abi::Text;
use myriad_term::{Port as PortId, Term};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// The version of the interface.
pub const VERSION: (c_int, c_int) = (3, 3);
/// The oldest major version that is taken.
pub const OLDEST_MAJOR: c_int = 2;
/// What says that an entry has a version.
pub const EXTENDED: c_int = 0xfeee_eeed_u32 as c_int;

/// A port in a driver's hands (`ErlDrvPort`): its number and one, so that it is not null. A port that has gone is not found by it.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Handle(usize);

impl Handle {
    /// No port.
    pub const NONE: Handle = Handle(usize::MAX);

    /// The port.
    pub fn id(self) -> PortId {
        PortId::from_number((self.0 as u64).wrapping_sub(1))
    }
}

impl From<PortId> for Handle {
    fn from(id: PortId) -> Handle {
        Handle(id.number() as usize + 1)
    }
}

/// A term in a driver's hands (`ErlDrvTermData`): an atom, a pid, a port, or `[]`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word(pub(crate) u64);

impl From<Term> for Word {
    fn from(term: Term) -> Word {
        Word(term.raw())
    }
}

impl Word {
    /// The term, if the word is one that needs no memory.
    pub fn term(self) -> Option<Term> {
        // SAFETY: only whether it is immediate is looked at, and an immediate term leads to no memory.
        let term: Term = unsafe { Term::from_raw(self.0) };
        term.is_immediate().then_some(term)
    }
}

/// What a driver keeps for a port (`ErlDrvData`).
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Data(pub(crate) *mut c_void);

/// What `start` returns instead of data when it refuses.
pub mod refusal {
    /// `einval`
    pub const GENERAL: isize = -1;
    /// What `errno` says.
    pub const ERRNO: isize = -2;
    /// `badarg`
    pub const BADARG: isize = -3;
}

/// A descriptor, as an event (`ErlDrvEvent`).
pub type Event = isize;

/// Bits of the third argument of `driver_select`.
pub mod mode {
    use std::ffi::c_int;

    /// Input.
    pub const READ: c_int = 1;
    /// Output.
    pub const WRITE: c_int = 2;
    /// The use of the descriptor as such.
    pub const USE: c_int = 4;
    /// With `USE`: `stop_select` is not wanted.
    pub const NO_CALLBACK: c_int = 8;
}

/// Bits of an entry's flags.
pub mod flag {
    use std::ffi::c_int;

    /// A lock for each port, instead of one for all.
    pub const PORT_LOCKING: c_int = 1;
    /// Output can be forced on a busy port.
    pub const SOFT_BUSY: c_int = 2;
    /// The queues of its ports are never full.
    pub const NO_BUSY_MESSAGE_QUEUE: c_int = 4;
    /// It says itself when a port has begun.
    pub const USE_INIT_ACK: c_int = 8;
}

/// `SysIOVec`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IoSlice {
    pub(crate) base: *mut u8,
    pub(crate) len: usize,
}

/// `ErlIOVec`
#[repr(C)]
pub struct IoVector {
    pub(crate) count: c_int,
    pub(crate) size: usize,
    pub(crate) slices: *mut IoSlice,
    pub(crate) binaries: *mut *mut Binary,
}

/// `ErlDrvMonitor`
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Monitor {
    /// Counts from 1; 0 is none.
    pub(crate) serial: u64,
    pub(crate) port: u64,
    pub(crate) spare: [u64; 2],
}

/// `ErlDrvEntry`: what a driver is, in its library's data.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Entry {
    pub(crate) init: Option<unsafe extern "C" fn() -> c_int>,
    pub(crate) start: Option<unsafe extern "C" fn(Handle, *mut c_char) -> Data>,
    pub(crate) stop: Option<unsafe extern "C" fn(Data)>,
    pub(crate) output: Option<unsafe extern "C" fn(Data, *mut u8, usize)>,
    pub(crate) ready_input: Option<unsafe extern "C" fn(Data, Event)>,
    pub(crate) ready_output: Option<unsafe extern "C" fn(Data, Event)>,
    pub(crate) name: Text,
    pub(crate) finish: Option<unsafe extern "C" fn()>,
    handle: *const c_void,
    pub(crate) control: Option<unsafe extern "C" fn(Data, c_uint, *mut u8, usize, &mut *mut u8, usize) -> isize>,
    pub(crate) timeout: Option<unsafe extern "C" fn(Data)>,
    pub(crate) outputv: Option<unsafe extern "C" fn(Data, &mut IoVector)>,
    pub(crate) ready_async: Option<unsafe extern "C" fn(Data, *mut c_void)>,
    pub(crate) flush: Option<unsafe extern "C" fn(Data)>,
    pub(crate) call:
        Option<unsafe extern "C" fn(Data, c_uint, *mut u8, usize, &mut *mut u8, usize, &mut c_uint) -> isize>,
    unused: *const c_void,
    pub(crate) extended: c_int,
    pub(crate) major: c_int,
    pub(crate) minor: c_int,
    pub(crate) flags: c_int,
    handle2: *const c_void,
    pub(crate) process_exit: Option<unsafe extern "C" fn(Data, &Monitor)>,
    pub(crate) stop_select: Option<unsafe extern "C" fn(Event, *mut c_void)>,
    pub(crate) emergency_close: Option<unsafe extern "C" fn(Data)>,
}

// SAFETY: a copy of a library's table: functions, which any thread may call by the rules of the interface, and texts of static data.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

/// So many items that begin there.
pub fn row<'a, T>(data: *mut T, count: usize) -> &'a [T] {
    if count == 0 || data.is_null() {
        return &[];
    }
    // SAFETY: ABI1: so many are there, and stay during the call.
    unsafe { std::slice::from_raw_parts(data, count) }
}

impl Entry {
    /// Has it this flag?
    pub fn has(&self, flag: c_int) -> bool {
        self.flags & flag != 0
    }
}

// The sizes that the header's types have on 64-bit machines.
const _: () = {
    assert!(size_of::<Entry>() == 176 && size_of::<IoVector>() == 32 && size_of::<IoSlice>() == 16);
    assert!(size_of::<Monitor>() == 32 && std::mem::offset_of!(Entry, process_exit) == 152);
};
