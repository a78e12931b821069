//! `erts_internal:trace/3`: flags and tracers of processes and ports.

use super::{bad_option, plain};
use myriad_process::Tracee;
use myriad_term::{Term, am};
use myriad_trace::Tracing;
use myriad_trace::event::goes_on;
use myriad_trace::naming::tracer_of;
use myriad_trace::tracers::Interned;
use myriad_vm::tracer::flags;
use myriad_vm::{BifResult, Ctx, Vm};

/// What a list of flags says.
struct Wanted {
    mask: u32,
    tracer: Option<Interned>,
    cpu_timestamp: bool,
}

fn read(vm: &'static Vm, list: Term) -> Option<Wanted> {
    let mut wanted = Wanted { mask: 0, tracer: None, cpu_timestamp: false };
    let mut items = list.list_iter();
    for item in items.by_ref() {
        match item.as_atom() {
            Some(am::all) => wanted.mask |= flags::EVERY,
            Some(am::cpu_timestamp) => wanted.cpu_timestamp = true,
            Some(name) => wanted.mask |= flags::bit(name)?,
            None => wanted.tracer = Some(tracer_of(vm, am::tracer, item)?),
        }
    }
    items.tail().is_nil().then_some(wanted)
}

/// Which of the two kinds, existing ones, new ones.
struct Whom {
    processes: bool,
    ports: bool,
    existing: bool,
    new: bool,
}

fn whom(name: myriad_term::Atom) -> Option<Whom> {
    let (processes, ports, existing, new) = match name {
        am::all => (true, true, true, true),
        am::processes => (true, false, true, true),
        am::ports => (false, true, true, true),
        am::existing => (true, true, true, false),
        am::existing_processes => (true, false, true, false),
        am::existing_ports => (false, true, true, false),
        am::new => (true, true, false, true),
        am::new_processes => (true, false, false, true),
        am::new_ports => (false, true, false, true),
        _ => return None,
    };
    Some(Whom { processes, ports, existing, new })
}

/// The change to be made.
struct Change {
    on: bool,
    mask: u32,
    tracer: Term,
    /// Was the tracer named? A call without one ends the tracing of any tracer.
    named: bool,
}

impl Change {
    /// Makes it, of this process or port (`undefined`: of new ones); `false`: another tracer that lives traces already.
    fn make(&self, vm: &'static Vm, tracee: &Tracee, whose: Term) -> bool {
        let old = tracee.tracer();
        let flags = tracee.flags() & flags::EVERY;
        if let Some(old) = old
            && (self.on || self.named)
            && old != self.tracer
            && goes_on(vm, old, whose)
        {
            return false;
        }
        if !self.on {
            tracee.set(flags & !self.mask, old);
            return true;
        }
        // What a tracer that has ended had asked for is over.
        let flags = if old.is_some_and(|old| old != self.tracer) { 0 } else { flags };
        if goes_on(vm, self.tracer, whose) {
            tracee.set(flags | self.mask, Some(self.tracer));
        }
        true
    }
}

/// `trace(PidPortSpec, How, FlagList)`: how many processes and ports it was for.
pub(super) fn trace_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(wanted) = read(ctx.vm, args[2]) else { return bad_option(ctx) };
    let Some(on) = args[1].as_bool() else { return plain() };
    let vm = ctx.vm;
    let tracer = wanted.tracer.as_ref().map_or(ctx.pid().term(), Interned::word);
    let change = Change { on, mask: wanted.mask, tracer, named: wanted.tracer.is_some() };
    if wanted.cpu_timestamp && !args[0].is_am(am::all) {
        return plain();
    }
    if let Some(pid) = args[0].as_local_pid() {
        let Some(process) = vm.processes.get(pid).filter(|p| !p.is_exiting()) else { return plain() };
        let guard = Tracing::of(vm).lock();
        let made = change.make(vm, &process.trace, pid.term());
        drop(guard);
        return if made { Ok(Term::small(1)) } else { taken(ctx) };
    }
    if let Some(port) = args[0].as_local_port() {
        let Some(ports) = vm.ports() else { return plain() };
        let mut made = None;
        let guard = Tracing::of(vm).lock();
        ports.with_tracee(vm, port, &mut |tracee| made = Some(change.make(vm, tracee, port.term())));
        drop(guard);
        return match made {
            None => plain(),
            Some(true) => Ok(Term::small(1)),
            Some(false) => taken(ctx),
        };
    }
    let Some(whom) = args[0].as_atom().and_then(whom) else { return plain() };
    if wanted.cpu_timestamp {
        Tracing::of(vm).set_cpu_timestamps(on);
    }
    let mut count = 0;
    let guard = Tracing::of(vm).lock();
    if whom.existing {
        if whom.processes && wanted.mask & flags::PROCESS != 0 {
            for pid in vm.processes.pids() {
                let Some(process) = vm.processes.get(pid) else { continue };
                count += i64::from(change.make(vm, &process.trace, pid.term()));
            }
        }
        if whom.ports
            && wanted.mask & flags::PORT != 0
            && let Some(ports) = vm.ports()
        {
            for port in ports.all(vm) {
                let mut make = |tracee: &Tracee| count += i64::from(change.make(vm, tracee, port.term()));
                ports.with_tracee(vm, port, &mut make);
            }
        }
    }
    if whom.new {
        let tracing = Tracing::of(vm);
        if whom.processes && wanted.mask & flags::PROCESS != 0 {
            let change = Change { mask: wanted.mask & flags::PROCESS, ..change };
            tracing.change_new_processes(vm, |tracee| {
                change.make(vm, tracee, Term::UNDEFINED);
            });
        }
        if whom.ports && wanted.mask & flags::PORT != 0 {
            Change { mask: wanted.mask & flags::PORT, ..change }.make(vm, &tracing.new_ports, Term::UNDEFINED);
        }
    }
    drop(guard);
    Ok(Term::small(count))
}

/// It is traced by another already, as the logger is told, too.
fn taken(ctx: &mut Ctx<'_>) -> BifResult {
    myriad_vm::report::line(ctx, "** can only have one tracer per process\n");
    plain()
}
