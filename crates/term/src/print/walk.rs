//! The walk over a term that prints it.

use super::{atom, identity};
use crate::boxed::{Boxed, Kind};
use crate::map::View;
use crate::word::{Tag, Term, TermRef};
use dashu_int::UBig;

/// A container that has been opened: what is left of it.
enum Open<'h> {
    /// Slots in a row, each but the first after a comma; then a closing text.
    Slots { next: *const TermRef<'h>, left: usize, first: bool },
    /// The rest of a list.
    List { rest: TermRef<'h>, first: bool },
    /// Keys and values of a flat map.
    Pairs { keys: *const TermRef<'h>, values: *const TermRef<'h>, left: usize, first: bool, value_next: bool },
}

/// A text being made.
pub(super) struct Printer<'h> {
    out: Vec<u8>,
    open: Vec<Open<'h>>,
    /// What may still be printed (term/P2).
    left: usize,
    /// Latin-1 bytes in strings, not UTF-8.
    latin1: bool,
}

impl<'h> Printer<'h> {
    pub(super) fn new(limit: usize, latin1: bool) -> Printer<'h> {
        Printer { out: Vec::new(), open: Vec::new(), left: limit, latin1 }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Takes `cost` from what may be printed; false if there is nothing left.
    fn spend(&mut self, cost: usize) -> bool {
        let enough = self.left > 0;
        self.left = self.left.saturating_sub(cost.max(1));
        enough
    }

    pub(super) fn print(&mut self, term: TermRef<'h>) {
        let mut next = Some(term);
        loop {
            let Some(term) = next.take().or_else(|| self.next()) else { return };
            if !self.spend(1) {
                self.put("...");
                return;
            }
            self.term(term);
        }
    }

