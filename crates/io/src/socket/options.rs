//! `setopt` and `getopt`: the system's options by their shapes, options of any number in bytes, and those that are kept here.

use super::address::{family_number, family_term, ipv4, ipv4_term, ipv6};
use super::control;
use super::open::type_term;
use super::option_table::{May, Row, Shape, row};
use super::state::{BUFFER, CONTROL, Settings, State, with_open};
use super::terms::{Fields, atom_of, invalid, map_of, ok, raise_invalid};
use super::wait;
use crate::posix;
use crate::system::{get_option, set_option};
use myriad_process::Payload;
use myriad_term::{Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};
use rustix::io::Errno;
use std::net::Ipv4Addr;

/// The options of the level `otp`, as `prim_socket` numbers them.
mod otp {
    pub(super) const DEBUG: i64 = 1001;
    pub(super) const IOW: i64 = 1002;
    pub(super) const CONTROLLING_PROCESS: i64 = 1003;
    pub(super) const RCVBUF: i64 = 1004;
    pub(super) const RCVCTRLBUF: i64 = 1006;
    pub(super) const SNDCTRLBUF: i64 = 1007;
    pub(super) const FD: i64 = 1008;
    pub(super) const META: i64 = 1009;
    pub(super) const USE_REGISTRY: i64 = 1010;
    pub(super) const DOMAIN: i64 = 1999;
}

/// Types of service by name.
const SERVICES: [(&str, i32); 4] = [("lowdelay", 0x10), ("throughput", 0x08), ("reliability", 0x04), ("mincost", 0x02)];
/// What a packet's route may do, by name.
const DISCOVER: [(&str, i32); 4] = [("want", 1), ("dont", 0), ("do", 2), ("probe", 3)];
/// The largest value of an option of any number.
const LARGEST: usize = 1 << 16;

/// The level of an option: `otp`, or the system's number.
enum Level {
    Otp,
    System(i32),
}

impl Level {
    fn of(term: Term) -> Option<Level> {
        match term.as_atom() {
            Some(am::socket) => Some(Level::System(libc::SOL_SOCKET)),
            Some(name) => (name.text() == "otp").then_some(Level::Otp),
            None => int(term).map(Level::System),
        }
    }
}

fn int(term: Term) -> Option<i32> {
    term.as_small().and_then(|number| i32::try_from(number).ok())
}

fn number_or_name(term: Term, names: &[(&str, i32)]) -> Option<i32> {
    match term.as_atom() {
        Some(name) => names.iter().find(|(text, _)| name.text() == *text).map(|(_, number)| *number),
        None => int(term),
    }
}

fn name_or_number<'h>(number: i32, names: &[(&str, i32)]) -> myriad_term::TermRef<'h> {
    names.iter().find(|(_, of)| *of == number).map_or(Term::small(i64::from(number)), |(text, _)| atom_of(text))
}

/// A type of service in four bytes.
pub(super) fn tos_bytes(term: Term) -> Option<[u8; 4]> {
    number_or_name(term, &SERVICES).map(i32::to_ne_bytes)
}

/// A type of service, by name if it has one.
pub(super) fn tos_term<'h>(number: i32) -> myriad_term::TermRef<'h> {
    name_or_number(number, &SERVICES)
}

