//! Any terms given to the functions of `prim_socket` give a value or an error, and no descriptor is left.
//!
//! The input is the external form of a list of `{Function, Arguments}`. Among the arguments `s0` to `s9` stand for sockets that calls before have given
//! (the first two are the ends of a connection), `ref` for a new reference, `self` for the process.

use super::world::{call, in_world, meet_events};
use myriad_term::etf::{DecodeOptions, decode};
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::{Ctx, Escape};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsRawFd, OwnedFd};

/// Most calls of an input.
const CALLS: usize = 60;
/// Sizes above this ask rightly for much memory.
const MUCH: i64 = 1 << 26;

/// See the file's head.
pub fn socket_call(bytes: &[u8]) {
    let bytes = bytes.to_vec();
    in_world(|world| {
        world.run(move |ctx| run(ctx, &bytes));
        world.settle();
    });
}

fn run(ctx: &mut Ctx<'_>, bytes: &[u8]) {
    let Ok(decoded) = decode(ctx, bytes, DecodeOptions::default()) else { return };
    let mut sockets = connection(ctx);
    for item in decoded.term.list_iter().take(CALLS) {
        let Some([function, arguments]) = item.as_tuple_of::<2>() else { continue };
        let Some(function) = function.as_atom() else { continue };
        let name = function.text();
        if arguments.list_length().is_none_or(|count| count > 5) || !name.starts_with("nif_") {
            continue;
        }
        let args: Vec<Term> = arguments.list_iter().map(|term| stands_for(ctx, term, &sockets)).collect();
        if !is_harmless(name, &args) {
            continue;
        }
        match call(ctx, "prim_socket", name, &args) {
            Ok(value) | Err(Escape::Error(value) | Escape::Exit(value) | Escape::Throw(value)) => {
                drop(myriad_term::print::text(value, 1000));
                if let Some([am_ok, socket]) = value.as_tuple_of::<2>()
                    && am_ok == Term::OK
                    && socket.is_reference()
                {
                    sockets.push(socket);
                }
            }
            Err(_) => {}
        }
        meet_events(ctx.vm);
    }
    for socket in sockets {
        let _ = call(ctx, "prim_socket", "nif_close", &[socket]);
        let _ = call(ctx, "prim_socket", "nif_finalize_close", &[socket]);
    }
}

/// Two sockets that are connected with each other.
fn connection(ctx: &mut Ctx<'_>) -> Vec<Term> {
    let Ok((a, b)) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
    else {
        return Vec::new();
    };
    // Of copies of the descriptors.
    let open = |fd: OwnedFd| {
        let options = myriad_term::map::from_pairs(ctx, &[]);
        let opened = call(ctx, "prim_socket", "nif_open", &[Term::small(i64::from(fd.as_raw_fd())), options]);
        opened.ok()?.as_tuple_of::<2>().map(|[_, socket]| socket)
    };
    [a, b].into_iter().filter_map(open).collect()
}

fn stands_for(ctx: &mut Ctx<'_>, term: Term, sockets: &[Term]) -> Term {
    let Some(name) = term.as_atom() else { return term };
    match name.text().as_bytes() {
        b"ref" => {
            let reference = ctx.sched.next_ref();
            ctx.reference(reference)
        }
        b"self" => ctx.pid().term(),
        [b's', digit @ b'0'..=b'9'] => sockets.get(usize::from(digit - b'0')).copied().unwrap_or(term),
        _ => term,
    }
}

/// Does the call keep off descriptors that others have, files, other machines, and more memory than the target has?
fn is_harmless(name: &str, args: &[Term]) -> bool {
    let is_given = name == "nif_open" && args.len() == 2;
    let asks_much = args.iter().any(|arg| arg.as_small().is_some_and(|number| number > MUCH));
    !is_given && !asks_much && args.iter().all(|arg| is_local(*arg))
}

/// Is it no address of another machine, no name in the file system, and no descriptor for somebody else?
fn is_local(term: Term) -> bool {
    let named = |text| Atom::new(text).expect("a short name").term();
    let map = |key| term.as_map().and_then(|map| map.get(named(key)));
    let path_is_abstract =
        map("path").is_none_or(|path| path.as_binary().is_some_and(|name| name.first().is_none_or(|byte| *byte == 0)));
    let is_near = |ip: Term| match ip.as_tuple() {
        Some(parts) => matches!(parts.elements().first().and_then(|first| first.as_small()), Some(127 | 0)),
        None => ip.is_am(am::any) || ip == named("loopback"),
    };
    let sends_descriptors = map("type").is_some_and(|kind| kind == named("rights") || kind == Term::small(1));
    let control_is_local = map("ctrl").is_none_or(|all| all.list_iter().all(is_local));
    let inner = map("addr").is_none_or(|addr| if addr.as_map().is_some() { is_local(addr) } else { is_near(addr) });
    path_is_abstract && inner && control_is_local && !sends_descriptors
}
