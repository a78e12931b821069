//! The instruction set of tier 0: one table, from which come the opcodes, their names, the disassembler's formats, and
//! for those that run out of line their functions.
//!
//! Code is a run of 32-bit words. The first word of an instruction has the opcode in its low half and a first operand in
//! the high half; the format says what follows:
//!
//! | letter | operand |
//! | --- | --- |
//! | `r` | (high half) register: byte offset in its file, bit 0 set for Y registers |
//! | `n` `-` | (high half) a number; nothing |
//! | `p` | a word with two registers, low half first |
//! | `q` | a word with a register and a number |
//! | `R` `P` `Q` | the same, of registers that are written |
//! | `m` | a word with a register that is read and one that is written |
//! | `b` `B` | as `r` and `q`, of registers that are read and written |
//! | `s` | source: a register, or with bit 1 set the distance in bytes to a constant of the function |
//! | `j` `f` | distance in bytes, from this word, of a label (0 = none) or of a continuation record (in a `ReturnRecord`) |
//! | `k` | a term whose word is this number sign-extended: small integers, atoms, nil |
//! | `u` | a number |
//! | `w` | two words: an address (function, export, fun entry, built-in) |
//! | `c` | two words: a term |
//! | `*` | what follows depends on the instruction |
//!
//! Registers of both files are addressed without a branch: the base is selected by bit 0. Other versions of most
//! instructions do not look ([`X_ONLY`]).

use crate::machine::Machine;

/// An instruction out of line: gets its own address, returns the next (null: the slice ends, and [`Machine::end`] says how).
///
/// # Safety
/// It is called with the address of an instruction of its own, which the decoder has made, in code that the process of the
/// machine runs; interp/MA1 holds, and it sees to it that interp/MA1 and the frame are as the next instruction expects.
pub type SlowOp = unsafe fn(&mut Machine<'_, '_>, *const u32) -> *const u32;

/// Added to the opcode of an instruction of which all registers are X registers: most instructions have versions that need not
/// look which file a register is of, which is a third of the work of a small one.
pub const X_ONLY: u16 = STEP;
/// The same where those that it reads are X registers.
pub const FROM_X: u16 = 2 * STEP;
/// The same where those that it reads are Y registers, those that it writes X registers.
pub const FROM_Y: u16 = 3 * STEP;
/// The same where those that it reads are X registers, those that it writes Y registers.
pub const TO_Y: u16 = 4 * STEP;
/// How many versions there are, the general one among them.
pub const VERSIONS: usize = 5;
/// What the opcodes of one version are apart from those of the next: a power of two, for [`Op::of`].
pub const STEP: u16 = 512;
const _: () = assert!(Op::COUNT <= STEP);

/// Files that the registers of a version's operands are of: either, X, Y.
pub const ANY: u8 = 0;
/// X registers.
pub const X: u8 = 1;
/// Y registers.
pub const Y: u8 = 2;

