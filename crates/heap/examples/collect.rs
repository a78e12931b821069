//! What collections cost: `cargo run --release -p myriad-heap --example collect`.
//!
//! Each line is one pattern of allocation, run for about a second: nanoseconds for a word allocated and for a
//! collection, and the size the young block came to.

use myriad_heap::{Heap, Roots, Settings};
use myriad_term::{Build, Term};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Processor time of this process so far.
fn cpu_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Makes room, with `x` as roots.
fn room(heap: &mut Heap, words: usize, x: &mut [Term]) {
    if !heap.ensure(words) {
        // SAFETY: `x` holds all terms that are used again.
        let done = unsafe { heap.collect(words, &mut Roots::of(x)) };
        assert!(done.is_ok());
    }
}

fn report(name: &str, words: usize, heap: &Heap, from: f64) {
    let ns = cpu_ns() - from;
    println!(
        "{name:34} {:7.2} ns/word {:9.0} ns/gc {:8} gcs {:9} words young {:10} old",
        ns / words as f64,
        ns / heap.collections().max(1) as f64,
        heap.collections(),
        heap.block_words(),
        heap.info().old_heap_block_size
    );
}

/// Garbage only, beside `live` live tuples of three words.
fn garbage(name: &str, live: usize, words: usize) {
    let from = cpu_ns();
    let mut heap = Heap::new(&Settings::default());
    let mut x = [Term::NIL, Term::NIL];
    for _ in 0..live {
        room(&mut heap, 5, &mut x);
        let tuple = heap.tuple(&[Term::NIL, Term::NIL]);
        x[0] = heap.cons(tuple, x[0]);
    }
    let mut allocated = 0;
    while allocated < words {
        room(&mut heap, 5, &mut x);
        let tuple = heap.tuple(&[Term::NIL, x[0]]);
        x[1] = heap.cons(tuple, Term::NIL);
        allocated += 5;
    }
    report(name, allocated, &heap, from);
}

/// Garbage in many processes by turns, so that none is its thread's busiest.
fn by_turns(name: &str, processes: usize, words: usize) {
    let from = cpu_ns();
    let mut heaps: Vec<_> = (0..processes).map(|_| (Heap::new(&Settings::default()), [Term::NIL, Term::NIL])).collect();
    let mut allocated = 0;
    while allocated < words {
        for (heap, x) in &mut heaps {
            x[0] = Term::NIL;
            for _ in 0..50 {
                room(heap, 5, x);
                let tuple = heap.tuple(&[Term::NIL, x[0]]);
                x[0] = heap.cons(tuple, x[0]);
                allocated += 5;
            }
        }
    }
    report(name, allocated, &heaps[0].0, from);
}

/// A list that grows.
fn list(name: &str, cells: usize) {
    let from = cpu_ns();
    let mut heap = Heap::new(&Settings::default());
    let mut x = [Term::NIL];
    for i in 0..cells {
        room(&mut heap, 2, &mut x);
        x[0] = heap.cons(Term::small(i as i64), x[0]);
    }
    report(name, cells * 2, &heap, from);
}

/// A binary tree of tuples, of which leaves are replaced at random: survivors of all ages.
fn tree(name: &str, depth: u32, updates: usize) {
    let from = cpu_ns();
    let mut heap = Heap::new(&Settings::default());
    let mut x = [Term::NIL];
    for _ in 0..depth {
        room(&mut heap, 3, &mut x);
        x[0] = heap.tuple(&[x[0], x[0]]);
    }
    let mut random = 1u64;
    let mut allocated = 0;
    for _ in 0..updates {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        room(&mut heap, 3 * depth as usize, &mut x);
        // The path to a leaf is copied.
        let mut path = [(Term::NIL, false); 64];
        let mut at = x[0];
        for (i, step) in path.iter_mut().enumerate().take(depth as usize) {
            let right = random >> (63 - i) & 1 == 1;
            *step = (at, right);
            at = at.as_tuple().map_or(Term::NIL, |t| t.get(usize::from(right)));
        }
        let mut new = Term::small(random as i64 >> 8);
        for (old, right) in path[..depth as usize].iter().rev() {
            if let Some([a, b]) = old.as_tuple_of() {
                new = if *right { heap.tuple(&[a, new]) } else { heap.tuple(&[new, b]) };
            }
            allocated += 3;
        }
        x[0] = new;
    }
    report(name, allocated, &heap, from);
}

