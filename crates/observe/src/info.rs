//! `process_info/1,2`: what a process tells of itself, in its own thread; or what a visitor reads of it while it does not run (process/P3),
//! for items that take little time and say nothing of terms in its heap.

use myriad_heap::{Fragment, GcInfo, MaxHeapSize, Settings, shared};
use myriad_process::links::{Link, Shown, Target};
use myriad_process::{Message, MessageQueue, Packet, Payload, Status};
use myriad_sync::atomic::Ordering;
use myriad_term::magic::magic_reference;
use myriad_term::{Alloc, Arena, Atom, Build, Mfa, Pid, Term, TermRef, am};
use myriad_vm::code::Register;
use myriad_vm::deliver::Question;
use myriad_vm::private_thread::Mode;
use myriad_vm::{Ctx, OwnerState, Process, TraceFrame, Vm};

/// Items of `process_info/1`, in OTP's order.
const DEFAULT_ITEMS: &[Atom] = &[
    am::registered_name,
    am::current_function,
    am::initial_call,
    am::status,
    am::message_queue_len,
    am::links,
    am::dictionary,
    am::trap_exit,
    am::error_handler,
    am::priority,
    am::group_leader,
    am::total_heap_size,
    am::heap_size,
    am::stack_size,
    am::reductions,
    am::garbage_collection,
    am::suspending,
];

/// Items that can be asked for but are not among the default ones.
const OTHER_ITEMS: &[Atom] = &[
    am::backtrace,
    am::binary,
    am::catchlevel,
    am::current_location,
    am::current_stacktrace,
    am::dollar_frames,
    am::fullsweep_after,
    am::garbage_collection_info,
    am::last_calls,
    am::magic_ref,
    am::max_heap_size,
    am::memory,
    am::message_queue_data,
    am::messages,
    am::min_bin_vheap_size,
    am::min_heap_size,
    am::monitored_by,
    am::monitors,
    am::parent,
    am::sequential_trace_token,
    am::thread,
    am::trace,
];

/// Items that a visitor does not read: they may be long, or take long to find, or are found under a lock (where a process is), or may
/// hold a literal of code that is about to go, of which only a signal's answer is a copy (vm/LC2).
const ASKED_FOR: &[Atom] = &[
    am::backtrace,
    am::binary,
    am::catchlevel,
    am::current_function,
    am::current_location,
    am::current_stacktrace,
    am::dictionary,
    am::dollar_frames,
    am::last_calls,
    am::links,
    am::messages,
    am::monitored_by,
    am::monitors,
    am::sequential_trace_token,
    am::suspending,
];

/// Items for which the words of all messages are counted.
const WITH_MESSAGES: &[Atom] = &[am::memory, am::total_heap_size];

/// Most messages that a visitor counts.
const MOST_COUNTED: usize = 64;

/// Words of a process beside its heap, for `memory`.
const PROCESS_BYTES: usize = size_of::<Process>() + 64;

/// Is this an item (an atom, or a list of them)?
pub fn are_items(items: Term) -> bool {
    let known = |t: Term| t.as_atom().is_some_and(|a| DEFAULT_ITEMS.contains(&a) || OTHER_ITEMS.contains(&a));
    if items.is_list() {
        let mut list = items.list_iter();
        return list.by_ref().all(known) && list.tail().is_nil();
    }
    known(items)
}

/// All items, as a list.
pub fn all_items(ctx: &mut Ctx<'_>) -> Term {
    let items: Vec<TermRef<'_>> = DEFAULT_ITEMS.iter().chain(OTHER_ITEMS).map(|a| a.term()).collect();
    ctx.list(&items)
}

/// The default items, as a list.
pub fn default_items(ctx: &mut Ctx<'_>) -> Term {
    let items: Vec<TermRef<'_>> = DEFAULT_ITEMS.iter().map(|a| a.term()).collect();
    ctx.list(&items)
}

/// An answer in the making. It is made on the heap of the process that asks, or in memory of its own by who is asked by another, so
/// that it does not grow.
struct Answer<'a, 'b, 'h> {
    /// Who makes it.
    ctx: &'a mut Ctx<'b>,
    /// The process that is visited; `None`: the answer is about the one that makes it.
    visited: Option<Visited<'a>>,
    memory: Option<&'h Arena>,
}

