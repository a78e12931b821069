//! The generic instruction set: one table of opcodes 1 to 191, the union of all supported releases.
//! Numbers are never reused, so one table serves all of them.
//!
//! A row gives number, variant, name in OTP's assembler, operand kinds, meaning. Decoder, validator,
//! verifier and disassembler are driven by it. A withdrawn opcode has only number, name and arity:
//! no supported compiler emits it and modules that hold it are refused.
//!
//! Source: the opcode table is a fact of the .beam format (OTP's genop.tab names and numbers it).

/// What may stand as an operand, and what the instruction does with it. `Module::load` checks all
/// of it, so code that walks decoded instructions may rely on what is said here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `U`: the label that is defined here.
    NewLabel,
    /// `Label`: of this function; never 0.
    Label,
    /// `Label`: of this function, or 0: raise an exception instead of jumping.
    Fail,
    /// `Label`, as in `Fail`, or the atom `no_fail` or `resume` (bs_start_match4).
    FailOrAtom,
    /// `Label`: the entry of some function of the module, of the arity the call states.
    Entry,
    /// `U` up to 255: the arguments are in X0, X1, ...
    Arity,
    /// `U` up to 1023: X registers below this survive a collection, all others die. One at least is left over, for a result.
    Live,
    /// `U`: index of an import, of the arity the call states.
    Import,
    /// `U`: index of an import of arity 0.
    Bif0,
    /// `U`: index of an import of arity 1.
    Bif1,
    /// `U`: index of an import of arity 2.
    Bif2,
    /// `U`: index of an import of arity 3.
    Bif3,
    /// `X`, `Y` (either may be `Typed`), `I`, `Big`, `Atom`, `Nil`, `Lit`: a term.
    Src,
    /// `X` or `Y` (either may be `Typed`) that is read.
    Reg,
    /// `X` or `Y` that is written.
    Dst,
    /// `X` or `Y`, read and written (swap).
    Swap,
    /// `Y` that is written.
    YDst,
    /// `Y` that holds or gets a catch tag.
    YCatch,
    /// `FR` that is read.
    FSrc,
    /// `FR` that is written.
    FDst,
    /// `FR` or `Src` (fmove's source).
    FSrcAny,
    /// `FR` or `Dst` (fmove's destination).
    FDstAny,
    /// `U` or `Src`: a size.
    Size,
    /// `U`: a plain number; up to 2^32-1.
    Uint,
    /// `U`: a number of bits, of any size.
    Bits,
    /// `U` from 1 to 256: bits in a unit of size.
    Unit,
    /// `U` up to 1024: Y registers of a frame.
    Frame,
    /// `U` or `Alloc`: words of heap that will be needed.
    Heap,
    /// `U`: flags of a segment: 2 little, 4 signed, 16 native.
    Flags,
    /// `U`: a byte offset in the string table (with the size before it).
    StringAt,
    /// `Atom`, not nil.
    Atom,
    /// `U`: index of a lambda.
    Lambda,
    /// `U` (index of a lambda) or an atom (call_fun2's hint).
    FunTag,
    /// `U`: index of a line, 0 if unknown.
    Line,
    /// `Atom` or `Lit`.
    AtomOrLit,
    /// `Nil`, `Atom`, `Lit`: any constant but no register.
    Const,
    /// `List` of (term, `Label`) pairs: select_val.
    ValueLabels,
    /// `List` of (`U`, `Label`) pairs: select_tuple_arity.
    ArityLabels,
    /// `List` of `Src`.
    Srcs,
    /// `List` of (`Src`, `Src`) pairs: keys and values.
    SrcPairs,
    /// `List` of (`Src`, `Dst`) pairs: keys and where their values go.
    SrcDsts,
    /// `List` of (`U`, `Src`) pairs: element numbers from 1, and values.
    IndexedSrcs,
    /// `List` of (`Atom`, `Src`) pairs.
    AtomSrcs,
    /// `List` of (`Atom`, `Dst`) pairs.
    AtomDsts,
    /// `List` of `Y`, which are set to nil.
    YList,
    /// `List` of six operands a segment: kind, segment number, unit, flags, value, size.
    Segments,
    /// `List` of bs_match commands: an atom and its operands each, in one flat list.
    MatchCommands,
}

