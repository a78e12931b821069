//! The frame before each instruction, in hand-made code.

mod common;

use common::made::{
    A::{self, F, List, U, X, Y},
    module,
};
use myriad_beam::{Frames, MIXED, Op};

type Code<'a> = (Op, &'a [A]);

const ALLOCATE_2: Code<'_> = (Op::Allocate, &[U(2), U(1)]);
const INIT_2: Code<'_> = (Op::InitYregs, &[List(2), Y(0), Y(1)]);
const RAISE: Code<'_> = (Op::CallExt, &[U(1), U(0)]);
const RETURN: Code<'_> = (Op::Return, &[]);

/// The frames of f/1, from behind its entry label on.
fn frames(body: &[Code<'_>]) -> (Vec<Option<u32>>, Frames) {
    let module = module(body).unwrap();
    let frames = module.frames(&module.decode_function(0).unwrap());
    assert_eq!((0..3).map(|index| frames.before(index)).collect::<Vec<_>>(), [Some(0); 3], "the head has no frame");
    ((0..body.len()).map(|index| frames.before(3 + index)).collect(), frames)
}

#[test]
fn frames_are_pushed_trimmed_and_dropped() {
    let body = [ALLOCATE_2, INIT_2, (Op::Trim, &[U(1), U(1)]), (Op::Deallocate, &[U(1)]), RETURN];
    assert_eq!(frames(&body).0, [Some(0), Some(2), Some(2), Some(1), Some(0)]);
}

#[test]
fn a_branch_takes_its_frame_along() {
    let (before, frames) = frames(&[
        ALLOCATE_2,
        INIT_2,
        (Op::IsNil, &[F(4), X(0)]),
        (Op::Deallocate, &[U(2)]),
        (Op::Label, &[U(3)]),
        RETURN,
        (Op::Label, &[U(4)]),
        (Op::Deallocate, &[U(2)]),
        (Op::Jump, &[F(3)]),
        (Op::Label, &[U(5)]),
    ]);
    let two = Some(2);
    assert_eq!(before, [Some(0), two, two, two, Some(0), Some(0), two, two, Some(0), None]);
    assert_eq!((1..6).filter(|label| frames.is_target(*label)).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn ways_with_different_frames_meet_in_a_call_that_raises() {
    let (before, frames) = frames(&[
        (Op::IsNil, &[F(3), X(0)]),
        ALLOCATE_2,
        INIT_2,
        (Op::Label, &[U(3)]),
        RAISE,
        // Nobody comes by here.
        (Op::Label, &[U(4)]),
        RAISE,
    ]);
    assert_eq!(before, [Some(0), Some(0), Some(2), Some(MIXED), Some(MIXED), None, None]);
    assert!(frames.is_target(3) && !frames.is_target(1));
}