/// A process that is visited.
struct Visited<'a> {
    process: &'a Process,
    state: &'a OwnerState,
    status: Status,
    coming: Coming,
}

/// Messages that a process has not fetched yet.
#[derive(Clone, Copy, Default)]
struct Coming {
    messages: usize,
    words: usize,
}

impl Coming {
    /// Those to a process that is visited; `None` if there are other signals too, or more than can be counted in a short time.
    fn to(process: &Process) -> Option<Coming> {
        let mut coming = Coming::default();
        // SAFETY: process/P3: its owner takes no signals as long as it is visited.
        for link in unsafe { process.waiting_signals() } {
            // SAFETY: the link is one of the queue's, which keeps it as long as the process is visited (process/P3).
            let words = unsafe { Packet::<Vm>::look(link, |packet| packet.ok().map(Message::words)) }?;
            coming.messages += 1;
            coming.words += words;
            if coming.messages > MOST_COUNTED {
                return None;
            }
        }
        Some(coming)
    }

    /// Bytes that they will take once they are fetched.
    const fn bytes(self) -> usize {
        self.words * 8 + MessageQueue::node_bytes_of(self.messages)
    }
}

impl<'h> Answer<'_, '_, 'h> {
    /// What others see of the process that the answer is about.
    fn process(&self) -> &Process {
        self.visited.as_ref().map_or(self.ctx.process, |visited| visited.process)
    }

    /// What is the process's own.
    fn state(&self) -> &OwnerState {
        self.visited.as_ref().map_or(self.ctx.state, |visited| visited.state)
    }

    /// Messages that the process has not fetched and that count: when it answers itself, it has fetched them.
    fn coming(&self) -> Coming {
        self.visited.as_ref().map_or_else(Coming::default, |visited| visited.coming)
    }

    fn message_count(&self) -> usize {
        self.state().messages.len() + self.coming().messages
    }

    fn message_words(&self) -> usize {
        self.state().messages.words() + self.coming().words
    }

    /// A term of the process, which the answer may hold as it is only if the process itself makes it.
    fn own_term(&mut self, term: Term) -> TermRef<'h> {
        if self.visited.is_some() { myriad_heap::copy_term(term, self) } else { term }
    }
}

impl<'h> Alloc<'h> for Answer<'_, '_, 'h> {
    fn alloc(&mut self, words: usize) -> std::ptr::NonNull<u64> {
        match &mut self.memory {
            Some(memory) => memory.alloc(words),
            None => self.ctx.alloc(words),
        }
    }

    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise about the object.
        unsafe {
            match &mut self.memory {
                Some(memory) => memory.link(header, words),
                None => self.ctx.link(header, words),
            }
        }
    }
}

/// What a process asks of itself.
pub fn own_info(ctx: &mut Ctx<'_>, items: Term, by_default: bool) -> Term {
    process_info(&mut Answer { ctx, visited: None, memory: None }, items, by_default)
}

/// `process_info/1,2` of another process.
pub struct Items {
    items: Payload,
    by_default: bool,
}

impl Items {
    /// These items ([`are_items`]); `by_default`: those of `process_info/1`.
    pub fn question(items: Term, by_default: bool) -> Box<dyn Question> {
        Box::new(Items { items: Payload::copy(items), by_default })
    }
}

impl Question for Items {
    fn answer<'m>(&self, ctx: &mut Ctx<'_>, memory: &'m Arena) -> TermRef<'m> {
        process_info(&mut Answer { ctx, visited: None, memory: Some(memory) }, self.items.term(), self.by_default)
    }

    fn of_the_dead(&self) -> Term {
        Term::UNDEFINED
    }

    fn memory(&self) -> Option<&Fragment> {
        self.items.memory()
    }
}

