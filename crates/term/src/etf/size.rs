//! `erlang:external_size/2`: how many bytes the encoder would write, without writing them.
//!
//! As the encoder, it keeps what is still to be counted on a stack (term/E2) and can stop between any two terms (term/E3). The order
//! is of no account, so the keys of a flat map come before its values.

use super::encode::{EncodeOptions, MAX_SHORT_PORT, MAX_STRING, measure_list};
use crate::atom::Atom;
use crate::boxed::{Boxed, Kind};
use crate::map::MapIter;
use crate::stack::Slots;
use crate::word::TermRef;

/// Terms still to be counted.
enum Run<'h> {
    /// Slots in a row.
    Slots(Slots<'h>),
    /// The rest of a list, whose tail has been counted.
    List(TermRef<'h>),
    /// The rest of a hash map; a key's value.
    Map(Box<MapIter<'h>>, Option<TermRef<'h>>),
}

impl<'h> Run<'h> {
    fn slots(slots: &[TermRef<'h>]) -> Run<'h> {
        Run::Slots(Slots::of(slots))
    }
}

/// Counting in progress.
pub struct Sizer<'h> {
    options: EncodeOptions,
    size: usize,
    runs: Vec<Run<'h>>,
    /// The term at hand, which is not on the stack: at first the whole one.
    next: Option<TermRef<'h>>,
}

// SAFETY: the pointers in runs lead into the term, which goes where this goes (term/E3).
unsafe impl Send for Sizer<'_> {}

impl<'h> Sizer<'h> {
    /// The bytes of a term with its version byte; compression does not count.
    pub fn new(term: TermRef<'h>, options: EncodeOptions) -> Sizer<'h> {
        Sizer { options, size: 1, runs: Vec::new(), next: Some(term) }
    }

    /// Goes on until all is counted or `budget` is used up (then nothing).
    pub fn run(&mut self, budget: &mut usize) -> Option<usize> {
        let mut steps = *budget;
        let mut next = self.next.take();
        while steps > 0 {
            if let Some(term) = next {
                next = self.term(term, &mut steps);
                continue;
            }
            let Some(run) = self.runs.last_mut() else {
                *budget = steps;
                return Some(self.size);
            };
            // Up to a term that holds others. What is over then needs no place on the stack, so that long chains need no memory.
            next = match run {
                Run::Slots(slots) => {
                    let (inner, bytes) = leaves(&self.options, &mut steps, || slots.next());
                    self.size += bytes;
                    if slots.is_over() {
                        self.runs.pop();
                    }
                    inner
                }
                Run::List(rest) => {
                    let (inner, bytes) = leaves(&self.options, &mut steps, || {
                        let (head, tail) = rest.as_cons()?;
                        *rest = tail;
                        Some(head)
                    });
                    self.size += bytes;
                    if !rest.is_cons() {
                        self.runs.pop();
                    }
                    inner
                }
                Run::Map(pairs, value) => {
                    let (inner, bytes) = leaves(&self.options, &mut steps, || {
                        value.take().or_else(|| {
                            let (key, next) = pairs.next()?;
                            *value = Some(next);
                            Some(key)
                        })
                    });
                    self.size += bytes;
                    if pairs.len() == 0 && value.is_none() {
                        self.runs.pop();
                    }
                    inner
                }
            };
        }
        self.next = next;
        *budget = 0;
        None
    }

    /// Counts a term; what it holds is put on the stack, but for the last term, which is next.
    fn term(&mut self, term: TermRef<'h>, budget: &mut usize) -> Option<TermRef<'h>> {
        *budget -= 1;
        if let Some(bytes) = leaf(&self.options, term) {
            self.size += bytes;
            return None;
        }
        if term.is_cons() {
            let (len, tail, bytes) = measure_list(term);
            *budget = budget.saturating_sub(len / 32);
            if bytes && len <= MAX_STRING && tail.is_nil() {
                self.size += 3 + len;
                return None;
            }
            self.size += 5;
            self.runs.push(Run::List(term));
            return Some(tail);
        }
        self.boxed(term, budget)
    }

    /// Slots in a row: counts those before the first that holds others, and puts the rest on the stack. If that is the last one,
    /// it is next.
    fn row(&mut self, slots: &[TermRef<'h>], budget: &mut usize) -> Option<TermRef<'h>> {
        let mut terms = slots.iter();
        let (inner, bytes) = leaves(&self.options, budget, || terms.next().copied());
        self.size += bytes;
        let rest = &slots[slots.len() - terms.len() - usize::from(inner.is_some())..];
        match rest {
            [] => {}
            [last] => return Some(*last),
            _ => self.runs.push(Run::slots(rest)),
        }
        None
    }

    #[inline]
    fn boxed(&mut self, term: TermRef<'h>, budget: &mut usize) -> Option<TermRef<'h>> {
        let object = term.held_boxed()?;
        let mut next = None;
        let node = |object: Boxed<'h, 'h>| Atom::from_index(object.word(0) as u32);
        let local = self.options.node.name;
        self.size += match object.kind() {
            Kind::Tuple => {
                next = self.row(object.slots(), budget);
                if object.size() < 256 { 2 } else { 5 }
            }
            Kind::Map => {
                let [keys, values @ ..] = object.slots() else { return None };
                next = self.row(keys.held_tuple().map_or(&[], |keys| keys.elements()), budget);
                if next.is_some() {
                    self.runs.push(Run::slots(values));
                } else {
                    next = self.row(values, budget);
                }
                5
            }
            Kind::MapRoot => {
                let map = term.held_map()?;
                self.runs.push(Run::Map(Box::new(map.pairs()), None));
                5
            }
            Kind::BigPositive | Kind::BigNegative => big(object.words()),
            Kind::Float => float(&self.options),
            Kind::HeapBinary => bit_string(object.word(0) as usize),
            Kind::SharedBinary | Kind::SubBinary => term.held_bits().map_or(0, |bits| bit_string(bits.len())),
            Kind::Fun => {
                let (entry, ..) = term.held_local_fun()?;
                next = self.row(&object.slots()[1..], budget);
                // The two numbers as OTP counts them, whatever their values.
                1 + 4 + 1 + 16 + 4 + 4 + atom(&self.options, entry.id.module) + 10
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
        next
    }
}

/// Counts what `next` gives up to a term that is no leaf, while steps are left: that term, and the bytes of those before it.
#[inline(always)]
fn leaves<'h>(
    options: &EncodeOptions,
    steps: &mut usize,
    mut next: impl FnMut() -> Option<TermRef<'h>>,
) -> (Option<TermRef<'h>>, usize) {
    let mut size = 0;
    while *steps > 0 {
        let Some(term) = next() else { break };
        *steps -= 1;
        match leaf(options, term) {
            Some(bytes) => size += bytes,
            None => return (Some(term), size),
        }
    }
    (None, size)
}

/// The bytes of a term that holds no other and needs no look at its memory. (By tests, the most common kind first: a jump through a
/// table is mispredicted where kinds take turns.)
#[inline(always)]
fn leaf<'h>(options: &EncodeOptions, term: TermRef<'h>) -> Option<usize> {
    if let Some(value) = term.as_small() {
        Some(integer(value))
    } else if !term.is_immediate() {
        None
    } else if term.is_immediate_float() {
        Some(float(options))
    } else {
        Some(immediate(options, term))
    }
}

/// The size of a bit string of `len` bits.
fn bit_string(len: usize) -> usize {
    len.div_ceil(8) + if len.is_multiple_of(8) { 5 } else { 6 }
}

fn float(options: &EncodeOptions) -> usize {
    if options.minor_version > 0 { 9 } else { 32 }
}

#[inline]
fn immediate<'h>(options: &EncodeOptions, term: TermRef<'h>) -> usize {
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
pub fn external_size<'h>(term: TermRef<'h>, options: EncodeOptions) -> usize {
    let mut sizer = Sizer::new(term, options);
    loop {
        if let Some(size) = sizer.run(&mut { usize::MAX }) {
            return size;
        }
    }
}
