//! What a process sends where large terms are bundles: a program of its own, for they are in use in all of it.

use myriad_heap::{Heap, Message, Payload, Roots, Settings, account, bundle};
use myriad_term::{Build, Term};
use std::sync::{Mutex, MutexGuard};

/// Bundles are counted in the whole program: a test has this.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    bundle::use_bundles();
    alone
}

fn bundles() -> u64 {
    account::bundles().number()
}

fn received(payload: Payload, heap: &mut Heap) -> Term {
    Message::new(payload, Term::NONE).receive(heap).0
}

fn collect(heap: &mut Heap, roots: &mut [Term]) {
    collect_all(heap, roots, true);
}

fn collect_all(heap: &mut Heap, roots: &mut [Term], all: bool) {
    let mut places = Roots::new();
    places.push(roots);
    // SAFETY: the roots are all that is used.
    let report = unsafe { if all { heap.collect_fullsweep(0, &mut places) } else { heap.collect(0, &mut places) } };
    report.unwrap();
}

#[test]
fn a_large_part_is_copied_once_whatever_it_is_sent_in() {
    let _alone = alone();
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

fn list(heap: &mut Heap, n: i64) -> Term {
    let items: Vec<Term> = (0..n).map(Term::small).collect();
    heap.list(&items)
}

/// Sends `terms` one after another: how many words of each were copied, and how many bundles there are then.
fn sends(heap: &mut Heap, terms: &[Term]) -> (Vec<usize>, u64) {
    let payloads: Vec<(Payload, usize)> = terms.iter().map(|term| heap.payload(*term)).collect();
    (payloads.iter().map(|(_, words)| *words).collect(), bundles())
}

/// A heap that has room for what is sent here: nothing moves unless it is collected.
fn roomy() -> Heap {
    Heap::with_room(&Settings::default(), 20_000)
}

/// Sends messages of a kind until those that nobody sends again are copied.
fn waste(heap: &mut Heap, message: impl Fn(&mut Heap) -> Term) -> usize {
    for n in 0..100 {
        let term = message(heap);
        let (payload, words) = heap.payload(term);
        if !bundle::is_bundled(payload.term().object_ptr()) {
            assert!(words >= 64 && bundles() == 0);
            return n;
        }
        assert_eq!(bundles(), 1);
        drop(payload);
        // It has it for a second sending.
        collect(heap, &mut []);
    }
    panic!("bundles are made though none is of use");
}

#[test]
fn messages_of_a_kind_are_copied_when_its_bundles_are_of_no_use() {
    let _alone = alone();
    let (mut heap, mut other) = (roomy(), roomy());
    let of = |tag: Term, n: i64| {
        move |heap: &mut Heap| {
            let list = list(heap, n);
            heap.tuple(&[tag, list])
        }
    };
    let (kind, another) = (of(Term::OK, 100), of(Term::TRUE, 100));
    assert_eq!(waste(&mut heap, kind), 8);
    let term = kind(&mut heap);
    assert_eq!(sends(&mut heap, &[term]), (vec![203], 0));
    // Of another kind it is not known, and what is large becomes one anyway.
    let (term, large) = (another(&mut heap), of(Term::OK, 2_000)(&mut heap));
    assert_eq!((sends(&mut heap, &[term]), sends(&mut heap, &[large])), ((vec![203], 1), (vec![4003], 2)));
    collect(&mut heap, &mut []);
    assert_eq!(bundles(), 0);

    // Now and then one is tried, and tried again soon where it was of use.
    let mut tried = Vec::new();
    for n in 0..1_000 {
        let term = kind(&mut heap);
        let got = received(heap.payload(term).0, &mut other);
        if bundle::is_bundled(got.object_ptr()) {
            tried.push(n);
            let on = other.tuple(&[Term::NIL, got]);
            drop(other.payload(on));
        }
        if n % 50 == 0 {
            collect(&mut heap, &mut []);
            collect(&mut other, &mut []);
        }
    }
    assert!(tried[0] > 200 && tried.len() > 500, "{tried:?}");
    let steady: Vec<i32> = (tried[0]..1_000).collect();
    assert_eq!(tried, steady, "from the first one on, for that was of use");
    drop((heap, other));
    assert_eq!(bundles(), 0);
}

#[test]
fn what_is_built_on_top_is_of_a_kind_too() {
    let _alone = alone();
    let mut heap = roomy();
    let tag = Term::small(1);
    let message = |heap: &mut Heap| {
        let (small, list) = (list(heap, 5), list(heap, 100));
        heap.tuple(&[small, list, tag])
    };
    let built = message(&mut heap);
    // SAFETY: just built, and nothing else refers to it.
    assert!(unsafe { heap.payload_of_built(built, 4, usize::MAX) }.is_none(), "it is to become a bundle");
    waste(&mut heap, message);
    let built = message(&mut heap);
    // SAFETY: as above.
    let words = unsafe { heap.payload_of_built(built, 4, usize::MAX) }.map(|(_, words)| words);
    assert_eq!((words, bundles()), (Some(4 + 10 + 200), 0));
}

#[test]
fn what_was_sent_as_a_bundle_is_not_copied_into_what_is_built() {
    let _alone = alone();
    let mut heap = roomy();
    let (small, large) = (list(&mut heap, 5), list(&mut heap, 2_000));
    let (first, _) = heap.payload(large);
    let built = heap.tuple(&[small, large, large]);
    // SAFETY: just built, and nothing else refers to it.
    let (payload, words) =
        unsafe { heap.payload_of_built(built, 4, usize::MAX) }.expect("it is small without the bundle");
    assert_eq!((words, bundles()), (4 + 10, 1));
    let mut other = roomy();
    let got = received(payload, &mut other).as_tuple_of::<3>().unwrap();
    assert!(got[1] == got[2] && got[1] == first.term(), "both are the bundle");
    drop((first, heap));
    assert_eq!((got[0].list_length(), got[1].list_length(), bundles()), (Some(5), Some(2_000), 1));
    drop(other);
    assert_eq!(bundles(), 0);
}

#[test]
fn what_is_placed_where_many_look_becomes_one_at_once() {
    let _alone = alone();
    let mut heap = roomy();
    let [shared, short] = [32, 31].map(|n| list(&mut heap, n));
    assert_eq!((heap.share(short), bundles()), ((short, 0), 0));
    let (copy, words) = heap.share(shared);
    assert_eq!((words, bundles(), bundle::is_bundled(copy.object_ptr())), (64, 1, true));
    let row = Payload::whole(shared);
    assert!(bundle::is_bundled(row.term().object_ptr()) && bundles() == 2);
    let reason = Payload::copy(shared);
    assert!(!bundle::is_bundled(reason.term().object_ptr()) && bundles() == 2);
    drop((row, reason, heap));
    assert_eq!(bundles(), 0);
}

#[test]
fn the_arguments_of_a_spawn_are_sent_too() {
    let _alone = alone();
    let mut parent = roomy();
    let (data, short) = (list(&mut parent, 100), list(&mut parent, 10));
    let mut children: Vec<(Heap, Vec<Term>)> = Vec::new();
    for _ in 0..3 {
        let mut child = roomy();
        assert_eq!((parent.handed_down_size(data), parent.handed_down_size(short)), (None, Some(20)));
        let got = vec![parent.hand_down(data, &mut child), parent.hand_down(short, &mut child)];
        assert_eq!(child.used_words(), 20 + 5, "the short one, and what holds the other");
        children.push((child, got));
    }
    assert_eq!(bundles(), 1);
    for (child, got) in &mut children {
        collect(child, got);
        assert_eq!((got[0].list_length(), got[1].list_length()), (Some(100), Some(10)));
    }
    drop((children, parent));
    assert_eq!(bundles(), 0);
}

#[test]
fn a_bundle_takes_the_place_of_what_it_is_a_copy_of() {
    let _alone = alone();
    for all in [false, true] {
        let (mut heap, mut other) = (roomy(), roomy());
        let [part, unsent] = [100, 100].map(|n| list(&mut heap, n));
        let tuple: Vec<Term> = (0..100).map(|_| part).collect();
        let tuple = heap.tuple(&tuple);
        let mut roots = [part, tuple, heap.tuple(&[part, unsent]), unsent];
        let mut got = [(); 2].map(|()| received(heap.payload(part).0, &mut other));
        assert!(got[0] == got[1] && bundle::is_bundled(got[0].object_ptr()));
        collect_all(&mut heap, &mut roots, all);
        assert_eq!((roots[0], roots[2].as_tuple_of::<2>()), (got[1], Some([got[1], roots[3]])));
        assert!(roots[1].as_tuple().is_some_and(|tuple| tuple.elements().iter().all(|element| *element == got[1])));
        assert_eq!((roots[3].list_length(), bundle::is_bundled(roots[3].object_ptr())), (Some(100), false));
        assert_eq!(heap.used_words(), 101 + 3 + 200, "the list is in the bundle alone");
        // The heap holds it, whoever else does.
        drop(other);
        for all in [false, true, true] {
            collect_all(&mut heap, &mut roots, all);
            assert_eq!((roots[0].list_length(), bundles()), (Some(100), 1));
        }
        assert_eq!(heap.payload(roots[0]).1, 0);
        got = [Term::NIL; 2];
        collect(&mut heap, &mut got);
        assert_eq!(bundles(), 0);
    }
}

#[test]
fn no_bundle_takes_a_place_that_nobody_else_has() {
    let _alone = alone();
    let mut heap = roomy();
    let mut last = [list(&mut heap, 100)];
    assert_eq!((sends(&mut heap, &last), sends(&mut heap, &last)), ((vec![200], 1), (vec![0], 1)));
    collect(&mut heap, &mut last);
    assert!(!bundle::is_bundled(last[0].object_ptr()) && bundles() == 0 && heap.used_words() == 200);
}

/// Bytes of this program that are in memory.
fn resident() -> usize {
    let told = std::fs::read_to_string("/proc/self/status").unwrap();
    let kilobytes = told.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    1024 * kilobytes.unwrap().parse::<usize>().unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "the system is asked what is in memory")]
