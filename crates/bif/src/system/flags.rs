//! `system_flag/2`, and what it leaves to Erlang code.

use super::state::state;
use super::{bad_option, topology};
use crate::process::{heap_size, max_heap_size, setting};
use crate::trace::tracer_term;
use myriad_observe::info::max_heap_size_map;
use myriad_sched::{Block, MultiScheduling};
use myriad_sync::machine::BindType;
use myriad_term::{Atom, Export, Mfa, Term, am};
use myriad_trace::event::goes_on;
use myriad_trace::naming::module_tracer;
use myriad_trace::tracers::Interned;
use myriad_trace::{Tracing, sequential};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx, Vm};

myriad_vm::bifs! { pub FLAGS = "erlang" {
    "system_flag" / 2 Plain => system_flag_2;
}}

myriad_vm::bifs! { pub INTERNAL_FLAGS = "erts_internal" {
    "scheduler_wall_time" / 1 Plain => scheduler_wall_time_1;
    "system_check" / 1 Plain => |_, a| if a[0].is_am(am::schedulers) { Ok(Term::OK) } else { badarg() };
}}

/// Deeper stack traces are not to be had.
const MAX_BACKTRACE_DEPTH: usize = 64;
/// Reductions that a look at the schedulers costs.
const CHECKS: usize = 10;

fn number(n: usize) -> Term {
    Term::small(n as i64)
}

/// A process, port or `{Module, State}` that may trace: nothing if it has ended, or wants to hear nothing.
fn sequential_tracer(vm: &'static Vm, term: Term) -> Option<Interned> {
    let tracer = match term.as_tuple_of::<2>() {
        Some([module, state]) => module_tracer(vm, module.as_atom()?, state),
        None => Interned::one(term),
    };
    tracer.filter(|tracer| goes_on(vm, tracer.word(), Term::UNDEFINED))
}

fn system_flag_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(flag) = args[0].as_atom() else { return bad_option(ctx) };
    if flag == am::scheduler_wall_time {
        if args[1].as_bool().is_none() {
            return badarg();
        }
        let function = am::system_flag_scheduler_wall_time;
        return ctx.trap(Export::intern(Mfa { module: am::erts_internal, function, arity: 1 }), &args[1..]);
    }
    if flag == am::schedulers_online {
        let old = args[1].as_usize().and_then(|n| ctx.vm.schedulers.set_online(n));
        return match old {
            Some(old) => {
                let reached = ctx.sched.grace_period();
                wait(ctx, move |ctx| ctx.vm.schedulers.have_settled(ctx.sched, &reached).then(|| number(old)))
            }
            None => badarg(),
        };
    }
    if flag == am::multi_scheduling {
        match args[1].as_atom() {
            Some(am::block) => return block(ctx, Block::All),
            Some(am::block_normal) => return block(ctx, Block::Normal),
            _ => {}
        }
    }
    match set(ctx, flag, args[1]) {
        Some(Some(old)) => Ok(old),
        Some(None) => bad_option(ctx),
        None => badarg(),
    }
}

/// How it is called in Erlang.
pub(super) fn multi_scheduling(state: MultiScheduling) -> Term {
    Term::atom(match state {
        MultiScheduling::Enabled => am::enabled,
        MultiScheduling::Blocked => am::blocked,
        MultiScheduling::BlockedNormal => am::blocked_normal,
    })
}

/// How it is called in Erlang.
pub(super) fn bind_type_atom(bind_type: BindType) -> Term {
    Atom::new(bind_type.name()).map_or(Term::UNDEFINED, Atom::term)
}

/// Blocks multi-scheduling, and waits until it is.
fn block(ctx: &mut Ctx<'_>, block: Block) -> BifResult {
    let reached = ctx.vm.schedulers.block(ctx.process, block, ctx.sched);
    wait(ctx, move |ctx| {
        ctx.vm
            .schedulers
            .are_blocked(ctx.sched, block, &reached)
            .then(|| multi_scheduling(ctx.vm.schedulers.multi_scheduling()))
    })
}

/// Gives way until the other schedulers have done what they are to.
fn wait(ctx: &mut Ctx<'_>, result: impl Fn(&Ctx<'_>) -> Option<Term> + Send + 'static) -> BifResult {
    let look = move |ctx: &mut Ctx<'_>| {
        if let Some(result) = result(ctx) {
            return Ok(result);
        }
        ctx.bump(CHECKS);
        // Those that are to stop want the processor more than this one does.
        myriad_sync::thread::yield_now();
        Err(Escape::Yield)
    };
    match look(ctx) {
        Err(Escape::Yield) => ctx.yield_to(Box::new(look)),
        done => done,
    }
}

