//! The names of timers, and the time of a receive.

use myriad_term::{RefNumbers, RefUse};
use std::num::NonZeroU32;

/// A timer, to cancel or read it: its wheel, its place there, and the generation of the place.
///
/// References of timers are numbered by this ([`TimerId::reference`]), so that no table from references to timers is needed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TimerId {
    /// The wheel's number and one, so that an `Option` costs nothing.
    wheel: NonZeroU32,
    /// Its place there.
    pub slot: u32,
    /// How often the place had been used before.
    pub generation: u64,
}

/// Bits of the first number that the wheel takes.
const WHEEL_BITS: u32 = 11;

impl TimerId {
    /// The timer at a place of a wheel, by the wheel's number from 0.
    pub const fn new(wheel: u32, slot: u32, generation: u64) -> TimerId {
        debug_assert!(wheel < 1 << WHEEL_BITS);
        TimerId { wheel: NonZeroU32::MIN.saturating_add(wheel), slot, generation }
    }

    /// The number of its wheel.
    pub const fn wheel(self) -> usize {
        self.wheel.get() as usize - 1
    }

    /// The numbers of its reference.
    pub const fn reference(self) -> RefNumbers {
        let low = RefNumbers::FIRST_BITS - WHEEL_BITS;
        let first = (self.wheel.get() - 1) << low | self.generation as u32 & ((1 << low) - 1);
        RefNumbers([first, self.slot, RefUse::Timer.mark() | (self.generation >> low) as u32])
    }

    /// The timer that has this reference, if it is one's.
    pub const fn of_reference(numbers: RefNumbers) -> Option<TimerId> {
        let RefNumbers([first, slot, third]) = numbers;
        let RefUse::Timer = numbers.used_for() else { return None };
        let low = RefNumbers::FIRST_BITS - WHEEL_BITS;
        let generation = ((third & !RefUse::Timer.mark()) as u64) << low | (first & ((1 << low) - 1)) as u64;
        Some(TimerId::new(first >> low, slot, generation))
    }
}

/// Wheels on which timers of a process may stand, in the one byte that a process has room for: those whose numbers differ by a multiple of
/// [`WheelSet::APART`] are in the set together.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WheelSet(u8);

impl WheelSet {
    /// So many wheels in a row are told apart.
    pub const APART: usize = u8::BITS as usize;

    /// This wheel, and those that are not told apart from it.
    pub const fn of(wheel: usize) -> WheelSet {
        WheelSet(1 << (wheel % Self::APART))
    }

    /// Is this wheel in the set?
    pub const fn contains(self, wheel: usize) -> bool {
        self.0 & Self::of(wheel).0 != 0
    }

    /// Is no wheel in the set?
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set as bits, of which those of two sets can be united by `|`.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set with these [`bits`](Self::bits).
    pub const fn from_bits(bits: u8) -> WheelSet {
        WheelSet(bits)
    }
}

/// The time of the receive that a process is in, in one of four states: the receive has not read it yet (`None`), it is infinite, a
/// timer is set, it is over. Each process has one, so it takes no more than a timer's name.
#[derive(Default)]
pub struct ReceiveTimer(Option<TimerId>);

/// Names that no timer has, as no wheel has this number.
const INFINITE: TimerId = TimerId { wheel: NonZeroU32::MAX, slot: 0, generation: 0 };
const OVER: TimerId = TimerId { wheel: NonZeroU32::MAX, slot: 1, generation: 0 };

impl ReceiveTimer {
    /// The receive has read its time, once: infinite, or that of `timer`, which is set.
    pub fn arm(&mut self, timer: Option<TimerId>) {
        debug_assert!(self.0.is_none(), "the time of a receive is read once");
        self.0 = Some(timer.unwrap_or(INFINITE));
    }

    /// A timer of a receive has fired: if it is this one's, its time is over.
    pub fn fire(&mut self, timer: TimerId) {
        if self.0 == Some(timer) {
            self.0 = Some(OVER);
        }
    }

    /// The receive is over. A timer that is still set is to be cancelled.
    #[must_use]
    pub fn end(&mut self) -> Option<TimerId> {
        self.0.take().filter(|timer| timer.wheel != NonZeroU32::MAX)
    }

    /// Has the receive read its time?
    pub fn is_armed(&self) -> bool {
        self.0.is_some()
    }

    /// Is its time over?
    pub fn has_fired(&self) -> bool {
        self.0 == Some(OVER)
    }

    /// Is a timer set?
    pub fn is_set(&self) -> bool {
        self.0.is_some_and(|timer| timer.wheel != NonZeroU32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_wheels_has_those_put_in() {
        let both = WheelSet::from_bits(WheelSet::of(2).bits() | WheelSet::of(13).bits());
        let contained: Vec<usize> = (0..16).filter(|wheel| both.contains(*wheel)).collect();
        assert_eq!(contained, [2, 5, 10, 13], "5 and 10 are not told apart from them");
        assert!(WheelSet::default().is_empty() && !both.is_empty());
    }

    #[test]
    fn references_name_their_timers() {
        for id in
            [TimerId::new(0, 0, 1), TimerId::new(1023, 1 << 27, (1 << 38) - 1), TimerId::new(5, u32::MAX, 0x1234_5678)]
        {
            let numbers = id.reference();
            assert!(numbers.0[0] < 1 << RefNumbers::FIRST_BITS);
            assert_eq!(TimerId::of_reference(numbers), Some(id));
        }
        assert_eq!(TimerId::of_reference(RefNumbers([1, 2, 3])), None);
    }
}
