//! Code that belongs to no function: entries of functions not decoded, built-in, undefined or with a breakpoint; the return of a
//! process's first function, and of traced ones; where a hibernating process wakes.

use crate::code::decoded;
use crate::instr::Op;
use crate::machine::Machine;
use crate::tiers;
use myriad_code::Entry;
use myriad_process::CodePtr;
use myriad_sync::atomic::AtomicPtr;
use myriad_vm::code::{Continuation, Function};

/// Words of each stub: an opcode, and room for operands that are zero.
const WORDS: usize = 4;

#[repr(align(16))]
struct Stub([u32; WORDS]);

const fn stub(op: Op) -> Stub {
    let mut words = [0; WORDS];
    words[0] = op as u32;
    Stub(words)
}

static UNDECODED: Stub = stub(Op::Undecoded);
static BUILT_IN: Stub = stub(Op::BuiltInEntry);
static UNDEFINED: Stub = stub(Op::UndefinedEntry);
static HIBERNATING: Stub = stub(Op::Hibernating);
static BREAKPOINT: Stub = stub(Op::Breakpoint);

/// The stub that consists of this instruction.
pub fn code_of(op: Op) -> *const u32 {
    let stub = match op {
        Op::Breakpoint => &BREAKPOINT,
        Op::BuiltInEntry => &BUILT_IN,
        Op::UndefinedEntry => &UNDEFINED,
        Op::Bottom => return Continuation::code(RETURN.record()).0,
        Op::Hibernating => &HIBERNATING,
        _ => &UNDECODED,
    };
    stub.0.as_ptr()
}

/// A return point that belongs to no function, and the instruction there (code/K2).
#[repr(C)]
pub struct ReturnPoint {
    record: Continuation,
    code: Stub,
}
// SAFETY: it never changes.
unsafe impl Sync for ReturnPoint {}

impl ReturnPoint {
    /// Returns to `op`, which has `frame` words.
    pub const fn to(op: Op, frame: u32) -> ReturnPoint {
        let native = AtomicPtr::new(tiers::RETURN.0.cast_mut());
        ReturnPoint {
            record: Continuation { native, function: std::ptr::null(), line: 0, frame, call: 0 },
            code: stub(op),
        }
    }

    /// Its record, as it stands on the stack.
    pub fn record(&'static self) -> *const Continuation {
        std::ptr::from_ref(self).cast()
    }

    /// Is this word its record?
    pub fn is(&'static self, word: u64) -> bool {
        word == self.record() as u64
    }
}

/// The return point of a process's first function: stack walks end there.
static RETURN: ReturnPoint = ReturnPoint::to(Op::Bottom, 0);

/// Puts the return point of the first function on the empty stack.
pub fn push_bottom(m: &mut Machine<'_, '_>) {
    // SAFETY: the stack is empty and the heap keeps RESERVED words.
    unsafe { m.push(RETURN.record()) };
}

/// Is this word the return point of a process's first function, or of a frame of tracing?
pub fn is_return(word: u64) -> bool {
    RETURN.is(word) || is_traced_return(word)
}

/// Words of a frame that tells what a call returns, without the return point.
pub const RETURN_WORDS: usize = 4;

/// Where a traced call returns to whose return is told.
pub static RETURN_TRACE: ReturnPoint = ReturnPoint::to(Op::ReturnTrace, RETURN_WORDS as u32);
/// Where one returns to of which an exception is told too.
pub static EXCEPTION_TRACE: ReturnPoint = ReturnPoint::to(Op::ExceptionTrace, RETURN_WORDS as u32);
/// Where one returns to of which the function returned to is told.
pub static RETURN_TO: ReturnPoint = ReturnPoint::to(Op::ReturnTo, 0);
/// Where one returns to whose time counts.
pub static RETURN_TIME: ReturnPoint = ReturnPoint::to(Op::ReturnTime, 1);

/// Is this word the return point of a frame of tracing?
pub fn is_traced_return(word: u64) -> bool {
    [&RETURN_TRACE, &EXCEPTION_TRACE, &RETURN_TO, &RETURN_TIME].iter().any(|point| point.is(word))
}

/// The entry of functions that begin with this stub.
pub fn entry(op: Op) -> Entry {
    Entry { tier0: CodePtr(code_of(op)), native: tiers::CALL }
}

/// Where a call goes on in tier 0 that has passed a breakpoint of the function.
pub fn behind_breakpoint(function: &Function) -> CodePtr {
    match decoded(function) {
        Some(code) if function.bif().is_none() => code.begin_behind_breakpoint(),
        _ => entry_behind(function).tier0,
    }
}

/// The entry of a function without its breakpoint.
pub fn entry_behind(function: &Function) -> Entry {
    if function.bif().is_some() {
        return entry(Op::BuiltInEntry);
    }
    decoded(function).map_or(entry(Op::Undecoded), |code| code.begin())
}