/// The bytes of a value for the system; nothing if it has not the shape.
fn encode(shape: Shape, value: Term) -> Option<Vec<u8>> {
    let four = |number: i32| number.to_ne_bytes().to_vec();
    let address = |map: Fields, key| map.get_by(key).and_then(ipv4).map(|ip| ip.octets());
    match shape {
        Shape::Bool => value.as_bool().map(|truth| four(i32::from(truth))),
        Shape::Int => int(value).map(four),
        Shape::Hops if value.is_am(am::default) => Some(four(-1)),
        Shape::Hops => int(value).map(four),
        Shape::Linger if value.is_am(am::abort) => Some([four(1), four(0)].concat()),
        Shape::Linger => {
            let map = Fields::of(value)?;
            let (on, seconds) = (map.get_by("onoff")?.as_bool()?, int(map.get_by("linger")?)?);
            Some([four(i32::from(on)), four(seconds)].concat())
        }
        Shape::Text(most) => {
            let text = crate::bytes::iodata(value).filter(|_| value.is_list())?;
            (text.len() < most).then_some(text)
        }
        Shape::MtuDiscover => number_or_name(value, &DISCOVER).map(four),
        Shape::Tos => number_or_name(value, &SERVICES).map(four),
        Shape::Interface => ipv4(value).map(|ip| ip.octets().to_vec()),
        Shape::Group => {
            let map = Fields::of(value)?;
            Some([address(map, "multiaddr")?, address(map, "interface")?].concat())
        }
        Shape::Group6 => {
            let map = Fields::of(value)?;
            let index = u32::try_from(map.get_by("interface")?.as_small()?).ok()?;
            Some([&ipv6(map.get_by("multiaddr")?)?.octets()[..], &index.to_ne_bytes()].concat())
        }
        Shape::Source => {
            let map = Fields::of(value)?;
            Some([address(map, "multiaddr")?, address(map, "interface")?, address(map, "sourceaddr")?].concat())
        }
        Shape::Form if value.is_atom() => family_number(value).map(four),
        Shape::Filter if value.as_atom().is_some_and(|name| name.text() == "null") => Some(Vec::new()),
        Shape::Domain
        | Shape::Type
        | Shape::Protocol
        | Shape::Control
        | Shape::Form
        | Shape::Filter
        | Shape::Opaque => None,
    }
}

/// How much room the value of an option takes at most.
const fn room(shape: Shape) -> usize {
    match shape {
        Shape::Text(most) => most,
        Shape::Linger => 8,
        Shape::Control => CONTROL,
        Shape::Opaque => 64,
        _ => 4,
    }
}

/// A value of the system's.
fn decode(ctx: &mut Ctx<'_>, shape: Shape, mut bytes: Vec<u8>) -> Term {
    let word = |at: usize| match bytes.get(at..).and_then(<[u8]>::first_chunk::<4>) {
        Some(four) => i32::from_ne_bytes(*four),
        None => bytes.get(at).copied().map_or(0, i32::from),
    };
    match shape {
        Shape::Bool => Term::bool(word(0) != 0),
        Shape::Linger => {
            let pairs =
                [(atom_of("onoff"), Term::bool(word(0) != 0)), (atom_of("linger"), Term::small(i64::from(word(4))))];
            map_of(ctx, &pairs)
        }
        Shape::Text(most) => {
            // As OTP gives it: up to the room without its last byte, whatever stands there; of a name that is no longer, up to its NUL.
            if most == 16 && bytes.len() == most {
                bytes.truncate(most - 1);
            }
            ctx.byte_list(&bytes, Term::NIL)
        }
        Shape::Domain => family_term(word(0)),
        Shape::Type => type_term(word(0)),
        Shape::MtuDiscover => name_or_number(word(0), &DISCOVER),
        Shape::Tos => tos_term(word(0)),
        Shape::Interface => ipv4_term(ctx, Ipv4Addr::from(word(0).to_ne_bytes())),
        Shape::Control => control::terms(ctx, &bytes),
        _ => Term::small(i64::from(word(0))),
    }
}

/// `nif_setopt(Socket, Level, Option, Value, IsNative)`
pub(super) fn setopt_5(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(level), Some(option)) = (Level::of(args[1]), args[2].as_small()) else { return badarg() };
    let (value, is_native) = (args[3], args[4].as_small() != Some(0));
    match level {
        Level::Otp => set_own(ctx, args[0], option, value),
        Level::System(level) => with_open(ctx, args[0], |ctx, _, state| {
            let Ok(number) = i32::try_from(option) else { return badarg() };
            let bytes = if is_native {
                native(value)
            } else {
                match row(level, number) {
                    None | Some(Row(_, _, _, May::Get)) => return invalid(ctx, am::socket_option),
                    Some(Row(_, _, shape, _)) => encode(*shape, value),
                }
            };
            let Some(bytes) = bytes else {
                let what = invalid(ctx, am::value)?;
                return Ok(if is_native { ctx.tuple(&[am::error.term(), what]) } else { what });
            };
            let result = state.fd().ok_or(Errno::BADF).and_then(|fd| set_option(fd, (level, number), &bytes));
            posix::unit(ctx, result)
        }),
    }
}