/// Calls a macro with the whole table.
#[macro_export]
macro_rules! for_each_generic_op {
    ($then:ident) => { $then! {
    live {
    //  no  variant           name                operands                                      what it does
          1 Label             label               [NewLabel]                                    "Define a label.";
          2 FuncInfo          func_info           [Atom Atom Arity]                             "Raise function_clause; marks the start of function M:F/A.";
          3 IntCodeEnd        int_code_end        []                                            "End of the code.";
          4 Call              call                [Arity Entry]                                 "Call a local function.";
          5 CallLast          call_last           [Arity Entry Frame]                           "Drop the frame and tail-call a local function.";
          6 CallOnly          call_only           [Arity Entry]                                 "Tail-call a local function, there being no frame.";
          7 CallExt           call_ext            [Arity Import]                                "Call an imported function.";
          8 CallExtLast       call_ext_last       [Arity Import Frame]                          "Drop the frame and tail-call an imported function.";
          9 Bif0              bif0                [Bif0 Dst]                                    "Call a BIF that never fails or collects.";
         10 Bif1              bif1                [Fail Bif1 Src Dst]                           "Call a guard BIF that does not collect.";
         11 Bif2              bif2                [Fail Bif2 Src Src Dst]                       "Call a guard BIF that does not collect.";
         12 Allocate          allocate            [Frame Live]                                  "Push a frame; its slots are uninitialised.";
         13 AllocateHeap      allocate_heap       [Frame Heap Live]                             "allocate and test_heap.";
         14 AllocateZero      allocate_zero       [Frame Live]                                  "Push a frame of nils.";
         15 AllocateHeapZero  allocate_heap_zero  [Frame Heap Live]                             "allocate_zero and test_heap.";
         16 TestHeap          test_heap           [Heap Live]                                   "Collect unless so much heap is free.";
         17 Init              init                [YDst]                                        "Set a slot to nil.";
         18 Deallocate        deallocate          [Frame]                                       "Drop the frame.";
         19 Return            return              []                                            "Return X0.";
         20 Send              send                []                                            "Send X1 to X0; the message becomes X0.";
         21 RemoveMessage     remove_message      []                                            "Take the current message out of the queue; cancel the timer.";
         22 Timeout           timeout             []                                            "The timer has fired: start the queue anew.";
         23 LoopRec           loop_rec            [Label Dst]                                   "Next message to X0, or jump when there is none.";
         24 LoopRecEnd        loop_rec_end        [Label]                                       "This message does not match: step on and loop.";
         25 Wait              wait                [Label]                                       "Wait for a message; resume at the label.";
         26 WaitTimeout       wait_timeout        [Label Src]                                   "Wait for a message or so many milliseconds; on timeout go on here.";
         39 IsLt              is_lt               [Fail Src Src]                                "Jump unless A < B.";
         40 IsGe              is_ge               [Fail Src Src]                                "Jump unless A >= B.";
         41 IsEq              is_eq               [Fail Src Src]                                "Jump unless A == B.";
         42 IsNe              is_ne               [Fail Src Src]                                "Jump unless A /= B.";
         43 IsEqExact         is_eq_exact         [Fail Src Src]                                "Jump unless A =:= B.";
         44 IsNeExact         is_ne_exact         [Fail Src Src]                                "Jump unless A =/= B.";
         45 IsInteger         is_integer          [Fail Src]                                    "Jump unless an integer.";
         46 IsFloat           is_float            [Fail Src]                                    "Jump unless a float.";
         47 IsNumber          is_number           [Fail Src]                                    "Jump unless a number.";
         48 IsAtom            is_atom             [Fail Src]                                    "Jump unless an atom.";
         49 IsPid             is_pid              [Fail Src]                                    "Jump unless a pid.";
         50 IsReference       is_reference        [Fail Src]                                    "Jump unless a reference.";
         51 IsPort            is_port             [Fail Src]                                    "Jump unless a port.";
         52 IsNil             is_nil              [Fail Src]                                    "Jump unless nil.";
         53 IsBinary          is_binary           [Fail Src]                                    "Jump unless a binary.";
         55 IsList            is_list             [Fail Src]                                    "Jump unless a cons or nil.";
         56 IsNonemptyList    is_nonempty_list    [Fail Src]                                    "Jump unless a cons.";
         57 IsTuple           is_tuple            [Fail Src]                                    "Jump unless a tuple.";
         58 TestArity         test_arity          [Fail Src Uint]                               "Jump unless the tuple has this arity.";
         59 SelectVal         select_val          [Src Fail ValueLabels]                        "Jump by value.";
         60 SelectTupleArity  select_tuple_arity  [Src Fail ArityLabels]                        "Jump by arity of a tuple.";
         61 Jump              jump                [Label]                                       "Jump.";
         62 Catch             catch               [YCatch Label]                                "Begin a catch; the slot holds its tag.";
         63 CatchEnd          catch_end           [YCatch]                                      "End a catch; turn an exception into its value.";
         64 Move              move                [Src Dst]                                     "Copy a term.";
         65 GetList           get_list            [Src Dst Dst]                                 "Head and tail of a cons.";
         66 GetTupleElement   get_tuple_element   [Src Uint Dst]                                "Element of a tuple, counted from 0.";
         67 SetTupleElement   set_tuple_element   [Src Src Uint]                                "Overwrite an element of a tuple just copied.";
         69 PutList           put_list            [Src Src Dst]                                 "Build a cons.";
         72 Badmatch          badmatch            [Src]                                         "Raise {badmatch, Value}.";
         73 IfEnd             if_end              []                                            "Raise if_clause.";
         74 CaseEnd           case_end            [Src]                                         "Raise {case_clause, Value}.";
         75 CallFun           call_fun            [Arity]                                       "Call the fun in `X[arity]`.";
         77 IsFunction        is_function         [Fail Src]                                    "Jump unless a fun.";
         78 CallExtOnly       call_ext_only       [Arity Import]                                "Tail-call an imported function, there being no frame.";
         89 BsPutInteger      bs_put_integer      [Fail Size Unit Flags Src]                    "Append an integer to the binary being built.";
         90 BsPutBinary       bs_put_binary       [Fail Size Unit Flags Src]                    "Append a bit string to it.";
         91 BsPutFloat        bs_put_float        [Fail Size Unit Flags Src]                    "Append a float to it.";
         92 BsPutString       bs_put_string       [Uint StringAt]                               "Append bytes of the string table to it.";
         94 Fclearerror       fclearerror         []                                            "Clear the float error flag.";
         95 Fcheckerror       fcheckerror         [Fail]                                        "Raise badarith if the float error flag is set.";
         96 Fmove             fmove               [FSrcAny FDstAny]                             "Move between a float register and a term.";
         97 Fconv             fconv               [Src FDst]                                    "Number to float register.";
         98 Fadd              fadd                [Fail FSrc FSrc FDst]                         "Float addition.";
         99 Fsub              fsub                [Fail FSrc FSrc FDst]                         "Float subtraction.";
        100 Fmul              fmul                [Fail FSrc FSrc FDst]                         "Float multiplication.";
        101 Fdiv              fdiv                [Fail FSrc FSrc FDst]                         "Float division.";
        102 Fnegate           fnegate             [Fail FSrc FDst]                              "Float negation.";
        103 MakeFun2          make_fun2           [Lambda]                                      "Make a fun; free variables in X0...; result in X0.";
        104 Try               try                 [YCatch Label]                                "Begin a try; the slot holds its tag.";
        105 TryEnd            try_end             [YCatch]                                      "End a try.";
        106 TryCase           try_case            [YCatch]                                      "Start of the handler: class, reason, trace in X0, X1, X2.";
        107 TryCaseEnd        try_case_end        [Src]                                         "Raise {try_clause, Value}.";
        108 Raise             raise               [Src Src]                                     "Raise again: raw trace, reason.";
        109 BsInit2           bs_init2            [Fail Size Heap Live Flags Dst]               "New binary of so many bytes, to be filled.";
        111 BsAdd             bs_add              [Fail Src Src Unit Dst]                       "A + B * unit: computes a size.";
        112 Apply             apply               [Arity]                                       "Call `X[n]:X[n+1]` with n arguments.";
        113 ApplyLast         apply_last          [Arity Frame]                                 "Drop the frame and tail-call `X[n]:X[n+1]`.";
        114 IsBoolean         is_boolean          [Fail Src]                                    "Jump unless true or false.";
        115 IsFunction2       is_function2        [Fail Src Src]                                "Jump unless a fun of this arity.";
        117 BsGetInteger2     bs_get_integer2     [Fail Reg Live Size Unit Flags Dst]           "Match an integer.";
        118 BsGetFloat2       bs_get_float2       [Fail Reg Live Size Unit Flags Dst]           "Match a float.";
        119 BsGetBinary2      bs_get_binary2      [Fail Reg Live Size Unit Flags Dst]           "Match a bit string; size atom all: the rest.";
        120 BsSkipBits2       bs_skip_bits2       [Fail Reg Size Unit Flags]                    "Skip bits; size atom all: the rest.";
        121 BsTestTail2       bs_test_tail2       [Fail Reg Bits]                               "Jump unless exactly so many bits are left.";
        124 GcBif1            gc_bif1             [Fail Live Bif1 Src Dst]                      "Call a guard BIF that may collect.";
        125 GcBif2            gc_bif2             [Fail Live Bif2 Src Src Dst]                  "Call a guard BIF that may collect.";
        129 IsBitstr          is_bitstr           [Fail Src]                                    "Jump unless a bit string.";
        131 BsTestUnit        bs_test_unit        [Fail Reg Unit]                               "Jump unless the bits left are a multiple of this.";
        132 BsMatchString     bs_match_string     [Fail Reg Uint StringAt]                      "Match so many bits with the string table.";
        133 BsInitWritable    bs_init_writable    []                                            "New growable binary of X0 bytes in X0.";
        134 BsAppend          bs_append           [Fail Size Heap Live Unit Src Flags Dst]      "Start to append to a binary (last reference likely).";
        135 BsPrivateAppend   bs_private_append   [Fail Size Unit Src Flags Dst]                "Append to a binary made by bs_init_writable.";
        136 Trim              trim                [Frame Frame]                                 "Drop the lower N slots of the frame; so many remain.";
        137 BsInitBits        bs_init_bits        [Fail Size Heap Live Flags Dst]               "New bit string of so many bits, to be filled.";
        138 BsGetUtf8         bs_get_utf8         [Fail Reg Live Flags Dst]                     "Match a UTF-8 character.";
        139 BsSkipUtf8        bs_skip_utf8        [Fail Reg Live Flags]                         "Skip a UTF-8 character.";
        140 BsGetUtf16        bs_get_utf16        [Fail Reg Live Flags Dst]                     "Match a UTF-16 character.";
        141 BsSkipUtf16       bs_skip_utf16       [Fail Reg Live Flags]                         "Skip a UTF-16 character.";
        142 BsGetUtf32        bs_get_utf32        [Fail Reg Live Flags Dst]                     "Match a UTF-32 character.";
        143 BsSkipUtf32       bs_skip_utf32       [Fail Reg Live Flags]                         "Skip a UTF-32 character.";
        144 BsUtf8Size        bs_utf8_size        [Fail Src Dst]                                "Bytes the character takes in UTF-8.";
        145 BsPutUtf8         bs_put_utf8         [Fail Flags Src]                              "Append a character as UTF-8.";
        146 BsUtf16Size       bs_utf16_size       [Fail Src Dst]                                "Bytes the character takes in UTF-16.";
        147 BsPutUtf16        bs_put_utf16        [Fail Flags Src]                              "Append a character as UTF-16.";
        148 BsPutUtf32        bs_put_utf32        [Fail Flags Src]                              "Append a character as UTF-32.";
        149 OnLoad            on_load             []                                            "Marks the function to run on loading.";
        150 RecvMark          recv_mark           [Label]                                       "Remember the end of the message queue (before OTP 24).";
        151 RecvSet           recv_set            [Label]                                       "Start at the remembered place (before OTP 24).";
        152 GcBif3            gc_bif3             [Fail Live Bif3 Src Src Src Dst]              "Call a guard BIF that may collect.";
        153 Line              line                [Line]                                        "The following calls are on this line.";
        154 PutMapAssoc       put_map_assoc       [Fail Src Dst Live SrcPairs]                  "Map with keys set.";
        155 PutMapExact       put_map_exact       [Fail Src Dst Live SrcPairs]                  "Map with existing keys replaced; jump if one is missing.";
        156 IsMap             is_map              [Fail Src]                                    "Jump unless a map.";
        157 HasMapFields      has_map_fields      [Fail Src Srcs]                               "Jump unless the map has all keys.";
        158 GetMapElements    get_map_elements    [Fail Src SrcDsts]                            "Values of keys; jump if one is missing.";
        159 IsTaggedTuple     is_tagged_tuple     [Fail Src Uint Atom]                          "Jump unless a tuple of this arity whose first element is the atom.";
        160 BuildStacktrace   build_stacktrace    []                                            "Turn the raw trace in X0 into a list in X0.";
        161 RawRaise          raw_raise           []                                            "Raise class X0, reason X1, raw trace X2; X0 = badarg for a bad class.";
        162 GetHd             get_hd              [Src Dst]                                     "Head of a cons.";
        163 GetTl             get_tl              [Src Dst]                                     "Tail of a cons.";
        164 PutTuple2         put_tuple2          [Dst Srcs]                                    "Build a tuple.";
        165 BsGetTail         bs_get_tail         [Reg Dst Live]                                "The bits left, as a bit string.";
        166 BsStartMatch3     bs_start_match3     [Fail Src Live Dst]                           "Make a match context.";
        167 BsGetPosition     bs_get_position     [Reg Dst Live]                                "Position of a match context.";
        168 BsSetPosition     bs_set_position     [Reg Src]                                     "Set the position of a match context.";
        169 Swap              swap                [Swap Swap]                                   "Exchange two registers.";
        170 BsStartMatch4     bs_start_match4     [FailOrAtom Live Src Dst]                     "Make a match context; no_fail: it is a bit string; resume: it is a context.";
        171 MakeFun3          make_fun3           [Lambda Dst Srcs]                             "Make a fun of these free variables.";
        172 InitYregs         init_yregs          [YList]                                       "Set slots to nil.";
        173 RecvMarkerBind    recv_marker_bind    [Reg Reg]                                     "Bind a receive marker to a reference.";
        174 RecvMarkerClear   recv_marker_clear   [Reg]                                         "Drop a receive marker.";
        175 RecvMarkerReserve recv_marker_reserve [Dst]                                         "Set a receive marker at the end of the queue.";
        176 RecvMarkerUse     recv_marker_use     [Reg]                                         "Start the receive at the marker.";
        177 BsCreateBin       bs_create_bin       [Fail Heap Live Unit Dst Segments]            "Build a bit string of these segments.";
        178 CallFun2          call_fun2           [FunTag Arity Reg]                            "Call a fun; safe: it is known to be a fun of this arity.";
        179 NifStart          nif_start           []                                            "This function may be replaced by a NIF.";
        180 Badrecord         badrecord           [Src]                                         "Raise {badrecord, Value}.";
        181 UpdateRecord      update_record       [Atom Uint Src Dst IndexedSrcs]               "Copy a tuple with elements set; hint copy, reuse or inplace.";
        182 BsMatch           bs_match            [Fail Reg MatchCommands]                      "Run of matching commands over one context.";
        183 ExecutableLine    executable_line     [Line Uint]                                   "Coverage point.";
        184 DebugLine         debug_line          [Atom Line Uint Live]                         "Break point.";
        185 Bif3              bif3                [Fail Bif3 Src Src Src Dst]                   "Call a guard BIF that does not collect.";
        186 IsAnyNativeRecord is_any_native_record [Fail Src]                                   "Jump unless a native record.";
        187 IsNativeRecord    is_native_record    [Fail Src Src Src]                            "Jump unless a native record of this module and name.";
        188 GetRecordElements get_record_elements [Fail Src AtomDsts]                           "Fields of a native record; jump if one is missing.";
        189 PutRecord         put_record          [Fail AtomOrLit Src Dst Live AtomSrcs]        "Create (source nil) or update a native record.";
        190 IsRecordAccessible is_record_accessible [Fail Src Atom]                             "Jump unless the record's fields may be read here.";
        191 GetRecordField    get_record_field    [Fail Src AtomOrLit Atom Dst]                 "One field of a native record.";
    }
    withdrawn {
         27 m_plus 4; 28 m_minus 4; 29 m_times 4; 30 m_div 4; 31 int_div 4; 32 int_rem 4; 33 int_band 4;
         34 int_bor 4; 35 int_bxor 4; 36 int_bsl 4; 37 int_bsr 4; 38 int_bnot 3; 54 is_constant 2;
         68 put_string 3; 70 put_tuple 2; 71 put 1; 76 make_fun 3; 79 bs_start_match 2; 80 bs_get_integer 5;
         81 bs_get_float 5; 82 bs_get_binary 5; 83 bs_skip_bits 4; 84 bs_test_tail 2; 85 bs_save 1;
         86 bs_restore 1; 87 bs_init 2; 88 bs_final 2; 93 bs_need_buf 1; 110 bs_bits_to_bytes 3;
        116 bs_start_match2 5; 122 bs_save2 2; 123 bs_restore2 2; 126 bs_final2 2; 127 bs_bits_to_bytes2 2;
        128 put_literal 2; 130 bs_context_to_binary 1;
    }
    } };
}

