//! From a form to Cranelift's own intermediate form.

use std::borrow::Cow;

use cranelift_codegen::ir::condcodes::{CondCode as _, FloatCC, IntCC};
use cranelift_codegen::ir::{
    self, AbiParam, AliasRegion, AliasRegionData, BlockArg, ExceptionTableData, ExceptionTableItem, ExceptionTag,
    ExternalName, GlobalValueData, InstBuilder, MemFlagsData, SigRef, Signature, SourceLoc, TrapCode, UserExternalName,
    types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};

use super::counter::COUNTER;
use super::heat::cold_blocks;
use super::marks::{Kind, Mark};
use crate::form::graph::{ENTRY, Graph, Node, ROOT, targets};
use crate::form::{
    ARGUMENTS, Base, Binary, BlockId, Checked, Condition, End, FloatBinary, Form, Op, Place, Region, Symbol, Type,
    Unary, Value, Width,
};

/// What the translation gives besides the function.
pub struct Translated {
    /// By number of a source location.
    pub marks: Vec<Mark>,
    /// The ways in, as the handlers of the door are numbered.
    pub graph: Graph,
}

const WORD: ir::Type = types::I64;

/// The first way in is this machine block; `E` of the module's documentation.
struct Doors {
    entry: ir::Block,
    handlers: Vec<ir::Block>,
}

struct Translator<'f, 'b> {
    form: &'f Form,
    graph: Graph,
    builder: FunctionBuilder<'b>,
    values: Vec<Option<ir::Value>>,
    /// Of comparisons: the one byte that Cranelift gives, which branches take as it is.
    bytes: Vec<Option<ir::Value>>,
    variables: Vec<Variable>,
    blocks: Vec<ir::Block>,
    /// Before the head of a loop, if the loop is entered from several ways in: what is moved out of the loop must not move out of the ways in as well.
    preheaders: Vec<Option<ir::Block>>,
    regions: [AliasRegion; 5],
    tails: [Option<SigRef>; ARGUMENTS + 2],
    leaves: [Option<SigRef>; 7],
    rare_leaf: Option<SigRef>,
    marks: Vec<Mark>,
    source: Option<u32>,
    /// The register block, in the block that is translated.
    register_block: Option<ir::Value>,
}

/// What every function gives: rax, rcx and rdx at a return.
const RESULTS: usize = 3;

/// A signature with so many words in argument registers.
pub fn signature(words: usize) -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params = vec![AbiParam::new(WORD); words];
    signature.returns = vec![AbiParam::new(WORD); RESULTS];
    signature
}

/// Translates a form that keeps its rules.
pub fn translate(
    form: &Form,
    function: &mut ir::Function,
    context: &mut FunctionBuilderContext,
    config: TargetFrontendConfig,
) -> Translated {
    function.signature = signature(ARGUMENTS + 1);
    let regions = ["heap", "stack", "registers", "other", "counter"].map(|name| {
        let user_id = function.dfg.alias_regions.len() as u32;
        function.dfg.alias_regions.insert(AliasRegionData { user_id, description: Cow::Borrowed(name) })
    });
    let graph = Graph::new(form);
    let mut builder = FunctionBuilder::new(function, context);
    let variables = form.variables.iter().map(|kind| builder.declare_var(machine_type(*kind))).collect();
    let blocks: Vec<ir::Block> = form.blocks.iter().map(|_| builder.create_block()).collect();
    let mut translator = Translator {
        form,
        builder,
        values: vec![None; form.values.len()],
        bytes: vec![None; form.values.len()],
        variables,
        blocks,
        preheaders: vec![None; form.blocks.len()],
        regions,
        tails: [None; ARGUMENTS + 2],
        leaves: [None; 7],
        rare_leaf: None,
        marks: Vec::new(),
        source: None,
        register_block: None,
        graph,
    };
    translator.function();
    let Translator { builder, marks, graph, .. } = translator;
    builder.finalize(config);
    Translated { marks, graph }
}

fn machine_type(kind: Type) -> ir::Type {
    match kind {
        Type::Word => WORD,
        Type::Float => types::F64,
    }
}

fn integer_condition(condition: Condition) -> IntCC {
    match condition {
        Condition::Equal => IntCC::Equal,
        Condition::NotEqual => IntCC::NotEqual,
        Condition::Less => IntCC::SignedLessThan,
        Condition::LessOrEqual => IntCC::SignedLessThanOrEqual,
        Condition::Greater => IntCC::SignedGreaterThan,
        Condition::GreaterOrEqual => IntCC::SignedGreaterThanOrEqual,
        Condition::Below => IntCC::UnsignedLessThan,
        Condition::BelowOrEqual => IntCC::UnsignedLessThanOrEqual,
        Condition::Above => IntCC::UnsignedGreaterThan,
        Condition::AboveOrEqual => IntCC::UnsignedGreaterThanOrEqual,
    }
}

