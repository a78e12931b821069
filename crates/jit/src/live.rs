//! What is known of registers at the instructions of a function, by their indexes in its body.

use myriad_beam::{AnyReg, Arg, Body, Instr, Kind, Liveness, Op};
use myriad_vm::code::Module;

/// Which registers are live, and which an instruction looks at.
pub(crate) struct Live<'a> {
    module: &'static Module,
    all: Vec<Instr<'a>>,
    liveness: Liveness,
    /// X registers that the function names: all below this.
    most_x: u16,
}

impl<'a> Live<'a> {
    /// Of a function of the module; `None` for one that is too large to know it.
    pub(crate) fn new(module: &'static Module, body: &'a Body) -> Option<Live<'a>> {
        let liveness = module.beam.liveness(body);
        let all: Vec<Instr<'a>> = body.iter().collect();
        let named = all.iter().flat_map(|instr| instr.reads(&module.beam.lambdas).chain(instr.writes()));
        let x = named.filter_map(|reg| if let AnyReg::X(x) = reg { Some(x + 1) } else { None });
        let most_x = x.max().unwrap_or(0);
        liveness.is_exact().then_some(Live { module, all, liveness, most_x })
    }

    /// The X registers that are live before an instruction.
    pub(crate) fn x(&self, index: usize) -> Vec<u16> {
        self.liveness.x(index).iter().collect()
    }

    /// The float registers.
    pub(crate) fn floats(&self, index: usize) -> Vec<u16> {
        self.liveness.fr(index).iter().collect()
    }

    /// The X registers that have to hold terms in the block when tier 0 runs an instruction (jit.translate/J1), in ascending order, and whether each is live:
    /// of the others nobody wants to know what they are.
    pub(crate) fn wanted_x(&self, index: usize) -> Vec<(u16, bool)> {
        let live = self.liveness.x(index);
        let least = self.all.get(index).map_or(0, |instr| self.least(*instr));
        let mut wanted: Vec<(u16, bool)> = live.iter().map(|x| (x, true)).collect();
        wanted.extend((0..least).filter(|x| !live.has(*x)).map(|x| (x, false)));
        wanted.sort_unstable();
        wanted
    }

    /// Below which all X registers have to hold terms at an instruction.
    fn least(&self, instr: Instr<'_>) -> u16 {
        if instr.op == Op::BsMatch {
            // Its commands say it among other numbers, none of which is known to be that.
            let numbers = instr.args.iter().flat_map(Arg::items).filter_map(Arg::number);
            return numbers.max().unwrap_or(0).min(self.most_x.into()) as u16;
        }
        instr.live().unwrap_or(0)
    }

    /// Does control never go on below?
    pub(crate) fn ends(&self, index: usize) -> bool {
        self.all.get(index).is_none_or(|instr| !instr.goes_on(&self.module.beam.imports))
    }
}

/// Labels that an instruction may branch to; 0: the function's clause failure, or an exception.
pub(crate) fn branches<'a>(op: Op, args: &'a [Arg]) -> impl Iterator<Item = u32> + use<'a> {
    op.kinds().iter().zip(args).flat_map(|(kind, arg)| {
        let own = arg.label().filter(|_| *kind != Kind::Entry);
        own.into_iter().chain(arg.items().iter().filter_map(Arg::label))
    })
}