/// The highest opcode number.
pub const MAX_OPCODE: u8 = 191;

/// A number's row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Row {
    Unknown,
    Withdrawn,
    Live(Op, &'static [Kind]),
}

macro_rules! define_ops {
    (live { $($no:literal $variant:ident $name:ident [$($kind:ident)*] $what:literal;)* }
     withdrawn { $($old:literal $old_name:ident $old_arity:literal;)* }) => {
        /// A generic instruction's operation; the number is that of the .beam format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Op { $( #[doc = $what] $variant = $no, )* }

        impl Op {
            /// All operations, by number.
            pub const ALL: &[Op] = &[$(Op::$variant),*];

            /// The name in OTP's assembler.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$variant => stringify!($name)),* }
            }

            /// The kinds of the operands.
            pub const fn kinds(self) -> &'static [Kind] {
                match self { $(Op::$variant => const { &[$(Kind::$kind),*] }),* }
            }

            /// The meaning in a line.
            pub const fn meaning(self) -> &'static str {
                match self { $(Op::$variant => $what),* }
            }
        }

        pub(crate) static ROWS: [Row; MAX_OPCODE as usize + 1] = {
            let mut rows = [Row::Unknown; MAX_OPCODE as usize + 1];
            $( rows[$no] = Row::Live(Op::$variant, Op::$variant.kinds()); )*
            $( rows[$old] = Row::Withdrawn; )*
            rows
        };

        /// Withdrawn opcodes: number, name, arity.
        pub const WITHDRAWN: &[(u8, &str, u8)] = &[$(($old, stringify!($old_name), $old_arity)),*];
    };
}
for_each_generic_op!(define_ops);

