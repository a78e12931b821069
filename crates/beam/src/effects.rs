//! What each instruction does to registers, frame and control, and what it demands of them (beam/S6).
//!
//! V1. An X register is read only where every way there has set it since it was last lost. A call,
//!     send, receive wait or look for a message loses all of them; an instruction with a `Live` operand loses those from
//!     there on, also where it fails.
//! V2. A slot is read only if it is within the frame and holds no catch tag; it is initialised (V4).
//! V3. Calls need a frame; tail calls and `return` find none, or drop the one there is, of its true size.
//! V4. Wherever a slot is read or the stack may be scanned (collection, call, wait, exception) all slots are
//!     initialised. The compiler does not always see to it where it has proved that a BIF cannot fail;
//!     in such functions (`needs_nils`, some ten in all of OTP) decoding turns allocate into allocate_zero.
//! V5. Catches nest: a catch's slot lies below those of all catches active in the frame, only the
//!     innermost is ended, and none is active when the frame is trimmed or dropped. So the first catch
//!     tag found by scanning a frame upwards is the innermost.
//! V6. The label of `try` stands right before a try_case, that of `catch` before a catch_end, and both
//!     come after it. The frame there is as it was at the `try`; X registers are lost, but for X0, in which an
//!     exception leaves no term. A catch_end may also be reached with a result in X0. So may a try_case,
//!     behind a call of which the compiler knows that it never returns: the engine must look.
//!
//! V7. A call of a BIF that always raises (`Import::always_raises`) is the end of its path; its frame
//!     operand is not looked at, for compilers share such calls between places with different frames.
//!     Decoding makes a plain call_ext of all of them, which needs no frame.
//!
//! V8. `bif2` of is_map_key/2 sets its destination on its fail branch as well (`Import::sets_always`).
//!
//! V9. `put_list` and `put_tuple2` build in heap that an instruction before has made sure of (`test_heap` and others with a
//!     heap need), and nothing that may take room or collect has come since. All that is not known to do neither counts as if
//!     it did both; whatever else builds makes room for itself.
//!
//! Matching instructions (bs_get_*, bs_skip_utf*, bs_start_match*, bs_match) must take their fail branch
//! before they collect. A wait_timeout that resumes at itself must not read its operand again: X
//! registers are lost by then, and the timer (an infinite one, too) is already set.
//! Sources of an instruction may lie at or above its `Live`: the engine must keep them through a
//! collection until they have been read.

use crate::decode::Reg;
use crate::flow::{Frame, Join, LabelStates, State};
use crate::opcode::Op;
use crate::reader::Raw;
use crate::roles::{arguments, fails_before_collecting, results};
use crate::scan::{Check, LoopHead, NONE, Scan};

/// No `Live` operand.
const NO_LIVE: u16 = u16::MAX;

/// What the operands of one instruction said.
pub(crate) struct Seen {
    /// The last plain number.
    pub(crate) number: u64,
    pub(crate) arity: u16,
    /// The last two frame sizes.
    pub(crate) frames: (u16, u16),
    /// The least `Live`.
    pub(crate) live: u16,
    /// The slot of a catch.
    pub(crate) slot: u16,
    /// A fail label of 0.
    pub(crate) may_raise: bool,
    /// The import is a BIF that never fails.
    pub(crate) safe: bool,
    /// The import is a BIF that sets its destination even where it branches.
    pub(crate) sets_always: bool,
    /// The import is a BIF that always raises.
    pub(crate) exits: bool,
    /// The import is a guard BIF that takes no room on the heap.
    pub(crate) builds_nothing: bool,
    /// The last heap need, in words.
    pub(crate) heap: u32,
    /// How many operands the last list of them has.
    pub(crate) items: u32,
    /// Labels branched to.
    pub(crate) edges: Vec<u32>,
    /// Registers written.
    pub(crate) written: Vec<Reg>,
}

impl Default for Seen {
    fn default() -> Self {
        Seen {
            number: 0,
            arity: 0,
            frames: (0, 0),
            live: NO_LIVE,
            slot: 0,
            may_raise: false,
            safe: false,
            sets_always: false,
            exits: false,
            builds_nothing: false,
            heap: 0,
            items: 0,
            edges: Vec::with_capacity(64),
            written: Vec::with_capacity(64),
        }
    }
}