/// What a visitor reads of another process; `None`: it has to be asked.
///
/// The answer is what the process itself would give after all signals that have come: there may be none but messages, which count.
pub fn info_by_visit(ctx: &mut Ctx<'_>, process: &Process, items: Term, by_default: bool) -> Option<Term> {
    let among = |all: &[Atom]| {
        let is_one = |item: Term| item.as_atom().is_some_and(|item| all.contains(&item));
        if items.is_list() { items.list_iter().any(is_one) } else { is_one(items) }
    };
    if among(ASKED_FOR) || process.is_exiting() {
        return None;
    }
    let answer = process.visit(|status, state| {
        if state.unhandled.is_some() || state.ending.is_some() || state.in_dirty_call {
            return None;
        }
        if state.messages.len() > MOST_COUNTED && among(WITH_MESSAGES) {
            return None;
        }
        let visited = Visited { process, state, status, coming: Coming::to(process)? };
        Some(process_info(&mut Answer { ctx, visited: Some(visited), memory: None }, items, by_default))
    });
    answer.flatten()
}

/// The answer to `process_info(Pid, Items)`, the items being right; `by_default`: to `process_info(Pid)`. What is made for it is in
/// `out`, what the process has already is not copied (but messages are).
fn process_info<'h>(out: &mut Answer<'_, '_, 'h>, items: TermRef<'_>, by_default: bool) -> TermRef<'h> {
    if let Some(item) = items.as_atom() {
        if item == am::registered_name && out.process().name().is_none() {
            return Term::NIL;
        }
        return pair(out, item);
    }
    let mut pairs = Vec::new();
    for item in items.list_iter().filter_map(TermRef::as_atom) {
        if item == am::registered_name && by_default && out.process().name().is_none() {
            continue;
        }
        pairs.push(pair(out, item));
    }
    out.list(&pairs)
}

fn pair<'h>(out: &mut Answer<'_, '_, 'h>, item: Atom) -> TermRef<'h> {
    let value = value(out, item);
    out.tuple(&[item.term(), value])
}

fn words(n: usize) -> Term {
    Term::small(n as i64)
}

fn value<'h>(out: &mut Answer<'_, '_, 'h>, item: Atom) -> TermRef<'h> {
    match item {
        am::registered_name => out.process().name().map_or(Term::NIL, Atom::term),
        am::current_function => current(out).map_or(Term::UNDEFINED, |frame| mfa(out, frame.mfa)),
        am::current_location => current(out).map_or(Term::UNDEFINED, |frame| location(out, &frame)),
        am::current_stacktrace => stacktrace(out),
        am::backtrace if out.state().flags.sensitive => out.binary(&[]),
        am::messages | am::dictionary | am::dollar_frames if out.state().flags.sensitive => Term::NIL,
        am::dollar_frames => frames(out),
        am::backtrace => {
            let text = crate::stack::backtrace(out.ctx.vm.engine(), out.state());
            out.binary(text.as_bytes())
        }
        am::initial_call => {
            let call = out.state().initial_call;
            mfa(out, call)
        }
        am::status => Term::atom(status(out)),
        am::message_queue_len => words(out.message_count()),
        am::messages => messages(out),
        am::message_queue_data => {
            Term::atom(if out.state().flags.off_heap_messages { am::off_heap } else { am::on_heap })
        }
        am::links => links(out),
        am::monitors => monitors(out),
        am::monitored_by => monitored_by(out),
        am::dictionary => {
            let entries = out.state().dictionary.as_ref().map(|d| d.entries().to_vec()).unwrap_or_default();
            let pairs: Vec<TermRef<'_>> = entries.iter().map(|entry| out.tuple(entry)).collect();
            out.list(&pairs)
        }
        am::trap_exit => Term::bool(out.state().flags.trap_exit),
        am::error_handler => out.state().error_handler.term(),
        am::priority => out.process().priority().term(),
        am::group_leader => {
            let leader = out.state().group_leader;
            out.own_term(leader)
        }
        am::parent => {
            let parent = out.state().parent;
            out.own_term(parent)
        }
        am::total_heap_size => {
            // Messages count where they are to be part of the heap.
            let messages = if out.state().flags.off_heap_messages { 0 } else { out.message_words() };
            words(total_heap_size(out.process().pid, out.state()) + messages)
        }
        am::heap_size => words(out.state().heap.block_words()),
        am::stack_size => words(out.state().heap.stack_words()),
        am::memory => words(memory(out.process().pid, out.state()) + out.coming().bytes()),
        am::reductions => {
            let reductions = reductions(out);
            out.uint(reductions)
        }
        am::min_heap_size => words(out.state().heap.settings().min_heap_size),
        am::min_bin_vheap_size => words(out.state().heap.settings().min_bin_vheap_size),
        am::fullsweep_after => words(out.state().heap.settings().fullsweep_after as usize),
        am::max_heap_size => {
            let limit = out.state().heap.max_heap_size();
            {
                let vm = out.ctx.vm;
                max_heap_size_map(out, vm, limit)
            }
        }
        am::garbage_collection => garbage_collection(out),
        am::garbage_collection_info => garbage_collection_info(out),
        am::suspending => suspending(out),
        am::binary => binaries(out),
        am::magic_ref => Term::NIL,
        am::catchlevel => words(catch_level(out)),
        am::thread => Term::atom(Mode::of(out.process()).name()),
        am::trace => words(0),
        am::sequential_trace_token => {
            if out.state().token.is_some() {
                out.state().token
            } else {
                Term::NIL
            }
        }
        am::last_calls => last_calls(out),
        _ => Term::UNDEFINED,
    }
}

