//! Monitors and aliases.

use myriad_process::links::{AliasMode, Monitor, Target};
use myriad_process::{Message, Named, Payload};
use myriad_term::{Atom, Build, RefNumbers, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx, Escape, Signal};

myriad_vm::bifs! { pub MONITORS = "erlang" {
    "monitor" / 2 Plain => |ctx, a| monitor(ctx, a[0], a[1], MonitorOptions::default());
    "monitor" / 3 Plain => monitor_3;
    "demonitor" / 1 Plain => |ctx, a| demonitor(ctx, a[0], false, false);
    "demonitor" / 2 Plain => demonitor_2;
    "alias" / 1 Plain => alias_1;
    "unalias" / 1 Plain => unalias_1;
}}

/// Options of `monitor/3` and of `spawn_opt`'s `{monitor, Options}`.
#[derive(Default)]
pub(super) struct MonitorOptions {
    pub(super) alias: Option<AliasMode>,
    pub(super) tag: Option<Term>,
}

impl MonitorOptions {
    pub(super) fn parse(list: Term) -> Option<MonitorOptions> {
        let mut options = MonitorOptions::default();
        let mut items = list.list_iter();
        for item in items.by_ref() {
            let [key, value] = item.as_tuple_of::<2>()?;
            match key.as_atom()? {
                am::tag => options.tag = Some(value),
                am::alias => {
                    options.alias = Some(match value.as_atom()? {
                        am::explicit_unalias => AliasMode::Explicit,
                        am::demonitor => AliasMode::Demonitor,
                        am::reply_demonitor => AliasMode::Reply,
                        _ => return None,
                    });
                }
                _ => return None,
            }
        }
        items.tail().is_nil().then_some(options)
    }
}

/// A new reference, one that is an address if it is to be an alias.
pub(super) fn new_reference(ctx: &mut Ctx<'_>, alias: Option<AliasMode>) -> Term {
    if alias.is_none() {
        return ctx.make_ref();
    }
    let numbers = ctx.sched.next_alias(&ctx.vm.processes, ctx.pid());
    ctx.reference(numbers)
}

fn monitor_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match MonitorOptions::parse(args[2]) {
        Some(options) => monitor(ctx, args[0], args[1], options),
        None => ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::badopt)),
    }
}

/// Is this a pid or port of a node of this name that ran before?
pub(super) fn is_earlier(ctx: &Ctx<'_>, item: Term) -> bool {
    item.external_node().is_some_and(|(node, _)| node == ctx.vm.node_name())
}

enum Watched {
    Process(myriad_term::Pid, Term),
    Port(myriad_term::Port, Term),
    TimeOffset,
    /// No process or port has this name: the message comes at once, with the name.
    Nobody(Term),
    /// On another node, without connection.
    NoConnection,
    /// On a node of this name that ran before.
    Earlier,
}

fn watched(ctx: &Ctx<'_>, kind: Atom, item: Term) -> Result<Watched, Escape> {
    let by_name = |name: Atom| match (kind, ctx.vm.names.whereis(name)) {
        (am::process, Some(Named::Process(pid))) => Ok(Watched::Process(pid, name.term())),
        (am::port, Some(Named::Port(port))) => Ok(Watched::Port(port, name.term())),
        (_, Some(_)) => badarg(),
        (_, None) => Ok(Watched::Nobody(name.term())),
    };
    match kind {
        am::time_offset if item.is_am(am::clock_service) => Ok(Watched::TimeOffset),
        am::process if item.as_local_pid().is_some() => {
            item.as_local_pid().map(|pid| Watched::Process(pid, Term::NONE)).ok_or(myriad_vm::bif::BADARG)
        }
        am::port if item.as_local_port().is_some() => {
            item.as_local_port().map(|port| Watched::Port(port, Term::NONE)).ok_or(myriad_vm::bif::BADARG)
        }
        am::port if item.is_port() && is_earlier(ctx, item) => Ok(Watched::Earlier),
        am::process if item.is_pid() => {
            Ok(if is_earlier(ctx, item) { Watched::Earlier } else { Watched::NoConnection })
        }
        am::process | am::port => {
            if let Some(name) = item.as_atom() {
                return by_name(name);
            }
            let Some([name, node]) = item.as_tuple_of::<2>() else { return badarg() };
            let (Some(name), Some(node)) = (name.as_atom(), node.as_atom()) else { return badarg() };
            match node == ctx.vm.node_name() {
                true => by_name(name),
                // Ports of other nodes cannot be watched, and without distribution there is no other node.
                false if kind == am::port || ctx.vm.node_name() == am::nonode_nohost => badarg(),
                false => Ok(Watched::NoConnection),
            }
        }
        _ => badarg(),
    }
}

