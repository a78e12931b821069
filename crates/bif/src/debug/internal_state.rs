//! `erts_debug:get_internal_state/1` and `set_internal_state/2`: what OTP's own suites ask of a VM's inside.
//!
//! Closed until someone opens it, as on OTP, which then warns through the logger.

use super::{references, relations};
use myriad_heap::Payload;
use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_sync::{Arc, thread};
use myriad_term::boxed::Header;
use myriad_term::hash::internal_hash;
use myriad_term::{Atom, Build, Kind, Pid, Term, am, memory, print};
use myriad_vm::bif::{Escape, UNDEF, badarg};
use myriad_vm::subsystem::Statistic;
use myriad_vm::test_hooks::{Hook, TestHooks};
use myriad_vm::timer::Action;
use myriad_vm::vm::TABLE_NAME_BUCKETS;
use myriad_vm::{BifResult, Ctx, Signal, Vm};
use std::time::Duration;

/// The bits of a pid that OTP's have.
fn pid_bits(pid: Pid) -> Term {
    Term::small((pid.data() & ((1 << (Pid::NUMBER_BITS + Pid::OTP_SERIAL_BITS)) - 1)) as i64)
}

pub(super) fn get_internal_state_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if !ctx.vm.test_hooks.is_open() {
        return Err(UNDEF);
    }
    let least = myriad_sched::local::LEAST_UNIQUE;
    match (args[0].as_atom(), args[0].as_tuple_of::<2>()) {
        (Some(am::available_internal_state), _) => Ok(Term::TRUE),
        // Tables count in their shards; the order of locks is checked in debug builds, and not as a graph.
        (Some(am::flxctr_memory_usage | am::lc_graph), _) => Ok(am::notsup.term()),
        // Words of a table by itself, and of the head of a table of segments of buckets, as `ets:info/2` counts them.
        (Some(am::DbTable_words), _) => Ok(ctx.tuple(&[Term::small(49), Term::small(6)])),
        (Some(am::reds_left), _) => Ok(Term::small(i64::from(ctx.state.reductions.left().max(0)))),
        (Some(am::next_pid), _) => Ok(pid_bits(ctx.vm.processes.next_pid())),
        (Some(am::next_port), _) => Ok(next_port(ctx, None)),
        // Relaxed: a figure.
        (Some(am::nbalance), _) => Ok(ctx.uint(ctx.vm.schedulers.balances.load(Ordering::Relaxed) as u64)),
        (Some(am::min_unique_integer | am::min_unique_monotonic_integer), _) => Ok(ctx.int128(least)),
        (Some(am::persistent_term), _) => {
            let size = (am::table.term(), Term::small(crate::persistent::table_size(ctx.vm) as i64));
            Ok(myriad_term::map::from_pairs(ctx, &[size]))
        }
        (Some(am::processes), _) => {
            let pids: Vec<Term> = ctx.vm.processes.pids().into_iter().map(Pid::term).collect();
            Ok(ctx.list(&pids))
        }
        (Some(am::check_io_debug), _) => {
            let which = [Statistic::PolledInVain, Statistic::Polled, Statistic::PolledByPorts, Statistic::PolledByNifs];
            let figures = which.map(|which| Term::small(ctx.vm.statistic(which) as i64));
            Ok(ctx.tuple(&figures))
        }
        (Some(am::processes_bif_info), _) => Ok(crate::process::processes_bif_info(ctx)),
        (Some(am::memory), _) => {
            let figures = myriad_observe::memory::figures(ctx.vm).map(|(name, bytes)| {
                let bytes = ctx.uint(bytes as u64);
                ctx.tuple(&[name.term(), bytes])
            });
            Ok(ctx.list(&figures))
        }
        (Some(am::phases), _) => Ok(phases(ctx)),
        (Some(am::stop), _) => Ok(stops(ctx)),
        (Some(am::stack_check), _) => match native_stack_left() {
            Some(bytes) => Ok(ctx.uint(bytes as u64)),
            None => Ok(am::notsup.term()),
        },
        // An option of OTP's debug builds: that each allocation makes a fragment.
        (Some(am::force_heap_frags), _) => Ok(Term::FALSE),
        (Some(am::node_and_dist_references), _) => references::node_and_dist_references(ctx),
        (Some(am::process_info_args), _) => Ok(myriad_observe::info::all_items(ctx)),
        (_, Some([key, term])) if key.is_am(am::binary_info) => super::binary_info(ctx, term),
        (_, Some([key, pid])) if key.is_am(am::link_list) => relations::ask(ctx, pid, relations::links),
        (_, Some([key, pid])) if key.is_am(am::monitor_list) => relations::ask(ctx, pid, relations::monitors),
        (_, Some([key, index])) if key.is_am(am::atom) => match index.as_usize() {
            Some(index) if index < myriad_term::atom::count() => {
                Ok(Term::atom(myriad_term::Atom::from_index(index as u32)))
            }
            _ => badarg(),
        },
        (_, Some([key, term])) if key.is_am(am::internal_hash) => Ok(Term::small(i64::from(internal_hash(term, 0)))),
        (_, Some([key, pid])) if key.is_am(am::process_status) => {
            let Some(pid) = pid.as_local_pid() else { return badarg() };
            Ok(Term::atom(ctx.vm.processes.get(pid).map_or(am::undefined, myriad_vm::Process::seen_status)))
        }
        _ => match args[0].as_tuple_of::<3>() {
            Some([key, scheduler, count]) if key.is_am(am::make_unique_integer) => unique(ctx, scheduler, count),
            _ => badarg(),
        },
    }
}

