//! What becomes of the objects that hand-made code builds.

mod common;

use common::made::{
    A::{self, F, I, List, U, X, Y},
    module,
};
use myriad_beam::{BuiltMessage, Class, Messages, Op};

type Code<'a> = (Op, &'a [A]);

const SEND: Code<'_> = (Op::Send, &[]);
const RETURN: Code<'_> = (Op::Return, &[]);
const OK: Code<'_> = (Op::Move, &[I(0), X(0)]);
const ROOM: Code<'_> = (Op::TestHeap, &[U(15), U(1)]);
/// `{x0, x0}` to X1.
const PAIR: Code<'_> = (Op::PutTuple2, &[X(1), List(2), X(0), X(0)]);

/// What is found in f/1, whose body's first instruction is the fourth.
fn messages(body: &[Code<'_>]) -> Messages {
    let module = module(body).unwrap_or_else(|error| panic!("{error}"));
    module.messages(&module.decode_function(0).unwrap())
}

fn classes(found: &Messages) -> Vec<Class> {
    found.sites.iter().map(|site| site.class).collect()
}

/// The messages that are on top: the place in the body, words, and whether they are dead.
fn built(found: &Messages) -> Vec<(usize, u32, bool)> {
    let of = |message: &BuiltMessage| (message.index - 3, message.words, message.is_dead);
    found.built.iter().map(of).collect()
}

#[test]
fn a_message_and_what_is_in_it() {
    let found = messages(&[
        ROOM,
        PAIR,
        (Op::PutList, &[X(1), X(0), X(2)]),
        (Op::Move, &[X(2), X(3)]),
        (Op::PutTuple2, &[X(1), List(3), X(0), X(3), I(1)]),
        SEND,
        OK,
        RETURN,
    ]);
    assert_eq!(classes(&found), [Class::Escaping; 3]);
    assert_eq!((built(&found), found.sends), (vec![(5, 3 + 2 + 4, true)], 1));
    assert!(found.sites.iter().all(|site| site.on_top));
}

#[test]
fn a_result_that_is_used_is_a_use() {
    let found = messages(&[ROOM, PAIR, SEND, RETURN]);
    assert_eq!((classes(&found), built(&found)), (vec![Class::Unknown], vec![(2, 3, false)]));
}

#[test]
fn what_is_in_two_places_is_not_on_top() {
    let twice = (Op::PutTuple2, &[X(1), List(2), X(1), X(1)][..]);
    let found = messages(&[ROOM, PAIR, twice, SEND, OK, RETURN]);
    assert_eq!(classes(&found), [Class::Escaping; 2]);
    assert_eq!(built(&found), [(3, 3, true)], "the message alone");
    // A tuple that stays is on top of the message.
    let stays = (Op::PutTuple2, &[X(2), List(1), X(0)][..]);
    let found = messages(&[ROOM, PAIR, stays, SEND, OK, RETURN]);
    assert_eq!((classes(&found), built(&found)), (vec![Class::Escaping, Class::Local], vec![]));
    // One below it is of no concern.
    let found = messages(&[ROOM, stays, PAIR, SEND, OK, RETURN]);
    assert_eq!((classes(&found), built(&found)), (vec![Class::Local, Class::Escaping], vec![(3, 3, true)]));
}

#[test]
fn a_slot_keeps_what_is_in_it() {
    let frame = (Op::AllocateHeapZero, &[U(1), U(15), U(1)][..]);
    let end = [OK, (Op::Deallocate, &[U(1)][..]), RETURN];
    let code = |between: &[Code<'static>]| [&[frame, PAIR][..], between, &[SEND], &end].concat();
    let found = messages(&code(&[(Op::Move, &[X(0), Y(0)])]));
    assert_eq!((classes(&found), built(&found)), (vec![Class::Escaping], vec![(3, 3, true)]));
    for between in [
        &[(Op::Move, &[X(1), Y(0)][..])][..],
        &[(Op::Swap, &[X(1), Y(0)][..])],
        &[(Op::PutTuple2, &[Y(0), List(1), X(1)][..]), (Op::PutTuple2, &[X(1), List(1), X(1)])],
    ] {
        let found = messages(&code(between));
        assert!(found.built.iter().all(|message| message.words < 3), "{:?}", found.built);
        assert_eq!(found.sites[0].class, Class::Unknown);
    }
}

#[test]
fn what_takes_room_or_apart_comes_between() {
    let take = (Op::GetTupleElement, &[X(1), U(0), X(2)][..]);
    let found = messages(&[ROOM, PAIR, take, SEND, OK, RETURN]);
    assert_eq!((classes(&found), built(&found)), (vec![Class::Unknown], vec![]));
    let more_room = (Op::TestHeap, &[U(3), U(2)][..]);
    let wraps = (Op::PutTuple2, &[X(1), List(1), X(1)][..]);
    let found = messages(&[ROOM, PAIR, more_room, wraps, SEND, OK, RETURN]);
    assert_eq!((classes(&found), built(&found)), (vec![Class::Escaping; 2], vec![(4, 2, true)]));
    let change = (Op::SetTupleElement, &[X(0), X(1), U(0)][..]);
    let found = messages(&[ROOM, PAIR, change, SEND, OK, RETURN]);
    assert_eq!((classes(&found), built(&found)), (vec![Class::Unknown], vec![]));
}

#[test]
fn labels_end_what_is_known() {
    let test = (Op::IsInteger, &[F(9), X(0)][..]);
    let label = (Op::Label, &[U(9)][..]);
    // Behind the label the message is still to be sent.
    let found = messages(&[ROOM, PAIR, test, label, SEND, OK, RETURN]);
    assert_eq!((classes(&found), built(&found)), (vec![Class::Unknown], vec![]));
    // Behind this one it is not.
    let found = messages(&[ROOM, PAIR, test, SEND, OK, RETURN, label, OK, RETURN]);
    assert_eq!((classes(&found), built(&found)), (vec![Class::Escaping], vec![(3, 3, true)]));
}
