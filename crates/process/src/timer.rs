//! The names of timers.

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

#[cfg(test)]
mod tests {
    use super::*;

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
