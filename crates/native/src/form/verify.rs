//! What every back end relies on: native/F1 to F3, looked at in time linear in the form (but for loops entered from several sides).

use super::graph::{ENTRY, Graph, Node, targets};
use super::{ARGUMENTS, Base, Block, BlockId, Condition, End, Form, Op, Place, Type, Value, Variable, Width};

/// Most words that a leaf may be given.
const LEAF_ARGUMENTS: usize = 6;

type Checked<T = ()> = Result<T, String>;

impl Form {
    /// Does it keep native/F1 to F3, and do all numbers name something? Else what is wrong first.
    pub fn verify(&self) -> Result<(), String> {
        self.check_blocks()?;
        let graph = Graph::new(self);
        self.check_points(&graph)?;
        let mut values = Values::new(self);
        values.gather(self, &graph)?;
        for (number, block) in self.blocks.iter().enumerate() {
            let node = graph.of_block(BlockId(number as u32));
            values.check_block(&graph, node, block).map_err(|what| format!("b{number}: {what}"))?;
        }
        self.check_variables(&graph)
    }

    fn check_blocks(&self) -> Checked {
        let exists = |block: BlockId| {
            if (block.0 as usize) < self.blocks.len() { Ok(()) } else { Err(format!("{block} does not exist")) }
        };
        exists(BlockId(0))?;
        for block in &self.blocks {
            targets(block).try_for_each(exists)?;
            if let End::Call { next, .. } | End::Visit { next, .. } = block.end {
                exists(next)?;
            }
        }
        self.points.iter().try_for_each(|entry| exists(entry.block))
    }

    /// native/F3.
    fn check_points(&self, graph: &Graph) -> Checked {
        let mut points: Vec<_> = graph.ways_in.iter().map(|way| way.point).collect();
        points.sort_unstable();
        match points.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("{} is there twice (F3)", pair[0])),
            None => Ok(()),
        }
    }

    /// native/F2, for variables: the usual analysis of liveness, backwards until nothing changes.
    fn check_variables(&self, graph: &Graph) -> Checked {
        let words = self.variables.len().div_ceil(64);
        if words == 0 {
            return Ok(());
        }
        let mut order = graph.blocks_in_order();
        order.reverse();
        let effects: Vec<Effect> = self.blocks.iter().map(|block| Effect::new(block, words)).collect();
        let mut live = vec![vec![0; words]; self.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for &BlockId(block) in &order {
                let (block, mut out) = (block as usize, vec![0; words]);
                for target in targets(&self.blocks[block]) {
                    out.iter_mut().zip(&live[target.0 as usize]).for_each(|(a, b)| *a |= b);
                }
                let Effect { read, set } = &effects[block];
                for (((live, read), out), set) in live[block].iter_mut().zip(read).zip(out).zip(set) {
                    let now = read | out & !set;
                    changed |= *live != now;
                    *live = now;
                }
            }
        }
        for way in &graph.ways_in {
            let live = &live[way.next.0 as usize];
            if let Some(word) = live.iter().position(|bits| *bits != 0) {
                let variable = Variable((word * 64) as u32 + live[word].trailing_zeros());
                return Err(format!("{variable} lives into {} (F2)", way.point));
            }
        }
        Ok(())
    }
}

/// What a block does to variables: those read before they are set, and those set.
struct Effect {
    read: Vec<u64>,
    set: Vec<u64>,
}

impl Effect {
    fn new(block: &Block, words: usize) -> Self {
        let mut effect = Self { read: vec![0; words], set: vec![0; words] };
        for op in &block.ops {
            match op {
                Op::Get(_, Variable(number)) => {
                    let (word, bit) = (*number as usize / 64, 1 << (number % 64));
                    effect.read[word] |= bit & !effect.set[word];
                }
                Op::Set(Variable(number), _) => effect.set[*number as usize / 64] |= 1 << (number % 64),
                _ => {}
            }
        }
        effect
    }
}

