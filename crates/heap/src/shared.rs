//! One heap of all processes (`+heap=shared`; Johansson, Sagonas, Wilhelmsson 2002, section 4): a message is a pointer.
//!
//! A process allocates in a block of its own, with its stack on top, as in the other architectures. When that is full it gets another one, and the full one
//! stays as it is: a *segment*. No process collects. When enough has been taken, or somebody asks, all schedulers stop between two slices, and what lives of
//! all that is young goes to the one old generation, which stays in place (`large.rs`) and is marked by a helper while the processes run (`marking.rs`).
//!
//! ```text
//!   process A         process B          processes that have ended
//!   block+stack       block+stack
//!   segments          segments           segments                       young: pointers lead anywhere
//!   chunks            chunks             chunks
//!       |                 |                  |
//!       +-----------------+------------------+--->  old generation       its objects refer to old ones only (heap/H4)
//! ```
//!
//! SH1. Young memory is freed only by a collection, which has all processes stopped; so a pointer to it is good in all of them.
//! SH2. What leaves a process otherwise than by a message, or as an argument of a new process, is a copy (timers, signals, tables): it refers to nothing but itself and
//!      literals. So only processes and their messages hold pointers into the heap.
//! SH3. A process that is inside a built-in whose terms nobody lists is *pinned*: all that its roots lead to stays where it is, and all of its own memory. The
//!      built-in has got its terms from these roots, or made them in that memory. Who else refers to what stays gets a copy of it, so that nothing old refers to
//!      it (`pinned.rs`).
//! SH4. Literals that are to go (`going_literals.rs`) wait for a collection of all during which no process is pinned: in one pass over the old generation and all roots, who refers to
//!      them gets copies. Until then whoever copies a term takes them along (vm/LC1), for a copy is no root.
//! SH5. What waits in a signal that a collection has visited is old, and all that came before it in the same queue were visited too. While a process is pinned no signal to it is visited:
//!      what they refer to stays young.

use crate::account::{self, Class};
use crate::attribution::Told;
pub use crate::attribution::old_words_of;
use crate::block;
use crate::company::{Company, Pace};
use crate::copy::Span;
use crate::gaps::Gaps;
use crate::gathering::Gathering;
use crate::going_literals;
pub use crate::going_literals::{leaving, release};
use crate::heap::{Heap, RESERVED};
use crate::in_place::Destination;
use crate::large::UNHURRIED;
use crate::literal;
use crate::marking::Help;
use crate::marking_times::{MarkingTimes, Progress};
use crate::one_heap::{self, Asked, taken};
pub use crate::one_heap::{AtRest, is_due, is_on, is_over, look_at_rest, look_before_rest, request};
use crate::pinned::{Pinned, Swept};
use crate::promotion::{self, MOST_PROMOTERS, Piece, Promoter, Promotion};
use crate::roots::Roots;
use crate::segment::{SEGMENT, Segments, each_root};
use crate::settings::Settings;
use crate::sizes;
use crate::young_blocks;
pub use crate::young_blocks::Unneeded;
use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_sync::work_list::WorkList;
use myriad_sync::{LockClass, Mutex};
use myriad_term::OffHeap;
#[cfg(heap_check)]
use myriad_term::Term;

static OLD_CLASS: LockClass = LockClass::new("shared_heap", 20);
static OLD: Mutex<Option<Old>> = Mutex::new(&OLD_CLASS, None);
static ABANDONED_CLASS: LockClass = LockClass::new("abandoned_memory", 947);
/// Memory of processes that have ended.
static ABANDONED: Mutex<Memory> = Mutex::new(&ABANDONED_CLASS, Memory::NONE);

/// The old generation.
struct Old {
    /// It is in a heap without a young one.
    heap: Heap,
    /// A marking is about to begin.
    gathering: Option<Gathering>,
    /// The number of the last one.
    gatherings: u32,
    /// When the next one is due, if it does not grow.
    times: MarkingTimes,
    company: Company,
}

/// What is left of processes that have ended.
struct Memory {
    segments: Segments,
    /// The counted objects of each.
    chains: Vec<OffHeap>,
}

impl Memory {
    const NONE: Memory = Memory { segments: Segments::NONE, chains: Vec::new() };