/// What the parts of sends and collections came to (`+JMphases true`), `{Count, Ns}` of each; `undefined` while nothing is measured.
fn phases(ctx: &mut Ctx<'_>) -> Term {
    let Some(figures) = myriad_heap::phases::figures() else { return am::undefined.term() };
    let parts = figures.map(|(count, ns)| {
        let pair = [ctx.uint(count), ctx.uint(ns)];
        ctx.tuple(&pair)
    });
    ctx.list(&parts)
}

/// How long all processes stood for collections of the one heap, `{UntilAllStood, Whole}`, each a list of `{Ns, Count}`; `undefined` where each has its own.
fn stops(ctx: &mut Ctx<'_>) -> Term {
    if !myriad_heap::shared::is_on() {
        return am::undefined.term();
    }
    let stops = &ctx.vm.stops;
    let lists = [&stops.asked, &stops.whole].map(|durations| {
        let durations = durations.each().collect::<Vec<_>>().into_iter();
        let pairs: Vec<Term> = durations
            .map(|(ns, count)| {
                let pair = [ctx.uint(ns), ctx.uint(count)];
                ctx.tuple(&pair)
            })
            .collect();
        ctx.list(&pairs)
    });
    ctx.tuple(&lists)
}

/// The unique integer that a scheduler makes as its `count`-th.
fn unique(ctx: &mut Ctx<'_>, scheduler: Term, count: Term) -> BifResult {
    let count = match (count.as_small(), count.as_big()) {
        (Some(n), _) => u64::try_from(n).ok(),
        (None, Some((false, [limb]))) => Some(*limb),
        _ => None,
    };
    let scheduler = scheduler.as_small().and_then(|n| u64::try_from(n).ok());
    match (scheduler, count) {
        (Some(scheduler), Some(count)) => {
            let unique = ctx.vm.unique(scheduler, count);
            Ok(ctx.int128(unique))
        }
        _ => badarg(),
    }
}

fn next_port(ctx: &Ctx<'_>, set: Option<u64>) -> Term {
    Term::small(ctx.vm.ports().map_or(0, |ports| ports.next(ctx.vm, set)) as i64)
}

/// Names that tables are looked up by in the same place as by a given one: `{Name, HowMany}`.
fn colliding_names(ctx: &mut Ctx<'_>, value: Term) -> BifResult {
    let Some([name, count]) = value.as_tuple_of::<2>() else { return badarg() };
    let (Some(name), Some(count)) = (name.as_atom(), count.as_usize().filter(|n| *n <= 100)) else { return badarg() };
    let bucket = |atom: Atom| atom.index() as usize % TABLE_NAME_BUCKETS;
    let mut names = Vec::new();
    // Atoms have numbers in the order in which they come.
    for i in 0..count * 4 * TABLE_NAME_BUCKETS {
        if names.len() == count {
            break;
        }
        let other = Atom::new(&format!("{}{i}", name.text()))?;
        if bucket(other) == bucket(name) {
            names.push(Term::atom(other));
        }
    }
    Ok(ctx.list(&names))
}

/// Sets a hook to a number, or to its `default`; gives what it was.
fn set_hook(ctx: &mut Ctx<'_>, value: Term, hook: fn(&TestHooks) -> &Hook, fits: fn(usize) -> bool) -> BifResult {
    let number = value.as_usize().filter(|n| fits(*n));
    if number.is_none() && !value.is_am(am::default) {
        return badarg();
    }
    let before = hook(&ctx.vm.test_hooks).set(number);
    Ok(ctx.uint(before as u64))
}