/// Where a value is given: a node, and how many operations of it come before.
#[derive(Clone, Copy)]
struct Given {
    node: Node,
    place: usize,
}

/// What is known of values and variables.
struct Values<'f> {
    form: &'f Form,
    given: Vec<Option<Given>>,
}

impl<'f> Values<'f> {
    fn new(form: &'f Form) -> Self {
        Self { form, given: vec![None; form.values.len()] }
    }

    fn give(&mut self, value: Value, node: Node, place: usize) -> Checked {
        match self.given.get_mut(value.0 as usize) {
            None => Err(format!("{value} has no type")),
            Some(Some(_)) => Err(format!("{value} is given twice (F1)")),
            Some(free) => {
                *free = Some(Given { node, place });
                Ok(())
            }
        }
    }

    fn gather(&mut self, form: &Form, graph: &Graph) -> Checked {
        if form.parameters.len() != ARGUMENTS + 1 {
            return Err(format!("{} parameters", form.parameters.len()));
        }
        for parameter in &form.parameters {
            self.give(*parameter, ENTRY, 0)?;
            self.has(*parameter, Type::Word)?;
        }
        for (number, way) in graph.ways_in.iter().enumerate() {
            for value in [way.sp, way.x0] {
                self.give(value, graph.of_way_in(number), 0)?;
                self.has(value, Type::Word)?;
            }
        }
        for (number, block) in form.blocks.iter().enumerate() {
            let node = graph.of_block(BlockId(number as u32));
            for (place, op) in block.ops.iter().enumerate() {
                if let Some(value) = op.gives() {
                    self.give(value, node, place)?;
                }
            }
            if let End::Checked { result, .. } = block.end {
                self.give(result, node, block.ops.len())?;
            }
        }
        Ok(())
    }

    fn has(&self, value: Value, kind: Type) -> Checked {
        match self.form.values.get(value.0 as usize) {
            Some(found) if *found == kind => Ok(()),
            Some(found) => Err(format!("{value} is a {found}, not a {kind} (F1)")),
            None => Err(format!("{value} has no type")),
        }
    }

    fn variable(&self, variable: Variable) -> Checked<Type> {
        self.form.variables.get(variable.0 as usize).copied().ok_or_else(|| format!("{variable} has no type"))
    }

    fn check_block(&self, graph: &Graph, node: Node, block: &Block) -> Checked {
        for (place, op) in block.ops.iter().enumerate() {
            let user = User { values: self, graph, node, place };
            user.check_op(op).map_err(|what| format!("{op}: {what}"))?;
        }
        let user = User { values: self, graph, node, place: block.ops.len() };
        user.check_end(&block.end).map_err(|what| format!("{}: {what}", block.end))
    }
}

/// Something that uses values.
struct User<'v, 'f> {
    values: &'v Values<'f>,
    graph: &'v Graph,
    node: Node,
    place: usize,
}

impl User<'_, '_> {
    fn uses(&self, value: Value, kind: Type) -> Checked {
        self.values.has(value, kind)?;
        let Some(given) = self.values.given[value.0 as usize] else {
            return Err(format!("{value} is not given (F1)"));
        };
        let before = if given.node == self.node {
            given.place < self.place
        } else {
            !self.graph.is_reached(self.node) || self.graph.dominates(given.node, self.node)
        };
        if before { Ok(()) } else { Err(format!("{value} is not given on every way here (F1, F2)")) }
    }

    fn words(&self, values: &[Value]) -> Checked {
        values.iter().try_for_each(|value| self.uses(*value, Type::Word))
    }

    fn floats(&self, values: &[Value]) -> Checked {
        values.iter().try_for_each(|value| self.uses(*value, Type::Float))
    }

    fn place(&self, place: &Place) -> Checked<Type> {
        if let Base::Value(base) = place.base {
            self.uses(base, Type::Word)?;
        }
        Ok(if place.width == Width::Float { Type::Float } else { Type::Word })
    }

