//! Processes with one heap do random things, and what each of them refers to is what a model says.
//!
//! A test program of its own, for whether there is one heap is a matter of the whole program.

use myriad_heap::shared::{self, AtRest, InSignals, Stop, World};
use myriad_heap::{Heap, MaxHeapSize, Payload, Roots, Settings, account};
use myriad_term::{Build, SharedBinary, Term};
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a term is.
enum Value {
    Small(i64),
    Tuple(Vec<Rc<Value>>),
    Pair(Rc<Value>, Rc<Value>),
    Binary(usize),
}

/// Bytes of binary number `n`.
fn bytes(n: usize) -> Vec<u8> {
    (0..80 + n).map(|i| (i * n) as u8).collect()
}

impl Value {
    /// Panics if the term is not this.
    fn check(&self, term: Term) {
        match self {
            Value::Small(n) => assert_eq!(term.as_small(), Some(*n)),
            Value::Tuple(parts) => {
                let tuple = term.as_tuple().expect("a tuple");
                assert_eq!(tuple.elements().len(), parts.len());
                parts.iter().zip(tuple.elements()).for_each(|(part, element)| part.check(*element));
            }
            Value::Pair(head, tail) => {
                let (first, rest) = term.as_cons().expect("a list cell");
                head.check(first);
                tail.check(rest);
            }
            Value::Binary(n) => {
                assert_eq!(term.as_bits().and_then(|bits| bits.as_bytes().map(<[u8]>::to_vec)), Some(bytes(*n)))
            }
        }
    }
}

/// A message on its way.
struct Signal {
    term: Term,
    value: Rc<Value>,
    is_seen: bool,
}

/// The number of the next process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A process.
struct Process {
    number: u64,
    heap: Heap,
    terms: Vec<Term>,
    values: Vec<Rc<Value>>,
    is_pinned: bool,
    signals: VecDeque<Signal>,
}

impl Process {
    fn new() -> Process {
        let small = Rc::new(Value::Small(0));
        let heap = Heap::new(&Settings::default());
        // Relaxed: a number.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Process {
            number,
            heap,
            terms: vec![Term::small(0); 6],
            values: vec![small; 6],
            is_pinned: false,
            signals: VecDeque::new(),
        }
    }

    /// Its heap, with room for a small object; nothing of it moves.
    fn room(&mut self) -> &mut Heap {
        self.heap.touch();
        if !self.heap.ensure(8) {
            let mut roots = Roots::new();
            roots.push(&mut self.terms);
            // SAFETY: the roots are all that is used, and where there is one heap nothing moves.
            unsafe { self.heap.collect(8, &mut roots) }.expect("there is no limit");
        }
        &mut self.heap
    }

    fn begin_to_run(&mut self) {
        self.heap.touch();
        if self.heap.is_to_tell_roots() {
            let mut roots = Roots::new();
            roots.push(&mut self.terms);
            self.heap.tell_roots(self.number, &roots);
        }
    }

    fn check(&self) {
        self.terms.iter().zip(&self.values).for_each(|(term, value)| value.check(*term));
        self.signals.iter().for_each(|signal| signal.value.check(signal.term));
    }

    /// What stays where it is while it is pinned.
    fn places(&self) -> Vec<u64> {
        self.terms.iter().chain(self.signals.iter().map(|signal| &signal.term)).map(|term| term.raw()).collect()
    }
}

struct All(Vec<Process>);

struct One<'a>(&'a mut Process);

// SAFETY: a process's terms are in the heap of all, and its counts of values are the test's thread's, which looks at them alone.
unsafe impl Send for One<'_> {}

impl shared::Process for One<'_> {
    fn heap(&mut self) -> &mut Heap {
        &mut self.0.heap
    }

    fn number(&self) -> u64 {
        self.0.number
    }

    fn is_pinned(&mut self) -> bool {
        self.0.is_pinned
    }

    fn with_roots(&mut self, visit: &mut dyn FnMut(&mut Heap, &mut Roots<'_>)) {
        let mut roots = Roots::new();
        roots.push(&mut self.0.terms);
        visit(&mut self.0.heap, &mut roots);
    }

    // Once each, as in the VM (heap.shared/SH5).
    fn each_in_signals(processes: &mut [&mut Self], which: InSignals, visit: &mut dyn FnMut(*mut u64)) {
        for signal in processes.iter_mut().flat_map(|process| &mut process.0.signals) {
            if which == InSignals::All || !signal.is_seen {
                signal.is_seen |= which == InSignals::New;
                visit((&raw mut signal.term).cast());
            }
        }
    }
}

