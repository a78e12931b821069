//! What source locations stand for: Cranelift carries them from its input to the offsets of the code.

/// What the code of an instruction is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Nothing that has to be found again.
    Plain,
    /// It goes to another function, with so many words in the argument registers.
    Tail(usize),
    /// It returns.
    Return,
    /// It calls a function by the convention for C, with so many words.
    Leaf(usize),
    /// The same, of one that keeps all registers and takes none.
    RareLeaf,
    /// The call that is never made.
    Door,
    /// Arithmetic whose overflow is branched on.
    Checked,
    /// It reads or writes the counter.
    Counter,
}

/// A source location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The number of the instruction that it belongs to.
    pub source: Option<u32>,
    /// What it is for.
    pub kind: Kind,
}

/// Where the code of a mark is.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The first byte.
    pub start: u32,
    /// Behind the last one.
    pub end: u32,
    /// The mark.
    pub mark: Mark,
}

/// The marks of a function's code, by offset.
#[derive(Debug)]
pub struct Ranges(pub Vec<Range>);

impl Ranges {
    /// The mark of the code at an offset.
    pub fn at(&self, offset: u32) -> Option<Mark> {
        let behind = self.0.partition_point(|range| range.start <= offset);
        let range = self.0.get(behind.checked_sub(1)?)?;
        (offset < range.end).then_some(range.mark)
    }

    /// From which offset on code is of which instruction, between two offsets, counted from the first.
    pub fn sources(&self, start: u32, end: u32) -> Vec<(u32, u32)> {
        let mut sources: Vec<(u32, u32)> = Vec::new();
        for range in &self.0 {
            let Some(source) = range.mark.source else { continue };
            if range.end <= start || range.start >= end || sources.last().is_some_and(|last| last.1 == source) {
                continue;
            }
            sources.push((range.start.max(start) - start, source));
        }
        sources
    }
}
