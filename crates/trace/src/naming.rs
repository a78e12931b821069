//! Tracers as programs name them, and who names the tracer modules that are in the table (trace.tracers/TN2).

use crate::Tracing;
use crate::tracers::Interned;
use myriad_process::Tracee;
use myriad_term::{Atom, Term, TermRef, am};
use myriad_vm::Vm;
use std::collections::HashSet;

/// The tracer of `{Key, PidOrPort}` or `{Key, Module, State}`. The caller does not hold the state of tracing.
pub fn tracer_of(vm: &'static Vm, key: Atom, term: TermRef<'_>) -> Option<Interned> {
    match *term.as_tuple()?.elements() {
        [name, tracer] if name.is_am(key) => Interned::one(tracer),
        [name, module, state] if name.is_am(key) => module_tracer(vm, module.as_atom()?, state),
        _ => None,
    }
}

/// A module with its state; nothing if it is no tracer module. The caller does not hold the state of tracing.
pub fn module_tracer(vm: &'static Vm, module: Atom, state: TermRef<'_>) -> Option<Interned> {
    if module == am::erl_tracer {
        // It stands for processes and ports.
        return Interned::one(state);
    }
    let tracing = Tracing::of(vm);
    if tracing.tracers.is_full() {
        // What tracees have changes under this lock alone (trace/R2).
        let guard = tracing.lock();
        let swept = tracing.tracers.sweep(&named(vm));
        drop(guard);
        drop(swept);
    }
    tracing.tracers.intern(module, state)
}

/// The numbers that processes, ports and sequential tracing have.
fn named(vm: &'static Vm) -> HashSet<i64> {
    let (tracing, mut named) = (Tracing::of(vm), HashSet::new());
    let number = |tracer: Option<Term>| tracer.and_then(|tracer| tracer.as_small());
    let of = |tracee: &Tracee| number(tracee.tracer());
    named.extend([tracing.new_processes(), &tracing.new_ports].into_iter().filter_map(of));
    named.extend(number(tracing.sequential_tracer()));
    let processes = vm.processes.pids().into_iter().filter_map(|pid| vm.processes.get(pid));
    named.extend(processes.filter_map(|process| of(&process.trace)));
    if let Some(ports) = vm.ports() {
        for port in ports.all(vm) {
            ports.with_tracee(vm, port, &mut |tracee| named.extend(of(tracee)));
        }
    }
    named
}
