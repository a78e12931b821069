//! The scan's view of operands: whether each is of the kind its row states (beam/S1) and within its table
//! (beam/S2). On the way it tells the analysis (`effects.rs`) which registers are read and written.

use crate::decode::Reg;
use crate::error::LoadError;
use crate::opcode::{Kind, Op};
use crate::reader::{MAX_REGISTERS, Raw};
use crate::scan::{Check, NONE, Scan};

/// Words of what a heap need counts: words, floats, funs.
const NEED_WORDS: [u64; 3] = [1, 2, 3];
/// Most words that an instruction may need.
const MOST_HEAP: u64 = (1 << 27) - 1;

impl Scan<'_> {
    pub(crate) fn operands(&mut self, kinds: &[Kind]) -> Check {
        for (index, kind) in kinds.iter().enumerate() {
            // Two operands of three are one byte, and fine.
            if self.reader.peek().is_some_and(|first| first & 8 == 0 && self.short(*kind, first)) {
                self.reader.skip();
                continue;
            }
            self.index = index as u8;
            let raw = self.reader.raw()?;
            self.check(*kind, raw)?;
        }
        Ok(())
    }

    /// Does all that `check` does for a few frequent operands of one byte. False: leave it to `check`.
    #[inline(always)]
    fn short(&mut self, kind: Kind, first: u8) -> bool {
        let value = u16::from(first >> 4);
        let state = &self.flow.state;
        match (kind, first & 7) {
            (Kind::Src | Kind::Reg, 3) => state.has_x(value) || !state.live,
            (Kind::Src | Kind::Reg, 4) => state.has_y(value) && state.is_set_y(value),
            (Kind::Src, 1) => true,
            (Kind::Src, 2) => value == 0,
            (Kind::Dst, 3) => {
                self.seen.written.push(Reg::X(value));
                true
            }
            (Kind::Dst, 4) => {
                self.seen.written.push(Reg::Y(value));
                true
            }
            (Kind::Live, 0) => {
                self.seen.live = self.seen.live.min(value);
                true
            }
            (Kind::Arity, 0) => {
                self.seen.arity = value;
                self.seen.number = u64::from(value);
                true
            }
            (Kind::Uint, 0) => {
                self.seen.number = u64::from(value);
                true
            }
            (Kind::Heap, 0) => {
                self.seen.heap = u32::from(value);
                true
            }
            _ => false,
        }
    }

    /// Whether an operand is what its kind says (beam/S1, beam/S2).
    #[inline]
    fn check(&mut self, kind: Kind, raw: Raw<'_>) -> Check {
        match kind {
            Kind::Src => self.source(raw),
            Kind::Dst | Kind::YDst => self.destination(kind, raw),
            Kind::Fail => match raw {
                Raw::Label(0) => {
                    self.seen.may_raise = true;
                    Ok(())
                }
                _ => self.branch(raw),
            },
            Kind::Label => self.branch(raw),
            Kind::Reg => match raw {
                Raw::X(_) | Raw::Y(_) | Raw::TypedX(..) | Raw::TypedY(..) => self.source(raw),
                _ => Err(self.operand("not a register")),
            },
            Kind::Swap => match raw {
                Raw::X(_) | Raw::Y(_) => {
                    self.source(raw)?;
                    self.destination(kind, raw)
                }
                _ => Err(self.operand("not a register")),
            },
            Kind::Live => {
                self.at_most(raw, u64::from(MAX_REGISTERS) - 1)?;
                self.seen.live = self.seen.live.min(self.seen.number as u16);
                Ok(())
            }
            Kind::Frame => {
                self.at_most(raw, u64::from(MAX_REGISTERS))?;
                self.seen.frames = (self.seen.frames.1, self.seen.number as u16);
                Ok(())
            }
            Kind::Arity => {
                self.at_most(raw, 255)?;
                self.seen.arity = self.seen.number as u16;
                Ok(())
            }
            Kind::Line => match (raw, self.tables.lines) {
                (Raw::U(line), Some(lines)) if line <= lines as u64 => Ok(()),
                (Raw::U(_), None) => Ok(()),
                (Raw::I(line), Some(lines)) if line >= 0 && line as u64 <= lines as u64 => Ok(()),
                (Raw::I(_), None) => Ok(()),
                _ => Err(self.operand("no such line")),
            },
            Kind::Entry => self.call_target(raw),
            Kind::Import => self.import(raw, self.seen.number),
            Kind::Bif0 => self.import(raw, 0),
            Kind::Bif1 => self.import(raw, 1),
            Kind::Bif2 => self.import(raw, 2),
            Kind::Bif3 => self.import(raw, 3),
            Kind::Uint => self.at_most(raw, u64::from(u32::MAX)),
            Kind::Bits => self.at_most(raw, u64::MAX),
            Kind::Flags => self.at_most(raw, 31),
            Kind::Unit => match raw {
                Raw::U(1..=256) => Ok(()),
                _ => Err(self.operand("not a unit")),
            },
            Kind::Heap => match raw {
                Raw::Alloc(pairs) => self.heap_need(pairs),
                _ => {
                    self.at_most(raw, MOST_HEAP)?;
                    self.seen.heap = self.seen.number as u32;
                    Ok(())
                }
            },
            Kind::Size => match raw {
                Raw::U(size) => self.at_most(Raw::U(size), u64::from(u32::MAX)),
                _ => self.source(raw),
            },
            Kind::YCatch => match raw {
                Raw::Y(y) => {
                    self.seen.slot = y;
                    Ok(())
                }
                _ => Err(self.operand("not a Y register")),
            },
            Kind::FSrc | Kind::FDst => match raw {
                Raw::FR(_) => Ok(()),
                _ => Err(self.operand("not a float register")),
            },
            Kind::FSrcAny => match raw {
                Raw::FR(_) => Ok(()),
                _ => self.source(raw),
            },
            Kind::FDstAny => match raw {
                Raw::FR(_) => Ok(()),
                _ => self.destination(Kind::Dst, raw),
            },
            Kind::FailOrAtom => match raw {
                Raw::Atom(atom) if matches!(self.tables.atoms.get(atom), Some("no_fail" | "resume")) => Ok(()),
                _ => self.check(Kind::Fail, raw),
            },
            Kind::Lambda => self.lambda(raw),
            Kind::FunTag => match raw {
                Raw::Atom(atom) if self.tables.atoms.has(atom) => Ok(()),
                _ => self.lambda(raw),
            },
            Kind::Atom => match raw {
                Raw::Atom(atom) if self.tables.atoms.has(atom) => Ok(()),
                _ => Err(self.operand("not an atom")),
            },
            Kind::AtomOrLit => match raw {
                Raw::Lit(_) => self.source(raw),
                _ => self.check(Kind::Atom, raw),
            },
            Kind::Const => match raw {
                Raw::Atom(_) | Raw::Lit(_) => self.source(raw),
                _ => Err(self.operand("not a constant")),
            },
            Kind::StringAt => {
                let bytes = if self.op == Op::BsMatchString { self.seen.number.div_ceil(8) } else { self.seen.number };
                self.string(raw, bytes)
            }
            Kind::NewLabel => Err(self.operand("a label definition in the wrong place")),
            _ => self.list(kind, raw),
        }
    }

    fn list(&mut self, kind: Kind, raw: Raw<'_>) -> Check {
        let Raw::List(count) = raw else { return Err(self.operand("not a list")) };
        match kind {
            Kind::ValueLabels => self.groups(count, &[Kind::Const, Kind::Label]),
            Kind::ArityLabels => self.groups(count, &[Kind::Uint, Kind::Label]),
            Kind::Srcs => {
                self.seen.items = count;
                self.groups(count, &[Kind::Src])
            }
            Kind::SrcPairs => self.groups(count, &[Kind::Src, Kind::Src]),
            Kind::SrcDsts => self.groups(count, &[Kind::Src, Kind::Dst]),
            Kind::IndexedSrcs => {
                // The size of the record stands before the list.
                let size = self.seen.number;
                self.groups(count, &[Kind::Uint, Kind::Src])?;
                self.seen.number = size;
                Ok(())
            }
            Kind::AtomSrcs => self.groups(count, &[Kind::Atom, Kind::Src]),
            Kind::AtomDsts => self.groups(count, &[Kind::Atom, Kind::Dst]),
            Kind::YList => self.groups(count, &[Kind::YDst]),
            Kind::Segments => self.segments(count),
            Kind::MatchCommands => self.match_commands(count),
            _ => Err(self.operand("no operand of this kind can be a list")),
        }
    }

    /// `count` operands in groups of these kinds.
    fn groups(&mut self, count: u32, kinds: &[Kind]) -> Check {
        if !(count as usize).is_multiple_of(kinds.len()) {
            return Err(self.operand("a list of the wrong length"));
        }
        for _ in 0..count as usize / kinds.len() {
            for kind in kinds {
                if self.reader.peek().is_some_and(|first| first & 8 == 0 && self.short(*kind, first)) {
                    self.reader.skip();
                    continue;
                }
                let raw = self.reader.raw()?;
                match (kind, raw) {
                    // Values of select_val: constants, integers among them.
                    (Kind::Const, Raw::I(_) | Raw::Big(_)) => {}
                    _ => self.check_item(*kind, raw)?,
                }
            }
        }
        Ok(())
    }

    /// As `check`, for an item of a list: a plain number must be a u there.
    fn check_item(&mut self, kind: Kind, raw: Raw<'_>) -> Check {
        match (kind, raw) {
            (Kind::Uint | Kind::Live, Raw::I(_)) => Err(self.operand("not a number")),
            _ => self.check(kind, raw),
        }
    }

    /// Segments of bs_create_bin.
    fn segments(&mut self, count: u32) -> Check {
        if !count.is_multiple_of(6) {
            return Err(self.operand("a list of the wrong length"));
        }
        for _ in 0..count / 6 {
            let Raw::Atom(atom) = self.reader.raw()? else { return Err(self.operand("not a kind of segment")) };
            let kind = self.tables.atoms.get(atom).unwrap_or("");
            let string = kind == "string";
            if !string
                && !matches!(
                    kind,
                    "append" | "private_append" | "binary" | "float" | "integer" | "utf8" | "utf16" | "utf32"
                )
            {
                return Err(self.operand("not a kind of segment"));
            }
            for kind in [Kind::Uint, Kind::Uint, Kind::Const] {
                let raw = self.reader.raw()?;
                self.check_item(kind, raw)?;
            }
            let (value, size) = (self.reader.raw()?, self.reader.raw()?);
            if string {
                match size {
                    Raw::I(size) if size >= 0 => self.string(value, size as u64)?,
                    Raw::U(size) => self.string(value, size)?,
                    _ => return Err(self.operand("not a size of a string")),
                }
            } else {
                self.source(value)?;
                self.check(Kind::Size, size)?;
            }
        }
        Ok(())
    }

    /// Commands of bs_match.
    fn match_commands(&mut self, count: u32) -> Check {
        let mut left = count as usize;
        while left > 0 {
            let Raw::Atom(atom) = self.reader.raw()? else { return Err(self.operand("not a match command")) };
            let name = self.tables.atoms.get(atom).unwrap_or("");
            let Some(kinds) = match_command(name) else {
                return Err(self.operand("not a match command"));
            };
            left = match left.checked_sub(1 + kinds.len()) {
                Some(left) => left,
                None => return Err(self.operand("a list of the wrong length")),
            };
            for kind in kinds {
                let raw = self.reader.raw()?;
                match (kind, raw) {
                    (Kind::Const, Raw::U(_) | Raw::I(_) | Raw::Big(_)) if name == "=:=" => {}
                    _ => self.check_item(*kind, raw)?,
                }
            }
        }
        Ok(())
    }

    fn heap_need(&mut self, pairs: u32) -> Check {
        let mut total = 0_u64;
        for _ in 0..pairs {
            match (self.reader.raw()?, self.reader.raw()?) {
                (Raw::U(kind @ 0..=2), Raw::U(count)) if count <= 1 << 24 => total += NEED_WORDS[kind as usize] * count,
                _ => return Err(self.operand("not a heap need")),
            }
        }
        self.seen.heap = u32::try_from(total).unwrap_or(u32::MAX);
        if total <= MOST_HEAP { Ok(()) } else { Err(self.operand("not a heap need")) }
    }

    /// A term that is read.
    fn source(&mut self, raw: Raw<'_>) -> Check {
        match raw {
            Raw::X(x) => self.read_x(x),
            Raw::Y(y) => self.read_y(y),
            Raw::I(_) | Raw::Big(_) | Raw::Atom(0) => Ok(()),
            Raw::Atom(atom) if self.tables.atoms.has(atom) => Ok(()),
            Raw::Lit(literal) if (literal as usize) < self.tables.literals => Ok(()),
            Raw::TypedX(_, index) | Raw::TypedY(_, index)
                if self.tables.types != 0 && index as usize >= self.tables.types =>
            {
                Err(self.operand("no such type"))
            }
            Raw::TypedX(x, _) => self.read_x(x),
            Raw::TypedY(y, _) => self.read_y(y),
            _ => Err(self.operand("not a term")),
        }
    }

    /// A register that is written.
    #[inline]
    fn destination(&mut self, kind: Kind, raw: Raw<'_>) -> Check {
        match raw {
            Raw::X(x) if kind != Kind::YDst => self.seen.written.push(Reg::X(x)),
            Raw::Y(y) => self.seen.written.push(Reg::Y(y)),
            _ => return Err(self.operand("not a register")),
        }
        Ok(())
    }

    #[inline]
    fn read_x(&mut self, x: u16) -> Check {
        let state = &self.flow.state;
        if state.has_x(x) || !state.live { Ok(()) } else { Err(self.operand("an X register that may hold no term")) }
    }

    #[inline]
    fn read_y(&mut self, y: u16) -> Check {
        let state = &self.flow.state;
        if !state.live {
            return Ok(());
        }
        if !state.has_y(y) {
            return Err(self.operand("a slot that is not there or holds a catch tag"));
        }
        self.flow.needs_nils |= !state.is_set_y(y);
        Ok(())
    }

    /// A plain number, as u or as a non-negative i.
    fn at_most(&mut self, raw: Raw<'_>, limit: u64) -> Check {
        let value = match raw {
            Raw::U(value) => value,
            Raw::I(value) if value >= 0 => value as u64,
            _ => return Err(self.operand("not a number")),
        };
        self.seen.number = value;
        if value <= limit { Ok(()) } else { Err(self.operand("a number beyond its limit")) }
    }

    fn string(&self, raw: Raw<'_>, bytes: u64) -> Check {
        match raw {
            Raw::U(at) if at.checked_add(bytes).is_some_and(|end| end <= self.tables.strings as u64) => Ok(()),
            _ => Err(self.operand("no such string")),
        }
    }

    fn branch(&mut self, raw: Raw<'_>) -> Check {
        let Raw::Label(label) = raw else { return Err(self.operand("not a label")) };
        let function = self.functions.len() as u32;
        match (self.branched.get_mut(label as usize), self.labels.get(label as usize)) {
            (Some(by), Some(def))
                if label != 0
                    && (*by == 0 || *by == function)
                    && (def.function == NONE || def.function + 1 == function) =>
            {
                *by = function;
                self.seen.edges.push(label);
                if def.function != NONE {
                    self.branch_back(label, def.offset);
                }
                Ok(())
            }
            (Some(_), _) if label != 0 => Err(LoadError::Label { label, what: "belongs to another function" }),
            _ => Err(self.operand("no such label")),
        }
    }

    fn call_target(&mut self, raw: Raw<'_>) -> Check {
        let Raw::Label(label) = raw else { return Err(self.operand("not a label")) };
        let arity = self.seen.number as u16 + 1;
        match self.called.get_mut(label as usize) {
            Some(by) if label != 0 && (*by == 0 || *by == arity) => *by = arity,
            _ => return Err(self.operand("no function of this arity")),
        }
        Ok(())
    }

    fn import(&mut self, raw: Raw<'_>, arity: u64) -> Check {
        match raw {
            Raw::U(index) => match self.tables.imports.get(usize::try_from(index).unwrap_or(usize::MAX)) {
                Some(import) if u64::from(import.arity) == arity => {
                    self.seen.exits = import.always_raises;
                    self.seen.safe = import.never_fails;
                    self.seen.sets_always = import.sets_always;
                    self.seen.builds_nothing = import.builds_nothing;
                    Ok(())
                }
                Some(_) => Err(self.operand("an import of another arity")),
                None => Err(self.operand("no such import")),
            },
            _ => Err(self.operand("not an import")),
        }
    }

    fn lambda(&mut self, raw: Raw<'_>) -> Check {
        match raw {
            Raw::U(index) if index < self.tables.lambdas.len() as u64 => {
                self.seen.number = index;
                Ok(())
            }
            _ => Err(self.operand("no such fun")),
        }
    }

    pub(crate) fn atom_operand(&mut self) -> Result<u32, LoadError> {
        match self.reader.raw()? {
            Raw::Atom(atom) if self.tables.atoms.has(atom) => Ok(atom),
            _ => Err(self.operand("not an atom")),
        }
    }
}

/// The operands of a bs_match command.
fn match_command(name: &str) -> Option<&'static [Kind]> {
    Some(match name {
        "ensure_at_least" => &[Kind::Uint, Kind::Uint],
        "ensure_exactly" | "skip" => &[Kind::Uint],
        "integer" | "binary" => &[Kind::Live, Kind::Const, Kind::Uint, Kind::Uint, Kind::Dst],
        "get_tail" => &[Kind::Live, Kind::Uint, Kind::Dst],
        // Live (nil), size, and a value as u or i.
        "=:=" => &[Kind::Const, Kind::Uint, Kind::Const],
        _ => return None,
    })
}
