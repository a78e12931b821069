//! Walking iodata: nested lists of bytes and binaries.

use myriad_term::memory::{self, Demand};
use myriad_term::{BinaryBuffer, Bits, Kind, Term};
use myriad_vm::bif::{Escape, badarg};

/// Bytes from lists are handed on in runs of this length.
const RUN: usize = 256;
/// A binary of no more bytes may come in a run with bytes from lists.
const SHORT: usize = 32;
/// What bytes are gathered in: room for one more short binary, copied by whole words, while a run is not full.
type Run = [u8; RUN + SHORT];
/// Bytes of a binary that are worth a cell of a list.
const BYTES_PER_STEP: usize = 32;

/// What gets the bytes of iodata.
pub trait Sink {
    /// Does it take bit strings that are no binaries?
    const BITS: bool = false;
    /// Are the bytes of a binary to it what bytes in lists are, so that short ones may come together?
    const MIXES: bool = false;

    /// Bytes that stood in lists.
    fn bytes(&mut self, run: &[u8]);

    /// A binary, or a part of one.
    fn binary(&mut self, bits: Bits<'_>) {
        self.bytes(&bits.to_bytes());
    }
}

impl Sink for BinaryBuffer {
    const MIXES: bool = true;

    #[inline]
    fn bytes(&mut self, run: &[u8]) {
        self.extend_from_slice(run);
    }
}

/// A function that gets all bytes.
struct Each<F>(F);

impl<F: FnMut(&[u8])> Sink for Each<F> {
    const MIXES: bool = true;

    fn bytes(&mut self, run: &[u8]) {
        (self.0)(run);
    }
}

/// A walk that may stop on the way.
#[derive(Clone)]
pub struct Walk {
    at: Term,
    /// Tails of lists that are to be walked later.
    left: Vec<Term>,
    /// Bits of the binary at hand that have been handed on.
    done: usize,
}

impl Walk {
    /// From the beginning.
    pub fn new(data: Term) -> Walk {
        Walk { at: data, left: Vec::new(), done: 0 }
    }

    /// Hands on what the budget of cells allows: `true` once there is no more. `badarg` if the term is no iodata; the sink may have
    /// got some of it then.
    pub fn run<S: Sink>(&mut self, sink: &mut S, budget: &mut usize) -> Result<bool, Escape> {
        let mut run = [0; RUN + SHORT];
        loop {
            if self.at.is_cons() {
                self.cells(&mut run, sink, budget)?;
                if self.at.is_cons() {
                    return Ok(false);
                }
            }
            let at = self.at;
            if let Some(bits) = at.as_bits() {
                if !self.binary(bits, sink, budget)? {
                    return Ok(false);
                }
            } else if !self.at.is_nil() {
                return badarg();
            }
            match self.left.pop() {
                Some(tail) => self.at = tail,
                None => return Ok(true),
            }
            if *budget == 0 {
                return Ok(false);
            }
        }
    }

