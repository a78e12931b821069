//! The hot state, and what the instructions' functions are made of.

use super::TABLE;
use crate::instr::{ANY, X, Y};
use crate::machine::{Machine, SlowOp, register, source, target, wide};
use crate::{costs, guards, tiers};
use myriad_heap::RESERVED;
use myriad_sync::atomic::Ordering;
use myriad_term::boxed::Header;
use myriad_term::{Export, FunEntry, Kind, Term};
use myriad_vm::code::{Continuation, Function};
use myriad_vm::engine::SliceEnd;

/// The hot state, as an instruction's function holds it.
#[derive(Clone, Copy)]
pub(super) struct State<const SOURCES: u8, const DESTINATIONS: u8> {
    pub(super) pc: *const u32,
    pub(super) x: *mut Term,
    pub(super) sp: *mut Term,
    pub(super) htop: *mut u64,
    pub(super) m: *mut Machine<'static, 'static>,
}

/// Header of a match context.
pub(super) const CONTEXT: u64 = Header::new(Kind::MatchContext, 3).raw();

/// Makes the room that the instruction at `pc` (an allocation: live registers, bytes) found missing; it then runs again.
#[cold]
#[inline(never)]
pub(super) unsafe fn make_room(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    let (live, bytes) = unsafe { (crate::machine::high(pc) as usize, *pc.add(1) as usize) };
    m.collect_at(bytes / 8, live, pc)
}

/// Reductions are used up at a call of `m.callee`.
#[cold]
#[inline(never)]
unsafe fn preempt(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    let function = m.callee;
    // SAFETY: code/K3.
    let f = unsafe { &*function };
    if m.ctx.state.saves_calls() {
        // SAFETY: the instruction at hand.
        unsafe { crate::saving::note_call(m, pc) };
    } else {
        tiers::sample(m, f);
    }
    if f.bif().is_some() || !m.is_spent() {
        // A built-in gives way of its own accord; its caller does at the next call.
        return f.entry().0;
    }
    m.stop(SliceEnd::Yielded, std::ptr::null(), function, usize::from(f.mfa.arity))
}

/// A bit string of whole bytes?
#[inline(never)]
pub(super) fn is_binary(t: Term) -> bool {
    t.as_bits().is_some_and(|b| b.is_binary())
}

/// A boxed term of such a kind?
///
/// # Safety
/// The term is of a heap that stands.
#[inline(always)]
pub(super) unsafe fn has_kind(t: Term, is: impl FnOnce(Kind) -> bool) -> bool {
    // SAFETY: the caller promises that the term is of a heap that stands, so its header can be read.
    t.is_boxed() && is(Header::from_raw(unsafe { *t.boxed_ptr() }).kind())
}

/// `n` (at most 56) bits of a context, most significant first, in the low bits; nothing if fewer than eight bytes follow.
///
/// # Safety
/// Of [`State::context`].
#[inline(always)]
pub(super) unsafe fn peek_bits(object: *mut u64, position: usize, n: usize) -> Option<u64> {
    // SAFETY: the caller promises that `object` is the match context that `State::context` gave.
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

#[inline(always)]
fn both_small(a: Term, b: Term) -> bool {
    (a.raw() | b.raw()) & 7 == 0
}

/// Runs `f` on the instruction at hand and continues where it says.
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
    unsafe { State::<ANY, ANY> { pc, x, sp, htop, m }.out_of_line(f) }
}

