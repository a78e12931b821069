//! What the instructions of compilers before OTP 25 build, one segment at a time: between two of them the machine keeps it.

use myriad_term::Term;

/// The binary that `bs_put_*` instructions fill. Where its data are counts until the next collection.
pub struct Target {
    binary: Term,
    data: *mut u8,
    at: usize,
    end: usize,
    collections: u64,
}

impl Target {
    /// None.
    pub const fn none() -> Target {
        Target { binary: Term::NONE, data: std::ptr::null_mut(), at: 0, end: 0, collections: 0 }
    }

    /// This one, from bit `at` to bit `end` of its data, after so many collections of the heap.
    pub fn of(binary: Term, at: usize, end: usize, collections: u64) -> Target {
        Target { binary, data: data_of(binary), at, end, collections }
    }

    /// The binary, where it is filled and where it ends, if there is one and no more than so many collections have been.
    pub fn parts(&self, collections: u64) -> Option<(Term, usize, usize)> {
        (self.binary.is_some() && self.collections == collections).then_some((self.binary, self.at, self.end))
    }

    /// All its bytes.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        if self.data.is_null() {
            return &mut [];
        }
        // SAFETY: set by the instruction that made the binary, to memory of `end` bits which nobody else looks at yet.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.end.div_ceil(8)) }
    }

    /// Takes the next `n` bits, if there are so many and no more than so many collections have been: where they begin.
    pub(super) fn reserve(&mut self, n: usize, collections: u64) -> Option<usize> {
        if self.collections != collections {
            return None;
        }
        let at = self.at;
        let end = at.checked_add(n)?;
        if end > self.end {
            return None;
        }
        self.at = end;
        Some(at)
    }
}

/// Where the bytes of a bit string that is being built are now.
fn data_of(term: Term) -> *mut u8 {
    let Some((whole, ..)) = term.binary_parts() else { return std::ptr::null_mut() };
    whole.as_boxed().map_or(std::ptr::null_mut(), |object| object.whole_bytes().as_ptr().cast_mut())
}
