//! Measurements, for releases: `cargo test --release -p myriad-native --test execute measure -- --ignored --nocapture`.

use std::time::Instant;

use myriad_native::code::{Options, operations};
use myriad_native::compile;
use myriad_native::form::{Binary, Checked, Condition, End, Form, Op, Point, Type, Value};

use super::builder::Builder;
use super::random::{FUEL, functions};
use super::world::World;

const WAYS: [Options; 2] = [Options { optimise: true, check: false }, Options { optimise: false, check: false }];

#[test]
#[ignore = "a measurement"]
fn measure_compiling() {
    let forms: Vec<Form> = (0..60).flat_map(|seed| functions(seed, 2, 25).0).collect();
    let count: usize = forms.iter().map(operations).sum();
    for options in WAYS {
        let start = Instant::now();
        let codes: Vec<_> = forms.iter().map(|form| compile(form, &options).expect("code")).collect();
        let seconds = start.elapsed().as_secs_f64();
        let bytes: usize = codes.iter().map(|code| code.bytes.len()).sum();
        let exits: u32 = codes.iter().map(|code| code.figures.exits).sum();
        let flags: u32 = codes.iter().map(|code| code.figures.flag_branches).sum();
        let registers: u32 = codes.iter().map(|code| code.figures.flag_registers).sum();
        let spilling = codes.iter().filter(|code| code.figures.spill_bytes > 0).count();
        let points: u32 = codes.iter().map(|code| code.figures.points).sum();
        println!(
            "{options:?}: {} forms, {count} operations, {:.0} operations/s, {:.1} bytes each, {points} points, {exits} exits, \
             overflow {flags} by flag {registers} by register, {spilling} spill",
            forms.len(),
            count as f64 / seconds,
            bytes as f64 / count as f64
        );
    }
}

/// Many operations in one function: `kind` of end between them.
fn long(count: u32, kind: u32) -> Form {
    let mut builder = Builder::new();
    let mut sp = builder.sp();
    let mut sum = builder.x(0);
    for number in 0..count {
        match kind {
            0 => (sp, sum) = builder.call(0, sp, &[], vec![sum], Point(number)),
            1 => (sp, sum) = builder.visit(sp, Point(number), true),
            2 => {
                let [then, next] = [builder.block(), builder.block()];
                let other = builder.word(u64::from(number));
                let condition = builder.compare(Condition::Equal, sum, other);
                builder.end(End::Branch { condition, then, otherwise: next, likely: None });
                builder.at(then);
                builder.end(End::Return { sp, x0: other });
                builder.at(next);
            }
            _ => sum = builder.binary_word(Binary::Mul, sum, u64::from(number) | 1 << 40),
        }
        sum = builder.binary_word(Binary::Add, sum, 8);
    }
    builder.end(End::Return { sp, x0: sum });
    builder.finish(|_| {})
}

#[test]
#[ignore = "a measurement"]
fn measure_large_functions() {
    for (kind, name) in ["calls", "visits", "clauses", "arithmetic"].iter().enumerate() {
        for count in [500, 2_000, 8_000] {
            let form = long(count, kind as u32);
            for options in WAYS {
                let start = Instant::now();
                let result = compile(&form, &options);
                let seconds = start.elapsed().as_secs_f64();
                let what = result.map(|code| (code.bytes.len(), code.declined));
                println!(
                    "{count} {name}, optimise {}: {seconds:.3} s, {:.0} operations/s, {what:?}",
                    options.optimise,
                    operations(&form) as f64 / seconds
                );
            }
        }
    }
}

