//! The load-time verifier on hand-made code: what is sound loads, and each way of being unsound is refused.

mod common;

use common::made::{
    A::{self, Atom, F, I, List, U, X, Y},
    module,
};
use myriad_beam::Op;

#[track_caller]
fn refused(body: &[(Op, &[A])], why: &str) {
    let error = module(body).err().expect("it was accepted");
    assert!(error.to_string().contains(why), "{error}");
}

const RETURN: (Op, &[A]) = (Op::Return, &[]);
const CALL_G: (Op, &[A]) = (Op::Call, &[U(1), F(8)]);

#[test]
fn sound_code_loads() {
    assert!(module(&[RETURN]).is_ok());
    assert!(module(&[(Op::Allocate, &[U(0), U(1)]), CALL_G, (Op::Deallocate, &[U(0)]), RETURN]).is_ok());
    assert!(module(&[(Op::CallOnly, &[U(1), F(8)])]).is_ok());
    assert!(module(&[(Op::IsNil, &[F(1), X(0)]), RETURN]).is_ok());
}

#[test]
fn x_registers_must_hold_terms() {
    refused(&[(Op::Move, &[X(1), X(0)]), RETURN], "X register that may hold no term");
    let lost = [(Op::Allocate, &[U(0), U(1)][..]), (Op::Move, &[X(0), X(1)]), CALL_G, (Op::Move, &[X(1), X(0)])];
    refused(&lost, "X register that may hold no term");
    refused(&[(Op::CallOnly, &[U(2), F(8)])], "X register that must hold a term");
    refused(&[(Op::TestHeap, &[U(2), U(2)]), RETURN], "X register that must hold a term");
    // Set on one way only.
    let one_way = [
        (Op::IsNil, &[F(3), X(0)][..]),
        (Op::Move, &[I(1), X(1)]),
        (Op::Label, &[U(3)]),
        (Op::Move, &[X(1), X(0)]),
        RETURN,
    ];
    refused(&one_way, "X register that may hold no term");
}

#[test]
fn a_backward_branch_lowers_what_is_known() {
    let looping = |register| {
        module(&[
            (Op::Allocate, &[U(0), U(1)]),
            (Op::Move, &[X(0), X(1)]),
            (Op::Label, &[U(3)]),
            (Op::Move, &[X(register), X(2)]),
            CALL_G,
            (Op::IsNil, &[F(3), X(0)]),
            (Op::Deallocate, &[U(0)]),
            RETURN,
        ])
    };
    assert!(looping(0).is_ok());
    assert!(looping(1).is_err());
}

#[test]
fn code_reached_only_from_below_is_verified() {
    let body = |register| {
        module(&[
            (Op::Jump, &[F(4)]),
            (Op::Label, &[U(3)]),
            (Op::Move, &[X(register), X(0)]),
            RETURN,
            (Op::Label, &[U(4)]),
            (Op::Jump, &[F(3)]),
        ])
    };
    assert!(body(0).is_ok());
    assert!(body(1).is_err());
}

#[test]
fn frames_are_what_they_are() {
    let allocate: (Op, &[A]) = (Op::Allocate, &[U(1), U(1)]);
    let init: (Op, &[A]) = (Op::InitYregs, &[List(1), Y(0)]);
    refused(&[CALL_G, RETURN], "call without a frame");
    refused(&[allocate, init, RETURN], "frame where none");
    refused(&[allocate, init, (Op::Deallocate, &[U(2)]), RETURN], "not a frame of this size");
    refused(&[allocate, allocate, RETURN], "frame where none");
    refused(&[allocate, (Op::Move, &[X(0), Y(1)]), RETURN], "writes to a slot");
    refused(&[(Op::Move, &[Y(0), X(0)]), RETURN], "slot that is not there");
    refused(&[allocate, init, (Op::Trim, &[U(1), U(1)]), RETURN], "not a frame of this size");
    refused(&[allocate, init, (Op::CallLast, &[U(1), F(8), U(0)])], "not a frame of this size");
    assert!(module(&[allocate, init, (Op::CallLast, &[U(1), F(8), U(1)])]).is_ok());
    // Different frames meet.
    let meet =
        [(Op::IsNil, &[F(3), X(0)][..]), allocate, init, (Op::Label, &[U(3)]), (Op::Deallocate, &[U(1)]), RETURN];
    refused(&meet, "not a frame of this size");
}

#[test]
fn unset_slots_make_zeroed_frames() {
    let body = |set: (Op, &'static [A])| {
        let body = [(Op::Allocate, &[U(1), U(1)][..]), set, CALL_G, (Op::Deallocate, &[U(1)]), RETURN];
        let module = module(&body).unwrap();
        let ops: Vec<_> = module.decode_function(0).unwrap().iter().map(|instr| instr.op).collect();
        (module.functions[0].needs_nils, ops.contains(&Op::AllocateZero))
    };
    assert_eq!(body((Op::InitYregs, &[List(1), Y(0)])), (false, false));
    assert_eq!(body((Op::Move, &[X(0), X(1)])), (true, true));
}