fn memory_of_bundles_goes_home() {
    const MEGABYTE: usize = 1 << 20;
    let _alone = alone();
    // A quarter of a page of the area, a page and more, many pages; the first are of a kind that has not been found useless yet.
    for elements in [200, 1_100, 40_000] {
        let mut heap = Heap::with_room(&Settings::default(), 100_000);
        let message = |heap: &mut Heap| {
            let list = list(heap, elements);
            heap.tuple(&[Term::small(7), list, list, Term::small(7)])
        };
        let mut payloads = Vec::new();
        let before = resident();
        while payloads.len() < 64 * MEGABYTE / (16 * elements as usize) {
            let term = message(&mut heap);
            payloads.push(heap.payload(term).0);
            if payloads.len() % 16 == 0 {
                collect(&mut heap, &mut []);
            }
        }
        collect(&mut heap, &mut []);
        let (held, made) = (resident(), bundles());
        assert!(held > before + 56 * MEGABYTE, "{before} and {held} bytes, {made} bundles");
        drop(payloads);
        let kept = resident();
        assert_eq!(bundles(), 0);
        assert!(kept + 8 * MEGABYTE > held, "{before}, {held} and {kept} bytes, bundles of {elements} elements");
        bundle::give_back();
        // What is left is heaps, and what the allocator has.
        let left = resident();
        assert!(left < before + 16 * MEGABYTE, "{before}, {kept} and {left} bytes, bundles of {elements} elements");
    }
}
