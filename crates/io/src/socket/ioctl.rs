//! `ioctl`: requests about network interfaces.

use super::address::Address;
use super::state::{State, with_open};
use super::terms::{Fields, atom_of, map_of, ok};
use crate::posix;
use crate::system::last_error;
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};
use rustix::io::Errno;

/// What a request reads or sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    List,
    Name,
    Index,
    Address,
    Hardware,
    Flags,
    Number,
    Map,
}

/// The requests: name, number, what it is about, and whether it sets.
pub(super) struct Request(pub(super) &'static str, pub(super) u64, What, bool);

pub(super) const REQUESTS: [Request; 18] = [
    Request("gifaddr", 0x8915, What::Address, false),
    Request("gifbrdaddr", 0x8919, What::Address, false),
    Request("gifconf", 0x8912, What::List, false),
    Request("gifdstaddr", 0x8917, What::Address, false),
    Request("gifflags", 0x8913, What::Flags, false),
    Request("gifhwaddr", 0x8927, What::Hardware, false),
    Request("gifindex", 0x8933, What::Index, false),
    Request("gifmap", 0x8970, What::Map, false),
    Request("gifmtu", 0x8921, What::Number, false),
    Request("gifname", 0x8910, What::Name, false),
    Request("gifnetmask", 0x891b, What::Address, false),
    Request("giftxqlen", 0x8942, What::Number, false),
    Request("sifaddr", 0x8916, What::Address, true),
    Request("sifbrdaddr", 0x891a, What::Address, true),
    Request("sifdstaddr", 0x8918, What::Address, true),
    Request("sifflags", 0x8914, What::Flags, true),
    Request("sifmtu", 0x8922, What::Number, true),
    Request("siftxqlen", 0x8943, What::Number, true),
];

/// The flags of an interface; 0: Linux has none of that name.
pub(super) const INTERFACE_FLAGS: [(&str, i32); 32] = [
    ("up", libc::IFF_UP),
    ("broadcast", libc::IFF_BROADCAST),
    ("debug", libc::IFF_DEBUG),
    ("loopback", libc::IFF_LOOPBACK),
    ("pointopoint", libc::IFF_POINTOPOINT),
    ("notrailers", libc::IFF_NOTRAILERS),
    ("running", libc::IFF_RUNNING),
    ("noarp", libc::IFF_NOARP),
    ("promisc", libc::IFF_PROMISC),
    ("allmulti", libc::IFF_ALLMULTI),
    ("master", libc::IFF_MASTER),
    ("slave", libc::IFF_SLAVE),
    ("multicast", libc::IFF_MULTICAST),
    ("portsel", libc::IFF_PORTSEL),
    ("automedia", libc::IFF_AUTOMEDIA),
    ("dynamic", libc::IFF_DYNAMIC),
    ("lower_up", 0x10000),
    ("dormant", 0x20000),
    ("echo", 0x40000),
    ("cantconfig", 0),
    ("dying", 0),
    ("knowsepoch", 0),
    ("link0", 0),
    ("link1", 0),
    ("link2", 0),
    ("monitor", 0),
    ("nogroup", 0),
    ("oactive", 0),
    ("ppromisc", 0),
    ("renaming", 0),
    ("simplex", 0),
    ("staticarp", 0),
];

/// The names of the flags that are set, as the system tells those of an interface.
pub(super) fn interface_flags<'h, B: Build<'h>>(f: &mut B, flags: i32) -> myriad_term::TermRef<'h> {
    let names: Vec<_> =
        INTERFACE_FLAGS.iter().filter(|(_, flag)| flags & flag != 0).map(|(text, _)| atom_of(text)).collect();
    f.list(&names)
}

/// A request of the system's (`ifreq`): the interface's name, then what is read or set.
struct Interface {
    bytes: [u8; NAME + 24],
}

const NAME: usize = 16;

