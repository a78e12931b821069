//! Time that a hypervisor takes from the cores: one of so many is away at a time.
//!
//! The cores of a group are away one after the other, each for [`AWAY_NS`], from the beginning to the end; so of each core's time the same part is
//! stolen. Who is away stops wherever it is, between two pieces: in the midst of a slice, of a search, or on its way back from sleep.

/// How long a core is away: what a hypervisor gives another guest in one go, some scheduling periods of Linux.
pub const AWAY_NS: u64 = 10_000_000;

/// Which cores are away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stolen {
    /// Cores of a group.
    pub one_of: u64,
}

impl Stolen {
    /// When a core that would have its turn at this time has it.
    pub fn back(self, core: usize, at: u64) -> u64 {
        let turn = at / AWAY_NS;
        if core as u64 % self.one_of == turn % self.one_of { (turn + 1) * AWAY_NS } else { at }
    }
}

#[cfg(test)]
mod tests {
    use super::{AWAY_NS, Stolen};

    #[test]
    fn one_of_eight_is_away_at_any_time_and_each_in_its_turn() {
        let stolen = Stolen { one_of: 8 };
        for turn in 0..16 {
            let at = turn * AWAY_NS + 5;
            let away: Vec<usize> = (0..16).filter(|core| stolen.back(*core, at) > at).collect();
            assert_eq!(away, [turn as usize % 8, turn as usize % 8 + 8]);
            assert_eq!(stolen.back(away[0], at), (turn + 1) * AWAY_NS);
        }
    }
}
