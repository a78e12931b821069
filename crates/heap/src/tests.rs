//! The collector against a model: each root carries a hash that was put together when its term was, from its parts'
//! hashes, never from the heap. After each collection the hash of the term as it stands in the heap must be that.

pub(crate) mod bundles;
mod counted_areas;
mod evacuation;
mod exchange;
mod in_place;
mod leaving;
mod sleeping;

use crate::{Draft, Fragment, Heap, Help, LiteralArea, MaxHeapSize, Payload, Roots, Settings};
use myriad_term::boxed::Header;
use myriad_term::magic::magic_reference;
use myriad_term::{Alloc, Boxed, Build, Kind, Magic, Pid, RefNumbers, RefUse, SharedBinary, Term, TermRef};
use myriad_testing::Random;
use std::collections::HashMap;

/// The finalizer of SplitMix64 (Steele, Lea, Flood, 2014).
fn mix(z: u64) -> u64 {
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn combine(seed: u64, parts: impl IntoIterator<Item = u64>) -> u64 {
    parts.into_iter().fold(mix(seed), |h, part| mix(h ^ mix(part).rotate_left(17)))
}

const CONS: u64 = 0xc0;

/// Words of an object that its hash covers without looking behind them; links and such are left out.
fn own_words(object: Boxed) -> Vec<u64> {
    let words = object.words();
    match object.kind() {
        Kind::SharedBinary | Kind::MagicRef => words[..words.len() - 1].to_vec(),
        _ => words.to_vec(),
    }
}

/// Parts of a term that are terms.
fn parts(term: Term) -> Vec<Term> {
    if let Some((head, tail)) = term.as_cons() {
        return vec![head, tail];
    }
    match term.as_boxed() {
        Some(object) if object.header().holds_terms() => object.slots().to_vec(),
        _ => Vec::new(),
    }
}

/// The hash of a term as it stands in memory, and the words of all that it reaches which are a heap's own.
#[derive(Default)]
struct Walker {
    hashes: HashMap<u64, u64>,
    words: usize,
}

impl Walker {
    fn known(&self, term: Term) -> Option<u64> {
        if term.is_immediate() { Some(mix(term.raw())) } else { self.hashes.get(&term.raw()).copied() }
    }

    fn hash(&mut self, term: Term) -> u64 {
        let mut todo = vec![term];
        while let Some(top) = todo.last().copied() {
            if self.known(top).is_some() {
                todo.pop();
                continue;
            }
            let parts = parts(top);
            let missing: Vec<Term> = parts.iter().copied().filter(|part| self.known(*part).is_none()).collect();
            if !missing.is_empty() {
                todo.extend(missing);
                continue;
            }
            let hashes: Vec<u64> = parts.iter().map(|part| self.known(*part).unwrap()).collect();
            let hash = match top.as_boxed() {
                None => combine(CONS, hashes),
                Some(object) if object.header().holds_terms() => combine(object.header().raw(), hashes),
                Some(object) => combine(object.header().raw(), own_words(object)),
            };
            if !crate::is_literal(top.object_ptr()) && !crate::bundle_area::range().holds(top.object_ptr()) {
                self.words += top.as_boxed().map_or(2, |object| 1 + object.size());
            }
            self.hashes.insert(top.raw(), hash);
            todo.pop();
        }
        self.known(term).unwrap()
    }
}

/// A process without code: registers, a stack, and what each should hold.
struct Machine {
    random: Random,
    heap: Heap,
    registers: Vec<Term>,
    models: Vec<u64>,
    stack_models: Vec<u64>,
    shared: Vec<SharedBinary>,
    magic: Magic,
    literals: Vec<(Term, u64)>,
    /// Does a thread of its own help, or this one, when it is drawn?
    helped: Helped,
    helps: Vec<Help>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Helped {
    WhenDrawn,
    ByThreads,
}

const REGISTERS: usize = 24;

impl Machine {
    fn new(seed: u64, settings: &Settings, literals: &mut LiteralArea) -> Machine {
        let literal = literals.list(&[Term::small(1), Term::small(2)]);
        let tuple = literals.tuple(&[literal, Term::NIL]);
        let literals = [literal, tuple].map(|t| (t, Walker::default().hash(t))).to_vec();
        Machine {
            random: Random::new(seed),
            heap: Heap::new(settings),
            registers: vec![Term::NIL; REGISTERS],
            models: vec![mix(Term::NIL.raw()); REGISTERS],
            stack_models: Vec::new(),
            shared: (0..4).map(|i| SharedBinary::from_bytes(&vec![i; 100 + 3000 * i as usize])).collect(),
            magic: Magic::new(RefNumbers([1, 2, 3]), 7u8),
            literals,
            helped: Helped::WhenDrawn,
            helps: Vec::new(),
            threads: Vec::new(),
        }
    }

    /// Gives work for helpers to a thread, or keeps it for later; does what was kept.
    fn help(&mut self) {
        let new = std::iter::from_fn(|| self.heap.take_help());
        if self.helped == Helped::ByThreads {
            self.threads.extend(new.map(|help| std::thread::spawn(move || help.run())));
        } else {
            self.helps.extend(new);
            if self.random.below(4) == 0 {
                self.helps.drain(..).for_each(Help::run);
            }
        }
    }

    fn pick(&mut self) -> (Term, u64) {
        let i = self.random.below(REGISTERS);
        (self.registers[i], self.models[i])
    }

    /// A random object made of the registers' terms, in the heap.
    fn object(&mut self) -> (Term, u64) {
        let raw = |t: Term| (t, Walker::default().hash(t));
        match self.random.below(20) {
            0..=3 => {
                let (head, tail) = (self.pick(), self.pick());
                (self.heap.cons(head.0, tail.0), combine(CONS, [head.1, tail.1]))
            }
            4..=6 => {
                let n = self.random.below(6);
                let elements: Vec<_> = (0..n).map(|_| self.pick()).collect();
                let terms: Vec<Term> = elements.iter().map(|e| e.0).collect();
                let header = Header::new(Kind::Tuple, n).raw();
                (self.heap.tuple(&terms), combine(header, elements.iter().map(|e| e.1)))
            }
            7 => {
                // A flat map: a tuple of keys, then values; with bits of its own in the header.
                let (keys, a, b) = (self.pick(), self.pick(), self.pick());
                let header = Header::new(Kind::Map, 3).with_aux(5);
                (self.heap.boxed(header, &[keys.0, a.0, b.0]), combine(header.raw(), [keys.1, a.1, b.1]))
            }
            8 => raw(self.heap.float(0.0)),
            9 => {
                let limbs: Vec<u64> = (0..1 + self.random.below(30)).map(|_| self.random.bits() | 1 << 63).collect();
                raw(self.heap.big(true, &limbs))
            }
            10 => {
                let bytes = vec![self.random.bits() as u8; self.random.below(64)];
                raw(self.heap.binary(&bytes))
            }
            11 => {
                let i = self.random.below(self.shared.len());
                raw(self.heap.shared_binary(self.shared[i].clone()))
            }
            12 => {
                let whole = self.heap.shared_binary(self.shared[1].clone());
                let model = Walker::default().hash(whole);
                let part = self.heap.sub_binary(whole, 8, 16);
                let [o, n] = [8, 16].map(|i| mix(Term::small(i).raw()));
                (part, combine(Header::new(Kind::SubBinary, 3).raw(), [model, o, n]))
            }
            13 => {
                let numbers = RefNumbers([self.random.bits() as u32, 2, 3]);
                raw(match self.random.below(3) {
                    0 => self.heap.reference(numbers),
                    1 => self.heap.reference(RefNumbers([1, 2, RefUse::Alias.mark()])),
                    _ => magic_reference(&mut self.heap, self.magic.clone()),
                })
            }
            14 => {
                // A local fun: an address, its creator, what it closes over.
                let n = self.random.below(4);
                let free: Vec<_> = (0..n).map(|_| self.pick()).collect();
                let entry = 0x7f00_0000_1000 + 8 * self.random.below(100) as u64;
                // SAFETY: an aligned address looks like a small integer.
                let mut slots = vec![unsafe { Term::from_raw(entry) }, Pid::from_data(5).term()];
                slots.extend(free.iter().map(|f| f.0));
                let header = Header::new(Kind::Fun, slots.len());
                let models = [mix(slots[0].raw()), mix(slots[1].raw())].into_iter().chain(free.iter().map(|f| f.1));
                (self.heap.boxed(header, &slots), combine(header.raw(), models))
            }
            15 => {
                // A writable binary, and a match context over it.
                let i = self.random.below(self.shared.len());
                let whole = self.heap.shared_binary(self.shared[i].clone());
                // SAFETY: the header of an object just made.
                unsafe { *whole.boxed_ptr() = Header::new(Kind::SharedBinary, 3).with_aux(1).raw() };
                let model = Walker::default().hash(whole);
                let header = match self.random.below(2) {
                    0 => Header::new(Kind::SubBinary, 3).with_aux(1),
                    _ => Header::new(Kind::MatchContext, 3),
                };
                let [o, n] = [Term::small(8), Term::small(800)];
                (self.heap.boxed(header, &[whole, o, n]), combine(header.raw(), [model, mix(o.raw()), mix(n.raw())]))
            }
            16 => {
                // A pid or port of another node: a node and a number.
                let kind = if self.random.below(2) == 0 { Kind::ExternalPid } else { Kind::ExternalPort };
                let at = self.heap.alloc(3).as_ptr();
                // SAFETY: three fresh words.
                raw(unsafe {
                    *at = Header::new(kind, 2).raw();
                    *at.add(1) = self.random.bits();
                    *at.add(2) = self.random.bits();
                    Term::from_boxed(at)
                })
            }
            17 => {
                // Nodes of a hash map: as tuples, with a bitmap in the header.
                let n = 1 + self.random.below(16);
                let children: Vec<_> = (0..n).map(|_| self.pick()).collect();
                let terms: Vec<Term> = children.iter().map(|c| c.0).collect();
                let header = Header::new(Kind::MapNode, n).with_aux((1 << n) - 1);
                (self.heap.boxed(header, &terms), combine(header.raw(), children.iter().map(|c| c.1)))
            }
            18 => {
                // Words that were not needed after all, before an object and behind it.
                let at = self.heap.alloc(6).as_ptr();
                let made = self.pick();
                let cell = self.heap.cons(made.0, Term::NIL);
                // SAFETY: the words are fresh and no term points at them.
                unsafe { self.heap.give_back(at, 6) };
                (cell, combine(CONS, [made.1, mix(Term::NIL.raw())]))
            }
            _ => {
                let i = self.random.below(self.literals.len());
                self.literals[i]
            }
        }
    }

    /// The literals go, and others come.
    fn purge(&mut self, area: &mut LiteralArea) {
        let mut roots = Roots::of(&mut self.registers);
        // SAFETY: the registers are all roots beside the stack.
        unsafe { self.heap.copy_out(&area.ranges(), &mut roots) };
        assert!(!self.heap.refers_to(&area.ranges(), &Roots::of(&mut self.registers)));
        let mut new = LiteralArea::new();
        let binary = new.shared_binary(self.shared[2].clone());
        let tuple = new.tuple(&[binary, Term::small(self.random.below(9) as i64)]);
        let list = new.list(&[tuple, Term::small(3)]);
        self.literals = [tuple, list].map(|t| (t, Walker::default().hash(t))).to_vec();
        *area = new;
        self.verify();
    }

    /// A message: a fragment of its own that joins the heap, or moves there.
    fn message(&mut self) -> (Term, u64) {
        let n = 1 + self.random.below(40);
        let room = if self.random.below(2) == 0 { 2 * n } else { 0 };
        // SAFETY: the heap or a message gets it, with the list.
        let mut draft = unsafe { Draft::unbound(Fragment::with_capacity(room)) };
        let mut list = (Term::NIL, mix(Term::NIL.raw()));
        let counted = self.random.below(2) == 0;
        for i in 0..n {
            let item = match i % 8 {
                7 if counted => draft.shared_binary(self.shared[0].clone()),
                // Words that look like pointers.
                5 => draft.binary(&[list.0.raw() as u8; 17]),
                3 => self.literals[0].0,
                1 => draft.tuple(&[Term::small(1), list.0]),
                _ => Term::small(i as i64),
            };
            let model = Walker::default().hash(item);
            list = (draft.cons(item, list.0), combine(CONS, [model, list.1]));
        }
        let fragment = draft.into_fragment();
        if self.random.below(2) == 0 {
            self.heap.attach(fragment);
        } else {
            // SAFETY: the list was made in the fragment.
            let payload = unsafe { Payload::of(list.0, fragment) };
            let mut message = crate::Message::new(payload, list.0);
            let (top, moves) = (self.heap.htop, message.movable_words().filter(|words| self.heap.ensure(*words)));
            message.absorb(&mut self.heap);
            let (term, token) = message.receive(&mut self.heap);
            assert_eq!(Walker::default().hash(token), list.1);
            list.0 = term;
            assert_eq!(self.heap.htop, top.wrapping_add(moves.unwrap_or(0)));
            self.verify();
        }
        list
    }

    fn push(&mut self) {
        if !self.heap.ensure(1) {
            self.collect();
        }
        if !self.heap.ensure(1) {
            return;
        }
        let (term, model) = match self.random.below(4) {
            // A continuation: any aligned address.
            0 => (0x7f00_1234_5670, mix(0x7f00_1234_5670)),
            1 => (Term::catch(9).raw(), mix(Term::catch(9).raw())),
            _ => {
                let (term, model) = self.pick();
                (term.raw(), model)
            }
        };
        // SAFETY: the room was checked.
        unsafe {
            self.heap.stop = self.heap.stop.sub(1);
            *self.heap.stop = term;
        }
        self.stack_models.push(model);
    }

    fn pop(&mut self) {
        let n = self.random.below(4).min(self.stack_models.len());
        // SAFETY: so many words are on the stack.
        self.heap.stop = unsafe { self.heap.stop.add(n) };
        self.stack_models.truncate(self.stack_models.len() - n);
    }

    fn collect(&mut self) {
        let need = match self.random.below(8) {
            0 => self.random.below(3000),
            _ => self.random.below(20),
        };
        let kind = self.random.below(16);
        self.heap.check(&Roots::of(&mut self.registers));
        let mut roots = Roots::of(&mut self.registers);
        // SAFETY: the registers are all roots beside the stack.
        let report = unsafe {
            match kind {
                0 => self.heap.collect_fullsweep(need, &mut roots),
                1 => self.heap.shrink_to_fit(&mut roots),
                _ => self.heap.collect(need, &mut roots),
            }
        }
        .unwrap();
        if kind != 1 {
            assert!(self.heap.ensure(need));
        }
        self.help();
        assert_eq!(self.heap.info().mbuf_size, 0);
        let words = self.verify();
        if report.fullsweep {
            assert_eq!(words, self.heap.young_words() + self.heap.old_words(), "a fullsweep keeps just what is alive");
        }
    }

    /// All terms are what they should be; gives the words they take.
    fn verify(&mut self) -> usize {
        self.heap.check(&Roots::of(&mut self.registers));
        let mut walker = Walker::default();
        for (term, model) in self.registers.iter().zip(&self.models) {
            assert_eq!(walker.hash(*term), *model);
        }
        assert_eq!(self.heap.stack_words(), self.stack_models.len());
        for (word, model) in self.heap.stack().iter().rev().zip(&self.stack_models) {
            // SAFETY: stack words look like terms.
            assert_eq!(walker.hash(unsafe { Term::from_raw(*word) }), *model);
        }
        walker.words
    }

    fn run(&mut self, steps: usize, collect_one_in: usize, literals: &mut LiteralArea) {
        for _ in 0..steps {
            if self.random.below(100) == 0 {
                self.purge(literals);
            }
            self.step(collect_one_in);
        }
    }

    fn step(&mut self, collect_one_in: usize) {
        let (term, model) = match self.random.below(40) {
            0 => self.message(),
            1..=3 => (Term::NIL, mix(Term::NIL.raw())),
            _ => self.object(),
        };
        self.put(term, model);
        match self.random.below(12) {
            0..=1 => self.push(),
            2 => self.pop(),
            _ => {}
        }
        if self.heap.needs_collection() || self.random.below(collect_one_in) == 0 {
            self.collect();
        }
    }

    fn put(&mut self, term: Term, model: u64) {
        let i = self.random.below(REGISTERS);
        (self.registers[i], self.models[i]) = (term, model);
    }
}

fn run_machine(seed: u64, settings: &Settings, steps: usize, collect_one_in: usize) {
    let mut area = LiteralArea::new();
    let mut machine = Machine::new(seed, settings, &mut area);
    machine.run(steps, collect_one_in, &mut area);
    machine.registers.fill(Term::NIL);
    machine.models.fill(mix(Term::NIL.raw()));
    machine.heap.stop = machine.heap.hend;
    machine.stack_models.clear();
    let mut roots = Roots::new();
    // SAFETY: nothing is used again.
    unsafe { machine.heap.collect_fullsweep(0, &mut roots) }.unwrap();
    assert_eq!(machine.heap.used_words(), 0);
    drop(area);
    assert!(machine.shared.iter().all(|binary| binary.references() == 1), "counts come back");
    assert_eq!(machine.magic.references(), 1);
}

/// The machine is dropped as it is, and its helpers end after it.
fn run_helped(seed: u64, steps: usize, collect_one_in: usize) {
    let mut area = LiteralArea::new();
    let mut machine = Machine::new(seed, &Settings::default(), &mut area);
    machine.helped = Helped::ByThreads;
    machine.run(steps, collect_one_in, &mut area);
    let threads = std::mem::take(&mut machine.threads);
    drop(machine);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

const SEEDS: u64 = if cfg!(miri) { 1 } else { 12 };
const STEPS: usize = if cfg!(miri) { 45 } else { 1500 };

#[test]
fn collected_at_each_step() {
    for seed in 0..SEEDS {
        run_machine(seed, &Settings::default(), STEPS / 3, 1);
    }
}

#[test]
fn collected_when_full() {
    for seed in 100..100 + SEEDS {
        run_machine(seed, &Settings::default(), STEPS, 200);
        run_machine(seed, &Settings::default(), STEPS, 20);
    }
}

#[test]
fn collected_by_fullsweeps() {
    for seed in 200..200 + SEEDS {
        let settings = Settings { fullsweep_after: seed as u16 % 3, min_heap_size: 12, ..Settings::default() };
        run_machine(seed, &settings, STEPS, 10);
    }
}

#[test]
fn dropping_a_heap_gives_counts_back() {
    let mut area = LiteralArea::new();
    let mut machine = Machine::new(1, &Settings::default(), &mut area);
    machine.run(STEPS, 30, &mut area);
    let (shared, magic) = (machine.shared.clone(), machine.magic.clone());
    drop(machine);
    drop(area);
    assert!(shared.iter().all(|binary| binary.references() == 1));
    assert_eq!(magic.references(), 1);
}

/// Builds `n` cells in `heap`, collecting when the block is full.
fn build_list(heap: &mut Heap, n: usize) -> Term {
    let mut registers = [Term::NIL];
    for i in 0..n {
        if !heap.ensure(2) {
            // SAFETY: the register is the only root.
            unsafe { heap.collect(2, &mut Roots::of(&mut registers)) }.unwrap();
        }
        registers[0] = heap.cons(Term::small(i as i64), registers[0]);
    }
    registers[0]
}

#[test]
fn survivors_of_two_are_old() {
    let mut heap = Heap::new(&Settings::default());
    let mut x = [build_list(&mut heap, 5)];
    for (young, old) in [(10, 0), (0, 10), (0, 10)] {
        // SAFETY: `x` is the only root.
        let report = unsafe { heap.collect(0, &mut Roots::of(&mut x)) }.unwrap();
        assert!(!report.fullsweep);
        assert_eq!((heap.info().heap_size, heap.info().old_heap_size), (young, old));
    }
    assert_eq!((heap.minor_gcs(), heap.collections()), (3, 3));
    // SAFETY: as above.
    let report = unsafe { heap.collect_fullsweep(0, &mut Roots::of(&mut x)) }.unwrap();
    assert!(report.fullsweep && heap.minor_gcs() == 0);
    assert_eq!((heap.info().heap_size, heap.info().old_heap_block_size), (10, 0));
    assert_eq!(x[0].list_length(), Some(5));
}

#[test]
fn need_is_met_and_given_up() {
    let mut heap = Heap::new(&Settings::default());
    assert_eq!(heap.info().heap_block_size, 233);
    for need in [1, 200, 233, 5_000, 1_000_000] {
        // SAFETY: no roots.
        unsafe { heap.collect(need, &mut Roots::new()) }.unwrap();
        assert!(heap.ensure(need) && heap.room() <= (need * 2).max(1000));
    }
    // SAFETY: no roots.
    unsafe { heap.collect_fullsweep(0, &mut Roots::new()) }.unwrap();
    assert!(heap.block_words() < 30_000, "an empty heap shrinks: {}", heap.block_words());
    // SAFETY: no roots.
    unsafe { heap.shrink_to_fit(&mut Roots::new()) }.unwrap();
    assert_eq!(heap.block_words(), crate::RESERVED);
}

#[test]
fn long_lists_and_deep_stacks() {
    let cells = if cfg!(miri) { 2_000 } else { 10_000_000 };
    let mut heap = Heap::new(&Settings::default());
    let list = build_list(&mut heap, cells);
    assert_eq!(list.list_length(), Some(cells));
    let mut x = [list];
    for i in 0..cells {
        if !heap.ensure(1) {
            // SAFETY: `x` is the only root beside the stack.
            unsafe { heap.ensure_stack(1, &mut Roots::of(&mut x)) }.unwrap();
        }
        // SAFETY: the room was checked.
        unsafe {
            heap.stop = heap.stop.sub(1);
            *heap.stop = if i % 2 == 0 { Term::small(i as i64).raw() } else { x[0].raw() };
        }
    }
    // Nested the other way: each cell's head is the list so far.
    let mut deep = Term::NIL;
    for _ in 0..cells {
        deep = heap.cons(deep, Term::NIL);
    }
    let mut roots = [x[0], deep];
    // SAFETY: these are the roots.
    unsafe { heap.collect_fullsweep(0, &mut Roots::of(&mut roots)) }.unwrap();
    assert_eq!(roots[0].list_length(), Some(cells));
    assert_eq!(heap.stack_words(), cells);
    assert!(heap.stack().iter().all(|w| *w == roots[0].raw() || *w & 7 == 0));
}

#[test]
fn a_limit_kills_or_reports() {
    let limit = MaxHeapSize { size: 1000, kill: true, error_logger: true, include_shared: false };
    let mut heap = Heap::new(&Settings { max_heap_size: limit, ..Settings::default() });
    assert_eq!(heap.max_heap_size(), limit);
    let mut x = [Term::NIL];
    for _ in 0..1000 {
        x[0] = heap.cons(Term::NIL, x[0]);
    }
    let before = heap.info();
    // SAFETY: `x` is the only root.
    let exceeded = unsafe { heap.collect(0, &mut Roots::of(&mut x)) }.unwrap_err();
    assert!(exceeded.total_words > 1000 && exceeded.info == before && heap.info() == before);
    assert_eq!(x[0].list_length(), Some(1000));
    heap.set_max_heap_size(MaxHeapSize { kill: false, ..limit });
    // SAFETY: as above.
    let report = unsafe { heap.collect(0, &mut Roots::of(&mut x)) }.unwrap();
    assert!(report.max_heap_exceeded.is_some());
    assert_eq!(x[0].list_length(), Some(1000));
}

#[test]
fn many_binaries_make_a_collection_due() {
    let mut heap = Heap::new(&Settings::default());
    let binary = SharedBinary::from_bytes(&vec![0; 100_000]);
    let mut n = 0;
    while !heap.needs_collection() {
        heap.shared_binary(binary.clone());
        n += 1;
    }
    assert_eq!(n, 46_422 / 12_500 + 1);
    // SAFETY: no roots.
    unsafe { heap.collect(0, &mut Roots::new()) }.unwrap();
    assert_eq!(binary.references(), 1);
    assert!(!heap.needs_collection());
}

#[test]
fn unused_words_go_back() {
    let mut heap = Heap::new(&Settings::default());
    let at = heap.alloc(10).as_ptr();
    // SAFETY: the last words of the allocation, unused; the first three become a tuple.
    let tuple = unsafe {
        heap.give_back(at.add(3), 7);
        *at = Header::new(Kind::Tuple, 2).raw();
        *at.add(1) = Term::NIL.raw();
        *at.add(2) = Term::NIL.raw();
        Term::from_boxed(at)
    };
    assert_eq!(heap.used_words(), 3);
    let second = heap.alloc(6).as_ptr();
    heap.cons(Term::NIL, Term::NIL);
    // SAFETY: all six words are unused.
    unsafe { heap.give_back(second, 6) };
    heap.check(&Roots::of(&mut [tuple]));
    let mut words = 0;
    heap.each_word(|_| words += 1);
    assert_eq!(words, 4);
}

#[test]
fn literal_references_are_found() {
    let mut area = LiteralArea::new();
    let literal = area.list(&[Term::NIL]);
    let mut heap = Heap::new(&Settings::default());
    assert!(!heap.refers_to(&area.ranges(), &Roots::new()));
    assert!(heap.refers_to(&area.ranges(), &Roots::of(&mut [literal])));
    heap.tuple(&[literal]);
    assert!(heap.refers_to(&area.ranges(), &Roots::new()));
    assert!(!heap.refers_to(&LiteralArea::with_capacity(1).ranges(), &Roots::new()));
}

#[test]
fn literals_are_copied_out() {
    let shared = SharedBinary::from_bytes(&[3; 100]);
    let (mut area, mut other) = (LiteralArea::new(), LiteralArea::new());
    let stays = other.list(&[Term::small(9)]);
    let part = area.shared_binary(shared.clone());
    let literal = area.tuple(&[part, stays, Term::small(1)]);
    let mut heap = Heap::new(&Settings::default());
    let mut x = [heap.cons(literal, Term::NIL), literal, stays];
    // SAFETY: `x` is the only root. Twice, so that the cell is old.
    unsafe {
        heap.collect(0, &mut Roots::of(&mut x)).unwrap();
        heap.collect(0, &mut Roots::of(&mut x)).unwrap();
    }
    assert_eq!(heap.info().old_heap_size, 2);
    let models = x.map(|t| Walker::default().hash(t));
    // SAFETY: as above.
    unsafe { heap.copy_out(&area.ranges(), &mut Roots::of(&mut x)) };
    assert!(!heap.refers_to(&area.ranges(), &Roots::of(&mut x)));
    drop(area);
    heap.check(&Roots::of(&mut x));
    assert_eq!(models, x.map(|t| Walker::default().hash(t)));
    assert!(x[2].is(stays) && x[0].as_cons().unwrap().0.is(x[1]));
    assert_eq!(shared.references(), 2);
}

#[test]
fn literals_are_copied_out_of_messages() {
    let (mut area, mut other) = (LiteralArea::new(), LiteralArea::new());
    let shared = SharedBinary::from_bytes(&[4; 100]);
    let part = area.shared_binary(shared.clone());
    let literal = area.list(&[part, Term::small(1)]);
    let stays = other.list(&[Term::small(2)]);
    for direct in [true, false] {
        // SAFETY: the fragment is kept as long as the term.
        let mut draft = unsafe { Draft::unbound(Fragment::with_capacity(7)) };
        let mut term = if direct {
            literal
        } else {
            let cell = draft.cons(literal, stays);
            draft.tuple(&[cell, literal])
        };
        let mut fragment = (!direct).then(|| draft.into_fragment());
        let model = Walker::default().hash(term);
        // SAFETY: the fragment holds the term, the areas are live.
        unsafe {
            Fragment::copy_out(&mut fragment, &mut [&mut term], &other.ranges());
            assert_eq!(fragment.is_some(), !direct || term.is(stays));
            Fragment::copy_out(&mut fragment, &mut [&mut term], &area.ranges());
        }
        let mut walker = Walker::default();
        assert_eq!(walker.hash(term), model);
        assert!(!walker.hashes.keys().any(|word| {
            // SAFETY: a word of the term.
            area.ranges().contains(unsafe { Term::from_raw(*word) }.object_ptr())
        }));
        let mut heap = Heap::new(&Settings::default());
        heap.attach(fragment.unwrap());
        heap.check(&Roots::of(&mut [term]));
    }
    drop(area);
    assert_eq!(shared.references(), 1);
}

#[test]
fn literals_that_go_are_copied_with_messages() {
    let mut area = LiteralArea::new();
    let literal = area.list(&[Term::small(1)]);
    assert!(Fragment::copy_of(literal).1.is_none());
    assert!(Fragment::whole_copy_of(literal).1.is_some());
    crate::set_going(&area.ranges());
    assert!(Fragment::copy_of(literal).1.is_some());
    no_bundle_comes_to_count_what_goes(&area, literal);
    crate::set_going(&crate::LiteralRanges::default());
    assert!(Fragment::copy_of(literal).1.is_none());
    // What goes is known to all at once, so no other test may set it.
    copies_have_room_while_literals_begin_to_go();
}

fn no_bundle_comes_to_count_what_goes(area: &LiteralArea, literal: Term) {
    let _alone = bundles::ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut other = LiteralArea::new();
    let lasts = other.list(&[Term::small(2)]);
    let mut heap = Heap::new(&Settings::default());
    let items: Vec<Term> = (0..50).flat_map(|_| [literal, lasts]).collect();
    let list = heap.list(&items);
    let lasting = crate::lasting::Lasting::now();
    let (term, fragment, words) = Fragment::bundled_copy_of(list, crate::bundle::Rule::ALWAYS, |at| lasting.holds(at));
    assert_eq!((words, crate::bundle::is_bundled(term.object_ptr())), (300, true));
    assert!(!area.is_counted() && other.is_counted());
    drop(fragment);
    assert!(!other.is_counted());
}

fn copies_have_room_while_literals_begin_to_go() {
    let mut area = LiteralArea::new();
    let literal = area.list(&[Term::small(1), Term::small(2)]);
    let mut arena = &myriad_term::Arena::new();
    let items: Vec<TermRef<'_>> = (0..200).map(|_| arena.cons(literal, literal)).collect();
    let message = arena.tuple(&items);
    let copy_often = move || {
        for _ in 0..if cfg!(miri) { 3 } else { 20_000 } {
            let (_, fragment, _) = Fragment::copy_of(message);
            // Each pair shares both literals, or has copies of both.
            let words = fragment.unwrap().used_words();
            assert!(words == 1 + 3 * 200 || words == 1 + 200 + 2 * 200 + 8 * 200, "{words}");
        }
    };
    std::thread::scope(|scope| {
        let copies = scope.spawn(copy_often);
        while !copies.is_finished() {
            crate::set_going(&area.ranges());
            crate::set_going(&crate::LiteralRanges::default());
        }
    });
}

#[test]
fn a_heap_is_small() {
    assert!(size_of::<Heap>() <= 200, "{}", size_of::<Heap>());
    assert_eq!(size_of::<Fragment>(), 8);
}
