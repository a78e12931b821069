//! The NIFs of `prim_net`: names of machines, services and interfaces, as the system's library tells them.

use super::address::{Address, family_term};
use super::ioctl::interface_flags;
use super::open::type_term;
use super::terms::{Fields, atom_of, error, map_of, ok};
use crate::bytes::iodata;
use crate::posix;
use crate::system::{in_namespace, last_error};
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::{NOTSUP, badarg};
use myriad_vm::{BifResult, Ctx};
use rustix::io::Errno;
use std::ffi::{CStr, CString};

myriad_vm::bifs! { pub PRIM_NET = "prim_net" {
    "nif_info" / 0 Nif => info_0;
    "nif_command" / 1 Nif => |ctx, _| posix::error(ctx, Errno::INVAL);
    "nif_gethostname" / 0 Nif => gethostname_0;
    "nif_getnameinfo" / 2 NifDirtyIo => getnameinfo_2;
    "nif_getaddrinfo" / 3 NifDirtyIo => getaddrinfo_3;
    "nif_getifaddrs" / 1 Nif => getifaddrs_1;
    "nif_get_adapters_addresses" / 1 Nif => |_, _| Err(NOTSUP);
    "nif_get_if_entry" / 1 Nif => |_, _| Err(NOTSUP);
    "nif_get_interface_info" / 1 Nif => |_, _| Err(NOTSUP);
    "nif_get_ip_address_table" / 1 Nif => |_, _| Err(NOTSUP);
    "nif_if_name2index" / 1 Nif => if_name2index_1;
    "nif_if_index2name" / 1 Nif => if_index2name_1;
    "nif_if_names" / 0 Nif => if_names_0;
}}

/// `nif_info()`
fn info_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    Ok(map_of(ctx, &[(am::debug.term(), Term::bool(false))]))
}

/// `nif_gethostname()`
fn gethostname_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let uname = rustix::system::uname();
    let name = ctx.byte_list(uname.nodename().to_bytes(), Term::NIL);
    ok(ctx, name)
}

/// The name of an error of `getaddrinfo(3)`.
fn lookup_error(ctx: &mut Ctx<'_>, code: i32) -> BifResult {
    let text = match code {
        libc::EAI_SYSTEM => return posix::error(ctx, last_error()),
        libc::EAI_AGAIN => "eagain",
        libc::EAI_BADFLAGS => "ebadflags",
        libc::EAI_FAIL => "efail",
        libc::EAI_FAMILY => "efamily",
        libc::EAI_MEMORY => "emem",
        libc::EAI_NODATA => "enodata",
        libc::EAI_NONAME => "enoname",
        libc::EAI_OVERFLOW => "eoverflow",
        libc::EAI_SERVICE => "eservice",
        libc::EAI_SOCKTYPE => "esocktype",
        _ => "unknown",
    };
    error(ctx, Atom::new(text)?)
}

/// The flags of `getnameinfo(3)` by name.
const NAME_FLAGS: [(&str, i32); 6] = [
    ("namereqd", libc::NI_NAMEREQD),
    ("dgram", libc::NI_DGRAM),
    ("nofqdn", libc::NI_NOFQDN),
    ("numerichost", libc::NI_NUMERICHOST),
    ("numericserv", libc::NI_NUMERICSERV),
    ("idn", 32),
];

fn name_flags(term: Term) -> Option<i32> {
    if term.as_atom() == Some(am::undefined) {
        return Some(0);
    }
    let mut items = term.list_iter();
    let flag = |item: Term| {
        let name = item.as_atom()?;
        NAME_FLAGS.iter().find(|(text, _)| name.text() == *text).map(|(_, flag)| *flag)
    };
    let flags = items.by_ref().try_fold(0, |flags, item| Some(flags | flag(item)?));
    flags.filter(|_| items.tail().is_nil())
}

/// `nif_getnameinfo(Address, Flags)`
fn getnameinfo_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    const HOST: usize = 1025;
    const SERVICE: usize = 32;
    let Some(address) = Address::of_term(args[0]) else { return posix::error(ctx, Errno::INVAL) };
    let Some(flags) = name_flags(args[1]) else { return badarg() };
    let (mut host, mut service) = ([0u8; HOST], [0u8; SERVICE]);
    let (at, len) = address.parts();
    // SAFETY: the address is as long as said, and so are the rooms.
    let code = unsafe {
        let (host, service) = (host.as_mut_ptr().cast(), service.as_mut_ptr().cast());
        libc::getnameinfo(at, len, host, HOST as _, service, SERVICE as _, flags)
    };
    if code != 0 {
        return lookup_error(ctx, code);
    }
    let (host, service) = (text(ctx, &host), text(ctx, &service));
    let both = map_of(ctx, &[(am::host.term(), host), (atom_of("service"), service)]);
    ok(ctx, both)
}

/// The text up to a NUL.
fn text(ctx: &mut Ctx<'_>, bytes: &[u8]) -> Term {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    ctx.byte_list(&bytes[..end], Term::NIL)
}

/// A text, or nothing for `undefined`; the outer nothing is for what is neither.
fn text_of(term: Term) -> Option<Option<CString>> {
    if term.as_atom() == Some(am::undefined) {
        return Some(None);
    }
    Some(Some(CString::new(iodata(term)?).ok()?))
}