/// The state of the analysis.
pub(crate) struct Flow {
    pub(crate) state: State,
    states: LabelStates,
    /// By label: where its state is in `states`; 0: it has none.
    places: Vec<u32>,
    /// By label: the opcode that must follow; 0: any.
    handlers: Vec<u8>,
    /// In this function a slot may be read, or the stack scanned, before the code has set it.
    pub(crate) needs_nils: bool,
    /// The label last passed, if only lines have come since; 0: none.
    pub(crate) last_label: u32,
    /// Labels passed already whose state has fallen since.
    fallen: Vec<u32>,
    /// Bytes to the func_info of the function at hand.
    pub(crate) start: u32,
    /// Labels behind that which have been branched back to, some of them more than once.
    backward: Vec<u32>,
}

impl Flow {
    pub(crate) fn new(labels: usize) -> Self {
        Flow {
            state: State::unreachable(),
            states: LabelStates::default(),
            places: vec![0; labels],
            handlers: vec![0; labels],
            needs_nils: false,
            last_label: 0,
            fallen: Vec::new(),
            start: 0,
            backward: Vec::new(),
        }
    }

    /// A new function begins at its func_info; its entry label comes next.
    pub(crate) fn enter(&mut self, start: usize, arity: u8) {
        self.states.clear();
        self.start = start as u32;
        self.backward.clear();
        self.needs_nils = false;
        self.state.enter(u16::from(arity));
    }

    /// A label turned out to belong to the next function.
    pub(crate) fn forget(&mut self, label: u32) {
        self.places[label as usize] = 0;
    }

    /// What must follow a label.
    pub(crate) fn handler(&self, label: u32) -> Option<Op> {
        Op::from_number(self.handlers[label as usize])
    }
}