/// Forms that keep their rules compare doubles by the conditions with signs only.
fn float_condition(condition: Condition) -> FloatCC {
    match condition {
        Condition::Equal => FloatCC::Equal,
        Condition::NotEqual => FloatCC::NotEqual,
        Condition::Less | Condition::Below => FloatCC::LessThan,
        Condition::LessOrEqual | Condition::BelowOrEqual => FloatCC::LessThanOrEqual,
        Condition::Greater | Condition::Above => FloatCC::GreaterThan,
        Condition::GreaterOrEqual | Condition::AboveOrEqual => FloatCC::GreaterThanOrEqual,
    }
}

impl Translator<'_, '_> {
    fn function(&mut self) {
        self.find_preheaders();
        let cold = cold_blocks(self.form, &self.graph);
        for (block, cold) in self.blocks.iter().zip(&cold) {
            if *cold {
                self.builder.set_cold_block(*block);
            }
        }
        let doors = self.doors();
        self.lead(ENTRY, doors.entry, BlockId(0));
        for (number, handler) in doors.handlers.into_iter().enumerate() {
            let way = self.graph.ways_in[number];
            let [sp, x0] = [0, 1].map(|index| self.builder.block_params(handler)[index]);
            self.set(way.sp, sp);
            self.set(way.x0, x0);
            self.lead(self.graph.of_way_in(number), handler, way.next);
        }
        let form = self.form;
        for block in self.graph.blocks_in_order() {
            let number = block.0 as usize;
            self.builder.switch_to_block(self.blocks[number]);
            self.register_block = None;
            self.source = None;
            self.mark(Kind::Plain);
            for op in &form.blocks[number].ops {
                self.op(op);
            }
            self.end(self.graph.of_block(block), &form.blocks[number].end);
        }
        for number in 0..self.preheaders.len() {
            if let Some(preheader) = self.preheaders[number] {
                self.builder.switch_to_block(preheader);
                self.builder.ins().jump(self.blocks[number], &[]);
            }
        }
        self.builder.seal_all_blocks();
    }

    /// The first block, and the door with its handlers, if there are points.
    fn doors(&mut self) -> Doors {
        let first = self.builder.create_block();
        self.builder.append_block_params_for_function_params(first);
        self.builder.switch_to_block(first);
        self.mark(Kind::Door);
        for index in 0..self.form.parameters.len() {
            let value = self.builder.block_params(first)[index];
            self.set(self.form.parameters[index], value);
        }
        let entry = self.builder.create_block();
        if self.graph.ways_in.is_empty() {
            self.builder.ins().jump(entry, &[]);
            return Doors { entry, handlers: Vec::new() };
        }
        let [door, closed] = [(), ()].map(|()| {
            let block = self.builder.create_block();
            self.builder.set_cold_block(block);
            block
        });
        let sp = self.builder.block_params(first)[0];
        self.builder.ins().brif(sp, entry, &[], door, &[]);
        let mut handlers = Vec::with_capacity(self.graph.ways_in.len());
        let mut items = Vec::with_capacity(self.graph.ways_in.len());
        for (number, way) in self.graph.ways_in.iter().enumerate() {
            let handler = self.builder.create_block();
            if way.rare {
                self.builder.set_cold_block(handler);
            }
            self.builder.append_block_param(handler, WORD);
            self.builder.append_block_param(handler, WORD);
            let pool = &mut self.builder.func.dfg.value_lists;
            let call = ir::BlockCall::new(handler, [BlockArg::TryCallExn(0), BlockArg::TryCallExn(1)], pool);
            items.push(ExceptionTableItem::Tag(ExceptionTag::from_u32(number as u32), call));
            handlers.push(handler);
        }
        self.builder.switch_to_block(door);
        let normal = ir::BlockCall::new(closed, [], &mut self.builder.func.dfg.value_lists);
        // By the convention for C: that of tail calls would have all registers saved that a callee must save.
        let convention = self.builder.import_signature(Signature::new(CallConv::SystemV));
        let table = self.builder.func.dfg.exception_tables.push(ExceptionTableData::new(convention, normal, items));
        let nowhere = self.builder.ins().iconst(WORD, 0);
        self.builder.ins().try_call_indirect(nowhere, &[], table);
        self.builder.switch_to_block(closed);
        self.builder.ins().trap(TrapCode::unwrap_user(1));
        Doors { entry, handlers }
    }