    fn join(&mut self, other: Memory) {
        self.segments.join(other.segments);
        self.chains.extend(other.chains);
    }
}

// SAFETY: it owns its blocks and counts.
unsafe impl Send for Memory {}

/// All processes have one heap from now on: to be called before the first is made. `false`: there are no addresses for it.
pub fn use_one_heap(schedulers: usize) -> bool {
    let mut old = Heap::without_block(&Settings::default());
    old.settle_here();
    let Some((start, words)) = old.make_widest_old() else { return false };
    let times = MarkingTimes::default();
    *OLD.lock() = Some(Old { heap: old, gathering: None, gatherings: 0, times, company: Company::default() });
    one_heap::begin(start, words, schedulers);
    true
}

impl Heap {
    /// Its process has ended: the memory is that of those who refer to it (SH1).
    pub fn abandon(&mut self) {
        if !is_on() {
            return;
        }
        let (chunks, is_used) = (self.retire_chunks(), self.young_words() > 0);
        let segments = self.rare.as_mut().map(|rare| std::mem::take(&mut rare.segments)).unwrap_or_default();
        // Until the next collection nobody has what is free in its blocks. The first one was not counted when it was taken.
        let first = if is_used && segments.blocks.is_empty() { self.block_words() } else { 0 };
        // What goes with the process is something to collect, be it little.
        taken(chunks + first + 1);
        let off_heap = std::mem::replace(&mut self.off_heap, OffHeap::new());
        let counts = !off_heap.first.is_null();
        debug_assert!(!counts || is_used || !segments.is_empty(), "H5: a chain of objects that lie nowhere");
        if is_used || !segments.is_empty() {
            let mut abandoned = ABANDONED.lock();
            abandoned.segments.join(segments);
            if is_used {
                self.leave_block(&mut abandoned.segments);
            }
            abandoned.chains.extend(counts.then_some(off_heap));
        }
    }
}

/// Which terms in signals are visited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InSignals {
    /// All.
    All,
    /// Those that were not since they came, which become old now (SH5).
    New,
}

