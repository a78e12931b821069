//! Functions of the standard library that are loops around a call of a fun, and that the engine may run as one step for each
//! turn, between one return of the fun and its next call; and those that are the step of a loop over the characters of a text.
//!
//! - Nobody can tell: frames, lines, reductions, errors and the order of calls are those of the function's own code, which
//!   goes on wherever the list or the iterator turns out to be none, and wherever functions of the module are traced.
//! - A loop stands for the release's own module only ([`Registry::has_bodies_of`](crate::bif::Registry::has_bodies_of)).

/// What such a function does with its fun `F` and the rest of what it goes through, in the order of its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loop {
    /// `(F, List)`: calls `F(Head)` for what it does; `ok` at the end.
    Each,
    /// `(F, Acc, List)`: goes on with `F(Head, Acc)`; `Acc` at the end.
    Fold,
    /// `(F, List)`: a list of what `F(Head)` gives, with a frame for each element until the end, as a recursion has.
    Map,
    /// `(F, Acc, {K, V, Iterator})`: goes on with `F(K, V, Acc)` and what `next/1` of the module makes of the iterator; `Acc`
    /// where that is `none`.
    FoldPairs,
    /// `(Text)`: the text itself if it is a list that begins with a character.
    Char,
    /// `(Text)`: the text itself if it is a list that begins with a character that is plainly a cluster.
    Cluster,
}

/// One line of [`LOOPS`].
#[derive(Debug)]
pub struct LoopDef {
    /// Module.
    pub module: &'static str,
    /// Function.
    pub function: &'static str,
    /// What it does.
    pub shape: Loop,
    /// Last OTP release of which this is known to be true.
    pub until: u16,
}

impl Loop {
    /// Arguments of the function.
    pub const fn arity(self) -> u8 {
        match self {
            Loop::Char | Loop::Cluster => 1,
            Loop::Each | Loop::Map => 2,
            Loop::Fold | Loop::FoldPairs => 3,
        }
    }

    /// Arguments of its fun.
    pub const fn fun_arity(self) -> u8 {
        match self {
            Loop::Char | Loop::Cluster => 0,
            Loop::Each | Loop::Map => 1,
            Loop::Fold => 2,
            Loop::FoldPairs => 3,
        }
    }
}

/// All of them.
pub static LOOPS: &[LoopDef] = &[
    LoopDef { module: "lists", function: "foreach_1", shape: Loop::Each, until: 29 },
    LoopDef { module: "lists", function: "foldl_1", shape: Loop::Fold, until: 29 },
    LoopDef { module: "lists", function: "map_1", shape: Loop::Map, until: 29 },
    LoopDef { module: "maps", function: "fold_1", shape: Loop::FoldPairs, until: 25 },
    LoopDef { module: "unicode_util", function: "cp", shape: Loop::Char, until: 25 },
    LoopDef { module: "unicode_util", function: "gc", shape: Loop::Cluster, until: 25 },
];
