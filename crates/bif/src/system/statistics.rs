//! `statistics/1`.

use super::state::{WallTimeBase, state};
use myriad_heap::account;
use myriad_sched::{Load, microstate};
use myriad_sync::atomic::Ordering;
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::{DirtyKind, badarg};
use myriad_vm::subsystem::Statistic;
use myriad_vm::{BifResult, Ctx, Vm};

myriad_vm::bifs! { pub STATISTICS = "erlang" {
    "statistics" / 1 Plain => statistics_1;
}}

fn number(n: u64) -> Term {
    Term::small((n & Term::SMALL_MAX as u64) as i64)
}

/// Runnable processes by scheduler.
fn queues(vm: &Vm) -> Vec<u64> {
    vm.schedulers.iter().map(|s| s.len() as u64).collect()
}

/// As above, and the processes that run now: at least the one that asks.
fn active(ctx: &Ctx<'_>) -> Vec<u64> {
    let own = ctx.sched.scheduler(ctx.vm.schedulers.len());
    let all = ctx.vm.schedulers.iter().enumerate();
    all.map(|(id, s)| s.len() as u64 + u64::from(id == own || s.load.is_running())).collect()
}

/// Processes that wait for a dirty scheduler, and (if `active`) those that run on one.
fn dirty(vm: &Vm, kind: DirtyKind, active: bool) -> u64 {
    let running = if active { vm.schedulers.dirty.running(kind) } else { 0 };
    (vm.schedulers.dirty.waiting(kind) + running) as u64
}

/// Lengths as a list: of the schedulers, then of the dirty CPU and (if `all`) dirty I/O queue.
fn lengths(ctx: &Ctx<'_>, active: bool, all: bool) -> Vec<u64> {
    let mut of = if active { self::active(ctx) } else { queues(ctx.vm) };
    of.push(dirty(ctx.vm, DirtyKind::Cpu, active));
    if all {
        of.push(dirty(ctx.vm, DirtyKind::Io, active));
    }
    of
}

fn numbers(of: Vec<u64>) -> Vec<Term> {
    of.into_iter().map(number).collect()
}

fn list(ctx: &mut Ctx<'_>, of: Vec<u64>) -> Term {
    let items = numbers(of);
    ctx.list(&items)
}

fn total(of: Vec<u64>) -> Term {
    number(of.into_iter().sum())
}

/// What schedulers and private threads have done.
fn loads(vm: &Vm) -> impl Iterator<Item = &Load> {
    vm.schedulers.iter().map(|s| &*s.load).chain(vm.schedulers.private_loads())
}

/// Reductions of all, and of the slice that is not booked yet.
fn reductions(ctx: &Ctx<'_>) -> u64 {
    // Relaxed: statistics.
    let booked: u64 = loads(ctx.vm).map(|load| load.reductions.load(Ordering::Relaxed)).sum();
    booked + u64::from(ctx.state.reductions.used_of(ctx.sched.pace.slice()))
}

/// Processor time of all threads outside the kernel, milliseconds: that alone is what OTP counts.
fn runtime_ms() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: writes one `rusage`, for which zeros are a value too.
    let time = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init().ru_utime
    };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1000 + u64::try_from(time.tv_usec).unwrap_or(0) / 1000
}

fn wall_clock_ms(vm: &Vm) -> u64 {
    let since = vm.clock.monotonic_ns(vm.platform.as_ref()) - myriad_sched::clock::START_NS;
    u64::try_from(since).unwrap_or(0) / 1_000_000
}

/// `{Total, SinceLastAsked}`
fn since_last(ctx: &mut Ctx<'_>, now: u64, last: u64) -> Term {
    ctx.tuple(&[number(now), number(now.saturating_sub(last))])
}

/// `[#{type, id, counters => #{State => Nanoseconds}}]` of all threads there are.
fn microstate_accounting(ctx: &mut Ctx<'_>) -> Term {
    let c = &ctx.vm.config;
    let kinds = [
        (am::scheduler, 1..=c.schedulers),
        (am::dirty_cpu_scheduler, 1..=c.dirty_cpu),
        (am::dirty_io_scheduler, 1..=c.dirty_io),
        (am::poll, 0..=0),
    ];
    let ids = kinds.into_iter().flat_map(|(kind, ids)| ids.map(move |id| (kind, id)));
    let mut threads = Vec::new();
    for ((kind, id), times) in ids.zip(ctx.vm.microstates.times(ctx.vm.platform.as_ref())) {
        let mut counters = Vec::new();
        for (name, ns) in microstate::NAMES.into_iter().zip(times) {
            counters.push((name.term(), ctx.uint(ns)));
        }
        let counters = myriad_term::map::from_pairs(ctx, &counters);
        let pairs =
            [(am::counters.term(), counters), (am::id.term(), Term::small(id as i64)), (am::type_.term(), kind.term())];
        threads.push(myriad_term::map::from_pairs(ctx, &pairs));
    }
    ctx.list(&threads)
}

