//! What each instruction does to registers and where it may branch to: a table made of the kinds of operands (`opcode.rs`), and what
//! those do not tell: the X registers that an instruction reads, loses or sets without naming them. The scan and all analyses of
//! decoded code ask here.

use crate::decode::{AnyReg, Arg, Instr, Reg};
use crate::opcode::{Kind, Op, ROWS, Row};
use crate::tables::{Import, Lambda};

/// How many X registers, from X0 on, an instruction reads without naming them. `arity` is its operand of that kind, `free` the number
/// of variables that its fun closes over.
pub(crate) const fn arguments(op: Op, arity: u16, free: u16) -> u16 {
    use Op::*;
    match op {
        FuncInfo | Call | CallLast | CallOnly | CallExt | CallExtLast | CallExtOnly | CallFun2 => arity,
        CallFun => arity + 1,
        Apply | ApplyLast => arity + 2,
        MakeFun2 => free,
        Return | BsInitWritable | BuildStacktrace | CatchEnd | TryCase => 1,
        Send => 2,
        RawRaise => 3,
        _ => 0,
    }
}

/// How many X registers, from X0 on, hold terms behind an instruction that loses all of them, float registers too; `None` for any
/// other one.
pub(crate) const fn results(op: Op) -> Option<u16> {
    use Op::*;
    match op {
        Call | CallExt | CallFun | CallFun2 | Apply | Send | MakeFun2 => Some(1),
        BsInitWritable | BuildStacktrace | RawRaise | CatchEnd => Some(1),
        TryCase => Some(3),
        // The message goes to an operand.
        LoopRec => Some(0),
        LoopRecEnd | Wait | WaitTimeout | Timeout => Some(0),
        _ => None,
    }
}

/// Whether it takes its fail branch before anything is allocated, so that X registers are as they were: matching does.
pub(crate) const fn fails_before_collecting(op: Op) -> bool {
    use Op::*;
    let gets = matches!(op, BsGetInteger2 | BsGetFloat2 | BsGetBinary2 | BsGetUtf8 | BsGetUtf16 | BsGetUtf32);
    gets || matches!(op, BsSkipUtf8 | BsSkipUtf16 | BsSkipUtf32 | BsStartMatch3 | BsStartMatch4 | BsMatch)
}

/// Which operands of an instruction are what: sets of their places.
#[derive(Clone, Copy)]
struct Roles {
    /// Those that are read, or are lists with such.
    sources: u16,
    /// Those that are written, or are lists with such.
    destinations: u16,
    /// Lists of pairs of source and destination.
    pairs: u16,
    /// Those that are labels, or lists with labels.
    labels: u16,
    /// The place of the number of X registers that stay.
    live: Option<usize>,
    /// The place of the number of arguments.
    arity: Option<usize>,
}

impl Roles {
    const NONE: Roles = Roles { sources: 0, destinations: 0, pairs: 0, labels: 0, live: None, arity: None };
}

/// The roles of all instructions, by their numbers.
static ROLES: [Roles; ROWS.len()] = {
    let mut roles = [Roles::NONE; ROWS.len()];
    let mut number = 0;
    while number < roles.len() {
        if let Row::Live(op, kinds) = &ROWS[number] {
            roles[number] = Roles::of_row(*op, kinds);
        }
        number += 1;
    }
    roles
};

impl Roles {
    fn of(op: Op) -> &'static Roles {
        &ROLES[usize::from(op.number())]
    }

    const fn of_row(op: Op, kinds: &[Kind]) -> Roles {
        use Kind::*;
        let mut roles = Roles::NONE;
        let mut at = 0;
        while at < kinds.len() {
            match kinds[at] {
                Src | Reg | Size | FSrc | FSrcAny => roles.sources |= 1 << at,
                Srcs | SrcPairs | IndexedSrcs | AtomSrcs | Segments => roles.sources |= 1 << at,
                Dst | YDst | FDst | FDstAny | YList => roles.destinations |= 1 << at,
                Swap => {
                    roles.sources |= 1 << at;
                    roles.destinations |= 1 << at;
                }
                YCatch => {
                    roles.destinations |= 1 << at;
                    // The end of a catch looks at its tag.
                    if !matches!(op, Op::Try | Op::Catch) {
                        roles.sources |= 1 << at;
                    }
                }
                SrcDsts => {
                    roles.pairs |= 1 << at;
                    roles.sources |= 1 << at;
                    roles.destinations |= 1 << at;
                }
                AtomDsts | MatchCommands => roles.destinations |= 1 << at,
                Label | Fail | FailOrAtom | ValueLabels | ArityLabels => roles.labels |= 1 << at,
                Live => roles.live = Some(at),
                Arity => roles.arity = Some(at),
                _ => {}
            }
            at += 1;
        }
        if matches!(op, Op::RecvMark | Op::RecvSet) {
            // Their labels are names, not places to go to.
            roles.labels = 0;
        }
        roles
    }
}

