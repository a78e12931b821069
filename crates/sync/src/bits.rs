//! [`Bits`]: a set of small numbers that many threads change and search, 64 at a look; [`Adverts`]: which of many places have work.
//!
//! A word is a cache line of its own: numbers that are near each other share one, and are best given to what is near each other. Of `Bits` it
//! has 64 numbers, for few change and many look whether there is any; of `Adverts` 8.
//!
//! AD1. Who leaves work in a place stores that first, then comes a fence, then it looks whether the place is advertised, and says so if it is
//!      not. Who finds an advertised place empty takes the advert away, then comes a fence, then it looks into the place again, and puts the
//!      advert back if there is work after all. By sync/SL1 one of the two sees what the other has stored, so work that stays is
//!      advertised. A place without work may be advertised for a while: it costs a look.
//!
//! What was not done: lines of eight numbers for `Bits` too. Of 60 simulated schedulers that come to be idle for each request of a client, these waited for the lines for
//! 0.95 us a request instead of 1.23; but who looks whether there is any fetches eight lines, and Hackbench on 64 cores took 1.25 times as long (docs/scaling.md).
//! An advert that the owner takes back whenever its place becomes empty. Queues become empty all the time, and each
//! time a line that all look at would be written; here it is written when a look was in vain.

use crate::CachePadded;
use crate::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed, Ordering::SeqCst, fence};

const WORD: usize = u64::BITS as usize;

/// A set of numbers below a fixed one. All accesses are Relaxed: whoever uses it orders them.
#[derive(Debug)]
pub struct Bits(Box<[CachePadded<AtomicU64>]>);

impl Bits {
    /// An empty set of numbers below `limit`.
    pub fn new(limit: usize) -> Bits {
        Bits((0..limit.div_ceil(WORD)).map(|_| CachePadded::new(AtomicU64::new(0))).collect())
    }

    /// Adds a number.
    pub fn set(&self, number: usize) {
        self.0[number / WORD].fetch_or(1 << (number % WORD), Relaxed);
    }

    /// Takes a number out.
    pub fn clear(&self, number: usize) {
        self.0[number / WORD].fetch_and(!(1 << (number % WORD)), Relaxed);
    }

    /// Is a number in it?
    #[inline]
    pub fn has(&self, number: usize) -> bool {
        self.word(number / WORD) & 1 << (number % WORD) != 0
    }

    /// Those from 64 times `index` on, as bits.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.0[index].load(Relaxed)
    }

    /// Is there none?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| word.load(Relaxed) == 0)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.load(Relaxed).count_ones() as usize).sum()
    }
}

/// The places of the bits of a word that are set, in rising order.
pub fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

/// Which of many places have work (AD1). Eight that are near each other share a line: places come to have work, and have none, all the time,
/// and each change takes the line from all that look at it.
#[derive(Debug)]
pub struct Adverts(Box<[CachePadded<AtomicU8>]>);

/// Places to a line.
const NEAR: usize = u8::BITS as usize;

impl Adverts {
    /// For so many places, none of which has work.
    pub fn new(places: usize) -> Adverts {
        Adverts((0..places.div_ceil(NEAR)).map(|_| CachePadded::new(AtomicU8::new(0))).collect())
    }

    /// Is a place advertised?
    #[inline]
    pub fn has(&self, place: usize) -> bool {
        // Relaxed, all but the fence: AD1.
        self.0[place / NEAR].load(Relaxed) & 1 << (place % NEAR) != 0
    }

    fn set(&self, place: usize) {
        self.0[place / NEAR].fetch_or(1 << (place % NEAR), Relaxed);
    }

    /// The caller has left work in a place, and since then made a SeqCst fence.
    #[inline]
    pub fn advertise(&self, place: usize) {
        // Ordered by the caller's fence, which pairs with that in `withdraw` (AD1).
        if !self.has(place) {
            self.set(place);
        }
    }

    /// The caller has found no work in a place; `has_work` looks once more.
    pub fn withdraw(&self, place: usize, has_work: impl FnOnce() -> bool) {
        self.0[place / NEAR].fetch_and(!(1 << (place % NEAR)), Relaxed);
        // Pairs with the fence before `advertise` (AD1).
        fence(SeqCst);
        if has_work() {
            self.set(place);
        }
    }