/// Nanoseconds that each scheduler has been idle: normal, dirty CPU, dirty I/O.
fn idle_times(vm: &Vm, now_ns: u64) -> Vec<u64> {
    let normal = vm.schedulers.iter().map(|s| s.load.idle_ns(now_ns));
    normal.chain(vm.schedulers.dirty.loads().map(|load| load.idle_ns(now_ns))).collect()
}

/// From now on.
pub(super) fn wall_time_base(vm: &Vm) -> WallTimeBase {
    let since_ns = vm.platform.now_ns();
    WallTimeBase { since_ns, idle_ns: idle_times(vm, since_ns) }
}

/// `[{Scheduler, ActiveTime, TotalTime}]`, nanoseconds, of normal and dirty CPU schedulers or of `all`; `undefined` if the flag is
/// not set.
fn wall_times(ctx: &mut Ctx<'_>, all: bool) -> Term {
    let vm = ctx.vm;
    let now = vm.platform.now_ns();
    let idle = idle_times(vm, now);
    let count = if all { idle.len() } else { vm.schedulers.len() + vm.config.dirty_cpu };
    let (total, before) = match &state(vm).wall_time {
        Some(base) => (now.saturating_sub(base.since_ns), base.idle_ns.clone()),
        None => return Term::UNDEFINED,
    };
    let mut times = Vec::new();
    for (i, (idle, before)) in idle.into_iter().zip(before).take(count).enumerate() {
        let busy = total.saturating_sub(idle.saturating_sub(before));
        times.push(ctx.tuple(&[Term::small(i as i64 + 1), number(busy), number(total)]));
    }
    ctx.list(&times)
}

fn statistics_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(key) = args[0].as_atom() else { return badarg() };
    match value(ctx, key) {
        Some(value) => Ok(value),
        None => badarg(),
    }
}

fn value(ctx: &mut Ctx<'_>, key: Atom) -> Option<Term> {
    let vm = ctx.vm;
    Some(match key {
        am::active_tasks | am::active_tasks_all => {
            let of = lengths(ctx, true, key == am::active_tasks_all);
            list(ctx, of)
        }
        am::run_queue_lengths | am::run_queue_lengths_all => {
            let of = lengths(ctx, false, key == am::run_queue_lengths_all);
            list(ctx, of)
        }
        am::total_active_tasks | am::total_active_tasks_all => {
            total(lengths(ctx, true, key == am::total_active_tasks_all))
        }
        am::total_run_queue_lengths | am::total_run_queue_lengths_all => {
            total(lengths(ctx, false, key == am::total_run_queue_lengths_all))
        }
        am::run_queue => total(queues(vm)),
        am::run_queues => {
            let items = numbers(lengths(ctx, false, true));
            ctx.tuple(&items)
        }
        am::context_switches => {
            // Relaxed: a figure.
            let switches = loads(vm).map(Load::switches).sum();
            ctx.tuple(&[number(switches), Term::small(0)])
        }
        am::reductions => {
            let now = reductions(ctx);
            let last = std::mem::replace(&mut state(vm).last_reductions, now);
            since_last(ctx, now, last)
        }
        am::exact_reductions => {
            let now = reductions(ctx);
            let last = std::mem::replace(&mut state(vm).last_exact_reductions, now);
            since_last(ctx, now, last)
        }
        am::garbage_collection => {
            let (collections, words) = (account::collections() as u64, account::words_reclaimed() as u64);
            ctx.tuple(&[number(collections), number(words), Term::small(0)])
        }
        am::io => {
            // Relaxed: figures.
            let input = vm.statistic(Statistic::InputBytes);
            let output = vm.statistic(Statistic::OutputBytes);
            let input = ctx.tuple(&[Term::atom(am::input), number(input as u64)]);
            let output = ctx.tuple(&[Term::atom(am::output), number(output as u64)]);
            ctx.tuple(&[input, output])
        }
        am::runtime => {
            let now = runtime_ms();
            let last = std::mem::replace(&mut state(vm).last_runtime, now);
            since_last(ctx, now, last)
        }
        am::wall_clock => {
            let now = wall_clock_ms(vm);
            let last = std::mem::replace(&mut state(vm).last_wall_clock, now);
            since_last(ctx, now, last)
        }
        am::microstate_accounting => microstate_accounting(ctx),
        am::scheduler_wall_time => wall_times(ctx, false),
        am::scheduler_wall_time_all => wall_times(ctx, true),
        _ => return None,
    })
}
