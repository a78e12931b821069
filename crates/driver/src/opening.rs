//! How `open_port/2` finds a driver of a library.

use crate::abi::flag;
use crate::instance::Instance;
use crate::table;
use myriad_io::port::driver::{DriverType, Opened};
use myriad_io::port::linked_in::{self, Settings, Target};
use myriad_term::binary::HEAP_BINARY_LIMIT;
use myriad_term::{Atom, am};

/// By what is true of the entry: 1, output can be forced on a busy port; 2, its queue is never full; 4, it takes output in pieces.
static TYPES: [DriverType; 8] = [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)];

const fn of(bits: usize) -> DriverType {
    let mut of = DriverType::new("C driver", open).that_sets_busy(bits & 1 != 0);
    if bits & 2 != 0 {
        of = of.without_queue_limits();
    }
    if bits & 4 != 0 {
        // So large are the smallest binaries that have memory of their own on OTP.
        of = of.that_takes_pieces(HEAP_BINARY_LIMIT + 1);
    }
    of
}

/// Finds a driver by its name.
pub(crate) fn find(name: &[u8]) -> Option<&'static DriverType> {
    table::entry(name).map(|entry| {
        let is_true = [entry.has(flag::SOFT_BUSY), entry.has(flag::NO_BUSY_MESSAGE_QUEUE), entry.outputv.is_some()];
        &TYPES[is_true.into_iter().enumerate().map(|(bit, is_true)| usize::from(is_true) << bit).sum::<usize>()]
    })
}

/// Makes an instance of a library's driver.
fn open(target: &Target, settings: &Settings) -> Result<Opened, Atom> {
    let line = linked_in::command_line(target).ok_or(am::badarg)?;
    let library = table::enter(linked_in::name_in(line)).ok_or(am::badarg)?;
    let instance = Instance::new(library, line, settings);
    Ok(Opened { driver: Box::new(instance), name: line.to_vec(), os_pid: None })
}
