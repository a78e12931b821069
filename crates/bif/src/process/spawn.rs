//! `spawn` in its forms, and their options.

use super::flags::{fullsweep_after, heap_size};
use super::monitor::MonitorOptions;
use myriad_heap::Settings;
use myriad_process::Priority;
use myriad_term::{Build, Export, Mfa, Term, am};
use myriad_vm::bif::{Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::private_thread::Mode;
use myriad_vm::spawn::{Reply, SpawnOptions, TooManyProcesses};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub SPAWN = "erlang" {
    "spawn" / 3 Plain => |ctx, a| spawn(ctx, [a[0], a[1], a[2]], false);
    "spawn_link" / 3 Plain => |ctx, a| spawn(ctx, [a[0], a[1], a[2]], true);
    "spawn_opt" / 4 Plain => spawn_opt_4;
    "spawn_request_abandon" / 1 Plain => spawn_request_abandon_1;
}}

myriad_vm::bifs! { pub INTERNAL_SPAWN = "erts_internal" {
    "spawn_request" / 4 Plain => spawn_request_4;
    "spawn_system_process" / 3 Plain => spawn_system_process_3;
}}

/// The export to call and its arguments as a slice.
fn callee(mfa: [Term; 3]) -> Result<(&'static Export, Vec<Term>), Escape> {
    let (Some(module), Some(function)) = (mfa[0].as_atom(), mfa[1].as_atom()) else { return badarg() };
    let mut list = mfa[2].list_iter();
    let args: Vec<Term> = list.by_ref().collect();
    if !list.tail().is_nil() {
        return badarg();
    }
    let Ok(arity) = u8::try_from(args.len()) else {
        // No function has that many arguments: the new process finds that out.
        return Ok((Export::intern(Mfa { module: am::erlang, function: am::apply, arity: 3 }), mfa.to_vec()));
    };
    Ok((Export::intern(Mfa { module, function, arity }), args))
}

fn full(_: TooManyProcesses) -> Escape {
    SYSTEM_LIMIT
}

/// Spawns, with a private thread if that is asked for.
fn spawn_in_mode(
    ctx: &mut Ctx<'_>,
    mode: Mode,
    export: &'static Export,
    args: &[Term],
    mut options: SpawnOptions,
) -> BifResult {
    if mode == Mode::Private {
        options.private_thread = Some(ctx.vm.take_private_thread()?);
    }
    Ok(ctx.spawn(export, args, options).map_err(full)?.term())
}

fn spawn(ctx: &mut Ctx<'_>, mfa: [Term; 3], link: bool) -> BifResult {
    let (export, args) = callee(mfa)?;
    let options = SpawnOptions { link, ..SpawnOptions::new(ctx.vm) };
    Ok(ctx.spawn(export, &args, options).map_err(full)?.term())
}

fn spawn_system_process_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (export, arguments) = callee([args[0], args[1], args[2]])?;
    let options = SpawnOptions { system: true, priority: Priority::HIGH, ..SpawnOptions::new(ctx.vm) };
    Ok(ctx.spawn(export, &arguments, options).map_err(full)?.term())
}

/// Which outcome of a `spawn_request` is told.
#[derive(Clone, Copy, PartialEq)]
enum OutcomesTold {
    Both,
    Neither,
    ErrorOnly,
    SuccessOnly,
}

struct Options {
    spawn: SpawnOptions,
    monitor: Option<MonitorOptions>,
    mode: Mode,
    reply: OutcomesTold,
    reply_tag: Term,
}

/// Reads an option list; `None`: some option is no option.
fn options(ctx: &Ctx<'_>, list: Term, request: bool) -> Option<Options> {
    let mut all = Options {
        spawn: SpawnOptions::new(ctx.vm),
        monitor: None,
        mode: Mode::Worker,
        reply: OutcomesTold::Both,
        reply_tag: Term::atom(am::spawn_reply),
    };
    // No process gets less than what all get by default.
    let floor = all.spawn.heap;
    let mut items = list.list_iter();
    for item in items.by_ref() {
        match item.as_atom() {
            Some(am::link) => all.spawn.link = true,
            Some(am::monitor) => all.monitor = Some(MonitorOptions::default()),
            Some(_) => return None,
            None => {
                let [key, value] = item.as_tuple_of::<2>()?;
                pair(ctx, &mut all, &floor, key.as_atom()?, value, request)?;
            }
        }
    }
    items.tail().is_nil().then_some(all)
}

