//! How control goes through a form, and which places come before which on every way.
//!
//! G1. Node 0 stands before all ways in. It leads to the node of the entry, which leads to block 0, and to one node for each point, which leads to
//!     the block where the function goes on. A call or a visit leads nowhere: that its point is entered some time later is not seen here,
//!     and so nothing given before it dominates what comes after.

use super::{Block, BlockId, End, Form, Point, Value};

/// A way in behind the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WayIn {
    /// Its name.
    pub point: Point,
    /// The stack pointer then.
    pub sp: Value,
    /// X0 then.
    pub x0: Value,
    /// Where it goes on.
    pub next: BlockId,
    /// Is it the end of a visit that is rare?
    pub rare: bool,
}

/// A node of the graph (G1).
pub type Node = usize;

/// The root: what comes before all ways in.
pub const ROOT: Node = 0;

/// The node of the entry.
pub const ENTRY: Node = 1;

/// The graph of a form.
#[derive(Debug)]
pub struct Graph {
    /// All points, those of calls and visits first, by block.
    pub ways_in: Vec<WayIn>,
    blocks: usize,
    successors: Vec<[Option<Node>; 2]>,
    /// By node; `None`: nothing leads there.
    dominators: Vec<Option<Node>>,
    /// Where a node stands in an order in which dominators come first.
    order: Vec<usize>,
    /// The places in the tree of dominators, counted downwards, of a node and of all below it.
    below: Vec<std::ops::Range<usize>>,
}

/// Where the end of a block goes on within the function.
pub fn targets(block: &Block) -> impl Iterator<Item = BlockId> + use<> {
    let (first, second) = match block.end {
        End::Jump(to) => (Some(to), None),
        End::Branch { then, otherwise, .. } => (Some(then), Some(otherwise)),
        End::Checked { fits, overflows, .. } => (Some(fits), Some(overflows)),
        End::Tail { .. } | End::Call { .. } | End::Visit { .. } | End::Return { .. } => (None, None),
    };
    first.into_iter().chain(second)
}

fn way_in(block: &Block) -> Option<WayIn> {
    match block.end {
        End::Call { point, sp_after, x0_after, next, .. } => {
            Some(WayIn { point, sp: sp_after, x0: x0_after, next, rare: false })
        }
        End::Visit { point, sp_after, x0_after, next, rare, .. } => {
            Some(WayIn { point, sp: sp_after, x0: x0_after, next, rare })
        }
        _ => None,
    }
}

impl Graph {
    /// The graph of a form whose ends name blocks that there are.
    pub fn new(form: &Form) -> Self {
        let mut ways_in: Vec<WayIn> = form.blocks.iter().filter_map(way_in).collect();
        ways_in.extend(form.points.iter().map(|entry| WayIn {
            point: entry.point,
            sp: entry.sp,
            x0: entry.x0,
            next: entry.block,
            rare: true,
        }));
        let blocks = form.blocks.len();
        let mut successors = vec![[None, None]; 2 + blocks + ways_in.len()];
        successors[ENTRY] = [Some(2), None];
        for (number, block) in form.blocks.iter().enumerate() {
            for (slot, target) in successors[2 + number].iter_mut().zip(targets(block)) {
                *slot = Some(2 + target.0 as usize);
            }
        }
        for (number, way) in ways_in.iter().enumerate() {
            successors[2 + blocks + number] = [Some(2 + way.next.0 as usize), None];
        }
        let mut graph =
            Self { ways_in, blocks, successors, dominators: Vec::new(), order: Vec::new(), below: Vec::new() };
        graph.find_dominators();
        graph
    }

    /// The node of a block.
    pub fn of_block(&self, block: BlockId) -> Node {
        2 + block.0 as usize
    }

    /// The node of a point, by its place in `ways_in`.
    pub fn of_way_in(&self, number: usize) -> Node {
        2 + self.blocks + number
    }

