//! The companion of a function in machine code: for each place where that goes on in tier 0, the instruction, unfused, with its line and frame, and the way
//! back behind it.
//!
//! ```text
//!   entry:     EnterNative  address        who comes from tier 0
//!   visit 7:   BsGetInteger ..., label 3   what machine code leaves to tier 0
//!              ResumeNative address        the point behind it
//!   visit 9:   Call f, record
//!              (record: native = address)  its callee returns here, in either tier
//!              ResumeNative address
//!   label 3:   ResumeNative address        where an instruction above branches to
//!   handler:   (record) Jump label 3       where an exception is caught
//! ```
//!
//! The block stands at its address before the machine code is linked, which needs the addresses of instructions, records and handlers; then the block gets the
//! addresses of the machine code, and then both are published. Nobody runs or reads it before.

use super::basic;
use super::emit::{Emitter, Point, Unfit};
use super::operands::At;
use crate::code::Decoded;
use crate::instr::Op;
use myriad_code::NativePtr;
use myriad_sync::atomic::Ordering;
use myriad_term::Term;
use myriad_vm::Vm;
use myriad_vm::code::{Continuation, Function, Module};

/// A companion while it is made.
pub struct Companion {
    emitter: Emitter,
    /// Word operands that get the address of a point of the machine code, by its number; `None`: of the entry.
    addresses: Vec<(usize, Option<u32>)>,
    /// Records that get it.
    records: Vec<(Point, u32)>,
    /// Where machine code goes on behind the last visit, which is not there yet.
    behind: Option<u32>,
}

/// An instruction of the companion.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// Its first word.
    at: usize,
    /// The record of its call.
    record: Option<Point>,
}

/// Where an exception goes on.
#[derive(Clone, Copy, Debug)]
pub struct Handler(Point);

/// A companion at its address, which wants those of the machine code.
pub struct Draft {
    /// The block, with what is known of it.
    pub decoded: Box<Decoded>,
    addresses: Vec<(usize, Option<u32>)>,
    records: Vec<(Point, u32)>,
    /// Where the records stand, in words.
    places: Vec<usize>,
}

impl Companion {
    /// One that has only the entry.
    pub fn new(vm: &'static Vm, module: &'static Module, function: &'static Function, info: u32) -> Companion {
        let emitter = Emitter::new(vm, module, function, info);
        let mut companion = Companion { emitter, addresses: Vec::new(), records: Vec::new(), behind: None };
        companion.emitter.place(0, 0);
        companion.emitter.entry_here();
        companion.way(Op::EnterNative, None);
        companion
    }

    /// An instruction that leads to machine code.
    fn way(&mut self, op: Op, point: Option<u32>) {
        self.emitter.op(op, 0);
        self.addresses.push((self.emitter.words(), point));
        self.emitter.wide(0);
    }

    /// The instruction at the head of `rest`, behind which machine code goes on at a point, or tier 0 by what the instruction itself leads to; more
    /// than one where tier 0 makes one of them that means something else than they do one by one.
    ///
    /// # Errors
    /// The instruction goes beyond a limit of tier 0.
    pub fn visit(&mut self, rest: &[At<'_>], point: Option<u32>) -> Result<Visit, Unfit> {
        let Some(first) = rest.first() else { return Err(Unfit) };
        self.go_back();
        self.emitter.place_of(first);
        let (at, before) = (self.emitter.words(), self.emitter.records());
        basic::translate(&mut self.emitter, rest)?;
        let record = (self.emitter.records() > before).then(|| self.emitter.last_record());
        self.records.extend(record.zip(point));
        self.behind = point;
        Ok(Visit { at, record })
    }

    /// Behind the last visit stands the next one, which is what machine code does there first; so that what tells a call by the record right in
    /// front of it finds that one (`errors`).
    pub fn runs_on(&mut self) {
        self.behind = None;
    }

    /// The way back behind the last visit.
    fn go_back(&mut self) {
        if let Some(point) = self.behind.take() {
            self.way(Op::ResumeNative, Some(point));
        }
    }

    /// The message that is looked at becomes the process's; then machine code goes on at a point.
    pub fn adopt(&mut self, at: &At<'_>, point: u32) -> Visit {
        self.go_back();
        self.emitter.place_of(at);
        let visit = Visit { at: self.emitter.words(), record: None };
        self.emitter.op(Op::AdoptMessage, 0);
        self.behind = Some(point);
        visit
    }

    /// The label where instructions above branch to: machine code goes on at a point. A process may wait there, so its place is noted.
    ///
    /// # Errors
    /// It is no label.
    pub fn label(&mut self, at: &At<'_>, point: u32) -> Result<(), Unfit> {
        let label = at.label().ok_or(Unfit)?;
        self.go_back();
        self.emitter.place_of(at);
        self.emitter.define(label);
        self.way(Op::ResumeNative, Some(point));
        Ok(())
    }

    /// Where exceptions go on, at a label that has been given a point; the marker is in this Y register, on this line.
    pub fn handler(&mut self, label: u32, slot: u32, line: u32) -> Handler {
        self.go_back();
        self.emitter.place(line, slot);
        Handler(self.emitter.handler_of(label, slot))
    }

    /// The block.
    ///
    /// # Errors
    /// It goes beyond a limit of tier 0.
    pub fn finish(mut self) -> Result<Draft, Unfit> {
        self.go_back();
        let Companion { emitter, addresses, records, .. } = self;
        let (decoded, places) = emitter.finish_with_places()?;
        Ok(Draft { decoded: Box::new(decoded), addresses, records, places })
    }
}

impl Draft {
    fn word(&self, at: usize) -> *mut u32 {
        // SAFETY: within the block.
        unsafe { self.decoded.block.start().cast::<u32>().add(at) }
    }

    /// The address of an instruction.
    pub fn instruction(&self, visit: Visit) -> u64 {
        self.word(visit.at) as u64
    }

    /// The address of the record of the call at an instruction, if it is one.
    pub fn record(&self, visit: Visit) -> Option<u64> {
        visit.record.map(|record| self.word(self.places[record.index()]) as u64)
    }

    /// The marker in a frame that leads to a handler.
    pub fn marker(&self, handler: Handler) -> u64 {
        Term::catch(self.word(self.places[handler.0.index()]) as u64).raw()
    }

    /// Puts the addresses of the machine code in: of its entry, and of points by their numbers.
    pub fn complete(&mut self, entry: NativePtr, point: impl Fn(u32) -> NativePtr) {
        for (at, which) in &self.addresses {
            let address = which.map_or(entry, &point);
            // SAFETY: the two words of an operand, in a block that nobody else sees yet.
            unsafe { self.word(*at).cast::<u64>().write_unaligned(address.0 as u64) };
        }
        for (record, which) in &self.records {
            // SAFETY: a record of the block, which nobody else sees yet.
            let record = unsafe { &*self.word(self.places[record.index()]).cast::<Continuation>() };
            // Relaxed: the block is published afterwards.
            record.native.store(point(*which).0.cast_mut(), Ordering::Relaxed);
        }
    }
}
