//! [`Ledger`]: what came and went, by number and size, told by the thread that each thing came by.
//!
//! A [`ShardedTally`](crate::ShardedTally) knows how much is there in all. What one thread takes and another gives back makes each of its shards
//! wrong, one more with every thing. Here who takes a thing gets to know its own *account* ([`Account`]), keeps that name with the thing, and names
//! it on giving back.
//!
//! LG1. A thread's page is written by that thread alone ([`slot::own`]): a load and a store do. That holds for things of other threads' accounts,
//!      too: who gives one back notes on its own page how much it has *settled* for that account. What an account holds is what its thread has
//!      taken and not given back itself, less what all have settled for it. So there is no read-modify-write anywhere, and no line that two
//!      threads write. Threads without a page of their own share one, which they change by read-modify-writes.
//! LG2. A thing may change its account ([`Ledger::adopt`]): the old account is settled, the new one takes it.
//!
//! Relaxed everywhere, but for what [`Ledger::now`] says: a ledger orders nothing. A sum that races changes may have seen any of them, and is never
//! below nothing; when nobody changes the ledger it is exact.

use crate::{
    atomic::{
        AtomicI64,
        Ordering::{Acquire, Relaxed},
        fence,
    },
    counter::{Add, OWNED, Tally, add_alone, add_shared},
    pad::CachePadded,
    peak::{Era, Highest, Peak},
    published::Published,
    slot,
};
use std::{iter::once, ptr::NonNull};

/// Whose account a thing is on: a thread's, by its number, or that of the threads that have no page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Account(u16);

impl Account {
    /// That of the threads that have no page of their own.
    pub const SHARED: Account = Account(OWNED as u16);
    /// Accounts have numbers of so many bits.
    pub const BITS: u32 = 11;

    /// The calling thread's.
    #[inline]
    pub fn own() -> Account {
        slot::own(OWNED).map_or(Account::SHARED, |index| Account(index as u16))
    }

    /// Its number, of [`Account::BITS`] bits.
    #[inline(always)]
    pub fn number(self) -> u16 {
        self.0
    }

    /// The account with a number.
    #[inline(always)]
    pub fn of_number(number: u16) -> Account {
        debug_assert!(usize::from(number) <= OWNED, "there is no account {number}");
        Account(number)
    }

    /// Those that anything can be on at the moment.
    pub fn all() -> impl Iterator<Item = Account> {
        (0..slot::given().min(OWNED)).chain(once(OWNED)).map(|index| Account(index as u16))
    }
}

const _: () = assert!(OWNED < 1 << Account::BITS);

/// What a thread has settled for another's account.
#[derive(Debug)]
struct Settled {
    number: AtomicI64,
    size: AtomicI64,
}

/// Accounts whose settlements are taken together, when the first of them is needed.
const RUN: usize = 64;
const RUNS: usize = OWNED / RUN + 1;

/// What a thread writes; what each change is to, the limit of the peak included, is one cache line.
#[derive(Debug)]
#[repr(C)]
struct Page {
    /// Calls by this thread.
    came: AtomicI64,
    went: AtomicI64,
    /// Of this thread's account: what it took, and did not give back itself.
    size: AtomicI64,
    peak: Peak,
    /// By ranges of sizes: what came by this thread less what went by it, whosever it was.
    ranges: [AtomicI64; RANGES],
    settled: [Published<[Settled; RUN]>; RUNS],
}

/// Ranges of sizes that are told apart.
const RANGES: usize = 256;

/// The range of a size: four to each power of two, and each size by itself below eight.
#[inline(always)]
fn range(size: usize) -> usize {
    let shift = (size | 4).ilog2() as usize - 2;
    // All numbers there are; it saves a comparison.
    ((size >> shift) + 4 * shift) % RANGES
}

/// The least size of a range.
fn least(range: usize) -> usize {
    let shift = (range / 4).saturating_sub(1);
    (range - 4 * shift) << shift
}

impl Page {
    const_unless_loom! {
        fn new() -> Page {
            Page {
                came: AtomicI64::new(0),
                went: AtomicI64::new(0),
                size: AtomicI64::new(0),
                peak: Peak::new(),
                #[cfg(not(loom))]
                ranges: [const { AtomicI64::new(0) }; RANGES],
                #[cfg(loom)]
                ranges: std::array::from_fn(|_| AtomicI64::new(0)),
                #[cfg(not(loom))]
                settled: [const { Published::new() }; RUNS],
                #[cfg(loom)]
                settled: std::array::from_fn(|_| Published::new()),
            }
        }
    }