impl World for All {
    type Process<'w> = One<'w>;

    fn processes(&mut self, active: bool) -> Vec<One<'_>> {
        self.0
            .iter_mut()
            .filter(|process| !active || process.heap.is_touched() || !process.signals.is_empty())
            .map(One)
            .collect()
    }

    fn process(&mut self, number: u64) -> Option<One<'_>> {
        self.0.iter_mut().find(|process| process.number == number).map(One)
    }

    fn processes_from(&mut self, place: usize, most: usize) -> (Vec<One<'_>>, Option<usize>) {
        let behind = place + most.min(self.0.len() - place);
        let next = (behind < self.0.len()).then_some(behind);
        (self.0[place..behind].iter_mut().map(One).collect(), next)
    }
}

/// Does something on three threads, which begin at once.
fn together(work: &(dyn Fn() + Sync)) {
    let all_there = Barrier::new(3);
    let begin = || {
        all_there.wait();
        work();
    };
    std::thread::scope(|scope| {
        scope.spawn(begin);
        scope.spawn(begin);
        begin();
    });
}

/// A sequence of numbers that a seed draws.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// The process makes a term of its own and others'.
fn make(process: &mut Process, draw: &mut Draw, binaries: &[SharedBinary]) {
    let (a, b, to) = (draw.below(6), draw.below(6), draw.below(6));
    process.begin_to_run();
    if !process.heap.ensure(8) || draw.below(9) == 0 {
        let mut roots = Roots::new();
        roots.push(&mut process.terms);
        // SAFETY: the roots are all that is used.
        unsafe { process.heap.collect(8, &mut roots) }.expect("there is no limit");
    }
    let part = |i: usize| Rc::clone(&process.values[i]);
    let (term, value) = match draw.below(5) {
        0 => {
            let n = draw.below(1000) as i64;
            (Term::small(n), Value::Small(n))
        }
        1 => (process.heap.cons(process.terms[a], process.terms[b]), Value::Pair(part(a), part(b))),
        2 => {
            let n = draw.below(binaries.len());
            (process.heap.shared_binary(binaries[n].clone()), Value::Binary(n))
        }
        3 => {
            let parts = [process.terms[a], process.terms[b], Term::small(7)];
            (process.heap.tuple(&parts), Value::Tuple(vec![part(a), part(b), Rc::new(Value::Small(7))]))
        }
        _ => {
            let zeros = vec![Term::small(0); draw.below(40)];
            let values = zeros.iter().map(|_| Rc::new(Value::Small(0))).collect();
            if zeros.is_empty() {
                (Term::small(1), Value::Small(1))
            } else {
                (process.heap.tuple(&zeros), Value::Tuple(values))
            }
        }
    };
    (process.terms[to], process.values[to]) = (term, Rc::new(value));
}

