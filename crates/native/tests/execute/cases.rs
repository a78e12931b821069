//! Functions by hand, and random ones.

use myriad_native::code::{Options, Refused};
use myriad_native::form::{Binary, Checked, Condition, End, Entry, Form, Op, Point, Type, Value};
use myriad_native::x64::ENTRY_ALIGN;
use proptest::prelude::*;

use super::builder::Builder;
use super::interpreter;
use super::random::{FUEL, functions};
use super::world::{Name, World};

const BOTH: [Options; 2] = [Options { optimise: true, check: true }, Options { optimise: false, check: true }];

/// X0 counted down, by itself: a loop through its own entry.
fn count_down() -> Form {
    let mut builder = Builder::new();
    let (sp, x0, x1) = (builder.sp(), builder.x(0), builder.x(1));
    let none = builder.word(0);
    let condition = builder.compare(Condition::Equal, x0, none);
    let [stop, go] = [builder.block(), builder.block()];
    builder.end(End::Branch { condition, then: stop, otherwise: go, likely: None });
    builder.at(stop);
    builder.end(End::Return { sp, x0: x1 });
    builder.at(go);
    let less = builder.binary_word(Binary::Sub, x0, 1);
    let more = builder.binary(Binary::Add, x1, x0);
    let target = builder.name(Name::Entry(0));
    builder.end(End::Tail { target, sp, x: vec![less, more] });
    builder.finish(|_| {})
}

/// The sum of 1 to X0, by recursion: X0 in the frame, an overflow check, and a visit where that overflows.
fn sum(points: u32) -> Form {
    let mut builder = Builder::new();
    let (sp, x0) = (builder.sp(), builder.x(0));
    let none = builder.word(0);
    let condition = builder.compare(Condition::Equal, x0, none);
    let [stop, go] = [builder.block(), builder.block()];
    builder.end(End::Branch { condition, then: stop, otherwise: go, likely: Some(false) });
    builder.at(stop);
    builder.end(End::Return { sp, x0: none });
    builder.at(go);
    builder.op(Op::Source(3));
    let less = builder.binary_word(Binary::Sub, x0, 1);
    let (sp_after, result) = builder.call(0, sp, &[x0], vec![less], Point(points));
    builder.op(Op::Source(4));
    let kept = builder.load(Builder::stack_word(sp_after, 0));
    let sp = builder.binary_word(Binary::Add, sp_after, 8);
    let added = builder.value(Type::Word);
    let [fits, overflows] = [builder.block(), builder.block()];
    builder.end(End::Checked { result: added, with: Checked::Add, a: result, b: kept, fits, overflows });
    builder.at(fits);
    builder.end(End::Return { sp, x0: added });
    builder.at(overflows);
    let (sp, x0) = builder.visit(sp, Point(points + 1), true);
    builder.end(End::Return { sp, x0 });
    let handler = builder.block();
    let [handler_sp, handler_x0] = [builder.value(Type::Word), builder.value(Type::Word)];
    builder.at(handler);
    let twice = builder.binary(Binary::Add, handler_x0, handler_x0);
    builder.end(End::Return { sp: handler_sp, x0: twice });
    builder.finish(|form| {
        form.points.push(Entry { point: Point(points + 2), sp: handler_sp, x0: handler_x0, block: handler })
    })
}

#[test]
fn a_loop_through_the_entry_returns() {
    for options in BOTH {
        let mut world = World::new(&[count_down()], 0, &options);
        let outcome = world.run(0, 1, [1_000_000, 5, 0, 0, 0]);
        assert_eq!(outcome.x0, 5 + 1_000_000 * 1_000_001 / 2);
        assert!(world.codes[0].declined.is_none());
    }
}

#[test]
fn recursion_keeps_its_frames_and_points_can_be_entered() {
    for options in BOTH {
        let forms = [sum(0)];
        let mut world = World::new(&forms, 3, &options);
        let outcome = world.run(0, 1, [10_000, 0, 0, 0, 0]);
        assert_eq!(outcome.x0, 10_000 * 10_001 / 2);
        assert_eq!(outcome, interpreter::run(&mut world, &forms, 0, 1, [10_000, 0, 0, 0, 0]));
        let outcome = world.run_from(Point(2), 1, 21);
        assert_eq!(outcome.x0, 42);
        assert_eq!(outcome, interpreter::run_from(&mut world, &forms, Point(2), 1, 21));
        let code = &world.codes[0];
        assert!(code.declined.is_none() && code.figures.exits == 6 && code.figures.points == 3, "{:?}", code.figures);
        assert_eq!(code.entry as usize % ENTRY_ALIGN, 0);
        assert!(code.sources.iter().any(|(_, source)| *source == 3));
        assert!(code.sources.is_sorted_by_key(|(offset, _)| *offset));
    }
}