    /// Does any way lead to it?
    pub fn is_reached(&self, node: Node) -> bool {
        self.dominators[node].is_some()
    }

    /// The nearest other node that comes before it on every way.
    pub fn dominator(&self, node: Node) -> Option<Node> {
        self.dominators[node].filter(|_| node != ROOT)
    }

    /// Does `above` come before `node`, or is it the same, on every way?
    pub fn dominates(&self, above: Node, node: Node) -> bool {
        self.below[above].contains(&self.below[node].start)
    }

    /// The blocks that are reached, such that dominators come first.
    pub fn blocks_in_order(&self) -> Vec<BlockId> {
        let mut blocks: Vec<BlockId> =
            (0..self.blocks as u32).map(BlockId).filter(|block| self.is_reached(self.of_block(*block))).collect();
        blocks.sort_unstable_by_key(|block| self.order[self.of_block(*block)]);
        blocks
    }

    /// The algorithm of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
    fn find_dominators(&mut self) {
        let reverse = self.reverse_postorder();
        self.order = vec![usize::MAX; self.successors.len()];
        for (place, node) in reverse.iter().enumerate() {
            self.order[*node] = place;
        }
        let mut predecessors: Vec<Vec<Node>> = vec![Vec::new(); self.successors.len()];
        for &node in &reverse {
            for next in self.leads_to(node) {
                predecessors[next].push(node);
            }
        }
        self.dominators = vec![None; self.successors.len()];
        self.dominators[ROOT] = Some(ROOT);
        let mut changed = true;
        while changed {
            changed = false;
            for &node in &reverse[1..] {
                let known = predecessors[node].iter().copied().filter(|before| self.dominators[*before].is_some());
                let common = known.reduce(|a, b| self.common(a, b));
                if common.is_some() && self.dominators[node] != common {
                    self.dominators[node] = common;
                    changed = true;
                }
            }
        }
        self.number_the_tree(&reverse);
    }

    fn number_the_tree(&mut self, reverse: &[Node]) {
        let mut sizes = vec![1; self.successors.len()];
        for &node in reverse[1..].iter().rev() {
            sizes[self.dominators[node].unwrap_or(ROOT)] += sizes[node];
        }
        // `start..start` with `start` beyond all: what is not reached is below nothing.
        self.below = vec![usize::MAX..usize::MAX; self.successors.len()];
        let mut free = vec![1; self.successors.len()];
        self.below[ROOT] = 0..sizes[ROOT];
        for &node in &reverse[1..] {
            let above = self.dominators[node].unwrap_or(ROOT);
            let start = free[above];
            self.below[node] = start..start + sizes[node];
            free[above] += sizes[node];
            free[node] = start + 1;
        }
    }

    fn common(&self, mut a: Node, mut b: Node) -> Node {
        while a != b {
            if self.order[a] > self.order[b] {
                a = self.dominators[a].unwrap_or(ROOT);
            } else {
                b = self.dominators[b].unwrap_or(ROOT);
            }
        }
        a
    }

    fn leads_to(&self, node: Node) -> impl Iterator<Item = Node> + use<> {
        let points = if node == ROOT { 2 + self.blocks..self.successors.len() } else { 0..0 };
        let entry = (node == ROOT).then_some(ENTRY);
        self.successors[node].into_iter().flatten().chain(entry).chain(points)
    }

    fn reverse_postorder(&self) -> Vec<Node> {
        let mut seen = vec![false; self.successors.len()];
        let mut order = Vec::with_capacity(self.successors.len());
        let mut stack = vec![(ROOT, self.leads_to(ROOT).collect::<Vec<_>>())];
        seen[ROOT] = true;
        while let Some((node, rest)) = stack.last_mut() {
            match rest.pop() {
                Some(next) if !seen[next] => {
                    seen[next] = true;
                    let rest = self.leads_to(next).collect();
                    stack.push((next, rest));
                }
                Some(_) => {}
                None => {
                    order.push(*node);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }
}
