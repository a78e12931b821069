//! The instructions with code of their own, and how one leads to the next.
//!
//! Each instruction is a small function that ends in a call of the next one's, found by opcode: in optimised builds these are
//! jumps (sibling calls: all functions have one signature, and nothing lives on the native stack), so that each instruction has
//! an indirect jump of its own, which predicts better than one for all, and the hot state stays in registers: `pc`, the
//! register files `x` and `sp`, the heap top, the machine. Builds with debug assertions return to a loop after each one.
//! A function does its work inline only where that is a few machine instructions; all else is a call of a function that gets
//! the machine and the instruction's address, out of line so that the fast path saves no registers.
//!
//! R1. The compiler turns a last call into a jump only where no local variable of the function has its address taken. So the
//!     functions here keep none: what needs one is a function that is never inlined. Otherwise each run of the instruction
//!     would leave a frame on the native stack until the slice ends, and a slice is long enough to overflow it.
//!     `tools/tail-calls` looks through the machine code for calls that should be jumps.
//!
//! One file, however long: a table, in which each entry is an instruction. Their safety rests on one argument, which stands once,
//! at `State`.
//!
//! The idea is Haberman's (tail calls in a Protobuf parser, 2021), after continuation-passing threaded code.

use crate::bits;
use crate::calls;
use crate::guards;
use crate::instr::{Op, SlowOp};
use crate::machine::{Machine, register, short, source, target, wide};
use crate::maps;
use crate::matching;
use myriad_heap::RESERVED;
use myriad_sync::atomic::Ordering;
use myriad_term::boxed::Header;
use myriad_term::{Export, FunEntry, Kind, Term};
use myriad_vm::code::{Continuation, Function};
use myriad_vm::engine::SliceEnd;

/// An instruction's function: code pointer, X registers, stack pointer, heap top, machine.
type Instruction = unsafe fn(*const u32, *mut Term, *mut Term, *mut u64, *mut Machine<'static, 'static>);

/// The hot state, as an instruction's function holds it.
#[derive(Clone, Copy)]
struct State {
    pc: *const u32,
    x: *mut Term,
    sp: *mut Term,
    htop: *mut u64,
    m: *mut Machine<'static, 'static>,
}

/// Header of a match context.
const CONTEXT: u64 = Header::new(Kind::MatchContext, 3).raw();

/// Makes the room that the instruction at `pc` (an allocation: live registers, bytes) found missing; it then runs again.
#[cold]
#[inline(never)]
unsafe fn make_room(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    let (live, bytes) = unsafe { (crate::machine::high(pc) as usize, *pc.add(1) as usize) };
    m.collect_at(bytes / 8, live, pc)
}

/// Reductions are used up at a call of `m.callee`.
#[cold]
#[inline(never)]
unsafe fn preempt(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    let function = m.callee;
    // SAFETY: K3.
    let f = unsafe { &*function };
    if m.ctx.proc.saves_calls() {
        // SAFETY: the instruction at hand.
        unsafe { crate::saving::note_call(m, pc) };
    }
    if f.bif().is_some() || !m.is_spent() {
        // A built-in gives way of its own accord; its caller does at the next call.
        return f.entry().0;
    }
    m.stop(SliceEnd::Yielded, std::ptr::null(), function, usize::from(f.mfa.arity))
}

/// A bit string of whole bytes?
#[inline(never)]
fn is_binary(t: Term) -> bool {
    t.as_bits().is_some_and(|b| b.is_binary())
}

#[inline(always)]
fn both_small(a: Term, b: Term) -> bool {
    (a.raw() | b.raw()) & 7 == 0
}

/// Runs `f` on the instruction at hand and goes on where it says.
#[cold]
#[inline(never)]
unsafe fn detour(
    pc: *const u32,
    x: *mut Term,
    sp: *mut Term,
    htop: *mut u64,
    m: *mut Machine<'static, 'static>,
    f: SlowOp,
) {
    // SAFETY: as `State::out_of_line`.
    unsafe { State { pc, x, sp, htop, m }.out_of_line(f) }
}

/// SAFETY of them all: the code is what the decoder made of code that has passed the load-time scan, so operands are registers of
/// the right file, labels are instructions of the same function, frames are as tracked; the compiler's own guarantees (types,
/// heap needs) are relied upon as OTP relies on them.
#[allow(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]
impl State {
    /// Goes on at `pc`.
    #[inline(always)]
    unsafe fn go(self) {
        unsafe {
            if cfg!(debug_assertions) {
                self.save();
                (*self.m).next = self.pc;
            } else {
                let function = *TABLE.get_unchecked((*self.pc & 0xffff) as usize);
                function(self.pc, self.x, self.sp, self.htop, self.m);
            }
        }
    }

    #[inline(always)]
    unsafe fn save(self) {
        unsafe {
            let heap = (*self.m).heap;
            (*heap).stop = self.sp.cast();
            (*heap).htop = self.htop;
        }
    }

    /// Runs `f` on the instruction at hand and goes on where it says.
    #[inline(always)]
    unsafe fn out_of_line(mut self, f: SlowOp) {
        unsafe {
            self.save();
            let next = f(&mut *self.m, self.pc);
            if next.is_null() {
                (*self.m).next = next;
                return;
            }
            let heap = (*self.m).heap;
            self.pc = next;
            self.sp = (*heap).stop.cast();
            self.htop = (*heap).htop;
            self.go()
        }
    }

    /// The same, from a fast path: in a function of its own.
    #[inline(always)]
    unsafe fn slow(self, f: SlowOp) {
        unsafe { detour(self.pc, self.x, self.sp, self.htop, self.m, f) }
    }

    /// Goes on after so many words.
    #[inline(always)]
    unsafe fn next(mut self, words: usize) {
        unsafe {
            self.pc = self.pc.add(words);
            self.go()
        }
    }

    /// Goes on at the label in a word.
    #[inline(always)]
    unsafe fn jump(mut self, word: usize) {
        unsafe {
            self.pc = target(self.pc.add(word));
            self.go()
        }
    }

    /// Goes on after `words` if so, else at the label in word `label`.
    #[inline(always)]
    unsafe fn test(self, condition: bool, label: usize, words: usize) {
        unsafe { if condition { self.next(words) } else { self.jump(label) } }
    }