/// Calls a macro with the whole instruction set: those with code of their own, `either` of which has versions by the files
/// of its registers ([`X_ONLY`]), then those out of line.
macro_rules! for_each_instruction {
    ($then:ident) => { $then! {
        hot {
            // moves
            MoveXX "rq" MoveXY "rq" MoveYX "rq" SwapXY "rq" MoveKX "rk" MoveKY "rk"
            // calls
            Call "-fw" CallLast "nw" CallOnly "-w" CallExt "-fw" CallExtLast "nw" CallExtOnly "-w"
            TrimCall "nfw" SwapXYCall "rqfw"
            Return "-" MoveKReturn "-k" MoveCReturn "-c"
            Deallocate "n" DeallocateReturn "n" Trim "n"
            Jump "-j"
            // room
            Allocate0 "nu" Allocate1 "nu" Allocate2 "nu" Allocate3 "nu" Allocate "nuu" TestHeap "nu"
            InitY "rn" AllocateMove1 "nuup" AllocateMove2 "nuupp" AllocateMove3 "nuuppp"
            AllocateMoveCall "nuupfw"
            // floats
            FMove "nn" FAdd "nnj" FSub "nnj" FMul "nnj" FDiv "nnj" FNegate "nn"
            // exceptions
            Try "rf" TryEnd "r" TryCase "r"
            // maps
            GetPlainElements "-sju*"
            // loop intrinsics
            EnterLoop "nuuwj"
            FirstChar "-wj" FirstCluster "-wj"
            EachStep "nfswj" FoldStep "nfswj" MapStep "nfswjf" FoldPairsStep "nfswjfw"
        }
        either {
            // moves
            MoveRR "Rq" MoveC "Rc" MoveRK "Rmk" MoveKK "RkQk" Move2 "Rmq" Move3 "Rmmq" Move4 "Rmmmq"
            Move5 "Rmmmmq" Move6 "Rmmmmmq" Swap "bB"
            // calls
            MoveCall "rfw" MoveCallLast "rnw" MoveCallOnly "rw" SwapCall "bBfw"
            MoveKCall "Rkfw" MoveKCallOnly "Rkw"
            MoveReturn "r"
            MoveDeallocateReturn "ru"
            // lists and tuples
            PutList "Rp" PutListS "Rss" GetList "rP" GetHd "rQ" GetTl "rQ"
            IsNonemptyList "rj" IsNonemptyGetList "rjP" IsNonemptyHeadIs "rjPjk" IsNil "rj" IsList "rj"
            GetElement "rQ" GetElement2 "rQQ" GetElement3 "rQQQ" GetElementFar "rQu"
            CheckedGetList "rP" CheckedGetHd "rQ" CheckedGetTl "rQ"
            CheckedGetElement "rQ" CheckedGetElement2 "rQQ" CheckedGetElement3 "rQQQ"
            IsTuple "rj" IsTupleOfArity "rju" IsTupleThenArity "rjju" IsTaggedTuple "rjuk" PutTuple "Ru*" SetElement "rsu"
            HeapPutList "nuQp" HeapPutListS "nuQss" HeapPutTuple "nuQ*" HeapPutListReturn "nuup" HeapPutTupleReturn "nuu*"
            // tests
            IsEqExact "rqj" IsEqExactK "rjk" IsNeExact "rqj" IsNeExactK "rjk"
            IsLt "rqj" IsGe "rqj" IsLtRK "rjk" IsLtKR "rjk" IsGeRK "rjk" IsGeKR "rjk" IsBetween "rjkk" IsIntegerBetween "rjkk"
            IsInteger "rj" IsAtom "rj" IsFloat "rj" IsNumber "rj" IsMap "rj" IsBinary "rj" IsBitstring "rj" IsPid "rj"
            IsBoolean "rj" IsFunction "rj"
            // switches
            SelectTable "rju*" SelectLinear "rju*" SelectBinary "rju*" SelectArity "rju*"
            // arithmetic
            Add "Rssju" Subtract "Rssju" AddRegisters "Rssju" SubtractRegisters "Rssju" AddSmall "Rssjuk" Multiply "Rssju" Band "Rssju" Bor "Rssju" Bsr "Rssju"
            Div "Rssju" Rem "Rssju" Bsl "Rssju"
            // floats
            FMoveFromTerm "ns" FMoveToTerm "Rn" FConv "ns"
            // bit strings
            BsStart "Rsju" BsGetFixed "rQjuu" BsTestUnit "rju" BsTestTail "rju" BsGetPosition "rQu" BsSetPosition "rs"
            BsEnsureAtLeast "rjuu" BsEnsureExactly "rju" BsMatchInteger "rQuu"
            // funs
            CallFun "nfs" CallFunLast "nus"
            // guard built-ins
            Hd "Rwjus" Tl "Rwjus" TupleSize "Rwjus" MapSize "Rwjus" Element "Rwjuss" MapGet "Rwjuss"
            // maps
            NewMap "Ruuc*" GetPlainElement "Rsjk"
        }
        slow {
            Undecoded "-" crate::calls::undecoded
            BuiltInEntry "-" crate::bifs::entry
            UndefinedEntry "-" crate::calls::undefined
            Bottom "-" crate::calls::bottom
            Breakpoint "-" crate::trace::breakpoint
            ReturnTrace "-" crate::trace::return_trace
            ExceptionTrace "-" crate::trace::return_trace
            ReturnTo "-" crate::trace::return_to
            ReturnTime "-" crate::trace::return_time
            Failed "-" crate::errors::unreachable_code
            ReturnRecord "n*" crate::errors::unreachable_code
            FailLoading "-" crate::errors::not_decodable
            CallBif "nwf" crate::bifs::call
            CallBifLast "nwuf" crate::bifs::call_last
            TryIntrinsic "nww" crate::bifs::try_intrinsic
            FoldPairsNext "-wj" crate::loop_intrinsics::pairs_next
            Apply "nf" crate::calls::apply
            ApplyLast "nuf" crate::calls::apply_last
            ApplyList "nf" crate::calls::apply_list
            ApplyListLast "nuf" crate::calls::apply_list_last
            ApplyFunList "nf" crate::calls::apply_fun_list
            ApplyFunListLast "nu" crate::calls::apply_fun_list_last
            Hibernate "-" crate::receive::hibernate
            Hibernating "-u" crate::receive::hibernating
            LoopHead "n" crate::calls::loop_head
            YieldCall "nf" crate::calls::yield_call
            YieldLast "nu" crate::calls::yield_last
            GuardBif0 "rw" crate::guards::bif0
            GuardBif1 "rwjus" crate::guards::bif1
            GuardBif2 "rwjuss" crate::guards::bif2
            GuardBif3 "rwjusss" crate::guards::bif3
            ByteSize "rwjus" crate::guards::byte_size
            BitSize "rwjus" crate::guards::bit_size
            Length "rwjus" crate::guards::length
            IsMapKey "rwjuss" crate::guards::is_map_key
            SelfPid "r" crate::guards::self_pid
            NodeName "r" crate::guards::node_name
            IsEq "-ssj" crate::guards::is_eq
            IsNe "-ssj" crate::guards::is_ne
            IsEqExactS "-ssj" crate::guards::is_eq_exact
            IsNeExactS "-ssj" crate::guards::is_ne_exact
            IsLtS "-ssj" crate::guards::is_lt
            IsGeS "-ssj" crate::guards::is_ge
            IsReference "-sj" crate::guards::is_reference
            IsPort "-sj" crate::guards::is_port
            IsFunction2 "-ssj" crate::guards::is_function2
            SelectTerm "-sju*" crate::guards::select_term
            MakeFun "rwu*" crate::calls::make_fun
            FunctionClause "n" crate::errors::function_clause
            Badmatch "-s" crate::errors::badmatch
            CaseEnd "-s" crate::errors::case_end
            TryCaseEnd "-s" crate::errors::try_case_end
            IfEnd "-" crate::errors::if_end
            Badrecord "-s" crate::errors::badrecord
            Raise "-ss" crate::errors::raise
            RawRaise "-" crate::errors::raw_raise
            BuildStacktrace "-" crate::errors::build_stacktrace
            CheckedGetElementFar "rqu" crate::guards::element_far
            CheckedSetElement "rsu" crate::guards::set_element
            CatchEnd "r" crate::errors::catch_end
            RaiseUndef "-" crate::errors::undef
            LoopRec "-j" crate::receive::loop_rec
            LoopRecEnd "-j" crate::receive::loop_rec_end
            RemoveMessage "-" crate::receive::remove_message
            AdoptMessage "-" crate::receive::adopt_message
            Timeout "-" crate::receive::timeout
            Wait "-j" crate::receive::wait
            WaitTimeout "-js" crate::receive::wait_timeout
            MarkerReserve "r" crate::receive::marker_reserve
            MarkerBind "rq" crate::receive::marker_bind
            MarkerClear "r" crate::receive::marker_clear
            MarkerUse "r" crate::receive::marker_use
            OldMark "-" crate::receive::old_mark
            OldSet "-" crate::receive::old_set
            PutMapAssoc "rsuu*" crate::maps::put_assoc
            PutMapPlain "rsuu*" crate::maps::put_plain
            PutMapExact "rsjuu*" crate::maps::put_exact
            HasMapFields "-sju*" crate::maps::has_fields
            GetMapElements "-sju*" crate::maps::get_elements
            GetMapElement "rssj" crate::maps::get_element
            UpdateRecord "rsuu*" crate::maps::update_record
            BsGetInteger "rqjusu" crate::matching::get_integer
            BsGetFloat "rqjusu" crate::matching::get_float
            BsGetBinary "rqjusu" crate::matching::get_binary
            BsSkip "rjsu" crate::matching::skip
            BsMatchString "rjuw" crate::matching::match_string
            BsTestTailWide "rjw" crate::matching::test_tail_wide
            BsGetTail "rqu" crate::matching::get_tail
            BsGetUtf8 "rqju" crate::matching::get_utf8
            BsSkipUtf8 "rj" crate::matching::skip_utf8
            BsGetUtf16 "rqju" crate::matching::get_utf16
            BsSkipUtf16 "rju" crate::matching::skip_utf16
            BsGetUtf32 "rqju" crate::matching::get_utf32
            BsSkipUtf32 "rju" crate::matching::skip_utf32
            BsMatchBinary "rquu" crate::matching::match_binary
            BsMatchSkip "ru" crate::matching::match_skip
            BsMatchEqual "rjuc" crate::matching::match_equal
            BsMatchTail "rqu" crate::matching::match_tail
            BsCreateBin "rjuuuu*" crate::building::create_bin
            BsInit "rjuuus" crate::building::init
            BsPutInteger "njuss" crate::building::put_integer
            BsPutFloat "njuss" crate::building::put_float
            BsPutBinary "njuss" crate::building::put_binary
            BsPutString "-uw" crate::building::put_string
            BsPutUtf8 "njs" crate::building::put_utf8
            BsPutUtf16 "njs" crate::building::put_utf16
            BsPutUtf32 "njs" crate::building::put_utf32
            BsUtf8Size "rsj" crate::building::utf8_size
            BsUtf16Size "rsj" crate::building::utf16_size
            BsAdd "rssju" crate::building::add
            BsAppend "rjuuuss" crate::building::append
            BsPrivateAppend "rjuss" crate::building::private_append
            BsInitWritable "-" crate::building::init_writable
        }
    } };
}

