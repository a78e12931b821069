//! The priorities of processes.

use myriad_term::{Atom, Term, am};

/// One of 32 levels, each of which goes before those with higher numbers (Hedqvist 1998, 5.2.6, who has these numbers for system tasks, high,
/// normal and low). Erlang's four names stand for four of them.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Priority(u8);

/// How many levels there are.
pub const LEVELS: usize = 32;

/// The part of the levels to which a priority belongs: one for each of Erlang's names.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Band {
    /// Above `high`.
    Max = 0,
    /// From `high` on.
    High = 1,
    /// From `normal` on.
    Normal = 2,
    /// From `low` on: passed over many times, but not for ever.
    Low = 3,
}

/// How many bands there are.
pub const BANDS: usize = 4;

/// All bands, the most urgent first.
pub const ALL_BANDS: [Band; BANDS] = [Band::Max, Band::High, Band::Normal, Band::Low];

impl Priority {
    /// `max`
    pub const MAX: Priority = Priority(5);
    /// `high`
    pub const HIGH: Priority = Priority(15);
    /// `normal`
    pub const NORMAL: Priority = Priority(20);
    /// `low`
    pub const LOW: Priority = Priority(30);

    /// By its level; `None`: there is no such level.
    pub const fn of_level(level: usize) -> Option<Priority> {
        if level < LEVELS { Some(Priority(level as u8)) } else { None }
    }

    /// By Erlang's name for it; `None`: there is no such name.
    pub fn named(name: Atom) -> Option<Priority> {
        Some(match name {
            am::max => Priority::MAX,
            am::high => Priority::HIGH,
            am::normal => Priority::NORMAL,
            am::low => Priority::LOW,
            _ => return None,
        })
    }

    /// Erlang's name for it, if it has one.
    pub fn name(self) -> Option<Atom> {
        Some(match self {
            Priority::MAX => am::max,
            Priority::HIGH => am::high,
            Priority::NORMAL => am::normal,
            Priority::LOW => am::low,
            _ => return None,
        })
    }

    /// As Erlang sees it: a name, or the number of a level that has none.
    pub fn term(self) -> Term {
        self.name().map_or(Term::small(i64::from(self.0)), Atom::term)
    }

    pub(crate) const fn from_bits(bits: u8) -> Priority {
        debug_assert!((bits as usize) < LEVELS);
        Priority(bits)
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// Its number.
    #[inline]
    pub const fn level(self) -> usize {
        self.0 as usize
    }

    /// The levels that it gives way to before its slice is over, as bits. A low one has its turn beside normal ones.
    #[inline]
    pub const fn gives_way_to(self) -> u32 {
        match self.band() {
            Band::Low => Band::Max.levels() | Band::High.levels(),
            _ => (1 << self.0) - 1,
        }
    }

    /// The part of the levels to which it belongs.
    pub const fn band(self) -> Band {
        match self.0 {
            level if level >= Priority::LOW.0 => Band::Low,
            level if level >= Priority::NORMAL.0 => Band::Normal,
            level if level >= Priority::HIGH.0 => Band::High,
            _ => Band::Max,
        }
    }
}

impl Band {
    /// The levels that belong to it, as bits.
    pub const fn levels(self) -> u32 {
        const fn below(level: Priority) -> u32 {
            (1 << level.0) - 1
        }
        match self {
            Band::Max => below(Priority::HIGH),
            Band::High => below(Priority::NORMAL) & !below(Priority::HIGH),
            Band::Normal => below(Priority::LOW) & !below(Priority::NORMAL),
            Band::Low => !below(Priority::LOW),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_levels_lead_to_each_other() {
        for priority in [Priority::MAX, Priority::HIGH, Priority::NORMAL, Priority::LOW] {
            assert_eq!(priority.name().and_then(Priority::named), Some(priority));
            assert_eq!(Priority::of_level(priority.level()), Some(priority));
        }
        assert_eq!((Priority::of_level(LEVELS), Priority::of_level(31).and_then(Priority::name)), (None, None));
    }

    #[test]
    fn each_level_is_in_one_band() {
        for level in 0..LEVELS {
            let band = Priority::of_level(level).unwrap().band();
            for other in ALL_BANDS {
                assert_eq!(other.levels() & 1 << level != 0, other == band, "{level}");
            }
        }
    }
}
