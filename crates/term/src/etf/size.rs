//! `erlang:external_size/2`: how many bytes the encoder would write, without writing them.
//!
//! As the encoder, it keeps what is still to be counted on a stack (E2) and can stop between any two terms (E3). The order
//! is of no account, so the keys of a flat map come before its values.

use super::encode::{EncodeOptions, MAX_SHORT_PORT, MAX_STRING, Slots, measure_list};
use crate::atom::Atom;
use crate::boxed::{Boxed, Kind};
use crate::map::{MapIter, View};
use crate::word::{Tag, Term};

/// Terms still to be counted.
enum Run {
    /// Slots in a row.
    Slots(Slots),
    /// The rest of a list, whose tail has been counted.
    List(Term),
    /// The rest of a hash map; a key's value.
    Map(Box<MapIter>, Option<Term>),
}

impl Run {
    fn slots(slots: &[Term]) -> Run {
        Run::Slots(Slots::of(slots))
    }

    /// The next term; none at the end.
    #[inline(always)]
    fn next(&mut self) -> Option<Term> {
        match self {
            Run::Slots(slots) => slots.next(),
            Run::List(rest) => {
                let (head, tail) = rest.as_cons()?;
                *rest = tail;
                Some(head)
            }
            Run::Map(pairs, value) => value.take().or_else(|| {
                let (key, next) = pairs.next()?;
                *value = Some(next);
                Some(key)
            }),
        }
    }
}

/// Counting in progress.
pub struct Sizer {
    options: EncodeOptions,
    size: usize,
    runs: Vec<Run>,
    /// The whole term, before the beginning.
    first: Option<Term>,
}

// SAFETY: the pointers in runs lead into the term, which goes where this goes (E3).
unsafe impl Send for Sizer {}

impl Sizer {
    /// The bytes of a term with its version byte; compression does not count.
    pub fn new(term: Term, options: EncodeOptions) -> Sizer {
        Sizer { options, size: 1, runs: Vec::new(), first: Some(term) }
    }

    /// Goes on until all is counted or `budget` is used up (then nothing).
    pub fn run(&mut self, budget: &mut usize) -> Option<usize> {
        let mut steps = *budget;
        if let Some(term) = self.first.take() {
            self.term(term, &mut steps);
        }
        while steps > 0 {
            let Some(run) = self.runs.last_mut() else {
                *budget = steps;
                return Some(self.size);
            };
            // Up to a term that holds others.
            let inner = loop {
                let Some(term) = run.next() else { break None };
                steps -= 1;
                match leaf(&self.options, term) {
                    Some(bytes) => self.size += bytes,
                    None => break Some(term),
                }
                if steps == 0 {
                    break Some(Term::NONE);
                }
            };
            // What is over needs no place on the stack, so that long chains need no memory.
            if inner.is_none() || matches!(&run, Run::Slots(slots) if slots.is_over()) {
                self.runs.pop();
            }
            if let Some(term) = inner.filter(|term| term.is_some()) {
                self.term(term, &mut steps);
            }
        }
        *budget = 0;
        None
    }

    /// Counts a term; what it holds is put on the stack.
    fn term(&mut self, term: Term, budget: &mut usize) {
        if let Some(bytes) = leaf(&self.options, term) {
            self.size += bytes;
        } else if term.is_cons() {
            let (len, tail, bytes) = measure_list(term);
            *budget = budget.saturating_sub(len / 32);
            if bytes && len <= MAX_STRING && tail.is_nil() {
                self.size += 3 + len;
                return;
            }
            self.size += 5;
            self.runs.push(Run::List(term));
            match leaf(&self.options, tail) {
                Some(bytes) => self.size += bytes,
                None => self.boxed(tail),
            }
        } else {
            self.boxed(term);
        }
    }

