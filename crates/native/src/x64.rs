//! The back end for x86-64: Cranelift as it is, and edits that take the frames out of what it makes.
//!
//! # At the borders
//! Trampolines and everything else that is written by hand rely on this table and on the constants below it.
//!
//! | where | rsp | stack pointer of Erlang | X registers | besides |
//! | --- | --- | --- | --- | --- |
//! | entry | 0 mod 16, [`SPILL_AREA`] bytes from it upwards free | rdi | X0 rsi, X1 rdx, X2 rcx, X3 r8, X4 r9 | |
//! | `End::Tail`, `End::Call` go to their target as to an entry | the same | rdi | as many as given | |
//! | `End::Visit` goes to its target | the same | rdi | | rsi the word |
//! | `End::Return` goes to the record's first word | the same | rax, one word above the record's address | X0 rdx | rcx the address of the record |
//! | point: where a call, a visit or whoever handles an exception goes on | the same | rax | X0 rdx | |
//! | `Op::Leaf` | a call by the convention for C, rsp 0 mod 16 at the call instruction | | | |
//! | `Op::RareLeaf` | the same, of a function that keeps all registers, those for floats as far as doubles need them | | | |
//!
//! r15 is the register block everywhere; no code writes it. ebp is the counter everywhere, and the upper half of rbp anything. No other register keeps its
//! value over a border. All ways out are indirect jumps through a register or a record; nothing is pushed, so whoever wants
//! to leave from anywhere loads rsp with what the trampoline has kept.
//!
//! # How
//! Cranelift knows no function without a frame, and no address of a block. But a handler of exceptions is a block with an address. So all points are
//! handlers of one call that is never made, the *door*: it stands behind a test of the first parameter for 0, which is skipped. There nothing lives but
//! what a handler is given, in rax and rdx, by Cranelift's own rules. All ends that leave the function are tail calls or returns. What is left to edit
//! ([`edit`]), each time without changing the length:
//!
//! 1. the entry is behind the prologue (and the test);
//! 2. the jump of a tail call moves up over the epilogue before it;
//! 3. a return becomes `jmp [rcx]`, over its epilogue, too;
//! 4. checks for overflow branch on the processor's flag ([`flags`]);
//! 5. reads and writes of the counter become moves from and to its register ([`counter`]).
//!
//! Then rsp is a constant in all code, and what Cranelift spills goes to one area that all functions share, since nothing spilled lives over a border.
//! The result is decoded once more and has to keep native/B1 to B4 ([`check`]); if anything is unexpected the form is compiled again without
//! optimising, and after that refused.

mod check;
mod counter;
mod decode;
mod edit;
mod flags;
mod generator;
mod heat;
mod liveness;
mod marks;
mod text;
mod translate;

use crate::caught::caught;
use crate::code::{Code, Options, Refused};
use crate::form::Form;

pub(crate) use text::instructions;

/// Bytes of the native stack, from rsp upwards, that all code shares for what it spills.
pub const SPILL_AREA: u32 = 4096;

/// What the address of an entry is a multiple of.
pub const ENTRY_ALIGN: usize = 16;

pub(crate) use generator::features;

/// Code for a form that keeps its rules.
pub(crate) fn compile(form: &Form, options: &Options) -> Result<Code, Refused> {
    let generate = |optimise| {
        let made = caught(|| generator::generate(form, optimise, options.check));
        made.unwrap_or_else(|said| Err(Refused::Panicked(said)))
    };
    if !options.optimise {
        return generate(false);
    }
    match generate(true) {
        Err(declined @ (Refused::Unexpected(_) | Refused::Generator(_) | Refused::Panicked(_))) => {
            let code = generate(false)?;
            Ok(Code { declined: Some(declined), ..code })
        }
        result => result,
    }
}