#[test]
fn catches_nest() {
    let allocate: (Op, &[A]) = (Op::Allocate, &[U(2), U(1)]);
    let init: (Op, &[A]) = (Op::InitYregs, &[List(2), Y(0), Y(1)]);
    let body = |begin: &'static [A], end: &'static [A], handler: Op| {
        module(&[
            allocate,
            init,
            (Op::Try, &[Y(1), F(3)]),
            (Op::Catch, begin),
            CALL_G,
            (Op::Label, &[U(4)]),
            (Op::CatchEnd, end),
            (Op::TryEnd, &[Y(1)]),
            (Op::Deallocate, &[U(2)]),
            RETURN,
            (Op::Label, &[U(3)]),
            (handler, &[Y(1)]),
            (Op::Deallocate, &[U(2)]),
            RETURN,
        ])
    };
    assert!(body(&[Y(0), F(4)], &[Y(0)], Op::TryCase).is_ok());
    assert!(body(&[Y(0), F(4)], &[Y(1)], Op::TryCase).is_err(), "outer ended before inner");
    assert!(body(&[Y(1), F(4)], &[Y(1)], Op::TryCase).is_err(), "slot in use");
    assert!(body(&[Y(0), F(4)], &[Y(0)], Op::CatchEnd).is_err(), "try's handler");
    refused(&[allocate, init, (Op::Try, &[Y(0), F(3)]), (Op::Deallocate, &[U(2)]), RETURN], "without active catches");
    refused(&[allocate, init, (Op::Try, &[Y(0), F(3)]), (Op::Move, &[Y(0), X(0)]), RETURN], "catch tag");
    refused(&[allocate, init, (Op::Try, &[Y(0), F(3)]), (Op::Move, &[X(0), Y(0)]), RETURN], "catch tag");
}

#[test]
fn who_falls_into_a_handler_has_a_result() {
    let fall = |lose: (Op, &'static [A])| {
        module(&[
            (Op::Allocate, &[U(1), U(1)]),
            (Op::InitYregs, &[List(1), Y(0)]),
            (Op::Try, &[Y(0), F(3)]),
            lose,
            (Op::Label, &[U(3)]),
            (Op::TryCase, &[Y(0)]),
            (Op::Deallocate, &[U(1)]),
            RETURN,
        ])
    };
    assert!(fall(CALL_G).is_ok());
    assert!(fall((Op::TestHeap, &[U(2), U(0)])).is_err());
}

/// Where a loop without calls stops, and which registers it has there.
#[test]
fn labels_that_are_branched_back_to_are_known() {
    let body = [
        (Op::Move, &[X(0), X(1)][..]),
        (Op::Move, &[X(0), X(4)]),
        (Op::IsNil, &[F(1), X(0)]),
        (Op::Jump, &[F(4)]),
        (Op::Label, &[U(3)]),
        (Op::Move, &[X(0), X(66)]),
        (Op::Label, &[U(4)]),
        (Op::IsNil, &[F(3), X(0)]),
        (Op::Move, &[X(0), X(1)]),
        (Op::IsNil, &[F(5), X(0)]),
        (Op::Jump, &[F(4)]),
        (Op::Label, &[U(5)]),
        (Op::Jump, &[F(2)]),
    ];
    let loops = module(&body).unwrap();
    let known = |label| loops.loop_head(label).map(|head| (head.live(), head.holes().collect::<Vec<_>>()));
    assert_eq!(known(2), Some((1, vec![])));
    assert_eq!(known(3), Some((5, vec![2, 3])));
    assert_eq!(known(4), Some((5, vec![2, 3])));
    // Clause failures, and labels that are only branched forward to.
    assert_eq!([known(1), known(5)], [None, None]);
}

