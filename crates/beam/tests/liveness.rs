//! Which registers are live, in hand-made code and in that of the installed OTP.

mod common;

use common::made::{
    A::{self, F, FR, I, List, U, X, Y},
    module,
};
use myriad_beam::{AnyReg, Arg, Body, Instr, Liveness, MIXED, Module, Op, RegSet};
use myriad_testing::Random;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

type Code<'a> = (Op, &'a [A]);

const RETURN: Code<'_> = (Op::Return, &[]);
const CALL_G: Code<'_> = (Op::Call, &[U(1), F(8)]);
const NIL: A = A::Atom(0);

fn all(set: RegSet<'_>) -> Vec<u16> {
    set.iter().collect()
}

/// What is live in f/1, whose body's first instruction is the fourth.
fn liveness(body: &[Code<'_>]) -> Liveness {
    let module = module(body).unwrap_or_else(|error| panic!("{error}"));
    module.liveness(&module.decode_function(0).unwrap())
}

/// The X registers that are live before each instruction of f/1.
fn x(body: &[Code<'_>]) -> Vec<Vec<u16>> {
    let live = liveness(body);
    assert!(live.is_exact());
    assert_eq!(
        (0..3).map(|index| all(live.x(index))).collect::<Vec<_>>()[..2],
        [[0], [0]],
        "func_info shows the arguments"
    );
    (0..body.len()).map(|index| all(live.x(3 + index))).collect()
}

/// The slots that are.
fn y(body: &[Code<'_>]) -> Vec<Vec<u16>> {
    let live = liveness(body);
    assert!(live.is_exact());
    (0..body.len()).map(|index| all(live.y(3 + index))).collect()
}

#[test]
fn what_is_read_before_it_is_written_is_live() {
    let body = [
        (Op::Move, &[X(0), X(2)][..]),
        (Op::Move, &[I(1), X(0)]),
        (Op::Move, &[X(2), X(1)]),
        (Op::Move, &[X(1), X(0)]),
        RETURN,
    ];
    assert_eq!(x(&body), [vec![0], vec![2], vec![2], vec![1], vec![0]]);
    // A register may be read and written at once, and so in a list.
    assert_eq!(x(&[(Op::Move, &[X(0), X(1)]), (Op::Swap, &[X(0), X(1)]), RETURN]), [vec![0], vec![0, 1], vec![0]]);
    let map = [
        (Op::Move, &[X(0), X(1)][..]),
        (Op::GetMapElements, &[F(1), X(0), List(4), X(1), X(1), I(2), X(2)]),
        (Op::Move, &[X(2), X(0)]),
        RETURN,
    ];
    assert_eq!(x(&map), [vec![0], vec![0, 1], vec![2], vec![0]]);
}

#[test]
fn what_either_way_reads_is_live() {
    let body = [
        (Op::Move, &[X(0), X(1)][..]),
        (Op::Move, &[X(0), X(2)]),
        (Op::IsNil, &[F(3), X(0)]),
        (Op::Move, &[X(1), X(0)]),
        RETURN,
        (Op::Label, &[U(3)]),
        (Op::Move, &[X(2), X(0)]),
        RETURN,
    ];
    assert_eq!(x(&body), [vec![0], vec![0, 1], vec![0, 1, 2], vec![1], vec![0], vec![2], vec![2], vec![0]]);
}

#[test]
fn calls_take_arguments_and_lose_the_rest() {
    let body = [
        (Op::Allocate, &[U(1), U(1)][..]),
        (Op::Move, &[X(0), Y(0)]),
        CALL_G,
        (Op::Move, &[Y(0), X(1)]),
        (Op::CallFun, &[U(0)]),
        (Op::Deallocate, &[U(1)]),
        (Op::CallOnly, &[U(1), F(8)]),
    ];
    assert_eq!(x(&body), [vec![0], vec![0], vec![0], vec![0], vec![0], vec![0], vec![0]]);
    assert_eq!(y(&body)[2..5], [vec![0], vec![0], vec![]]);
    // What a call that always raises stands before is not reached.
    let raises = [
        (Op::Move, &[X(0), X(1)][..]),
        (Op::CallExt, &[U(1), U(0)]),
        (Op::Label, &[U(3)]),
        (Op::Move, &[X(1), X(0)]),
        RETURN,
    ];
    assert_eq!(x(&raises)[1], [0]);
}

#[test]
fn matching_fails_with_the_registers_as_they_were() {
    let body = [
        (Op::Move, &[X(0), X(1)][..]),
        (Op::BsStartMatch3, &[F(3), X(0), U(1), X(0)]),
        RETURN,
        (Op::Label, &[U(3)]),
        (Op::Move, &[X(1), X(0)]),
        RETURN,
    ];
    assert_eq!(x(&body)[1], [0, 1]);
}

#[test]
fn is_map_key_sets_its_result_where_it_branches() {
    let body = |import| {
        x(&[
            (Op::Move, &[X(0), X(1)]),
            (Op::Bif2, &[F(3), U(import), X(0), X(0), X(1)]),
            RETURN,
            (Op::Label, &[U(3)]),
            (Op::Move, &[X(1), X(0)]),
            RETURN,
        ])
    };
    assert_eq!(body(3)[1], [0]);
}

#[test]
fn a_loop_keeps_its_slots() {
    let body = [
        (Op::Allocate, &[U(2), U(1)][..]),
        (Op::Move, &[X(0), Y(0)]),
        (Op::InitYregs, &[List(1), Y(1)]),
        (Op::Label, &[U(3)]),
        (Op::LoopRec, &[F(5), X(0)]),
        (Op::IsEqExact, &[F(4), X(0), Y(0)]),
        (Op::RemoveMessage, &[]),
        (Op::Deallocate, &[U(2)]),
        RETURN,
        (Op::Label, &[U(4)]),
        (Op::LoopRecEnd, &[F(3)]),
        (Op::Label, &[U(5)]),
        (Op::Wait, &[F(3)]),
    ];
    let live = y(&body);
    assert!(live[2..6].iter().chain(&live[9..]).all(|set| *set == [0]), "{live:?}");
    assert!(live[..2].iter().chain(&live[6..9]).all(Vec::is_empty), "{live:?}");
    assert_eq!(
        x(&body)[2..],
        [vec![], vec![], vec![], vec![0], vec![0], vec![0], vec![0], vec![], vec![], vec![], vec![]]
    );
}

#[test]
fn trim_renames_slots() {
    let body = [
        (Op::Allocate, &[U(3), U(1)][..]),
        (Op::Move, &[X(0), Y(2)]),
        (Op::InitYregs, &[List(2), Y(0), Y(1)]),
        (Op::Trim, &[U(2), U(1)]),
        (Op::Move, &[Y(0), X(0)]),
        (Op::Deallocate, &[U(1)]),
        RETURN,
    ];
    assert_eq!(y(&body), [vec![], vec![], vec![2], vec![2], vec![0], vec![], vec![]]);
}

#[test]
fn what_a_handler_reads_is_live_as_long_as_its_catch() {
    let body = [
        (Op::Allocate, &[U(3), U(1)][..]),
        (Op::Move, &[X(0), Y(1)]),
        (Op::InitYregs, &[List(2), Y(0), Y(2)]),
        (Op::Try, &[Y(0), F(3)]),
        CALL_G,
        (Op::TryEnd, &[Y(0)]),
        (Op::Deallocate, &[U(3)]),
        RETURN,
        (Op::Label, &[U(3)]),
        (Op::TryCase, &[Y(0)]),
        (Op::Move, &[Y(1), X(0)]),
        (Op::Deallocate, &[U(3)]),
        RETURN,
    ];
    let none: Vec<u16> = vec![];
    let in_body = vec![0, 1];
    // The slot of the catch, which holds its tag, too, but not before.
    assert_eq!(
        y(&body)[..9],
        [none.clone(), none.clone(), vec![1], vec![1], in_body.clone(), in_body.clone(), none.clone(), none, in_body]
    );
    // The exception is not in the registers of the body.
    let live = x(&body);
    assert_eq!((&live[3], &live[8], &live[10]), (&vec![0], &vec![0], &vec![]));
}

#[test]
fn calls_lose_float_registers() {
    let live = liveness(&[
        (Op::Allocate, &[U(0), U(1)]),
        (Op::Fconv, &[X(0), FR(1)]),
        (Op::Fadd, &[F(0), FR(1), FR(1), FR(0)]),
        (Op::Fmove, &[FR(0), X(0)]),
        CALL_G,
        (Op::Fmove, &[FR(2), X(0)]),
        (Op::Deallocate, &[U(0)]),
        RETURN,
    ]);
    let none: Vec<u16> = vec![];
    let found: Vec<_> = (3..11).map(|index| all(live.fr(index))).collect();
    assert_eq!(found, [none.clone(), none.clone(), vec![1], vec![0], none.clone(), vec![2], none.clone(), none]);
}

#[test]
fn what_takes_too_long_is_not_analysed() {
    // Each block branches to the one before it.
    let exact = |blocks: u8| {
        let labels: Vec<_> = (20..20 + blocks).map(|label| ([U(label)], [F(label - 1)])).collect();
        let last = [F(19 + blocks)];
        let mut body: Vec<Code<'_>> = vec![(Op::Move, &[X(0), X(1)]), (Op::Jump, &last)];
        body.extend([(Op::Label, &[U(19)][..]), (Op::Move, &[X(1), X(0)]), RETURN]);
        body.extend(labels.iter().flat_map(|(label, to)| [(Op::Label, &label[..]), (Op::Jump, &to[..])]));
        let live = liveness(&body);
        assert!(live.x(4).has(1));
        // Nothing is said to be dead where it is not known.
        assert_eq!(live.x(3).has(1), !live.is_exact());
        live.is_exact()
    };
    assert!(exact(4));
    assert!(!exact(40));
}

#[test]
fn more_catches_than_are_followed_are_not_analysed() {
    let exact = |count: u8| {
        let labels: Vec<_> = (10..10 + count).map(|label| ([Y(0), F(label)], [U(label)])).collect();
        let mut body: Vec<Code<'_>> = vec![(Op::Allocate, &[U(1), U(1)]), (Op::InitYregs, &[List(1), Y(0)])];
        for (begin, label) in &labels {
            body.extend([(Op::Catch, &begin[..]), (Op::Label, &label[..]), (Op::CatchEnd, &[Y(0)])]);
        }
        body.extend([(Op::Deallocate, &[U(1)][..]), RETURN]);
        liveness(&body).is_exact()
    };
    assert!(exact(64));
    assert!(!exact(65));
}

#[test]
fn instructions_say_what_they_read_and_write() {
    let module = module(&[
        (Op::Move, &[X(0), X(1)]),
        (Op::TestHeap, &[U(4), U(2)]),
        (Op::PutTuple2, &[X(2), List(2), X(1), NIL]),
        (Op::Allocate, &[U(0), U(1)]),
        CALL_G,
        (Op::Deallocate, &[U(0)]),
        RETURN,
    ]);
    let module = module.unwrap();
    let body = module.decode_function(0).unwrap();
    let effects: Vec<(Vec<_>, Vec<_>)> =
        body.iter().map(|i| (i.reads(&module.lambdas).collect(), i.writes().collect())).collect();
    let x = |numbers: &[u16]| numbers.iter().map(|n| AnyReg::X(*n)).collect::<Vec<_>>();
    assert_eq!(effects[1], (x(&[0]), x(&[])), "func_info");
    let expected = [(&[0][..], &[1][..]), (&[], &[]), (&[1], &[2]), (&[], &[]), (&[0], &[0]), (&[], &[]), (&[0], &[])];
    assert_eq!(effects[3..], expected.map(|(reads, writes)| (x(reads), x(writes))));
}

/// Calls `f` with all functions of three applications of the installed OTP.
fn each_function(mut f: impl FnMut(&Module, u32, &Body)) {
    let wanted = ["stdlib-", "kernel-", "compiler-"];
    let chosen =
        |path: &&PathBuf| path.iter().any(|part| wanted.iter().any(|name| part.to_string_lossy().starts_with(name)));
    for path in common::all().iter().filter(chosen) {
        let Ok(module) = Module::load(&std::fs::read(path).unwrap()) else { continue };
        for index in 0..module.functions.len() as u32 {
            f(&module, index, &module.decode_function(index).unwrap());
        }
    }
}

/// The loader refuses what reads a register that may hold no term: so nothing is live where nothing has been set. This fails when a
/// writing instruction, or a way that control goes, is not known to be one.
#[test]
fn nothing_is_live_that_has_not_been_set() {
    let (mut instructions, mut left_out) = (0, 0);
    each_function(|module, index, body| {
        let (live, frames, function) = (module.liveness(body), module.frames(body), &module.functions[index as usize]);
        instructions += body.len();
        if !live.is_exact() {
            left_out += 1;
            return;
        }
        for (index, instr) in body.iter().enumerate().filter(|(index, _)| frames.before(*index).is_some()) {
            let at =
                || format!("{} {}/{} {index} {instr:?}", module.name(), module.atom(function.name), function.arity);
            let entry = instr.op == Op::Label && instr.args[0].number() == Some(function.entry.into());
            if index == 0 || entry {
                assert!(live.x(index).iter().all(|x| x < function.arity.into()), "{}", at());
                assert!(live.y(index).is_empty() && live.fr(index).is_empty(), "{}", at());
            }
            if instr.op.is_body_call() && instr.goes_on(&module.imports) {
                assert!(live.x(index + 1).iter().all(|x| x == 0) && live.fr(index + 1).is_empty(), "{}", at());
            }
            if let Some(slots) = frames.before(index).filter(|slots| *slots != MIXED) {
                assert!(live.y(index).iter().all(|y| u32::from(y) < slots), "{}", at());
            }
        }
    });
    println!("{instructions} instructions, {left_out} functions not analysed");
    assert_eq!(left_out, 0, "functions not analysed");
}

/// Every register among the operands is read or written, and nothing else is but what calls and their like do.
#[test]
fn all_registers_that_are_named_are_read_or_written() {
    each_function(|module, _, body| {
        for instr in body.iter() {
            let named: BTreeSet<_> = instr
                .args
                .iter()
                .flat_map(|arg| std::iter::once(arg).chain(arg.items()))
                .filter_map(register)
                .collect();
            let told: BTreeSet<_> = instr.reads(&module.lambdas).chain(instr.writes()).collect();
            assert!(named.is_subset(&told), "{instr:?}");
            assert!(told.difference(&named).all(|reg| matches!(reg, AnyReg::X(_))), "{instr:?}");
        }
    });
}

fn register(arg: &Arg) -> Option<AnyReg> {
    let x_or_y = arg.reg().map(|reg| match reg {
        myriad_beam::Reg::X(x) => AnyReg::X(x),
        myriad_beam::Reg::Y(y) => AnyReg::Y(y),
    });
    if let Arg::FR(r) = arg { Some(AnyReg::FR(*r)) } else { x_or_y }
}

/// What a run reads was live ever since it was set, on ways through the code that are drawn by chance.
#[test]
fn what_a_run_reads_was_live() {
    let seed = std::env::var("MYRIAD_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0x11fe_u64);
    println!("seed {seed}");
    let (mut random, mut steps, mut raised) = (Random::new(seed), 0, 0);
    each_function(|module, _, body| {
        let live = module.liveness(body);
        let run = Run::draw(module, body, &mut random);
        run.check(module, body, &live);
        steps += run.steps.len();
        raised += run.steps.iter().filter(|step| step.raises).count();
    });
    println!("{steps} steps, {raised} exceptions that were caught");
    assert!(common::all().is_empty() || raised > 100);
}

struct Step {
    index: usize,
    /// An exception was raised, and caught in this function.
    raises: bool,
    /// It branched.
    branches: bool,
}

/// A way through a function.
struct Run {
    steps: Vec<Step>,
}

impl Run {
    fn draw(module: &Module, body: &Body, random: &mut Random) -> Run {
        let at = |instr: &Instr<'_>| instr.args[0].number().unwrap() as u32;
        let labels: HashMap<u32, usize> = body
            .iter()
            .enumerate()
            .filter(|(_, instr)| instr.op == Op::Label)
            .map(|(index, instr)| (at(&instr), index))
            .collect();
        let info = body.iter().position(|instr| instr.op == Op::FuncInfo).unwrap();
        let (mut index, mut steps, mut catches) = (info + 1, Vec::new(), Vec::new());
        while let Some(instr) = body.get(index).filter(|_| steps.len() < 300) {
            match instr.op {
                Op::TryEnd | Op::TryCase | Op::CatchEnd => drop(catches.pop()),
                _ => {}
            }
            let is_named = !matches!(
                instr.op,
                Op::Try | Op::Catch | Op::RecvMark | Op::RecvSet | Op::Call | Op::CallLast | Op::CallOnly
            );
            let operands = instr.args.iter().flat_map(|arg| std::iter::once(arg).chain(arg.items()));
            let targets: Vec<_> = operands.filter_map(Arg::label).filter(|label| *label != 0 && is_named).collect();
            let may_raise = instr.op.is_body_call() || !instr.goes_on(&module.imports) && targets.is_empty();
            let raises = may_raise && !catches.is_empty() && random.below(2) == 0;
            let goes_on = instr.goes_on(&module.imports);
            let branches = !raises && !targets.is_empty() && (!goes_on || random.below(3) == 0);
            steps.push(Step { index, raises, branches });
            if matches!(instr.op, Op::Try | Op::Catch) {
                catches.push(labels[&instr.args[1].label().unwrap()]);
            }
            index = if raises {
                *catches.last().unwrap()
            } else if branches {
                labels[&targets[random.below(targets.len())]]
            } else if goes_on {
                index + 1
            } else {
                break;
            };
        }
        Run { steps }
    }

    /// From its end to its start: what is read further on must be live.
    fn check(&self, module: &Module, body: &Body, live: &Liveness) {
        let mut read = BTreeSet::new();
        for step in self.steps.iter().rev() {
            let instr = body.get(step.index).unwrap();
            let import = || module.imports.get(instr.args[1].number().unwrap() as usize);
            if step.raises {
                // What the handler is entered with is none of the registers before.
                read.retain(|reg| matches!(reg, AnyReg::Y(_)));
            } else if !step.branches || instr.op == Op::Bif2 && import().is_some_and(|import| import.sets_always) {
                read.retain(|reg| !instr.writes().any(|written| written == *reg));
            }
            if matches!(instr.op, Op::Trim) {
                let count = instr.args[0].number().unwrap() as u16;
                read = read
                    .into_iter()
                    .map(|reg| if let AnyReg::Y(y) = reg { AnyReg::Y(y + count) } else { reg })
                    .collect();
            }
            read.extend(instr.reads(&module.lambdas));
            for reg in &read {
                let is_live = match *reg {
                    AnyReg::X(x) => live.x(step.index).has(x),
                    AnyReg::Y(y) => live.y(step.index).has(y),
                    AnyReg::FR(r) => live.fr(step.index).has(r),
                };
                assert!(is_live, "{} {instr:?}: {reg:?} is read later", module.name());
            }
        }
    }
}
