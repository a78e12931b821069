//! Work that this thread has done, by kinds: what a simulator charges virtual time for (Zhang 2011, 5.2).
//!
//! Plain counters of the thread, in builds with the feature `costs` only: in all others [`count`] is nothing. What a unit of each kind takes is
//! the simulated machine's concern (crate `sim`).

/// Calls a macro with all kinds of work: name, key in the file of a machine, and what a unit is.
macro_rules! for_each_work {
    ($then:ident) => { $then! {
        Move "move_ns" "An instruction of tier 0 that moves terms between registers.";
        Test "test_ns" "A test, a selection or a jump.";
        Call "call_ns" "A call or return, with the moves that the instruction does on the way.";
        Step "step_of_loop_ns" "A step of a loop that the VM knows, such as that of `lists:foldl/3`.";
        General "general_ns" "A look which kind of register an operand is, beside the instruction's own work.";
        Frame "frame_ns" "A frame made or left, or a look whether there is room.";
        Integer "integer_ns" "Arithmetic of small integers.";
        Division "division_ns" "A division or remainder of small integers.";
        Float "float_ns" "Arithmetic of floats in float registers.";
        FloatDivision "float_division_ns" "A division of floats.";
        Unboxing "unboxing_ns" "A float or integer that goes from a term to a float register.";
        Boxing "boxing_ns" "A float that goes from a float register to a term.";
        BoxedFloat "boxed_float_ns" "Such a float of a size that takes memory.";
        Build "build_ns" "A list cell, tuple or fun that is built.";
        Take "take_ns" "An element or two of a list or tuple that are read.";
        Map "map_ns" "An instruction that reads maps, or makes one.";
        MapUpdate "map_update_ns" "An instruction that updates a map.";
        Bits "bits_ns" "An instruction on bit strings.";
        Receive "receive_ns" "An instruction of `receive`.";
        Compare "compare_ns" "A comparison of terms other than two small integers.";
        OutOfLine "out_of_line_ns" "Any other instruction: guard built-ins, exceptions, `apply`.";
        Untyped "untyped_float_ns" "Arithmetic of floats by an instruction for integers, as the compiler did not know their type.";
        Big "big_ns" "Arithmetic of large integers, or of integers and floats.";
        BuiltIn "built_in_ns" "A call of a built-in function, apart from its reductions.";
        BuiltInReduction "built_in_reduction_ns" "A reduction that a built-in charges for its work.";
        ListReduction "list_reduction_ns" "The same of those of `lists`, but for sorting.";
        Comparison "comparison_ns" "A comparison of two elements when a list is sorted by a built-in.";
        EtsReduction "ets_reduction_ns" "The same of those of `ets`.";
        Ets "ets_ns" "A call of a built-in of `ets`, beside being one of a built-in.";
        Slice "slice_ns" "The beginning and end of a slice.";
        Message "message_ns" "A message, sent, queued and received, apart from its words.";
        Copy "copy_ns" "A copy of a term that takes memory, made for a message.";
        CopiedWord "copied_word_ns" "A word of a message that is copied.";
        Cold "cold_message_ns" "A message that comes while so many are on their way that no near cache holds them.";
        Allocated "allocated_word_ns" "A word of a heap that has been used up, when it is collected.";
        Collection "collection_ns" "A collection, apart from the words that it moves.";
        CollectedWord "collected_word_ns" "A word that a collection moves.";
        Process "process_ns" "A process that is made, and its end.";
        Signal "signal_ns" "A signal other than a message that is handled.";
        Timer "timer_ns" "A timer that is set.";
    } };
}

macro_rules! define {
    ($($name:ident $key:literal $meaning:literal;)*) => {
        /// A kind of work.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Work {
            $(#[doc = $meaning] $name,)*
        }

        impl Work {
            /// All kinds, in their order.
            pub const ALL: [Work; [$($key,)*].len()] = [$(Work::$name,)*];

            /// The key of what a unit takes, in the file of a machine.
            pub const fn key(self) -> &'static str {
                match self { $(Work::$name => $key,)* }
            }

            /// What a unit is.
            pub const fn meaning(self) -> &'static str {
                match self { $(Work::$name => $meaning,)* }
            }
        }
    };
}
for_each_work!(define);

/// Units of each kind, in the order of [`Work::ALL`].
pub type Counts = [u64; Work::ALL.len()];

/// So many small messages are held by the second-level cache of a core (1 MiB).
#[cfg(feature = "costs")]
const CACHED_MESSAGES: u64 = 8192;

/// No work.
pub const NOTHING: Counts = [0; Work::ALL.len()];

#[cfg(feature = "costs")]
mod counters {
    use super::{Counts, Work};
    use std::cell::Cell;

    thread_local! {
        static DONE: [Cell<u64>; Work::ALL.len()] = const { [const { Cell::new(0) }; Work::ALL.len()] };
    }

    /// Does this build count?
    pub const COUNTS: bool = true;

    /// This thread does so many units of a kind of work.
    #[inline(always)]
    pub fn count(work: Work, units: u64) {
        DONE.with(|done| done[work as usize].set(done[work as usize].get() + units));
    }

    thread_local! {
        static ON_THEIR_WAY: Cell<u64> = const { Cell::new(0) };
    }

    /// A message is made.
    #[inline(always)]
    pub(crate) fn message_made() {
        count(Work::Message, 1);
        ON_THEIR_WAY.set(ON_THEIR_WAY.get() + 1);
    }

    /// A message has come to its receiver, or is dropped.
    #[inline(always)]
    pub(crate) fn message_came() {
        let left = ON_THEIR_WAY.get();
        count(Work::Cold, u64::from(left > super::CACHED_MESSAGES));
        ON_THEIR_WAY.set(left.saturating_sub(1));
    }

    /// What this thread has done since it last asked.
    pub fn take() -> Counts {
        DONE.with(|done| std::array::from_fn(|work| done[work].take()))
    }
}

#[cfg(not(feature = "costs"))]
mod counters {
    use super::{Counts, Work};

    /// Does this build count?
    pub const COUNTS: bool = false;

    /// This thread does so many units of a kind of work, which this build does not count.
    #[inline(always)]
    pub fn count(_work: Work, _units: u64) {}

    #[inline(always)]
    pub(crate) fn message_made() {}

    #[inline(always)]
    pub(crate) fn message_came() {}

    /// Nothing: this build does not count.
    pub fn take() -> Counts {
        super::NOTHING
    }
}
pub use counters::{COUNTS, count, take};
pub(crate) use counters::{message_came, message_made};
