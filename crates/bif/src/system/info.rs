//! `system_info/1`.

use super::state::{Watch, state};
use super::{allocators, topology};
use crate::trace::tracer_term;
use myriad_heap::Architecture;
use myriad_heap::sizes::SIZES;
use myriad_observe::allocators::UTIL_ALLOCATORS;
use myriad_observe::crash_dump;
use myriad_observe::info::max_heap_size_map;
use myriad_sched::{Block, MultiScheduling};
use myriad_term::{Atom, Build, Term, am};
use myriad_trace::Tracing;
use myriad_vm::bif::badarg;
use myriad_vm::emulator_flags::Break;
use myriad_vm::subsystem::Statistic;
use myriad_vm::{BifResult, Ctx, Vm};
use std::io::Write;

myriad_vm::bifs! { pub INFO = "erlang" {
    "system_info" / 1 Plain => system_info_1;
}}

/// Reductions of one slice, as `context_reductions`.
const CONTEXT_REDUCTIONS: i64 = 4000;

fn number(n: usize) -> Term {
    Term::small(n as i64)
}

fn pair(ctx: &mut Ctx<'_>, key: Atom, value: Term) -> Term {
    ctx.tuple(&[key.term(), value])
}

fn text(ctx: &mut Ctx<'_>, section: crash_dump::Section) -> Term {
    let text = crash_dump::text(|out| section(ctx.vm, out));
    ctx.binary(text.as_bytes())
}

/// `[{Key, Value}, ..]`
pub fn proplist(ctx: &mut Ctx<'_>, pairs: &[(Atom, Term)]) -> Term {
    let items: Vec<Term> = pairs.iter().map(|(k, v)| ctx.tuple(&[k.term(), *v])).collect();
    ctx.list(&items)
}

/// `{Pid, Options}`, or `undefined`.
pub fn watch_term(ctx: &mut Ctx<'_>, watch: Option<Watch>) -> Term {
    let Some(watch) = watch else { return Term::UNDEFINED };
    let mut options = Vec::new();
    for (name, limit) in watch.options {
        options.push(match limit {
            Some(limit) => {
                let limit = ctx.uint(limit);
                ctx.tuple(&[name.term(), limit])
            }
            None => name.term(),
        });
    }
    let options = ctx.list(&options);
    ctx.tuple(&[watch.by, options])
}

/// The text of `system_version`, in OTP's form.
fn version_text(vm: &Vm) -> String {
    let c = &vm.config;
    format!(
        "Erlang/OTP {} [erts-{}] [source] [64-bit] [smp:{}:{}] [ds:{}:{}:{}] [async-threads:{}]{}\n",
        vm.release.otp,
        vm.release.erts_version,
        c.schedulers,
        vm.schedulers.online(),
        c.dirty_cpu,
        vm.schedulers.dirty_cpu_online(),
        c.dirty_io,
        c.async_threads,
        // What OTP says where code does not use the native stack.
        if c.native { " [jit]" } else { "" },
    )
}

const ARCHITECTURE: &str = if cfg!(target_arch = "x86_64") {
    "x86_64-pc-linux-gnu"
} else if cfg!(target_arch = "aarch64") {
    "aarch64-unknown-linux-gnu"
} else {
    "unknown-unknown-linux-gnu"
};

fn system_info_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if let Some(key) = args[0].as_atom() {
        return match simple(ctx, key) {
            Some(value) => Ok(value),
            None => badarg(),
        };
    }
    match args[0].as_tuple().map(|t| t.elements()) {
        Some([key, which]) => of_two(ctx, *key, *which),
        Some([key, reference, which]) => match key.as_atom() {
            Some(what @ (am::memory_internal | am::allocator | am::allocator_sizes)) => {
                allocators::gather(ctx, what, *reference, *which)
            }
            _ => badarg(),
        },
        _ => badarg(),
    }
}

