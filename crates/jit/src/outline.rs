//! A function that has been compiled, as it is the same in each run.

use crate::name::{Constant, Name};
use myriad_native::code::Code;
use myriad_native::form::Point;
use std::collections::HashSet;

/// What there has to be beside the code of a function, so that it can run.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Outline {
    /// What symbols stand for, by number.
    pub(crate) names: Vec<Name>,
    /// Constants whose words code takes to be in ascending order, which may hold in one run and not in another.
    pub(crate) orders: Vec<Vec<Constant>>,
    /// Where tier 0 enters at labels: the points.
    pub(crate) labels: Vec<(u32, Point)>,
    /// Calls of funs that drop the frame and return behind, which are one instruction of tier 0.
    pub(crate) tails: HashSet<usize>,
    /// Instructions behind which machine code goes on.
    pub(crate) returning: HashSet<usize>,
}

impl Outline {
    /// How many instructions tier 0 makes one of, from this one on.
    pub(crate) fn length(&self, index: usize) -> usize {
        if self.tails.contains(&index) { 3 } else { 1 }
    }
}

/// A function that only has to be linked.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Made {
    /// Its code.
    pub(crate) code: Code,
    /// What goes with it.
    pub(crate) outline: Outline,
}
