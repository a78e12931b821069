//! `process_flag/2,3`, and the values that it shares with `spawn_opt`.

use myriad_heap::{MaxHeapSize, sizes};
use myriad_observe::info::max_heap_size_map;
use myriad_process::Priority;
use myriad_process::nodes::{NodeNews, NodeType, NodeWatch};
use myriad_term::{Term, am};
use myriad_trace::saved_calls;
use myriad_vm::bif::badarg;
use myriad_vm::private_thread::Mode;
use myriad_vm::{BifResult, Ctx, Signal, Vm};

myriad_vm::bifs! { pub FLAGS = "erlang" {
    "process_flag" / 2 Plain => process_flag_2;
}}

myriad_vm::bifs! { pub INTERNAL_FLAGS = "erts_internal" {
    "process_flag" / 3 Plain => process_flag_3;
}}

/// One of Erlang's names, or the number of a level.
pub(super) fn priority(value: Term) -> Option<Priority> {
    match value.as_atom() {
        Some(name) => Priority::named(name),
        None => Priority::of_level(value.as_usize()?),
    }
}

pub(super) fn off_heap(value: Term) -> Option<bool> {
    match value.as_atom()? {
        am::off_heap => Some(true),
        am::on_heap => Some(false),
        _ => None,
    }
}

/// A number to be set, which must be a small integer on OTP: below 2^59.
pub(crate) fn setting(value: Term) -> Option<usize> {
    value.as_usize().filter(|n| *n < 1 << 59)
}

/// A size of the table of heap sizes that is at least this one, and no less than what all processes get by default.
pub(crate) fn heap_size(value: Term, least: usize) -> Option<usize> {
    sizes::checked(setting(value)?.max(least))
}

/// Smallest limit that leaves room for a process to start.
const SMALLEST_MAX_HEAP: usize = 233;

/// A size in words, or a map of `size`, `kill` and `error_logger`.
pub(crate) fn max_heap_size(value: Term, limit: &mut MaxHeapSize) -> Option<()> {
    let mut new = *limit;
    if let Some(size) = setting(value) {
        new.size = size;
    } else {
        let map = value.as_map()?;
        let get = |key: myriad_term::Atom| map.get(key.term());
        new.size = setting(get(am::size)?)?;
        if let Some(kill) = get(am::kill) {
            new.kill = kill.as_bool()?;
        }
        if let Some(report) = get(am::error_logger) {
            new.error_logger = report.as_bool()?;
        }
        if let Some(shared) = get(am::include_shared_binaries) {
            new.include_shared = shared.as_bool()?;
        }
    }
    if new.size != 0 && new.size < SMALLEST_MAX_HEAP {
        return None;
    }
    *limit = new;
    Some(())
}

/// How many minor collections there are between two of all: a number of 16 bits, of which OTP takes what it gets.
pub(super) fn fullsweep_after(value: Term) -> Option<u16> {
    Some((setting(value)? & 0xffff) as u16)
}

/// `None`: the value does not fit the flag.
fn set(ctx: &mut Ctx<'_>, flag: myriad_term::Atom, value: Term) -> Option<Result<Term, ()>> {
    let small = |n: usize| Term::small(n as i64);
    let old = match flag {
        am::trap_exit => Term::bool(std::mem::replace(&mut ctx.state.flags.trap_exit, value.as_bool()?)),
        am::priority => {
            let new = priority(value)?;
            let old = ctx.process.priority();
            ctx.process.set_priority(new);
            old.term()
        }
        am::error_handler => std::mem::replace(&mut ctx.state.error_handler, value.as_atom()?).term(),
        am::min_heap_size => {
            let least = ctx.vm.heap_settings().min_heap_size;
            small(ctx.state.heap.set_min_heap_size(heap_size(value, least)?))
        }
        am::min_bin_vheap_size => {
            let least = ctx.vm.heap_settings().min_bin_vheap_size;
            small(ctx.state.heap.set_min_bin_vheap_size(heap_size(value, least)?))
        }
        am::fullsweep_after => small(ctx.state.heap.set_fullsweep_after(fullsweep_after(value)?) as usize),
        am::max_heap_size => {
            let old = ctx.state.heap.max_heap_size();
            let mut new = old;
            max_heap_size(value, &mut new)?;
            let map = max_heap_size_map(ctx, ctx.vm, old);
            ctx.state.heap.set_max_heap_size(new);
            map
        }
        am::message_queue_data => {
            let old = std::mem::replace(&mut ctx.state.flags.off_heap_messages, off_heap(value)?);
            Term::atom(if old { am::off_heap } else { am::on_heap })
        }
        am::sensitive => {
            let sensitive = value.as_bool()?;
            ctx.process.trace.set_sensitive(sensitive);
            Term::bool(std::mem::replace(&mut ctx.state.flags.sensitive, sensitive))
        }
        am::save_calls => {
            let calls = value.as_usize().filter(|n| *n <= 10_000)? as u16;
            small(usize::from(saved_calls::set(ctx, calls)))
        }
        am::async_dist if ctx.vm.release.newer_process_flags => {
            Term::bool(std::mem::replace(&mut ctx.state.flags.async_dist, value.as_bool()?))
        }
        _ => return Some(Err(())),
    };
    Some(Ok(old))
}