impl Op {
    /// The number in the .beam format.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The live operation of this number.
    pub fn from_number(number: u8) -> Option<Op> {
        match ROWS.get(usize::from(number)) {
            Some(Row::Live(op, _)) => Some(*op),
            _ => None,
        }
    }

    /// The live operation of this number, and the kinds of its operands.
    #[inline]
    pub(crate) fn row(number: u8) -> Option<(Op, &'static [Kind])> {
        match ROWS.get(usize::from(number)) {
            Some(Row::Live(op, kinds)) => Some((*op, kinds)),
            _ => None,
        }
    }

    /// How many operands follow the opcode.
    pub const fn arity(self) -> usize {
        self.kinds().len()
    }

    /// Whether control never reaches the next instruction.
    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Op::FuncInfo
                | Op::IntCodeEnd
                | Op::CallLast
                | Op::CallOnly
                | Op::CallExtLast
                | Op::CallExtOnly
                | Op::ApplyLast
                | Op::Return
                | Op::LoopRecEnd
                | Op::Wait
                | Op::SelectVal
                | Op::SelectTupleArity
                | Op::Jump
                | Op::Badmatch
                | Op::IfEnd
                | Op::CaseEnd
                | Op::TryCaseEnd
                | Op::Raise
                | Op::Badrecord
        )
    }

    /// Whether it does nothing but read operands and write registers: no branch, no collection, no frame.
    pub(crate) const fn only_moves(self) -> bool {
        matches!(
            self,
            Op::Move
                | Op::GetList
                | Op::GetTupleElement
                | Op::SetTupleElement
                | Op::PutList
                | Op::PutTuple2
                | Op::GetHd
                | Op::GetTl
                | Op::Swap
                | Op::InitYregs
                | Op::MakeFun3
        )
    }

    /// Whether it calls a function and comes back, if the callee ever returns.
    pub const fn is_body_call(self) -> bool {
        matches!(self, Op::Call | Op::CallExt | Op::CallFun | Op::CallFun2 | Op::Apply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_live_or_withdrawn() {
        for (number, row) in ROWS.iter().enumerate().skip(1) {
            assert!(!matches!(row, Row::Unknown), "{number}");
        }
        assert_eq!(Op::ALL.len() + WITHDRAWN.len(), usize::from(MAX_OPCODE));
        assert!(matches!(ROWS[0], Row::Unknown));
        assert!(Op::ALL.iter().all(|op| Op::from_number(op.number()) == Some(*op)));
    }

    #[test]
    fn names_and_arities_agree_with_otp() {
        // A sample of rows from OTP 25's beam_opcodes:opname/1; the test over all of them is in tests/.
        for (number, name, arity) in
            [(2, "func_info", 3), (64, "move", 2), (134, "bs_append", 8), (177, "bs_create_bin", 6)]
        {
            let op = Op::from_number(number).unwrap();
            assert_eq!((op.name(), op.arity()), (name, arity));
        }
    }
}
