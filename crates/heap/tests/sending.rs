//! What a process sends where large terms are bundles: a program of its own, for they are in use in all of it.

use myriad_heap::{Heap, Message, Payload, Roots, Settings, account, bundle};
use myriad_term::{Build, Term};

fn bundles() -> u64 {
    account::bundles().number()
}

fn received(payload: Payload, heap: &mut Heap) -> Term {
    Message::new(payload, Term::NONE).receive(heap).0
}

fn collect(heap: &mut Heap, roots: &mut [Term]) {
    let mut places = Roots::new();
    places.push(roots);
    // SAFETY: the roots are all that is used.
    unsafe { heap.collect_fullsweep(0, &mut places) }.unwrap();
}

#[test]
fn a_large_part_is_copied_once_whatever_it_is_sent_in() {
    bundle::use_bundles();
    let settings = Settings::default();
    let (mut sender, mut receiver) = (Heap::new(&settings), Heap::new(&settings));
    let items: Vec<Term> = (0..2_000).map(Term::small).collect();
    let mut large = [sender.list(&items)];
    // It stays where it is from now on, so that it is known again.
    collect(&mut sender, &mut large);
    collect(&mut sender, &mut large);

    // A small message is as ever.
    let small = sender.tuple(&[Term::OK, Term::small(1)]);
    let (payload, words) = sender.payload(small);
    assert_eq!((words, bundles()), (3, 0));
    drop(payload);

    let mut got = Vec::new();
    let mut copied = Vec::new();
    for i in 0..5 {
        let inner = sender.tuple(&[Term::small(i), large[0]]);
        let message = sender.tuple(&[Term::OK, inner, Term::NIL]);
        let (payload, words) = sender.payload(message);
        copied.push(words);
        got.push(received(payload, &mut receiver));
    }
    // Nothing that was sent, or is a bundle, counts for who asks whether a message is long.
    let new = sender.list(&items);
    let [message, other] = [large[0], new].map(|list| sender.tuple(&[Term::OK, list]));
    assert_eq!(sender.payload_within(message, 100).map(|(_, words)| words), Some(3));
    assert!(sender.payload_within(other, 3_000).is_none());
    assert_eq!(bundles(), 1);
    // The first time with the list, then the tuples alone.
    assert_eq!((copied, bundles()), (vec![4007, 7, 7, 7, 7], 1));
    collect(&mut receiver, &mut got);
    let lists: Vec<Term> =
        got.iter().map(|message| message.as_tuple_of::<3>().unwrap()[1].as_tuple_of::<2>().unwrap()[1]).collect();
    assert!(lists.iter().all(|list| *list == lists[0] && list.list_length() == Some(2_000)));

    // What it has received it does not copy at all; what it shares by hand it does once.
    let again = receiver.tuple(&[Term::OK, lists[0]]);
    assert_eq!((receiver.payload(again).1, bundles()), (3, 1));
    // SAFETY: just built, and nothing else refers to it.
    let (built, words) = unsafe { receiver.payload_of_built(again, 3, 10) }.expect("what lies in a bundle is held");
    let mut third = Heap::new(&settings);
    let mut sent_on = [received(built, &mut third)];
    collect(&mut third, &mut sent_on);
    assert_eq!((words, sent_on[0].as_tuple_of::<2>().unwrap()[1], bundles()), (3, lists[0], 1));
    assert_eq!((receiver.share(lists[0]), bundles()), ((lists[0], 0), 1));
    let own = sender.list(&items);
    let (shared, words) = sender.share(own);
    assert_eq!((words, shared.list_length(), bundles()), (4_000, Some(2_000), 2));
    assert_eq!(sender.payload(shared).1, 0);

    drop(sender);
    drop(third);
    collect(&mut receiver, &mut got[..1]);
    assert_eq!(bundles(), 1);
    drop(receiver);
    assert_eq!(bundles(), 0);
}