fn of_two(ctx: &mut Ctx<'_>, key: Term, which: Term) -> BifResult {
    match (key.as_atom(), which.as_atom()) {
        (Some(am::wordsize), Some(am::internal | am::external)) => Ok(Term::small(8)),
        (Some(am::cpu_topology), Some(which @ (am::defined | am::detected | am::used))) => {
            let binding = &ctx.vm.binding;
            let found = match which {
                am::defined => binding.defined(),
                am::detected => binding.detected(),
                _ => binding.used(),
            };
            Ok(topology::term(ctx, found.as_ref()))
        }
        (Some(am::allocator), _) => allocators::ask(ctx, am::alloc_info, which),
        (Some(am::allocator_sizes), _) => allocators::ask(ctx, am::alloc_sizes, which),
        _ => badarg(),
    }
}

/// The processor that each scheduler is bound to. One that is offline runs nothing, wherever its thread is.
fn bindings(ctx: &mut Ctx<'_>) -> Term {
    let online = ctx.vm.schedulers.online();
    let bound = ctx.vm.binding.bound().into_iter().enumerate();
    let terms = bound.map(|(id, bound)| match bound {
        Some(processor) if id < online => Term::small(i64::from(processor)),
        _ => Term::atom(am::unbound),
    });
    let terms: Vec<Term> = terms.collect();
    ctx.tuple(&terms)
}

fn garbage_collection(ctx: &mut Ctx<'_>) -> Term {
    let heap = ctx.vm.heap_settings();
    let pairs = [
        (am::max_heap_size, number(heap.max_heap_size.size)),
        (am::min_bin_vheap_size, number(heap.min_bin_vheap_size)),
        (am::min_heap_size, number(heap.min_heap_size)),
        (am::fullsweep_after, number(heap.fullsweep_after as usize)),
    ];
    proplist(ctx, &pairs)
}

fn time_source(ctx: &mut Ctx<'_>, clock: &str, monotonic: bool) -> Option<Term> {
    let id = Atom::new(clock).ok()?.term();
    let time = if monotonic { i128::from(ctx.vm.platform.now_ns()) } else { i128::from(ctx.vm.platform.system_ns()) };
    let time = ctx.int128(time);
    let mut pairs = vec![
        (am::function, Term::atom(am::clock_gettime)),
        (am::clock_id, id),
        (am::resolution, Term::small(1_000_000_000)),
    ];
    if monotonic {
        pairs.push((am::extended, Term::atom(am::no)));
    }
    pairs.extend([(am::parallel, Term::atom(am::yes)), (am::time, time)]);
    Some(proplist(ctx, &pairs))
}

/// Which atomic operations the machine has: pairs of what and whose, as far as this VM makes use of them.
fn native_atomics(ctx: &mut Ctx<'_>) -> Term {
    let entries = [("32-bit", "rust"), ("64-bit", "rust"), ("Double word", "no")].map(|(size, whose)| {
        let what = ctx.string(&format!("{size} native atomics"));
        let whose = ctx.string(whose);
        ctx.tuple(&[what, whose, Term::NIL])
    });
    ctx.list(&entries)
}

/// The built-in functions of OTP's modules: for those OTP's tools look for a file, which Myriad's own modules have none of.
fn builtins(ctx: &mut Ctx<'_>) -> Term {
    let is_own = |module: Atom| module.text().starts_with("myriad") || module.text() == "parallel_parts";
    let all = ctx.vm.bifs.all().filter(|(mfa, def)| !def.kind.is_nif() && !is_own(mfa.module));
    let all: Vec<_> = all.map(|(mfa, _)| mfa).collect();
    let hibernate = myriad_term::Mfa { module: am::erlang, function: am::hibernate, arity: 3 };
    let mut list = Vec::with_capacity(all.len() + 1);
    // An instruction here.
    for mfa in all.into_iter().chain([hibernate]) {
        list.push(ctx.tuple(&[mfa.module.term(), mfa.function.term(), Term::small(i64::from(mfa.arity))]));
    }
    ctx.list(&list)
}

/// What OTP says where it is not built to count how processes are scheduled.
fn nothing_counted(ctx: &mut Ctx<'_>) -> Term {
    let kinds = [am::process_max, am::process_high, am::process_normal, am::process_low, am::port];
    let kinds = kinds.map(|kind| ctx.tuple(&[kind.term(), number(0), number(0)]));
    ctx.list(&kinds)
}