    fn find_preheaders(&mut self) {
        for block in self.graph.blocks_in_order() {
            let node = self.graph.of_block(block);
            for target in targets(&self.form.blocks[block.0 as usize]) {
                let head = self.graph.of_block(target);
                let outside = matches!(self.graph.dominator(head), Some(ROOT | ENTRY));
                if outside && self.graph.dominates(head, node) && self.preheaders[target.0 as usize].is_none() {
                    self.preheaders[target.0 as usize] = Some(self.builder.create_block());
                }
            }
        }
    }

    fn lead(&mut self, node: Node, from: ir::Block, to: BlockId) {
        self.builder.switch_to_block(from);
        self.source = None;
        self.mark(Kind::Plain);
        let target = self.target(node, to);
        self.builder.ins().jump(target, &[]);
    }

    fn target(&self, from: Node, to: BlockId) -> ir::Block {
        let number = to.0 as usize;
        match self.preheaders[number] {
            Some(preheader) if !self.graph.dominates(self.graph.of_block(to), from) => preheader,
            _ => self.blocks[number],
        }
    }

    fn mark(&mut self, kind: Kind) {
        let mark = Mark { source: self.source, kind };
        if kind != Kind::Plain || self.marks.last() != Some(&mark) {
            self.marks.push(mark);
        }
        self.builder.set_srcloc(SourceLoc::new(self.marks.len() as u32 - 1));
    }

    /// The mark of one operation, and the plain one again.
    fn marked<T>(&mut self, kind: Kind, make: impl FnOnce(&mut Self) -> T) -> T {
        self.mark(kind);
        let made = make(self);
        self.mark(Kind::Plain);
        made
    }

    fn set(&mut self, value: Value, to: ir::Value) {
        self.values[value.0 as usize] = Some(to);
    }

    fn get(&self, value: Value) -> ir::Value {
        self.values[value.0 as usize].expect("native/F1: given before it is used")
    }

    fn get_all(&self, values: &[Value]) -> Vec<ir::Value> {
        values.iter().map(|value| self.get(*value)).collect()
    }

    fn truth(&self, value: Value) -> ir::Value {
        self.bytes[value.0 as usize].unwrap_or_else(|| self.get(value))
    }

    /// The opposite of a comparison of words.
    fn opposite(&mut self, truth: ir::Value) -> Option<ir::Value> {
        let dfg = &self.builder.func.dfg;
        let ir::InstructionData::IntCompare { cond, args: [a, b], .. } = dfg.insts[dfg.value_def(truth).inst()?] else {
            return None;
        };
        Some(self.builder.ins().icmp(cond.complement(), a, b))
    }

    fn set_truth(&mut self, to: Value, byte: ir::Value) {
        let word = self.builder.ins().uextend(WORD, byte);
        self.bytes[to.0 as usize] = Some(byte);
        self.set(to, word);
    }

    fn register_block(&mut self) -> ir::Value {
        let block = self.register_block.unwrap_or_else(|| self.builder.ins().get_pinned_reg(WORD));
        *self.register_block.insert(block)
    }

    /// Where Cranelift takes the counter to be, which the edits know.
    fn counter(&mut self) -> (ir::Value, MemFlagsData) {
        (self.register_block(), MemFlagsData::trusted().with_alias_region(Some(self.regions[4])))
    }

    fn address(&mut self, place: &Place) -> (ir::Value, MemFlagsData) {
        let base = match place.base {
            Base::Value(value) => self.get(value),
            Base::Block => self.register_block(),
        };
        let region = match place.region {
            Region::Heap => 0,
            Region::Stack => 1,
            Region::Registers => 2,
            Region::Other => 3,
        };
        (base, MemFlagsData::trusted().with_alias_region(Some(self.regions[region])))
    }