impl Scan<'_> {
    /// A branch leads to a label that has been passed; not back, perhaps, where a block is gone over again. A receive counts its
    /// turns and gives way by itself, and what stands before func_info ends the function.
    #[inline(never)]
    pub(crate) fn branch_back(&mut self, label: u32, offset: u32) {
        let receives = matches!(self.op, Op::LoopRecEnd | Op::Wait | Op::WaitTimeout);
        if (self.flow.start..self.at as u32).contains(&offset) && !receives {
            self.flow.backward.push(label);
        }
    }

    /// The scan has come to a label: what is known here is what all ways to it agree on.
    pub(crate) fn arrive(&mut self, label: u32) -> Check {
        let flow = &mut self.flow;
        flow.last_label = label;
        let place = &mut flow.places[label as usize];
        if flow.state.live && flow.states.join(place, &flow.state) == Join::TooMany {
            return Err(self.misplaced("too much to know about one function"));
        }
        if *place != 0 {
            flow.states.load(*place, &mut flow.state);
        }
        Ok(())
    }

    /// Brings the state at hand to a label.
    fn edge(&mut self, label: u32) -> Check {
        let flow = &mut self.flow;
        match flow.states.join(&mut flow.places[label as usize], &flow.state) {
            Join::Same => {}
            Join::Changed if self.labels[label as usize].function == NONE => {}
            Join::Changed => flow.fallen.push(label),
            Join::TooMany => return Err(self.misplaced("too much to know about one function")),
        }
        Ok(())
    }

    fn edges(&mut self) -> Check {
        for index in 0..self.seen.edges.len() {
            self.edge(self.seen.edges[index])?;
        }
        Ok(())
    }

    /// Goes again over blocks whose state has fallen, until none has. Called at a function's end.
    pub(crate) fn settle(&mut self) -> Check {
        let Some((start, end, arity)) = self.functions.last().map(|f| (f.start as usize, f.end as usize, f.arity))
        else {
            return Ok(());
        };
        let (reader, op, at) = (self.reader, self.op, self.at);
        // In bytes, which bound branches as well as instructions. Compilers' code settles within two rounds;
        // what needs more than this is made to waste time.
        let mut budget = 16 * end.saturating_sub(start) + 4096;
        while let Some(label) = self.flow.fallen.pop() {
            self.flow.states.load(self.flow.places[label as usize], &mut self.flow.state);
            self.reader.seek(self.labels[label as usize].offset as usize);
            self.opcode()?;
            self.reader.raw()?;
            let left = budget.checked_sub(2);
            budget = left.ok_or_else(|| self.misplaced("too much to know about one function"))?;
            self.flow.last_label = label;
            self.again(end, u16::from(arity), &mut budget)?;
        }
        (self.reader, self.op, self.at) = (reader, op, at);
        if !self.flow.backward.is_empty() {
            self.note_loops();
        }
        let needs_nils = self.flow.needs_nils || self.flow.states.mixed_raw;
        if let Some(function) = self.functions.last_mut() {
            function.needs_nils = needs_nils;
        }
        Ok(())
    }

    /// Notes the labels that have been branched back to, all ways to which are known by now.
    #[cold]
    #[inline(never)]
    fn note_loops(&mut self) {
        let mut labels = std::mem::take(&mut self.flow.backward);
        labels.sort_unstable();
        labels.dedup();
        for label in labels {
            let place = self.flow.places[label as usize];
            if place != 0 {
                self.flow.states.load(place, &mut self.flow.state);
                self.need_scannable();
                self.loops.push(LoopHead { label, x: self.flow.state.x_words().into() });
            }
        }
    }

    /// Goes again over one block.
    fn again(&mut self, end: usize, arity: u16, budget: &mut usize) -> Check {
        while self.flow.state.live && self.reader.offset() < end {
            match self.opcode()? {
                (Op::Label, _) => {
                    if let Raw::U(label) = self.reader.raw()? {
                        self.edge(label as u32)?;
                    }
                    return Ok(());
                }
                (Op::FuncInfo, _) => {
                    self.need_x(arity)?;
                    self.need_scannable();
                    return Ok(());
                }
                (op, kinds) => {
                    self.operands(kinds)?;
                    self.effect(op)?;
                    let spent = self.reader.offset() - self.at;
                    let left = budget.checked_sub(spent);
                    *budget = left.ok_or_else(|| self.misplaced("too much to know about one function"))?;
                }
            }
        }
        Ok(())
    }

    /// What the instruction just read demands and does.
    #[inline]
    pub(crate) fn effect(&mut self, op: Op) -> Check {
        if op.only_moves() {
            // The frequent case, done with at once: registers are written and that is all.
            if self.flow.state.live {
                self.build(op)?;
                self.write_registers()?;
            }
            self.flow.last_label = 0;
            self.seen.written.clear();
            return Ok(());
        }
        self.full_effect(op)
    }

    fn full_effect(&mut self, op: Op) -> Check {
        if let (Op::Try | Op::Catch, Some(label)) = (op, self.seen.edges.last()) {
            // Also if control cannot get here as far as is known yet: the scan passes the label once.
            let follow = if op == Op::Try { Op::TryCase } else { Op::CatchEnd };
            self.flow.handlers[*label as usize] = follow.number();
        }
        if self.flow.state.live {
            self.demand(op)?;
            if self.seen.may_raise && !(self.seen.safe && matches!(op, Op::Bif1 | Op::Bif2)) {
                self.need_scannable();
            }
            if fails_before_collecting(op) {
                self.edges()?;
                self.seen.edges.clear();
            }
            if self.seen.live != NO_LIVE {
                self.need_x(self.seen.live)?;
                self.need_scannable();
                self.flow.state.prune_x(self.seen.live);
            }
            if op == Op::Bif2 && self.seen.sets_always {
                self.write_registers()?;
            }
            self.heap_effect(op);
            self.edges()?;
            self.write(op)?;
            if op.is_terminal() {
                self.flow.state.live = false;
            }
        }
        if op != Op::Line {
            self.flow.last_label = 0;
        }
        self.seen.live = NO_LIVE;
        self.seen.may_raise = false;
        self.seen.edges.clear();
        self.seen.written.clear();
        Ok(())
    }

    /// What it demands, and what becomes of registers and frame before it may branch.
    fn demand(&mut self, op: Op) -> Check {
        let frame = self.seen.frames.1;
        let free = match op {
            Op::MakeFun2 => self.tables.lambdas.get(self.seen.number as usize).map_or(0, |lambda| lambda.free),
            _ => 0,
        };
        self.need_x(arguments(op, self.seen.arity, free.into()))?;
        match op {
            Op::CallExt | Op::CallExtLast | Op::CallExtOnly if self.seen.exits => {
                // The frame may be another than the instruction says: the call never returns to it.
                self.need_scannable();
                self.flow.state.live = false;
            }
            Op::Call | Op::CallExt | Op::CallFun | Op::CallFun2 | Op::Apply => {
                let has_frame = matches!(self.flow.state.frame, Frame::Slots(_));
                self.insist(has_frame, "a call without a frame")?;
                self.need_scannable();
            }
            Op::Send | Op::BsInitWritable | Op::BuildStacktrace | Op::RawRaise | Op::MakeFun2 => self.need_scannable(),
            Op::CallOnly | Op::CallExtOnly | Op::Return => self.need_no_frame()?,
            Op::CallLast | Op::CallExtLast | Op::ApplyLast | Op::Deallocate => self.drop_frame(frame)?,
            Op::Allocate | Op::AllocateHeap | Op::AllocateZero | Op::AllocateHeapZero => self.need_no_frame()?,
            Op::Trim => {
                let fits = self.flow.state.trim(self.seen.frames.0, frame);
                self.insist(fits, "not a frame of this size without active catches")?;
            }
            Op::Catch | Op::Try => self.begin_catch()?,
            Op::CatchEnd | Op::TryEnd | Op::TryCase => {
                let is_innermost = self.flow.state.end_catch(self.seen.slot);
                self.insist(is_innermost, "not the innermost catch")?;
            }
            Op::Wait | Op::WaitTimeout | Op::LoopRecEnd => {
                if op == Op::WaitTimeout && self.seen.edges.last() == Some(&self.flow.last_label) {
                    // It waits for the timer alone and comes back only to itself, the timer running.
                    self.seen.edges.clear();
                }
                self.need_scannable();
            }
            Op::LoopRec => {
                self.need_scannable();
                self.insist(self.seen.written == [Reg::X(0)], "a message not for X0")?;
            }
            Op::Badmatch | Op::IfEnd | Op::CaseEnd | Op::TryCaseEnd | Op::Raise | Op::Badrecord => {
                self.need_scannable()
            }
            // Their labels are names, not places to go to.
            Op::RecvMark | Op::RecvSet => self.seen.edges.clear(),
            _ => {}
        }
        if let Some(results) = results(op) {
            self.flow.state.set_x_prefix(results);
        }
        Ok(())
    }

    /// Which registers hold terms, and whether there is a frame, when control comes to the next one.
    fn write(&mut self, op: Op) -> Check {
        self.write_registers()?;
        let state = &mut self.flow.state;
        match op {
            Op::Allocate | Op::AllocateHeap => state.push_frame(self.seen.frames.1, false),
            Op::AllocateZero | Op::AllocateHeapZero => state.push_frame(self.seen.frames.1, true),
            _ => {}
        }
        Ok(())
    }

    fn begin_catch(&mut self) -> Check {
        let slot = self.seen.slot;
        let Some(label) = self.seen.edges.pop() else { return Ok(()) };
        let def = self.labels[label as usize];
        if def.function != NONE && def.offset as usize <= self.at {
            return Err(self.misplaced("a handler before its catch"));
        }
        if !self.flow.state.begin_catch(slot) {
            return Err(self.misplaced("a catch in a slot that is not there or above another catch"));
        }
        let x = self.flow.state.take_x(1);
        self.edge(label)?;
        self.flow.state.put_x(x);
        Ok(())
    }

    fn insist(&self, holds: bool, what: &'static str) -> Check {
        if holds { Ok(()) } else { Err(self.misplaced(what)) }
    }

    fn need_x(&self, count: u16) -> Check {
        self.insist(self.flow.state.has_args(count), "an X register that must hold a term may not")
    }

    #[inline]
    fn write_registers(&mut self) -> Check {
        let state = &mut self.flow.state;
        for reg in &self.seen.written {
            match *reg {
                Reg::X(x) => state.add_x(x),
                Reg::Y(y) if state.may_set_y(y) => state.add_y(y),
                Reg::Y(_) => return Err(self.misplaced("writes to a slot that is not there or holds a catch tag")),
            }
        }
        Ok(())
    }

    /// Where the stack may be scanned, all slots must be initialised: by the code, or by the frame's being
    /// pushed with nils (V4).
    #[inline]
    fn need_scannable(&mut self) {
        if !self.flow.state.is_scannable() {
            self.flow.needs_nils = true;
        }
    }

    fn need_no_frame(&self) -> Check {
        self.insist(self.flow.state.frame == Frame::None, "there may be a frame where none must be")
    }

    fn drop_frame(&mut self, slots: u16) -> Check {
        let fits = self.flow.state.pop_frame(slots);
        self.insist(fits, "not a frame of this size without active catches")
    }
}