/// Breaks an invariant, for tests of what happens then: a fault for the value `fault`, no memory for `memory`, else a panic
/// that names the value.
#[cold]
fn break_down(value: Term) -> ! {
    match value.as_atom().map(|atom| atom.text()) {
        Some("fault") => {
            // SAFETY: none: this is a fault on purpose. Nothing is mapped at the first page, so nothing is read.
            unsafe { std::ptr::without_provenance::<u8>(8).read_volatile() };
            panic!("a fault that was none")
        }
        Some("memory") => memory::exhausted(memory::Purpose("test", "test"), 1 << 60),
        _ => panic!("{}", print::text(value, 1000)),
    }
}

pub(super) fn set_internal_state_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let [state, value] = [args[0], args[1]];
    if state.is_am(am::available_internal_state) {
        let Some(open) = value.as_bool() else {
            return if ctx.vm.test_hooks.is_open() { badarg() } else { Err(UNDEF) };
        };
        return Ok(Term::bool(ctx.vm.test_hooks.open(open)));
    }
    if !ctx.vm.test_hooks.is_open() {
        return Err(UNDEF);
    }
    match state.as_atom() {
        Some(am::reds_left) => match value.as_small().and_then(|n| i32::try_from(n).ok()) {
            Some(n @ 0..) => {
                ctx.state.reductions.begin_slice(n);
                Ok(Term::TRUE)
            }
            _ => badarg(),
        },
        Some(am::next_pid) => match value.as_usize().map(u32::try_from) {
            Some(Ok(bits)) => Ok(pid_bits(ctx.vm.processes.set_next(bits))),
            _ => badarg(),
        },
        Some(am::next_port) => match value.as_usize() {
            Some(bits) => Ok(next_port(ctx, Some(bits as u64))),
            None => badarg(),
        },
        // Many may send to one process at once, always.
        Some(am::proc_sig_buffers) if value.as_bool() == Some(true) => Ok(Term::TRUE),
        // How long an entry of the table of nodes stays without references: there is no such table, and so none stays.
        Some(am::node_tab_delayed_delete) if value.is_integer() => Ok(Term::OK),
        Some(am::re_loop_limit) => set_hook(ctx, value, |hooks| &hooks.regex_steps, |n| n <= u32::MAX as usize),
        Some(am::unicode_loop_limit) => set_hook(ctx, value, |hooks| &hooks.unicode_chars, |_| true),
        Some(am::binary_loop_limit) => set_hook(ctx, value, |hooks| &hooks.binary_bytes, |_| true),
        // What others ask for waits; room that the process itself wants is still made.
        Some(am::gc_state) => {
            let Some(on) = value.as_bool() else { return badarg() };
            Ok(Term::bool(gc_state(ctx, on)))
        }
        Some(am::force_gc) => {
            if value == ctx.pid().term() {
                ctx.state.heap.request_fullsweep();
                return Ok(Term::TRUE);
            }
            badarg()
        }
        // Ordered sets have no parts that could be split or joined; to force traps is an option of OTP's debug builds.
        Some(am::ets_force_split | am::ets_debug_random_split_join) => match value.as_tuple_of::<2>() {
            Some([table, on]) if table.is_reference() && on.as_bool().is_some() => Ok(Term::OK),
            _ => badarg(),
        },
        Some(am::ets_force_trap) => Ok(am::notsup.term()),
        Some(am::colliding_names) => colliding_names(ctx, value),
        // The next allocation finds no room in the block.
        Some(am::fill_heap) => {
            if let Some(words) = ctx.state.heap.room().checked_sub(myriad_heap::RESERVED + 1) {
                ctx.boxed_raw(Header::new(Kind::Filler, words), &vec![0; words]);
            }
            Ok(Term::OK)
        }
        Some(am::inconsistent_heap) => inconsistent_heap(ctx, value),
        Some(am::test_long_gc_sleep) => match value.as_small().and_then(|ms| u32::try_from(ms).ok()) {
            Some(ms) => {
                ctx.vm.test_hooks.collection_ms.set(Some(ms as usize));
                Ok(Term::TRUE)
            }
            None => badarg(),
        },
        // The term with memory of its own beside the heap's block.
        Some(am::mbuf) => Ok(Payload::copy(value).attach(&mut ctx.state.heap)),
        Some(am::abort) => break_down(value),
        Some(am::binary) => match value.as_usize() {
            Some(size) if size <= 1 << 30 => Ok(ctx.binary(&vec![0; size])),
            _ => badarg(),
        },
        Some(am::sleep) => {
            // The scheduler sleeps, not the process: that is what it is for.
            let Some(ms) = value.as_small() else { return badarg() };
            thread::sleep(Duration::from_millis(u64::try_from(ms).unwrap_or(0)));
            Ok(Term::TRUE)
        }
        Some(am::process_uniq_counter) => {
            let Some(counter) = counter(value) else { return badarg() };
            ctx.state.markers.serial = counter;
            Ok(Term::OK)
        }
        Some(am::wait) => match value.as_atom() {
            Some(am::aux_work | am::deallocations | am::thread_progress | am::timer_cancellations) => {
                thread_progress(ctx)
            }
            _ => badarg(),
        },
        Some(am::multizero_timeout_in_timeout) => {
            let Some(ms @ 0..) = value.as_small() else { return badarg() };
            let at = ctx.vm.platform.now_ns().saturating_add((ms as u64).saturating_mul(1_000_000));
            set_timer(ctx.vm, ctx.sched.id, at, zero_timeouts(ctx.sched.id, ZERO_TIMEOUTS, ctx.pid()));
            Ok(Term::OK)
        }
        _ => badarg(),
    }
}