    /// Adds up bytes as far as the budget of cells allows; bit strings too, where they are welcome, count as their whole bytes.
    /// `true` once there is no more; `badarg` if the term is no iodata.
    #[inline]
    pub fn count<const BITS: bool>(&mut self, bytes: &mut usize, budget: &mut usize) -> Result<bool, Escape> {
        let (mut at, mut count, mut cells) = (self.at, *bytes, *budget);
        let done = 'all: loop {
            while let Some((head, tail)) = at.as_cons() {
                if cells == 0 {
                    break 'all false;
                }
                cells -= 1;
                if let Some(byte) = head.as_small() {
                    if u8::try_from(byte).is_err() {
                        return badarg();
                    }
                    count += 1;
                    at = tail;
                } else if head.is_list() {
                    if !tail.is_nil() {
                        self.left.push(tail);
                    }
                    at = head;
                } else {
                    count += size_of::<BITS>(head)?;
                    at = tail;
                }
            }
            if !at.is_nil() {
                count += size_of::<BITS>(at)?;
            }
            match self.left.pop() {
                Some(tail) => at = tail,
                None => break true,
            }
        };
        (self.at, *bytes, *budget) = (at, count, cells);
        Ok(done)
    }

    /// Cells from here on, up to something else or as far as the budget goes.
    #[inline]
    fn cells<S: Sink>(&mut self, run: &mut Run, sink: &mut S, budget: &mut usize) -> Result<(), Escape> {
        let (mut len, mut at, mut left) = (0, self.at, *budget);
        while let Some((head, tail)) = at.as_cons() {
            if left == 0 {
                break;
            }
            left -= 1;
            if let Some(byte) = head.as_small() {
                let Ok(byte) = u8::try_from(byte) else { return badarg() };
                run[len] = byte;
                len += 1;
                if len >= RUN {
                    sink.bytes(&run[..len]);
                    len = 0;
                }
                // What is no list here must be a binary: a byte cannot be a tail.
                at = tail;
            } else if S::MIXES
                && let Some(more) = copy_short(head, &mut run[len..])
            {
                len += more;
                if len >= RUN {
                    sink.bytes(&run[..len]);
                    len = 0;
                }
                at = tail;
            } else {
                self.left.push(tail);
                at = head;
                if !at.is_cons() {
                    break;
                }
            }
        }
        if len > 0 {
            sink.bytes(&run[..len]);
        }
        self.at = at;
        *budget = left;
        Ok(())
    }

    /// The binary at hand, or so much of it as the budget allows; is it done with?
    fn binary<S: Sink>(&mut self, bits: Bits<'_>, sink: &mut S, budget: &mut usize) -> Result<bool, Escape> {
        if !S::BITS && !bits.is_binary() {
            return badarg();
        }
        if self.done == 0 && bits.len() <= 8 * RUN {
            *budget = budget.saturating_sub(bits.len() / (8 * BYTES_PER_STEP));
            sink.binary(bits);
            return Ok(true);
        }
        let left = bits.len() - self.done;
        let most = (*budget).max(RUN).saturating_mul(8 * BYTES_PER_STEP);
        if left > most {
            if let Some(part) = bits.part(self.done, most) {
                sink.binary(part);
            }
            self.done += most;
            *budget = 0;
            return Ok(false);
        }
        if let Some(part) = bits.part(self.done, left) {
            sink.binary(part);
        }
        *budget = budget.saturating_sub(left / (8 * BYTES_PER_STEP));
        self.done = 0;
        Ok(true)
    }
}

/// Copies a short binary of a heap to where there is room for [`SHORT`] bytes, by whole words; its bytes.
#[inline(always)]
fn copy_short(term: Term, to: &mut [u8]) -> Option<usize> {
    let object = term.as_boxed()?;
    if object.kind() != Kind::HeapBinary {
        return None;
    }
    let bits = object.word(0) as usize;
    if bits > 8 * SHORT || !bits.is_multiple_of(8) {
        return None;
    }
    let (words, _) = to.get_mut(..SHORT)?.as_chunks_mut::<8>();
    for (i, word) in words.iter_mut().enumerate().take(bits.div_ceil(64)) {
        // The padding to a whole word is part of the object.
        *word = object.word(1 + i).to_ne_bytes();
    }
    Some(bits / 8)
}

/// Bytes of a binary, or of a bit string where those are welcome; `badarg` if the term is none.
#[inline]
fn size_of<const BITS: bool>(term: Term) -> Result<usize, Escape> {
    match term.binary_parts() {
        Some((_, _, bits)) if BITS || bits.is_multiple_of(8) => Ok(bits.div_ceil(8)),
        _ => badarg(),
    }
}

/// What gathers all bytes, in room that is taken once if there is more than one slice's work: growing would copy them.
pub struct Gathering<S> {
    walk: Walk,
    /// What gathers.
    pub sink: S,
    /// The bytes to come, while they are counted.
    size: Option<(Walk, usize)>,
    roomy: bool,
}

impl<S: Sink + AsMut<BinaryBuffer>> Gathering<S> {
    /// Of these data.
    pub fn new(data: Term, sink: S) -> Gathering<S> {
        Gathering { walk: Walk::new(data), sink, size: None, roomy: false }
    }

    /// As [`Walk::run`].
    pub fn run(&mut self, budget: &mut usize) -> Result<bool, Escape> {
        if let Some((walk, size)) = &mut self.size {
            if !walk.count::<true>(size, budget)? {
                return Ok(false);
            }
            let gathered = self.sink.as_mut();
            memory::require(memory::BINARY, Demand::new(gathered.len().saturating_add(*size)));
            gathered.reserve_exact(*size + 1);
            self.size = None;
            self.roomy = true;
        }
        let done = self.walk.run(&mut self.sink, budget)?;
        if !done && !self.roomy {
            self.size = Some((self.walk.clone(), 0));
        }
        Ok(done)
    }
}

/// Gives the bytes of iodata to `f`, run by run. `badarg` if it is none; `f` may have got some bytes then.
pub fn each_run(data: Term, f: impl FnMut(&[u8])) -> Result<(), Escape> {
    let mut no_limit = usize::MAX;
    Walk::new(data).run(&mut Each(f), &mut no_limit).map(|_| ())
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
