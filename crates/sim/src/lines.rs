//! The directory of cache lines: which core has which line, and what an access costs.
//!
//! The protocol is MESI as a program sees it (Papamarcos and Patel, 1984): a line is in the caches of several cores that read it, or in one
//! alone, which then may write. Who has no copy gets one from a core that has it; who writes takes all the others' copies away, and waits
//! for the farthest. Moving a line that somebody has alone, or taking it, is done for one core at a time; copies of a line that nobody
//! writes are not waited for. Caches have no size. The first core that comes to a line has it for nothing.
//!
//! A core may ask for a line that it is about to access (`fetches.rs`): the fetch begins then, and later the core waits for what is left of it.
//!
//! Lines are found by address and never listed, so that where a run's memory lies does not show.

use crate::busy::Busy;
use crate::fetches::Fetches;
use crate::topology::Topology;
use myriad_sync::cost::Access;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes of a line, as a power of two.
const LINE_BITS: u32 = 6;
/// So many lines are known; when there are more, all are forgotten.
const MOST_LINES: usize = 1 << 20;

/// Of lines asked for ahead a core begins to fetch the next one so much later. On a Zen 3, each line after the first of eight that another
/// core wrote took 3 to 8 ns (docs/simulator.md, "Calibration").
const NEXT_NS: u64 = 5;

/// Spreads addresses by multiplication (Knuth, 6.4).
#[derive(Default)]
pub struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte));
        }
    }
    fn write_usize(&mut self, number: usize) {
        let product = (self.0 ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}

/// A table by address.
pub type ByAddress<V> = HashMap<usize, V, BuildHasherDefault<Spread>>;

#[derive(Clone, Copy)]
struct Line {
    /// The core that wrote last, or came first.
    owner: u16,
    /// The owner has it alone.
    alone: bool,
    busy: Busy,
}

/// All lines that were accessed.
pub struct Lines {
    numbers: ByAddress<u32>,
    lines: Vec<Line>,
    /// For each line the cores that have a copy: bits, so many words for each.
    copies: Vec<u64>,
    words: usize,
    /// What cores have asked for ahead.
    fetches: Fetches,
}

/// What an access took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Took {
    /// Until the line was free.
    pub waited_ns: u64,
    /// Until it was there.
    pub transfer_ns: u64,
}

impl Lines {
    /// For so many cores.
    pub fn new(cores: usize) -> Lines {
        Lines {
            numbers: ByAddress::default(),
            lines: Vec::new(),
            copies: Vec::new(),
            words: cores.div_ceil(64),
            fetches: Fetches::new(cores),
        }
    }

    /// A core's access at a time. A line that it has asked for ahead it waits for, if nobody has taken it away since.
    pub fn access(&mut self, topology: &Topology, core: usize, now: u64, address: usize, access: Access) -> Took {
        let line = address >> LINE_BITS;
        match self.fetches.take(core, line, now) {
            Some(there) if self.has_copy(core, line) => {
                let took = self.get(topology, core, there, line, access);
                Took { waited_ns: there - now + took.waited_ns, ..took }
            }
            _ => self.get(topology, core, now, line, access),
        }
    }

    /// A core asks at a time for a line that it is about to access, and goes on. Returns how long that keeps it: nothing if it has the line.
    /// Where no more fetches can be under way it waits until one of them ends.
    pub fn prefetch(&mut self, topology: &Topology, core: usize, now: u64, address: usize, access: Access) -> u64 {
        let line = address >> LINE_BITS;
        if self.has_copy(core, line) && (access == Access::Read || self.is_alone(line)) {
            return 0;
        }
        let begin = self.fetches.begin(core, now, topology.fetches);
        let took = self.get(topology, core, begin, line, access);
        let fetch_ns = took.waited_ns + took.transfer_ns;
        self.fetches.add(core, line, begin + fetch_ns);
        begin - now + fetch_ns.min(NEXT_NS)
    }

    /// Does a core have the line, or is it the first that comes to it?
    fn has_copy(&self, core: usize, line: usize) -> bool {
        self.numbers.get(&line).is_none_or(|&number| {
            let word = self.copies[number as usize * self.words + core / 64];
            word & 1 << (core % 64) != 0
        })
    }

    /// Has one core alone the line, or does nobody know it yet?
    fn is_alone(&self, line: usize) -> bool {
        self.numbers.get(&line).is_none_or(|&number| self.lines[number as usize].alone)
    }