impl Interface {
    /// By its name, a list of characters.
    fn of(name: Term) -> Option<Interface> {
        let name = crate::bytes::iodata(name).filter(|name| name.len() < NAME && !name.is_empty())?;
        let mut bytes = [0; NAME + 24];
        bytes.get_mut(..name.len())?.copy_from_slice(&name);
        Some(Interface { bytes })
    }

    fn value(&self) -> &[u8] {
        &self.bytes[NAME..]
    }

    fn set(&mut self, value: &[u8]) {
        let len = value.len().min(24);
        self.bytes[NAME..NAME + len].copy_from_slice(&value[..len]);
    }

    fn number(&self) -> i32 {
        self.value().first_chunk::<4>().map_or(0, |four| i32::from_ne_bytes(*four))
    }

    /// Asks the system.
    fn ask(&mut self, state: &State, request: u64) -> Result<(), Errno> {
        // SAFETY: an open descriptor; the room is an `ifreq`, which these requests read and write.
        let code = unsafe { libc::ioctl(state.raw_fd(), request as _, self.bytes.as_mut_ptr()) };
        if code < 0 { Err(last_error()) } else { Ok(()) }
    }
}

fn request_of(term: Term) -> Option<&'static Request> {
    let number = u64::try_from(term.as_small()?).ok()?;
    REQUESTS.iter().find(|request| request.1 == number)
}

/// `nif_ioctl(Socket, Request)`: the interfaces that have an address of IPv4.
pub(super) fn ioctl_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with_open(ctx, args[0], |ctx, _, state| {
        let Some(Request(_, number, What::List, _)) = request_of(args[1]) else {
            return posix::error(ctx, Errno::INVAL);
        };
        let mut room = vec![0u8; 64 * (NAME + 24)];
        let mut list = [0u64, room.as_mut_ptr() as u64];
        list[0] = room.len() as u64;
        // SAFETY: an open descriptor; an `ifconf`: a length and a pointer to as much room.
        let code = unsafe { libc::ioctl(state.raw_fd(), *number as _, list.as_mut_ptr()) };
        if code < 0 {
            return posix::error(ctx, last_error());
        }
        room.truncate(list[0] as u32 as usize);
        let all: Vec<Term> = room.chunks_exact(NAME + 24).map(|one| interface(ctx, one)).collect();
        let all = ctx.list(&all);
        ok(ctx, all)
    })
}

/// Name and address of an interface.
fn interface(ctx: &mut Ctx<'_>, one: &[u8]) -> Term {
    let (name, value) = one.split_at(NAME);
    let name = text(ctx, name);
    let address = Address::of_ipv4_bytes(value).map_or(Term::UNDEFINED, |address| address.term(ctx));
    map_of(ctx, &[(am::name.term(), name), (am::addr.term(), address)])
}

fn text(ctx: &mut Ctx<'_>, bytes: &[u8]) -> Term {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    ctx.byte_list(&bytes[..end], Term::NIL)
}

/// `nif_ioctl(Socket, Request, Interface)`: something about an interface, which is named by its number for `gifname`.
pub(super) fn ioctl_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with_open(ctx, args[0], |ctx, _, state| {
        let Some(Request(_, number, what, false)) = request_of(args[1]) else {
            return posix::error(ctx, Errno::INVAL);
        };
        let mut interface = match (what, args[2].as_small().and_then(|index| i32::try_from(index).ok())) {
            (What::Name, Some(index)) => {
                let mut interface = Interface { bytes: [0; NAME + 24] };
                interface.set(&index.to_ne_bytes());
                interface
            }
            (What::Name | What::List, _) => return badarg(),
            _ => match Interface::of(args[2]) {
                Some(interface) => interface,
                None => return badarg(),
            },
        };
        if let Err(errno) = interface.ask(state, *number) {
            return posix::error(ctx, errno);
        }
        let value = match what {
            What::Name => text(ctx, &interface.bytes[..NAME]),
            What::Address => Address::of_ipv4_bytes(interface.value()).map_or(Term::UNDEFINED, |a| a.term(ctx)),
            What::Hardware => hardware(ctx, interface.value()),
            What::Flags => interface_flags(ctx, interface.number() & 0xffff),
            What::Map => memory_map(ctx, interface.value()),
            What::Index | What::Number | What::List => Term::small(i64::from(interface.number())),
        };
        ok(ctx, value)
    })
}