    fn check_op(&self, op: &Op) -> Checked {
        let gives = |value: &Value, kind| self.values.has(*value, kind);
        match op {
            Op::Source(_) => Ok(()),
            Op::Word(to, _) | Op::Symbol(to, _) => gives(to, Type::Word),
            Op::Float(to, _) => gives(to, Type::Float),
            Op::Get(to, variable) => gives(to, self.values.variable(*variable)?),
            Op::Set(variable, from) => self.uses(*from, self.values.variable(*variable)?),
            Op::Load(to, place) => gives(to, self.place(place)?),
            Op::Store(place, from) => {
                let kind = self.place(place)?;
                self.uses(*from, kind)
            }
            Op::Counter(to) => gives(to, Type::Word),
            Op::SetCounter(from) => self.words(&[*from]),
            Op::Binary(to, _, a, b) | Op::Compare(to, _, a, b) => {
                gives(to, Type::Word)?;
                self.words(&[*a, *b])
            }
            Op::Unary(to, _, a) => {
                gives(to, Type::Word)?;
                self.words(&[*a])
            }
            Op::Select(to, condition, a, b) => {
                let kind = self.values.form.values.get(to.0 as usize).copied().unwrap_or(Type::Word);
                self.uses(*condition, Type::Word)?;
                self.uses(*a, kind)?;
                self.uses(*b, kind)
            }
            Op::FloatBinary(to, _, a, b) => {
                gives(to, Type::Float)?;
                self.floats(&[*a, *b])
            }
            Op::FloatCompare(to, condition, a, b) => {
                if matches!(
                    condition,
                    Condition::Below | Condition::BelowOrEqual | Condition::Above | Condition::AboveOrEqual
                ) {
                    return Err("a comparison without signs".to_owned());
                }
                gives(to, Type::Word)?;
                self.floats(&[*a, *b])
            }
            Op::FloatBits(to, a) => {
                gives(to, Type::Word)?;
                self.floats(&[*a])
            }
            Op::BitsFloat(to, a) | Op::ToFloat(to, a) => {
                gives(to, Type::Float)?;
                self.words(&[*a])
            }
            Op::Leaf(to, target, arguments) => {
                to.iter().try_for_each(|to| gives(to, Type::Word))?;
                self.leaf(*target, arguments)
            }
            Op::RareLeaf(target) => self.leaf(*target, &[]),
        }
    }

    fn leaf(&self, target: Value, arguments: &[Value]) -> Checked {
        if arguments.len() > LEAF_ARGUMENTS {
            return Err("too many arguments".to_owned());
        }
        self.words(&[target])?;
        self.words(arguments)
    }

    fn check_end(&self, end: &End) -> Checked {
        match end {
            End::Jump(_) => Ok(()),
            End::Branch { condition, .. } => self.words(&[*condition]),
            End::Checked { result, a, b, .. } => {
                self.values.has(*result, Type::Word)?;
                self.words(&[*a, *b])
            }
            End::Tail { target, sp, x } | End::Call { target, sp, x, .. } => {
                if x.len() > ARGUMENTS {
                    return Err("too many X registers".to_owned());
                }
                self.words(&[*target, *sp])?;
                self.words(x)
            }
            End::Visit { target, sp, what, .. } => self.words(&[*target, *sp, *what]),
            End::Return { sp, x0 } => self.words(&[*sp, *x0]),
        }
    }
}

