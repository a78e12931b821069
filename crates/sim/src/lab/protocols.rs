//! The locks of crate `sync` as programs of cores ([`super::memory`]): which line each step reads or writes, how a waiter waits, and who wakes whom.
//!
//! They follow the sources step by step, with their constants; what is left out is only what costs nothing here (classes, profile, memory
//! orders). Cores are not taken away from threads in this laboratory, so a time-published lock passes nobody over.

use super::memory::{Core, Memory, PAUSE_NS, Word, YIELD_NS};

/// As `sync::backoff`: pauses of up to `1 << SPIN_STEPS` turns, then the core is given away.
const SPIN_STEPS: u32 = 6;
/// As `sync::futex_mutex` and `sync::reader_groups`: so many looks before sleeping.
const SPINS: u32 = 100;
/// As `sync::reactive`.
const FAILURES: u32 = 8;
const IMMEDIATE: u64 = 64;
/// As `sync::group_rwlock`.
const MOST_GROUPS: usize = 128;

/// The growing pause between looks.
#[derive(Default)]
struct Backoff(u32);

impl Backoff {
    async fn pause(&mut self, core: Core<'_>) {
        if self.0 <= SPIN_STEPS {
            core.pass(PAUSE_NS << self.0).await;
            self.0 += 1;
        } else {
            core.pass(YIELD_NS).await;
        }
    }
}

/// A lock under measurement, with the value that its sections write, in its line.
pub struct Lock {
    word: Word,
    /// A second word of the same line.
    other: Word,
    value: Word,
    /// A line for each core, or each group of readers.
    lines: Vec<[Word; 3]>,
    kind: Kind,
}

/// Which lock. `Word` and `Groups` are readers-writer locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A futex mutex.
    Mutex,
    /// Test-and-test-and-set with back-off.
    Spin,
    /// Tickets.
    Ticket,
    /// A flag or a queue, by load.
    Reactive,
    /// A queue.
    Mcs,
    /// A queue whose waiters publish the time.
    Published,
    /// Readers and writers in one word.
    Word,
    /// Readers in groups.
    Groups,
}

/// The locks of sections that write, and of readers with some writes: names as `make bench-locks` has them for threads.
pub const WRITING: [(&str, Kind); 6] = [
    ("mutex", Kind::Mutex),
    ("spin", Kind::Spin),
    ("ticket", Kind::Ticket),
    ("reactive", Kind::Reactive),
    ("MCS", Kind::Mcs),
    ("time-published", Kind::Published),
];
/// See [`WRITING`].
pub const READING: [(&str, Kind); 3] =
    [("mutex", Kind::Mutex), ("readers-writer", Kind::Word), ("reader groups", Kind::Groups)];

const HELD: u64 = 1;
const CONTENDED: u64 = 2;
const QUEUEING: u64 = 2;
const WRITER: u64 = 1;
/// In a word of readers and writers: a writer waits.
const WANTED: u64 = 2;
const READER: u64 = 4;
/// In a group's words, as `sync::reader_groups`.
const PHASE: u64 = 2;
const SLEEPERS: u64 = 8;
const ONE: u64 = 16;

impl Lock {
    /// A free lock for so many cores.
    pub fn new(memory: &Memory<'_>, kind: Kind, cores: usize) -> Lock {
        let [word, other, value] = memory.line();
        let lines = match kind {
            Kind::Groups if cores > 1 => cores.min(MOST_GROUPS).next_power_of_two(),
            Kind::Reactive | Kind::Mcs | Kind::Published => cores,
            _ => 0,
        };
        Lock { word, other, value, lines: (0..lines).map(|_| memory.line()).collect(), kind }
    }

    /// A section that writes the value, and takes so long besides.
    pub async fn write(&self, core: Core<'_>, section_ns: u64) {
        self.acquire(core).await;
        core.update(self.value, |n| n + 1).await;
        core.pass(section_ns).await;
        self.release(core).await;
    }

    /// A section that reads the value.
    pub async fn read(&self, core: Core<'_>, section_ns: u64) {
        match self.kind {
            Kind::Word => self.read_by_word(core, section_ns).await,
            Kind::Groups if !self.lines.is_empty() => self.read_in_group(core, section_ns).await,
            Kind::Groups => self.read_by_word(core, section_ns).await,
            _ => {
                self.acquire(core).await;
                core.read(self.value).await;
                core.pass(section_ns).await;
                self.release(core).await;
            }
        }
    }

