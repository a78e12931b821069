//! How literals go: those of purged modules, and persistent terms that were replaced or erased.
//!
//! Processes share literals with the area they live in, so an area is freed only once no process refers to it. OTP's
//! `erts_literal_area_collector` leads this: it takes the areas that wait ([`Ctx::switch_literals`](crate::Ctx::switch_literals)), has each process copy what it
//! holds of them (`task.rs`), and takes the next ones; then the first are freed.
//!
//! ```text
//!                     switch: areas wait              thread progress             switch
//!    Idle -------------------------------> Announced -----------------> Asking ----------> Announced (areas wait) or Idle (none)
//!
//!    phase       areas                copies between heaps        processes                    the collector
//!    -----       -----                --------------------        ---------                    -------------
//!    Idle        waiting              share all literals          hold them                    is woken by the first area
//!    Announced   going                copy what is going (LC1)    hold them                    waits in `switch`
//!    Asking      going, but kept      copy what is going          each copies what it holds    asks each, awaits each answer
//!                (LC4)
//!    next round  retired, then freed                              hold none
//!                after thread progress (LC3)
//! ```
//!
//! LC1. Before the first process is asked, copies between heaps stop to share these literals, and all threads have made progress
//!      (heap/L3): so a process that has answered never gets one of them again.
//! LC2. Code that keeps terms outside processes (tables, timers, ports) copies literals too ([`myriad_process::Payload::whole`]).
//! LC3. An area is freed after thread progress: a process that has just ended, or a reader of the table of persistent terms, may
//!      still look at it.
//! LC4. Processes are asked about an area only when no bundle counts it (heap.literal/L4): nobody could replace a literal in a bundle, and whoever holds that
//!      might take the literal out of it after the answer. From the announcement on no other bundle comes to count it, for copies take its literals along; so it
//!      stays announced until the last of those that do has gone, which is looked for now and then.
//!
//! # Why no literal is freed that something refers to
//!
//! An area comes here when nothing leads to its terms any more but terms that processes hold already: the module has left the table, or
//! the table of persistent terms has another value. From then on a term of the area can only come from one process to another by a
//! copy. LC1 ends that: a copy that begins after [`set_going`] takes the literals along, and thread progress waits for copies that began
//! before. What the collector asks then is a fixed set of holders, which shrinks with each answer:
//!
//! - A process that lives copies what it holds between two slices, when all its roots are known. While a rest of a built-in holds
//!   terms, or a built-in of its runs on a dirty scheduler (vm/DC1), the request waits.
//! - A process that is spawned after the announcement gets copies, and so holds none of these literals.
//! - A process that has ended answers that it holds nothing; its memory is freed by thread progress (LC3).
//! - A message that shares these literals was pushed before the request, since thread progress ended the slice that copied it. So
//!   its receiver has it in the inner queue when it comes to the request, and copies what it holds as well.
//!
//! The phase is under the lock, and the ranges that are going are Relaxed: thread progress orders them (heap/L3).
//!
//! # What was not done
//!
//! - *A count of references for each area.* Each collection, and each copy, of each process would have to change it.
//! - *Copying literals in every message.* Constants that modules share cost nothing to send today, and persistent terms exist for it.
//! - *Rewriting all heaps while the world is stopped.* The pause would grow with all memory; now each process pays for its own.
//! - *Keeping the areas for ever.* A node that is upgraded, or uses persistent terms as counters, would grow without bounds.

mod rounds;

use myriad_heap::{LiteralArea, LiteralRanges, set_going, shared};
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_sync::{Arc, LockClass, Mutex};
use myriad_term::Pid;

static CLASS: LockClass = LockClass::new("literal_areas", 720);

/// From one look for areas that bundles have left to the next (nanoseconds).
const LOOK_EVERY_NS: u64 = 500_000_000;
/// There are none.
const NEVER: u64 = u64::MAX;

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
    /// The process that leads the rounds.
    collector: Option<Pid>,
    /// Areas that wait for the next round.
    waiting: Vec<LiteralArea>,
    /// Areas of this round, and where those lie that processes are asked about.
    going: Vec<LiteralArea>,
    ranges: Arc<LiteralRanges>,
    /// Areas that were announced, and that bundles count (LC4).
    kept: Vec<LiteralArea>,
    phase: Phase,
}

/// Where areas lie.
fn ranges(areas: &[LiteralArea]) -> LiteralRanges {
    let mut ranges = LiteralRanges::default();
    areas.iter().for_each(|area| ranges.join(&area.ranges()));
    ranges
}

impl State {
    /// Is there an announced area that no bundle counts any more?
    fn has_left(&self) -> bool {
        self.kept.iter().any(|area| !area.is_counted())
    }
}

/// The areas that are to go.
pub struct Literals {
    state: Mutex<State>,
    /// When to look next for areas that bundles have left, or [`NEVER`].
    look_ns: AtomicU64,
}

impl Default for Literals {
    fn default() -> Self {
        Literals { state: Mutex::new(&CLASS, State::default()), look_ns: AtomicU64::new(NEVER) }
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

    /// The last round is over: begins another with the areas that wait, and those that bundles have left, unless there are none. Gives those that are gone,
    /// and says whether there is another round.
    fn next_round(&self) -> (Vec<LiteralArea>, bool) {
        let mut state = self.state.lock();
        let gone = std::mem::take(&mut state.going);
        debug_assert!(!gone.iter().any(LiteralArea::is_counted), "LC4: a bundle counts an area that was announced");
        state.going = std::mem::take(&mut state.waiting);
        if !state.going.is_empty() || state.has_left() {
            let kept = std::mem::take(&mut state.kept);
            state.going.extend(kept);
        }
        let mut announced = ranges(&state.going);
        announced.join(&ranges(&state.kept));
        if shared::is_on() {
            // The one heap still refers to them (heap.shared/SH4). They stay announced until the next round, when they have long gone: copies take along more
            // than they would have to, at worst.
            announced.join(&ranges(&gone));
            announced.join(&shared::leaving());
        }
        set_going(&announced);
        let another = !state.going.is_empty();
        state.phase = if another { Phase::Announced } else { Phase::Idle };
        (gone, another)
    }

    /// All have made progress since the round was announced (LC1): those are left out that bundles count (LC4).
    fn ask(&self) {
        let mut state = self.state.lock();
        debug_assert!(matches!(state.phase, Phase::Announced), "a round is announced before processes are asked");
        let (kept, going) = std::mem::take(&mut state.going).into_iter().partition(LiteralArea::is_counted);
        (state.kept, state.going) = (kept, going);
        if !state.kept.is_empty() {
            // Relaxed: as in `is_due`.
            self.look_ns.store(0, Ordering::Relaxed);
        }
        state.ranges = Arc::new(ranges(&state.going));
        state.phase = Phase::Asking;
    }

    /// Is it time to look whether bundles have left areas that they counted?
    #[inline]
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        // Relaxed: a time; what there is to see is seen by some look.
        self.look_ns.load(Ordering::Relaxed) <= now_ns
    }

    /// The process to be told that there is an area which the last bundle has left, if nothing else has it ask for another round.
    fn leader_of_left(&self, now_ns: u64) -> Option<Pid> {
        let state = self.state.lock();
        // Relaxed: as above.
        self.look_ns.store(if state.kept.is_empty() { NEVER } else { now_ns + LOOK_EVERY_NS }, Ordering::Relaxed);
        state.collector.filter(|_| matches!(state.phase, Phase::Idle) && state.has_left())
    }

    /// Are there none that processes would be asked about in this round?
    fn is_for_nobody(&self) -> bool {
        self.state.lock().going.is_empty()
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