fn check_io(ctx: &mut Ctx<'_>) -> Term {
    let pairs = [
        (am::name, Term::atom(am::erts_poll)),
        (am::primary, Term::atom(am::epoll)),
        (am::kernel_poll, Term::atom(am::epoll)),
        (am::total_poll_set_size, number(ctx.vm.statistic(Statistic::Polled))),
        (am::lazy_updates, Term::FALSE),
        (am::pending_updates, number(0)),
        (am::batch_updates, Term::FALSE),
        (am::concurrent_updates, Term::TRUE),
        (am::fallback, Term::FALSE),
        // Servers ask for it, to know how many connections they may take.
        (am::max_fds, number(crate::os::most_descriptors())),
        // Who has met an event serves it at once: none waits.
        (am::active_fds, number(0)),
        (am::poll_threads, number(1)),
    ];
    let set = proplist(ctx, &pairs);
    ctx.list(&[set])
}

/// Sizes that heaps grow through, as far as they fit a word of OTP's.
fn heap_sizes(ctx: &mut Ctx<'_>) -> Term {
    // OTP's list lacks the last, which can be asked for all the same.
    let sizes: Vec<Term> = SIZES[..SIZES.len() - 1].iter().copied().map(number).collect();
    ctx.list(&sizes)
}

fn all_processes(vm: &'static Vm, out: &mut dyn Write) -> std::io::Result<()> {
    vm.processes
        .pids()
        .into_iter()
        .filter_map(|pid| vm.processes.get(pid))
        .try_for_each(|p| crash_dump::summary(p, out))
}

/// Values that need only the key; `None` if there is no such key.
/// `{Major, Minor, Release}` of the kernel.
fn os_version(ctx: &mut Ctx<'_>) -> Option<Term> {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<i64>().ok());
    let parts = [0; 3].map(|zero: i64| Term::small(numbers.next().unwrap_or(zero)));
    Some(ctx.tuple(&parts))
}