/// The old value. `None`: the value does not fit; `Some(None)`: there is no such flag.
fn set(ctx: &mut Ctx<'_>, flag: Atom, value: Term) -> Option<Option<Term>> {
    let old = match flag {
        am::backtrace_depth => {
            let depth = usize::try_from(value.as_small()?).ok()?;
            number(ctx.vm.defaults.set_backtrace_depth(depth.min(MAX_BACKTRACE_DEPTH)))
        }
        am::fullsweep_after | am::min_heap_size | am::min_bin_vheap_size | am::max_heap_size => {
            heap_setting(ctx, flag, value)?
        }
        am::dirty_cpu_schedulers_online => number(ctx.vm.schedulers.set_dirty_cpu_online(value.as_usize()?)?),
        am::multi_scheduling => {
            let block = match value.as_atom()? {
                am::unblock => Block::All,
                am::unblock_normal => Block::Normal,
                _ => return None,
            };
            multi_scheduling(ctx.vm.schedulers.unblock(ctx.pid(), block))
        }
        am::scheduler_bind_type => {
            let bind_type = value.as_atom().and_then(|name| BindType::of_name(name.text()))?;
            bind_type_atom(ctx.vm.binding.set_bind_type(bind_type))
        }
        am::cpu_topology => {
            let defined = if value.is_am(am::undefined) { None } else { Some(topology::of_term(value)?) };
            let old = ctx.vm.binding.define(defined);
            topology::term(ctx, old.as_ref())
        }
        am::microstate_accounting => match value.as_atom()? {
            am::reset => Term::bool(ctx.vm.microstates.reset(ctx.vm.platform.as_ref())),
            _ => Term::bool(ctx.vm.microstates.set(value.as_bool()?, ctx.vm.platform.as_ref())),
        },
        am::outstanding_system_requests_limit => {
            let limit = value.as_usize().filter(|n| (1..=1 << 27).contains(n))?;
            number(std::mem::replace(&mut state(ctx.vm).outstanding_requests, limit))
        }
        am::system_logger => {
            let fits = value.is_am(am::logger) || value.is_am(am::undefined);
            if !fits && value.as_local_pid().is_none_or(|pid| ctx.vm.processes.get(pid).is_none()) {
                return None;
            }
            ctx.vm.defaults.set_system_logger(value)
        }
        am::trace_control_word => {
            let word = u32::try_from(value.as_small()?).ok()?;
            Term::small(i64::from(Tracing::of(ctx.vm).set_control_word(word)))
        }
        am::sequential_tracer => {
            let tracer = if value.is_am(am::false_) { None } else { Some(sequential_tracer(ctx.vm, value)?) };
            let old = Tracing::of(ctx.vm).set_sequential_tracer(tracer.as_ref().map(Interned::word));
            old.and_then(|old| tracer_term(ctx, old)).unwrap_or(Term::FALSE)
        }
        am::reset_seq_trace if value.is_am(am::true_) => {
            sequential::reset(ctx);
            Term::TRUE
        }
        am::reset_seq_trace => return None,
        am::time_offset if value.is_am(am::finalize) => Term::atom(ctx.vm.finalize_time_offset()),
        _ => return Some(None),
    };
    Some(Some(old))
}

fn heap_setting(ctx: &mut Ctx<'_>, flag: Atom, value: Term) -> Option<Term> {
    let mut heap = ctx.vm.heap_settings();
    let old = match flag {
        am::fullsweep_after => {
            let times = setting(value)?.min(65_535) as u16;
            number(std::mem::replace(&mut heap.fullsweep_after, times) as usize)
        }
        am::min_heap_size => {
            let words = heap_size(value, 0)?;
            number(std::mem::replace(&mut heap.min_heap_size, words))
        }
        am::min_bin_vheap_size => {
            let words = heap_size(value, 0)?;
            number(std::mem::replace(&mut heap.min_bin_vheap_size, words))
        }
        _ => {
            let old = max_heap_size_map(ctx, ctx.vm, heap.max_heap_size);
            max_heap_size(value, &mut heap.max_heap_size)?;
            old
        }
    };
    ctx.vm.defaults.set_heap(heap);
    Some(old)
}

/// Sets whether schedulers tell how long they were busy; anything but `true` is no.
fn scheduler_wall_time_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let on = args[0].is_am(am::true_);
    let mut state = state(ctx.vm);
    let old = state.wall_time.is_some();
    if on != old {
        state.wall_time = on.then(|| super::statistics::wall_time_base(ctx.vm));
    }
    Ok(Term::bool(old))
}
