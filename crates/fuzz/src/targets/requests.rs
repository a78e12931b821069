//! Any control bytes given to the ports of `tcp_inet` and `udp_inet`, whatever their peers do meanwhile, are answered by an error at worst; no port, no
//! descriptor and no memory is left afterwards.
//!
//! The input's first byte says of which kind the two ports are, and whether they begin connected to a peer of the target's. Records follow: what is done
//! to which port, the length of its data, the data.

use super::world::{World, call, in_world};
use myriad_term::{Atom, Build, Port, Term};
use myriad_vm::Ctx;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use std::os::fd::{IntoRawFd, OwnedFd};
use std::time::Duration;

/// The first operation of the drivers' `port_control/3`.
const MAGIC: i64 = 0x03f1_a300;
const CONNECT: u8 = 3;
const BIND: u8 = 6;
const SET_OPTIONS: i64 = 7;
const OPEN_GIVEN: u8 = 13;

/// What is done beside requests, whose numbers are lower.
mod what {
    pub(super) const SETTLE: u8 = 120;
    pub(super) const OUTPUT: u8 = 121;
    pub(super) const PEER_SENDS: u8 = 122;
    pub(super) const PEER_SENDS_MUCH: u8 = 123;
    pub(super) const PEER_RECEIVES: u8 = 124;
    pub(super) const PEER_CLOSES: u8 = 125;
    pub(super) const CLOSE: u8 = 126;
    pub(super) const INFO: u8 = 127;
    /// The second port.
    pub(super) const OTHER: u8 = 128;
}

/// A port under test.
struct Tested {
    port: Port,
    is_stream: bool,
    peer: Option<OwnedFd>,
}

impl Tested {
    fn open(world: &mut World, how: u8) -> Option<Tested> {
        let (is_stream, is_connected) = (how & 1 == 0, how & 2 == 0);
        let name = if is_stream { "tcp_inet" } else { "udp_inet" };
        let port = world.run(move |ctx| {
            let name = ctx.byte_list(name.as_bytes(), Term::NIL);
            let tag = Atom::new("spawn_driver").expect("a short name").term();
            let target = ctx.tuple(&[tag, name]);
            call(ctx, "erts_internal", "open_port", &[target, Term::NIL]).ok()?.as_local_port()
        })?;
        let mut tested = Tested { port, is_stream, peer: None };
        if is_connected {
            let kind = if is_stream { SocketType::STREAM } else { SocketType::DGRAM };
            let (own, peer) =
                socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None).ok()?;
            let number = own.into_raw_fd().to_be_bytes();
            tested.request(world, OPEN_GIVEN, [&[5, if is_stream { 1 } else { 2 }], &number[..]].concat());
            tested.peer = Some(peer);
        }
        Some(tested)
    }

    fn request(&self, world: &mut World, request: u8, data: Vec<u8>) {
        let port = self.port.term();
        world.run(move |ctx| {
            let data = ctx.binary(&data);
            let operation = Term::small(MAGIC + i64::from(request));
            answered(ctx, "port_control", &[port, operation, data]);
        });
    }

    /// One record.
    fn act(&mut self, world: &mut World, what: u8, data: &[u8]) {
        let mut data = data.to_vec();
        let port = self.port.term();
        match what {
            // A descriptor is handed over with it, and the target has none more: any number may be one that somebody has.
            OPEN_GIVEN => {}
            what::SETTLE => world.settle(),
            what::OUTPUT => {
                if !self.is_stream {
                    keep_local(&mut data);
                }
                world.run(move |ctx| {
                    let data = ctx.binary(&data);
                    answered(ctx, "port_command", &[port, data, Term::NIL]);
                });
            }
            what::PEER_SENDS => self.peer_sends(&data),
            what::PEER_SENDS_MUCH => self.peer_sends(&data.repeat(2000)),
            what::PEER_RECEIVES => {
                if let Some(peer) = &self.peer {
                    let mut room = vec![0; 1 << 16];
                    while let Ok((1.., _)) = recv(peer, room.as_mut_slice(), RecvFlags::DONTWAIT) {}
                }
            }
            what::PEER_CLOSES => self.peer = None,
            what::CLOSE => world.run(move |ctx| answered(ctx, "port_close", &[port])),
            what::INFO => world.run(move |ctx| answered(ctx, "port_info", &[port])),
            request => {
                match request {
                    CONNECT => keep_local(data.get_mut(4..).unwrap_or(&mut [])),
                    BIND => keep_local(&mut data),
                    _ => {}
                }
                self.request(world, request, data);
            }
        }
    }

    fn peer_sends(&self, data: &[u8]) {
        if let Some(peer) = &self.peer {
            let _ = send(peer, data, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }
}

/// What is called gives a value.
fn answered(ctx: &mut Ctx<'_>, function: &str, args: &[Term]) {
    if let Ok(value) = call(ctx, "erts_internal", function, args) {
        drop(myriad_term::print::text(value, 1000));
    }
}

/// Makes an address in the drivers' bytes one of the loopback interface, or an abstract name.
fn keep_local(address: &mut [u8]) {
    match address {
        [1, _, _, first, ..] => *first = 127,
        [2, _, _, rest @ ..] if rest.len() >= 16 => {
            rest[..15].fill(0);
            rest[15] = 1;
        }
        [5, len, first, ..] if *len > 0 => *first = 0,
        _ => {}
    }
}

/// See the file's head.
pub fn inet(bytes: &[u8]) {
    let Some((&how, mut rest)) = bytes.split_first() else { return };
    in_world(|world| {
        let (Some(first), Some(second)) = (Tested::open(world, how), Tested::open(world, how >> 4)) else {
            panic!("a port cannot be opened")
        };
        let mut ports = [first, second];
        while let [what, len, after @ ..] = rest {
            let (data, after) = after.split_at(usize::from(*len).min(after.len()));
            let which = usize::from(*what >= what::OTHER);
            ports[which].act(world, what % what::OTHER, data);
            rest = after;
        }
        world.settle();
        drop(ports);
        close_all(world);
    });
}

/// Closes all ports, those of connections that were taken too. What the I/O thread has in hand may take a moment.
fn close_all(world: &mut World) {
    for round in 0..1000 {
        let left = world.run(|ctx| {
            let all = call(ctx, "erlang", "ports", &[]).map_or(Term::NIL, |all| all);
            // The first one is the system's.
            let ports: Vec<Term> =
                all.list_iter().filter(|port| port.as_local_port().is_some_and(|id| id.number() != 0)).collect();
            for port in &ports {
                // What is queued is not waited for.
                let linger = ctx.binary(&[3, 0, 0, 0, 1, 0, 0, 0, 0]);
                answered(ctx, "port_control", &[*port, Term::small(MAGIC + SET_OPTIONS), linger]);
                answered(ctx, "port_close", &[*port]);
                answered(ctx, "port_info", &[*port]);
            }
            ports.len()
        });
        world.settle();
        if left == 0 {
            return;
        }
        if round > 2 {
            myriad_sync::thread::sleep(Duration::from_millis(1));
        }
    }
    panic!("a port is left");
}
