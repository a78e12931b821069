//! Pieces of five squares on a board, each of the twelve at most once, as `examples/loops/loops_pentomino.erl` places them.

use crate::{Found, Search};
use rayon::prelude::*;
use std::collections::BTreeSet;

type Shape = [(i32, i32); 5];

const PIECES: [Shape; 12] = [
    [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4)],
    [(0, 1), (0, 2), (1, 0), (1, 1), (2, 1)],
    [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1)],
    [(0, 1), (1, 1), (2, 0), (2, 1), (3, 0)],
    [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)],
    [(0, 0), (0, 1), (0, 2), (1, 1), (2, 1)],
    [(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)],
    [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)],
    [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)],
    [(0, 1), (1, 0), (1, 1), (1, 2), (2, 1)],
    [(0, 1), (1, 0), (1, 1), (2, 1), (3, 1)],
    [(0, 0), (0, 1), (1, 1), (2, 1), (2, 2)],
];

/// A board, and for each piece and square the sets of squares that it can cover so that this one is the first of them.
pub struct Board {
    full: u64,
    sets: Vec<Vec<Vec<u64>>>,
}

impl Board {
    /// N rows and 60 squares, for N up to 6; else five rows and N squares.
    pub fn new(n: u32) -> Board {
        let (rows, squares) = if n <= 6 { (n as i32, 60) } else { (5, n as i32) };
        let sets = PIECES.iter().map(|piece| {
            let fits: BTreeSet<u64> = turned(piece)
                .iter()
                .flat_map(|shape| (0..squares).filter_map(|square| fitting(shape, square, rows, squares / rows)))
                .collect();
            let first =
                |square: i32| fits.iter().copied().filter(|set| set.trailing_zeros() as i32 == square).collect();
            (0..squares).map(first).collect()
        });
        Board { full: (1 << squares) - 1, sets: sets.collect() }
    }

    /// How many ways there are to cover it.
    pub fn ways(&self, search: &Search) -> Found {
        let all: Vec<u32> = (0..PIECES.len() as u32).collect();
        self.place(search, 0, &all)
    }

    fn place(&self, search: &Search, covered: u64, left: &[u32]) -> Found {
        if covered == self.full {
            return search.tell(1);
        }
        let square = (!covered).trailing_zeros() as usize;
        let with = |piece: u32| {
            let fits = self.sets[piece as usize][square].iter().filter(|set| *set & covered == 0);
            let left: Vec<u32> = left.iter().copied().filter(|other| *other != piece).collect();
            fits.map(|set| self.place(search, covered | set, &left)).sum()
        };
        if search.is_parallel {
            search.sum(left.par_iter().copied(), with)
        } else {
            left.iter().copied().map(with).sum()
        }
    }
}

fn turned(piece: &Shape) -> BTreeSet<Shape> {
    let turn = |shape: Shape| moved(shape.map(|(x, y)| (y, -x)));
    let mirrored = piece.map(|(x, y)| (x, -y));
    [*piece, mirrored]
        .into_iter()
        .flat_map(|shape| std::iter::successors(Some(moved(shape)), move |shape| Some(turn(*shape))).take(4))
        .collect()
}

fn moved(shape: Shape) -> Shape {
    let (left, top) = shape.iter().fold((i32::MAX, i32::MAX), |(left, top), (x, y)| (left.min(*x), top.min(*y)));
    let mut shape = shape.map(|(x, y)| (x - left, y - top));
    shape.sort_unstable();
    shape
}

/// The squares that a shape covers there, if it fits.
fn fitting(shape: &Shape, square: i32, rows: i32, width: i32) -> Option<u64> {
    shape.iter().try_fold(0, |set, (x, y)| {
        let (x, y) = (square / rows + x, square % rows + y);
        (x < width && y < rows).then(|| set | 1 << (x * rows + y))
    })
}