fn monitor(ctx: &mut Ctx<'_>, kind: Term, item: Term, options: MonitorOptions) -> BifResult {
    let Some(kind) = kind.as_atom() else { return badarg() };
    if !matches!(kind, am::process | am::port | am::time_offset) {
        return ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::badtype));
    }
    let watched = watched(ctx, kind, item)?;
    match watched {
        Watched::NoConnection => return elsewhere(ctx, kind, item, options, am::noconnection),
        Watched::Earlier => return elsewhere(ctx, kind, item, options, am::noproc),
        _ => {}
    }
    let reference = new_reference(ctx, options.alias);
    let Some(numbers) = reference.as_local_ref() else { return badarg() };
    let (target, name) = match &watched {
        Watched::Process(pid, name) => (Target::Process(*pid), *name),
        Watched::Port(port, name) => (Target::Port(*port), *name),
        Watched::TimeOffset => (Target::TimeOffset, Term::NONE),
        Watched::Nobody(name) if kind == am::port => (Target::GonePort, *name),
        Watched::Nobody(name) => (Target::Gone, *name),
        Watched::NoConnection | Watched::Earlier => (Target::Gone, Term::NONE),
    };
    let own = target == Target::Process(ctx.pid());
    let tag = options.tag.map(|tag| ctx.whole_payload(tag));
    let tables = ctx.state.relations.tables();
    if let Some(mode) = options.alias {
        tables.aliases.insert(numbers, mode);
    }
    if own {
        // Monitoring oneself never reports; only the alias counts.
        return Ok(reference);
    }
    tables.monitors.insert(numbers, Monitor { target, name, tag });
    match watched {
        Watched::Process(pid, name) => {
            if !ctx.signal_to(pid, Signal::Monitor { from: ctx.pid(), reference: numbers, name }) {
                down(ctx, numbers, am::noproc);
            }
        }
        Watched::Port(port, name) => match ctx.vm.ports() {
            Some(ports) => ports.signal(ctx.vm, port, Signal::Monitor { from: ctx.pid(), reference: numbers, name }),
            None => down(ctx, numbers, am::noproc),
        },
        Watched::TimeOffset => ctx.vm.clock.watch(numbers, ctx.pid()),
        Watched::Nobody(_) => down(ctx, numbers, am::noproc),
        Watched::NoConnection | Watched::Earlier => {}
    }
    Ok(reference)
}

/// A monitor on what is not on this node: it is over at once, for this reason.
fn elsewhere(ctx: &mut Ctx<'_>, kind: Atom, item: Term, options: MonitorOptions, reason: Atom) -> BifResult {
    let reference = new_reference(ctx, options.alias);
    if options.alias == Some(AliasMode::Explicit)
        && let Some(numbers) = reference.as_local_ref()
    {
        ctx.state.relations.tables().aliases.insert(numbers, AliasMode::Explicit);
    }
    let tag = options.tag.unwrap_or(Term::atom(am::DOWN));
    let message = ctx.tuple(&[tag, reference, kind.term(), item, reason.term()]);
    ctx.signal_to(ctx.pid(), Signal::Message(Message::new(Payload::copy(message), Term::NONE)));
    Ok(reference)
}

/// The target is gone already: the `'DOWN'` is as any other, sent to oneself.
fn down(ctx: &mut Ctx<'_>, reference: RefNumbers, reason: Atom) {
    let reason = Payload::immediate(reason.term());
    ctx.signal_to(ctx.pid(), Signal::Down { reference, reason });
}

fn demonitor_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (mut flush, mut info) = (false, false);
    let mut items = args[1].list_iter();
    for item in items.by_ref() {
        match item.as_atom() {
            Some(am::flush) => flush = true,
            Some(am::info) => info = true,
            _ => return badarg(),
        }
    }
    if items.tail().is_nil() { demonitor(ctx, args[0], flush, info) } else { badarg() }
}

fn demonitor(ctx: &mut Ctx<'_>, reference: Term, flush: bool, info: bool) -> BifResult {
    if !reference.is_reference() {
        return badarg();
    }
    let Some(numbers) = reference.as_local_ref() else { return Ok(Term::TRUE) };
    let monitor = ctx.state.relations.monitor_over(numbers);
    let found = monitor.is_some();
    if let Some(monitor) = monitor {
        match monitor.target {
            Target::Process(pid) => {
                ctx.signal_to(pid, Signal::Demonitor(numbers));
            }
            Target::Port(port) => {
                if let Some(ports) = ctx.vm.ports() {
                    ports.demonitor(ctx.vm, port, numbers);
                }
            }
            Target::TimeOffset => ctx.vm.clock.unwatch(numbers),
            Target::Gone | Target::GonePort => {}
        }
    }
    if flush && !found {
        // The message may have come already: take it out, in Erlang code as OTP does.
        use myriad_term::{Export, Mfa};
        let function =
            Export::intern(Mfa { module: am::erts_internal, function: am::flush_monitor_messages, arity: 3 });
        return ctx.trap(function, &[reference, Term::FALSE, Term::bool(!info)]);
    }
    Ok(Term::bool(!info || found))
}

fn alias_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut mode = AliasMode::Explicit;
    let mut items = args[0].list_iter();
    for item in items.by_ref() {
        mode = match item.as_atom() {
            Some(am::explicit_unalias) => AliasMode::Explicit,
            Some(am::reply) => AliasMode::Reply,
            _ => return badarg(),
        };
    }
    if !items.tail().is_nil() {
        return badarg();
    }
    let reference = new_reference(ctx, Some(mode));
    if let Some(numbers) = reference.as_local_ref() {
        ctx.state.relations.tables().aliases.insert(numbers, mode);
    }
    Ok(reference)
}

fn unalias_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if !args[0].is_reference() {
        return badarg();
    }
    let numbers = args[0].as_local_ref();
    Ok(Term::bool(numbers.is_some_and(|n| ctx.state.relations.unalias(n))))
}