    /// A core gets a line for an access at a time.
    fn get(&mut self, topology: &Topology, core: usize, now: u64, line: usize, access: Access) -> Took {
        let number = self.number(line, core);
        let copies = &mut self.copies[number * self.words..][..self.words];
        let line = &mut self.lines[number];
        let (word, bit) = (core / 64, 1 << (core % 64));
        let has_copy = copies[word] & bit != 0;
        if has_copy && (access == Access::Read || line.alone) {
            return Took::default();
        }
        let transfer_ns = match access {
            Access::Read if line.alone => topology.transfer_ns(usize::from(line.owner), core),
            Access::Read => distances(topology, copies, core).min().unwrap_or(0),
            Access::Write | Access::Update => distances(topology, copies, core).max().unwrap_or(0),
        };
        let moves = line.alone || access != Access::Read;
        if access == Access::Read {
            line.alone = false;
        } else {
            copies.fill(0);
            (line.owner, line.alone) = (core as u16, true);
        }
        copies[word] |= bit;
        if !moves || transfer_ns == 0 {
            return Took { waited_ns: 0, transfer_ns };
        }
        let start = line.busy.first_gap(now, transfer_ns);
        line.busy.add(start, start + transfer_ns, transfer_ns / 2);
        Took { waited_ns: start - now, transfer_ns }
    }

    /// The number of a line; one that is not known yet becomes the core's alone.
    fn number(&mut self, line: usize, core: usize) -> usize {
        if self.lines.len() >= MOST_LINES {
            self.numbers.clear();
            self.lines.clear();
            self.copies.clear();
        }
        let (lines, copies, words) = (&mut self.lines, &mut self.copies, self.words);
        *self.numbers.entry(line).or_insert_with(|| {
            lines.push(Line { owner: core as u16, alone: true, busy: Busy::default() });
            let first = copies.len();
            copies.resize(first + words, 0);
            copies[first + core / 64] = 1 << (core % 64);
            (lines.len() - 1) as u32
        }) as usize
    }
}

/// What the line takes to a core from each of the others that have a copy.
fn distances(topology: &Topology, copies: &[u64], core: usize) -> impl Iterator<Item = u64> {
    cores_of(copies).filter(move |other| *other != core).map(move |other| topology.transfer_ns(other, core))
}