    /// The next term of the innermost container, after what stands before it; closes those that are complete.
    fn next(&mut self) -> Option<TermRef<'h>> {
        loop {
            match self.open.last_mut()? {
                Open::Slots { next, left, first } => {
                    if *left > 0 {
                        if !std::mem::replace(first, false) {
                            self.out.push(b',');
                        }
                        *left -= 1;
                        // SAFETY: one of the slots of an object that stays (term/T2); `left` counts them.
                        unsafe {
                            let term = **next;
                            *next = next.add(1);
                            return Some(term);
                        }
                    }
                    self.out.push(b'}');
                }
                Open::List { rest, first } => {
                    if let Some((head, tail)) = rest.as_cons() {
                        *rest = tail;
                        if !std::mem::replace(first, false) {
                            self.out.push(b',');
                        }
                        return Some(head);
                    }
                    let tail = std::mem::replace(rest, Term::NIL);
                    if !tail.is_nil() {
                        self.out.push(b'|');
                        return Some(tail);
                    }
                    self.out.push(b']');
                }
                Open::Pairs { keys, values, left, first, value_next } => {
                    if *value_next {
                        *value_next = false;
                        self.out.extend_from_slice(b"=>");
                        // SAFETY: the value of the key before it, in a map that stays (term/T2).
                        unsafe {
                            let term = **values;
                            *values = values.add(1);
                            return Some(term);
                        }
                    }
                    if *left > 0 {
                        if !std::mem::replace(first, false) {
                            self.out.push(b',');
                        }
                        *left -= 1;
                        *value_next = true;
                        // SAFETY: one of the keys of a map that stays (term/T2); `left` counts them.
                        unsafe {
                            let term = **keys;
                            *keys = keys.add(1);
                            return Some(term);
                        }
                    }
                    self.out.push(b'}');
                }
            }
            self.open.pop();
        }
    }

    /// Prints a term, or opens it.
    fn term(&mut self, term: TermRef<'h>) {
        match term.tag() {
            Tag::Small => {
                let text = term.small_value().to_string();
                self.put(&text);
            }
            Tag::Float => self.float(term.as_float().unwrap_or(0.0)),
            Tag::List => self.list(term),
            Tag::Immediate => self.immediate(term),
            Tag::Boxed => {
                if let Some(object) = term.held_boxed() {
                    self.boxed(term, object);
                }
            }
            Tag::Header | Tag::Free => self.put("<bad term>"),
        }
    }

    fn immediate(&mut self, term: TermRef<'h>) {
        if let Some(atom) = term.as_atom() {
            atom::write(&mut self.out, atom.text());
        } else if term.is_nil() {
            self.put("[]");
        } else if term.is_local_pid() {
            self.put(&identity::pid_text(term));
        } else if term.is_port() {
            self.put(&identity::port_text(term));
        } else if term.is_none() {
            self.put("<none>");
        } else {
            self.put("<catch>");
        }
    }

    fn boxed(&mut self, term: TermRef<'h>, object: Boxed<'h, 'h>) {
        match object.kind() {
            Kind::Tuple => {
                self.put("{");
                self.slots(object.slots());
            }
            Kind::Map | Kind::MapRoot => self.map(term),
            Kind::MapNode => self.node("", object.header().aux(), object.slots()),
            Kind::Fun | Kind::ExportFun => self.put(&identity::fun_text(term)),
            Kind::BigPositive | Kind::BigNegative => self.big(object),
            Kind::Float => self.float(f64::from_bits(object.word(0))),
            Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary => self.bits(term),
            Kind::Ref | Kind::AliasRef | Kind::MagicRef | Kind::ExternalRef => self.put(&identity::ref_text(term)),
            Kind::ExternalPid => self.put(&identity::pid_text(term)),
            Kind::ExternalPort => self.put(&identity::port_text(term)),
            Kind::MatchContext => self.put("<match context>"),
            _ => self.put("<unknown>"),
        }
    }

    fn slots(&mut self, slots: &[TermRef<'h>]) {
        self.open.push(Open::Slots { next: slots.as_ptr(), left: slots.len(), first: true });
    }

    fn map(&mut self, term: TermRef<'h>) {
        let Some(map) = term.held_map() else { return };
        match map.view() {
            View::Flat { keys, values } => {
                self.put("#{");
                let (keys, values, left) = (keys.as_ptr(), values.as_ptr(), values.len());
                self.open.push(Open::Pairs { keys, values, left, first: true, value_next: false });
            }
            View::Hash { bitmap, children, .. } => self.node("#", bitmap, children),
        }
    }

    /// A node of a hash map, as BEAM shows it: bitmap and children.
    fn node(&mut self, mark: &str, bitmap: u32, children: &[TermRef<'h>]) {
        self.put(&format!("{mark}<{bitmap:x}>{{"));
        self.slots(children);
    }

    fn list(&mut self, list: TermRef<'h>) {
        if self.string(list) {
            return;
        }
        self.put("[");
        self.open.push(Open::List { rest: list, first: true });
    }

    /// Prints a list of printable characters as a string, if it is one.
    fn string(&mut self, list: TermRef<'h>) -> bool {
        let printable = |t: TermRef<'h>| matches!(t.as_small(), Some(9 | 10 | 13 | 32..=126 | 160..=255));
        let mut elements = list.list_iter();
        let mut len = 0;
        if !elements.by_ref().inspect(|_| len += 1).all(printable) || !elements.tail().is_nil() {
            return false;
        }
        let shown = self.left.min(len);
        self.left -= shown;
        self.put("\"");
        for c in list.list_iter().take(shown).map(|t| t.small_value() as u8) {
            match c {
                b'\n' => self.put("\\n"),
                b'"' => self.put("\\\""),
                _ => self.character(c),
            }
        }
        self.put(if shown < len { "..." } else { "\"" });
        true
    }

    fn character(&mut self, c: u8) {
        if c < 128 || self.latin1 {
            self.out.push(c);
        } else {
            self.out.extend_from_slice(char::from(c).encode_utf8(&mut [0; 2]).as_bytes());
        }
    }

    fn bits(&mut self, term: TermRef<'h>) {
        let Some(bits) = term.held_bits() else { return };
        let whole = bits.len() / 8;
        let rest = bits.len() % 8;
        self.put("<<");
        let bytes = bits.to_bytes();
        let shown = self.left.min(whole);
        self.left -= shown;
        if rest == 0 && whole > 0 && bytes.iter().all(|b| matches!(b, 32..=126)) {
            self.put("\"");
            for c in &bytes[..shown] {
                if *c == b'"' {
                    self.put("\\");
                }
                self.character(*c);
            }
            self.put(if shown < whole { "..." } else { "\"" });
        } else {
            for (i, byte) in bytes[..shown].iter().enumerate() {
                let text = if i == 0 { byte.to_string() } else { format!(",{byte}") };
                self.put(&text);
            }
            if shown < whole {
                self.put("...");
            } else if rest > 0 {
                let comma = if whole > 0 { "," } else { "" };
                let last = bits.byte(whole) >> (8 - rest);
                self.put(&format!("{comma}{last}:{rest}"));
            }
        }
        self.put(">>");
    }

    fn float(&mut self, value: f64) {
        let text = format!("{value:.6e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
        self.put(&format!("{digits}e{sign}{exponent:0>2}"));
    }

    fn big(&mut self, object: Boxed<'h, 'h>) {
        let limbs = object.words();
        if !self.spend(limbs.len()) {
            return self.put("...");
        }
        if object.kind() == Kind::BigNegative {
            self.put("-");
        }
        self.put(&UBig::from_words(limbs).to_string());
    }
}