    fn symbol(&mut self, symbol: Symbol) -> ir::Value {
        let name = UserExternalName::new(0, symbol.0);
        let name = ExternalName::user(self.builder.func.declare_imported_user_function(name));
        let data = GlobalValueData::Symbol { name, offset: 0.into(), colocated: false, tls: false };
        let global = self.builder.create_global_value(data);
        self.builder.ins().symbol_value(WORD, global)
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Source(number) => {
                self.source = Some(*number);
                self.mark(Kind::Plain);
            }
            Op::Word(to, number) => {
                let value = self.builder.ins().iconst(WORD, *number as i64);
                self.set(*to, value);
            }
            Op::Float(to, number) => {
                let value = self.builder.ins().f64const(*number);
                self.set(*to, value);
            }
            Op::Symbol(to, symbol) => {
                let value = self.symbol(*symbol);
                self.set(*to, value);
            }
            Op::Get(to, variable) => {
                let value = self.builder.use_var(self.variables[variable.0 as usize]);
                self.set(*to, value);
            }
            Op::Set(variable, from) => {
                let value = self.get(*from);
                self.builder.def_var(self.variables[variable.0 as usize], value);
            }
            Op::Load(to, place) => self.load(*to, place),
            Op::Store(place, from) => self.store(place, *from),
            Op::Binary(to, what, a, b) => self.binary(*to, *what, *a, *b),
            Op::Unary(to, what, a) => {
                let a = self.get(*a);
                let ins = self.builder.ins();
                let value = match what {
                    Unary::SwapBytes => ins.bswap(a),
                    Unary::LeadingZeros => ins.clz(a),
                };
                self.set(*to, value);
            }
            Op::Compare(to, condition, a, b) => {
                let (a, b) = (self.get(*a), self.get(*b));
                let byte = self.builder.ins().icmp(integer_condition(*condition), a, b);
                self.set_truth(*to, byte);
            }
            Op::Select(to, condition, a, b) => {
                let (condition, a, b) = (self.truth(*condition), self.get(*a), self.get(*b));
                let value = self.builder.ins().select(condition, a, b);
                self.set(*to, value);
            }
            Op::FloatCompare(to, condition, a, b) => {
                let (a, b) = (self.get(*a), self.get(*b));
                let byte = self.builder.ins().fcmp(float_condition(*condition), a, b);
                self.set_truth(*to, byte);
            }
            Op::FloatBinary(..) | Op::FloatBits(..) | Op::BitsFloat(..) | Op::ToFloat(..) => self.float(op),
            Op::Counter(to) => {
                let (base, flags) = self.counter();
                let value = self.marked(Kind::Counter, |this| this.builder.ins().sload32(flags, base, COUNTER));
                self.set(*to, value);
            }
            Op::SetCounter(from) => {
                let ((base, flags), value) = (self.counter(), self.get(*from));
                self.marked(Kind::Counter, |this| this.builder.ins().istore32(flags, value, base, COUNTER));
            }
            Op::RareLeaf(target) => {
                let target = self.get(*target);
                let builder = &mut self.builder;
                let plain = || builder.import_signature(Signature::new(CallConv::PreserveAll));
                let signature = *self.rare_leaf.get_or_insert_with(plain);
                self.marked(Kind::RareLeaf, |this| this.builder.ins().call_indirect(signature, target, &[]));
            }
            Op::Leaf(to, target, arguments) => {
                let (target, arguments) = (self.get(*target), self.get_all(arguments));
                let signature = self.leaf_signature(arguments.len());
                let call = self.marked(Kind::Leaf(arguments.len()), |this| {
                    this.builder.ins().call_indirect(signature, target, &arguments)
                });
                if let Some(to) = to {
                    let value = self.builder.inst_results(call)[0];
                    self.set(*to, value);
                }
            }
        }
    }

    fn load(&mut self, to: Value, place: &Place) {
        let (base, flags) = self.address(place);
        let (ins, offset) = (self.builder.ins(), place.offset);
        let value = match place.width {
            Width::U8 => ins.uload8(WORD, flags, base, offset),
            Width::U16 => ins.uload16(WORD, flags, base, offset),
            Width::U32 => ins.uload32(flags, base, offset),
            Width::S32 => ins.sload32(flags, base, offset),
            Width::Word => ins.load(WORD, flags, base, offset),
            Width::Float => ins.load(types::F64, flags, base, offset),
        };
        self.set(to, value);
    }

    fn store(&mut self, place: &Place, from: Value) {
        let (base, flags) = self.address(place);
        let value = self.get(from);
        let (ins, offset) = (self.builder.ins(), place.offset);
        match place.width {
            Width::U8 => ins.istore8(flags, value, base, offset),
            Width::U16 => ins.istore16(flags, value, base, offset),
            Width::U32 | Width::S32 => ins.istore32(flags, value, base, offset),
            Width::Word | Width::Float => ins.store(flags, value, base, offset),
        };
    }

    fn binary(&mut self, to: Value, what: Binary, a: Value, b: Value) {
        let (a, b) = (self.get(a), self.get(b));
        let ins = self.builder.ins();
        let value = match what {
            Binary::Add => ins.iadd(a, b),
            Binary::Sub => ins.isub(a, b),
            Binary::Mul => ins.imul(a, b),
            Binary::And => ins.band(a, b),
            Binary::Or => ins.bor(a, b),
            Binary::Xor => ins.bxor(a, b),
            Binary::ShiftLeft => ins.ishl(a, b),
            Binary::ShiftRight => ins.ushr(a, b),
            Binary::ShiftRightSigned => ins.sshr(a, b),
            Binary::RotateLeft => ins.rotl(a, b),
            Binary::DivideSigned => ins.sdiv(a, b),
            Binary::RemainderSigned => ins.srem(a, b),
        };
        self.set(to, value);
    }

    fn float(&mut self, op: &Op) {
        let (to, value) = match *op {
            Op::FloatBinary(to, what, a, b) => {
                let (a, b) = (self.get(a), self.get(b));
                let ins = self.builder.ins();
                let value = match what {
                    FloatBinary::Add => ins.fadd(a, b),
                    FloatBinary::Sub => ins.fsub(a, b),
                    FloatBinary::Mul => ins.fmul(a, b),
                    FloatBinary::Div => ins.fdiv(a, b),
                };
                (to, value)
            }
            Op::FloatBits(to, a) => {
                let a = self.get(a);
                (to, self.builder.ins().bitcast(WORD, MemFlagsData::new(), a))
            }
            Op::BitsFloat(to, a) => {
                let a = self.get(a);
                (to, self.builder.ins().bitcast(types::F64, MemFlagsData::new(), a))
            }
            Op::ToFloat(to, a) => {
                let a = self.get(a);
                (to, self.builder.ins().fcvt_from_sint(types::F64, a))
            }
            _ => return,
        };
        self.set(to, value);
    }

    fn leaf_signature(&mut self, words: usize) -> SigRef {
        if let Some(known) = self.leaves[words] {
            return known;
        }
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params = vec![AbiParam::new(WORD); words];
        signature.returns = vec![AbiParam::new(WORD)];
        *self.leaves[words].insert(self.builder.import_signature(signature))
    }

    fn end(&mut self, node: Node, end: &End) {
        match end {
            End::Jump(to) => {
                let target = self.target(node, *to);
                self.builder.ins().jump(target, &[]);
            }
            End::Branch { condition, then, otherwise, .. } => {
                let condition = self.truth(*condition);
                let (then, otherwise) = (self.target(node, *then), self.target(node, *otherwise));
                // The second target of the two comes right behind, and that is to be the first of ours, with which the function goes on.
                match self.opposite(condition) {
                    Some(not) => self.builder.ins().brif(not, otherwise, &[], then, &[]),
                    None => self.builder.ins().brif(condition, then, &[], otherwise, &[]),
                };
            }
            End::Checked { result, with, a, b, fits, overflows } => {
                let (a, b) = (self.get(*a), self.get(*b));
                let (fits, overflows) = (self.target(node, *fits), self.target(node, *overflows));
                self.mark(Kind::Checked);
                let ins = self.builder.ins();
                let (value, overflow) = match with {
                    Checked::Add => ins.sadd_overflow(a, b),
                    Checked::Sub => ins.ssub_overflow(a, b),
                    Checked::Mul => ins.smul_overflow(a, b),
                };
                self.set(*result, value);
                self.builder.ins().brif(overflow, overflows, &[], fits, &[]);
            }
            End::Tail { target, sp, x } | End::Call { target, sp, x, .. } => {
                let mut words = vec![self.get(*sp)];
                words.extend(self.get_all(x));
                self.leave(*target, &words);
            }
            End::Visit { target, sp, what, .. } => {
                let words = [self.get(*sp), self.get(*what)];
                self.leave(*target, &words);
            }
            End::Return { sp, x0 } => {
                let (sp, x0) = (self.get(*sp), self.get(*x0));
                self.mark(Kind::Return);
                let flags = MemFlagsData::trusted().with_alias_region(Some(self.regions[1]));
                let record = self.builder.ins().load(WORD, flags, sp, 0);
                let above = self.builder.ins().iadd_imm_s(sp, 8);
                self.builder.ins().return_(&[above, record, x0]);
            }
        }
    }

    fn leave(&mut self, target: Value, words: &[ir::Value]) {
        let target = self.get(target);
        let known = self.tails[words.len()];
        let signature = known.unwrap_or_else(|| self.builder.import_signature(signature(words.len())));
        self.tails[words.len()] = Some(signature);
        self.mark(Kind::Tail(words.len()));
        self.builder.ins().return_call_indirect(signature, target, words);
    }
}