    async fn acquire(&self, core: Core<'_>) {
        match self.kind {
            Kind::Mutex => self.lock_mutex(core).await,
            Kind::Spin => self.lock_spin(core).await,
            Kind::Ticket => self.lock_ticket(core).await,
            Kind::Reactive => self.lock_reactive(core).await,
            Kind::Mcs | Kind::Published => self.enter_queue(core).await,
            Kind::Word => self.lock_word(core).await,
            Kind::Groups => {
                self.lock_word(core).await;
                self.stop_groups(core).await;
            }
        }
    }

    async fn release(&self, core: Core<'_>) {
        match self.kind {
            Kind::Mutex => {
                if core.update(self.word, |_| 0).await == CONTENDED {
                    core.wake(self.word, 1).await;
                }
            }
            Kind::Spin => core.write(self.word, 0).await,
            Kind::Ticket => {
                let served = core.read(self.other).await;
                core.write(self.other, served + 1).await;
            }
            Kind::Reactive => {
                core.update(self.word, |word| word & !HELD).await;
            }
            Kind::Mcs | Kind::Published => self.leave_queue(core).await,
            Kind::Word => self.unlock_word(core).await,
            Kind::Groups => {
                self.open_groups(core).await;
                self.unlock_word(core).await;
            }
        }
    }

    async fn lock_mutex(&self, core: Core<'_>) {
        if core.exchange(self.word, 0, HELD).await {
            return;
        }
        if spin(core, self.word, |word| word == HELD).await == 0 && core.exchange(self.word, 0, HELD).await {
            return;
        }
        while core.update(self.word, |_| CONTENDED).await != 0 {
            core.sleep(self.word, CONTENDED).await;
            spin(core, self.word, |word| word == HELD).await;
        }
    }

    async fn lock_spin(&self, core: Core<'_>) {
        let mut backoff = Backoff::default();
        while !core.exchange(self.word, 0, HELD).await {
            while core.read(self.word).await != 0 {
                backoff.pause(core).await;
            }
        }
    }

    async fn lock_ticket(&self, core: Core<'_>) {
        let mine = core.update(self.word, |n| n + 1).await;
        let mut backoff = Backoff::default();
        while core.read(self.other).await != mine {
            backoff.pause(core).await;
        }
    }

    async fn lock_reactive(&self, core: Core<'_>) {
        if core.exchange(self.word, 0, HELD).await {
            return;
        }
        if core.read(self.other).await == 0 && core.exchange(self.word, QUEUEING, QUEUEING | HELD).await {
            return self.count_immediate(core).await;
        }
        let (mut backoff, mut failures) = (Backoff::default(), 0);
        loop {
            let held = if failures < FAILURES { HELD } else { HELD | QUEUEING };
            match core.read(self.word).await {
                0 if core.exchange(self.word, 0, held).await => return,
                0 | HELD => failures += 1,
                _ => break,
            }
            backoff.pause(core).await;
        }
        self.enter_queue(core).await;
        let mut backoff = Backoff::default();
        loop {
            let word = core.read(self.word).await;
            if word & HELD == 0 && core.exchange(self.word, word, word | HELD).await {
                break;
            }
            backoff.pause(core).await;
        }
        self.leave_queue(core).await;
        core.write(self.value, 0).await;
    }

    /// The count of acquisitions that met nobody is in the value, which nobody reads.
    async fn count_immediate(&self, core: Core<'_>) {
        if core.update(self.value, |n| n + 1).await % IMMEDIATE == IMMEDIATE - 1 {
            core.write(self.word, HELD).await;
        }
    }

    /// The queue's tail is 0, or the core that entered last, and one. It is the lock's first word, or, of a reactive lock, the second.
    fn tail(&self) -> Word {
        if self.kind == Kind::Reactive { self.other } else { self.word }
    }

    /// A core's line: whether it waits, the core behind it and one, the time of its last look.
    async fn enter_queue(&self, core: Core<'_>) {
        let [waiting, next, looked] = self.lines[core.number];
        core.write(waiting, 1).await;
        core.write(next, 0).await;
        let me = core.number as u64 + 1;
        let before = core.update(self.tail(), |_| me).await;
        if before == 0 {
            return;
        }
        core.write(self.lines[before as usize - 1][1], me).await;
        let mut backoff = Backoff::default();
        while core.read(waiting).await != 0 {
            if self.kind == Kind::Published {
                core.write(looked, 1).await;
            }
            backoff.pause(core).await;
        }
    }

    async fn behind(&self, core: Core<'_>) -> u64 {
        core.read(self.lines[core.number][1]).await
    }

