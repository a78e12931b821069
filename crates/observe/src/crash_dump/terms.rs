//! Terms in a crash dump: each object of a heap a line `ADDRESS:object`, in which other objects are named by address.
//!
//! What is shared is written once, and depth costs no native stack: objects that have been named wait in a list.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use myriad_heap::is_literal;
use myriad_term::boxed::Header;
use myriad_term::etf::{EncodeOptions, encode};
use myriad_term::map::Map;
use myriad_term::print::pid_text;
use myriad_term::{Boxed, Kind, SharedBinary, Term, TermRef};
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

/// What still has to be written.
enum Object<'h> {
    /// As it stands in a heap.
    Stored(TermRef<'h>),
    /// A number that tags itself, which the format has no short form for.
    Float(u64, f64),
    /// A tuple that is not stored as one.
    Pair(u64, TermRef<'h>, TermRef<'h>),
}

/// The objects of one section.
#[derive(Default)]
pub struct Area<'h> {
    seen: HashSet<u64>,
    pending: Vec<Object<'h>>,
}

impl<'h> Area<'h> {
    /// An object that is to be written, unless it is there already.
    fn add(&mut self, at: u64, term: TermRef<'h>) {
        if self.seen.insert(at) {
            self.pending.push(Object::Stored(term));
        }
    }
}

/// What the whole dump shares.
#[derive(Default)]
pub struct Terms {
    literals: Area<'static>,
    /// The section that is written is that of the literals.
    in_literals: bool,
    binaries: BTreeMap<u64, SharedBinary>,
    made: u64,
}

/// Addresses from here on are of objects that are made for the dump.
const MADE: u64 = 0xf000_0000_0000_0000;

impl Terms {
    fn new_address(&mut self) -> u64 {
        self.made += 1;
        MADE + self.made
    }