    fn boxed(&mut self, term: Term) {
        let Some(object) = term.as_boxed() else { return };
        let node = |object: Boxed| Atom::from_index(object.word(0) as u32);
        let local = self.options.node.name;
        self.size += match object.kind() {
            Kind::Tuple => {
                self.runs.push(Run::slots(object.slots()));
                if object.size() < 256 { 2 } else { 5 }
            }
            Kind::Map | Kind::MapRoot => {
                let Some(map) = term.as_map() else { return };
                match map.view() {
                    View::Flat { keys, values } => {
                        self.runs.push(Run::slots(keys));
                        self.runs.push(Run::slots(values));
                    }
                    View::Hash { .. } => self.runs.push(Run::Map(Box::new(map.pairs()), None)),
                }
                5
            }
            Kind::BigPositive | Kind::BigNegative => big(object.words()),
            Kind::Float => float(&self.options),
            Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary => match term.as_bits() {
                Some(bits) => bits.len().div_ceil(8) + if bits.is_binary() { 5 } else { 6 },
                None => 0,
            },
            Kind::Fun => {
                let Some((entry, ..)) = term.as_local_fun() else { return };
                self.runs.push(Run::slots(&object.slots()[1..]));
                // The two numbers as OTP counts them, whatever their values.
                1 + 4 + 1 + 16 + 4 + 4 + atom(&self.options, entry.module) + 10
            }
            Kind::ExportFun => match term.as_export_fun() {
                Some(export) => {
                    1 + atom(&self.options, export.mfa.module) + atom(&self.options, export.mfa.function) + 2
                }
                None => 0,
            },
            Kind::Ref | Kind::AliasRef | Kind::MagicRef => reference(&self.options, local, 3),
            Kind::ExternalRef => reference(&self.options, node(object), object.header().aux() as usize),
            Kind::ExternalPid => pid(&self.options, node(object)),
            Kind::ExternalPort => port(&self.options, node(object), object.word(1)),
            // No other object is a value.
            _ => 1,
        };
    }
}

/// The bytes of a term that holds no other and needs no look at its memory.
#[inline(always)]
fn leaf(options: &EncodeOptions, term: Term) -> Option<usize> {
    match term.tag() {
        Tag::Small => Some(integer(term.small_value())),
        Tag::Float => Some(float(options)),
        Tag::Immediate => Some(immediate(options, term)),
        _ => None,
    }
}

fn float(options: &EncodeOptions) -> usize {
    if options.minor_version > 0 { 9 } else { 32 }
}

#[inline]
fn immediate(options: &EncodeOptions, term: Term) -> usize {
    if let Some(name) = term.as_atom() {
        atom(options, name)
    } else if term.is_local_pid() {
        pid(options, options.node.name)
    } else if let Some(number) = term.as_local_port() {
        port(options, options.node.name, number.number())
    } else {
        1
    }
}

fn atom(options: &EncodeOptions, name: Atom) -> usize {
    if options.minor_version < 2
        && let Some(length) = name.latin1_length()
    {
        return 3 + length;
    }
    let text = name.text();
    text.len() + if text.len() < 256 { 2 } else { 3 }
}

fn pid(options: &EncodeOptions, node: Atom) -> usize {
    1 + atom(options, node) + 12
}

fn port(options: &EncodeOptions, node: Atom, number: u64) -> usize {
    1 + atom(options, node) + if number <= MAX_SHORT_PORT { 8 } else { 12 }
}

fn reference(options: &EncodeOptions, node: Atom, count: usize) -> usize {
    3 + atom(options, node) + 4 + 4 * count
}

#[inline(always)]
fn integer(value: i64) -> usize {
    if u8::try_from(value).is_ok() {
        2
    } else if i32::try_from(value).is_ok() {
        5
    } else {
        big(&[value.unsigned_abs()])
    }
}

fn big(limbs: &[u64]) -> usize {
    let top = limbs.last().copied().unwrap_or(0);
    let len = limbs.len() * 8 - top.leading_zeros() as usize / 8;
    len + if len < 256 { 3 } else { 6 }
}

/// Bytes of the external form of a term; compression does not count.
pub fn external_size(term: Term, options: EncodeOptions) -> usize {
    let mut sizer = Sizer::new(term, options);
    loop {
        if let Some(size) = sizer.run(&mut { usize::MAX }) {
            return size;
        }
    }
}