/// `nif_getaddrinfo(Host, Service, Hints)`
fn getaddrinfo_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(host), Some(service)) = (text_of(args[0]), text_of(args[1])) else { return badarg() };
    let pointer = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
    let mut first: *mut libc::addrinfo = std::ptr::null_mut();
    // SAFETY: texts with a NUL at the end, or none; writes the start of a list, which is freed below.
    let code = unsafe { libc::getaddrinfo(pointer(&host), pointer(&service), std::ptr::null(), &raw mut first) };
    if code != 0 {
        return lookup_error(ctx, code);
    }
    let (mut all, mut next) = (Vec::new(), first);
    // SAFETY: the list's items are valid until it is freed.
    while let Some(item) = unsafe { next.as_ref() } {
        next = item.ai_next;
        // SAFETY: an address that is as long as its family says.
        if let Some(address) = unsafe { Address::at(item.ai_addr) } {
            let address = address.term(ctx);
            let pairs = [
                (am::family.term(), family_term(item.ai_family)),
                (am::type_.term(), type_term(item.ai_socktype)),
                (am::protocol.term(), Term::small(i64::from(item.ai_protocol))),
                (am::addr.term(), address),
            ];
            all.push(map_of(ctx, &pairs));
        }
    }
    // SAFETY: from above, and not used any more.
    unsafe { libc::freeaddrinfo(first) };
    let all = ctx.list(&all);
    ok(ctx, all)
}

/// `nif_getifaddrs(#{netns => Name})`
fn getifaddrs_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(extra) = Fields::of(args[0]) else { return badarg() };
    let namespace = match extra.get_by("netns") {
        None => None,
        Some(name) => match iodata(name) {
            Some(name) => Some(name),
            None => return badarg(),
        },
    };
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    let got = in_namespace(namespace.as_deref(), || {
        // SAFETY: writes the start of a list, which is freed below.
        if unsafe { libc::getifaddrs(&raw mut first) } == 0 { Ok(()) } else { Err(last_error()) }
    });
    if let Err(errno) = got {
        return posix::error(ctx, errno);
    }
    let (mut all, mut next) = (Vec::new(), first);
    // SAFETY: the list's items are valid until it is freed.
    while let Some(item) = unsafe { next.as_ref() } {
        next = item.ifa_next;
        all.push(interface(ctx, item));
    }
    // SAFETY: from above, and not used any more.
    unsafe { libc::freeifaddrs(first) };
    let all = ctx.list(&all);
    ok(ctx, all)
}

/// One address of an interface.
fn interface(ctx: &mut Ctx<'_>, item: &libc::ifaddrs) -> Term {
    // SAFETY: a text with a NUL at its end.
    let name = ctx.byte_list(unsafe { CStr::from_ptr(item.ifa_name) }.to_bytes(), Term::NIL);
    let flags = item.ifa_flags as i32;
    let mut pairs = vec![(am::name.term(), name), (am::flags.term(), interface_flags(ctx, flags & 0xffff))];
    let far = match flags {
        flags if flags & libc::IFF_BROADCAST != 0 => Some("broadaddr"),
        flags if flags & libc::IFF_POINTOPOINT != 0 => Some("dstaddr"),
        _ => None,
    };
    let addresses = [(Some("addr"), item.ifa_addr), (Some("netmask"), item.ifa_netmask), (far, item.ifa_ifu)];
    for (key, address) in addresses {
        // SAFETY: null, or an address that is as long as its family says.
        if let (Some(key), Some(address)) = (key, unsafe { Address::at(address) }) {
            let address = address.term(ctx);
            pairs.push((atom_of(key), address));
        }
    }
    map_of(ctx, &pairs)
}

/// `nif_if_name2index(Name)`
fn if_name2index_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(Some(name)) = text_of(args[0]) else { return badarg() };
    // SAFETY: a text with a NUL at its end.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => posix::error(ctx, last_error()),
        index => ok(ctx, Term::small(i64::from(index))),
    }
}

/// `nif_if_index2name(Index)`
fn if_index2name_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(index) = args[0].as_small().and_then(|index| u32::try_from(index).ok()) else { return badarg() };
    let mut name = [0u8; libc::IF_NAMESIZE];
    // SAFETY: as much room as the call writes at most.
    if unsafe { libc::if_indextoname(index, name.as_mut_ptr().cast()) }.is_null() {
        return posix::error(ctx, last_error());
    }
    let name = text(ctx, &name);
    ok(ctx, name)
}

/// `nif_if_names()`
fn if_names_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    // SAFETY: takes nothing; the list ends with an item of number 0, and is freed below.
    let first = unsafe { libc::if_nameindex() };
    if first.is_null() {
        return posix::error(ctx, last_error());
    }
    let (mut all, mut next) = (Vec::new(), first);
    // SAFETY: an item of the list, up to the last.
    while let Some(item) = unsafe { next.as_ref() }.filter(|item| item.if_index != 0) {
        // SAFETY: a text with a NUL at its end.
        let name = ctx.byte_list(unsafe { CStr::from_ptr(item.if_name) }.to_bytes(), Term::NIL);
        all.push(ctx.tuple(&[Term::small(i64::from(item.if_index)), name]));
        next = next.wrapping_add(1);
    }
    // SAFETY: from above, and not used any more.
    unsafe { libc::if_freenameindex(first) };
    let all = ctx.list(&all);
    ok(ctx, all)
}