    /// What has been settled for an account, if anything has.
    fn settled(&self, account: Account) -> Option<&Settled> {
        let index = usize::from(account.0);
        self.settled[index / RUN].get().map(|run| &run[index % RUN])
    }

    /// Settles things of another account.
    #[inline(never)]
    fn settle(&self, account: Account, number: i64, size: i64, add: Add) {
        let index = usize::from(account.0);
        let run = &self.settled[index / RUN];
        if !run.is_there() {
            Self::begin(run);
        }
        if let Some(run) = run.get() {
            let settled = &run[index % RUN];
            add(&settled.number, number);
            add(&settled.size, size);
        }
    }

    #[cold]
    fn begin(run: &Published<[Settled; RUN]>) {
        let fresh = std::array::from_fn(|_| Settled { number: AtomicI64::new(0), size: AtomicI64::new(0) });
        let fresh = NonNull::from(Box::leak(Box::new(fresh)));
        // SAFETY: it comes from a box, and is not used here once it is published.
        if !unsafe { run.publish(fresh) } {
            // SAFETY: it comes from a box, and was not published: threads that share a page have come at once.
            drop(unsafe { Box::from_raw(fresh.as_ptr()) });
        }
    }
}

/// What an account holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Holding {
    /// How many things its thread has taken, and how many it has given back, whosever they were.
    pub calls: [u64; 2],
    /// How many are on the account.
    pub number: u64,
    /// The size of these.
    pub size: u64,
    /// The highest sizes, to within [`STEP`] for each thread that gives things back.
    pub highest: Highest,
}

/// How exactly the highest sizes are known: a look at what others have settled costs a line of memory for each of them, and so much is taken
/// from one look to the next.
pub const STEP: i64 = 32 << 10;

/// See the module's page; sizes are told in units of so many bytes.
#[derive(Debug)]
pub struct Ledger<const UNIT: usize> {
    own: [CachePadded<Page>; OWNED],
    shared: CachePadded<Page>,
    era: Era,
}

