//! What forms mean: the plainest way to run them, over the same memory as the code.

use myriad_native::form::{
    Base, Binary, BlockId, Checked, Condition, End, FloatBinary, Form, Op, Place, Point, Unary, Value, Width,
};

use super::world::{COUNTED, COUNTER, Outcome, World, leaf, visited};

/// Most operations of a run.
const MOST: usize = 10_000_000;

struct Run<'w> {
    world: &'w mut World,
    forms: &'w [Form],
    form: &'w Form,
    /// Values as words; doubles as their bits.
    values: Vec<u64>,
    variables: Vec<u64>,
}

/// Where a run goes on.
enum Next {
    Block(BlockId),
    Ended(Outcome),
}

/// Runs a function from its entry.
pub fn run(world: &mut World, forms: &[Form], function: usize, seed: u64, x: [u64; 5]) -> Outcome {
    let sp = world.reset(seed);
    let mut run = Run { world, forms, form: &forms[function], values: Vec::new(), variables: Vec::new() };
    let start = run.enter(function, sp, &x);
    run.from(start)
}

/// Runs a function from a point.
pub fn run_from(world: &mut World, forms: &[Form], point: Point, seed: u64, x0: u64) -> Outcome {
    let sp = world.reset(seed);
    let mut run = Run { world, forms, form: &forms[0], values: Vec::new(), variables: Vec::new() };
    let start = run.enter_point(point, sp, x0);
    run.from(start)
}

fn holds<T: PartialOrd>(condition: Condition, a: T, b: T) -> bool {
    match condition {
        Condition::Equal => a == b,
        Condition::NotEqual => a != b,
        Condition::Less | Condition::Below => a < b,
        Condition::LessOrEqual | Condition::BelowOrEqual => a <= b,
        Condition::Greater | Condition::Above => a > b,
        Condition::GreaterOrEqual | Condition::AboveOrEqual => a >= b,
    }
}

fn compare(condition: Condition, a: u64, b: u64) -> bool {
    match condition {
        Condition::Below | Condition::BelowOrEqual | Condition::Above | Condition::AboveOrEqual => {
            holds(condition, a, b)
        }
        _ => holds(condition, a as i64, b as i64),
    }
}

fn binary(what: Binary, a: u64, b: u64) -> u64 {
    let (signed_a, signed_b) = (a as i64, b as i64);
    match what {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::ShiftLeft => a.wrapping_shl(b as u32),
        Binary::ShiftRight => a.wrapping_shr(b as u32),
        Binary::ShiftRightSigned => signed_a.wrapping_shr(b as u32) as u64,
        Binary::RotateLeft => a.rotate_left((b % 64) as u32),
        Binary::DivideSigned => (signed_a / signed_b) as u64,
        Binary::RemainderSigned => (signed_a % signed_b) as u64,
    }
}