    /// The address of a register operand.
    #[inline(always)]
    unsafe fn at(self, operand: u32) -> *mut Term {
        unsafe { register(self.x, self.sp, operand) }
    }

    /// The address of an operand that is an X register.
    #[inline(always)]
    unsafe fn x_at(self, operand: u32) -> *mut Term {
        unsafe { self.x.byte_add(operand as usize) }
    }

    /// The address of an operand that is a Y register.
    #[inline(always)]
    unsafe fn y_at(self, operand: u32) -> *mut Term {
        unsafe { self.sp.byte_add(operand as usize - 1) }
    }

    /// The value of the source operand in a word.
    #[inline(always)]
    unsafe fn source(self, word: usize) -> Term {
        unsafe { source(self.x, self.sp, self.pc.add(word)) }
    }

    /// High half of the first word.
    #[inline(always)]
    unsafe fn high(self) -> u32 {
        unsafe { *self.pc >> 16 }
    }

    /// Low half of a word.
    #[inline(always)]
    unsafe fn low(self, word: usize) -> u32 {
        unsafe { *self.pc.add(word) & 0xffff }
    }

    /// High half of a word.
    #[inline(always)]
    unsafe fn upper(self, word: usize) -> u32 {
        unsafe { *self.pc.add(word) >> 16 }
    }

    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    unsafe fn m<'m>(self) -> &'m mut Machine<'static, 'static> {
        unsafe { &mut *self.m }
    }

    /// Pushes the continuation in a word.
    #[inline(always)]
    unsafe fn push(&mut self, word: usize) {
        unsafe {
            self.sp = self.sp.sub(1);
            *self.sp.cast::<u64>() = target(self.pc.add(word)) as u64;
        }
    }

    /// Returns.
    #[inline(always)]
    unsafe fn ret(mut self) {
        unsafe {
            let continuation = *self.sp.cast::<*const Continuation>();
            self.sp = self.sp.add(1);
            self.pc = (*continuation).pc.0;
            self.go()
        }
    }

    #[inline(always)]
    unsafe fn export(self, word: usize) -> *const Function {
        unsafe { Function::of_export(&*(wide(self.pc.add(word)) as *const Export)) }
    }

    #[inline(always)]
    unsafe fn function(self, word: usize) -> *const Function {
        unsafe { wide(self.pc.add(word)) as *const Function }
    }

    /// Enters a function.
    #[inline(always)]
    unsafe fn enter(mut self, function: *const Function) {
        unsafe {
            (*self.m).callee = function;
            let left = (*self.m).reds - 1;
            (*self.m).reds = left;
            if left > 0 {
                // Acquire: pairs with the Release that publishes the code.
                self.pc = (*function).entry.load(Ordering::Acquire);
                self.go()
            } else {
                self.slow(preempt)
            }
        }
    }

    /// What a local fun runs that takes as many arguments as the instruction has; its free variables are put behind them.
    /// Null for all else.
    #[inline(always)]
    unsafe fn local_fun(self, fun: Term) -> *const Function {
        unsafe {
            if !fun.is_boxed() {
                return std::ptr::null();
            }
            let object = fun.boxed_ptr();
            let header = Header::from_raw(*object);
            if header.kind() != Kind::Fun {
                return std::ptr::null();
            }
            let (entry, arity) = (*object.add(1) as *const FunEntry, self.high());
            if u32::from((*entry).arity) != arity {
                return std::ptr::null();
            }
            // Acquire: pairs with the Release in the code server; null while its module is not loaded.
            let function = (*entry).code.load(Ordering::Acquire).cast::<Function>();
            if !function.is_null() {
                let free = object.add(3).cast::<Term>();
                for i in 0..header.size() - 2 {
                    *self.x.add(arity as usize + i) = *free.add(i);
                }
            }
            function
        }
    }

    /// Keys, values and size of a flat map.
    #[inline(always)]
    unsafe fn flat_map(self, map: Term) -> Option<(*const Term, *const Term, usize)> {
        unsafe {
            if !map.is_boxed() {
                return None;
            }
            let object = map.boxed_ptr();
            let header = Header::from_raw(*object);
            if header.kind() != Kind::Map {
                return None;
            }
            let keys = Term::from_raw(*object.add(1)).boxed_ptr();
            Some((keys.add(1).cast(), object.add(2).cast(), header.size() - 1))
        }
    }

    /// A frame of at most [`RESERVED`] Y registers, all nil; its size in bytes is in word 2. Beyond the frame there is room for
    /// as many words, so that all of them are written, without a branch.
    #[inline(always)]
    unsafe fn small_frame(&mut self) {
        unsafe {
            for i in 1..=RESERVED {
                *self.sp.sub(i) = Term::NIL;
            }
            self.sp = self.sp.byte_sub(*self.pc.add(2) as usize);
        }
    }

    /// Moves between the two registers in a word, source first.
    #[inline(always)]
    unsafe fn move_pair(self, word: usize) {
        unsafe { *self.at(self.upper(word)) = *self.at(self.low(word)) }
    }

    /// A tuple of `n` elements, whose sources begin at `word`; there is room for it.
    #[inline(always)]
    unsafe fn tuple(&mut self, n: usize, word: usize) -> Term {
        unsafe {
            let at = self.htop;
            *at = Header::new(Kind::Tuple, n).raw();
            let elements = at.add(1).cast::<Term>();
            for i in 0..n {
                *elements.add(i) = self.source(word + i);
            }
            self.htop = at.add(1 + n);
            Term::from_boxed(at)
        }
    }

    /// Is there less room than the bytes in word 1?
    #[inline(always)]
    unsafe fn lacks(self) -> bool {
        unsafe { (self.sp as usize).wrapping_sub(self.htop as usize) < *self.pc.add(1) as usize }
    }

    /// A comparison of two small integers; else out of line.
    #[inline(always)]
    unsafe fn order(self, a: Term, b: Term, holds: impl FnOnce(i64, i64) -> bool, label: usize) {
        unsafe {
            if !both_small(a, b) {
                self.slow(guards::compare)
            } else if holds(a.raw() as i64, b.raw() as i64) {
                self.next(3)
            } else {
                self.jump(label)
            }
        }
    }