/// Random steps of some processes; in the end nothing is held of what they shared. After `alone` words several threads copy, `asked` processes
/// at most tell their roots at one stop, and the old generation is marked when it has grown by `grown` words.
fn run(seed: u64, steps: usize, [alone, asked, grown]: [usize; 3]) {
    let mut draw = Draw(seed);
    let blocks = account::heaps().number();
    let binaries: Vec<SharedBinary> = (0..4).map(|n| SharedBinary::from_bytes(&bytes(n))).collect();
    let mut all = All((0..5 + seed % 20).map(|_| Process::new()).collect());
    let collect = |all: &mut All, full: bool| {
        if full {
            shared::request();
        }
        let pinned: Vec<Option<Vec<u64>>> =
            all.0.iter().map(|process| process.is_pinned.then(|| process.places())).collect();
        // SAFETY: these are all processes.
        let help = unsafe { shared::collect(all, &Stop { together: &together, now_ns: &|| 0, alone, asked, grown }) };
        help.into_iter().for_each(|help| help.run());
        for (process, before) in all.0.iter().zip(pinned) {
            assert!(before.is_none_or(|before| process.places() == before));
            process.check();
        }
    };
    for _ in 0..steps {
        let i = draw.below(all.0.len());
        match draw.below(40) {
            0..25 if !all.0[i].is_pinned => make(&mut all.0[i], &mut draw, &binaries),
            25..29 => {
                let (to, from) = (draw.below(all.0.len()), draw.below(6));
                if !all.0[i].is_pinned {
                    all.0[i].begin_to_run();
                    let (term, value) = (all.0[i].terms[from], Rc::clone(&all.0[i].values[from]));
                    all.0[to].heap.touch();
                    all.0[to].signals.push_back(Signal { term, value, is_seen: false });
                }
            }
            29..31 if !all.0[i].is_pinned => {
                let place = draw.below(6);
                all.0[i].begin_to_run();
                if let Some(Signal { term, value, .. }) = all.0[i].signals.pop_front() {
                    (all.0[i].terms[place], all.0[i].values[place]) = (term, value);
                }
            }
            31..33 => {
                let (to, from, place) = (draw.below(all.0.len()), draw.below(6), draw.below(6));
                if !all.0[to].is_pinned && !all.0[i].is_pinned {
                    all.0[i].begin_to_run();
                    let (term, value) = (all.0[i].terms[from], Rc::clone(&all.0[i].values[from]));
                    all.0[to].begin_to_run();
                    (all.0[to].terms[place], all.0[to].values[place]) = (term, value);
                }
            }
            33 => {
                // Who is in a built-in has run.
                all.0[i].begin_to_run();
                all.0[i].is_pinned = !all.0[i].is_pinned;
            }
            34 => {
                // Memory in which nothing was made is given back too.
                Payload::build(4, |_| Term::NIL).attach(&mut all.0[i].heap);
                all.0[i] = Process::new();
            }
            35 => {
                // Values do not grow without end.
                let place = draw.below(6);
                all.0[i].begin_to_run();
                (all.0[i].terms[place], all.0[i].values[place]) = (Term::small(3), Rc::new(Value::Small(3)));
            }
            36..39 => collect(&mut all, false),
            39 => collect(&mut all, draw.below(4) == 0),
            _ => {}
        }
    }
    all.0.iter().for_each(Process::check);
    all.0.clear();
    collect(&mut all, true);
    assert!(binaries.iter().all(|binary| binary.references() == 1), "counts come back");
    assert_eq!(shared::old_words(), 0, "nothing is left");
    assert_eq!(account::heaps().number(), blocks, "all blocks are given back");
}

/// The elements of a list.
fn elements(list: Term) -> Vec<Term> {
    std::iter::successors(list.as_cons(), |(_, tail)| tail.as_cons()).map(|(head, _)| head).collect()
}

/// Processes refer to the same objects, in about the same order: whichever thread finds one first, there is hardly ever more than one copy of it.
fn shared_objects_stay_shared(seed: u64, objects: usize) {
    let mut draw = Draw(seed);
    let mut all = All((0..48).map(|_| Process::new()).collect());
    let mut tuples = Vec::new();
    for n in 0..objects {
        let at = n % all.0.len();
        let heap = all.0[at].room();
        tuples.push(heap.tuple(&[Term::small(n as i64), Term::NIL]));
    }
    for process in &mut all.0 {
        let mut list = Term::NIL;
        for n in 0..objects {
            let tuple = tuples[(n + draw.below(2)) % objects];
            list = process.room().cons(tuple, list);
        }
        process.terms[0] = list;
    }
    let numbers = |all: &All| -> Vec<Vec<Option<i64>>> {
        let number = |tuple: Term| tuple.as_tuple().and_then(|tuple| tuple.elements()[0].as_small());
        all.0.iter().map(|process| elements(process.terms[0]).into_iter().map(number).collect()).collect()
    };
    let places = |all: &All| -> HashSet<u64> {
        all.0.iter().flat_map(|process| elements(process.terms[0])).map(|term| term.raw()).collect()
    };
    let (lists, seen, before) = (numbers(&all), places(&all).len(), shared::old_words());
    let stop = Stop { together: &together, now_ns: &|| 0, alone: 0, asked: usize::MAX, grown: usize::MAX };
    // SAFETY: these are all processes.
    unsafe { shared::collect(&mut all, &stop) }.into_iter().for_each(|help| help.run());
    assert_eq!(numbers(&all), lists);
    // Two threads may meet at some.
    let (now, cells) = (places(&all).len(), 2 * objects * all.0.len());
    assert!((seen..=seen + seen / 2).contains(&now), "{seen} objects are {now}");
    let words = shared::old_words() - before;
    assert!((3 * seen + cells..=3 * (seen + seen / 2) + cells).contains(&words), "{words} words for {seen} objects");
}

