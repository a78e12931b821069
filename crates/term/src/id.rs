//! Identities of processes, ports and references of this node.
//!
//! A local pid is an immediate of 56 bits: the low 28 are the number that `pid_to_list/1` prints second, the rest the
//! serial it prints third. A reference has three numbers of 32 bits, of which the first uses 18 bits; the high bits of the
//! third say what it is for, so that a reference which has been bytes or text is as good as before.

use crate::word::Term;
use myriad_sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A process of this node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Pid(u64);

impl Pid {
    /// Bits of the number; the serial is above them. As many as OTP has, so that texts and external terms look alike.
    pub const NUMBER_BITS: u32 = 15;
    /// Bits of the serial that OTP has; here there may be more, as no pid comes again before all 56 bits are used up.
    pub const OTP_SERIAL_BITS: u32 = 13;

    /// A pid from number and serial.
    pub const fn new(number: u32, serial: u32) -> Pid {
        Pid((serial as u64) << Self::NUMBER_BITS | number as u64 & ((1 << Self::NUMBER_BITS) - 1))
    }

    /// A pid from its 56 bits.
    #[inline(always)]
    pub const fn from_data(data: u64) -> Pid {
        Pid(data & ((1 << 56) - 1))
    }

    /// The 56 bits.
    #[inline(always)]
    pub const fn data(self) -> u64 {
        self.0
    }

    /// The number printed second.
    pub const fn number(self) -> u32 {
        self.0 as u32 & ((1 << Self::NUMBER_BITS) - 1)
    }

    /// The number printed third.
    pub const fn serial(self) -> u32 {
        (self.0 >> Self::NUMBER_BITS) as u32
    }

    /// The term.
    #[inline(always)]
    pub const fn term(self) -> Term {
        Term::pid(self)
    }

    /// A process gets this pid.
    #[inline]
    pub fn note_made(self) {
        if self.serial() >> Self::OTP_SERIAL_BITS != 0 {
            // Relaxed: a bound, raised before anybody can have the pid.
            HIGHEST_SERIAL.fetch_max(self.serial(), Ordering::Relaxed);
        }
    }

    /// Can a text or an external term mean this pid? One that OTP has no bits for is good only if this VM has made that many processes.
    pub fn is_plausible(self) -> bool {
        // Relaxed: as in `note_made`.
        self.serial() >> Self::OTP_SERIAL_BITS == 0 || self.serial() <= HIGHEST_SERIAL.load(Ordering::Relaxed)
    }
}

/// The highest serial of a pid and the highest number of a port that have been made, of those that OTP has no bits for.
static HIGHEST_SERIAL: AtomicU32 = AtomicU32::new(0);
static HIGHEST_PORT: AtomicU64 = AtomicU64::new(0);

/// A port of this node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Port(u64);

impl Port {
    /// Bits of a number that OTP has; here there may be more.
    pub const OTP_NUMBER_BITS: u32 = 28;

    /// A port from its number (56 bits).
    #[inline(always)]
    pub const fn from_number(number: u64) -> Port {
        Port(number & ((1 << 56) - 1))
    }

    /// The number that `port_to_list/1` prints.
    #[inline(always)]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The term.
    pub const fn term(self) -> Term {
        Term::port(self)
    }

    /// A port gets this number.
    pub fn note_made(self) {
        if self.0 >> Self::OTP_NUMBER_BITS != 0 {
            // Relaxed: as with pids.
            HIGHEST_PORT.fetch_max(self.0, Ordering::Relaxed);
        }
    }

    /// As [`Pid::is_plausible`].
    pub fn is_plausible(self) -> bool {
        // Relaxed: as with pids.
        self.0 >> Self::OTP_NUMBER_BITS == 0 || self.0 <= HIGHEST_PORT.load(Ordering::Relaxed)
    }
}

/// The numbers of a reference of this node, most significant last, as `ref_to_list/1` prints them last to first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RefNumbers(pub [u32; 3]);

/// What a reference is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefUse {
    /// To be unique: no high bit of the third number.
    Plain,
    /// It stands for an object of the VM ([`crate::magic`]): 001.
    Magic,
    /// Messages can be sent to it: 01.
    Alias,
    /// It stands for a timer: 1.
    Timer,
}

impl RefUse {
    /// The bit of the third number that says so; the bits below it are free.
    pub const fn mark(self) -> u32 {
        match self {
            RefUse::Plain => 0,
            RefUse::Magic => 1 << 29,
            RefUse::Alias => 1 << 30,
            RefUse::Timer => 1 << 31,
        }
    }
}

impl RefNumbers {
    /// Bits of the first number.
    pub const FIRST_BITS: u32 = 18;

    /// The `value`-th reference, one that is only unique.
    pub const fn nth(value: u64) -> RefNumbers {
        let first = value as u32 & ((1 << Self::FIRST_BITS) - 1);
        RefNumbers([first, (value >> Self::FIRST_BITS) as u32, (value >> (Self::FIRST_BITS + 32)) as u32])
    }

    /// What it is for.
    #[inline]
    pub const fn used_for(self) -> RefUse {
        match self.0[2].leading_zeros() {
            0 => RefUse::Timer,
            1 => RefUse::Alias,
            2 => RefUse::Magic,
            _ => RefUse::Plain,
        }
    }

    /// The same numbers, of an object of the VM.
    pub const fn magic(self) -> RefNumbers {
        let [first, second, third] = self.0;
        RefNumbers([first, second, third & (RefUse::Magic.mark() - 1) | RefUse::Magic.mark()])
    }

    /// As the two words of a boxed reference.
    pub const fn to_words(self) -> [u64; 2] {
        let [a, b, c] = self.0;
        [a as u64 | (b as u64) << 32, c as u64]
    }

    /// From the two words of a boxed reference.
    pub const fn from_words(low: u64, high: u64) -> RefNumbers {
        RefNumbers([low as u32, (low >> 32) as u32, high as u32])
    }
}