    /// A term: an immediate one as it is, another by its address.
    pub fn term<'h>(&mut self, area: &mut Area<'h>, out: &mut dyn Write, term: TermRef<'h>) -> io::Result<()> {
        if let Some(value) = term.as_small() {
            write!(out, "I{value}")
        } else if let Some(atom) = term.as_atom() {
            write!(out, "A{:X}:{}", atom.text().len(), atom.text())
        } else if term.is_nil() {
            write!(out, "N")
        } else if term.is_local_pid() {
            write!(out, "P{}", pid_text(term))
        } else if let Some(port) = term.as_local_port() {
            write!(out, "p<0.{}>", port.number())
        } else if term.is_immediate_float() {
            let at = self.new_address();
            area.pending.push(Object::Float(at, term.as_float().unwrap_or_default()));
            write!(out, "H{at:X}")
        } else if term.is_cons() || term.is_boxed() {
            let at = term.object_ptr() as u64;
            if !self.in_literals && is_literal(term.object_ptr()) {
                // SAFETY: no module is purged while the dump is written.
                self.literals.add(at, unsafe { term.assume_held() });
            } else {
                area.add(at, term);
            }
            write!(out, "H{at:X}")
        } else {
            write!(out, "N")
        }
    }

    /// `{First, Second}`, which is not stored as a tuple.
    pub fn pair<'h>(
        &mut self,
        area: &mut Area<'h>,
        out: &mut dyn Write,
        first: TermRef<'h>,
        second: TermRef<'h>,
    ) -> io::Result<()> {
        let at = self.new_address();
        area.pending.push(Object::Pair(at, first, second));
        write!(out, "H{at:X}")
    }

    /// The lines of all objects that have been named.
    pub fn objects<'h>(&mut self, area: &mut Area<'h>, out: &mut dyn Write) -> io::Result<()> {
        while let Some(object) = area.pending.pop() {
            match object {
                Object::Stored(term) => self.stored(area, out, term)?,
                Object::Float(at, value) => self.float(out, at, value)?,
                Object::Pair(at, first, second) => {
                    write!(out, "{at:X}:t2:")?;
                    self.row(area, out, &[first, second])?;
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn row<'h>(&mut self, area: &mut Area<'h>, out: &mut dyn Write, terms: &[TermRef<'h>]) -> io::Result<()> {
        for (i, term) in terms.iter().enumerate() {
            if i > 0 {
                write!(out, ",")?;
            }
            self.term(area, out, *term)?;
        }
        Ok(())
    }

    fn cons<'h>(
        &mut self,
        area: &mut Area<'h>,
        out: &mut dyn Write,
        at: u64,
        cell: (TermRef<'h>, TermRef<'h>),
    ) -> io::Result<()> {
        write!(out, "{at:X}:l")?;
        self.term(area, out, cell.0)?;
        write!(out, "|")?;
        self.term(area, out, cell.1)
    }

    fn float(&self, out: &mut dyn Write, at: u64, value: f64) -> io::Result<()> {
        let text = format!("{value:.20e}");
        // Erlang's exponents have a sign and two digits.
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let text = format!("{digits}e{exponent:+03}");
        write!(out, "{at:X}:F{:X}:{text}", text.len())
    }

    fn stored<'h>(&mut self, area: &mut Area<'h>, out: &mut dyn Write, term: TermRef<'h>) -> io::Result<()> {
        let at = term.object_ptr() as u64;
        if let Some(cell) = term.as_cons() {
            return self.cons(area, out, at, cell);
        }
        let Some(object) = term.as_boxed() else { return Ok(()) };
        match object.kind() {
            Kind::Tuple | Kind::Record => {
                let elements = if object.kind() == Kind::Tuple {
                    object.slots()
                } else {
                    object.slots().get(1..).unwrap_or_default()
                };
                write!(out, "{at:X}:t{:X}:", elements.len())?;
                self.row(area, out, elements)
            }
            Kind::Float => self.float(out, at, term.as_float().unwrap_or_default()),
            Kind::BigPositive | Kind::BigNegative => {
                let sign = if object.kind() == Kind::BigNegative { "-" } else { "" };
                write!(out, "{at:X}:B{sign}16#")?;
                let mut limbs = object.words().iter().rev();
                write!(out, "{:X}", limbs.next().copied().unwrap_or_default())?;
                limbs.try_for_each(|limb| write!(out, "{limb:016X}"))
            }
            Kind::Map | Kind::MapRoot => match term.as_map() {
                Some(map) => self.map(area, out, at, map),
                None => Ok(()),
            },
            Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary => self.binary(out, at, term),
            // Nothing in the dump refers to what is being matched but this: an empty tuple stands for it.
            Kind::MatchContext => write!(out, "{at:X}:t0:"),
            Kind::Fun => self.fun(out, at, object),
            _ => self.external(out, at, term),
        }
    }

    /// As a trie of one level, whatever its own form: a pair for each key.
    fn map<'h>(&mut self, area: &mut Area<'h>, out: &mut dyn Write, at: u64, map: Map<'_, 'h>) -> io::Result<()> {
        let size = map.size();
        write!(out, "{at:X}:Mh{size:X}:{size:X}:")?;
        let first = self.made + 1;
        self.made += size as u64;
        for i in 0..size as u64 {
            if i > 0 {
                write!(out, ",")?;
            }
            write!(out, "H{:X}", MADE + first + i)?;
        }
        for (i, pair) in map.pairs().enumerate() {
            writeln!(out)?;
            self.cons(area, out, MADE + first + i as u64, pair)?;
        }
        Ok(())
    }

    fn binary(&mut self, out: &mut dyn Write, at: u64, term: TermRef<'_>) -> io::Result<()> {
        let Some((base, offset, size)) = term.binary_parts() else { return Ok(()) };
        if size % 8 != 0 || offset % 8 != 0 {
            return self.external(out, at, term);
        }
        let (offset, size) = (offset / 8, size / 8);
        let Some(object) = base.as_boxed() else { return Ok(()) };
        if object.kind() == Kind::SharedBinary {
            let binary = object.shared();
            let address = binary.data() as u64;
            self.binaries.entry(address).or_insert_with(|| SharedBinary::clone(&binary));
            return write!(out, "{at:X}:Yc{address:X}:{offset:X}:{size:X}");
        }
        let bytes = object.whole_bytes().get(offset..offset + size).unwrap_or_default();
        write!(out, "{at:X}:Yh{size:X}:{}", BASE64_STANDARD.encode(bytes))
    }

    /// Without what it holds, which may be much.
    fn fun(&mut self, out: &mut dyn Write, at: u64, object: Boxed) -> io::Result<()> {
        const BARE: usize = 2;
        let bare = [Header::new(Kind::Fun, BARE).raw(), object.word(0), object.word(1)];
        // SAFETY: a whole fun without free variables, for as long as it is encoded.
        self.external(out, at, unsafe { Term::from_boxed(bare.as_ptr()) })
    }

    fn external(&self, out: &mut dyn Write, at: u64, term: TermRef<'_>) -> io::Result<()> {
        let bytes = encode(term, EncodeOptions::default());
        write!(out, "{at:X}:E{:X}:{}", bytes.len(), BASE64_STANDARD.encode(bytes))
    }

    /// What an area still had to write is written with the literals.
    pub fn leave_to_literals(&mut self, area: Area<'static>) {
        for object in area.pending {
            let new = match object {
                Object::Stored(term) => self.literals.seen.insert(term.object_ptr() as u64),
                Object::Float(..) | Object::Pair(..) => true,
            };
            if new {
                self.literals.pending.push(object);
            }
        }
    }

    /// The section of the literals that were named.
    pub fn literals(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "=literals")?;
        self.in_literals = true;
        let mut area = std::mem::take(&mut self.literals);
        self.objects(&mut area, out)
    }

    /// The sections of the shared binaries that were named.
    pub fn binaries(&mut self, out: &mut dyn Write) -> io::Result<()> {
        for (address, binary) in &self.binaries {
            writeln!(out, "=binary:{address:X}\n{:X}:{}", binary.len(), BASE64_STANDARD.encode(binary.bytes()))?;
        }
        Ok(())
    }
}