/// What has become old counts for a limit: one that is set then, and one that was there.
fn old_terms_count_for_a_limit() {
    let limit = |size| MaxHeapSize { size, kill: true, error_logger: false, include_shared: false };
    let stop = Stop { together: &together, now_ns: &|| 0, alone: usize::MAX, asked: usize::MAX, grown: usize::MAX };
    for first in [0, 1000] {
        let mut all = All(vec![Process::new()]);
        all.0[0].heap.set_max_heap_size(limit(first));
        let killed = (0..10).find(|round| {
            let Process { heap, terms, .. } = &mut all.0[0];
            if *round == 5 {
                heap.set_max_heap_size(limit(1000));
            }
            heap.touch();
            let mut roots = Roots::new();
            roots.push(terms);
            // SAFETY: the roots are all that is used.
            if unsafe { heap.collect(200, &mut roots) }.is_err() {
                return true;
            }
            (0..100).for_each(|n| terms[0] = heap.cons(Term::small(n), terms[0]));
            // SAFETY: these are all processes.
            unsafe { shared::collect(&mut all, &stop) }.into_iter().for_each(|help| help.run());
            false
        });
        assert_eq!(killed, Some(5), "1000 words are there, and 200 more were asked for");
    }
}

/// What happened while nobody had anything to do.
struct Rested {
    collections: usize,
    ns: u64,
}

/// Nobody has anything to do, until there is nothing to collect; the time goes on.
fn rest(all: &mut All, mut has_run: bool, now_ns: &mut u64) -> Rested {
    let (mut collections, began_ns) = (0, *now_ns);
    loop {
        match shared::look_at_rest(std::mem::take(&mut has_run), *now_ns) {
            AtRest::Collect => {
                collections += 1;
                assert!(collections < 1000, "no end");
                let time = *now_ns;
                let stop = Stop { now_ns: &|| time, ..Stop::new(&together, &|| 0) };
                // SAFETY: these are all processes.
                unsafe { shared::collect(all, &stop) }.into_iter().for_each(|help| help.run());
            }
            AtRest::Later(due_ns) => *now_ns = due_ns,
            AtRest::Nothing => return Rested { collections, ns: *now_ns - began_ns },
        }
    }
}

/// Much of what processes had is gone, here and there: while nobody has anything to do, what is left is moved together, whoever refers to it: who sleeps, too, and what waits in a signal.
/// While a process is pinned nothing moves.
fn what_is_left_moves_together() {
    const TUPLES: usize = 400_000;
    let mut all = All((0..40).map(|_| Process::new()).collect());
    for n in 0..TUPLES {
        let process = &mut all.0[n / 1000 % 40];
        let list = process.terms[0];
        let tuple = process.room().tuple(&[Term::small(n as i64), Term::NIL, Term::NIL, Term::NIL]);
        process.terms[0] = process.room().cons(tuple, list);
    }
    let mut now_ns = 0;
    rest(&mut all, true, &mut now_ns);
    let mut draw = Draw(7);
    for i in 0..all.0.len() {
        let process = &mut all.0[i];
        process.begin_to_run();
        let list = std::mem::replace(&mut process.terms[0], Term::NIL);
        for tuple in elements(list).into_iter().filter(|_| draw.below(10) == 0) {
            let left = process.terms[0];
            process.terms[0] = process.room().cons(tuple, left);
            // Some are referred to by a root.
            process.terms[3] = tuple;
        }
        let to = (i + 1) % 40;
        let (term, value) = (all.0[i].terms[0], Rc::new(Value::Small(0)));
        all.0[to].heap.touch();
        all.0[to].signals.push_back(Signal { term, value, is_seen: false });
    }
    let numbers = |list| -> Vec<Option<i64>> {
        elements(list).iter().map(|tuple| tuple.as_tuple().and_then(|tuple| tuple.elements()[0].as_small())).collect()
    };
    let left: Vec<_> = all.0.iter().map(|process| numbers(process.terms[0])).collect();
    let places = |all: &All| -> Vec<u64> {
        all.0.iter().flat_map(|process| elements(process.terms[0])).map(|tuple| tuple.raw()).collect()
    };
    let pages = |all: &All| places(all).into_iter().map(|place| place / 4096).collect::<HashSet<_>>().len();
    all.0[3].begin_to_run();
    all.0[3].is_pinned = true;
    let mut collect = |all: &mut All| {
        now_ns += 1_000_000_000;
        let stop = Stop { now_ns: &|| now_ns, ..Stop::new(&together, &|| 0) };
        // SAFETY: these are all processes.
        unsafe { shared::collect(all, &stop) }.into_iter().for_each(|help| help.run());
    };
    collect(&mut all);
    let (before, pages_before) = (places(&all), pages(&all));
    (0..30).for_each(|_| collect(&mut all));
    assert!(places(&all) == before, "something has moved while a process was pinned");
    all.0[3].is_pinned = false;
    assert!((0..40).any(|_| {
        collect(&mut all);
        places(&all) != before
    }));
    for process in &mut all.0 {
        process.begin_to_run();
        process.terms[4] = process.signals.pop_front().expect("a signal waits").term;
    }
    let Rested { collections, .. } = rest(&mut all, true, &mut now_ns);
    let words = 5 * before.len();
    assert!(
        pages(&all) < 3 * words / 512 && pages(&all) * 3 < pages_before,
        "{words} words in {} pages, {pages_before} before",
        pages(&all)
    );
    assert!(collections > 3, "all at once: {collections}");
    for (i, process) in all.0.iter().enumerate() {
        assert_eq!(numbers(process.terms[0]), left[i]);
        assert!(left[i].contains(&process.terms[3].as_tuple().and_then(|tuple| tuple.elements()[0].as_small())));
        assert_eq!(numbers(process.terms[4]), left[(i + 39) % 40]);
    }
    all.0.clear();
    rest(&mut all, true, &mut now_ns);
    assert_eq!(shared::old_words(), 0);
}

