//! Pids, ports, references and funs as text, and back.
//!
//! The first number of an identifier names its node: 0 for this one, for another the index of its name's atom.

use crate::alloc::Build;
use crate::atom::Atom;
use crate::boxed::{Boxed, Header, Kind};
use crate::id::{Pid, Port, RefNumbers};
use crate::identity::{pid_numbers, port_number, ref_number};
use crate::node;
use crate::word::TermRef;

/// The node that a first number means: name and creation, for nodes that are known.
pub type NodeLookup<'a> = &'a dyn Fn(u32) -> Option<(Atom, u32)>;

/// The first number of an identifier.
fn channel<'h>(term: TermRef<'h>) -> u32 {
    match term.external_node() {
        Some((name, _)) if name != node::local().0 => name.index(),
        _ => 0,
    }
}

/// `<0.1.2>`
pub fn pid_text<'h>(pid: TermRef<'h>) -> String {
    let numbers = pid_numbers(pid);
    format!("<{}.{}.{}>", channel(pid), numbers as u32, numbers >> 32)
}

/// `#Port<0.1>`
pub fn port_text<'h>(port: TermRef<'h>) -> String {
    format!("#Port<{}.{}>", channel(port), port_number(port))
}

fn ref_count<'h>(reference: Boxed<'h, 'h>) -> usize {
    if reference.kind() == Kind::ExternalRef { reference.header().aux() as usize } else { 3 }
}

/// `#Ref<0.1.2.3>`, the most significant number first.
pub fn ref_text<'h>(reference: TermRef<'h>) -> String {
    let mut text = format!("#Ref<{}", channel(reference));
    if let Some(object) = reference.held_boxed() {
        for i in (0..ref_count(object)).rev() {
            text.push_str(&format!(".{}", ref_number(object, i)));
        }
    }
    text.push('>');
    text
}

/// `#Fun<m.1.2>` or `fun m:f/1`
pub fn fun_text<'h>(fun: TermRef<'h>) -> String {
    if let Some(export) = fun.as_export_fun() {
        let [module, function] = [export.mfa.module, export.mfa.function].map(super::atom_text);
        return format!("fun {module}:{function}/{}", export.mfa.arity);
    }
    match fun.as_local_fun() {
        Some((entry, ..)) => format!("#Fun<{}.{}.{}>", entry.id.module.text(), entry.id.old_index, entry.id.old_uniq),
        None => String::new(),
    }
}

/// The numbers between `open` and `>`, separated by points.
fn numbers(text: &str, open: &str) -> Option<Vec<u64>> {
    let inner = text.strip_prefix(open)?.strip_suffix('>')?;
    let number = |part: &str| {
        let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| part.parse().ok()).flatten()
    };
    inner.split('.').map(number).collect()
}

/// The node of an external identifier; nothing for a local one.
fn foreign(channel: u64, lookup: NodeLookup<'_>) -> Option<Option<u64>> {
    if channel == 0 {
        return Some(None);
    }
    let (name, creation) = lookup(u32::try_from(channel).ok()?)?;
    Some(Some(u64::from(creation) << 32 | u64::from(name.index())))
}

/// `list_to_pid/1`
pub fn parse_pid<'h, A: Build<'h> + ?Sized>(heap: &mut A, text: &str, lookup: NodeLookup<'_>) -> Option<TermRef<'h>> {
    let [channel, number, serial] = numbers(text, "<")?[..] else { return None };
    let (number, serial) = (u32::try_from(number).ok()?, u32::try_from(serial).ok()?);
    match foreign(channel, lookup)? {
        None => {
            // Any serial fits.
            (number >> Pid::NUMBER_BITS == 0).then(|| Pid::new(number, serial).term())
        }
        Some(node) => {
            let words = [node, u64::from(serial) << 32 | u64::from(number)];
            Some(heap.boxed_raw(Header::new(Kind::ExternalPid, 2), &words))
        }
    }
}

/// `list_to_port/1`
pub fn parse_port<'h, A: Build<'h> + ?Sized>(heap: &mut A, text: &str, lookup: NodeLookup<'_>) -> Option<TermRef<'h>> {
    let [channel, number] = numbers(text, "#Port<")?[..] else { return None };
    match foreign(channel, lookup)? {
        None => (number >> 56 == 0).then(|| Port::from_number(number).term()),
        Some(node) => Some(heap.boxed_raw(Header::new(Kind::ExternalPort, 2), &[node, number])),
    }
}

/// `list_to_ref/1`
pub fn parse_ref<'h, A: Build<'h> + ?Sized>(heap: &mut A, text: &str, lookup: NodeLookup<'_>) -> Option<TermRef<'h>> {
    let all = numbers(text, "#Ref<")?;
    let (channel, rest) = all.split_first()?;
    let rest: Vec<u32> = rest.iter().rev().map(|n| u32::try_from(*n).ok()).collect::<Option<_>>()?;
    match foreign(*channel, lookup)? {
        None => {
            let numbers: [u32; 3] = rest.try_into().ok()?;
            (numbers[0] >> RefNumbers::FIRST_BITS == 0).then(|| heap.reference(RefNumbers(numbers)))
        }
        Some(node) if (1..=5).contains(&rest.len()) => {
            let mut words = vec![node];
            words.extend(rest.chunks(2).map(|c| c.iter().rev().fold(0, |word, n| word << 32 | u64::from(*n))));
            let header = Header::new(Kind::ExternalRef, words.len()).with_aux(rest.len() as u32);
            Some(heap.boxed_raw(header, &words))
        }
        Some(_) => None,
    }
}