/// Words of a process's heap; where all have one heap, with what of its old generation counts as the process's.
fn total_heap_size(pid: Pid, process: &OwnerState) -> usize {
    process.heap.total_size_words() + shared::old_words_of(pid.data())
}

/// All figures of a process's heap; where all have one heap, with the same.
pub(crate) fn heap_figures(pid: Pid, process: &OwnerState) -> GcInfo {
    let (figures, old) = (process.heap.info(), shared::old_words_of(pid.data()));
    let [old_heap_size, old_heap_block_size] = [figures.old_heap_size, figures.old_heap_block_size].map(|n| n + old);
    GcInfo { old_heap_size, old_heap_block_size, ..figures }
}

/// Bytes that a process takes.
pub(crate) fn memory(pid: Pid, process: &OwnerState) -> usize {
    let held = total_heap_size(pid, process) + process.messages.words();
    held * 8 + PROCESS_BYTES + process.messages.node_bytes()
}

fn last_calls<'h>(out: &mut Answer<'_, '_, 'h>) -> TermRef<'h> {
    let saved = out.state().watched.saved.clone();
    myriad_trace::saved_calls::as_list(saved.as_ref(), out)
}

fn reductions(out: &Answer<'_, '_, '_>) -> u64 {
    let state = out.state();
    // Those of the slice that is under way; a visitor comes when it has been counted.
    let in_slice = if out.visited.is_some() { 0 } else { state.reductions.used_of(out.ctx.sched.pace.slice()) };
    state.reductions.earlier() + u64::from(in_slice)
}

fn status(out: &Answer<'_, '_, '_>) -> Atom {
    let state = out.state();
    let waiting = |waits: bool| if waits { am::waiting } else { am::runnable };
    if state.in_dirty_call {
        return out.process().dirty_status();
    }
    if state.suspensions.any() {
        return am::suspended;
    }
    match &out.visited {
        Some(visited) => waiting(visited.status == Status::Waiting),
        None if state.answering => waiting(state.waiting),
        None => am::running,
    }
}

fn current(out: &Answer<'_, '_, '_>) -> Option<TraceFrame> {
    out.ctx.vm.engine().backtrace(out.state(), 1).into_iter().next()
}

fn mfa<'h, B: Build<'h>>(out: &mut B, mfa: Mfa) -> TermRef<'h> {
    out.tuple(&[mfa.module.term(), mfa.function.term(), Term::small(i64::from(mfa.arity))])
}

/// `{Module, Function, Arity, [{file, File}, {line, Line}]}`
pub fn location<'h, B: Build<'h>>(out: &mut B, frame: &TraceFrame) -> TermRef<'h> {
    let place = place(out, frame);
    let Mfa { module, function, arity } = frame.mfa;
    out.tuple(&[module.term(), function.term(), Term::small(i64::from(arity)), place])
}