/// The bytes of a native value: an integer, a truth value, or bytes.
pub(super) fn native(value: Term) -> Option<Vec<u8>> {
    if let Some(number) = int(value) {
        return Some(number.to_ne_bytes().to_vec());
    }
    if let Some(truth) = value.as_bool() {
        return Some(i32::from(truth).to_ne_bytes().to_vec());
    }
    value.as_binary().map(|bytes| bytes.into_owned())
}

/// Room for what is received: an integer, or a pair of how often it is filled and its size.
fn buffer_of(value: Term) -> Option<(usize, usize)> {
    let positive = |term: Term| term.as_usize().filter(|size| *size > 0);
    if value.is_am(am::default) {
        return Some((0, BUFFER));
    }
    match value.as_tuple_of::<2>() {
        Some([fills, size]) => Some((positive(fills)?, positive(size)?)),
        None => Some((0, positive(value)?)),
    }
}

fn control_size(value: Term) -> Option<usize> {
    if value.is_am(am::default) { Some(CONTROL) } else { value.as_usize().filter(|size| *size > 0) }
}

fn unknown(ctx: &mut Ctx<'_>, option: i64) -> BifResult {
    let what = ctx.tuple(&[atom_of("otp_socket_option"), Term::small(option)]);
    raise_invalid(ctx, what)
}

fn set_own(ctx: &mut Ctx<'_>, socket: Term, option: i64, value: Term) -> BifResult {
    with_open(ctx, socket, |ctx, handle, state| {
        let mut set = |change: Option<fn(&mut Settings, bool)>, truth: Option<bool>| match (change, truth) {
            (Some(change), Some(truth)) => {
                change(&mut state.settings, truth);
                true
            }
            _ => false,
        };
        let good = match option {
            otp::DEBUG => set(Some(|settings, truth| settings.debug = truth), value.as_bool()),
            otp::IOW => set(Some(|settings, truth| settings.iow = truth), value.as_bool()),
            otp::RCVBUF => match buffer_of(value) {
                Some((fills, size)) => {
                    (state.settings.fills, state.settings.buffer) = (fills, size);
                    true
                }
                None => false,
            },
            otp::RCVCTRLBUF => control_size(value).map(|size| state.settings.control_in = size).is_some(),
            otp::SNDCTRLBUF => control_size(value).map(|size| state.settings.control_out = size).is_some(),
            otp::USE_REGISTRY => match value.as_bool() {
                Some(true) => {
                    register(ctx, handle, state);
                    true
                }
                _ => false,
            },
            otp::META | otp::CONTROLLING_PROCESS if state.owner != Some(ctx.pid()) => {
                return invalid_reason(ctx);
            }
            otp::META => {
                state.meta = Payload::whole(value);
                true
            }
            otp::CONTROLLING_PROCESS => match value.as_local_pid() {
                Some(pid) => return give(ctx, handle, state, pid),
                None => false,
            },
            _ => return unknown(ctx, option),
        };
        if good { Ok(Term::OK) } else { invalid(ctx, am::value) }
    })
}

/// `{error, {invalid, not_owner}}`
fn invalid_reason(ctx: &mut Ctx<'_>) -> BifResult {
    let reason = invalid(ctx, am::not_owner)?;
    Ok(ctx.tuple(&[am::error.term(), reason]))
}

/// Has the registry know of the socket from now on.
fn register(ctx: &Ctx<'_>, handle: &super::state::Handle, state: &mut State) {
    if !std::mem::replace(&mut state.settings.registered, true) {
        wait::tell_registry(wait::system(ctx), am::add, &handle.magic);
    }
}

