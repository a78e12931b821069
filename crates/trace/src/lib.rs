//! Tracing: which processes and ports are traced, for what, and their tracers; breakpoints on functions; trace messages.
//!
//! Above `vm` in the crate order (docs/architecture.md), which knows tracing by a trait alone ([`Tracer`](myriad_vm::tracer::Tracer)); below
//! the interpreter, which runs the breakpoints, and the built-ins, which set them.
//!
//! | module | holds |
//! | --- | --- |
//! | `points` | what becomes of what the VM tells |
//! | [`event`] | making and sending trace messages |
//! | [`module`] | tracer modules, which are called instead |
//! | [`tracers`], [`naming`] | the words that tracers are kept as, and how programs name them |
//! | [`spec`] | what tracing asks of a match specification (crate `ets` compiles and runs them) |
//! | [`breakpoint`] | breakpoints on functions and exports |
//! | [`call`] | what happens at a traced call, and at its return |
//! | [`times`] | call counts and call times |
//! | [`messages`] | messages sent and received |
//! | [`life`] | processes made, linked, named and ended; what they inherit |
//! | [`running`], `collecting` | slices, garbage collections |
//! | [`saved_calls`] | `process_flag(save_calls, N)` |
//! | [`sequential`] | sequential tracing |
//! | [`monitor`] | `system_monitor` |
//! | [`profile`] | `system_profile` |
//!
//! Little is tested on a fast path for tracing's sake. A function with a breakpoint has the engine's breakpoint stub as its
//! entry, through which local and external calls and calls of funs all go; an export that is traced for itself leads to a
//! function of its own that has one. A process's flags and the VM's switches (vm/TR1) are looked at where messages are sent and
//! handled, processes are made and end, slices begin and end, and heaps are collected.
//!
//! R1. The messages of one tracee to its tracer are sent by the thread that does what they report, so they come in order.
//! R2. Flags and tracer of a tracee are changed under [`Tracing::lock`] alone; they are read without.

pub mod breakpoint;
pub mod call;
mod collecting;
pub mod event;
pub mod life;
pub mod messages;
pub mod module;
pub mod monitor;
pub mod naming;
mod points;
pub mod profile;
pub mod running;
pub mod saved_calls;
pub mod sequential;
pub mod spec;
pub mod times;
pub mod tracers;

use breakpoint::Patterns;
use myriad_process::Tracee;
use myriad_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use myriad_sync::{Arc, LockClass, Mutex, MutexGuard};
use myriad_term::Term;
use myriad_vm::Vm;
use myriad_vm::tracer::switches::NEW_PROCESSES;
use spec::Specification;
use std::any::Any;

/// Compiles a match specification for filtered events, or (nothing) for calls; nothing if it is none.
pub type Compiler = fn(Term, Option<Filtered>) -> Option<Arc<dyn Specification>>;

static CLASS: LockClass = LockClass::new("trace", 270);
static EVENT_CLASS: LockClass = LockClass::new("trace_events", 271);

/// Match specifications for messages: `trace_pattern(send | 'receive', ...)`.
#[derive(Clone, Default)]
pub enum Filter {
    /// All are traced.
    #[default]
    All,
    /// None.
    Nothing,
    /// Those that match.
    Some(Arc<dyn Specification>),
}

/// The state of tracing.
pub struct Tracing {
    /// Breakpoints; the lock is taken while code is loaded too, so that none is set in between.
    patterns: Mutex<Patterns>,
    /// Built-ins with breakpoints.
    pub bif_hooks: breakpoint::BifHooks,
    /// What new processes get; the VM's switches say whether it is anything.
    new_processes: Tracee,
    /// What new ports get.
    pub new_ports: Tracee,
    filters: Mutex<[Filter; 2]>,
    /// Which of `filters` are not [`Filter::All`], as bits.
    filtered: AtomicU32,
    /// `trace_control_word`
    control_word: AtomicU32,
    /// `cpu_timestamp`
    cpu_timestamps: AtomicBool,
    /// A tracer's word, or 0.
    sequential_tracer: AtomicU64,
    /// The tracer modules.
    pub tracers: tracers::Tracers,
    /// `system_monitor`
    pub monitor: monitor::SystemMonitor,
    /// `system_profile`
    pub profile: profile::Profile,
    compiler: Compiler,
}