#[test]
fn what_overflows_is_visited() {
    for options in BOTH {
        let mut builder = Builder::new();
        let (sp, x0, x1) = (builder.sp(), builder.x(0), builder.x(1));
        let [fits, overflows] = [builder.block(), builder.block()];
        let result = builder.value(Type::Word);
        builder.end(End::Checked { result, with: Checked::Mul, a: x0, b: x1, fits, overflows });
        builder.at(fits);
        builder.end(End::Return { sp, x0: result });
        builder.at(overflows);
        let (sp, x0) = builder.visit(sp, Point(0), true);
        builder.end(End::Return { sp, x0 });
        let forms = [builder.finish(|_| {})];
        let mut world = World::new(&forms, 1, &options);
        for x in [[6, 7], [1 << 40, 1 << 40], [u64::MAX, 5], [1 << 62, 2], [1 << 63, 1]] {
            let x = [x[0], x[1], 0, 0, 0];
            assert_eq!(world.run(0, 3, x), interpreter::run(&mut world, &forms, 0, 3, x));
        }
        let figures = world.codes[0].figures;
        assert_eq!((figures.flag_branches, figures.flag_registers), (1, 0));
    }
}

/// A loop that several points lead into, with a number and an address in it that do not change: they are not moved to where the points do not come by.
#[test]
fn what_is_moved_out_of_a_loop_is_not_moved_out_of_ways_in() {
    let mut builder = Builder::new();
    let (sp, x0) = (builder.sp(), builder.x(0));
    let [sp_now, count, total] = [Type::Word; 3].map(|kind| builder.variable(kind));
    builder.op(Op::Set(sp_now, sp));
    builder.op(Op::Set(count, x0));
    let none = builder.word(0);
    builder.op(Op::Set(total, none));
    let [head, body, visits, done] = [(); 4].map(|()| builder.block());
    builder.end(End::Jump(head));
    builder.at(head);
    let get = |builder: &mut Builder, variable| builder.give(Type::Word, |to| Op::Get(to, variable));
    let left = get(&mut builder, count);
    let none = builder.word(0);
    let condition = builder.compare(Condition::Equal, left, none);
    builder.end(End::Branch { condition, then: done, otherwise: body, likely: None });
    builder.at(body);
    let less = builder.binary_word(Binary::Sub, left, 1);
    builder.op(Op::Set(count, less));
    let heap = builder.name(Name::Heap);
    let float = builder.give(Type::Float, |to| Op::Float(to, 2.5));
    let bits = builder.give(Type::Word, |to| Op::FloatBits(to, float));
    let sum = get(&mut builder, total);
    let sum = builder.binary(Binary::Xor, sum, heap);
    let sum = builder.binary(Binary::Add, sum, bits);
    builder.op(Op::Set(total, sum));
    let odd = builder.binary_word(Binary::And, left, 3);
    builder.end(End::Branch { condition: odd, then: head, otherwise: visits, likely: Some(true) });
    builder.at(visits);
    let sp = get(&mut builder, sp_now);
    builder.op(Op::Store(Builder::block_word(20), less));
    builder.op(Op::Store(Builder::block_word(21), sum));
    let (sp, _) = builder.visit(sp, Point(0), true);
    builder.op(Op::Set(sp_now, sp));
    let less = builder.load(Builder::block_word(20));
    builder.op(Op::Set(count, less));
    let sum = builder.load(Builder::block_word(21));
    builder.op(Op::Set(total, sum));
    builder.end(End::Jump(head));
    builder.at(done);
    let (sp, sum): (Value, Value) = (get(&mut builder, sp_now), get(&mut builder, total));
    builder.end(End::Return { sp, x0: sum });
    let forms = [builder.finish(|_| {})];
    for options in BOTH {
        let mut world = World::new(&forms, 1, &options);
        assert!(world.codes[0].declined.is_none());
        let x = [100, 0, 0, 0, 0];
        assert_eq!(world.run(0, 3, x), interpreter::run(&mut world, &forms, 0, 3, x));
    }
}

/// Runs random functions in both ways; gives why some had to be compiled plainly.
fn agree(seed: u64, count: usize, size: usize, options: Options) -> Vec<Refused> {
    let (forms, points) = functions(seed, count, size);
    for form in &forms {
        form.verify().unwrap_or_else(|what| panic!("seed {seed}: {what}\n{form}"));
    }
    let mut world = World::new(&forms, points, &options);
    world.fuel = Some((FUEL, 50));
    for function in 0..count {
        let x = [1, 2, 3, 4, 5].map(|number: u64| number.wrapping_mul(seed));
        let native = world.run(function, seed, x);
        let expected = interpreter::run(&mut world, &forms, function, seed, x);
        assert!(native == expected, "seed {seed}, function {function}");
        for entry in &forms[function].points {
            let native = world.run_from(entry.point, seed, 77);
            let expected = interpreter::run_from(&mut world, &forms, entry.point, seed, 77);
            assert!(native == expected, "seed {seed}, {}", entry.point);
        }
    }
    world.codes.into_iter().filter_map(|code| code.declined).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn random_functions_do_what_they_mean(seed: u64, count in 1usize..4, size in 1usize..25, optimise: bool) {
        agree(seed, count, size, Options { optimise, check: true });
    }
}

#[test]
fn the_optimising_way_is_not_declined() {
    for seed in 0..40 {
        assert_eq!(agree(seed, 2, 20, BOTH[0]), vec![], "seed {seed}");
    }
}
