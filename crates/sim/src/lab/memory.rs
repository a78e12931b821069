//! A machine on which protocols run as programs of its cores: words in cache lines, time, and sleep.
//!
//! Each core runs one `async` function. What it awaits is an access to a word, which takes as long as the line takes to come
//! ([`Lines`]), a pause, or a sleep until another core wakes it. Accesses take effect in the order of virtual time, when the line has come;
//! so cores see each other between any two accesses, and a core that spins does so for as long as it would.
//!
//! One thing is added to the directory of lines: a line's home answers one request at a time ([`HOME_NS`]). Without that all waiters of a lock
//! would get a new copy of its line at once, however many they are; it is what makes a lock collapse whose waiters all read one word
//! (Boyd-Wickizer et al., Non-scalable locks are dangerous, 2012).

use crate::lines::Lines;
use crate::topology::Topology;
use myriad_sync::cost::Access;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A read-modify-write of a line that is at hand, or a store and what is around it (nanoseconds, as all times here).
const LOCAL_NS: u64 = 1;
/// A turn of a spin loop: the processor's hint.
pub const PAUSE_NS: u64 = 20;
/// Giving the core away when nobody else wants it.
pub const YIELD_NS: u64 = 300;
/// The system's calls that put a thread to sleep and that wake one.
const SLEEP_NS: u64 = 500;
const WAKE_NS: u64 = 1000;
/// How long a request keeps a line's home from the next one: an assumption, a fraction of the shortest transfer.
pub const HOME_NS: u64 = 10;

/// A program of a core.
pub type Program<'m> = Pin<Box<dyn Future<Output = ()> + 'm>>;

/// A word of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word(usize);

struct State {
    now: u64,
    /// Cores and when they go on, the earliest first; of those at one time the one that said so first.
    due: BinaryHeap<Reverse<(u64, u64, usize)>>,
    order: u64,
    lines: Lines,
    /// Until when the home of each line answers.
    homes: Vec<u64>,
    words: Vec<Cell>,
}

struct Cell {
    value: u64,
    line: usize,
    asleep: VecDeque<usize>,
}

/// The machine.
pub struct Memory<'t> {
    topology: &'t Topology,
    /// From a wake-up until the core that slept works.
    wake_ns: u64,
    home_ns: u64,
    state: RefCell<State>,
}

/// A core, as its program sees it.
#[derive(Clone, Copy)]
pub struct Core<'m> {
    memory: &'m Memory<'m>,
    /// Which.
    pub number: usize,
}

impl<'t> Memory<'t> {
    /// So many cores of a machine.
    pub fn new(topology: &'t Topology, cores: usize, wake_ns: u64, home_ns: u64) -> Memory<'t> {
        let state = State {
            now: 0,
            due: BinaryHeap::new(),
            order: 0,
            lines: Lines::new(cores),
            homes: Vec::new(),
            words: Vec::new(),
        };
        Memory { topology, wake_ns, home_ns, state: RefCell::new(state) }
    }

    /// So many words that are zero, in a line of their own.
    pub fn line<const N: usize>(&self) -> [Word; N] {
        let state = &mut *self.state.borrow_mut();
        let line = state.homes.len();
        state.homes.push(0);
        std::array::from_fn(|_| {
            state.words.push(Cell { value: 0, line, asleep: VecDeque::new() });
            Word(state.words.len() - 1)
        })
    }

    /// A core for a program.
    pub fn core(&self, number: usize) -> Core<'_> {
        Core { memory: self, number }
    }

    /// The time.
    pub fn now(&self) -> u64 {
        self.state.borrow().now
    }

    /// Runs a program on each core, until `is_over` says so after a step or none can go on; gives the time.
    pub fn run<'m>(&'m self, mut programs: Vec<Program<'m>>, is_over: impl Fn() -> bool) -> u64 {
        (0..programs.len()).for_each(|core| self.state.borrow_mut().go_on(core, 0));
        let mut context = Context::from_waker(Waker::noop());
        let mut running = vec![true; programs.len()];
        while !is_over() {
            let Some(core) = self.state.borrow_mut().next() else { break };
            if running[core] {
                running[core] = programs[core].as_mut().poll(&mut context).is_pending();
            }
        }
        self.now()
    }
}

impl State {
    fn go_on(&mut self, core: usize, after: u64) {
        self.order += 1;
        self.due.push(Reverse((self.now + after, self.order, core)));
    }

    fn next(&mut self) -> Option<usize> {
        let Reverse((time, _, core)) = self.due.pop()?;
        self.now = time;
        Some(core)
    }