/// The places of a set of operands.
fn places(mut set: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(place)
    })
}

/// The operands at the places of a set, and the items of those that are lists; of pairs of source and destination, the item `of_pair`.
fn operands(instr: Instr<'_>, set: u16, of_pair: usize) -> impl Iterator<Item = &Arg> {
    let pairs = Roles::of(instr.op).pairs;
    places(set).filter_map(move |place| Some((place, instr.args.get(place)?))).flat_map(move |(place, arg)| {
        let (skip, step) = if pairs >> place & 1 != 0 { (of_pair, 2) } else { (0, 1) };
        std::iter::once(arg).chain(arg.items().iter().skip(skip).step_by(step))
    })
}

/// Calls `f` with each X or Y register that an instruction names and writes.
pub(crate) fn each_destination(instr: Instr<'_>, f: impl FnMut(Reg)) {
    operands(instr, Roles::of(instr.op).destinations, 1).filter_map(Arg::reg).for_each(f);
}

/// Calls `f` with each label that an instruction may branch to.
pub(crate) fn each_label(instr: Instr<'_>, f: impl FnMut(u32)) {
    let labels = operands(instr, Roles::of(instr.op).labels, 0).filter_map(Arg::label);
    labels.filter(|label| *label != 0).for_each(f);
}

/// How many X registers stay, if an operand says so.
pub(crate) fn live(instr: Instr<'_>) -> Option<u16> {
    Some(instr.args.get(Roles::of(instr.op).live?)?.number()? as u16)
}

impl<'a> Instr<'a> {
    /// The registers that it reads, some of them perhaps more than once: operands, arguments of calls, the result that is returned,
    /// the tag of a catch that ends. Those that a collection looks at (X registers below a `Live` operand, all slots) do not count.
    pub fn reads(self, lambdas: &[Lambda]) -> impl Iterator<Item = AnyReg> + use<'a> {
        let roles = Roles::of(self.op);
        let number = |place: usize| self.args.get(place).and_then(Arg::number);
        let arity = roles.arity.and_then(number).unwrap_or(0) as u16;
        let free = match self.op {
            Op::MakeFun2 => number(0).and_then(|lambda| lambdas.get(lambda as usize)).map_or(0, |lambda| lambda.free),
            _ => 0,
        };
        let hidden = (0..arguments(self.op, arity, free.into())).map(AnyReg::X);
        hidden.chain(operands(self, roles.sources, 0).filter_map(AnyReg::of))
    }

    /// The registers that it writes where it does not branch or raise: operands, and the results of a call or an exception. It may
    /// lose others.
    pub fn writes(self) -> impl Iterator<Item = AnyReg> + use<'a> {
        let hidden = (0..results(self.op).unwrap_or(0)).map(AnyReg::X);
        hidden.chain(operands(self, Roles::of(self.op).destinations, 1).filter_map(AnyReg::of))
    }

    /// How many X registers stay, if it says so: a collection looks at them.
    pub fn live(self) -> Option<u16> {
        live(self)
    }

    /// Whether control may come to the instruction below: not if this one branches away or raises for certain, as a call of
    /// `erlang:error/1` does (beam.effects/V7).
    pub fn goes_on(self, imports: &[Import]) -> bool {
        let raises = self.op == Op::CallExt && self.second_import(imports).is_some_and(|import| import.always_raises);
        !(raises || self.op.is_terminal())
    }

    /// Whether it writes its destination where it branches, too (beam.effects/V8).
    pub(crate) fn sets_always(self, imports: &[Import]) -> bool {
        self.op == Op::Bif2 && self.second_import(imports).is_some_and(|import| import.sets_always)
    }

    /// The import that is the second operand.
    fn second_import(self, imports: &[Import]) -> Option<&Import> {
        imports.get(usize::try_from(self.args.get(1)?.number()?).ok()?)
    }
}