    /// Arithmetic on the registers of the two source operands.
    #[inline(always)]
    unsafe fn register_arithmetic(self, fast: impl FnOnce(i64, i64) -> Option<i64>) {
        unsafe {
            let (a, b) = (*self.at(*self.pc.add(1)), *self.at(*self.pc.add(2)));
            if both_small(a, b)
                && let Some(result) = fast(a.raw() as i64, b.raw() as i64)
            {
                *self.at(self.high()) = Term::from_raw(result as u64);
                self.next(5)
            } else {
                self.slow(guards::arithmetic)
            }
        }
    }

    /// The match context in the register of the first word: its object, position and end.
    #[inline(always)]
    unsafe fn context(self) -> Option<(*mut u64, usize, usize)> {
        unsafe {
            let t = *self.at(self.high());
            if t.is_boxed() {
                let object = t.boxed_ptr();
                if *object == CONTEXT {
                    return Some((object, *object.add(2) as usize >> 3, *object.add(3) as usize >> 3));
                }
            }
            None
        }
    }

    /// `n` (at most 56) bits of a context, most significant first, in the low bits; nothing if fewer than eight bytes follow.
    #[inline(always)]
    unsafe fn peek_bits(object: *mut u64, position: usize, n: usize) -> Option<u64> {
        unsafe {
            let whole = Term::from_raw(*object.add(1)).boxed_ptr();
            let (data, bytes) = if Header::from_raw(*whole).kind() == Kind::HeapBinary {
                // Padding to a whole word is part of the object.
                (whole.add(2).cast::<u8>(), 8 * (Header::from_raw(*whole).size() - 1))
            } else {
                let bytes = *whole.add(1) as usize;
                (myriad_term::Boxed::at(whole).shared_data(), bytes)
            };
            let first = position / 8;
            if n == 8 && position.is_multiple_of(8) {
                return Some(u64::from(*data.add(first)));
            }
            if first + 8 > bytes {
                return None;
            }
            let word = u64::from_be(data.add(first).cast::<u64>().read_unaligned());
            Some(word << (position % 8) >> (64 - n))
        }
    }

    /// Arithmetic on two small integers with `fast`, which gives the result's word; else out of line.
    #[inline(always)]
    unsafe fn arithmetic(self, fast: impl FnOnce(Term, Term) -> Option<i64>) {
        unsafe {
            let (a, b) = (self.source(1), self.source(2));
            if both_small(a, b)
                && let Some(result) = fast(a, b)
            {
                *self.at(self.high()) = Term::from_raw(result as u64);
                self.next(5)
            } else {
                self.slow(guards::arithmetic)
            }
        }
    }

    /// A float operation.
    #[inline(always)]
    unsafe fn float(self, f: impl FnOnce(f64, f64) -> f64) {
        unsafe {
            let operands = *self.pc.add(1);
            let m = self.m();
            let a = *m.floats.get_unchecked((operands & 0xffff) as usize);
            let b = *m.floats.get_unchecked((operands >> 16) as usize);
            let result = f(a, b);
            if result.is_finite() {
                *m.floats.get_unchecked_mut(self.high() as usize) = result;
                self.next(3)
            } else {
                self.slow(guards::float_error)
            }
        }
    }
}

/// The functions of the hot instructions.
macro_rules! instructions {
    ($($name:ident($s:ident) $body:block)*) => {
        #[allow(non_snake_case, unused_mut)]
        mod hot {
            use super::*;
            $(
                pub(super) unsafe fn $name(pc: *const u32, x: *mut Term, sp: *mut Term, htop: *mut u64, m: *mut Machine<'static, 'static>) {
                    let mut $s = State { pc, x, sp, htop, m };
                    // SAFETY: see `State`.
                    unsafe { $body }
                }
            )*
        }
    };
}