impl Op {
    /// The value that it gives.
    pub fn gives(&self) -> Option<Value> {
        match self {
            Self::Source(_) | Self::Set(..) | Self::Store(..) | Self::SetCounter(_) | Self::RareLeaf(_) => None,
            Self::Leaf(to, ..) => *to,
            Self::Word(to, _)
            | Self::Float(to, _)
            | Self::Symbol(to, _)
            | Self::Get(to, _)
            | Self::Load(to, _)
            | Self::Counter(to)
            | Self::Binary(to, ..)
            | Self::Unary(to, ..)
            | Self::Compare(to, ..)
            | Self::Select(to, ..)
            | Self::FloatBinary(to, ..)
            | Self::FloatCompare(to, ..)
            | Self::FloatBits(to, _)
            | Self::BitsFloat(to, _)
            | Self::ToFloat(to, _) => Some(*to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Binary, Point};
    use super::*;

    /// v0 to v5 are the parameters; b0 sets a variable, calls, and adds to what comes back.
    fn form() -> Form {
        let block = |ops, end| Block { ops, end };
        let [v0, v1, v6, v7, v8, v9] = [0, 1, 6, 7, 8, 9].map(Value);
        let call = End::Call {
            target: v1,
            sp: v0,
            x: vec![v1],
            point: Point(3),
            sp_after: v6,
            x0_after: v7,
            next: BlockId(1),
        };
        let add = vec![Op::Source(4), Op::Word(v8, 0x12345), Op::Binary(v9, Binary::Add, v7, v8)];
        Form {
            values: vec![Type::Word; 11],
            variables: vec![Type::Word],
            parameters: (0..6).map(Value).collect(),
            blocks: vec![block(vec![Op::Set(Variable(0), v1)], call), block(add, End::Return { sp: v6, x0: v9 })],
            points: vec![],
        }
    }

    #[test]
    fn a_listing_has_a_line_for_each_operation() {
        let expected = "form(v0, v1, v2, v3, v4, v5)\n  var0: word\nb0:\n  var0 = v1\n  v6, v7 = call v1(v0; v1), p3, b1\nb1:\n  source 4\n  \
                        v8 = 0x12345\n  v9 = add v7, v8\n  return v6, v9\n";
        assert_eq!(form().to_string(), expected);
    }

    #[test]
    fn what_keeps_the_rules_passes_and_what_does_not_is_named() {
        assert_eq!(form().verify(), Ok(()));
        type Break = (fn(&mut Form), &'static str);
        let breaks: [Break; 9] = [
            (
                |form| form.blocks[1].end = End::Return { sp: Value(0), x0: Value(7) },
                "v0 is not given on every way here",
            ),
            (|form| form.blocks[1].ops[2] = Op::Get(Value(9), Variable(0)), "var0 lives into p3"),
            (|form| form.blocks[1].ops[1] = Op::Word(Value(7), 1), "v7 is given twice"),
            (|form| form.blocks[1].ops.swap(1, 2), "v8 is not given on every way here"),
            (|form| form.blocks[1].end = End::Jump(BlockId(7)), "b7 does not exist"),
            (|form| form.values[8] = Type::Float, "v8 is a float"),
            (|form| form.parameters.truncate(2), "2 parameters"),
            (|form| form.blocks[0].ops.push(Op::Get(Value(10), Variable(1))), "var1 has no type"),
            (
                |form| {
                    let twice = form.blocks[0].end.clone();
                    form.blocks[1].end = twice;
                },
                "p3 is there twice",
            ),
        ];
        for (change, expected) in breaks {
            let mut form = form();
            change(&mut form);
            let found = form.verify().expect_err(expected);
            assert!(found.contains(expected), "{found} for {expected}");
        }
    }

    #[test]
    fn a_value_given_on_one_of_two_ways_is_not_given() {
        let mut form = form();
        form.variables.clear();
        let branch = End::Branch { condition: Value(1), then: BlockId(1), otherwise: BlockId(2), likely: None };
        let join = || Block { ops: vec![Op::Word(Value(8), 1)], end: End::Jump(BlockId(2)) };
        form.blocks = vec![
            Block { ops: vec![], end: branch },
            join(),
            Block { ops: vec![], end: End::Return { sp: Value(0), x0: Value(1) } },
        ];
        assert_eq!(form.verify(), Ok(()));
        form.blocks[2].end = End::Return { sp: Value(0), x0: Value(8) };
        assert!(form.verify().is_err());
        form.blocks[0].end = End::Jump(BlockId(1));
        assert_eq!(form.verify(), Ok(()));
    }
}
