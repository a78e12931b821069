//! Lines that cores have asked for ahead and that are still on their way.
//!
//! A core keeps an entry for each until it comes (hardware's line fill buffers or miss address buffers), and has so many entries. One that asks
//! when all are in use waits until the earliest comes: hardware, whose queue of loads goes on a little longer, waits less.

/// A fetch under way.
#[derive(Clone, Copy)]
struct Fetch {
    line: usize,
    /// When it comes (nanoseconds of virtual time).
    end: u64,
}

/// Of all cores.
pub struct Fetches {
    cores: Vec<Vec<Fetch>>,
}

impl Fetches {
    /// For so many cores.
    pub fn new(cores: usize) -> Fetches {
        Fetches { cores: vec![Vec::new(); cores] }
    }

    /// When a core that asks now for a line can begin to fetch it, with at most `most` at a time.
    pub fn begin(&mut self, core: usize, now: u64, most: usize) -> u64 {
        let fetches = &mut self.cores[core];
        let on_their_way = |fetches: &mut Vec<Fetch>, at| fetches.retain(|fetch| fetch.end > at);
        on_their_way(fetches, now);
        if fetches.len() < most {
            return now;
        }
        let earliest = fetches.iter().map(|fetch| fetch.end).min().unwrap_or(now);
        on_their_way(fetches, earliest);
        earliest
    }

    /// A core fetches a line, which comes at `end`.
    pub fn add(&mut self, core: usize, line: usize, end: u64) {
        self.cores[core].push(Fetch { line, end });
    }

    /// When a line comes that a core asked for, which now wants it; `None`: it is not on its way.
    #[inline]
    pub fn take(&mut self, core: usize, line: usize, now: u64) -> Option<u64> {
        let fetches = &mut self.cores[core];
        if fetches.is_empty() {
            return None;
        }
        fetches.retain(|fetch| fetch.end > now);
        let found = fetches.iter().position(|fetch| fetch.line == line)?;
        Some(fetches.swap_remove(found).end)
    }
}