/// While nobody has anything to do, the old generation is marked though it has not grown: once, and the sooner again the more came of it.
fn what_has_ended_goes_at_rest() {
    const CELLS: usize = 100_000;
    let mut all = All(vec![Process::new(), Process::new()]);
    for process in &mut all.0 {
        for n in 0..CELLS {
            let list = process.terms[0];
            process.terms[0] = process.room().cons(Term::small(n as i64), list);
        }
    }
    let mut now_ns = 0;
    let mut rest = |all: &mut All, has_run: bool| {
        let Rested { collections, ns } = rest(all, has_run, &mut now_ns);
        (shared::old_words() / CELLS, collections, ns)
    };
    let (words, collections, first_ns) = rest(&mut all, true);
    assert_eq!(words, 4);
    assert!(collections > 1, "it is marked");
    let owned = |all: &All| all.0.iter().map(|one| shared::old_words_of(one.number) / CELLS).collect::<Vec<_>>();
    assert_eq!(owned(&all), [2, 2], "each list counts for one");
    assert_eq!(rest(&mut all, false), (4, 0, 0));
    // Little came of it.
    all.0[0].heap.touch();
    all.0[1].begin_to_run();
    all.0[1].terms[1] = all.0[0].terms[0];
    let (words, _, again_ns) = rest(&mut all, true);
    assert_eq!((words, again_ns), (4, 2 * first_ns));
    assert_eq!(owned(&all), [2, 2], "what two have counts for the first");
    all.0.pop();
    let (words, _, last_ns) = rest(&mut all, true);
    assert_eq!((words, last_ns), (2, 4 * first_ns));
    assert_eq!(owned(&all), [2]);
    all.0.clear();
    let (words, _, last_ns) = rest(&mut all, true);
    assert_eq!((words, last_ns), (0, first_ns));
}

#[test]
fn what_processes_refer_to_stays() {
    assert!(shared::use_one_heap(1), "there are addresses");
    old_terms_count_for_a_limit();
    if !cfg!(miri) {
        what_has_ended_goes_at_rest();
    }
    let (rounds, objects) = if cfg!(miri) { (1, 10) } else { (5, 2000) };
    (1..=rounds).for_each(|seed| shared_objects_stay_shared(seed, objects));
    if cfg!(miri) {
        return [[0, 1, 10], [usize::MAX; 3]].into_iter().for_each(|bounds| run(3, 200, bounds));
    }
    (1..60).for_each(|seed| run(seed, 3000, [[usize::MAX; 3], [100, 1, 10], [0, 2, 100]][seed as usize % 3]));
    what_is_left_moves_together();
}
