//! `statistics/1`.

use super::state::state;
use myriad_heap::account;
use myriad_sync::atomic::Ordering;
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::badarg;
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
    let mut lengths = queues(ctx.vm);
    if let Some(own) = lengths.get_mut(ctx.sched.id) {
        *own += 1;
    }
    lengths
}

/// Lengths as a list: of the schedulers, then of the dirty CPU and (if `all`) dirty I/O queue.
fn lengths(ctx: &mut Ctx<'_>, of: Vec<u64>, all: bool) -> Term {
    let mut items: Vec<Term> = of.into_iter().map(number).collect();
    items.push(Term::small(0));
    if all {
        items.push(Term::small(0));
    }
    ctx.list(&items)
}

fn total(of: Vec<u64>) -> Term {
    number(of.into_iter().sum())
}

/// Reductions of all, and of the slice that is not booked yet.
fn reductions(ctx: &Ctx<'_>) -> u64 {
    // Relaxed: statistics.
    let booked: u64 = ctx.vm.schedulers.iter().map(|s| s.reductions.load(Ordering::Relaxed)).sum();
    let in_slice = myriad_vm::scheduler::SLICE_REDUCTIONS - ctx.proc.reductions_left;
    booked + u64::try_from(in_slice).unwrap_or(0)
}

/// Processor time of all threads, milliseconds.
fn runtime_ms() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    if result != 0 {
        return 0;
    }
    u64::try_from(time.tv_sec).unwrap_or(0) * 1000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000
}

fn wall_clock_ms(vm: &Vm) -> u64 {
    let since = vm.clock.monotonic_ns(vm.machine.as_ref()) - myriad_vm::time::START_NS;
    u64::try_from(since).unwrap_or(0) / 1_000_000
}

/// `{Total, SinceLastAsked}`
fn since_last(ctx: &mut Ctx<'_>, now: u64, last: u64) -> Term {
    ctx.tuple(&[number(now), number(now.saturating_sub(last))])
}

/// Threads that never measure: every counter is nothing, as on OTP before the flag is set.
fn microstate_accounting(ctx: &mut Ctx<'_>) -> Term {
    let names = [am::aux, am::check_io, am::emulator, am::gc, am::other, am::port, am::sleep];
    let zeros: Vec<(Term, Term)> = names.iter().map(|n| (n.term(), Term::small(0))).collect();
    let counters = myriad_term::map::from_pairs(ctx, &zeros);
    let c = &ctx.vm.config;
    let kinds =
        [(am::scheduler, c.schedulers), (am::dirty_cpu_scheduler, c.dirty_cpu), (am::dirty_io_scheduler, c.dirty_io)];
    let mut threads = Vec::new();
    for (kind, count) in kinds {
        for id in 1..=count {
            let pairs = [
                (am::counters.term(), counters),
                (am::id.term(), Term::small(id as i64)),
                (am::type_.term(), kind.term()),
            ];
            threads.push(myriad_term::map::from_pairs(ctx, &pairs));
        }
    }
    ctx.list(&threads)
}

/// `[{Scheduler, ActiveTime, TotalTime}]`, nanoseconds; `undefined` if the flag is not set.
fn wall_times(ctx: &mut Ctx<'_>) -> Term {
    if !state().wall_time {
        return Term::UNDEFINED;
    }
    let vm = ctx.vm;
    let total = u64::try_from(vm.clock.monotonic_ns(vm.machine.as_ref()) - myriad_vm::time::START_NS).unwrap_or(0);
    let mut list = Vec::new();
    for (i, scheduler) in vm.schedulers.iter().enumerate() {
        let busy = scheduler.busy_ns.load(Ordering::Relaxed).min(total);
        list.push(ctx.tuple(&[Term::small(i as i64 + 1), number(busy), number(total)]));
    }
    ctx.list(&list)
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
        am::active_tasks => lengths(ctx, active(ctx), false),
        am::active_tasks_all => lengths(ctx, active(ctx), true),
        am::run_queue_lengths => lengths(ctx, queues(vm), false),
        am::run_queue_lengths_all => lengths(ctx, queues(vm), true),
        am::total_active_tasks | am::total_active_tasks_all => total(active(ctx)),
        am::total_run_queue_lengths | am::total_run_queue_lengths_all | am::run_queue => total(queues(vm)),
        am::run_queues => {
            let mut items: Vec<Term> = queues(vm).into_iter().map(number).collect();
            items.extend([Term::small(0), Term::small(0)]);
            ctx.tuple(&items)
        }
        am::context_switches => {
            let switches = vm.schedulers.iter().map(|s| s.switches.load(Ordering::Relaxed)).sum();
            ctx.tuple(&[number(switches), Term::small(0)])
        }
        am::reductions => {
            let now = reductions(ctx);
            let last = std::mem::replace(&mut state().last_reductions, now);
            since_last(ctx, now, last)
        }
        am::exact_reductions => {
            let now = reductions(ctx);
            let last = std::mem::replace(&mut state().last_exact_reductions, now);
            since_last(ctx, now, last)
        }
        am::garbage_collection => {
            let (collections, words) = (account::collections() as u64, account::words_reclaimed() as u64);
            ctx.tuple(&[number(collections), number(words), Term::small(0)])
        }
        am::io => {
            let input = vm.gauges.input_bytes.load(Ordering::Relaxed);
            let output = vm.gauges.output_bytes.load(Ordering::Relaxed);
            let input = ctx.tuple(&[Term::atom(am::input), number(input as u64)]);
            let output = ctx.tuple(&[Term::atom(am::output), number(output as u64)]);
            ctx.tuple(&[input, output])
        }
        am::runtime => {
            let now = runtime_ms();
            let last = std::mem::replace(&mut state().last_runtime, now);
            since_last(ctx, now, last)
        }
        am::wall_clock => {
            let now = wall_clock_ms(vm);
            let last = std::mem::replace(&mut state().last_wall_clock, now);
            since_last(ctx, now, last)
        }
        am::microstate_accounting => microstate_accounting(ctx),
        am::scheduler_wall_time | am::scheduler_wall_time_all => wall_times(ctx),
        _ => return None,
    })
}