    async fn leave_queue(&self, core: Core<'_>) {
        let mut backoff = Backoff::default();
        let next = loop {
            let next = self.behind(core).await;
            if next != 0 {
                break next as usize - 1;
            }
            if core.exchange(self.tail(), core.number as u64 + 1, 0).await {
                return;
            }
            backoff.pause(core).await;
        };
        let waiting = self.lines[next][0];
        if self.kind == Kind::Published {
            core.read(self.lines[next][2]).await;
        }
        core.write(waiting, 0).await;
    }

    async fn read_by_word(&self, core: Core<'_>, section_ns: u64) {
        loop {
            let word = core.read(self.word).await;
            if word & (WRITER | WANTED) == 0 {
                if core.exchange(self.word, word, word + READER).await {
                    break;
                }
                continue;
            }
            let stopped = |word| word & (WRITER | WANTED) != 0;
            let word = spin(core, self.word, stopped).await;
            if stopped(word) {
                core.sleep(self.word, word).await;
            }
        }
        core.read(self.value).await;
        core.pass(section_ns).await;
        let word = core.update(self.word, |word| word - READER).await - READER;
        if word == WANTED {
            core.update(self.other, |n| n + 1).await;
            core.wake(self.other, 1).await;
        }
    }

    /// A writer that waits sleeps on the second word, which counts what it waits for. One that has slept cannot know whether others still do.
    async fn lock_word(&self, core: Core<'_>) {
        let mut others = 0;
        loop {
            let seen = core.read(self.other).await;
            let word = spin(core, self.word, |word| word & !WANTED != 0).await;
            if word & !WANTED == 0 {
                if core.exchange(self.word, word, word | WRITER | others).await {
                    return;
                }
            } else if word & WANTED != 0 || core.exchange(self.word, word, word | WANTED).await {
                core.sleep(self.other, seen).await;
                others = WANTED;
            }
        }
    }

    async fn unlock_word(&self, core: Core<'_>) {
        if core.update(self.word, |_| 0).await & WANTED != 0 {
            core.update(self.other, |n| n + 1).await;
            core.wake(self.other, 1).await;
        }
        // A bit of the word says whether readers sleep.
        if core.has_sleepers(self.word) {
            core.wake(self.word, usize::MAX).await;
        }
    }

    async fn read_in_group(&self, core: Core<'_>, section_ns: u64) {
        let [arrivals, departures, _] = self.lines[core.number % self.lines.len()];
        let found = core.update(arrivals, |n| n + ONE).await;
        if found & WRITER != 0 {
            let stopped = |now: u64| (now ^ found) & (WRITER | PHASE) == 0;
            loop {
                let now = spin(core, arrivals, stopped).await;
                if !stopped(now) {
                    break;
                }
                if now & SLEEPERS != 0 || core.exchange(arrivals, now, now | SLEEPERS).await {
                    core.sleep(arrivals, now | SLEEPERS).await;
                }
            }
        }
        core.read(self.value).await;
        core.pass(section_ns).await;
        if core.update(departures, |n| n + ONE).await & WRITER != 0 {
            core.wake(departures, 1).await;
        }
    }

    async fn stop_groups(&self, core: Core<'_>) {
        let mut before = Vec::with_capacity(self.lines.len());
        for [arrivals, ..] in &self.lines {
            before.push(core.update(*arrivals, |n| n | WRITER).await / ONE);
        }
        for ([_, departures, _], before) in self.lines.iter().zip(before) {
            loop {
                let now = spin(core, *departures, |now| now / ONE != before).await;
                if now / ONE == before {
                    core.update(*departures, |n| n & !WRITER).await;
                    break;
                }
                if now & WRITER != 0 || core.exchange(*departures, now, now | WRITER).await {
                    core.sleep(*departures, now | WRITER).await;
                }
            }
        }
    }

    async fn open_groups(&self, core: Core<'_>) {
        for [arrivals, ..] in &self.lines {
            if core.update(*arrivals, |n| n ^ (WRITER | PHASE)).await & SLEEPERS != 0 {
                core.update(*arrivals, |n| n & !SLEEPERS).await;
                core.wake(*arrivals, usize::MAX).await;
            }
        }
    }
}

/// Looks at a word until it is no longer so, or for as long as is worth it; gives what it saw last.
async fn spin(core: Core<'_>, word: Word, is_so: impl Fn(u64) -> bool) -> u64 {
    let mut value = core.read(word).await;
    for _ in 0..SPINS {
        if !is_so(value) {
            break;
        }
        core.pass(PAUSE_NS).await;
        value = core.read(word).await;
    }
    value
}