instructions! {
    MoveXX(s) {
        *s.x_at(s.high()) = *s.x_at(s.low(1));
        s.next(2)
    }
    MoveXY(s) {
        *s.y_at(s.high()) = *s.x_at(s.low(1));
        s.next(2)
    }
    MoveYX(s) {
        *s.x_at(s.high()) = *s.y_at(s.low(1));
        s.next(2)
    }
    MoveRR(s) {
        *s.at(s.high()) = *s.at(s.low(1));
        s.next(2)
    }
    MoveKX(s) {
        *s.x_at(s.high()) = short(s.pc.add(1));
        s.next(2)
    }
    MoveKY(s) {
        *s.y_at(s.high()) = short(s.pc.add(1));
        s.next(2)
    }
    MoveC(s) {
        *s.at(s.high()) = Term::from_raw(wide(s.pc.add(1)));
        s.next(3)
    }
    Move2(s) {
        *s.at(s.high()) = *s.at(s.low(1));
        *s.at(s.upper(1)) = *s.at(s.low(2));
        s.next(3)
    }

    Move3(s) {
        *s.at(s.high()) = *s.at(s.low(1));
        *s.at(s.upper(1)) = *s.at(s.low(2));
        *s.at(s.upper(2)) = *s.at(s.low(3));
        s.next(4)
    }

    Move4(s) {
        *s.at(s.high()) = *s.at(s.low(1));
        *s.at(s.upper(1)) = *s.at(s.low(2));
        *s.at(s.upper(2)) = *s.at(s.low(3));
        *s.at(s.upper(3)) = *s.at(s.low(4));
        s.next(5)
    }

    Move5(s) {
        *s.at(s.high()) = *s.at(s.low(1));
        *s.at(s.upper(1)) = *s.at(s.low(2));
        *s.at(s.upper(2)) = *s.at(s.low(3));
        *s.at(s.upper(3)) = *s.at(s.low(4));
        *s.at(s.upper(4)) = *s.at(s.low(5));
        s.next(6)
    }

    Move6(s) {
        *s.at(s.high()) = *s.at(s.low(1));
        *s.at(s.upper(1)) = *s.at(s.low(2));
        *s.at(s.upper(2)) = *s.at(s.low(3));
        *s.at(s.upper(3)) = *s.at(s.low(4));
        *s.at(s.upper(4)) = *s.at(s.low(5));
        *s.at(s.upper(5)) = *s.at(s.low(6));
        s.next(7)
    }

    Swap(s) {
        std::ptr::swap(s.at(s.high()), s.at(s.low(1)));
        s.next(2)
    }
    Call(s) {
        s.push(1);
        s.enter(s.function(2))
    }
    CallLast(s) {
        s.sp = s.sp.byte_add((s.high()) as usize);
        s.enter(s.function(1))
    }
    CallOnly(s) { s.enter(s.function(1)) }
    CallExt(s) {
        s.push(1);
        s.enter(s.export(2))
    }
    CallExtLast(s) {
        s.sp = s.sp.byte_add((s.high()) as usize);
        s.enter(s.export(1))
    }
    CallExtOnly(s) { s.enter(s.export(1)) }
    MoveCall(s) {
        *s.x = *s.at(s.high());
        s.push(1);
        s.enter(s.function(2))
    }
    MoveCallLast(s) {
        *s.x = *s.at(s.high());
        s.sp = s.sp.byte_add(*s.pc.add(1) as usize);
        s.enter(s.function(2))
    }
    MoveCallOnly(s) {
        *s.x = *s.at(s.high());
        s.enter(s.function(1))
    }
    TrimCall(s) {
        s.sp = s.sp.byte_add(s.high() as usize);
        s.push(1);
        s.enter(s.function(2))
    }
    SwapCall(s) {
        std::ptr::swap(s.at(s.high()), s.at(s.low(1)));
        s.push(2);
        s.enter(s.function(3))
    }
    MoveKCall(s) {
        *s.x_at(s.high()) = short(s.pc.add(1));
        s.push(2);
        s.enter(s.function(3))
    }
    MoveKCallOnly(s) {
        *s.x_at(s.high()) = short(s.pc.add(1));
        s.enter(s.function(2))
    }
    Return(s) { s.ret() }
    MoveReturn(s) {
        *s.x = *s.at(s.high());
        s.ret()
    }
    MoveKReturn(s) {
        *s.x = short(s.pc.add(1));
        s.ret()
    }
    MoveCReturn(s) {
        *s.x = Term::from_raw(wide(s.pc.add(1)));
        s.ret()
    }
    Deallocate(s) {
        s.sp = s.sp.byte_add((s.high()) as usize);
        s.next(1)
    }
    Trim(s) {
        s.sp = s.sp.byte_add((s.high()) as usize);
        s.next(1)
    }
    DeallocateReturn(s) {
        s.sp = s.sp.byte_add((s.high()) as usize);
        s.ret()
    }
    MoveDeallocateReturn(s) {
        *s.x = *s.at(s.high());
        s.sp = s.sp.byte_add(*s.pc.add(1) as usize);
        s.ret()
    }
    Jump(s) { s.jump(1) }
    Allocate0(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.next(2)
    }
    Allocate1(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.sp = s.sp.sub(1);
        *s.sp = Term::NIL;
        s.next(2)
    }
    Allocate2(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.sp = s.sp.sub(2);
        *s.sp = Term::NIL;
        *s.sp.add(1) = Term::NIL;
        s.next(2)
    }
    Allocate3(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.sp = s.sp.sub(3);
        *s.sp = Term::NIL;
        *s.sp.add(1) = Term::NIL;
        *s.sp.add(2) = Term::NIL;
        s.next(2)
    }
    Allocate(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        // At least four words: in pairs from the top, the last ones perhaps twice.
        let old = s.sp;
        s.sp = s.sp.byte_sub(*s.pc.add(2) as usize);
        *s.sp = Term::NIL;
        *s.sp.add(1) = Term::NIL;
        *s.sp.add(2) = Term::NIL;
        *s.sp.add(3) = Term::NIL;
        let mut at = s.sp.add(4);
        while at < old {
            *at = Term::NIL;
            at = at.add(1);
        }
        s.next(3)
    }
    TestHeap(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.next(2)
    }
    AllocateMove1(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.small_frame();
        s.move_pair(3);
        s.next(4)
    }
    AllocateMoveCall(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.small_frame();
        s.move_pair(3);
        s.push(4);
        s.enter(s.function(5))
    }
    AllocateMove2(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.small_frame();
        s.move_pair(3);
        s.move_pair(4);
        s.next(5)
    }
    AllocateMove3(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.small_frame();
        s.move_pair(3);
        s.move_pair(4);
        s.move_pair(5);
        s.next(6)
    }
    InitY(s) {
        let first = s.y_at(s.high());
        for i in 0..*s.pc.add(1) as usize {
            *first.add(i) = Term::NIL;
        }
        s.next(2)
    }
    PutList(s) {
        let operands = *s.pc.add(1);
        let cell = s.htop.cast::<Term>();
        *cell = *s.at(operands & 0xffff);
        *cell.add(1) = *s.at(operands >> 16);
        s.htop = s.htop.add(2);
        *s.at(s.high()) = Term::from_cell(cell);
        s.next(2)
    }
    PutListS(s) {
        let cell = s.htop.cast::<Term>();
        *cell = source(s.x, s.sp, s.pc.add(1));
        *cell.add(1) = source(s.x, s.sp, s.pc.add(2));
        s.htop = s.htop.add(2);
        *s.at(s.high()) = Term::from_cell(cell);
        s.next(3)
    }
    GetList(s) {
        let cell = (*s.at(s.high())).cell();
        let operands = *s.pc.add(1);
        let (head, tail) = (*cell, *cell.add(1));
        *s.at(operands & 0xffff) = head;
        *s.at(operands >> 16) = tail;
        s.next(2)
    }
    GetHd(s) {
        *s.at(s.low(1)) = *(*s.at(s.high())).cell();
        s.next(2)
    }
    GetTl(s) {
        *s.at(s.low(1)) = *(*s.at(s.high())).cell().add(1);
        s.next(2)
    }
    IsNonemptyList(s) { s.test((*s.at(s.high())).is_cons(), 1, 2) }
    IsNonemptyGetList(s) {
        let list = *s.at(s.high());
        if list.is_cons() {
            let cell = list.cell();
            let operands = *s.pc.add(2);
            let (head, tail) = (*cell, *cell.add(1));
            *s.at(operands & 0xffff) = head;
            *s.at(operands >> 16) = tail;
            return s.next(3)
        }
        s.jump(1)
    }
    IsNonemptyGetListX(s) {
        let list = *s.x_at(s.high());
        if list.is_cons() {
            let cell = list.cell();
            let operands = *s.pc.add(2);
            let (head, tail) = (*cell, *cell.add(1));
            *s.x_at(operands & 0xffff) = head;
            *s.x_at(operands >> 16) = tail;
            return s.next(3);
        }
        s.jump(1)
    }

    IsNonemptyHeadIs(s) {
        let list = *s.at(s.high());
        if !list.is_cons() {
            return s.jump(1);
        }
        let cell = list.cell();
        let operands = *s.pc.add(2);
        let (head, tail) = (*cell, *cell.add(1));
        *s.at(operands & 0xffff) = head;
        *s.at(operands >> 16) = tail;
        s.test(head.is(short(s.pc.add(4))), 3, 5)
    }

    GetListX(s) {
        let cell = (*s.x_at(s.high())).cell();
        let operands = *s.pc.add(1);
        let (head, tail) = (*cell, *cell.add(1));
        *s.x_at(operands & 0xffff) = head;
        *s.x_at(operands >> 16) = tail;
        s.next(2)
    }

    PutListX(s) {
        let operands = *s.pc.add(1);
        let cell = s.htop.cast::<Term>();
        *cell = *s.x_at(operands & 0xffff);
        *cell.add(1) = *s.x_at(operands >> 16);
        s.htop = s.htop.add(2);
        *s.x_at(s.high()) = Term::from_cell(cell);
        s.next(2)
    }

    IsNil(s) { s.test((*s.at(s.high())).is_nil(), 1, 2) }
    IsList(s) { s.test((*s.at(s.high())).is_list(), 1, 2) }
    GetElement(s) {
        let tuple = (*s.at(s.high())).boxed_ptr().cast::<Term>();
        let w1 = *s.pc.add(1);
        *s.at(w1 & 0xffff) = *tuple.byte_add((w1 >> 16) as usize);
        s.next(2)
    }
    GetElement2(s) {
        let tuple = (*s.at(s.high())).boxed_ptr().cast::<Term>();
        *s.at(s.low(1)) = *tuple.byte_add(s.upper(1) as usize);
        *s.at(s.low(2)) = *tuple.byte_add(s.upper(2) as usize);
        s.next(3)
    }

    GetElement3(s) {
        let tuple = (*s.at(s.high())).boxed_ptr().cast::<Term>();
        *s.at(s.low(1)) = *tuple.byte_add(s.upper(1) as usize);
        *s.at(s.low(2)) = *tuple.byte_add(s.upper(2) as usize);
        *s.at(s.low(3)) = *tuple.byte_add(s.upper(3) as usize);
        s.next(4)
    }

    GetElementFar(s) {
        let tuple = (*s.at(s.high())).boxed_ptr().cast::<Term>();
        *s.at(s.low(1)) = *tuple.add(*s.pc.add(2) as usize);
        s.next(3)
    }
    IsTuple(s) { { let t = *s.at(s.high()); return s.test(t.is_boxed() && matches!(Header::from_raw(*t.boxed_ptr()).kind(), Kind::Tuple), 1, 2) } }
    IsTupleOfArity(s) {
        let t = *s.at(s.high());
        s.test(t.is_boxed() && *t.boxed_ptr() == u64::from(*s.pc.add(2)), 1, 3)
    }
    IsTupleThenArity(s) {
        let t = *s.at(s.high());
        if !t.is_boxed() {
            return s.jump(1);
        }
        let header = *t.boxed_ptr();
        if header == u64::from(*s.pc.add(3)) {
            s.next(4)
        } else if Header::from_raw(header).kind() == Kind::Tuple {
            s.jump(2)
        } else {
            s.jump(1)
        }
    }
    IsTaggedTuple(s) {
        let t = *s.at(s.high());
        return s.test(t.is_boxed()
                && *t.boxed_ptr() == u64::from(*s.pc.add(2))
                && *t.boxed_ptr().add(1) == short(s.pc.add(3)).raw(),
            1,
            4)
    }
    PutTuple(s) {
        let n = *s.pc.add(1) as usize;
        let at = s.htop;
        *at = Header::new(Kind::Tuple, n).raw();
        let elements = at.add(1).cast::<Term>();
        for i in 0..n {
            *elements.add(i) = source(s.x, s.sp, s.pc.add(2 + i));
        }
        s.htop = at.add(1 + n);
        *s.at(s.high()) = Term::from_boxed(at);
        s.next(2 + n)
    }
    HeapPutList(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        let (destination, operands) = (s.low(2), *s.pc.add(3));
        let cell = s.htop.cast::<Term>();
        *cell = *s.at(operands & 0xffff);
        *cell.add(1) = *s.at(operands >> 16);
        s.htop = s.htop.add(2);
        *s.at(destination) = Term::from_cell(cell);
        s.next(4)
    }
    HeapPutListS(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        let cell = s.htop.cast::<Term>();
        *cell = s.source(3);
        *cell.add(1) = s.source(4);
        s.htop = s.htop.add(2);
        *s.at(s.low(2)) = Term::from_cell(cell);
        s.next(5)
    }
    HeapPutTuple(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        let n = s.upper(2) as usize;
        let tuple = s.tuple(n, 3);
        *s.at(s.low(2)) = tuple;
        s.next(3 + n)
    }
    HeapPutListReturn(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        let operands = *s.pc.add(3);
        let cell = s.htop.cast::<Term>();
        *cell = *s.at(operands & 0xffff);
        *cell.add(1) = *s.at(operands >> 16);
        s.htop = s.htop.add(2);
        *s.x = Term::from_cell(cell);
        s.sp = s.sp.byte_add(*s.pc.add(2) as usize);
        s.ret()
    }
    HeapPutTupleReturn(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        let tuple = s.tuple(s.upper(2) as usize, 3);
        *s.x = tuple;
        s.sp = s.sp.byte_add(s.low(2) as usize);
        s.ret()
    }
    SetElement(s) {
        let tuple = (*s.at(s.high())).boxed_ptr().cast::<Term>();
        *tuple.add(*s.pc.add(2) as usize) = source(s.x, s.sp, s.pc.add(1));
        s.next(3)
    }
    IsEqExact(s) {
        let (a, b) = (*s.at(s.high()), *s.at(s.low(1)));
        if a.is(b) {
            s.next(3)
        } else if a.is_immediate() || b.is_immediate() {
            s.jump(2)
        } else {
            s.slow(guards::compare)
        }
    }

    IsNeExact(s) {
        let (a, b) = (*s.at(s.high()), *s.at(s.low(1)));
        if a.is(b) {
            s.jump(2)
        } else if a.is_immediate() || b.is_immediate() {
            s.next(3)
        } else {
            s.slow(guards::compare)
        }
    }

    IsLt(s) { s.order(*s.at(s.high()), *s.at(s.low(1)), |a, b| a < b, 2) }

    IsGe(s) { s.order(*s.at(s.high()), *s.at(s.low(1)), |a, b| a >= b, 2) }

    IsLtRK(s) { s.order(*s.at(s.high()), short(s.pc.add(2)), |a, b| a < b, 1) }

    IsLtKR(s) { s.order(short(s.pc.add(2)), *s.at(s.high()), |a, b| a < b, 1) }

    IsGeRK(s) { s.order(*s.at(s.high()), short(s.pc.add(2)), |a, b| a >= b, 1) }

    IsGeKR(s) { s.order(short(s.pc.add(2)), *s.at(s.high()), |a, b| a >= b, 1) }

    IsBetween(s) {
        let t = *s.at(s.high());
        let (low, high) = (short(s.pc.add(2)), short(s.pc.add(3)));
        if !t.is_small() {
            return s.slow(guards::between);
        }
        s.test(t.raw().wrapping_sub(low.raw()) <= high.raw().wrapping_sub(low.raw()), 1, 4)
    }

    IsIntegerBetween(s) {
        let t = *s.at(s.high());
        let (low, high) = (short(s.pc.add(2)), short(s.pc.add(3)));
        s.test(t.is_small() && t.raw().wrapping_sub(low.raw()) <= high.raw().wrapping_sub(low.raw()), 1, 4)
    }

    IsEqExactK(s) { s.test((*s.at(s.high())).is(short(s.pc.add(2))), 1, 3) }
    IsNeExactK(s) { s.test(!(*s.at(s.high())).is(short(s.pc.add(2))), 1, 3) }
    IsInteger(s) {
        let t = *s.at(s.high());
        s.test(t.is_small() || t.is_big(), 1, 2)
    }
    IsAtom(s) { s.test((*s.at(s.high())).is_atom(), 1, 2) }
    IsFloat(s) { s.test((*s.at(s.high())).is_float(), 1, 2) }
    IsNumber(s) { s.test((*s.at(s.high())).is_number(), 1, 2) }
    IsMap(s) { { let t = *s.at(s.high()); return s.test(t.is_boxed() && matches!(Header::from_raw(*t.boxed_ptr()).kind(), Kind::Map | Kind::MapRoot), 1, 2) } }
    IsBinary(s) { s.test(is_binary(*s.at(s.high())), 1, 2) }
    IsBitstring(s) { { let t = *s.at(s.high()); return s.test(t.is_boxed() && matches!(Header::from_raw(*t.boxed_ptr()).kind(), Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary), 1, 2) } }
    IsPid(s) { s.test((*s.at(s.high())).is_pid(), 1, 2) }
    IsBoolean(s) { s.test((*s.at(s.high())).as_bool().is_some(), 1, 2) }
    IsFunction(s) { { let t = *s.at(s.high()); return s.test(t.is_boxed() && matches!(Header::from_raw(*t.boxed_ptr()).kind(), Kind::Fun | Kind::ExportFun), 1, 2) } }
    SelectTable(s) {
        let value = *s.at(s.high());
        let index = value.small_value().wrapping_sub(i64::from(*s.pc.add(3) as i32)) as u64;
        if value.is_small() && index < u64::from(*s.pc.add(2)) {
            s.pc = target(s.pc.add(4 + index as usize));
return s.go();
        }
        s.jump(1)
    }
    SelectLinear(s) {
        let value = *s.at(s.high());
        let mut at = s.pc.add(3);
        let end = at.add(2 * *s.pc.add(2) as usize);
        s.pc = loop {
            if at == end {
                break target(s.pc.add(1));
            }
            if value.is(short(at)) {
                break target(at.add(1));
            }
            at = at.add(2);
        };
return s.go();
    }
    SelectBinary(s) {
        let value = (*s.at(s.high())).raw() as i64;
        let table = s.pc.add(3);
        let (mut from, mut to) = (0, *s.pc.add(2) as usize);
        s.pc = loop {
            if from >= to {
                break target(s.pc.add(1));
            }
            let middle = (from + to) / 2;
            let key = i64::from(*table.add(2 * middle) as i32);
            if key == value {
                break target(table.add(2 * middle + 1));
            }
            if key < value {
                from = middle + 1;
            } else {
                to = middle;
            }
        };
return s.go();
    }
    SelectArity(s) {
        let tuple = *s.at(s.high());
        let mut at = s.pc.add(3);
        let end = at.add(2 * *s.pc.add(2) as usize);
        let header = if tuple.is_boxed() { *tuple.boxed_ptr() } else { 0 };
        s.pc = loop {
            if at == end {
                break target(s.pc.add(1));
            }
            if header == u64::from(*at) {
                break target(at.add(1));
            }
            at = at.add(2);
        };
return s.go();
    }
    Add(s) { s.arithmetic(|a, b| (a.raw() as i64).checked_add(b.raw() as i64)) }
    Subtract(s) { s.arithmetic(|a, b| (a.raw() as i64).checked_sub(b.raw() as i64)) }
    AddSmall(s) {
        let a = *s.at(*s.pc.add(1) & 0xffff);
        if a.is_small()
            && let Some(sum) = (a.raw() as i64).checked_add(i64::from(*s.pc.add(5) as i32))
        {
            *s.at(s.high()) = Term::from_raw(sum as u64);
            return s.next(6)
        }
        return s.slow(guards::arithmetic)
    }
    AddRegisters(s) { s.register_arithmetic(i64::checked_add) }

    SubtractRegisters(s) { s.register_arithmetic(i64::checked_sub) }

    Multiply(s) { s.arithmetic(|a, b| a.small_value().checked_mul(b.raw() as i64)) }
    Band(s) { s.arithmetic(|a, b| Some((a.raw() & b.raw()) as i64)) }
    Bor(s) { s.arithmetic(|a, b| Some((a.raw() | b.raw()) as i64)) }
    Bsr(s) { return s.arithmetic(|a, b| {
        let shift = b.small_value();
        (0..=60).contains(&shift).then(|| (a.small_value() >> shift) << 3)
    }) }
    Bsl(s) { return s.arithmetic(|a, b| {
        let (v, shift) = (a.raw() as i64, b.small_value());
        if (0..=60).contains(&shift) && (v << shift) >> shift == v { Some(v << shift) } else { None }
    }) }
    Div(s) { return s.arithmetic(|a, b| {
        let divisor = b.small_value();
        if divisor > 0 { Some((a.small_value() / divisor) << 3) } else { None }
    }) }
    Rem(s) { return s.arithmetic(|a, b| {
        let divisor = b.raw() as i64;
        if divisor > 0 { Some((a.raw() as i64) % divisor) } else { None }
    }) }
    FMoveFromTerm(s) {
        let value = source(s.x, s.sp, s.pc.add(1)).as_float().unwrap_or(0.0);
        *s.m().floats.get_unchecked_mut((s.high()) as usize) = value;
        s.next(2)
    }
    FMoveToTerm(s) {
        match Term::immediate_float(*s.m().floats.get_unchecked(*s.pc.add(1) as usize)) {
            Some(t) => {
                *s.at(s.high()) = t;
                s.next(2)
            }
            None => return s.slow(guards::fmove_to_term),
        }
    }
    FMove(s) {
        let value = *s.m().floats.get_unchecked(*s.pc.add(1) as usize);
        *s.m().floats.get_unchecked_mut((s.high()) as usize) = value;
        s.next(2)
    }
    FAdd(s) { s.float(|a, b| a + b) }
    FSub(s) { s.float(|a, b| a - b) }
    FMul(s) { s.float(|a, b| a * b) }
    FDiv(s) { s.float(|a, b| a / b) }
    FNegate(s) {
        let value = *s.m().floats.get_unchecked(*s.pc.add(1) as usize);
        *s.m().floats.get_unchecked_mut((s.high()) as usize) = -value;
        s.next(2)
    }
    FConv(s) {
        let value = s.source(1);
        if value.is_small() {
            *s.m().floats.get_unchecked_mut(s.high() as usize) = value.small_value() as f64;
            return s.next(2);
        }
        if value.is_immediate_float()
            && let Some(number) = value.as_float()
        {
            *s.m().floats.get_unchecked_mut(s.high() as usize) = number;
            return s.next(2);
        }
        s.slow(guards::fconv)
    }

    BsStart(s) {
        let t = s.source(1);
        if t.is_boxed() && *t.boxed_ptr() == CONTEXT {
            *s.at(s.high()) = t;
            return s.next(4);
        }
        s.slow(matching::start)
    }

    BsGetFixed(s) {
        let (w1, n) = (*s.pc.add(1), *s.pc.add(4) as usize);
        if let Some((object, position, end)) = s.context() {
            if position + n > end {
                return s.jump(2);
            }
            if let Some(value) = State::peek_bits(object, position, n) {
                let value = if w1 >> 16 != 0 { bits::sign_extend(value, n) } else { value as i64 };
                *object.add(2) = ((position + n) << 3) as u64;
                *s.at(w1 & 0xffff) = Term::small(value);
                return s.next(5);
            }
        }
        s.slow(matching::get_fixed)
    }

    BsTestUnit(s) {
        if let Some((_, position, end)) = s.context() {
            let (left, unit) = (end - position, *s.pc.add(2) as usize);
            let whole = if unit == 8 { left % 8 == 0 } else { left % unit.max(1) == 0 };
            return s.test(whole, 1, 3);
        }
        s.slow(matching::test_unit)
    }

    BsTestTail(s) {
        if let Some((_, position, end)) = s.context() {
            return s.test(end - position == *s.pc.add(2) as usize, 1, 3);
        }
        s.slow(matching::test_tail)
    }

    BsEnsureExactly(s) {
        if let Some((_, position, end)) = s.context() {
            return s.test(end - position == *s.pc.add(2) as usize, 1, 3);
        }
        s.slow(matching::ensure_exactly)
    }

    BsEnsureAtLeast(s) {
        if let Some((_, position, end)) = s.context() {
            let (left, need, unit) = (end - position, *s.pc.add(2) as usize, *s.pc.add(3) as usize);
            let whole = left >= need && (unit == 1 || if unit == 8 { (left - need) % 8 == 0 } else { (left - need) % unit.max(1) == 0 });
            return s.test(whole, 1, 4);
        }
        s.slow(matching::ensure_at_least)
    }

    BsMatchInteger(s) {
        let (w1, n) = (*s.pc.add(1), *s.pc.add(3) as usize);
        if w1 >> 16 == 0
            && n <= 56
            && n > 0
            && let Some((object, position, end)) = s.context()
            && position + n <= end
            && let Some(value) = State::peek_bits(object, position, n)
        {
            *object.add(2) = ((position + n) << 3) as u64;
            *s.at(w1 & 0xffff) = Term::small(value as i64);
            return s.next(4);
        }
        s.slow(matching::match_integer)
    }

    BsGetPosition(s) {
        if let Some((_, position, _)) = s.context() {
            *s.at(s.low(1)) = Term::small(position as i64);
            return s.next(3);
        }
        s.slow(matching::get_position)
    }

    BsSetPosition(s) {
        let t = s.source(1);
        if let Some((object, _, end)) = s.context()
            && t.is_small()
            && t.small_value() as usize <= end
        {
            *object.add(2) = t.raw();
            return s.next(2);
        }
        s.slow(matching::set_position)
    }

    Try(s) {
        *s.y_at(s.high()) = Term::catch(target(s.pc.add(1)) as u64);
        s.next(2)
    }
    TryEnd(s) {
        *s.y_at(s.high()) = Term::NIL;
        s.next(1)
    }
    TryCase(s) {
        *s.y_at(s.high()) = Term::NIL;
        *s.x = *s.x.add(1);
        *s.x.add(1) = *s.x.add(2);
        *s.x.add(2) = *s.x.add(3);
        s.next(1)
    }

    CallFun(s) {
        let function = s.local_fun(s.source(2));
        if function.is_null() {
            return s.slow(calls::call_fun);
        }
        s.push(1);
        s.enter(function)
    }

    CallFunLast(s) {
        let function = s.local_fun(s.source(2));
        if function.is_null() {
            return s.slow(calls::call_fun_last);
        }
        s.sp = s.sp.byte_add(*s.pc.add(1) as usize);
        s.enter(function)
    }

    Hd(s) {
        let list = s.source(guards::SOURCES);
        if !list.is_cons() {
            return s.slow(guards::hd);
        }
        *s.at(s.high()) = *list.cell();
        s.next(guards::SOURCES + 1)
    }

    Tl(s) {
        let list = s.source(guards::SOURCES);
        if !list.is_cons() {
            return s.slow(guards::tl);
        }
        *s.at(s.high()) = *list.cell().add(1);
        s.next(guards::SOURCES + 1)
    }

    TupleSize(s) {
        let tuple = s.source(guards::SOURCES);
        if tuple.is_boxed() && Header::from_raw(*tuple.boxed_ptr()).kind() == Kind::Tuple {
            *s.at(s.high()) = Term::small(Header::from_raw(*tuple.boxed_ptr()).size() as i64);
            return s.next(guards::SOURCES + 1);
        }
        s.slow(guards::tuple_size)
    }

    MapSize(s) {
        match s.flat_map(s.source(guards::SOURCES)) {
            Some((_, _, size)) => {
                *s.at(s.high()) = Term::small(size as i64);
                s.next(guards::SOURCES + 1)
            }
            None => s.slow(guards::map_size),
        }
    }

    Element(s) {
        let (index, tuple) = (s.source(guards::SOURCES), s.source(guards::SOURCES + 1));
        if index.is_small() && tuple.is_boxed() {
            let object = tuple.boxed_ptr();
            let (header, index) = (Header::from_raw(*object), index.small_value() as usize);
            if header.kind() == Kind::Tuple && index.wrapping_sub(1) < header.size() {
                *s.at(s.high()) = *object.add(index).cast::<Term>();
                return s.next(guards::SOURCES + 2);
            }
        }
        s.slow(guards::element)
    }

    MapGet(s) {
        let key = s.source(guards::SOURCES);
        if key.is_immediate()
            && let Some((keys, values, size)) = s.flat_map(s.source(guards::SOURCES + 1))
        {
            for i in 0..size {
                if (*keys.add(i)).is(key) {
                    *s.at(s.high()) = *values.add(i);
                    return s.next(guards::SOURCES + 2);
                }
            }
        }
        s.slow(guards::map_get)
    }

    NewMap(s) {
        let n = *s.pc.add(2) as usize;
        if (s.sp as usize).wrapping_sub(s.htop as usize) < 8 * (2 + n + RESERVED) {
            return s.slow(maps::new_map);
        }
        let at = s.htop;
        *at = Header::new(Kind::Map, 1 + n).raw();
        *at.add(1) = wide(s.pc.add(3));
        let values = at.add(2).cast::<Term>();
        for i in 0..n {
            *values.add(i) = s.source(5 + i);
        }
        s.htop = at.add(2 + n);
        *s.at(s.high()) = Term::from_boxed(at);
        s.next(5 + n)
    }

    GetPlainElement(s) {
        let Some((keys, values, size)) = s.flat_map(s.source(1)) else { return s.slow(maps::get_plain_element) };
        let key = short(s.pc.add(3));
        for i in 0..size {
            if (*keys.add(i)).is(key) {
                *s.at(s.high()) = *values.add(i);
                return s.next(4);
            }
        }
        s.jump(2)
    }

    GetPlainElements(s) {
        let Some((keys, values, size)) = s.flat_map(s.source(1)) else { return s.slow(maps::get_plain_elements) };
        // Both in the same order.
        let (mut i, mut at) = (0, s.pc.add(4));
        let end = at.add(*s.pc.add(3) as usize);
        while at < end {
            let key = short(at);
            loop {
                if i == size {
                    return s.jump(2);
                }
                if (*keys.add(i)).is(key) {
                    break;
                }
                i += 1;
            }
            *s.at(*at.add(1)) = *values.add(i);
            at = at.add(2);
        }
        s.pc = end;
        s.go()
    }
}

