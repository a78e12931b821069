//! The parts of pids, ports and references that equality, order and hashing look at, local or of another node.

use crate::atom::Atom;
use crate::boxed::{Boxed, Kind};
use crate::node;
use crate::word::TermRef;
use std::cmp::Ordering;

/// Node name and creation: the local node's for what is local.
#[inline]
fn node_of<'h>(term: TermRef<'h>) -> (Atom, u32) {
    term.external_node().unwrap_or_else(node::local)
}

/// Serial above, number below, of a pid.
#[inline]
pub(crate) fn pid_numbers<'h>(pid: TermRef<'h>) -> u64 {
    match pid.as_local_pid() {
        Some(p) => u64::from(p.serial()) << 32 | u64::from(p.number()),
        None => pid.held_boxed().map_or(0, |b| b.word(1)),
    }
}

/// The number of a port.
#[inline]
pub(crate) fn port_number<'h>(port: TermRef<'h>) -> u64 {
    match port.as_local_port() {
        Some(p) => p.number(),
        None => port.held_boxed().map_or(0, |b| b.word(1)),
    }
}

/// Number `i` of a reference, from the least significant; zero beyond its end.
#[inline]
pub(crate) fn ref_number<'h>(reference: Boxed<'h, 'h>, i: usize) -> u32 {
    let (base, count) =
        if reference.kind() == Kind::ExternalRef { (1, reference.header().aux() as usize) } else { (0, 3) };
    if i < count { (reference.word(base + i / 2) >> (32 * (i % 2))) as u32 } else { 0 }
}

/// How many numbers a reference has, without high zeros.
fn ref_length<'h>(reference: Boxed<'h, 'h>) -> usize {
    let count = if reference.kind() == Kind::ExternalRef { reference.header().aux() as usize } else { 3 };
    (0..count).rev().find(|i| ref_number(reference, *i) != 0).map_or(0, |i| i + 1)
}

/// Order of atoms: by their characters.
#[inline]
pub(crate) fn compare_atoms(a: Atom, b: Atom) -> Ordering {
    if a == b { Ordering::Equal } else { a.order(b) }
}

fn compare_nodes(a: (Atom, u32), b: (Atom, u32)) -> Ordering {
    compare_atoms(a.0, b.0).then(a.1.cmp(&b.1))
}

/// Order of pids: serial, number, node name, creation.
pub(crate) fn compare_pids<'h>(a: TermRef<'h>, b: TermRef<'h>) -> Ordering {
    pid_numbers(a).cmp(&pid_numbers(b)).then_with(|| compare_nodes(node_of(a), node_of(b)))
}

/// Order of ports: node name, creation, number.
pub(crate) fn compare_ports<'h>(a: TermRef<'h>, b: TermRef<'h>) -> Ordering {
    compare_nodes(node_of(a), node_of(b)).then_with(|| port_number(a).cmp(&port_number(b)))
}

/// Order of references: node name, creation, then the numbers as one large number.
pub(crate) fn compare_refs<'h>(a: Boxed<'h, 'h>, b: Boxed<'h, 'h>) -> Ordering {
    let numbers = || {
        let len = ref_length(a).max(ref_length(b));
        (0..len).rev().map(|i| ref_number(a, i).cmp(&ref_number(b, i))).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    };
    compare_nodes(node_of(a.term()), node_of(b.term())).then_with(numbers)
}