/// The hardware's address: the kind, and what is behind it.
fn hardware(ctx: &mut Ctx<'_>, value: &[u8]) -> Term {
    let kind = value.first_chunk::<2>().map_or(0, |two| u16::from_ne_bytes(*two));
    let family = match kind {
        libc::ARPHRD_ETHER => atom_of("ether"),
        libc::ARPHRD_LOOPBACK => am::loopback.term(),
        kind => Term::small(i64::from(kind)),
    };
    let addr = ctx.binary(value.get(2..16).unwrap_or(&[]));
    map_of(ctx, &[(am::family.term(), family), (am::addr.term(), addr)])
}

/// Where the hardware is (`ifmap`).
fn memory_map(ctx: &mut Ctx<'_>, value: &[u8]) -> Term {
    let word = |at: usize| value.get(at..).and_then(<[u8]>::first_chunk::<8>).map_or(0, |w| u64::from_ne_bytes(*w));
    let byte = |at: usize| Term::small(value.get(at).copied().map_or(0, i64::from));
    let port = value.get(16..18).and_then(<[u8]>::first_chunk::<2>).map_or(0, |two| u16::from_ne_bytes(*two));
    let (start, end) = (ctx.uint(word(0)), ctx.uint(word(8)));
    let pairs = [
        (atom_of("mem_start"), start),
        (atom_of("mem_end"), end),
        (atom_of("base_addr"), Term::small(i64::from(port))),
        (atom_of("irq"), byte(18)),
        (atom_of("dma"), byte(19)),
        (am::port.term(), byte(20)),
    ];
    map_of(ctx, &pairs)
}

/// `nif_ioctl(Socket, Request, Interface, Value)`: sets something of an interface.
pub(super) fn ioctl_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with_open(ctx, args[0], |ctx, _, state| {
        let Some(Request(_, number, what, true)) = request_of(args[1]) else {
            return posix::error(ctx, Errno::INVAL);
        };
        let Some(mut interface) = Interface::of(args[2]) else { return badarg() };
        match what {
            What::Flags => {
                let Some(changes) = Fields::of(args[3]) else { return badarg() };
                if let Err(errno) = interface.ask(state, 0x8913) {
                    return posix::error(ctx, errno);
                }
                let flags = INTERFACE_FLAGS.iter().fold(interface.number(), |flags, (_, flag)| {
                    match changes.get_number(*flag).and_then(|set| set.as_bool()) {
                        Some(true) => flags | flag,
                        Some(false) => flags & !flag,
                        None => flags,
                    }
                });
                interface.set(&flags.to_ne_bytes());
            }
            What::Number => match args[3].as_small().and_then(|value| i32::try_from(value).ok()) {
                Some(value) => interface.set(&value.to_ne_bytes()),
                None => return badarg(),
            },
            _ => {
                let address = args[3].as_map().is_some().then(|| complete(ctx, args[3]));
                match address.and_then(Address::of_term) {
                    Some(address) => interface.set(address.known()),
                    None => return badarg(),
                }
            }
        }
        let result = interface.ask(state, *number);
        posix::unit(ctx, result)
    })
}

/// An address that need not name its port.
fn complete(ctx: &mut Ctx<'_>, address: Term) -> Term {
    let port: Atom = am::port;
    match address.as_map() {
        Some(map) if !map.has_key(port.term()) => map.put(ctx, port.term(), Term::small(0)),
        _ => address,
    }
}