macro_rules! table {
    (hot { $($hot:ident $hot_format:literal)* } slow { $($slow:ident $slow_format:literal $function:path)* }) => {
        /// The work of the instructions out of line, kept out of the functions below (R1).
        #[allow(non_snake_case)]
        mod work {
            use super::*;
            $(
                #[inline(never)]
                pub(super) unsafe fn $slow(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
                    // SAFETY: the caller's promise, which is the same.
                    unsafe { $function(m, pc) }
                }
            )*
        }

        /// The functions of the instructions out of line.
        #[allow(non_snake_case)]
        mod cool {
            use super::*;
            $(
                pub(super) unsafe fn $slow(pc: *const u32, x: *mut Term, sp: *mut Term, htop: *mut u64, m: *mut Machine<'static, 'static>) {
                    // SAFETY: see `State`.
                    unsafe { State { pc, x, sp, htop, m }.out_of_line(work::$slow) }
                }
            )*
        }

        /// All instructions' functions, by opcode.
        static TABLE: [Instruction; Op::COUNT as usize] = [$(hot::$hot,)* $(cool::$slow,)*];
    };
}
crate::instr::for_each_instruction!(table);

/// Runs from `pc` until the slice ends.
///
/// # Safety
/// `pc` is an instruction of code that the process runs, `m` its state.
pub unsafe fn run(m: &mut Machine<'_, '_>, pc: *const u32) -> SliceEnd {
    let machine = (&raw mut *m).cast::<Machine<'static, 'static>>();
    // SAFETY: the caller's promise; the machine outlives the call. See `State`.
    unsafe {
        (*machine).next = pc;
        while !(*machine).next.is_null() {
            let (pc, heap) = ((*machine).next, (*machine).heap);
            TABLE[usize::from(*pc as u16)](pc, (*machine).x, (*heap).stop.cast(), (*heap).htop, machine);
        }
        (*machine).end
    }
}
