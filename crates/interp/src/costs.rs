//! What kind of work each instruction is, for builds that count work ([`myriad_heap::meter`]); in others this is nothing.

use crate::instr::{Op, STEP};
use myriad_heap::meter::{self, Work};
use myriad_vm::bif::BifDef;

/// The kinds by opcode.
static KINDS: [Work; STEP as usize] = {
    let mut kinds = [Work::OutOfLine; STEP as usize];
    let mut opcode = 0;
    while opcode < Op::COUNT {
        // SAFETY: a number below `Op::COUNT` is an opcode.
        kinds[opcode as usize] = kind(unsafe { Op::of(opcode as u32) });
        opcode += 1;
    }
    kinds
};

/// The instruction whose first word this is will run.
#[inline(always)]
pub fn dispatched(word: u32) {
    if meter::COUNTS {
        meter::count(KINDS[usize::from(word as u16 % STEP)], 1);
        meter::count(Work::General, u64::from(Op::EITHER.contains(&(word as u16))));
    }
}

/// A built-in has been called, and has charged so many reductions for its work.
#[inline(always)]
pub fn called(def: &BifDef, reductions: i32) {
    if meter::COUNTS {
        let charged = match def.module {
            "ets" => Work::EtsReduction,
            "lists" if def.function.ends_with("sort") => return meter::count(Work::BuiltIn, 1),
            "lists" => Work::ListReduction,
            _ => Work::BuiltInReduction,
        };
        meter::count(Work::BuiltIn, 1);
        meter::count(charged, u64::try_from(reductions).unwrap_or(0));
        meter::count(Work::Ets, u64::from(def.module == "ets"));
    }
}