impl<const UNIT: usize> Ledger<UNIT> {
    const_unless_loom! {
        /// Nothing there. (All zero, so that what no thread has come to takes no memory in a static.)
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            #[cfg(not(loom))]
            let own = [const { CachePadded::new(Page::new()) }; OWNED];
            #[cfg(loom)]
            let own = [];
            Ledger { own, shared: CachePadded::new(Page::new()), era: Era::new() }
        }
    }

    /// Has `change` change the calling thread's page: its page, its account, and how it is written.
    #[inline(always)]
    fn change<R>(&self, change: impl Fn(&Page, Account, Add) -> R) -> R {
        match slot::own(OWNED) {
            Some(index) => change(&self.own[index], Account(index as u16), add_alone),
            None => change(&self.shared, Account::SHARED, add_shared),
        }
    }

    fn page_of(&self, account: Account) -> &Page {
        self.own.get(usize::from(account.0)).unwrap_or(&self.shared)
    }

    fn pages(&self) -> impl Iterator<Item = &Page> {
        Account::all().map(|account| self.page_of(account))
    }

    /// What has been settled for an account, and how many have done so.
    fn settled(&self, account: Account) -> (i64, i64, i64) {
        self.pages().filter_map(|page| page.settled(account)).fold((0, 0, 0), |(number, size, by), settled| {
            (number + settled.number.load(Relaxed), size + settled.size.load(Relaxed), by + 1)
        })
    }

    #[inline(always)]
    fn grown(&self, page: &Page, account: Account) {
        let size = page.size.load(Relaxed);
        if page.peak.is_below(size) {
            self.rise(page, account, size);
        }
    }

    #[cold]
    #[inline(never)]
    fn rise(&self, page: &Page, account: Account, size: i64) {
        let (_, settled, by) = self.settled(account);
        page.peak.rise(&self.era, size - settled, settled, STEP / UNIT as i64 * (by + 1));
    }

    /// One comes, on the calling thread's account.
    #[inline]
    pub fn come(&self, size: usize) -> Account {
        self.change(
            #[inline(always)]
            |page, account, add| {
                add(&page.came, 1);
                add(&page.size, size as i64);
                add(&page.ranges[range(size)], 1);
                self.grown(page, account);
                account
            },
        )
    }

    /// One comes, on the account of all. The caller's lock lets no two threads do so at once.
    pub fn come_together(&self, size: usize) {
        add_shared(&self.shared.came, 1);
        add_shared(&self.shared.size, size as i64);
        add_shared(&self.shared.ranges[range(size)], 1);
        self.grown(&self.shared, Account::SHARED);
    }

    /// One of an account goes.
    #[inline]
    pub fn go(&self, account: Account, size: usize) {
        self.change(
            #[inline(always)]
            |page, own, add| {
                add(&page.went, 1);
                add(&page.ranges[range(size)], -1);
                if account == own {
                    add(&page.size, (size as i64).wrapping_neg());
                } else {
                    page.settle(account, 1, size as i64, add);
                }
            },
        );
    }

    /// One of an account has another size than before.
    pub fn resize(&self, account: Account, before: usize, now: usize) {
        let by = (now as i64).wrapping_sub(before as i64);
        self.change(|page, own, add| {
            let (left, reached) = (range(before), range(now));
            if left != reached {
                add(&page.ranges[left], -1);
                add(&page.ranges[reached], 1);
            }
            if account == own {
                add(&page.size, by);
                self.grown(page, own);
            } else {
                page.settle(account, 0, by.wrapping_neg(), add);
            }
        });
    }

    /// So many things of an account are on the calling thread's from now on (LG2).
    pub fn adopt(&self, account: &mut Account, number: usize, size: usize) {
        let before = *account;
        *account = self.change(|page, own, add| {
            if before != own {
                page.settle(before, number as i64, size as i64, add);
                add(&page.size, size as i64);
                self.grown(page, own);
            }
            own
        });
    }

    /// What an account holds.
    pub fn of(&self, account: Account) -> Holding {
        let page = self.page_of(account);
        // First what is gone: of what is found so, most is seen to have come.
        let (settled_number, settled_size, _) = self.settled(account);
        let of_others: i64 =
            Account::all().filter_map(|other| page.settled(other)).map(|settled| settled.number.load(Relaxed)).sum();
        let [came, went, size] = [&page.came, &page.went, &page.size].map(|number| number.load(Relaxed));
        let positive = |number: i64| u64::try_from(number).unwrap_or(0);
        let size = positive(size - settled_size);
        Holding {
            calls: [positive(came), positive(went)],
            number: positive(came - went + of_others - settled_number),
            size,
            highest: page.peak.highest(&self.era, size),
        }
    }

    /// How many there are by their sizes, whosever they are: the least size of each range in which there are some, four ranges to a power of two.
    pub fn by_size(&self) -> impl Iterator<Item = (usize, u64)> {
        let number = |range: usize| self.pages().map(|page| page.ranges[range].load(Relaxed)).sum::<i64>();
        let numbers = (0..RANGES).map(move |range| (least(range), u64::try_from(number(range)).unwrap_or(0)));
        numbers.filter(|(_, number)| *number > 0)
    }

    /// From now on the recent highest sizes are those from now on.
    pub fn ask_anew(&self) {
        self.era.next(self.pages().map(|page| &page.peak));
    }

    /// The sums over all accounts. They see what went before a thing came that they see, if a Release fence stands before the
    /// [`come`](Self::come) of that thing.
    pub fn now(&self) -> Tally {
        let sum = |number: fn(&Page) -> i64| u64::try_from(self.pages().map(number).sum::<i64>()).unwrap_or(0);
        let came = sum(|page| page.came.load(Relaxed));
        // Acquire: pairs with the Release fence before a `come` that `came` counts.
        fence(Acquire);
        let went = sum(|page| page.went.load(Relaxed));
        let size = sum(|page| {
            let settled = page.settled.iter().filter_map(Published::get).flat_map(|run| run.iter());
            page.size.load(Relaxed) - settled.map(|settled| settled.size.load(Relaxed)).sum::<i64>()
        });
        Tally { came, went, size: size as usize }
    }
}

#[cfg(all(test, not(loom), not(feature = "single")))]
mod tests {
    use super::{Account, Ledger, STEP};
    use crate::counter::Tally;

