//! What each instruction does to the heap, and what it demands of it (beam.effects/V9).

use crate::opcode::Op;
use crate::scan::{Check, Scan};

/// Words of a cons.
pub(crate) const CONS: u32 = 2;
/// Words of a float.
const FLOAT: u32 = 2;
/// Words of a fun without its free variables.
const FUN: u32 = 3;

/// Whether it neither takes room on the heap nor can collect.
pub(crate) const fn leaves_heap_alone(op: Op) -> bool {
    use Op::*;
    match op {
        Line | ExecutableLine | DebugLine | NifStart | OnLoad | Label => true,
        Jump | SelectVal | SelectTupleArity | Init | Trim | Deallocate => true,
        IsLt | IsGe | IsEq | IsNe | IsEqExact | IsNeExact => true,
        IsInteger | IsFloat | IsNumber | IsBoolean | IsAtom | IsPid | IsReference | IsPort => true,
        IsNil | IsList | IsNonemptyList | IsTuple | TestArity | IsTaggedTuple | IsMap | IsBinary | IsBitstr => true,
        IsFunction | IsFunction2 | HasMapFields | GetMapElements => true,
        IsAnyNativeRecord | IsNativeRecord | GetRecordElements | IsRecordAccessible | GetRecordField => true,
        Fmove | Fconv | Fadd | Fsub | Fmul | Fdiv | Fnegate => true,
        BsPutInteger | BsPutBinary | BsPutFloat | BsPutString | BsPutUtf8 | BsPutUtf16 | BsPutUtf32 => true,
        RemoveMessage | RecvMarkerBind | RecvMarkerClear => true,
        _ => op.only_moves(),
    }
}

impl Scan<'_> {
    /// What an instruction that only moves builds.
    #[inline]
    pub(crate) fn build(&mut self, op: Op) -> Check {
        let words = match op {
            Op::PutList => CONS,
            Op::PutTuple2 => 1 + self.seen.items,
            Op::MakeFun3 => {
                // It makes room for itself if there is none.
                let words = FUN + self.seen.items;
                self.flow.state.room = self.flow.state.room.saturating_sub(words);
                return Ok(());
            }
            _ => return Ok(()),
        };
        match self.flow.state.room.checked_sub(words) {
            Some(left) => {
                self.flow.state.room = left;
                Ok(())
            }
            None => Err(self.misplaced("builds a term where there may be no room for it")),
        }
    }

    /// What any other instruction does to the heap.
    pub(crate) fn heap_effect(&mut self, op: Op) {
        let (need, state) = (self.seen.heap, &mut self.flow.state);
        match op {
            // It makes room for itself if there is none.
            Op::UpdateRecord => {
                let words = u32::try_from(self.seen.number).unwrap_or(u32::MAX).saturating_add(1);
                state.room = state.room.saturating_sub(words);
            }
            Op::Fmove if !self.seen.written.is_empty() => state.room = state.room.saturating_sub(FLOAT),
            Op::TestHeap | Op::AllocateHeap | Op::AllocateHeapZero => state.room = need,
            Op::BsCreateBin | Op::BsInit2 | Op::BsInitBits | Op::BsAppend => state.room = need,
            Op::Bif0 | Op::Bif1 | Op::Bif2 | Op::Bif3 if self.seen.builds_nothing => {}
            _ if leaves_heap_alone(op) => {}
            _ => state.room = 0,
        }
    }
}