macro_rules! define {
    (hot { $($hot:ident $hot_format:literal)* } either { $($either:ident $either_format:literal)* } slow { $($slow:ident $slow_format:literal $function:path)* }) => {
        /// Opcodes.
        #[allow(missing_docs, reason = "the table gives the operands of each")]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u16)]
        pub enum Op { $($hot,)* $($either,)* $($slow,)* }

        impl Op {
            /// Those that have several versions.
            pub const EITHER: std::ops::Range<u16> =
                [$($hot_format,)*].len() as u16..[$($hot_format,)* $($either_format,)*].len() as u16;

            /// How many there are.
            pub const COUNT: u16 = [$($hot_format,)* $($either_format,)* $($slow_format,)*].len() as u16;
        }

        /// Names, by opcode.
        pub static NAMES: &[&str] = &[$(stringify!($hot),)* $(stringify!($either),)* $(stringify!($slow),)*];

        /// Operands, by opcode.
        pub static FORMATS: &[&str] = &[$($hot_format,)* $($either_format,)* $($slow_format,)*];
    };
}
pub(crate) use for_each_instruction;
for_each_instruction!(define);

impl Op {
    /// The opcode of an instruction's first word.
    ///
    /// # Safety
    /// `word` is the first word of an instruction that the decoder has made.
    #[inline(always)]
    pub unsafe fn of(word: u32) -> Op {
        let opcode = word as u16 % STEP;
        debug_assert!(opcode < Op::COUNT);
        // SAFETY: the decoder writes `Op` values only.
        unsafe { std::mem::transmute(opcode) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_agree() {
        assert_eq!(NAMES.len(), usize::from(Op::COUNT));
        assert_eq!(NAMES[Op::BsInitWritable as usize], "BsInitWritable");
    }
}
