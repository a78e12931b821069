//! Functions of any shape: blocks that lead to any others, such as loops with several heads, blocks that nothing leads to, both ways of a branch
//! to one block, one block behind many points. They are compiled in both ways, not run.

use myriad_native::code::Options;
use myriad_native::compile;
use myriad_native::form::{
    Binary, BlockId, Checked, Condition, End, Entry, FloatBinary, Form, Op, Place, Point, Region, Type, Value, Width,
};
use proptest::prelude::*;

use super::builder::Builder;
use super::random::Random;
use super::world::Name;

/// A function of so many blocks, each of which does something of its own with numbers and addresses that are the same in many.
fn shape(seed: u64, count: usize) -> Form {
    let mut random = Random(seed);
    let mut builder = Builder::new();
    let blocks: Vec<BlockId> = std::iter::once(BlockId(0)).chain((1..count).map(|_| builder.block())).collect();
    let mut point = 0;
    for block in &blocks {
        builder.at(*block);
        let word = fill(&mut builder, &mut random);
        let [first, second] = [(); 2].map(|()| random.of(&blocks));
        let sp = builder.load(Builder::block_word(9));
        let target = builder.name(Name::Entry(0));
        let mut next_point = || {
            point += 1;
            Point(point)
        };
        let [sp_after, x0_after] = [(); 2].map(|()| builder.value(Type::Word));
        let end = match random.below(9) {
            0..=1 => End::Jump(first),
            2..=3 => End::Branch {
                condition: word,
                then: first,
                otherwise: second,
                likely: random.of(&[None, Some(true), Some(false)]),
            },
            4 => End::Checked {
                result: sp_after,
                with: random.of(&[Checked::Add, Checked::Mul]),
                a: word,
                b: sp,
                fits: first,
                overflows: second,
            },
            5 => End::Tail { target, sp, x: vec![word] },
            6 => End::Call { target, sp, x: vec![word, sp], point: next_point(), sp_after, x0_after, next: first },
            7 => End::Visit {
                target,
                sp,
                what: word,
                point: next_point(),
                sp_after,
                x0_after,
                next: first,
                rare: random.below(2) == 0,
            },
            _ => End::Return { sp, x0: word },
        };
        builder.end(end);
    }
    let handlers: Vec<Entry> = (0..random.below(3))
        .map(|number| Entry {
            point: Point(1000 + number as u32),
            sp: builder.value(Type::Word),
            x0: builder.value(Type::Word),
            block: random.of(&blocks),
        })
        .collect();
    builder.finish(|form| form.points = handlers)
}

fn fill(builder: &mut Builder, random: &mut Random) -> Value {
    let heap = builder.name(Name::Heap);
    let number = builder.word(0x1234_5678_9abc_def0);
    let float = builder.give(Type::Float, |to| Op::Float(to, 2.5));
    let product = builder.give(Type::Float, |to| Op::FloatBinary(to, FloatBinary::Mul, float, float));
    let place =
        Place { base: myriad_native::form::Base::Value(heap), offset: 8, width: Width::Float, region: Region::Heap };
    builder.op(Op::Store(place, product));
    let mixed = builder.binary(Binary::Xor, heap, number);
    let word = builder.load(Builder::block_word(10 + random.below(3)));
    let sum = builder.binary(Binary::Add, word, mixed);
    if random.below(3) == 0 { builder.compare(Condition::Less, sum, heap) } else { sum }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn functions_of_any_shape_are_compiled(seed: u64, count in 1usize..25) {
        let form = shape(seed, count);
        prop_assert_eq!(form.verify(), Ok(()));
        for optimise in [true, false] {
            let code = compile(&form, &Options { optimise, check: true });
            prop_assert!(code.is_ok(), "{:?}\n{}", code, form);
            prop_assert_eq!(code.map(|code| code.declined), Ok(None), "{}", form);
        }
    }
}