/// Which changes of which nodes are asked for, and with what told.
fn node_watch(options: Term) -> Option<NodeWatch> {
    let mut watch = NodeWatch::default();
    if options.is_nil() {
        return Some(watch);
    }
    watch.form = NodeNews::Map;
    for (key, value) in options.as_map()?.iter() {
        match key.as_atom()? {
            am::node_type => {
                watch.node_type = Some(match value.as_atom()? {
                    am::visible => NodeType::Visible,
                    am::hidden => NodeType::Hidden,
                    am::all => NodeType::All,
                    _ => return None,
                });
            }
            am::connection_id => watch.connection_id = value.as_bool()?,
            am::nodedown_reason => watch.nodedown_reason = value.as_bool()?,
            // `net_kernel:monitor_nodes/2` with a list of options asks for it.
            am::list if value.is_am(am::true_) => watch.form = NodeNews::List,
            _ => return None,
        }
    }
    // An empty list asks for nothing but the plain messages.
    let plain = watch == NodeWatch { form: NodeNews::List, ..NodeWatch::default() };
    Some(if plain { NodeWatch::default() } else { watch })
}

fn process_flag_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let node_options = match args[0].as_tuple_of::<2>() {
        Some([key, options]) if key.is_am(am::monitor_nodes) => Some(options),
        _ => args[0].is_am(am::monitor_nodes).then_some(Term::NIL),
    };
    if let Some(options) = node_options {
        let (Some(watch), Some(on)) = (node_watch(options), args[1].as_bool()) else { return badarg() };
        return Ok(Term::small(i64::from(ctx.watch_nodes(watch, on))));
    }
    let bad_option = Term::atom(am::badopt);
    let Some(flag) = args[0].as_atom() else { return ctx.error_with_cause(Term::atom(am::badarg), bad_option) };
    if flag == am::scheduler {
        return bind(ctx, args[1]);
    }
    if flag == am::thread {
        let Some(mode) = args[1].as_atom().and_then(Mode::named) else { return badarg() };
        return ctx.switch_thread(mode);
    }
    match set(ctx, flag, args[1]) {
        Some(Ok(old)) => Ok(old),
        Some(Err(())) => ctx.error_with_cause(Term::atom(am::badarg), bad_option),
        None if flag == am::save_calls => ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::none)),
        None => badarg(),
    }
}

/// The number of a scheduler to bind a process to; 0 is none.
pub(super) fn scheduler(vm: &Vm, value: Term) -> Option<u32> {
    u32::try_from(value.as_usize().filter(|n| *n <= vm.config.schedulers)?).ok()
}

/// Binds the process to a scheduler (or, 0, to none), where it continues.
fn bind(ctx: &mut Ctx<'_>, to: Term) -> BifResult {
    let Some(number) = scheduler(ctx.vm, to) else { return badarg() };
    let old = Term::small(i64::from(ctx.process.bind(number)));
    if ctx.process.bound_to().is_none_or(|id| id == ctx.sched.id) {
        return Ok(old);
    }
    ctx.yield_to(Box::new(move |_| Ok(old)))
}

/// Only `save_calls` may be set for another process: a reference, whose message `{Ref, OldValue | badarg}` the Erlang caller
/// awaits, or `badarg`.
fn process_flag_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(pid) = args[0].as_local_pid() else { return Ok(Term::atom(am::badarg)) };
    let Some(calls) = args[2].as_usize().filter(|n| *n <= 10_000 && args[1].is_am(am::save_calls)) else {
        return Ok(Term::atom(am::badarg));
    };
    if pid == ctx.pid() {
        return Ok(Term::small(i64::from(saved_calls::set(ctx, calls as u16))));
    }
    let reference = ctx.make_ref();
    let Some(numbers) = reference.as_local_ref() else { return badarg() };
    let signal = Signal::Ask { from: ctx.pid(), reference: numbers, question: saved_calls::question(calls as u16) };
    Ok(if ctx.signal_to(pid, signal) { reference } else { Term::atom(am::badarg) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where OTP's table of sizes ends, OTP ends too, if asked for more.
    #[test]
    fn sizes_beyond_the_table_are_refused() {
        let asked = |n: i64| heap_size(Term::small(n), 233);
        assert_eq!(asked(1), Some(233));
        assert_eq!(asked(1 << 40), Some(1_249_668_211_299));
        assert_eq!(asked(1_062_920_605_531_495), Some(1_062_920_605_531_496));
        assert_eq!(asked(1_062_920_605_531_497), None);
        assert_eq!(asked(1 << 59), None);
        assert_eq!(asked(-1), None);
        assert_eq!(setting(Term::small((1 << 59) - 1)), Some((1 << 59) - 1));
        assert_eq!(setting(Term::small(1 << 59)), None);
    }
}
