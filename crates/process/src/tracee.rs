//! The flags and the tracer of one process or port.
//!
//! Any thread reads them at any time; they change under the lock of tracing alone (trace/R2). Flags and tracer are two words: a thread
//! that reads them while they change may see new flags with the old tracer, as if the event had come a moment earlier.

use myriad_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use myriad_term::{Term, TermRef};

/// The flag of a process of which nothing is traced. All others are the tracing's own.
pub const SENSITIVE: u32 = 1 << 31;

/// The flags and the tracer.
#[derive(Default)]
pub struct Tracee {
    flags: AtomicU32,
    /// A tracer's word, or 0.
    tracer: AtomicU64,
}

impl Tracee {
    /// The flags, [`SENSITIVE`] among them.
    #[inline(always)]
    pub fn flags(&self) -> u32 {
        // Relaxed: a flag that another thread sets counts from the next event on; `erlang:trace/3` on one's own thread is seen at once.
        self.flags.load(Ordering::Relaxed)
    }

    /// Is one of these set, and may the tracee be traced?
    #[inline(always)]
    pub fn wants(&self, mask: u32) -> bool {
        let flags = self.flags();
        flags & mask != 0 && flags & SENSITIVE == 0
    }

    /// The word of the tracer, if there is one: a local pid or port, or the number of a tracer module (trace.tracers/TN1).
    pub fn tracer(&self) -> Option<Term> {
        // Acquire: pairs with the Release in `set`.
        let word = self.tracer.load(Ordering::Acquire);
        // SAFETY: only `set` stores here: an immediate term, or 0.
        (word != 0).then(|| unsafe { Term::from_raw(word) })
    }

    /// Sets flags and tracer (trace/R2). Without flags there is no tracer.
    pub fn set(&self, flags: u32, tracer: Option<Term>) {
        let tracer = if flags & !SENSITIVE == 0 { None } else { tracer };
        let flags = if tracer.is_none() { 0 } else { flags & !SENSITIVE };
        debug_assert!(tracer.is_none_or(TermRef::is_immediate), "a tracer is a word that no collection moves");
        // Release: pairs with the Acquire in `tracer`; the tracer is there before the flags are.
        self.tracer.store(tracer.map_or(0, Term::raw), Ordering::Release);
        let mut seen = self.flags();
        // A read-modify-write, because the owner may become sensitive at the same time.
        while let Err(now) =
            self.flags.compare_exchange_weak(seen, flags | seen & SENSITIVE, Ordering::Release, Ordering::Relaxed)
        {
            seen = now;
        }
    }

    /// The tracee is sensitive from now on, or no longer. Only its owner says so.
    pub fn set_sensitive(&self, sensitive: bool) {
        if sensitive {
            self.flags.fetch_or(SENSITIVE, Ordering::Relaxed);
        } else {
            self.flags.fetch_and(!SENSITIVE, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::Pid;

    const CALL: u32 = 1 << 14;
    const SEND: u32 = 1 << 17;
    const ARITY: u32 = 1 << 6;

    #[test]
    fn without_flags_or_tracer_there_is_neither() {
        let tracer = Some(Pid::new(7, 0).term());
        let t = Tracee::default();
        t.set(CALL, None);
        assert!(!t.wants(CALL));
        t.set(CALL | ARITY, tracer);
        assert!(t.wants(CALL) && !t.wants(SEND));
        t.set_sensitive(true);
        assert!(!t.wants(CALL));
        t.set(0, tracer);
        assert_eq!((t.flags(), t.tracer().is_none()), (SENSITIVE, true));
    }
}