    /// Runs it on another thread, which gives its number back when it ends.
    fn elsewhere<R: Send>(work: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    #[test]
    fn what_others_give_back_is_gone_from_the_account_that_it_came_by() {
        static LEDGER: Ledger<1> = Ledger::new();
        let mine = LEDGER.come(10);
        (0..9).for_each(|_| assert_eq!(LEDGER.come(10), mine));
        let theirs = elsewhere(|| {
            (0..4).for_each(|_| LEDGER.go(mine, 10));
            LEDGER.come(7)
        });
        assert_ne!(mine, theirs);
        let (a, b) = (LEDGER.of(mine), LEDGER.of(theirs));
        assert_eq!((a.number, a.size, a.calls), (6, 60, [10, 0]));
        assert_eq!((b.number, b.size, b.calls), (1, 7, [1, 4]));
        LEDGER.go(theirs, 7);
        LEDGER.resize(mine, 10, 15);
        assert_eq!((LEDGER.of(theirs).number, LEDGER.of(theirs).size, LEDGER.of(mine).size), (0, 0, 65));
        assert_eq!(LEDGER.now(), Tally { came: 11, went: 5, size: 65 });
    }

    #[test]
    fn things_are_told_by_their_sizes_whoever_gives_them_back() {
        static LEDGER: Ledger<1> = Ledger::new();
        let counted = || LEDGER.by_size().collect::<Vec<_>>();
        let account = LEDGER.come(0);
        for size in [1, 3, 7, 8, 9, 10, 95, 96, 111, 112, 127, 128, usize::MAX] {
            LEDGER.come(size);
        }
        let (few, last) = ([(0, 1), (1, 1), (3, 1), (7, 1)], (7 << 61, 1));
        assert_eq!(counted(), [&few[..], &[(8, 2), (10, 1), (80, 1), (96, 2), (112, 2), (128, 1), last]].concat());
        elsewhere(|| {
            LEDGER.go(account, 0);
            LEDGER.resize(account, 9, 17);
            LEDGER.resize(account, 96, 100);
        });
        let rest = [(8, 1), (10, 1), (16, 1), (80, 1), (96, 2), (112, 2), (128, 1), last];
        assert_eq!(counted(), [&few[1..], &rest].concat());
    }

    #[test]
    fn who_adopts_things_has_them() {
        static LEDGER: Ledger<1> = Ledger::new();
        let mine = LEDGER.come(30);
        LEDGER.come(20);
        let theirs = elsewhere(|| {
            let mut account = mine;
            LEDGER.adopt(&mut account, 1, 30);
            LEDGER.adopt(&mut account, 1, 30);
            account
        });
        let held = |account| (LEDGER.of(account).number, LEDGER.of(account).size);
        assert_eq!((held(mine), held(theirs)), ((1, 20), (1, 30)));
        LEDGER.go(theirs, 30);
        assert_eq!((held(mine), held(theirs)), ((1, 20), (0, 0)));
        assert_eq!(LEDGER.now(), Tally { came: 2, went: 1, size: 20 });
    }

    #[test]
    fn a_peak_is_that_of_the_account_and_not_of_what_passed_through_it() {
        static LEDGER: Ledger<1> = Ledger::new();
        let mine = LEDGER.come(1);
        // Each is given back by another thread before the next comes.
        for _ in 0..20 {
            LEDGER.come(STEP as usize);
            elsewhere(|| LEDGER.go(mine, STEP as usize));
        }
        let highest = LEDGER.of(mine).highest;
        assert!((1..=3 * STEP as u64).contains(&highest.ever) && highest.recent == highest.ever, "{highest:?}");
        LEDGER.come(10 * STEP as usize);
        LEDGER.go(mine, 10 * STEP as usize);
        assert!(LEDGER.of(mine).highest.ever >= 10 * STEP as u64);
        LEDGER.ask_anew();
        LEDGER.come(2 * STEP as usize);
        LEDGER.go(mine, 2 * STEP as usize);
        let highest = LEDGER.of(mine).highest;
        assert!(highest.recent < 4 * STEP as u64 && highest.ever >= 10 * STEP as u64, "{highest:?}");
    }

    #[test]
    fn threads_at_once_lose_nothing() {
        static LEDGER: Ledger<8> = Ledger::new();
        let each = if cfg!(miri) { 10 } else { 1000 };
        let (give, taken) = std::sync::mpsc::channel::<Account>();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let give = give.clone();
                scope.spawn(move || (0..each).for_each(|_| give.send(LEDGER.come(3)).unwrap()));
            }
            drop(give);
            scope.spawn(move || taken.into_iter().skip(10).for_each(|account| LEDGER.go(account, 3)));
        });
        assert_eq!(LEDGER.now(), Tally { came: 3 * each, went: 3 * each - 10, size: 30 });
        let sum: u64 = Account::all().map(|account| LEDGER.of(account).size).sum();
        assert_eq!(sum, 30);
    }
}
