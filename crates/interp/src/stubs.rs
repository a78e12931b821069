//! Code that belongs to no function: entries of functions not decoded, built-in, undefined or with a breakpoint; the return of a
//! process's first function, and of traced ones; where a hibernating process wakes.

use crate::code::no_native;
use crate::instr::Op;
use crate::machine::Machine;
use myriad_vm::code::{CodePtr, Continuation};

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
static BOTTOM: Stub = stub(Op::Bottom);
static HIBERNATING: Stub = stub(Op::Hibernating);
static BREAKPOINT: Stub = stub(Op::Breakpoint);
static RETURN_TRACE: Stub = stub(Op::ReturnTrace);
static EXCEPTION_TRACE: Stub = stub(Op::ExceptionTrace);
static RETURN_TO: Stub = stub(Op::ReturnTo);
static RETURN_TIME: Stub = stub(Op::ReturnTime);

/// The stub that consists of this instruction.
pub fn code_of(op: Op) -> *const u32 {
    static_code(op)
}

/// The same for statics.
pub const fn static_code(op: Op) -> *const u32 {
    let stub = match op {
        Op::Breakpoint => &BREAKPOINT,
        Op::ReturnTrace => &RETURN_TRACE,
        Op::ExceptionTrace => &EXCEPTION_TRACE,
        Op::ReturnTo => &RETURN_TO,
        Op::ReturnTime => &RETURN_TIME,
        Op::BuiltInEntry => &BUILT_IN,
        Op::UndefinedEntry => &UNDEFINED,
        Op::Bottom => &BOTTOM,
        Op::Hibernating => &HIBERNATING,
        _ => &UNDECODED,
    };
    stub.0.as_ptr()
}

struct Record(Continuation);
// SAFETY: it never changes.
unsafe impl Sync for Record {}

/// The return point of a process's first function: it belongs to no function, and stack walks end there.
static RETURN: Record = Record(Continuation {
    pc: CodePtr(BOTTOM.0.as_ptr()),
    native: no_native(),
    function: std::ptr::null(),
    line: 0,
    frame: 0,
});

/// Puts the return point of the first function on the empty stack.
pub fn push_bottom(m: &mut Machine<'_, '_>) {
    // SAFETY: the stack is empty and the heap keeps RESERVED words.
    unsafe { m.push(&RETURN.0) };
}

/// Is this word the return point of a process's first function, or of a frame of tracing?
pub fn is_return(word: u64) -> bool {
    word == &raw const RETURN.0 as u64 || crate::trace::is_record(word)
}
