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

/// Stands for the continuation in a call of a built-in that always raises, where frames of different sizes come together. Such a
/// call is not traced, for it could not be told where its caller's frame ends; it never goes on in Erlang code.
pub const NO_CONTINUATION: u32 = 0;

/// Y registers of a loop intrinsic over a list.
pub const LIST_SLOTS: usize = 2;
/// Y registers of one over the pairs of a map.
pub const PAIR_SLOTS: usize = 3;

/// Segments of a bit string, as `bs_create_bin` holds them: their kinds, and how long they are.
pub mod segment {
    #![allow(missing_docs, reason = "the names are those of the types of segments in Erlang")]
    pub const INTEGER: u32 = 0;
    pub const FLOAT: u32 = 1;
    pub const BINARY: u32 = 2;
    pub const APPEND: u32 = 3;
    pub const PRIVATE_APPEND: u32 = 4;
    pub const STRING: u32 = 5;
    pub const UTF8: u32 = 6;
    pub const UTF16: u32 = 7;
    pub const UTF32: u32 = 8;
    /// Names in `error_info`, by kind.
    pub const NAMES: [&str; 9] = ["integer", "float", "binary", "binary", "binary", "string", "utf8", "utf16", "utf32"];
    /// Words of a segment: kind and flags, unit, number, value (or string address), size, bytes.
    pub const WORDS: usize = 6;
}

/// Calls a macro with the whole instruction set: those with code of their own, `either` of which has versions by the files
/// of its registers ([`X_ONLY`]), then those out of line, each with its function as the loop (`run.rs`) imports it.
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
            // messages
            LoopRec "-j" Wait "-j"
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
            Undecoded "-" calls::undecoded
            BuiltInEntry "-" bifs::entry
            UndefinedEntry "-" calls::undefined
            Bottom "-" calls::bottom
            Breakpoint "-" trace::breakpoint
            ReturnTrace "-" trace::frames::return_trace
            ExceptionTrace "-" trace::frames::return_trace
            ReturnTo "-" trace::frames::return_to
            ReturnTime "-" trace::frames::return_time
            Failed "-" errors::unreachable_code
            ReturnRecord "n*" errors::unreachable_code
            EnterNative "-w" tiers::switch
            ResumeNative "-w" tiers::switch
            FailLoading "-" errors::not_decodable
            CallBif "nwf" bifs::call
            CallBifLast "nwuf" bifs::call_last
            SendBuilt "nu" sending::built
            TryIntrinsic "nww" bifs::try_intrinsic
            FoldPairsNext "-wj" loops::pairs_next
            Apply "nf" calls::apply
            ApplyLast "nuf" calls::apply_last
            ApplyList "nf" calls::apply_list
            ApplyListLast "nuf" calls::apply_list_last
            ApplyFunList "nf" calls::apply_fun_list
            ApplyFunListLast "nu" calls::apply_fun_list_last
            Hibernate "-" receive::hibernate
            Hibernating "-u" receive::hibernating
            LoopHead "n" calls::loop_head
            YieldCall "nf" calls::yield_call
            YieldLast "nu" calls::yield_last
            GuardBif0 "rw" guards::bif0
            GuardBif1 "rwjus" guards::bif1
            GuardBif2 "rwjuss" guards::bif2
            GuardBif3 "rwjusss" guards::bif3
            ByteSize "rwjus" guards::byte_size
            BitSize "rwjus" guards::bit_size
            Length "rwjus" guards::length
            IsMapKey "rwjuss" guards::is_map_key
            SelfPid "r" guards::self_pid
            NodeName "r" guards::node_name
            IsEq "-ssj" guards::is_eq
            IsNe "-ssj" guards::is_ne
            IsEqExactS "-ssj" guards::is_eq_exact
            IsNeExactS "-ssj" guards::is_ne_exact
            IsLtS "-ssj" guards::is_lt
            IsGeS "-ssj" guards::is_ge
            IsReference "-sj" guards::is_reference
            IsPort "-sj" guards::is_port
            IsFunction2 "-ssj" guards::is_function2
            SelectTerm "-sju*" guards::select_term
            MakeFun "rwu*" calls::make_fun
            FunctionClause "n" errors::function_clause
            Badmatch "-s" errors::badmatch
            CaseEnd "-s" errors::case_end
            TryCaseEnd "-s" errors::try_case_end
            IfEnd "-" errors::if_end
            Badrecord "-s" errors::badrecord
            Raise "-ss" errors::raise
            RawRaise "-" errors::raw_raise
            BuildStacktrace "-" errors::build_stacktrace
            CheckedGetElementFar "rqu" guards::element_far
            CheckedSetElement "rsu" guards::set_element
            CatchEnd "r" errors::catch_end
            RaiseUndef "-" errors::undef
            LoopRecEnd "-j" receive::loop_rec_end
            RemoveMessage "-" receive::remove_message
            AdoptMessage "-" receive::adopt_message
            Timeout "-" receive::timeout
            WaitTimeout "-js" receive::wait_timeout
            MarkerReserve "r" receive::marker_reserve
            MarkerBind "rq" receive::marker_bind
            MarkerClear "r" receive::marker_clear
            MarkerUse "r" receive::marker_use
            OldMark "-" receive::old_mark
            OldSet "-" receive::old_set
            PutMapAssoc "rsuu*" maps::put_assoc
            PutMapPlain "rsuu*" maps::put_plain
            PutMapExact "rsjuu*" maps::put_exact
            HasMapFields "-sju*" maps::has_fields
            GetMapElements "-sju*" maps::get_elements
            GetMapElement "rssj" maps::get_element
            UpdateRecord "rsuu*" maps::update_record
            BsGetInteger "rqjusu" matching::get_integer
            BsGetFloat "rqjusu" matching::get_float
            BsGetBinary "rqjusu" matching::get_binary
            BsSkip "rjsu" matching::skip
            BsMatchString "rjuw" matching::match_string
            BsTestTailWide "rjw" matching::test_tail_wide
            BsGetTail "rqu" matching::get_tail
            BsGetUtf8 "rqju" matching::get_utf8
            BsSkipUtf8 "rj" matching::skip_utf8
            BsGetUtf16 "rqju" matching::get_utf16
            BsSkipUtf16 "rju" matching::skip_utf16
            BsGetUtf32 "rqju" matching::get_utf32
            BsSkipUtf32 "rju" matching::skip_utf32
            BsMatchBinary "rquu" matching::match_binary
            BsMatchSkip "ru" matching::match_skip
            BsMatchEqual "rjuc" matching::match_equal
            BsMatchTail "rqu" matching::match_tail
            BsCreateBin "rjuuuu*" building::create_bin
            BsInit "rjuuus" building::init
            BsPutInteger "njuss" building::put_integer
            BsPutFloat "njuss" building::put_float
            BsPutBinary "njuss" building::put_binary
            BsPutString "-uw" building::put_string
            BsPutUtf8 "njs" building::put_utf8
            BsPutUtf16 "njs" building::put_utf16
            BsPutUtf32 "njs" building::put_utf32
            BsUtf8Size "rsj" building::utf8_size
            BsUtf16Size "rsj" building::utf16_size
            BsAdd "rssju" building::add
            BsAppend "rjuuuss" building::append
            BsPrivateAppend "rjuss" building::private_append
            BsInitWritable "-" building::init_writable
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
    pub const unsafe fn of(word: u32) -> Op {
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