impl Run<'_> {
    fn from(&mut self, mut next: Next) -> Outcome {
        for _ in 0..MOST {
            match next {
                Next::Ended(outcome) => return outcome,
                Next::Block(BlockId(number)) => {
                    let block = &self.form.blocks[number as usize];
                    block.ops.iter().for_each(|op| self.op(op));
                    next = self.end(&block.end);
                }
            }
        }
        panic!("it does not end");
    }

    fn enter(&mut self, function: usize, sp: u64, x: &[u64]) -> Next {
        self.form = &self.forms[function];
        self.forget();
        let words = std::iter::once(sp).chain(x.iter().copied());
        for (Value(number), word) in self.form.parameters.iter().zip(words) {
            self.values[*number as usize] = word;
        }
        Next::Block(BlockId(0))
    }

    fn forget(&mut self) {
        self.values = vec![0xaaaa_aaaa_aaaa_aaaa; self.form.values.len()];
        self.variables = vec![0xbbbb_bbbb_bbbb_bbbb; self.form.variables.len()];
    }

    fn enter_point(&mut self, point: Point, sp: u64, x0: u64) -> Next {
        if point == self.world.outermost() {
            return Next::Ended(self.world.outcome(sp, x0));
        }
        for form in self.forms {
            let entries = form.points.iter().map(|entry| (entry.point, entry.sp, entry.x0, entry.block));
            let ends = form.blocks.iter().filter_map(|block| match block.end {
                End::Call { point, sp_after, x0_after, next, .. }
                | End::Visit { point, sp_after, x0_after, next, .. } => Some((point, sp_after, x0_after, next)),
                _ => None,
            });
            if let Some((_, sp_value, x0_value, next)) = entries.chain(ends).find(|(found, ..)| *found == point) {
                self.form = form;
                self.forget();
                self.set(sp_value, sp);
                self.set(x0_value, x0);
                return Next::Block(next);
            }
        }
        panic!("no such point");
    }

    fn get(&self, value: Value) -> u64 {
        self.values[value.0 as usize]
    }

    fn float(&self, value: Value) -> f64 {
        f64::from_bits(self.get(value))
    }

    fn set(&mut self, value: Value, word: u64) {
        self.values[value.0 as usize] = word;
    }

    fn address(&self, place: &Place) -> u64 {
        let base = match place.base {
            Base::Block => self.world.block.as_ptr() as u64,
            Base::Value(value) => self.get(value),
        };
        base.wrapping_add_signed(i64::from(place.offset))
    }

    fn load(&self, place: &Place) -> u64 {
        let at = self.address(place);
        // SAFETY: forms of these tests stay within their world.
        unsafe {
            match place.width {
                Width::U8 => u64::from((at as *const u8).read()),
                Width::U16 => u64::from((at as *const u16).read_unaligned()),
                Width::U32 => u64::from((at as *const u32).read_unaligned()),
                Width::S32 => i64::from((at as *const i32).read_unaligned()) as u64,
                Width::Word | Width::Float => (at as *const u64).read_unaligned(),
            }
        }
    }

    fn store(&mut self, place: &Place, word: u64) {
        let at = self.address(place);
        // SAFETY: as in `load`.
        unsafe {
            match place.width {
                Width::U8 => (at as *mut u8).write(word as u8),
                Width::U16 => (at as *mut u16).write_unaligned(word as u16),
                Width::U32 | Width::S32 => (at as *mut u32).write_unaligned(word as u32),
                Width::Word | Width::Float => (at as *mut u64).write_unaligned(word),
            }
        }
    }

    fn counter(&self) -> i32 {
        self.world.block[COUNTER] as i32
    }

    fn set_counter(&mut self, to: i32) {
        self.world.block[COUNTER] = u64::from(to as u32);
    }

    fn op(&mut self, op: &Op) {
        let (to, word) = match op {
            Op::Source(_) | Op::RareLeaf(_) => return,
            Op::SetCounter(from) => return self.set_counter(self.get(*from) as i32),
            Op::Counter(to) => (*to, i64::from(self.counter()) as u64),
            Op::Set(variable, from) => {
                self.variables[variable.0 as usize] = self.get(*from);
                return;
            }
            Op::Store(place, from) => return self.store(place, self.get(*from)),
            Op::Leaf(to, _, arguments) => {
                let mut words = [0; 6];
                words.iter_mut().zip(arguments).for_each(|(word, value)| *word = self.get(*value));
                let [a, b, c, d, e, f] = words;
                let Some(to) = to else { return };
                (*to, leaf(a, b, c, d, e, f))
            }
            Op::Word(to, number) => (*to, *number),
            Op::Float(to, number) => (*to, number.to_bits()),
            Op::Symbol(to, symbol) => (*to, self.world.address(*symbol)),
            Op::Get(to, variable) => (*to, self.variables[variable.0 as usize]),
            Op::Load(to, place) => (*to, self.load(place)),
            Op::Binary(to, what, a, b) => (*to, binary(*what, self.get(*a), self.get(*b))),
            Op::Unary(to, Unary::SwapBytes, a) => (*to, self.get(*a).swap_bytes()),
            Op::Unary(to, Unary::LeadingZeros, a) => (*to, u64::from(self.get(*a).leading_zeros())),
            Op::Compare(to, condition, a, b) => (*to, u64::from(compare(*condition, self.get(*a), self.get(*b)))),
            Op::Select(to, condition, a, b) => (*to, self.get(if self.get(*condition) != 0 { *a } else { *b })),
            Op::FloatBinary(to, what, a, b) => {
                let (a, b) = (self.float(*a), self.float(*b));
                let result = match what {
                    FloatBinary::Add => a + b,
                    FloatBinary::Sub => a - b,
                    FloatBinary::Mul => a * b,
                    FloatBinary::Div => a / b,
                };
                (*to, result.to_bits())
            }
            Op::FloatCompare(to, condition, a, b) => {
                (*to, u64::from(holds(*condition, self.float(*a), self.float(*b))))
            }
            Op::FloatBits(to, a) | Op::BitsFloat(to, a) => (*to, self.get(*a)),
            Op::ToFloat(to, a) => (*to, (self.get(*a) as i64 as f64).to_bits()),
        };
        self.set(to, word);
    }

    fn end(&mut self, end: &End) -> Next {
        match end {
            End::Jump(to) => Next::Block(*to),
            End::Branch { condition, then, otherwise, .. } => {
                Next::Block(if self.get(*condition) != 0 { *then } else { *otherwise })
            }
            End::Checked { result, with, a, b, fits, overflows } => {
                let (a, b) = (self.get(*a) as i64, self.get(*b) as i64);
                let (word, overflow) = match with {
                    Checked::Add => a.overflowing_add(b),
                    Checked::Sub => a.overflowing_sub(b),
                    Checked::Mul => a.overflowing_mul(b),
                };
                self.set(*result, word as u64);
                Next::Block(if overflow { *overflows } else { *fits })
            }
            End::Tail { target, sp, x } | End::Call { target, sp, x, .. } => {
                let function = self.world.function_at(self.get(*target)).expect("an entry");
                let words: Vec<u64> = x.iter().map(|value| self.get(*value)).collect();
                let sp = self.get(*sp);
                self.enter(function, sp, &words)
            }
            End::Visit { sp, what, .. } => {
                let (sp, what) = (self.get(*sp), self.get(*what));
                let x0 = visited(self.world.block[8]);
                self.world.block[8] = self.world.block[8].wrapping_add(1);
                self.set_counter(self.counter().wrapping_add(COUNTED));
                let point = self.world.point_of(what).expect("a record");
                self.enter_point(point, sp, x0)
            }
            End::Return { sp, x0 } => {
                let (sp, x0) = (self.get(*sp), self.get(*x0));
                // SAFETY: the stack pointer is within the stack.
                let record = unsafe { (sp as *const u64).read() };
                let point = self.world.point_of(record).expect("a record");
                self.enter_point(point, sp + 8, x0)
            }
        }
    }
}