/// `fib/1` on words shifted by three, with reductions, room and overflow checked, as code from BEAM would do it.
pub fn fib() -> Form {
    let mut builder = Builder::new();
    let (sp, x0) = (builder.sp(), builder.x(0));
    let fuel = builder.load(Builder::block_word(FUEL));
    let less = builder.binary_word(Binary::Sub, fuel, 1);
    builder.op(Op::Store(Builder::block_word(FUEL), less));
    let none = builder.word(0);
    let condition = builder.compare(Condition::Less, less, none);
    let [stop, go, small, large, other, sums] = [(); 6].map(|()| builder.block());
    builder.end(End::Branch { condition, then: stop, otherwise: go, likely: Some(false) });
    builder.at(stop);
    let (sp_again, x0_again) = builder.visit(sp, Point(0), true);
    builder.end(End::Return { sp: sp_again, x0: x0_again });
    builder.at(go);
    let tag = builder.binary_word(Binary::And, x0, 7);
    builder.end(End::Branch { condition: tag, then: other, otherwise: small, likely: Some(false) });
    builder.at(other);
    let (sp_again, x0_again) = builder.visit(sp, Point(1), true);
    builder.end(End::Return { sp: sp_again, x0: x0_again });
    builder.at(small);
    let two = builder.word(2 << 3);
    let condition = builder.compare(Condition::Less, x0, two);
    let base = builder.block();
    builder.end(End::Branch { condition, then: base, otherwise: large, likely: None });
    builder.at(base);
    builder.end(End::Return { sp, x0 });
    builder.at(large);
    let limit = builder.load(Builder::block_word(FUEL + 1));
    let room = builder.binary(Binary::Sub, sp, limit);
    let needed = builder.word(64);
    let condition = builder.compare(Condition::Below, room, needed);
    let [full, fits] = [builder.block(), builder.block()];
    builder.end(End::Branch { condition, then: full, otherwise: fits, likely: Some(false) });
    builder.at(full);
    let (sp_again, x0_again) = builder.visit(sp, Point(2), true);
    builder.end(End::Return { sp: sp_again, x0: x0_again });
    builder.at(fits);
    let subtract = |builder: &mut Builder, from: Value, number: u64| {
        let [fits, overflows] = [builder.block(), builder.block()];
        let (result, b) = (builder.value(Type::Word), builder.word(number << 3));
        builder.end(End::Checked { result, with: Checked::Sub, a: from, b, fits, overflows });
        builder.at(overflows);
        builder.end(End::Jump(other));
        builder.at(fits);
        result
    };
    let one_less = subtract(&mut builder, x0, 1);
    let (sp_after, first) = builder.call(0, sp, &[x0], vec![one_less], Point(3));
    let kept = builder.load(Builder::stack_word(sp_after, 0));
    // The frame stays: the first result takes the place of the argument.
    let two_less = builder.value(Type::Word);
    let [fits, overflows] = [builder.block(), builder.block()];
    let b = builder.word(2 << 3);
    builder.end(End::Checked { result: two_less, with: Checked::Sub, a: kept, b, fits, overflows });
    builder.at(overflows);
    let (sp_again, x0_again) = builder.visit(sp_after, Point(4), true);
    builder.end(End::Return { sp: sp_again, x0: x0_again });
    builder.at(fits);
    let above = builder.binary_word(Binary::Add, sp_after, 8);
    let (sp_after, second) = builder.call(0, above, &[first], vec![two_less], Point(5));
    let first = builder.load(Builder::stack_word(sp_after, 0));
    let sp = builder.binary_word(Binary::Add, sp_after, 8);
    let (sum, overflows) = (builder.value(Type::Word), builder.block());
    builder.end(End::Checked { result: sum, with: Checked::Add, a: first, b: second, fits: sums, overflows });
    builder.at(overflows);
    let (sp_again, x0_again) = builder.visit(sp, Point(6), true);
    builder.end(End::Return { sp: sp_again, x0: x0_again });
    builder.at(sums);
    builder.end(End::Return { sp, x0: sum });
    builder.finish(|_| {})
}

#[test]
fn fib_is_right() {
    for options in WAYS {
        let mut world = World::new(&[fib()], 7, &options);
        world.fuel = Some((FUEL, 1 << 40));
        assert_eq!(world.run(0, 0, [20 << 3, 0, 0, 0, 0]).x0, 6765 << 3);
    }
}

#[test]
#[ignore = "a measurement"]
fn measure_fib() {
    for options in WAYS {
        let mut world = World::new(&[fib()], 7, &options);
        world.fuel = Some((FUEL, 1 << 40));
        let times = (0..15).map(|_| {
            let start = Instant::now();
            assert_eq!(world.run(0, 0, [32 << 3, 0, 0, 0, 0]).x0, 2_178_309 << 3);
            start.elapsed().as_secs_f64() * 1000.0
        });
        let least = times.fold(f64::MAX, f64::min);
        println!("fib(32), optimise {}: {least:.2} ms, {} bytes", options.optimise, world.codes[0].bytes.len());
        std::fs::write(std::env::temp_dir().join(format!("fib-{}.bin", options.optimise)), &world.codes[0].bytes)
            .expect("written");
    }
}
