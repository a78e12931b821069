//! Heaps that send each other terms by bundles, against the model of the terms.

use super::bundles::{ALONE, bundles, sent};
use super::{Machine, REGISTERS, SEEDS, STEPS, Walker, mix};
use crate::census::{Census, Miscount};
use crate::{LiteralArea, Roots, Settings, bundle_area, is_literal};
use myriad_term::{Build, Term, copy};
use myriad_testing::Random;

const MACHINES: usize = 3;

/// Bundles whose counts are not those that the machines have.
fn miscounts(machines: &[Machine]) -> Vec<Miscount> {
    let (mut objects, mut others) = (Census::default(), Census::default());
    for machine in machines {
        machine.heap.each_object(|object| objects.object(object));
        others.heap(&machine.heap);
    }
    others.and(objects).miscounts()
}

fn exchange(seed: u64, settings: &Settings, steps: usize, collect_one_in: usize) -> usize {
    let mut area = LiteralArea::new();
    let mut random = Random::new(seed);
    let mut machines: Vec<Machine> =
        (0..MACHINES as u64).map(|i| Machine::new(seed + 1000 * i, settings, &mut area)).collect();
    let mut most = 0;
    for step in 0..steps {
        let (from, to) = (random.below(MACHINES), random.below(MACHINES));
        machines[from].step(collect_one_in);
        if random.below(4) == 0 {
            let (term, _) = machines[from].pick();
            // Terms whose parts are shared many times over are copied as trees, as large as that may be.
            if copy::size_within(term, 2_000, |at| is_literal(at) || bundle_area::range().holds(at)).is_none() {
                continue;
            }
            // In every other message among others that make it large.
            let term = if random.below(2) == 0 {
                let mut items: Vec<Term> = (0..30).map(Term::small).collect();
                items[random.below(30)] = term;
                machines[from].heap.list(&items)
            } else {
                term
            };
            let copy = sent(term).receive(&mut machines[to].heap).0;
            // A copy of what was copied before differs from it in nothing.
            let model = Walker::default().hash(copy);
            machines[to].put(copy, model);
        }
        most = most.max(bundles() as usize);
        if step % 64 == 0 {
            assert_eq!(miscounts(&machines), []);
        }
    }
    for machine in &mut machines {
        machine.registers.fill(Term::NIL);
        machine.models.fill(mix(Term::NIL.raw()));
        machine.heap.stop = machine.heap.hend;
        machine.stack_models.clear();
        // SAFETY: nothing is used again.
        unsafe { machine.heap.collect_fullsweep(0, &mut Roots::new()) }.unwrap();
        assert_eq!((machine.heap.used_words(), machine.registers.len()), (0, REGISTERS));
    }
    assert_eq!(bundles(), 0, "nobody holds any");
    let mut counts: Vec<usize> = machines.iter().flat_map(|machine| &machine.shared).map(|s| s.references()).collect();
    counts.extend(machines.iter().map(|machine| machine.magic.references()));
    assert!(counts.iter().all(|count| *count == 1), "counts come back");
    most
}

#[test]
fn what_is_sent_stays_what_it_is() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut most = 0;
    for seed in 0..SEEDS.min(4) {
        for (steps, one_in, fullsweep_after) in [(STEPS / 5, 1, 65_535), (STEPS / 2, 8, 5), (STEPS, 200, 65_535)] {
            let settings = Settings { fullsweep_after, ..Settings::default() };
            most = most.max(exchange(seed, &settings, steps, one_in));
        }
    }
    assert!(most > if cfg!(miri) { 0 } else { 20 }, "{most} bundles at a time are too few to mean anything");
}