/// `[{file, File}, {line, Line}]`, or `[]` if it is not known.
pub fn place<'h, B: Build<'h>>(out: &mut B, frame: &TraceFrame) -> TermRef<'h> {
    // SAFETY: code/K3: the module of a frame that was just walked is loaded.
    let module = unsafe { frame.module.as_ref() };
    let Some((file, line)) = module.and_then(|m| myriad_vm::code::location_of(m, frame.line)) else { return Term::NIL };
    let file = out.tuple(&[Term::atom(am::file), file]);
    let line = out.tuple(&[Term::atom(am::line), Term::small(i64::from(line))]);
    out.list(&[file, line])
}

fn stacktrace<'h>(out: &mut Answer<'_, '_, 'h>) -> TermRef<'h> {
    let frames = out.ctx.vm.engine().backtrace(out.state(), out.ctx.vm.defaults.backtrace_depth());
    let entries: Vec<TermRef<'_>> = frames.iter().map(|f| location(out, f)).collect();
    out.list(&entries)
}

/// Most frames that are told of.
const MOST_FRAMES: usize = 1000;

/// `[{Module, Function, Arity, Location, [{y, Number, Term} | {y, Number}]}]` (`myriad:frames/2`): the second form is a register that marks a `catch` or `try`.
fn frames<'h>(out: &mut Answer<'_, '_, 'h>) -> TermRef<'h> {
    let (engine, state) = (out.ctx.vm.engine(), out.state());
    let frames: Vec<(TraceFrame, Vec<Register>)> = crate::stack::frames(engine, state)
        .take(MOST_FRAMES)
        .filter_map(|frame| Some((crate::stack::place(engine, state, &frame)?, frame.values().collect())))
        .collect();
    let mut list = Vec::new();
    for (at, registers) in &frames {
        let mut values = Vec::new();
        for (number, value) in registers.iter().enumerate() {
            let (y, number) = (am::y.term(), words(number));
            values.push(match value {
                Register::Handler(_) => out.tuple(&[y, number]),
                Register::Term(term) => {
                    let value = out.own_term(*term);
                    out.tuple(&[y, number, value])
                }
            });
        }
        let (place, values) = (place(out, at), out.list(&values));
        let Mfa { module, function, arity } = at.mfa;
        list.push(out.tuple(&[module.term(), function.term(), Term::small(i64::from(arity)), place, values]));
    }
    out.list(&list)
}

fn messages<'h>(out: &mut Answer<'_, '_, 'h>) -> TermRef<'h> {
    // SAFETY: the queue is as it is until the answer is there.
    let held = |message: &Message| -> Term { unsafe { message.term().assume_held() } };
    // Copies: the queue's own terms stay in their fragments until they are received.
    let terms: Vec<Term> = out.state().messages.iter().map(held).collect();
    let copies: Vec<TermRef<'_>> = terms.into_iter().map(|t| myriad_heap::copy_term(t, out)).collect();
    out.list(&copies)
}

fn links<'h>(out: &mut Answer<'_, '_, 'h>) -> TermRef<'h> {
    let active = |t: &myriad_process::links::Tables| -> Vec<Term> {
        t.links.values().filter(|(_, l)| *l == Link::Active).map(|(other, _)| *other).collect()
    };
    let links = out.state().relations.get().map(active).unwrap_or_default();
    out.list(&links)
}

fn monitors<'h>(out: &mut Answer<'_, '_, 'h>) -> TermRef<'h> {
    let all: Vec<(Target, Term)> = out
        .state()
        .relations
        .get()
        .map(|t| t.monitors.values().map(|m| (m.target, m.name)).collect())
        .unwrap_or_default();
    let mut list = Vec::new();
    for (target, name) in all {
        let (kind, item) = match target {
            Target::Process(pid) => (am::process, pid.term()),
            Target::Port(port) => (am::port, port.term()),
            Target::TimeOffset => (am::time_offset, Term::atom(am::clock_service)),
            Target::Gone | Target::GonePort => continue,
        };
        let item = if name.is_some() { out.tuple(&[name, out.ctx.vm.node_name().term()]) } else { item };
        list.push(out.tuple(&[kind.term(), item]));
    }
    out.list(&list)
}