    /// Those that are advertised of the places of a word's bits, the word being the `index`-th; all of them are to be places.
    #[inline]
    pub fn among(&self, index: usize, word: u64) -> u64 {
        let lines = (0..WORD / NEAR).filter(|line| (word >> (line * NEAR)) as u8 != 0);
        let advertised = |line: usize| u64::from(self.0[index * (WORD / NEAR) + line].load(Relaxed)) << (line * NEAR);
        lines.fold(0, |all, line| all | advertised(line)) & word
    }

    /// The places that are advertised from this one on.
    pub fn from(&self, least: usize) -> impl Iterator<Item = usize> {
        (least / NEAR..self.0.len()).flat_map(move |line| {
            let advertised = u64::from(self.0[line].load(Relaxed));
            ones(advertised).map(move |bit| line * NEAR + bit).filter(move |place| *place >= least)
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_in_their_words() {
        let bits = Bits::new(200);
        for number in [0, 63, 64, 130, 199] {
            bits.set(number);
        }
        assert_eq!((bits.word(0), bits.word(1), bits.word(2)), (1 | 1 << 63, 1, 1 << 2));
        assert_eq!((bits.len(), bits.has(130), bits.has(131)), (5, true, false));
        [0, 63, 64, 130, 199].into_iter().for_each(|number| bits.clear(number));
        assert!(bits.is_empty());
    }

    #[test]
    fn an_advert_goes_when_there_is_no_work() {
        let adverts = Adverts::new(2);
        adverts.advertise(1);
        adverts.withdraw(1, || true);
        assert!(adverts.has(1));
        adverts.withdraw(1, || false);
        assert!(!adverts.has(1));
    }

    #[test]
    fn adverts_are_found_in_rising_order_and_among_others() {
        let adverts = Adverts::new(130);
        [0, 7, 8, 63, 64, 129].into_iter().for_each(|place| adverts.advertise(place));
        assert_eq!(adverts.from(0).collect::<Vec<_>>(), [0, 7, 8, 63, 64, 129]);
        assert_eq!(adverts.from(8).collect::<Vec<_>>(), [8, 63, 64, 129]);
        assert_eq!(adverts.from(65).collect::<Vec<_>>(), [129]);
        let whole = u64::MAX;
        let words = [adverts.among(0, whole), adverts.among(1, whole), adverts.among(2, 0b11)];
        assert_eq!(words, [1 << 63 | 1 << 8 | 1 << 7 | 1, 1, 2]);
        assert_eq!(adverts.among(0, 1 << 8 | 1 << 9), 1 << 8);
    }
}

/// Caught when tried: no fence in `withdraw`, none before `advertise`; an AcqRel fence for either; a look before the advert is taken away,
/// or none.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Adverts;
    use crate::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, fence};
    use loom::thread;
    use std::sync::Arc;

    struct Shared {
        adverts: Adverts,
        work: AtomicUsize,
    }

    impl Shared {
        fn has_work(&self) -> bool {
            self.work.load(Relaxed) > 0
        }

        fn leave_work(&self) {
            self.work.fetch_add(1, Relaxed);
            fence(SeqCst);
            self.adverts.advertise(0);
        }

        /// A thief that finds the advert and nothing else.
        fn look(&self) {
            if self.adverts.has(0) && !self.has_work() {
                self.adverts.withdraw(0, || self.has_work());
            }
        }
    }

    fn check(thieves: usize, preemptions: usize) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.check(move || {
            let shared = Arc::new(Shared { adverts: Adverts::new(1), work: AtomicUsize::new(0) });
            // There was work before.
            shared.adverts.advertise(0);
            let thieves: Vec<_> = (0..thieves)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || shared.look())
                })
                .collect();
            shared.leave_work();
            thieves.into_iter().for_each(|thief| thief.join().unwrap());
            assert!(shared.adverts.has(0));
        });
    }

    #[test]
    fn loom_work_that_stays_is_advertised() {
        check(1, 4);
    }

    #[test]
    fn loom_work_that_stays_is_advertised_beside_two_thieves() {
        check(2, 2);
    }
}
