//! What is told of the sockets and of one of them, and the settings of all: `nif_info`, `nif_command`.

use super::address::family_term;
use super::open::type_term;
use super::owners::Sockets;
use super::owners::TOTALS;
use super::send::PIECES;
use super::state::{COUNTERS, Handle, Origin, flag};
use super::terms::{Fields, atom_of, map_of};
use myriad_sync::atomic::Ordering;
use myriad_term::{Build, Term, am};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx};

/// `nif_command(#{command := What, data := Value})`
pub(super) fn command_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(map) = Fields::of(args[0]) else { return badarg() };
    let (Some(command), Some(data)) = (map.get_by("command").and_then(|name| name.as_atom()), map.get(am::data)) else {
        return badarg();
    };
    let defaults = &Sockets::of(ctx.vm).defaults;
    let setting = match command.text() {
        "debug" => &defaults.debug,
        "socket_debug" => &defaults.socket_debug,
        "use_registry" => &defaults.use_registry,
        _ => return badarg(),
    };
    match data.as_bool() {
        Some(value) => {
            // Relaxed: see above.
            setting.store(value, Ordering::Relaxed);
            Ok(Term::OK)
        }
        None => {
            let what = ctx.tuple(&[am::data.term(), data]);
            Err(Escape::Error(ctx.tuple(&[am::invalid.term(), what])))
        }
    }
}

/// `nif_info()`
pub(super) fn info_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let sockets = Sockets::of(ctx.vm);
    let mut counters = vec![(atom_of("num_cnt_bits"), Term::small(64))];
    for ((text, _), total) in TOTALS.iter().zip(&sockets.totals) {
        // Relaxed: statistics.
        counters.push((atom_of(text), Term::small(total.load(Ordering::Relaxed) as i64)));
    }
    let counters = map_of(ctx, &counters);
    let defaults = &sockets.defaults;
    let pairs = [
        (am::debug.term(), Term::bool(defaults.debug.load(Ordering::Relaxed))),
        (atom_of("socket_debug"), Term::bool(defaults.socket_debug())),
        (atom_of("use_registry"), Term::bool(defaults.use_registry())),
        (atom_of("iow"), Term::bool(false)),
        (atom_of("counters"), counters),
        (atom_of("iov_max"), Term::small(PIECES as i64)),
    ];
    Ok(map_of(ctx, &pairs))
}

fn flags(ctx: &mut Ctx<'_>, flags: u16) -> Term {
    let set = |(bit, _): &(usize, &&str)| flags & (1 << bit) != 0;
    let names: Vec<Term> = flag::NAMES.iter().enumerate().filter(set).map(|(_, text)| atom_of(text)).collect();
    ctx.list(&names)
}

/// `nif_info(Socket)`
pub(super) fn info_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = Handle::of(args[0])?;
    let state = handle.socket.lock();
    let mut counters = Vec::with_capacity(COUNTERS.len());
    for (text, count) in COUNTERS.iter().zip(state.counters) {
        counters.push((atom_of(text), ctx.uint(count)));
    }
    let counters = map_of(ctx, &counters);
    let (reading, writing) = (flags(ctx, state.reading), flags(ctx, state.writing));
    let kind = handle.socket.kind;
    let from = atom_of("fromfd");
    let origin = match handle.socket.origin {
        Origin::Opened => atom_of("normal"),
        Origin::Lent => from,
        Origin::CopyOf(number) => ctx.tuple(&[from, Term::small(i64::from(number))]),
    };
    let waiting = |queue: &super::wait::Queue| Term::small(queue.len() as i64);
    let pairs = [
        (atom_of("counters"), counters),
        (atom_of("ctype"), origin),
        (am::domain.term(), family_term(kind.domain)),
        (am::type_.term(), type_term(kind.kind)),
        (am::protocol.term(), Term::small(i64::from(kind.protocol))),
        (am::owner.term(), state.owner.map_or(Term::UNDEFINED, Term::pid)),
        (atom_of("num_acceptors"), waiting(&state.acceptors)),
        (atom_of("num_readers"), waiting(&state.readers)),
        (atom_of("num_writers"), waiting(&state.writers)),
        (atom_of("rstates"), reading),
        (atom_of("wstates"), writing),
    ];
    Ok(map_of(ctx, &pairs))
}
