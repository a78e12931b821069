//! How `open_port/2` finds a driver of a library.

use crate::abi::flag;
use crate::instance::Instance;
use crate::table;
use myriad_io::port::driver::{DriverType, Opened};
use myriad_io::port::linked_in::{self, Settings, Target};
use myriad_term::{Atom, am};

static HARD: DriverType = DriverType::new("C driver", open).that_sets_busy(false);
static SOFT: DriverType = DriverType::new("C driver", open).that_sets_busy(true);
static HARD_ENDLESS: DriverType = DriverType::new("C driver", open).that_sets_busy(false).without_queue_limits();
static SOFT_ENDLESS: DriverType = DriverType::new("C driver", open).that_sets_busy(true).without_queue_limits();

/// Finds a driver by its name.
pub(crate) fn find(name: &[u8]) -> Option<&'static DriverType> {
    table::entry(name).map(|entry| match (entry.has(flag::SOFT_BUSY), entry.has(flag::NO_BUSY_MESSAGE_QUEUE)) {
        (false, false) => &HARD,
        (true, false) => &SOFT,
        (false, true) => &HARD_ENDLESS,
        (true, true) => &SOFT_ENDLESS,
    })
}

/// Makes an instance of a library's driver.
fn open(target: &Target, settings: &Settings) -> Result<Opened, Atom> {
    let line = linked_in::command_line(target).ok_or(am::badarg)?;
    let library = table::enter(linked_in::name_in(line)).ok_or(am::badarg)?;
    let instance = Instance::new(library, line, settings);
    Ok(Opened { driver: Box::new(instance), name: line.to_vec(), os_pid: None })
}