/// The cores whose bits are set.
fn cores_of(copies: &[u64]) -> impl Iterator<Item = usize> {
    copies.iter().enumerate().flat_map(|(word, &bits)| {
        let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|bits| *bits != 0);
        std::iter::successors(Some(bits).filter(|bits| *bits != 0), rest)
            .map(move |bits| word * 64 + bits.trailing_zeros() as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::{Lines, NEXT_NS, Took};
    use crate::topology::Topology;
    use myriad_sync::cost::Access::{self, Read, Update, Write};

    fn machine() -> Topology {
        Topology {
            cores: 128,
            core_threads: 1,
            mate_stride: 0,
            mate_slowdown: 1.0,
            socket_cores: 64,
            module_cores: 8,
            mesh_width: 0,
            module_transfer_ns: 10.0,
            socket_transfer_ns: 100.0,
            remote_transfer_ns: 200.0,
            hop_ns: 0.0,
            atomic_ns: 0.0,
            fetches: 4,
            least_hold_ns: 0.0,
        }
    }

    /// What accesses take, all of one line and at one time.
    fn took<const N: usize>(accesses: [(usize, Access); N]) -> [u64; N] {
        let (machine, mut lines) = (machine(), Lines::new(128));
        accesses.map(|(core, access)| lines.access(&machine, core, 1000, 0x1040, access).transfer_ns)
    }

    #[test]
    fn a_line_of_one_core_costs_nothing() {
        assert_eq!(took([(3, Read), (3, Write), (3, Update), (3, Read)]), [0; 4]);
    }

    #[test]
    fn a_reader_gets_the_nearest_copy_and_keeps_it() {
        assert_eq!(took([(0, Write), (64, Read), (64, Read), (65, Read), (0, Read)]), [0, 200, 0, 10, 0]);
    }

    #[test]
    fn a_writer_waits_for_the_farthest_copy_once() {
        assert_eq!(
            took([(0, Read), (1, Read), (64, Read), (0, Write), (0, Update), (1, Read)]),
            [0, 10, 200, 200, 0, 10]
        );
    }

    #[test]
    fn a_line_moves_for_one_core_at_a_time() {
        let (machine, mut lines) = (machine(), Lines::new(128));
        let mut add = |core, now| lines.access(&machine, core, now, 0x1000, Update);
        assert_eq!(add(0, 5), Took::default());
        for core in 1..5 {
            let waited_ns = (core as u64 - 1) * 10;
            assert_eq!(add(core, 5), Took { waited_ns, transfer_ns: 10 });
        }
    }

    /// Core 0 writes so many lines, and core 8 reads them all from 1000 on, asked for ahead or not: what that takes core 8.
    fn reading(lines: usize, ahead: bool) -> u64 {
        let (machine, mut memory) = (machine(), Lines::new(128));
        let addresses = || (0..lines).map(|line| 0x1000 + line * 64);
        for address in addresses() {
            memory.access(&machine, 0, 0, address, Write);
        }
        let mut now = 1000;
        if ahead {
            for address in addresses() {
                now += memory.prefetch(&machine, 8, now, address, Read);
            }
        }
        for address in addresses() {
            let took = memory.access(&machine, 8, now, address, Read);
            now += took.waited_ns + took.transfer_ns;
        }
        now - 1000
    }

    #[test]
    fn lines_asked_for_ahead_come_together() {
        for lines in 1..=4 {
            assert_eq!(reading(lines, false), lines as u64 * 100);
            assert_eq!(reading(lines, true), 100 + (lines as u64 - 1) * NEXT_NS);
        }
        assert_eq!(reading(3, true), reading(3, true));
    }

    #[test]
    fn only_so_many_fetches_are_under_way() {
        // Four at a time: the fifth begins when the first has come, and the sixth when the second has.
        assert_eq!(reading(5, true), 200);
        assert_eq!(reading(8, true), 200 + 3 * NEXT_NS);
        assert_eq!(reading(9, true), 300);
    }

    #[test]
    fn a_core_that_comes_late_waits_for_nothing() {
        let (machine, mut lines) = (machine(), Lines::new(128));
        lines.access(&machine, 0, 0, 0x1000, Write);
        assert_eq!(lines.prefetch(&machine, 8, 1000, 0x1000, Read), NEXT_NS);
        // It is on its way, or there.
        assert_eq!(lines.prefetch(&machine, 8, 1005, 0x1000, Read), 0);
        assert_eq!(lines.access(&machine, 8, 1070, 0x1008, Read), Took { waited_ns: 30, transfer_ns: 0 });
        assert_eq!(lines.prefetch(&machine, 8, 1100, 0x1000, Read), 0);
        assert_eq!(lines.access(&machine, 8, 1100, 0x1000, Read), Took::default());
    }

    #[test]
    fn a_line_that_was_taken_away_is_fetched_again() {
        let (machine, mut lines) = (machine(), Lines::new(128));
        lines.access(&machine, 0, 0, 0x1000, Write);
        lines.prefetch(&machine, 8, 1000, 0x1000, Read);
        assert_eq!(lines.access(&machine, 0, 1000, 0x1000, Write), Took { waited_ns: 100, transfer_ns: 100 });
        assert_eq!(lines.access(&machine, 8, 1300, 0x1000, Read), Took { waited_ns: 0, transfer_ns: 100 });
        // And so while its fetch was under way.
        lines.access(&machine, 0, 2000, 0x1000, Write);
        lines.prefetch(&machine, 8, 3000, 0x1000, Read);
        lines.access(&machine, 0, 3000, 0x1000, Write);
        assert_eq!(lines.access(&machine, 8, 3010, 0x1000, Read), Took { waited_ns: 190, transfer_ns: 100 });
    }

    #[test]
    fn a_writer_of_a_line_that_it_asked_for_still_takes_the_others_copies() {
        let (machine, mut lines) = (machine(), Lines::new(128));
        lines.access(&machine, 0, 0, 0x1000, Write);
        lines.prefetch(&machine, 8, 1000, 0x1000, Read);
        assert_eq!(lines.access(&machine, 8, 1060, 0x1000, Write), Took { waited_ns: 40, transfer_ns: 100 });
    }

    #[test]
    fn a_line_asked_for_to_be_written_moves_once() {
        let (machine, mut lines) = (machine(), Lines::new(128));
        lines.access(&machine, 0, 0, 0x1000, Write);
        lines.access(&machine, 1, 0, 0x1000, Read);
        assert_eq!(lines.prefetch(&machine, 8, 1000, 0x1000, Write), NEXT_NS);
        assert_eq!(lines.access(&machine, 8, 1060, 0x1000, Read), Took { waited_ns: 40, transfer_ns: 0 });
        assert_eq!(lines.access(&machine, 8, 1100, 0x1000, Update), Took::default());
        // One that it shares is not its own yet.
        lines.access(&machine, 0, 2000, 0x1000, Read);
        assert_eq!(lines.prefetch(&machine, 8, 3000, 0x1000, Write), NEXT_NS);
        assert_eq!(lines.access(&machine, 8, 3100, 0x1000, Write), Took::default());
    }

    #[test]
    fn a_line_of_nobody_is_not_asked_for() {
        let (machine, mut lines) = (machine(), Lines::new(128));
        assert_eq!(lines.prefetch(&machine, 8, 0, 0x1000, Read), 0);
        assert_eq!(lines.access(&machine, 0, 0, 0x1000, Write), Took::default());
    }
}