/// Elements of the tuple that [`inconsistent_heap`] makes.
const BROKEN_ELEMENTS: usize = 12;

/// `start`: a tuple whose elements are no terms, on a heap that is not collected for others until it is given back here, which makes
/// all of them `ok`. (The collector meets such words elsewhere, too, and lets them be: nothing breaks if it comes after all.)
fn inconsistent_heap(ctx: &mut Ctx<'_>, value: Term) -> BifResult {
    if value.is_am(am::start) && !ctx.state.flags.gc_disabled {
        ctx.state.flags.gc_disabled = true;
        return Ok(ctx.tuple(&[Term::NONE; BROKEN_ELEMENTS]));
    }
    let Some(elements) = value.as_tuple_of::<BROKEN_ELEMENTS>() else { return badarg() };
    let own = !myriad_heap::is_literal(value.boxed_ptr());
    if !own || !ctx.state.flags.gc_disabled || !elements.iter().all(|element| element.is_none()) {
        return badarg();
    }
    for i in 0..BROKEN_ELEMENTS {
        // SAFETY: an element of a tuple that is no literal, and so lies in this process's own memory (heap/H3), which no other thread
        // reads now. An atom is no pointer, so no collector has to know.
        unsafe { *value.boxed_ptr().add(1 + i) = Term::OK.raw() };
    }
    gc_state(ctx, true);
    Ok(Term::OK)
}

/// Lets others have the process collected, or makes them wait; gives what it was.
fn gc_state(ctx: &mut Ctx<'_>, on: bool) -> bool {
    let was_off = std::mem::replace(&mut ctx.state.flags.gc_disabled, !on);
    if on && ctx.state.tasks.is_some() {
        // It gives way at the next chance, to do what has waited.
        ctx.state.reductions.give_way();
    }
    !was_off
}

/// How many bytes are left of the calling thread's native stack.
fn native_stack_left() -> Option<usize> {
    let here = 0u8;
    let mut attributes = std::mem::MaybeUninit::uninit();
    let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are filled in by the first call, read by the second, and given back by the third, each once.
    let known = unsafe {
        libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0
            && libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size) == 0
            && libc::pthread_attr_destroy(attributes.as_mut_ptr()) == 0
    };
    let left = (&raw const here as usize).checked_sub(lowest as usize)?;
    (known && left <= size).then_some(left)
}

/// A number of 64 bits, with a sign or without.
fn counter(value: Term) -> Option<u64> {
    match value.as_small() {
        Some(n) => Some(n as u64),
        None => match value.as_big()? {
            (negative, [limb]) => Some(if negative { limb.wrapping_neg() } else { *limb }),
            _ => None,
        },
    }
}

/// Goes on when every thread has made progress: then also what was retired before is freed. Timers are cancelled at once.
fn thread_progress(ctx: &mut Ctx<'_>) -> BifResult {
    let made = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&made);
    // Release and Acquire: the caller sees what the threads did before.
    ctx.sched.slot.retire(move || told.store(true, Ordering::Release));
    ctx.yield_to(Box::new(move |_| if made.load(Ordering::Acquire) { Ok(Term::OK) } else { Err(Escape::Yield) }))
}

/// How many timers, due at once, are set by one another.
const ZERO_TIMEOUTS: u32 = 5;

fn set_timer(vm: &'static Vm, wheel: usize, at: u64, action: Action) {
    let id = vm.timers.reserve(wheel);
    vm.set_timer(id, at, action);
}

/// A timer that sets one that is due at once, and so on; the last one tells the process.
fn zero_timeouts(wheel: usize, left: u32, to: Pid) -> Action {
    Action::Call(Box::new(move |vm| {
        if left > 0 {
            set_timer(vm, wheel, vm.platform.now_ns(), zero_timeouts(wheel, left - 1, to));
        } else {
            let term = Term::atom(am::multizero_timeout_in_timeout_done);
            vm.signal_pid(
                to,
                Signal::Message(myriad_process::Message::new(myriad_process::Payload::immediate(term), Term::NONE)),
            );
        }
    }))
}
