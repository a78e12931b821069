//! Whether a collection of the one heap is to call other threads ([`crate::shared`]).
//!
//! Who is called while other programs want the processors may lose its own in the middle of its part, and then all wait for it, some milliseconds rather than none. Nobody
//! tells that beforehand. So the thread that begins alone notes how fast it is; if several then take longer than it would have, it stays alone for some collections, and for
//! twice as many each time that this is so again.

/// Collections without others, at most.
const LONGEST: u32 = 256;

/// What has been found.
#[derive(Default)]
pub(crate) struct Company {
    /// For so many collections nobody is called.
    alone: u32,
    /// The same, when that was last too slow.
    longest: u32,
}

/// Words that were copied, and how long that took.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) words: usize,
    pub(crate) ns: u64,
}

impl Company {
    /// A collection begins: may it call others?
    pub(crate) fn is_allowed(&mut self) -> bool {
        self.alone = self.alone.saturating_sub(1);
        self.alone == 0
    }

    /// Others were called.
    pub(crate) fn came(&mut self, alone: Pace, together: Pace) {
        // In so long one thread would have copied more.
        let is_slow = u128::from(together.ns) * alone.words as u128 > u128::from(alone.ns) * together.words as u128;
        self.longest = if is_slow { (2 * self.longest).clamp(2, LONGEST) } else { 0 };
        self.alone = self.longest;
    }
}

#[cfg(test)]
mod tests {
    use super::{Company, LONGEST, Pace};

    /// Collections until others are called again.
    fn until_called(company: &mut Company) -> u32 {
        (0..).find(|_| company.is_allowed()).unwrap()
    }

    #[test]
    fn who_is_slower_with_others_stays_alone_for_longer_and_longer() {
        let (alone, fast, slow) =
            (Pace { words: 100, ns: 1000 }, Pace { words: 400, ns: 2500 }, Pace { words: 400, ns: 4100 });
        let mut company = Company::default();
        assert_eq!(until_called(&mut company), 0);
        let mut waits = Vec::new();
        for _ in 0..10 {
            company.came(alone, slow);
            waits.push(until_called(&mut company));
        }
        assert_eq!(waits[..4], [1, 3, 7, 15]);
        assert_eq!(waits[9], LONGEST - 1);
        company.came(alone, fast);
        assert_eq!(until_called(&mut company), 0);
        company.came(alone, slow);
        assert_eq!(until_called(&mut company), 1);
    }
}