    /// What an access takes, from now on.
    fn access_ns(&mut self, topology: &Topology, home_ns: u64, core: usize, word: Word, access: Access) -> u64 {
        let line = self.words[word.0].line;
        // The first line is not at 0, which a table of lines may take for none.
        let took = self.lines.access(topology, core, self.now, (line + 1) << 6, access);
        let local = if access == Access::Read { 0 } else { LOCAL_NS };
        if took.transfer_ns == 0 {
            return local;
        }
        let home = &mut self.homes[line];
        let start = self.now.max(*home);
        *home = start + home_ns;
        start - self.now + took.waited_ns + took.transfer_ns + local
    }
}

impl Core<'_> {
    /// Lets the program go on when it is told to.
    async fn suspend(self) {
        let mut told = false;
        poll_fn(|_| if std::mem::replace(&mut told, true) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Time passes.
    pub async fn pass(self, ns: u64) {
        self.memory.state.borrow_mut().go_on(self.number, ns);
        self.suspend().await;
    }

    async fn access<R>(self, word: Word, access: Access, act: impl FnOnce(&mut u64) -> R) -> R {
        let memory = self.memory;
        let ns = memory.state.borrow_mut().access_ns(memory.topology, memory.home_ns, self.number, word, access);
        self.pass(ns).await;
        act(&mut memory.state.borrow_mut().words[word.0].value)
    }

    /// A load.
    pub async fn read(self, word: Word) -> u64 {
        self.access(word, Access::Read, |value| *value).await
    }

    /// A store.
    pub async fn write(self, word: Word, new: u64) {
        self.access(word, Access::Write, |value| *value = new).await;
    }

    /// A read-modify-write; gives the value before.
    pub async fn update(self, word: Word, change: impl FnOnce(u64) -> u64) -> u64 {
        self.access(word, Access::Update, |value| std::mem::replace(value, change(*value))).await
    }

    /// A compare-exchange; says whether it did.
    pub async fn exchange(self, word: Word, from: u64, to: u64) -> bool {
        self.update(word, |now| if now == from { to } else { now }).await == from
    }

    /// Sleeps while a word holds this value, until another core wakes it.
    pub async fn sleep(self, word: Word, value: u64) {
        self.pass(SLEEP_NS).await;
        let holds = {
            let cell = &mut self.memory.state.borrow_mut().words[word.0];
            let holds = cell.value == value;
            if holds {
                cell.asleep.push_back(self.number);
            }
            holds
        };
        if holds {
            self.suspend().await;
        }
    }

    /// Does any core sleep on a word?
    pub fn has_sleepers(self, word: Word) -> bool {
        !self.memory.state.borrow().words[word.0].asleep.is_empty()
    }

    /// Wakes as many as sleep on a word, `most` at most.
    pub async fn wake(self, word: Word, most: usize) {
        self.pass(WAKE_NS).await;
        let state = &mut *self.memory.state.borrow_mut();
        for _ in 0..most {
            let Some(core) = state.words[word.0].asleep.pop_front() else { break };
            state.go_on(core, self.memory.wake_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Core, HOME_NS, Memory, Program, SLEEP_NS, WAKE_NS, Word};
    use crate::machine::Machine;
    use std::cell::Cell;

    fn server() -> Machine {
        Machine::named("server-2x64").expect("it comes along")
    }

    #[test]
    fn updates_of_one_word_are_all_done_one_after_the_other() {
        let machine = server();
        let memory = Memory::new(&machine.topology, 8, 0, HOME_NS);
        let [word] = memory.line();
        async fn program(core: Core<'_>, word: Word) {
            for _ in 0..10 {
                core.update(word, |n| n + 1).await;
            }
        }
        let programs = (0..8).map(|core| Box::pin(program(memory.core(core), word)) as Program<'_>);
        let ns = memory.run(programs.collect(), || false);
        assert_eq!(memory.state.borrow().words[word.0].value, 80);
        // Each core fetches the line from another one of its module, but for the first time of the first.
        assert!((70 * 25..80 * 40).contains(&ns), "{ns}");
    }

    #[test]
    fn who_sleeps_is_woken_and_who_comes_too_late_does_not_sleep() {
        let machine = server();
        let memory = Memory::new(&machine.topology, 2, 4000, HOME_NS);
        let [word] = memory.line();
        let woken = Cell::new(0);
        let sleeper = async {
            let core = memory.core(0);
            core.sleep(word, 0).await;
            woken.set(memory.now());
            core.sleep(word, 0).await;
        };
        let waker = async {
            let core = memory.core(1);
            core.pass(10_000).await;
            core.write(word, 1).await;
            core.wake(word, 1).await;
        };
        memory.run(vec![Box::pin(sleeper), Box::pin(waker)], || false);
        assert!(woken.get() >= 10_000 + WAKE_NS + 4000, "{}", woken.get());
        assert!(memory.now() < woken.get() + 2 * SLEEP_NS);
    }
}
