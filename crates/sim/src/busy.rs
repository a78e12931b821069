//! When something that serves one core at a time is busy: a line on its way, a lock that is held.
//!
//! Cores take turns in pieces, so one may come later in the run and earlier in virtual time than another. It must not queue behind what is
//! in its future: it takes the first gap after its own time.

/// So many spans are kept. A thing that is never free has one, for spans that touch become one.
const SPANS: usize = 6;

/// The last spans of virtual time (nanoseconds) in which the thing was busy, in order, none touching another.
#[derive(Clone, Copy, Default, Debug)]
pub struct Busy {
    spans: [(u64, u64); SPANS],
    len: usize,
}

impl Busy {
    /// The first time, not before `from`, at which it is free for so long.
    pub fn first_gap(&self, from: u64, long: u64) -> u64 {
        let mut at = from;
        for &(start, end) in &self.spans[..self.len] {
            if end > at {
                if start >= at + long.max(1) {
                    break;
                }
                at = end;
            }
        }
        at
    }

    /// It is busy from `start` until `end`. Spans that overlap become one, and those with less than `least` between them, in which nobody
    /// could use it. The span that ends first is forgotten if there are too many.
    pub fn add(&mut self, mut start: u64, mut end: u64, least: u64) {
        let mut kept = [(0, 0); SPANS + 1];
        let mut len = 0;
        let mut placed = false;
        for &span in &self.spans[..self.len] {
            if span.1 + least < start {
                kept[len] = span;
                len += 1;
            } else if span.0 > end + least {
                if !placed {
                    kept[len] = (start, end);
                    len += 1;
                    placed = true;
                }
                kept[len] = span;
                len += 1;
            } else {
                start = start.min(span.0);
                end = end.max(span.1);
            }
        }
        if !placed {
            kept[len] = (start, end);
            len += 1;
        }
        let forgotten = usize::from(len > SPANS);
        self.len = len - forgotten;
        self.spans[..self.len].copy_from_slice(&kept[forgotten..len]);
    }
}

#[cfg(test)]
mod tests {
    use super::{Busy, SPANS};

    #[test]
    fn a_gap_before_the_future_is_taken() {
        let mut busy = Busy::default();
        busy.add(100, 200, 0);
        busy.add(300, 400, 0);
        assert_eq!([0, 100, 150, 200, 250, 400].map(|at| busy.first_gap(at, 50)), [0, 200, 200, 200, 250, 400]);
        assert_eq!([60, 210, 260].map(|at| busy.first_gap(at, 60)), [200, 210, 400]);
        assert_eq!(busy.first_gap(0, 101), 400);
    }

    #[test]
    fn what_touches_is_one_span() {
        let mut busy = Busy::default();
        for i in 0..1000 {
            busy.add(i * 10, i * 10 + 10, 0);
        }
        assert_eq!((busy.len, busy.first_gap(3, 1)), (1, 10_000));
        busy.add(10_005, 10_010, 5);
        assert_eq!((busy.len, busy.first_gap(3, 1)), (1, 10_010));
    }

    #[test]
    fn spans_stay_in_order_and_the_oldest_goes() {
        let mut busy = Busy::default();
        for i in (0..SPANS as u64 + 2).rev() {
            busy.add(i * 100, i * 100 + 50, 0);
        }
        assert!(busy.spans.is_sorted());
        assert_eq!(busy.len, SPANS);
        assert_eq!(busy.first_gap(710, 60), 750);
    }
}