/// # Safety
/// Of them all, so that it stands once: the code is what the decoder made of code that has passed the load-time scan, so operands are registers of
/// the right file, labels are instructions of the same function, frames are as tracked, there is room for what is built; a term is
/// read or written through without a look at what it is only where the function's own code proves it (`myriad_beam::Proofs`).
/// The compiler's claims about types decide nothing of this.
#[allow(unsafe_op_in_unsafe_fn, clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl<const SOURCES: u8, const DESTINATIONS: u8> State<SOURCES, DESTINATIONS> {
    /// Continues at `pc`.
    #[inline(always)]
    pub(super) unsafe fn go(self) {
        if cfg!(debug_assertions) {
            self.save();
            (*self.m).next = self.pc;
        } else {
            costs::dispatched(*self.pc);
            let function = *TABLE.get_unchecked((*self.pc & 0xffff) as usize);
            function(self.pc, self.x, self.sp, self.htop, self.m);
        }
    }

    #[inline(always)]
    pub(super) unsafe fn save(self) {
        let heap = (*self.m).heap;
        (*heap).stop = self.sp.cast();
        (*heap).htop = self.htop;
    }

    /// Runs `f` on the instruction at hand and continues where it says.
    #[inline(always)]
    pub(super) unsafe fn out_of_line(mut self, f: SlowOp) {
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

    /// The same, from a fast path: in a function of its own.
    #[inline(always)]
    pub(super) unsafe fn slow(self, f: SlowOp) {
        detour(self.pc, self.x, self.sp, self.htop, self.m, f)
    }

    /// Continues this number of words behind.
    #[inline(always)]
    pub(super) unsafe fn next(mut self, words: usize) {
        self.pc = self.pc.add(words);
        self.go()
    }

    /// Goes on at the label in a word.
    #[inline(always)]
    pub(super) unsafe fn jump(mut self, word: usize) {
        self.pc = target(self.pc.add(word));
        self.go()
    }

    /// Goes on after `words` if so, else at the label in word `label`.
    #[inline(always)]
    pub(super) unsafe fn test(self, condition: bool, label: usize, words: usize) {
        if condition { self.next(words) } else { self.jump(label) }
    }

    /// The address of an operand of registers that are all of `file`.
    #[inline(always)]
    unsafe fn at(self, file: u8, operand: u32) -> *mut Term {
        match file {
            X => self.x.wrapping_byte_add(operand as usize),
            Y => self.sp.wrapping_byte_sub(1).wrapping_byte_add(operand as usize),
            _ => register(self.x, self.sp, operand),
        }
    }

    /// The address of a register that is read.
    #[inline(always)]
    pub(super) unsafe fn from(self, operand: u32) -> *mut Term {
        self.at(SOURCES, operand)
    }

    /// The address of a register that is written.
    #[inline(always)]
    pub(super) unsafe fn to(self, operand: u32) -> *mut Term {
        self.at(DESTINATIONS, operand)
    }

    /// The address of a register that is read and written.
    #[inline(always)]
    pub(super) unsafe fn both(self, operand: u32) -> *mut Term {
        self.at(if SOURCES == DESTINATIONS { SOURCES } else { ANY }, operand)
    }

    /// The address of an operand that is an X register.
    #[inline(always)]
    pub(super) unsafe fn x_at(self, operand: u32) -> *mut Term {
        self.x.byte_add(operand as usize)
    }

    /// The address of an operand that is a Y register.
    #[inline(always)]
    pub(super) unsafe fn y_at(self, operand: u32) -> *mut Term {
        self.sp.byte_add(operand as usize - 1)
    }

    /// The value of the source operand in a word.
    #[inline(always)]
    pub(super) unsafe fn source(self, word: usize) -> Term {
        // Constants may be among the operands of either version.
        let operand = *self.pc.add(word);
        if SOURCES == ANY {
            return source(self.x, self.sp, self.pc.add(word));
        }
        if operand & 2 != 0 {
            std::hint::cold_path();
            return source(self.x, self.sp, self.pc.add(word));
        }
        *self.from(operand)
    }

    /// The value of a source operand in a word, which is a register in all versions but the general one.
    #[inline(always)]
    pub(super) unsafe fn operand(self, word: usize) -> Term {
        if SOURCES != ANY { *self.from(*self.pc.add(word)) } else { self.source(word) }
    }

    /// High half of the first word.
    #[inline(always)]
    pub(super) unsafe fn high(self) -> u32 {
        *self.pc >> 16
    }

    /// Low half of a word.
    #[inline(always)]
    pub(super) unsafe fn low(self, word: usize) -> u32 {
        *self.pc.add(word) & 0xffff
    }

    /// High half of a word.
    #[inline(always)]
    pub(super) unsafe fn upper(self, word: usize) -> u32 {
        *self.pc.add(word) >> 16
    }

    #[allow(clippy::mut_from_ref, reason = "instructions use one such borrow at a time")]
    #[inline(always)]
    pub(super) unsafe fn m<'m>(self) -> &'m mut Machine<'static, 'static> {
        &mut *self.m
    }

    /// Pushes the continuation in a word.
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, word: usize) {
        self.sp = self.sp.sub(1);
        *self.sp.cast::<u64>() = target(self.pc.add(word)) as u64;
    }

    /// Returns.
    #[inline(always)]
    pub(super) unsafe fn ret(mut self) {
        let continuation = *self.sp.cast::<*const Continuation>();
        self.sp = self.sp.add(1);
        self.pc = Continuation::code(continuation).0;
        self.go()
    }

    #[inline(always)]
    pub(super) unsafe fn export(self, word: usize) -> *const Function {
        Function::of_export(&*(wide(self.pc.add(word)) as *const Export))
    }

    #[inline(always)]
    pub(super) unsafe fn function(self, word: usize) -> *const Function {
        wide(self.pc.add(word)) as *const Function
    }

    /// Enters a function.
    #[inline(always)]
    pub(super) unsafe fn enter(mut self, function: *const Function) {
        (*self.m).callee = function;
        let left = (*self.m).reds - 1;
        (*self.m).reds = left;
        if left > 0 {
            self.pc = (*function).entry().0;
            self.go()
        } else {
            self.slow(preempt)
        }
    }

    /// What a local fun runs that takes as many arguments as the instruction has; its free variables are put behind them.
    /// Null for all else.
    #[inline(always)]
    pub(super) unsafe fn local_fun(self, fun: Term) -> *const Function {
        if !fun.is_boxed() {
            return std::ptr::null();
        }
        let object = fun.boxed_ptr();
        let header = Header::from_raw(*object);
        if header.kind() != Kind::Fun {
            return std::ptr::null();
        }
        let (entry, arity) = (*object.add(1) as *const FunEntry, self.high());
        if u32::from((*entry).id.arity) != arity {
            return std::ptr::null();
        }
        // Acquire: pairs with the Release in the code server; null while its module is not loaded.
        let function = (*entry).code.load(Ordering::Acquire).cast::<Function>();
        if !function.is_null() {
            // One by one: they are few, and more at once takes registers that every call would have to save.
            let mut from = object.add(3).cast::<Term>();
            let end = object.add(1 + header.size()).cast::<Term>();
            let mut to = self.x.add(arity as usize);
            while from < end {
                to.write_volatile(*from);
                (from, to) = (from.add(1), to.add(1));
            }
        }
        function
    }

    /// The tuple in the register of the first word, if it has an element at that distance in bytes; null for all else.
    #[inline(always)]
    pub(super) unsafe fn tuple_reaching(self, bytes: u32) -> *const Term {
        let tuple = *self.from(self.high());
        if tuple.is_boxed() {
            let header = Header::from_raw(*tuple.boxed_ptr());
            if header.kind() == Kind::Tuple && 8 * header.size() >= bytes as usize {
                return tuple.boxed_ptr().cast();
            }
        }
        std::ptr::null()
    }

    /// Keys, values and size of a flat map.
    #[inline(always)]
    pub(super) unsafe fn flat_map(self, map: Term) -> Option<(*const Term, *const Term, usize)> {
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

    /// A frame of at most [`RESERVED`] Y registers, all nil; its size in bytes is in word 2. Beyond the frame there is room for
    /// as many words, so that all of them are written, without a branch.
    #[inline(always)]
    pub(super) unsafe fn small_frame(&mut self) {
        for i in 1..=RESERVED {
            *self.sp.sub(i) = Term::NIL;
        }
        self.sp = self.sp.byte_sub(*self.pc.add(2) as usize);
    }

    /// Moves from the X register to the Y register in a word.
    #[inline(always)]
    pub(super) unsafe fn move_pair(self, word: usize) {
        *self.y_at(self.upper(word)) = *self.x_at(self.low(word))
    }

    /// A tuple of `n` elements, whose sources begin at `word`; there is room for it.
    #[inline(always)]
    pub(super) unsafe fn tuple(&mut self, n: usize, word: usize) -> Term {
        let at = self.htop;
        *at = Header::new(Kind::Tuple, n).raw();
        let elements = at.add(1).cast::<Term>();
        for i in 0..n {
            *elements.add(i) = self.source(word + i);
        }
        self.htop = at.add(1 + n);
        Term::from_boxed(at)
    }

    /// Is there less room than the bytes in word 1?
    #[inline(always)]
    pub(super) unsafe fn lacks(self) -> bool {
        (self.sp as usize).wrapping_sub(self.htop as usize) < *self.pc.add(1) as usize
    }

    /// A comparison of two small integers; else out of line.
    #[inline(always)]
    pub(super) unsafe fn order(self, a: Term, b: Term, holds: impl FnOnce(i64, i64) -> bool, label: usize) {
        if !both_small(a, b) {
            self.slow(guards::compare)
        } else if holds(a.raw() as i64, b.raw() as i64) {
            self.next(3)
        } else {
            self.jump(label)
        }
    }

    /// Arithmetic on the registers of the two source operands.
    #[inline(always)]
    pub(super) unsafe fn register_arithmetic(self, fast: impl FnOnce(i64, i64) -> Option<i64>) {
        let (a, b) = (*self.from(*self.pc.add(1)), *self.from(*self.pc.add(2)));
        if both_small(a, b)
            && let Some(result) = fast(a.raw() as i64, b.raw() as i64)
        {
            *self.to(self.high()) = Term::from_raw(result as u64);
            self.next(5)
        } else {
            self.slow(guards::arithmetic)
        }
    }

    /// The match context in the register of the first word: its object, position and end.
    #[inline(always)]
    pub(super) unsafe fn context(self) -> Option<(*mut u64, usize, usize)> {
        let t = *self.from(self.high());
        if t.is_boxed() {
            let object = t.boxed_ptr();
            if *object == CONTEXT {
                return Some((object, *object.add(2) as usize >> 3, *object.add(3) as usize >> 3));
            }
        }
        None
    }

    /// Arithmetic on two small integers with `fast`, which gives the result's word; else out of line.
    #[inline(always)]
    pub(super) unsafe fn arithmetic(self, fast: impl FnOnce(Term, Term) -> Option<i64>) {
        let (a, b) = (self.operand(1), self.operand(2));
        if both_small(a, b)
            && let Some(result) = fast(a, b)
        {
            *self.to(self.high()) = Term::from_raw(result as u64);
            self.next(5)
        } else {
            self.slow(guards::arithmetic)
        }
    }

    /// A float operation.
    #[inline(always)]
    pub(super) unsafe fn float(self, f: impl FnOnce(f64, f64) -> f64) {
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
