//! What code proves of the terms that it reads and writes through: what must be checked, refused, adopted.

mod common;

use common::made::{
    A::{self, Atom, F, I, List, U, X, Y},
    module,
};
use myriad_beam::Op;

type Code<'a> = (Op, &'a [A]);

const RETURN: Code<'_> = (Op::Return, &[]);

/// The instructions of f/1 that must check their operands, must not run, and need the message adopted before.
fn found(body: &[Code<'_>]) -> [Vec<Op>; 3] {
    let module = module(body).unwrap();
    let body = module.decode_function(0).unwrap();
    let proofs = module.proofs(0, &body);
    let ops = |wanted: &dyn Fn(usize) -> bool| {
        body.iter().enumerate().filter(|(index, _)| wanted(*index)).map(|(_, instr)| instr.op).collect()
    };
    [ops(&|i| proofs.must_check(i)), ops(&|i| proofs.must_refuse(i)), ops(&|i| proofs.must_adopt(i))]
}

#[track_caller]
fn checked(body: &[Code<'_>], expected: &[Op]) {
    assert_eq!(found(body), [expected.to_vec(), Vec::new(), Vec::new()]);
}

#[test]
fn a_test_proves_and_its_absence_does_not() {
    let head: Code<'_> = (Op::GetHd, &[X(0), X(0)]);
    checked(&[head, RETURN], &[Op::GetHd]);
    checked(&[(Op::IsNonemptyList, &[F(1), X(0)]), head, RETURN], &[]);
    // A head is anything.
    checked(&[(Op::IsNonemptyList, &[F(1), X(0)]), head, head, RETURN], &[Op::GetHd]);
    checked(&[(Op::IsList, &[F(1), X(0)]), head, RETURN], &[Op::GetHd]);
    // A list that is not nil is a cons.
    let not_nil =
        [(Op::IsList, &[F(1), X(0)][..]), (Op::IsNil, &[F(3), X(0)]), RETURN, (Op::Label, &[U(3)]), head, RETURN];
    checked(&not_nil, &[]);
}

#[test]
fn an_element_must_be_within_the_tuple() {
    let element = |index| (Op::GetTupleElement, [X(0), U(index), X(1)]);
    let arity: Code<'_> = (Op::TestArity, &[F(1), X(0), U(2)]);
    for (index, expected) in [(0, &[][..]), (1, &[]), (2, &[Op::GetTupleElement])] {
        let (op, args) = element(index);
        checked(&[(Op::IsTuple, &[F(1), X(0)]), arity, (op, &args), RETURN], expected);
    }
    let (op, args) = element(0);
    checked(&[(Op::IsTuple, &[F(1), X(0)]), (op, &args), RETURN], &[op]);
    // What has been checked is proved.
    checked(&[(op, &args), (op, &args), RETURN], &[op]);
    checked(&[(Op::IsTaggedTuple, &[F(1), X(0), U(1), Atom(6)]), (op, &args), RETURN], &[]);
    let by_arity = |at: u8| {
        let label = (Op::Label, [U(3)]);
        let args = [X(0), F(1), List(2), U(at), F(3)];
        found(&[(Op::SelectTupleArity, &args), (label.0, &label.1), (op, &[X(0), U(1), X(1)]), RETURN])[0].len()
    };
    assert_eq!((by_arity(1), by_arity(2)), (1, 0));
}

#[test]
fn registers_with_the_same_term_are_proved_together() {
    let head = |reg| (Op::GetHd, [reg, X(1)]);
    let (op, args) = head(Y(0));
    let body = |test: A| {
        found(&[
            (Op::Allocate, &[U(1), U(1)]),
            (Op::Move, &[X(0), Y(0)]),
            (Op::IsNonemptyList, &[F(1), test]),
            (Op::Call, &[U(1), F(8)]),
            (op, &args),
            (Op::Deallocate, &[U(1)]),
            RETURN,
        ])[0]
            .len()
    };
    assert_eq!(body(X(0)), 0);
    // What a call returns is another term than the one that was tested.
    let lost: [Code<'_>; 6] = [
        (Op::Allocate, &[U(0), U(1)]),
        (Op::IsNonemptyList, &[F(1), X(0)]),
        (Op::Call, &[U(1), F(8)]),
        (Op::GetHd, &[X(0), X(0)]),
        (Op::Deallocate, &[U(0)]),
        RETURN,
    ];
    checked(&lost, &[Op::GetHd]);
}

#[test]
fn ways_that_meet_agree_or_prove_nothing() {
    let meet = |other: Code<'_>| {
        found(&[
            (Op::IsNonemptyList, &[F(3), X(0)]),
            (Op::Jump, &[F(4)]),
            (Op::Label, &[U(3)]),
            (Op::TestHeap, &[U(2), U(1)]),
            other,
            (Op::Label, &[U(4)]),
            (Op::GetTl, &[X(0), X(0)]),
            RETURN,
        ])[0]
            .len()
    };
    assert_eq!(meet((Op::PutList, &[I(1), X(0), X(0)])), 0);
    assert_eq!(meet((Op::Move, &[I(1), X(0)])), 1);
    // A backward branch takes back what was known.
    let back = |again: A| {
        found(&[
            (Op::IsNonemptyList, &[F(1), X(0)]),
            (Op::Label, &[U(3)]),
            (Op::GetHd, &[X(0), X(1)]),
            (Op::Move, &[again, X(0)]),
            (Op::IsNil, &[F(3), X(1)]),
            RETURN,
        ])[0]
            .len()
    };
    assert_eq!((back(X(0)), back(X(1))), (0, 1));
}

/// An exception may come before or after a slot is set.
#[test]
fn a_handler_finds_slots_as_any_point_before_left_them() {
    let body = |within: Code<'_>| {
        found(&[
            (Op::Allocate, &[U(2), U(1)]),
            (Op::InitYregs, &[List(2), Y(0), Y(1)]),
            (Op::IsNonemptyList, &[F(1), X(0)]),
            (Op::Move, &[X(0), Y(1)]),
            (Op::Try, &[Y(0), F(3)]),
            within,
            (Op::Call, &[U(1), F(8)]),
            (Op::TryEnd, &[Y(0)]),
            (Op::Deallocate, &[U(2)]),
            RETURN,
            (Op::Label, &[U(3)]),
            (Op::TryCase, &[Y(0)]),
            (Op::GetHd, &[Y(1), X(0)]),
            (Op::Deallocate, &[U(2)]),
            RETURN,
        ])[0]
            .len()
    };
    assert_eq!(body((Op::Move, &[X(0), X(1)])), 0);
    assert_eq!(body((Op::Move, &[I(1), Y(1)])), 1);
}

