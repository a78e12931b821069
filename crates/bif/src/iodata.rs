//! Walking iodata: nested lists of bytes and binaries.

use myriad_term::Term;
use myriad_vm::bif::{Escape, badarg};

/// Bytes from lists are handed on in runs of this length.
const RUN: usize = 256;

/// Gives the bytes of iodata to `f`, run by run. `badarg` if it is none; `f` may have got some bytes then.
pub fn each_run(data: Term, mut f: impl FnMut(&[u8])) -> Result<(), Escape> {
    let mut run = [0u8; RUN];
    let mut len = 0;
    // Tails of lists that are to be walked later.
    let mut left: Vec<Term> = Vec::new();
    let mut at = data;
    loop {
        if let Some((head, tail)) = at.as_cons() {
            if let Some(byte) = head.as_small() {
                let Ok(byte) = u8::try_from(byte) else { return badarg() };
                run[len] = byte;
                len += 1;
                if len == RUN {
                    f(&run);
                    len = 0;
                }
                at = tail;
                if at.is_cons() {
                    continue;
                }
            } else {
                left.push(tail);
                at = head;
                if !at.is_cons() && !at.is_nil() && at.as_bits().is_none() {
                    return badarg();
                }
                continue;
            }
        }
        if let Some(bits) = at.as_bits() {
            if !bits.is_binary() {
                return badarg();
            }
            if len > 0 {
                f(&run[..len]);
                len = 0;
            }
            f(&bits.to_bytes());
        } else if !at.is_nil() {
            return badarg();
        }
        match left.pop() {
            Some(tail) => at = tail,
            None => break,
        }
    }
    if len > 0 {
        f(&run[..len]);
    }
    Ok(())
}

/// Has the iodata more than `limit` bytes and cells? Looks at no more than that many.
pub fn is_longer(data: Term, limit: usize) -> bool {
    let mut count = 0;
    let mut left = vec![data];
    while let Some(mut at) = left.pop() {
        loop {
            if count > limit {
                return true;
            }
            let Some((head, tail)) = at.as_cons() else { break };
            count += 1;
            if !head.is_immediate() {
                left.push(head);
            }
            at = tail;
        }
        count += at.as_bits().map_or(0, |bits| bits.len() / 8);
    }
    count > limit
}