impl Tracing {
    /// Nothing is traced; specifications are compiled by `compiler`.
    pub fn new(compiler: Compiler) -> Tracing {
        Tracing {
            patterns: Mutex::new(&CLASS, Patterns::default()),
            bif_hooks: breakpoint::BifHooks::default(),
            new_processes: Tracee::default(),
            new_ports: Tracee::default(),
            filters: Mutex::new(&EVENT_CLASS, [Filter::All, Filter::All]),
            filtered: AtomicU32::new(0),
            control_word: AtomicU32::new(0),
            cpu_timestamps: AtomicBool::new(false),
            sequential_tracer: AtomicU64::new(0),
            tracers: tracers::Tracers::new(breakpoint::behind),
            monitor: monitor::SystemMonitor::default(),
            profile: profile::Profile::default(),
            compiler,
        }
    }
}

/// The two kinds of events that have filters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filtered {
    /// `send`
    Send = 0,
    /// `'receive'`
    Receive = 1,
}

impl Tracing {
    /// The state of tracing of a VM.
    ///
    /// # Panics
    /// The VM was made with another tracer. So nothing of it is traced, and only a mistake in the wiring comes here.
    #[inline]
    pub fn of(vm: &'static Vm) -> &'static Tracing {
        let tracer: &dyn Any = vm.tracer();
        tracer.downcast_ref().expect("the VM was made without tracing")
    }

    /// What new processes get.
    pub fn new_processes(&self) -> &Tracee {
        &self.new_processes
    }

    /// Lets `change` set what new processes get (R2).
    pub fn change_new_processes(&self, vm: &Vm, change: impl FnOnce(&Tracee)) {
        change(&self.new_processes);
        let on = if self.new_processes.flags() == 0 { 0 } else { NEW_PROCESSES };
        vm.switches.set(NEW_PROCESSES, on);
    }

    /// Compiles a specification for filtered events, or for calls; nothing if it is none.
    pub fn compile(&self, term: Term, of: Option<Filtered>) -> Option<Arc<dyn Specification>> {
        (self.compiler)(term, of)
    }

    /// Holds the breakpoints, flags and tracers still (R2).
    pub fn lock(&self) -> MutexGuard<'_, Patterns> {
        self.patterns.lock()
    }

    /// The filter of these events.
    pub fn filter(&self, of: Filtered) -> Filter {
        // Relaxed: a filter that another thread sets counts from the next event on.
        if self.filtered.load(Ordering::Relaxed) & 1 << of as u32 == 0 {
            return Filter::All;
        }
        self.filters.lock()[of as usize].clone()
    }

    /// Sets the specification that messages of this kind must pass to be traced.
    pub fn set_filter(&self, of: Filtered, filter: Filter) {
        let mut filters = self.filters.lock();
        let bit = 1 << of as u32;
        let all = matches!(filter, Filter::All);
        filters[of as usize] = filter;
        // Relaxed: written under the lock.
        let filtered = self.filtered.load(Ordering::Relaxed);
        self.filtered.store(if all { filtered & !bit } else { filtered | bit }, Ordering::Relaxed);
    }

    /// Are times of trace messages those of the processor's work?
    pub fn cpu_timestamps(&self) -> bool {
        // Relaxed: counts from the next message on.
        self.cpu_timestamps.load(Ordering::Relaxed)
    }

    /// Says so.
    pub fn set_cpu_timestamps(&self, on: bool) {
        self.cpu_timestamps.store(on, Ordering::Relaxed);
    }

    /// The tracer of sequential tracing.
    pub fn sequential_tracer(&self) -> Option<Term> {
        // Relaxed: one immediate word.
        let word = self.sequential_tracer.load(Ordering::Relaxed);
        // SAFETY: only `set_sequential_tracer` stores here: an immediate term, or 0.
        (word != 0).then(|| unsafe { Term::from_raw(word) })
    }

    /// Sets the tracer of sequential tracing, by its word; gives the old one.
    pub fn set_sequential_tracer(&self, tracer: Option<Term>) -> Option<Term> {
        // Under the lock, so that a sweep of tracer modules sees the one or the other (trace.tracers/TN2).
        let guard = self.lock();
        let old = self.sequential_tracer();
        self.sequential_tracer.store(tracer.map_or(0, Term::raw), Ordering::Relaxed);
        drop(guard);
        old
    }

    /// The tracer of sequential tracing has ended, if it still is this one. The caller may hold any lock.
    fn end_sequential_tracer(&self, tracer: Term) {
        // Relaxed: one immediate word. If it fails another has been set.
        let _ = self.sequential_tracer.compare_exchange(tracer.raw(), 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The trace control word.
    pub fn control_word(&self) -> u32 {
        // Relaxed: a number that programs set.
        self.control_word.load(Ordering::Relaxed)
    }

    /// Sets the trace control word; gives the old one.
    pub fn set_control_word(&self, word: u32) -> u32 {
        self.control_word.swap(word, Ordering::Relaxed)
    }
}