#[test]
fn receives_are_no_loops_of_jumps() {
    let body = |rest: &[(Op, &'static [A])]| {
        let mut body: Vec<(Op, &[A])> = vec![
            (Op::Allocate, &[U(1), U(1)]),
            (Op::InitYregs, &[List(1), Y(0)]),
            (Op::Label, &[U(3)]),
            (Op::LoopRec, &[F(4), X(0)]),
        ];
        body.extend(rest);
        body.extend([(Op::Label, &[U(4)][..]), (Op::Wait, &[F(3)])]);
        module(&body).unwrap()
    };
    assert!(body(&[(Op::LoopRecEnd, &[F(3)])]).loop_head(3).is_none());
    assert!(body(&[(Op::Jump, &[F(3)])]).loop_head(3).is_some());
}

#[test]
fn looking_for_a_message_loses_registers() {
    let receive = |message, read| {
        module(&[
            (Op::Allocate, &[U(0), U(1)]),
            (Op::Move, &[X(0), X(1)]),
            (Op::LoopRec, &[F(3), X(message)]),
            (Op::RemoveMessage, &[]),
            (Op::Move, &[X(read), X(0)]),
            (Op::Deallocate, &[U(0)]),
            RETURN,
            (Op::Label, &[U(3)]),
            (Op::Wait, &[F(3)]),
        ])
    };
    assert!(receive(0, 0).is_ok());
    assert!(receive(0, 1).is_err());
    // Nor does a message come to any other register than X0.
    assert!(receive(1, 1).is_err());
}

#[test]
fn slots_are_set_where_a_loop_may_stop() {
    let body = |set: (Op, &'static [A])| {
        let body = [
            (Op::Allocate, &[U(1), U(1)][..]),
            (Op::Label, &[U(3)]),
            set,
            (Op::IsNil, &[F(3), X(0)]),
            (Op::Deallocate, &[U(1)]),
            RETURN,
        ];
        let module = module(&body).unwrap();
        (module.loop_head(3).is_some(), module.functions[0].needs_nils)
    };
    assert_eq!(body((Op::InitYregs, &[List(1), Y(0)])), (true, true));
    assert_eq!(body((Op::Move, &[X(0), X(1)])), (true, true));
}

#[test]
fn calls_that_always_raise() {
    let raise = |import| {
        module(&[
            (Op::Allocate, &[U(1), U(1)]),
            (Op::InitYregs, &[List(1), Y(0)]),
            // The frame has one slot, not three: compilers do this for calls that never come back.
            (Op::CallExtLast, &[U(1), U(import), U(3)]),
        ])
    };
    let module = raise(0).unwrap();
    let ops: Vec<_> = module.decode_function(0).unwrap().iter().map(|instr| instr.op).skip(3).collect();
    assert_eq!(ops, [Op::Allocate, Op::InitYregs, Op::CallExt, Op::IntCodeEnd]);
    assert!(raise(1).is_err(), "foo:foo/1 may return");
    assert!(raise(2).is_err(), "erlang:foo/1 may return");
}

#[test]
fn labels_belong_to_functions() {
    refused(&[(Op::Jump, &[F(8)])], "label 8");
    refused(&[(Op::Jump, &[F(9)])], "not defined");
    refused(&[(Op::Jump, &[F(200)])], "no such label");
    refused(&[(Op::CallOnly, &[U(1), F(7)])], "not the entry");
    refused(&[(Op::CallOnly, &[U(0), F(8)])], "not the entry");
    refused(&[(Op::Label, &[U(2)]), RETURN], "defined twice");
    refused(&[(Op::Move, &[I(1), X(0)])], "run into the next function");
}

#[test]
fn indexes_are_within_tables() {
    refused(&[(Op::Move, &[Atom(8), X(0)]), RETURN], "not a term");
    refused(&[(Op::CallExtOnly, &[U(1), U(4)])], "no such import");
    refused(&[(Op::CallExtOnly, &[U(0), U(1)])], "another arity");
    refused(&[(Op::BsPutString, &[U(2), U(2)]), RETURN], "no such string");
    refused(&[(Op::MakeFun3, &[U(0), X(0), List(0)]), RETURN], "no such fun");
    refused(&[(Op::Move, &[F(1), X(0)]), RETURN], "not a term");
    refused(&[(Op::Move, &[X(0), I(0)]), RETURN], "not a register");
}

#[test]
fn terms_are_built_where_there_is_room() {
    const NO_ROOM: &str = "no room for it";
    let need = |words| (Op::TestHeap, [U(words), U(1)]);
    let put_list: (Op, &[A]) = (Op::PutList, &[X(0), X(0), X(0)]);
    let put_tuple: (Op, &[A]) = (Op::PutTuple2, &[X(0), List(2), X(0), X(0)]);
    refused(&[put_list, RETURN], NO_ROOM);
    for (words, fits) in [(5, true), (4, false)] {
        let (op, args) = need(words);
        assert_eq!(module(&[(op, &args), put_list, put_tuple, RETURN]).is_ok(), fits, "{words}");
    }
    let (op, args) = need(2);
    let test_heap: (Op, &[A]) = (op, &args);
    refused(&[test_heap, put_list, put_list, RETURN], NO_ROOM);
    // Who makes a term of its own may take the room.
    refused(&[test_heap, (Op::BsStartMatch3, &[F(1), X(0), U(1), X(1)]), put_list, RETURN], NO_ROOM);
    // Made sure of on one way only.
    refused(&[(Op::IsNil, &[F(3), X(0)]), test_heap, (Op::Label, &[U(3)]), put_list, RETURN], NO_ROOM);
    // A test and a guard built-in that makes nothing leave it alone.
    assert!(module(&[test_heap, (Op::IsNil, &[F(1), X(0)]), put_list, RETURN]).is_ok());
}
