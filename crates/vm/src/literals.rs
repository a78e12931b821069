//! How literals go: those of purged modules, and persistent terms that were replaced or erased.
//!
//! Processes share literals with the area they live in, so an area is freed only once no process refers to it. OTP's
//! `erts_literal_area_collector` leads this: it takes the areas that wait ([`Ctx::switch_literals`](crate::Ctx::switch_literals)), has each process copy what it
//! holds of them (`task.rs`), and takes the next ones; then the first are freed.
//!
//! LC1. Before the first process is asked, copies between heaps stop to share these literals, and all have made progress
//!      (heap/L3): so a process that has answered never gets one of them again.
//! LC2. Whoever keeps terms outside processes (tables, timers, ports) copies literals too ([`myriad_process::Payload::whole`]).
//! LC3. An area is freed after thread progress: a process that has just ended, or a reader of the table of persistent terms, may
//!      still look at it.

mod rounds;

use myriad_heap::{LiteralArea, LiteralRanges, set_going};
use myriad_sync::{Arc, LockClass, Mutex};
use myriad_term::Pid;

static CLASS: LockClass = LockClass::new("literal_areas", 720);

#[derive(Default)]
enum Phase {
    /// No areas are going.
    #[default]
    Idle,
    /// The areas are known to be going; thread progress is awaited (LC1).
    Announced,
    /// Processes are asked.
    Asking,
}

#[derive(Default)]
struct State {
    /// Who leads.
    collector: Option<Pid>,
    /// Areas that wait for the next round.
    waiting: Vec<LiteralArea>,
    /// Areas of this round, and where they lie.
    going: Vec<LiteralArea>,
    ranges: Arc<LiteralRanges>,
    phase: Phase,
}

/// The areas that are to go.
pub struct Literals {
    state: Mutex<State>,
}

impl Default for Literals {
    fn default() -> Self {
        Literals { state: Mutex::new(&CLASS, State::default()) }
    }
}

impl Literals {
    /// States the process that leads.
    pub fn set_collector(&self, pid: Pid) {
        self.state.lock().collector = Some(pid);
    }

    /// An area waits for its round from now on. The process to be told of it, if nothing else has it ask for another round.
    fn wait(&self, area: LiteralArea) -> Option<Pid> {
        let mut state = self.state.lock();
        state.waiting.push(area);
        // Whoever leads asks for more at the end of a round.
        state.collector.filter(|_| state.waiting.len() == 1 && matches!(state.phase, Phase::Idle))
    }

    /// Is a round announced, and not everywhere known yet (LC1)?
    fn is_announced(&self) -> bool {
        matches!(self.state.lock().phase, Phase::Announced)
    }

    /// The last round is over: begins another with the areas that wait, unless there are none. Gives those that are gone, and says
    /// whether there is another round.
    fn next_round(&self) -> (Vec<LiteralArea>, bool) {
        let mut state = self.state.lock();
        let gone = std::mem::take(&mut state.going);
        state.going = std::mem::take(&mut state.waiting);
        let mut ranges = LiteralRanges::default();
        state.going.iter().for_each(|area| ranges.join(&area.ranges()));
        set_going(&ranges);
        state.ranges = Arc::new(ranges);
        let another = !state.going.is_empty();
        state.phase = if another { Phase::Announced } else { Phase::Idle };
        (gone, another)
    }

    /// All have made progress since the round was announced (LC1).
    fn ask(&self) {
        let mut state = self.state.lock();
        debug_assert!(matches!(state.phase, Phase::Announced), "a round is announced before processes are asked");
        state.phase = Phase::Asking;
    }

    /// Areas that wait for their round.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Where the literals lie that are going.
    pub(crate) fn going(&self) -> Arc<LiteralRanges> {
        self.state.lock().ranges.clone()
    }
}