#[test]
fn only_a_fresh_tuple_is_changed() {
    let [must_check, must_refuse, _] = found(&[(Op::SetTupleElement, &[I(1), X(0), U(0)]), RETURN]);
    assert_eq!((must_check, must_refuse), (vec![Op::SetTupleElement], vec![Op::SetTupleElement]));
    // Not even one of its own making that others may know.
    let made: [Code<'_>; 4] = [
        (Op::TestHeap, &[U(2), U(1)]),
        (Op::PutTuple2, &[X(0), List(1), X(0)]),
        (Op::SetTupleElement, &[I(1), X(0), U(0)]),
        RETURN,
    ];
    assert_eq!(found(&made), [vec![], vec![Op::SetTupleElement], vec![]]);
}

#[test]
fn a_message_is_adopted_before_more_than_a_look() {
    let receive = |then: &[Code<'_>]| {
        let mut body: Vec<Code<'_>> = vec![
            (Op::Allocate, &[U(1), U(1)]),
            (Op::InitYregs, &[List(1), Y(0)]),
            (Op::Label, &[U(3)]),
            (Op::LoopRec, &[F(4), X(0)]),
        ];
        body.extend(then);
        body.extend::<[Code<'_>; 2]>([(Op::Label, &[U(4)]), (Op::Wait, &[F(3)])]);
        found(&body).into_iter().nth(2).unwrap_or_default()
    };
    let accept: [Code<'_>; 3] = [(Op::RemoveMessage, &[]), (Op::Deallocate, &[U(1)]), RETURN];
    let with = |first: &[Code<'static>]| receive(&[first, &accept].concat());
    assert_eq!(with(&[(Op::Move, &[X(0), X(1)])]), []);
    assert_eq!(with(&[(Op::Move, &[X(0), Y(0)])]), []);
    assert_eq!(with(&[(Op::Call, &[U(1), F(8)])]), [Op::Call]);
    assert_eq!(with(&[(Op::TestHeap, &[U(2), U(1)]), (Op::PutList, &[X(0), X(0), X(0)])]), [Op::PutList]);
    // A slot that holds part of a message which is left in the queue.
    assert_eq!(receive(&[(Op::LoopRecEnd, &[F(3)])]), []);
    assert_eq!(receive(&[(Op::Move, &[X(0), Y(0)]), (Op::LoopRecEnd, &[F(3)])]), [Op::LoopRecEnd]);
}
