//! `system_monitor/0,1,2` and `system_profile/0,2`: which process watches the system, and for what (`trace::monitor`,
//! `trace::profile`).

use super::info::watch_term;
use super::state::{Watch, state};
use myriad_term::{Atom, Term, am};
use myriad_trace::Tracing;
use myriad_trace::event::is_alive;
use myriad_trace::monitor::Limits;
use myriad_vm::bif::{BADARG, Escape, badarg};
use myriad_vm::tracer::{flags, switches};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub MONITORING = "erlang" {
    "system_monitor" / 0 Plain => |ctx, _| { let watch = living(ctx, state(ctx.vm).monitor.clone()); Ok(watch_term(ctx, watch)) };
    "system_monitor" / 1 Plain => system_monitor_1;
    "system_monitor" / 2 Plain => |ctx, a| system_monitor(ctx, a[0], a[1]);
    "system_profile" / 0 Plain => |ctx, _| { let watch = living(ctx, state(ctx.vm).profile.clone()); Ok(watch_term(ctx, watch)) };
    "system_profile" / 2 Plain => system_profile_2;
}}

/// Smallest `large_heap`, words.
const LEAST_LARGE_HEAP: u64 = 16 * 1024;

/// Options in the order in which they are told.
const MONITOR_OPTIONS: &[Atom] = &[am::busy_dist_port, am::busy_port, am::large_heap, am::long_schedule, am::long_gc];
const PROFILE_OPTIONS: &[Atom] = &[am::exclusive, am::scheduler, am::runnable_procs, am::runnable_ports];

/// A living process or a port of this node.
fn watcher(ctx: &Ctx<'_>, by: Term) -> Result<Term, Escape> {
    let living = by.as_local_pid().is_some_and(|pid| ctx.vm.processes.get(pid).is_some());
    if living || by.as_local_port().is_some() { Ok(by) } else { badarg() }
}

fn items(list: Term) -> Result<Vec<Term>, Escape> {
    if list.list_length().is_none() { badarg() } else { Ok(list.list_iter().collect()) }
}

fn sorted(mut options: Vec<(Atom, Option<u64>)>, order: &[Atom]) -> Vec<(Atom, Option<u64>)> {
    options.sort_by_key(|(name, _)| order.iter().position(|o| o == name));
    // The last one said counts.
    options.reverse();
    options.dedup_by_key(|(name, _)| *name);
    options.reverse();
    options
}

/// A watch whose process has ended is over.
fn living(ctx: &Ctx<'_>, watch: Option<Watch>) -> Option<Watch> {
    watch.filter(|watch| is_alive(ctx.vm, watch.by))
}

fn system_monitor_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if args[0].is_am(am::undefined) {
        return system_monitor(ctx, Term::UNDEFINED, Term::NIL);
    }
    match args[0].as_tuple_of::<2>() {
        Some([by, options]) => system_monitor(ctx, by, options),
        None => badarg(),
    }
}

fn system_monitor(ctx: &mut Ctx<'_>, by: Term, options: Term) -> BifResult {
    let mut wanted = Vec::new();
    if !by.is_am(am::undefined) {
        for option in items(options)? {
            wanted.push(monitor_option(option).ok_or(BADARG)?);
        }
        // For nothing, anybody may watch.
        if !wanted.is_empty() {
            watcher(ctx, by)?;
        }
    }
    let mut limits = Limits::default();
    for (name, limit) in &wanted {
        match *name {
            am::long_gc => limits.long_gc_ms = *limit,
            am::long_schedule => limits.long_schedule_ms = *limit,
            am::large_heap => limits.large_heap_words = *limit,
            am::busy_port => limits.busy_port = true,
            _ => {}
        }
    }
    Tracing::of(ctx.vm).monitor.set(ctx.vm, (!wanted.is_empty()).then_some(by), limits);
    let watch = (!wanted.is_empty()).then(|| Watch { by, options: sorted(wanted, MONITOR_OPTIONS) });
    let old = std::mem::replace(&mut state(ctx.vm).monitor, watch);
    let old = living(ctx, old);
    Ok(watch_term(ctx, old))
}

fn monitor_option(option: Term) -> Option<(Atom, Option<u64>)> {
    if let Some(name) = option.as_atom() {
        return matches!(name, am::busy_port | am::busy_dist_port).then_some((name, None));
    }
    let [name, limit] = option.as_tuple_of::<2>()?;
    let limit = match limit.as_big() {
        Some((false, [word])) => *word,
        _ => limit.as_usize()? as u64,
    };
    let limit = limit.max(1);
    match name.as_atom()? {
        name @ (am::long_gc | am::long_schedule) => Some((name, Some(limit))),
        am::large_heap => Some((am::large_heap, Some(limit.max(LEAST_LARGE_HEAP)))),
        _ => None,
    }
}

fn system_profile_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (mut wanted, mut what, mut time) = (Vec::new(), 0, flags::TIMESTAMP);
    let options = if args[0].is_am(am::undefined) { Term::NIL } else { args[1] };
    for option in items(options)? {
        let Some(name) = option.as_atom() else { return badarg() };
        match name {
            am::runnable_procs => what |= switches::RUNNABLE_PROCESSES,
            am::runnable_ports => what |= switches::RUNNABLE_PORTS,
            am::scheduler => what |= switches::SCHEDULERS,
            am::exclusive => what |= switches::EXCLUSIVE,
            am::timestamp => time = flags::TIMESTAMP,
            am::monotonic_timestamp => time = flags::MONOTONIC_TIMESTAMP,
            am::strict_monotonic_timestamp => time = flags::STRICT_MONOTONIC_TIMESTAMP,
            _ => return badarg(),
        }
        if PROFILE_OPTIONS.contains(&name) {
            wanted.push((name, None));
        }
    }
    let watch = if options.is_nil() {
        None
    } else {
        Some(Watch { by: watcher(ctx, args[0])?, options: sorted(wanted, PROFILE_OPTIONS) })
    };
    Tracing::of(ctx.vm).profile.set(ctx.vm, watch.as_ref().map(|watch| watch.by), what, time);
    let old = std::mem::replace(&mut state(ctx.vm).profile, watch);
    Ok(watch_term(ctx, old))
}