/// Gives the socket to another process, which may have ended.
fn give(ctx: &mut Ctx<'_>, handle: &super::state::Handle, state: &mut State, to: myriad_term::Pid) -> BifResult {
    let from = ctx.pid();
    if to == from {
        return Ok(Term::OK);
    }
    let owners = &handle.socket.sockets.owners;
    owners.forget(from, &handle.socket);
    owners.owns(to, &handle.socket, handle.magic.clone());
    state.owner = Some(to);
    if state.has_waiter(from) {
        owners.waits(from, &handle.socket);
    }
    let ended = ctx.vm.processes.get(to).is_none_or(myriad_vm::Process::must_take_back);
    if ended {
        owners.forget(to, &handle.socket);
        super::open::close_unowned(wait::system(ctx), &handle.socket, state);
        if state.settings.registered {
            wait::tell_registry(wait::system(ctx), am::del, &handle.magic);
        }
    }
    Ok(Term::OK)
}

/// `nif_getopt(Socket, Level, Option)`
pub(super) fn getopt_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(level), Some(option)) = (Level::of(args[1]), args[2].as_small()) else { return badarg() };
    match level {
        Level::Otp => get_own(ctx, args[0], option),
        Level::System(level) => with_open(ctx, args[0], |ctx, handle, state| {
            let Ok(number) = i32::try_from(option) else { return badarg() };
            let shape = match row(level, number) {
                None | Some(Row(_, _, _, May::Set)) => return invalid(ctx, am::socket_option),
                Some(Row(_, _, shape, _)) => *shape,
            };
            let got = state.fd().ok_or(Errno::BADF).and_then(|fd| get_option(fd, (level, number), room(shape)));
            match got {
                Ok(bytes) => {
                    let value = match shape {
                        Shape::Protocol if handle.socket.kind.domain == libc::AF_UNIX => am::default.term(),
                        shape => decode(ctx, shape, bytes),
                    };
                    ok(ctx, value)
                }
                Err(errno) => posix::error(ctx, errno),
            }
        }),
    }
}

fn get_own(ctx: &mut Ctx<'_>, socket: Term, option: i64) -> BifResult {
    with_open(ctx, socket, |ctx, handle, state| {
        let settings = state.settings;
        let value = match option {
            otp::DEBUG => Term::bool(settings.debug),
            otp::IOW => Term::bool(settings.iow),
            otp::CONTROLLING_PROCESS => state.owner.map_or(Term::UNDEFINED, Term::pid),
            otp::RCVBUF => {
                let size = ctx.uint(settings.buffer as u64);
                match settings.fills {
                    0 => size,
                    fills => {
                        let fills = ctx.uint(fills as u64);
                        ctx.tuple(&[fills, size])
                    }
                }
            }
            otp::RCVCTRLBUF => ctx.uint(settings.control_in as u64),
            otp::SNDCTRLBUF => ctx.uint(settings.control_out as u64),
            otp::FD => Term::small(i64::from(state.raw_fd())),
            otp::META => Payload::copy(state.meta.term()).attach(ctx.heap()),
            otp::USE_REGISTRY => Term::bool(settings.registered),
            otp::DOMAIN => family_term(handle.socket.kind.domain),
            _ => return unknown(ctx, option),
        };
        ok(ctx, value)
    })
}

/// `nif_getopt(Socket, Level, Option, ValueSpec)`: of an option of any number.
pub(super) fn getopt_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(Level::System(level)), Some(number)) = (Level::of(args[1]), int(args[2])) else { return badarg() };
    with_open(ctx, args[0], |ctx, _, state| {
        let spec = args[3];
        let (start, is_named) = match (spec.as_atom().map(|name| name.text()), spec.as_usize(), spec.as_binary()) {
            (Some("integer" | "boolean"), _, _) => (vec![0; 4], true),
            (None, Some(size), _) if size <= LARGEST => (vec![0; size], false),
            (None, None, Some(bytes)) if bytes.len() <= LARGEST => (bytes.into_owned(), false),
            _ => return invalid(ctx, am::value),
        };
        let got = state.fd().ok_or(Errno::BADF).and_then(|fd| get_option(fd, (level, number), start.len()));
        match got {
            Ok(bytes) => {
                let value = match is_named {
                    true if spec.as_atom().is_some_and(|name| name.text() == "boolean") => {
                        decode(ctx, Shape::Bool, bytes)
                    }
                    true => decode(ctx, Shape::Int, bytes),
                    false => ctx.binary(&bytes),
                };
                ok(ctx, value)
            }
            Err(errno) => posix::error(ctx, errno),
        }
    })
}