/// Processes that monitor it, and references to other objects that do.
fn monitored_by<'h>(out: &mut Answer<'_, '_, 'h>) -> TermRef<'h> {
    let Some(tables) = out.state().relations.get() else { return Term::NIL };
    let mut all: Vec<TermRef<'h>> = tables.watchers.values().map(|w| w.from.term()).collect();
    let others: Vec<_> = tables.watches.values().filter_map(|watch| watch.shown()).collect();
    for other in others {
        all.push(match other {
            Shown::Object(object) => magic_reference(out, object),
            Shown::Port(port) => port.term(),
        });
    }
    out.list(&all)
}

fn suspending<'h>(out: &mut Answer<'_, '_, 'h>) -> TermRef<'h> {
    let all: Vec<(Term, u32, bool)> = out
        .state()
        .relations
        .get()
        .map(|t| {
            // What has ended is suspended no more.
            let alive = t.suspending.iter().filter(|(p, _)| out.ctx.vm.processes.get(**p).is_some());
            // Relaxed: a figure.
            alive.map(|(p, s)| (p.term(), s.times, s.active.load(Ordering::Relaxed))).collect()
        })
        .unwrap_or_default();
    let mut list = Vec::new();
    for (pid, times, active) in all {
        let times = Term::small(i64::from(times));
        let (active, outstanding) = if active { (times, Term::small(0)) } else { (Term::small(0), times) };
        list.push(out.tuple(&[pid, active, outstanding]));
    }
    out.list(&list)
}

fn binaries<'h>(out: &mut Answer<'_, '_, 'h>) -> TermRef<'h> {
    let mut all = Vec::new();
    out.state().heap.each_shared_binary(|address, size, references| all.push((address, size, references)));
    let mut list = Vec::new();
    for (address, size, references) in all {
        let address = out.uint(address as u64);
        list.push(out.tuple(&[address, words(size), words(references)]));
    }
    out.list(&list)
}

fn catch_level(out: &Answer<'_, '_, '_>) -> usize {
    // SAFETY: stack words are terms or continuations, which look like small integers (code/K2).
    out.state().heap.stack().iter().filter(|w| unsafe { Term::from_raw(**w) }.as_catch().is_some()).count()
}

/// The limit as a map, as `process_flag/2` gives it too.
pub fn max_heap_size_map<'h, B: Build<'h>>(out: &mut B, vm: &Vm, limit: MaxHeapSize) -> TermRef<'h> {
    let mut pairs = vec![
        (am::error_logger.term(), Term::bool(limit.error_logger)),
        (am::kill.term(), Term::bool(limit.kill)),
        (am::size.term(), words(limit.size)),
    ];
    if vm.release.newer_process_flags {
        pairs.push((am::include_shared_binaries.term(), Term::bool(limit.include_shared)));
    }
    myriad_term::map::from_pairs(out, &pairs)
}

fn proplist<'h>(out: &mut Answer<'_, '_, 'h>, pairs: &[(Atom, usize)]) -> Vec<TermRef<'h>> {
    pairs.iter().map(|(k, v)| out.tuple(&[k.term(), words(*v)])).collect()
}

fn garbage_collection<'h>(out: &mut Answer<'_, '_, 'h>) -> TermRef<'h> {
    let Settings { min_heap_size, min_bin_vheap_size, fullsweep_after, max_heap_size } = out.state().heap.settings();
    let map = max_heap_size_map(out, out.ctx.vm, max_heap_size);
    let mut list = vec![out.tuple(&[am::max_heap_size.term(), map])];
    list.extend(proplist(
        out,
        &[
            (am::min_bin_vheap_size, min_bin_vheap_size),
            (am::min_heap_size, min_heap_size),
            (am::fullsweep_after, fullsweep_after as usize),
            (am::minor_gcs, out.state().heap.minor_gcs() as usize),
        ],
    ));
    out.list(&list)
}

fn garbage_collection_info<'h>(out: &mut Answer<'_, '_, 'h>) -> TermRef<'h> {
    let items = heap_figures(out.process().pid, out.state()).named();
    let list = proplist(out, &items);
    out.list(&list)
}