fn simple(ctx: &mut Ctx<'_>, key: Atom) -> Option<Term> {
    let vm = ctx.vm;
    let c = &vm.config;
    let heap = vm.heap_settings();
    Some(match key {
        // The machine and its release.
        am::machine => ctx.string("BEAM"),
        am::version => ctx.string(&vm.release.erts_version),
        am::otp_release => ctx.string(&vm.release.otp.to_string()),
        am::system_version => ctx.string(&version_text(vm)),
        am::system_architecture => ctx.string(ARCHITECTURE),
        am::os_type => ctx.tuple(&[Term::atom(am::unix), Term::atom(am::linux)]),
        am::os_version => return os_version(ctx),
        am::nif_version => ctx.string(vm.release.nif_version),
        am::driver_version => ctx.string("3.3"),
        am::endian => Term::atom(if cfg!(target_endian = "little") { am::little } else { am::big }),
        am::compat_rel => number(usize::from(vm.release.otp)),
        am::emu_flavor => Term::atom(if c.native { am::jit } else { am::emu }),
        am::emu_type | am::build_type => Term::atom(if cfg!(debug_assertions) { am::debug } else { am::opt }),
        am::debug_compiled => Term::bool(cfg!(debug_assertions)),
        am::lock_checking => Term::bool(cfg!(debug_assertions)),
        // Its name and version, of which OTP says so where it does not know them.
        am::c_compiler_used => ctx.tuple(&[Term::UNDEFINED, Term::UNDEFINED]),
        am::lock_counting => Term::bool(myriad_sync::profile::enabled()),
        // What a C compiler was told, and what OTP's configuration found out for it: none here.
        am::compile_info => {
            let empty = [am::ldflags, am::cflags, am::config_h].map(|key| (key, Term::NIL));
            proplist(ctx, &empty)
        }
        am::constant_pool_support => Term::TRUE,
        am::ets_realloc_moves => Term::FALSE,
        am::literal_test => Term::atom(am::range),
        am::cpu_quota => Term::atom(am::unknown),
        am::hipe_architecture | am::modified_timing_level => Term::UNDEFINED,
        am::heap_type => Term::atom(match c.architecture {
            Architecture::Private => am::private,
            Architecture::Hybrid => am::hybrid,
            Architecture::Shared => am::shared,
        }),
        am::beam_jump_table | am::smp_support | am::threads | am::kernel_poll | am::eager_check_io | am::port_tasks => {
            Term::TRUE
        }
        am::break_ignored => Term::bool(c.flags.interrupt == Break::Ignored),
        am::wordsize => Term::small(8),
        am::dynamic_trace => Term::atom(am::none),
        am::dynamic_trace_probes => Term::FALSE,
        am::taints => {
            let taints: Vec<Term> = myriad_nif::taints::all().into_iter().map(Term::atom).collect();
            ctx.list(&taints)
        }
        am::dist_ctrl => Term::NIL,
        am::snifs => builtins(ctx),
        am::emu_args => {
            let mut words: Vec<Vec<u8>> = std::env::args_os().map(std::os::unix::ffi::OsStringExt::into_vec).collect();
            words.truncate(1 << 16);
            let words: Vec<Term> = words.iter().map(|w| ctx.byte_list(w, Term::NIL)).collect();
            ctx.list(&words)
        }
        am::creation => Term::small(i64::from(vm.creation())),
        am::check_io => check_io(ctx),
        // Limits and counts.
        am::atom_count => number(myriad_term::atom::count()),
        am::atom_limit => number(myriad_term::atom::limit()),
        am::process_count => number(vm.processes.count()),
        am::process_limit => number(vm.processes.limit()),
        // Relaxed: statistics.
        am::port_count => number(vm.statistic(Statistic::Ports)),
        am::port_limit => number(c.port_limit),
        am::ets_count => number(vm.statistic(Statistic::Tables)),
        am::ets_limit => number(c.flags.ets_limit),
        am::ets_always_compress => Term::FALSE,
        am::context_reductions => Term::small(CONTEXT_REDUCTIONS),
        am::dist_buf_busy_limit => Term::small(c.flags.dist_buffer_kib * 1024),
        am::delayed_node_table_gc => Term::small(60),
        am::outstanding_system_requests_limit => number(state(vm).outstanding_requests),
        am::thread_pool_size => number(ctx.vm.config.async_threads),
        am::ethread_info => native_atomics(ctx),
        am::ethread_used_tse => Term::small(0),
        // Heaps.
        am::min_heap_size => pair(ctx, key, number(heap.min_heap_size)),
        am::min_bin_vheap_size => pair(ctx, key, number(heap.min_bin_vheap_size)),
        am::fullsweep_after => pair(ctx, key, number(heap.fullsweep_after as usize)),
        am::max_heap_size => max_heap_size_map(ctx, ctx.vm, heap.max_heap_size),
        am::message_queue_data => Term::atom(if c.off_heap_messages { am::off_heap } else { am::on_heap }),
        am::garbage_collection => garbage_collection(ctx),
        am::heap_sizes => heap_sizes(ctx),
        // Allocators.
        am::alloc_util_allocators => {
            let names: Vec<Term> = UTIL_ALLOCATORS.iter().map(|a| a.name.term()).collect();
            ctx.list(&names)
        }
        am::allocator => {
            let names: Vec<Term> = UTIL_ALLOCATORS.iter().map(|a| a.name.term()).collect();
            let names = ctx.list(&names);
            ctx.tuple(&[Term::UNDEFINED, Term::NIL, names, Term::NIL])
        }
        am::allocated_areas => allocators::allocated_areas(ctx),
        // Schedulers and processors.
        am::schedulers | am::schedulers_total | am::run_queues => number(c.schedulers),
        // No lock divides processors into groups of readers.
        am::reader_groups_map => Term::NIL,
        am::scheduling_statistics | am::total_scheduling_statistics => nothing_counted(ctx),
        am::schedulers_online => number(vm.schedulers.online()),
        am::schedulers_active => number(vm.schedulers.permitted()),
        am::schedulers_state => {
            ctx.tuple(&[number(c.schedulers), number(vm.schedulers.online()), number(vm.schedulers.permitted())])
        }
        am::all_schedulers_state => {
            let runs = vm.schedulers.multi_scheduling() != MultiScheduling::Blocked;
            let kinds = [
                (am::normal, c.schedulers, vm.schedulers.online(), vm.schedulers.permitted()),
                (
                    am::dirty_cpu,
                    c.dirty_cpu,
                    vm.schedulers.dirty_cpu_online(),
                    if runs { vm.schedulers.dirty_cpu_online() } else { 0 },
                ),
                (am::dirty_io, c.dirty_io, c.dirty_io, if runs { c.dirty_io } else { 0 }),
            ];
            let states: Vec<Term> = kinds
                .into_iter()
                .map(|(kind, all, online, active)| {
                    ctx.tuple(&[kind.term(), number(all), number(online), number(active)])
                })
                .collect();
            ctx.list(&states)
        }
        am::dirty_cpu_schedulers => number(c.dirty_cpu),
        am::dirty_cpu_schedulers_online => number(vm.schedulers.dirty_cpu_online()),
        am::dirty_io_schedulers => number(c.dirty_io),
        am::scheduler_id => number(ctx.sched.scheduler(c.schedulers) + 1),
        am::scheduler_bind_type => super::flags::bind_type_atom(vm.binding.bind_type()),
        am::scheduler_bindings => bindings(ctx),
        am::multi_scheduling => super::flags::multi_scheduling(vm.schedulers.multi_scheduling()),
        am::multi_scheduling_blockers | am::normal_multi_scheduling_blockers => {
            let block = if key == am::multi_scheduling_blockers { Block::All } else { Block::Normal };
            // With one scheduler there is nothing to block, as on OTP.
            let blockers = if c.schedulers > 1 { vm.schedulers.blockers(block) } else { Vec::new() };
            let blockers: Vec<Term> = blockers.into_iter().map(|pid| pid.term()).collect();
            ctx.list(&blockers)
        }
        am::cpu_topology => {
            let used = vm.binding.used();
            topology::term(ctx, used.as_ref())
        }
        am::logical_processors => number(topology::logical_processors().0),
        am::logical_processors_online => number(topology::logical_processors().1),
        am::logical_processors_available => number(topology::available()),
        am::update_cpu_info => Term::atom(if topology::look(vm) { am::changed } else { am::unchanged }),
        am::port_parallelism => Term::bool(c.flags.port_parallelism),
        // Time.
        am::time_correction => Term::bool(c.flags.time_correction),
        am::time_offset => Term::atom(vm.clock.offset_state()),
        am::time_warp_mode => Term::atom(vm.clock.mode().atom()),
        am::tolerant_timeofday => {
            let tolerant = c.flags.time_correction && vm.clock.offset_state() == am::final_;
            Term::atom(if tolerant { am::enabled } else { am::disabled })
        }
        am::os_monotonic_time_source => time_source(ctx, "CLOCK_MONOTONIC", true)?,
        am::os_system_time_source => time_source(ctx, "CLOCK_REALTIME", false)?,
        am::start_time => ctx.int(myriad_sched::clock::START_NS),
        am::end_time => ctx.int(myriad_sched::clock::END_NS),
        // What others have set.
        am::trace_control_word => Term::small(i64::from(Tracing::of(ctx.vm).control_word())),
        am::sequential_tracer => {
            let tracer = Tracing::of(ctx.vm).sequential_tracer();
            let tracer = tracer.and_then(|tracer| tracer_term(ctx, tracer)).unwrap_or(Term::FALSE);
            pair(ctx, key, tracer)
        }
        am::system_logger => vm.defaults.system_logger(),
        // Texts, as in a crash dump.
        am::dist => text(ctx, crash_dump::node),
        am::info => text(ctx, crash_dump::memory),
        am::loaded => text(ctx, crash_dump::modules),
        am::procs => text(ctx, all_processes),
        _ => return None,
    })
}
