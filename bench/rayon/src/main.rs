//! The slides' experiment with an exception, by rayon: the searches of `examples/loops`, node by node (docs/parallel.md).
//!
//! `throws-rayon PROGRAM WAY N RUNS THREADS PERCENT...` prints what `bench/throws.erl` prints. Rayon has no exceptions: what stops a search here is a result that is
//! handed up, and a flag that each node looks at, for the loops beside it know of each other's results no sooner than they are through with an element.

mod pentomino;

use pentomino::Board;
use rayon::prelude::*;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// More solutions have been found than are wanted.
pub struct Enough;

/// How many solutions there are below a node.
pub type Found = Result<u64, Enough>;

/// A search that goes on until it has found more than `most` solutions.
pub struct Search {
    is_parallel: bool,
    most: u64,
    found: AtomicU64,
    began: Instant,
    /// When the first solution too many was found, in nanoseconds; 0 before.
    first_ns: AtomicU64,
    // Relaxed, as are the others: nothing is read that was written before the flag was set, but for `first_ns`, and that when all threads have joined.
    is_over: AtomicBool,
}

impl Search {
    fn new(is_parallel: bool, most: u64) -> Search {
        let (found, first_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        Search { is_parallel, most, found, began: Instant::now(), first_ns, is_over: AtomicBool::new(false) }
    }

    /// So many solutions.
    pub fn tell(&self, count: u64) -> Found {
        if self.found.fetch_add(count, Relaxed) + count <= self.most {
            return Ok(count);
        }
        // Only the first one counts.
        let _ = self.first_ns.compare_exchange(0, self.ns(), Relaxed, Relaxed);
        self.is_over.store(true, Relaxed);
        Err(Enough)
    }

    /// The sum over some elements.
    pub fn sum(&self, elements: impl IndexedParallelIterator<Item = u32>, each: impl Fn(u32) -> Found + Sync) -> Found {
        elements.map(|element| self.go_on().and_then(|()| each(element))).try_reduce(|| 0, |a, b| Ok(a + b))
    }

    fn go_on(&self) -> Result<(), Enough> {
        if self.is_over.load(Relaxed) { Err(Enough) } else { Ok(()) }
    }

    fn ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Tells of the leaves, those of a small tree at once, as `loops_search:fib/3` does.
    fn fib(&self, n: u32) -> Found {
        if n <= 10 { self.tree(n).and_then(|leaves| self.tell(leaves)) } else { self.both(n, Self::fib) }
    }

    fn tree(&self, n: u32) -> Found {
        if n < 2 { Ok(1) } else { self.both(n, Self::tree) }
    }

    fn both(&self, n: u32, below: impl Fn(&Self, u32) -> Found + Sync) -> Found {
        if !self.is_parallel {
            return Ok(below(self, n - 1)? + below(self, n - 2)?);
        }
        self.go_on()?;
        let (a, b) = rayon::join(|| below(self, n - 1), || below(self, n - 2));
        Ok(a? + b?)
    }

    fn queens(&self, n: u32, left: u32, placed: Option<&Placed<'_>>) -> Found {
        if left == 0 {
            return self.tell(1);
        }
        let place = |column| {
            let is_safe = placed.is_none_or(|placed| placed.is_safe(column, 1));
            if is_safe { self.queens(n, left - 1, Some(&Placed { column, before: placed })) } else { Ok(0) }
        };
        if self.is_parallel { self.sum((1..n + 1).into_par_iter(), place) } else { (1..=n).map(place).sum() }
    }
}

/// What is searched.
enum Tree {
    Fib(u32),
    Queens(u32),
    Pentomino(Board),
}

impl Tree {
    fn new(program: &str, n: u32) -> Option<Tree> {
        match program {
            "fib" => Some(Tree::Fib(n)),
            "nqueens" => Some(Tree::Queens(n)),
            "pentomino" => Some(Tree::Pentomino(Board::new(n))),
            _ => None,
        }
    }

    fn search(&self, search: &Search) -> Found {
        match self {
            Tree::Fib(n) => search.fib(*n),
            Tree::Queens(n) => search.queens(*n, *n, None),
            Tree::Pentomino(board) => board.ways(search),
        }
    }
}

/// A queen, and those before it.
struct Placed<'p> {
    column: u32,
    before: Option<&'p Placed<'p>>,
}

impl Placed<'_> {
    fn is_safe(&self, column: u32, distance: u32) -> bool {
        self.column != column
            && self.column.abs_diff(column) != distance
            && self.before.is_none_or(|before| before.is_safe(column, distance + 1))
    }
}

/// Nanoseconds before the first solution too many, and from there until the root knows.
fn point(tree: &Tree, is_parallel: bool, most: u64) -> (u64, u64) {
    let search = Search::new(is_parallel, most);
    let found = tree.search(&search);
    let (end, first) = (search.ns(), search.first_ns.load(Relaxed));
    if found.is_ok() { (end, 0) } else { (first, end - first) }
}

fn points(tree: &Tree, is_parallel: bool, runs: u32, percents: &[String]) -> Option<()> {
    let all = tree.search(&Search::new(false, u64::MAX)).ok()?;
    point(tree, is_parallel, all);
    for _ in 0..runs {
        for percent in percents {
            let (before, after) = point(tree, is_parallel, all * percent.parse::<u64>().ok()? / 100);
            println!("point {percent} {before} {after}");
        }
    }
    Some(())
}

fn asked(words: &[String]) -> Option<()> {
    let [program, way, n, runs, threads, percents @ ..] = words else { return None };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.parse().ok()?).build().ok()?;
    let (tree, runs) = (Tree::new(program, n.parse().ok()?)?, runs.parse().ok()?);
    pool.install(|| points(&tree, way == "parallel", runs, percents))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if asked(&words).is_some() {
        return ExitCode::SUCCESS;
    }
    eprintln!("usage: throws-rayon fib|nqueens|pentomino sequential|parallel N RUNS THREADS PERCENT...");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_find_what_the_loops_find() {
        for (program, n, solutions) in [("fib", 20, 10_946), ("nqueens", 8, 92), ("pentomino", 3, 8)] {
            let tree = Tree::new(program, n).unwrap();
            for is_parallel in [false, true] {
                assert_eq!(tree.search(&Search::new(is_parallel, u64::MAX)).ok(), Some(solutions), "{program}");
                assert!(tree.search(&Search::new(is_parallel, solutions - 1)).is_err(), "{program}");
            }
        }
    }
}