fn pair(
    ctx: &Ctx<'_>,
    all: &mut Options,
    floor: &Settings,
    key: myriad_term::Atom,
    value: Term,
    request: bool,
) -> Option<()> {
    let heap = &mut all.spawn.heap;
    match key {
        am::monitor => all.monitor = Some(MonitorOptions::parse(value)?),
        am::priority => all.spawn.priority = super::flags::priority(value)?,
        am::min_heap_size => heap.min_heap_size = heap_size(value, floor.min_heap_size)?,
        am::min_bin_vheap_size => heap.min_bin_vheap_size = heap_size(value, floor.min_bin_vheap_size)?,
        am::max_heap_size => super::flags::max_heap_size(value, &mut heap.max_heap_size)?,
        am::fullsweep_after => heap.fullsweep_after = fullsweep_after(value)?,
        am::message_queue_data => all.spawn.off_heap_messages = super::flags::off_heap(value)?,
        am::async_dist if ctx.vm.release.newer_process_flags => all.spawn.async_dist = value.as_bool()?,
        am::thread => all.mode = Mode::named(value.as_atom()?)?,
        am::scheduler => all.spawn.scheduler = super::flags::scheduler(ctx.vm, value)?,
        am::reply_tag if request => all.reply_tag = value,
        am::reply if request => {
            all.reply = match value.as_atom()? {
                am::yes => OutcomesTold::Both,
                am::no => OutcomesTold::Neither,
                am::error_only => OutcomesTold::ErrorOnly,
                am::success_only => OutcomesTold::SuccessOnly,
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(())
}

/// Prepares the monitor that the options ask for; gives its reference.
fn with_monitor(ctx: &mut Ctx<'_>, monitor: Option<MonitorOptions>, spawn: &mut SpawnOptions) -> Option<Term> {
    let monitor = monitor?;
    let reference = super::monitor::new_reference(ctx, monitor.alias);
    let tag = monitor.tag.map(|tag| ctx.whole_payload(tag));
    spawn.monitor = Some((reference.as_local_ref()?, monitor.alias, tag));
    Some(reference)
}

fn spawn_opt_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(mut all) = options(ctx, args[3], false) else {
        return ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::badopt));
    };
    let (export, arguments) = callee([args[0], args[1], args[2]])?;
    all.spawn.given = args[3];
    let reference = with_monitor(ctx, all.monitor.take(), &mut all.spawn);
    let pid = spawn_in_mode(ctx, all.mode, export, &arguments, all.spawn)?;
    Ok(match reference {
        Some(reference) => ctx.tuple(&[pid, reference]),
        None => pid,
    })
}

/// A reference, or `badarg` or `badopt` for the Erlang caller to raise.
fn spawn_request_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if callee([args[0], args[1], args[2]]).is_err() {
        return Ok(Term::atom(am::badarg));
    }
    if args[3].list_length().is_none() {
        return Ok(Term::atom(am::badarg));
    }
    let Some(mut all) = options(ctx, args[3], true) else {
        let reference = ctx.make_ref();
        let reply = refusal(reference, args[3]);
        if reply.sent {
            ctx.reply_to_spawn(reply, Term::atom(am::error), Term::atom(am::badopt), None);
        }
        return Ok(reference);
    };
    let reference = match with_monitor(ctx, all.monitor.take(), &mut all.spawn) {
        Some(reference) => reference,
        None => ctx.make_ref(),
    };
    let reply = Reply {
        reference,
        tag: all.reply_tag,
        sent: matches!(all.reply, OutcomesTold::Both | OutcomesTold::SuccessOnly),
    };
    (all.spawn.given, all.spawn.reply) = (args[3], Some(reply));
    // As on OTP, where an argument list may come from another node in parts.
    let call = ctx.tuple(&args[..3]);
    let init = Mfa { module: am::erts_internal, function: am::spawn_init, arity: 1 };
    let result = spawn_in_mode(ctx, all.mode, Export::intern(init), &[call], all.spawn);
    if let Err(Escape::Error(reason)) = result
        && matches!(all.reply, OutcomesTold::Both | OutcomesTold::ErrorOnly)
    {
        ctx.reply_to_spawn(reply, Term::atom(am::error), reason, None);
    }
    Ok(reference)
}

/// The reply that a list of options asks for when something is wrong with it.
fn refusal(reference: Term, options: Term) -> Reply {
    let mut reply = Reply { reference, tag: Term::atom(am::spawn_reply), sent: true };
    for [key, value] in options.list_iter().filter_map(Term::as_tuple_of::<2>) {
        match (key.as_atom(), value.as_atom()) {
            (Some(am::reply_tag), _) => reply.tag = value,
            (Some(am::reply), Some(am::yes | am::error_only)) => reply.sent = true,
            (Some(am::reply), Some(am::no | am::success_only)) => reply.sent = false,
            _ => {}
        }
    }
    reply
}

/// Requests on this node are carried out at once, so there is never one left to abandon.
fn spawn_request_abandon_1(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if args[0].is_reference() { Ok(Term::FALSE) } else { badarg() }
}