/// A deep stack, and garbage on top.
fn stack(name: &str, depth: usize) {
    let from = cpu_ns();
    let mut heap = Heap::new(&Settings::default());
    for i in 0..depth {
        room(&mut heap, 4, &mut []);
        let cell = heap.cons(Term::small(i as i64), Term::NIL);
        // SAFETY: the room was checked.
        unsafe {
            heap.stop = heap.stop.sub(2);
            *heap.stop = 0;
            *heap.stop.add(1) = cell.raw();
        }
    }
    report(name, depth * 4, &heap, from);
}

/// Processes that build a list and end.
fn spawn(name: &str, cells: usize, times: usize) {
    let from = cpu_ns();
    let mut last = None;
    for _ in 0..times {
        let mut heap = Heap::new(&Settings::default());
        let mut x = [Term::NIL];
        for i in 0..cells {
            room(&mut heap, 2, &mut x);
            x[0] = heap.cons(Term::small(i as i64), x[0]);
        }
        last = Some(heap);
    }
    if let Some(heap) = last {
        let ns = cpu_ns() - from;
        println!("{name:34} {:7.2} ns/word {} gcs each", ns / (cells * 2 * times) as f64, heap.collections());
    }
}

/// The same live terms copied again and again: a list of `live` pairs.
fn copies(name: &str, live: usize, times: usize) {
    let mut heap = Heap::new(&Settings::default());
    let mut x = [Term::NIL];
    for i in 0..live {
        room(&mut heap, 5, &mut x);
        let tuple = heap.tuple(&[Term::small(i as i64), Term::NIL]);
        x[0] = heap.cons(tuple, x[0]);
    }
    // The best of some batches: other work on the machine only adds.
    let (mut best, mut words) = (f64::MAX, 0);
    for _ in 0..10 {
        let from = cpu_ns();
        words = 0;
        for _ in 0..times / 10 {
            // SAFETY: `x` is the only root.
            if let Ok(done) = unsafe { heap.collect_fullsweep(0, &mut Roots::of(&mut x)) } {
                words += done.words_copied;
            }
        }
        best = best.min(cpu_ns() - from);
    }
    println!("{name:34} {:7.2} ns/word {:9.0} ns/gc", best / words as f64, best * 10.0 / times as f64);
}

/// Runs a pattern if its name holds the first argument.
fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let run = |name: &str, pattern: &dyn Fn(&str)| {
        if name.contains(&wanted) {
            pattern(name);
        }
    };
    run("garbage, nothing live", &|name| garbage(name, 0, 300_000_000));
    run("garbage, 30 live", &|name| garbage(name, 30, 300_000_000));
    run("garbage, 1 000 live", &|name| garbage(name, 1_000, 300_000_000));
    run("garbage, 1 000 000 live", &|name| garbage(name, 1_000_000, 300_000_000));
    run("garbage, 100 processes by turns", &|name| by_turns(name, 100, 100_000_000));
    run("garbage, 10 000 by turns", &|name| by_turns(name, 10_000, 100_000_000));
    run("copies of 10 pairs", &|name| copies(name, 10, 1_000_000));
    run("copies of 1 000 pairs", &|name| copies(name, 1_000, 20_000));
    run("copies of 20 000 pairs", &|name| copies(name, 20_000, 1_000));
    run("copies of 1 000 000 pairs", &|name| copies(name, 1_000_000, 20));
    run("processes of 30 cells", &|name| spawn(name, 30, 500_000));
    run("processes of 1 000 cells", &|name| spawn(name, 1_000, 20_000));
    run("list of 1 000 000", &|name| list(name, 1_000_000));
    run("list of 30 000 000", &|name| list(name, 30_000_000));
    run("tree of 2^10, paths replaced", &|name| tree(name, 10, 5_000_000));
    run("tree of 2^20, paths replaced", &|name| tree(name, 20, 3_000_000));
    run("stack of 10 000 000 frames", &|name| stack(name, 10_000_000));
}
