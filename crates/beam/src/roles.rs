//! Which operands of an instruction are written, which are labels, and which tells how many X registers stay: a table made of the
//! kinds of operands (`opcode.rs`), for passes over the code that ask of every instruction.

use crate::decode::{Arg, Instr, Reg};
use crate::opcode::{Kind, Op, ROWS, Row};

/// Which operands of an instruction are what.
#[derive(Clone, Copy)]
struct Roles {
    /// Places of those that are written, or are lists with such.
    destinations: u16,
    /// Places of those that are labels, or lists with labels.
    labels: u16,
    /// The place of the number of X registers that stay.
    live: Option<usize>,
}

/// The roles of all instructions, by their numbers.
static ROLES: [Roles; ROWS.len()] = {
    let mut roles = [Roles { destinations: 0, labels: 0, live: None }; ROWS.len()];
    let mut number = 0;
    while number < roles.len() {
        if let Row::Live(_, kinds) = &ROWS[number] {
            roles[number] = Roles::by_kinds(kinds);
        }
        number += 1;
    }
    roles
};

impl Roles {
    fn of(op: Op) -> &'static Roles {
        &ROLES[usize::from(op.number())]
    }

    const fn by_kinds(kinds: &[Kind]) -> Roles {
        use Kind::*;
        let mut roles = Roles { destinations: 0, labels: 0, live: None };
        let mut at = 0;
        while at < kinds.len() {
            match kinds[at] {
                Dst | YDst | Swap | FDstAny | YCatch | YList => roles.destinations |= 1 << at,
                SrcDsts | AtomDsts | MatchCommands => {
                    roles.destinations |= 1 << at;
                    roles.labels |= 1 << at;
                }
                Label | Fail | FailOrAtom | ValueLabels | ArityLabels => roles.labels |= 1 << at,
                Live => roles.live = Some(at),
                _ => {}
            }
            at += 1;
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

/// Calls `f` with each register that an instruction writes.
pub(crate) fn each_destination(instr: Instr<'_>, mut f: impl FnMut(Reg)) {
    for place in places(Roles::of(instr.op).destinations) {
        let Some(arg) = instr.args.get(place) else { return };
        let (skip, step) = match instr.op.kinds()[place] {
            Kind::SrcDsts | Kind::AtomDsts => (1, 2),
            // Sources among the commands of a match do no harm.
            _ => (0, 1),
        };
        arg.reg().into_iter().for_each(&mut f);
        arg.items().iter().skip(skip).step_by(step).filter_map(Arg::reg).for_each(&mut f);
    }
}

/// Calls `f` with each label that an instruction may branch to.
pub(crate) fn each_label(instr: Instr<'_>, mut f: impl FnMut(u32)) {
    for arg in places(Roles::of(instr.op).labels).filter_map(|place| instr.args.get(place)) {
        arg.label().filter(|label| *label != 0).into_iter().for_each(&mut f);
        arg.items().iter().filter_map(Arg::label).filter(|label| *label != 0).for_each(&mut f);
    }
}

/// How many X registers stay, if an instruction says so.
pub(crate) fn live(instr: Instr<'_>) -> Option<u16> {
    Some(instr.args.get(Roles::of(instr.op).live?)?.number()? as u16)
}