const fn kind(op: Op) -> Work {
    match op {
        Op::MoveXX | Op::MoveXY | Op::MoveYX | Op::SwapXY | Op::MoveKX | Op::MoveKY => Work::Move,
        Op::MoveRR | Op::MoveC | Op::MoveRK | Op::MoveKK | Op::Swap | Op::InitY => Work::Move,
        Op::Move2 | Op::Move3 | Op::Move4 | Op::Move5 | Op::Move6 => Work::Move,
        Op::Call | Op::CallLast | Op::CallOnly | Op::CallExt | Op::CallExtLast | Op::CallExtOnly => Work::Call,
        Op::TrimCall | Op::SwapXYCall | Op::Return | Op::MoveKReturn | Op::MoveCReturn => Work::Call,
        Op::MoveCall | Op::MoveCallLast | Op::MoveCallOnly | Op::SwapCall | Op::MoveKCall => Work::Call,
        Op::MoveKCallOnly | Op::MoveReturn | Op::MoveDeallocateReturn | Op::DeallocateReturn => Work::Call,
        Op::CallFun | Op::CallFunLast | Op::AllocateMoveCall | Op::LoopHead => Work::Call,
        Op::EachStep | Op::FoldStep | Op::MapStep | Op::FoldPairsStep => Work::Step,
        Op::Deallocate | Op::Trim | Op::TestHeap | Op::Try | Op::TryEnd | Op::TryCase | Op::EnterLoop => Work::Frame,
        Op::Allocate0 | Op::Allocate1 | Op::Allocate2 | Op::Allocate3 | Op::Allocate => Work::Frame,
        Op::AllocateMove1 | Op::AllocateMove2 | Op::AllocateMove3 => Work::Frame,
        Op::Jump | Op::IsNonemptyList | Op::IsNonemptyGetList | Op::IsNonemptyHeadIs | Op::IsNil => Work::Test,
        Op::IsList | Op::IsTuple | Op::IsTupleOfArity | Op::IsTupleThenArity | Op::IsTaggedTuple => Work::Test,
        Op::IsEqExact | Op::IsEqExactK | Op::IsNeExact | Op::IsNeExactK | Op::IsLt | Op::IsGe => Work::Test,
        Op::IsLtRK | Op::IsLtKR | Op::IsGeRK | Op::IsGeKR | Op::IsBetween | Op::IsIntegerBetween => Work::Test,
        Op::IsInteger | Op::IsAtom | Op::IsFloat | Op::IsNumber | Op::IsMap | Op::IsBinary => Work::Test,
        Op::IsBitstring | Op::IsPid | Op::IsBoolean | Op::IsFunction => Work::Test,
        Op::SelectTable | Op::SelectLinear | Op::SelectBinary | Op::SelectArity => Work::Test,
        Op::FirstChar | Op::FirstCluster => Work::Test,
        Op::GetList | Op::GetHd | Op::GetTl | Op::CheckedGetList | Op::CheckedGetHd | Op::CheckedGetTl => Work::Take,
        Op::GetElement | Op::GetElement2 | Op::GetElement3 | Op::GetElementFar => Work::Take,
        Op::CheckedGetElement | Op::CheckedGetElement2 | Op::CheckedGetElement3 => Work::Take,
        Op::Hd | Op::Tl | Op::TupleSize | Op::MapSize | Op::Element | Op::SelfPid => Work::Take,
        Op::PutList | Op::PutListS | Op::PutTuple | Op::SetElement | Op::MakeFun => Work::Build,
        Op::HeapPutList | Op::HeapPutListS | Op::HeapPutTuple => Work::Build,
        Op::HeapPutListReturn | Op::HeapPutTupleReturn => Work::Build,
        Op::Add | Op::Subtract | Op::AddRegisters | Op::SubtractRegisters | Op::AddSmall => Work::Integer,
        Op::Multiply | Op::Band | Op::Bor | Op::Bsr | Op::Bsl => Work::Integer,
        Op::Div | Op::Rem => Work::Division,
        Op::FMove | Op::FAdd | Op::FSub | Op::FMul | Op::FNegate => Work::Float,
        Op::FMoveFromTerm | Op::FConv => Work::Unboxing,
        Op::FDiv => Work::FloatDivision,
        Op::FMoveToTerm => Work::Boxing,
        Op::LoopRec | Op::Wait | Op::LoopRecEnd | Op::RemoveMessage | Op::AdoptMessage => Work::Receive,
        Op::Timeout | Op::WaitTimeout | Op::MarkerReserve | Op::MarkerBind | Op::MarkerClear => Work::Receive,
        Op::MarkerUse | Op::OldMark | Op::OldSet => Work::Receive,
        Op::GetPlainElements | Op::MapGet | Op::NewMap | Op::GetPlainElement | Op::IsMapKey => Work::Map,
        Op::GetMapElements | Op::GetMapElement | Op::HasMapFields => Work::Map,
        Op::PutMapAssoc | Op::PutMapPlain | Op::PutMapExact => Work::MapUpdate,
        Op::IsEq | Op::IsNe | Op::IsEqExactS | Op::IsNeExactS | Op::IsLtS | Op::IsGeS => Work::Compare,
        Op::BsStart | Op::BsGetFixed | Op::BsTestUnit | Op::BsTestTail | Op::BsGetPosition => Work::Bits,
        Op::BsSetPosition | Op::BsEnsureAtLeast | Op::BsEnsureExactly | Op::BsMatchInteger => Work::Bits,
        Op::BsGetInteger | Op::BsGetFloat | Op::BsGetBinary | Op::BsSkip | Op::BsMatchString => Work::Bits,
        Op::BsTestTailWide | Op::BsGetTail | Op::BsGetUtf8 | Op::BsSkipUtf8 | Op::BsMatchBinary => Work::Bits,
        Op::BsMatchSkip | Op::BsMatchEqual | Op::BsMatchTail | Op::BsCreateBin | Op::BsInit => Work::Bits,
        Op::BsPutInteger | Op::BsPutBinary | Op::BsPutString | Op::BsAppend | Op::BsPrivateAppend => Work::Bits,
        _ => Work::OutOfLine,
    }
}

#[cfg(test)]
mod tests {
    use super::{KINDS, Op, Work};

    #[test]
    fn kinds_stand_at_their_opcodes() {
        assert_eq!(KINDS[Op::MoveXX as usize], Work::Move);
        assert_eq!(KINDS[Op::FDiv as usize], Work::FloatDivision);
        assert_eq!(KINDS[Op::BsInitWritable as usize], Work::OutOfLine);
        assert_eq!(KINDS[Op::COUNT as usize], Work::OutOfLine);
    }
}