/// A process that is stopped.
pub trait Process: Send {
    /// Its heap.
    fn heap(&mut self) -> &mut Heap;
    /// A number that no other process has.
    fn number(&self) -> u64;
    /// Is it inside a built-in whose terms are not among its roots (SH3)?
    fn is_pinned(&mut self) -> bool;
    /// Calls `visit` with the heap and all places outside it that hold terms, but those in signals.
    fn with_roots(&mut self, visit: &mut dyn FnMut(&mut Heap, &mut Roots<'_>));
    /// Calls `visit` with the places in signals to these processes that hold terms of the heap: of all at once, for to find the next one in a queue is to wait for memory.
    fn each_in_signals(processes: &mut [&mut Self], which: InSignals, visit: &mut dyn FnMut(*mut u64))
    where
        Self: Sized;
}

/// All processes, stopped.
pub trait World {
    /// One of them.
    type Process<'w>: Process
    where
        Self: 'w;

    /// Lists them. If only `active` ones are asked for: those that have run since the last collection ([`Heap::is_touched`]), or for which signals wait.
    fn processes(&mut self, active: bool) -> Vec<Self::Process<'_>>;

    /// The process with a number ([`Process::number`]), if it is still there.
    fn process(&mut self, number: u64) -> Option<Self::Process<'_>>;

    /// Lists up to so many of those whose place is this or a later one, in the order of places; also gives the place behind them, if there are more.
    fn processes_from(&mut self, place: usize, most: usize) -> (Vec<Self::Process<'_>>, Option<usize>);
}

/// What a stop of all processes has to do with.
#[derive(Clone, Copy)]
pub struct Stop<'a> {
    /// Does something on the calling thread and on those that have nothing to do meanwhile, at once; returns when all have returned.
    pub together: &'a dyn Fn(&(dyn Fn() + Sync)),
    /// The time.
    pub now_ns: &'a dyn Fn() -> u64,
    /// Words that one thread copies before it calls the others: what takes as long as to wake them. If these are the most that there can be, nobody is called for anything.
    pub alone: usize,
    /// Processes that are asked for their roots at one stop, beside those that have run.
    pub asked: usize,
    /// Words by which the old generation grows before it is marked, be little alive.
    pub grown: usize,
}

impl<'a> Stop<'a> {
    /// With the bounds of those that are measured.
    pub fn new(together: &'a dyn Fn(&(dyn Fn() + Sync)), now_ns: &'a dyn Fn() -> u64) -> Stop<'a> {
        if cfg!(heap_check) {
            return Stop { together, now_ns, alone: 100, asked: 3, grown: 250 };
        }
        Stop { together, now_ns, alone: 16 * 1024, asked: 4096, grown: UNHURRIED }
    }

    /// Does something with all processes, by pieces; if they are many, on several threads. Gives what each has found.
    pub(crate) fn spread<P: Process, T: Default + Send>(
        &self,
        processes: &mut [P],
        visit: impl Fn(&mut [P], &mut T) + Sync,
    ) -> Vec<T> {
        if processes.len() < MANY || self.alone == usize::MAX {
            let mut found = T::default();
            visit(processes, &mut found);
            return vec![found];
        }
        let pieces = Mutex::new(&PIECES_CLASS, processes.chunks_mut(AT_ONCE));
        let all = Mutex::new(&RESULTS_CLASS, Vec::new());
        (self.together)(&|| {
            let mut found = T::default();
            let next = || pieces.lock().next();
            std::iter::from_fn(next).for_each(|processes| visit(processes, &mut found));
            all.lock().push(found);
        });
        all.into_inner()
    }
}

/// Processes that one thread takes at once, and the number from which on others are called to look at them.
const AT_ONCE: usize = 16;
/// Pieces that few processes are divided into, each of which may have much.
const PIECES: usize = 16;
const MANY: usize = if cfg!(heap_check) { 4 } else { 512 };

/// An empty block keeps so many words, however many processes there are.
const LEAST_KEPT: usize = 1000;

static PIECES_CLASS: LockClass = LockClass::new("processes_to_collect", 31);
static RESULTS_CLASS: LockClass = LockClass::new("collected", 34);

/// Collects: all that is young, and all if that was asked for. Gives what helpers are to do.
///
/// # Safety
/// All processes are stopped, and `world` tells all of them (SH2).
pub unsafe fn collect(world: &mut impl World, stop: &Stop<'_>) -> Vec<Help> {
    let mut old = OLD.lock();
    let Some(Old { heap: old, gathering, gatherings, times, company }) = old.as_mut() else { return Vec::new() };
    let Asked { full, taken } = one_heap::begin_collection();
    old.settle_here();
    let stop = &if cfg!(heap_check) || company.is_allowed() { *stop } else { Stop { alone: usize::MAX, ..*stop } };
    let mut abandoned = std::mem::replace(&mut *ABANDONED.lock(), Memory::NONE);
    // SAFETY: the caller's promise.
    unsafe {
        let mut into_old = Vec::new();
        let mut active = world.processes(true);
        times.collected((stop.now_ns)(), taken || !active.is_empty());
        let (pinned, words) = find_pinned(&mut active, &mut into_old);
        let words = words + abandoned.segments.words;
        let promoted = promote(&mut active, stop, company, &pinned, old, words);
        let mut chain = std::mem::replace(&mut old.old_off_heap, OffHeap::new());
        pinned.give_copies(&mut chain);
        #[cfg(heap_check)]
        check_signals(&mut active);
        let most = one_heap::share(active.len()).clamp(LEAST_KEPT, SEGMENT);
        let swept = stop.spread(&mut active, |processes, swept: &mut Swept| {
            processes.iter_mut().for_each(|process| begin_anew(process, &pinned, most, swept));
        });
        chain = swept.into_iter().fold(chain, |chain, swept| swept.before(chain));
        let mut swept = Swept::default();
        abandoned.chains.retain_mut(|chain| {
            pinned.sweep(chain, false, &mut swept);
            !chain.first.is_null()
        });
        pinned.free(&mut abandoned.segments);
        old.old_off_heap = swept.before(chain);
        ABANDONED.lock().join(abandoned);
        account::collected(words - promoted.min(words));
        old.minor_gcs = old.minor_gcs.saturating_add(1);
        let mut evacuation = Progress::None;
        if full {
            drop(active);
            drop(gathering.take().map(Gathering::end));
            old.collect_old(world, into_old);
            times.are_over((stop.now_ns)(), old.old_words());
            if !world.processes(false).iter_mut().any(Process::is_pinned) {
                // They may be literals alone, and the process may not have run since the last collection.
                old.release_literals(world);
            } else if going_literals::any() {
                one_heap::ask_next();
            }
            one_heap::end_full();
        } else {
            let is_pinned = active.iter_mut().any(Process::is_pinned);
            let (now_ns, grown) = ((stop.now_ns)(), old.is_marking_due(stop.grown));
            // A marking waits for an evacuation, unless that waits itself.
            let may_begin = is_pinned || !old.is_evacuated();
            // It is prepared before any of its roots is known (heap.gathering/GR2).
            if may_begin && (grown || times.is_due(now_ns, old.old_words())) && old.prepare_marking() {
                times.begin(old.old_words(), grown);
                *gathering = Some(Gathering::begin(gatherings, &mut active, stop, Told::by_nobody(into_old)));
            }
            old.tell_referrers(&mut active, stop);
            drop(active);
            if let Some(roots) = gathering {
                if roots.go_on(world, stop) {
                    let roots = gathering.take().map(Gathering::end);
                    old.start_marking(roots.unwrap_or_default());
                }
            } else if old.is_marked() {
                old.advance_marking(&Roots::new());
                if !old.is_marked() {
                    times.end((stop.now_ns)(), old.old_words());
                    evacuation = if old.is_evacuated() { Progress::Goes } else { Progress::None };
                }
            } else {
                evacuation = old.evacuate_shared(world, stop, is_pinned);
            }
        }
        times.tell(old.old_words(), evacuation);
        one_heap::end_collection();
        std::iter::from_fn(|| old.take_help()).collect()
    }
}

/// What stays where it is, and how many words are young.
///
/// # Safety
/// All processes are stopped.
unsafe fn find_pinned<P: Process>(active: &mut [P], into_old: &mut Vec<u64>) -> (Pinned, usize) {
    let (mut pinned, mut words) = (Pinned::default(), 0);
    for process in active {
        words += process.heap().all_young_words();
        if process.is_pinned() {
            // SAFETY: the roots' words are words of the heap, which nobody changes now.
            let mut pin = |word| unsafe { pinned.pin(word, into_old) };
            process.with_roots(&mut |heap, roots| each_root(heap, roots, &mut pin));
            // SAFETY: as above.
            P::each_in_signals(&mut [process], InSignals::All, &mut |place| pin(unsafe { *place }));
        }
    }
    pinned.are_complete();
    (pinned, words)
}

/// Moves all that lives and is not pinned to the old generation; gives its words.
///
/// # Safety
/// All processes are stopped; these are all that may refer to what is young, which has at most so many words.
unsafe fn promote<P: Process>(
    active: &mut [P],
    stop: &Stop<'_>,
    company: &mut Company,
    pinned: &Pinned,
    old: &mut Heap,
    words: usize,
) -> usize {
    let words = words + pinned.words();
    if words > old.old_room() {
        block::out_of_memory(words, Class::Process);
    }
    old.make_usable(Gaps::room_for(words) + promotion::ROOM);
    let (gaps, opened) = Gaps::open(old, words);
    let range = Span::new(old.old_start, old.old_end);
    let promotion = Promotion::new(range, Span::of(literal::range()), pinned, gaps);
    // SAFETY: the caller's promise: the roots of these are all roots, and the old generation has room for all that is young (heap.copy/C1).
    unsafe {
        let began = (stop.now_ns)();
        let mut first = Promoter::<true>::new(&promotion);
        let mut left = active.chunks_mut((active.len() / PIECES).clamp(1, AT_ONCE));
        let mut is_much = false;
        while !is_much && let Some(processes) = left.next() {
            first.roots_of(processes);
            is_much = !first.scan(stop.alone);
        }
        let scanned = first.scanned;
        let mut pieces: Vec<Piece<'_, P>> = left.map(Piece::Roots).collect();
        pieces.extend(first.end().into_iter().map(Piece::Objects));
        if !pieces.is_empty() {
            let called = (stop.now_ns)();
            let (list, promoters) = (WorkList::new(&PIECES_CLASS, pieces), AtomicUsize::new(0));
            let words = AtomicUsize::new(0);
            (stop.together)(&|| {
                // Relaxed: a number.
                if promoters.fetch_add(1, Ordering::Relaxed) < MOST_PROMOTERS
                    && let Some(mut worker) = list.join()
                {
                    let mut promoter = Promoter::<false>::new(&promotion);
                    promoter.work(&mut worker);
                    // Relaxed: a figure.
                    words.fetch_add(promoter.scanned, Ordering::Relaxed);
                    promoter.end();
                }
            });
            let alone = Pace { words: scanned, ns: called.saturating_sub(began) };
            company.came(alone, Pace { words: words.into_inner(), ns: (stop.now_ns)().saturating_sub(called) });
        }
    }
    promotion.end().close(old, opened)
}

/// SH5: what waits in signals to processes that are not pinned is old, visited now or before.
#[cfg(heap_check)]
fn check_signals<P: Process>(active: &mut [P]) {
    let mut processes: Vec<&mut P> =
        active.iter_mut().filter_map(|process| (!process.is_pinned()).then_some(process)).collect();
    P::each_in_signals(&mut processes, InSignals::All, &mut |place| {
        // SAFETY: only looked at.
        let term = unsafe { Term::from_raw(*place) };
        let is_old =
            term.is_immediate() || one_heap::is_old(term.object_ptr()) || literal::is_literal(term.object_ptr());
        assert!(is_old, "SH5: the young term {:#x} waits in a signal", term.raw());
    });
}

/// All that lives has moved: a process's heap begins anew. Counted objects of it that are old now join `swept`.
fn begin_anew(process: &mut impl Process, pinned: &Pinned, most: usize, swept: &mut Swept) {
    let is_pinned = process.is_pinned();
    let heap = process.heap();
    heap.total_gcs = heap.total_gcs.wrapping_add(1);
    heap.minor_gcs = heap.minor_gcs.saturating_add(1);
    let young = heap.all_young_words();
    // SAFETY: all that lives has moved, but for what is pinned, and the memory still stands.
    unsafe {
        pinned.sweep(&mut heap.off_heap, is_pinned, swept);
        heap.retire_chunks();
        if is_pinned || pinned.any_in(heap.start, heap.young_words()) {
            if heap.young_words() > 0 {
                let size = sizes::at_least((heap.stack_words() + RESERVED).max(heap.min_heap_size()));
                heap.replace_block(size);
            }
        } else {
            (heap.htop, heap.high_water) = (heap.start, heap.start);
            shrink(heap, most);
        }
        if is_pinned {
            return;
        }
        if let Some(rare) = &mut heap.rare {
            pinned.free(&mut rare.segments);
        }
        heap.count_promoted(young);
        heap.forget_touch();
    }
}

/// A block that is empty becomes smaller, if it is large, or has far more than `most` words.
fn shrink(heap: &mut Heap, most: usize) {
    let needed = (2 * heap.stack_words()).max(heap.min_heap_size()).max(RESERVED);
    let wanted = if heap.block_words() > SEGMENT { needed } else { needed.max(most) };
    if heap.block_words() > SEGMENT.min(2 * most) && heap.block_words() > 4 * needed && wanted < heap.block_words() {
        heap.replace_block(sizes::at_least(wanted));
    }
}

impl Heap {
    /// Collects the old generation now, while the world stands.
    fn collect_old(&mut self, world: &mut impl World, into_old: Vec<u64>) {
        self.stop_marking();
        let mut told = Told::by_nobody(into_old);
        for processes in world.processes(false).chunks_mut(AT_ONCE) {
            told.tell_all(processes.iter_mut().collect());
        }
        self.begin_marking(told);
        while self.is_marked() {
            while let Some(help) = self.take_help() {
                help.run();
            }
            self.advance_marking(&Roots::new());
        }
    }
}

/// Gives the allocator young memory that is not needed; to be called after each collection.
pub fn give_back(which: Unneeded) {
    young_blocks::give_back(which, |block, words| {
        // SAFETY: nobody has this block any more (heap.young_blocks/YB1), which was taken with this size.
        unsafe { block::free(block, words, Class::Process) };
    });
}

/// Words of the old generation's objects, as far as is known.
pub fn old_words() -> usize {
    OLD.lock().as_ref().map_or(0, |old| old.heap.old_words())
}
