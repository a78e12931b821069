//! The trace flags, stated once: name, bit, to whom they apply; in the order in which OTP lists them.

use myriad_term::{Atom, am};

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident $bit:literal $atom:ident $of:ident;)*) => {
        $($(#[$doc])* pub const $name: u32 = 1 << $bit;)*

        /// All flags: atom, bit, of processes, of ports.
        pub const ALL: &[(Atom, u32)] = &[$((am::$atom, $name)),*];

        /// Flags that mean something for processes.
        pub const PROCESS: u32 = 0 $(| flags!(@process $of) & $name)*;
        /// Flags that mean something for ports.
        pub const PORT: u32 = 0 $(| flags!(@port $of) & $name)*;
    };
    (@process both) => { u32::MAX };
    (@process process) => { u32::MAX };
    (@process port) => { 0 };
    (@port both) => { u32::MAX };
    (@port port) => { u32::MAX };
    (@port process) => { 0 };
}

flags! {
    /// `running_procs`
    RUNNING_PROCS 0 running_procs process;
    /// `running_ports`
    RUNNING_PORTS 1 running_ports port;
    /// `ports`
    PORTS 2 ports port;
    /// `scheduler_id`
    SCHEDULER_ID 3 scheduler_id both;
    /// `silent`
    SILENT 4 silent process;
    /// `return_to`
    RETURN_TO 5 return_to process;
    /// `arity`
    ARITY 6 arity process;
    /// `garbage_collection`
    GARBAGE_COLLECTION 7 garbage_collection process;
    /// `exiting`
    EXITING 8 exiting process;
    /// `running`
    RUNNING 9 running process;
    /// `set_on_first_link`
    SET_ON_FIRST_LINK 10 set_on_first_link process;
    /// `set_on_link`
    SET_ON_LINK 11 set_on_link process;
    /// `set_on_first_spawn`
    SET_ON_FIRST_SPAWN 12 set_on_first_spawn process;
    /// `procs`
    PROCS 13 procs process;
    /// `call`
    CALL 14 call process;
    /// `set_on_spawn`
    SET_ON_SPAWN 15 set_on_spawn process;
    /// `'receive'`
    RECEIVE 16 receive both;
    /// `send`
    SEND 17 send both;
    /// `monotonic_timestamp`
    MONOTONIC_TIMESTAMP 18 monotonic_timestamp both;
    /// `strict_monotonic_timestamp`
    STRICT_MONOTONIC_TIMESTAMP 19 strict_monotonic_timestamp both;
    /// `timestamp`
    TIMESTAMP 20 timestamp both;
}

pub use myriad_process::tracee::SENSITIVE;

/// All that can be named: `all`.
pub const EVERY: u32 = (1 << 21) - 1;

/// The flags that ask for a time.
pub const TIMES: u32 = TIMESTAMP | MONOTONIC_TIMESTAMP | STRICT_MONOTONIC_TIMESTAMP;

/// The bit of a flag.
pub fn bit(name: Atom) -> Option<u32> {
    ALL.iter().find(|(n, _)| *n == name).map(|(_, bit)| *bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert_eq!(ALL.iter().fold(0, |all, (_, bit)| all | bit), EVERY);
        assert_eq!(PROCESS | PORT, EVERY);
        assert_eq!(bit(am::call), Some(CALL));
        assert_eq!(bit(am::all), None);
    }
}
