//! What machine code calls where code of its own would be long: functions of terms that take no room, raise nothing and never give way, so that
//! registers live on over a call.

use crate::{guards, matching};
use myriad_heap::meter::{self, Work};
use myriad_term::Term;
use myriad_term::equal::{eq, eq_exact};
use myriad_vm::Ctx;

/// One of them. All take words of terms, [`Leaf::DictionaryValue`] the address of the slice's context
/// ([`REGISTERS.context`](crate::tiers::REGISTERS)) before them, and give a number, or a term that is [`Term::NONE`] where there is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Leaf {
    /// Two terms: `=:=`, 1 or 0.
    Equal,
    /// Two terms: `==`, 1 or 0.
    EqualInValue,
    /// Two terms: below 0, 0 or above 0 as the first is before, as or behind the second in the order of terms.
    Order,
    /// A map and a key: the value. None: it is no map, or has no such key.
    MapValue,
    /// A map: how many keys. None: it is no map.
    MapSize,
    /// A bit string: its bytes, rounded up. None: it is none.
    ByteSize,
    /// A bit string: its bits. None: it is none.
    BitSize,
    /// A list: its length. None: it is none, or so long that counting it costs reductions.
    Length,
    /// A fun and an arity: is it a fun that takes so many arguments? 1 or 0.
    IsFunctionOf,
    /// Is it whole bytes? 1 or 0.
    IsBinary,
    /// A match context: the character in UTF-8 at its position, which is behind it then. None: there is none.
    TakeUtf8,
    /// The context and a key: its value in the process's dictionary, or `undefined`.
    DictionaryValue,
}

impl Leaf {
    /// All, by number.
    const ALL: [Leaf; 12] = [
        Leaf::Equal,
        Leaf::EqualInValue,
        Leaf::Order,
        Leaf::MapValue,
        Leaf::MapSize,
        Leaf::ByteSize,
        Leaf::BitSize,
        Leaf::Length,
        Leaf::IsFunctionOf,
        Leaf::IsBinary,
        Leaf::TakeUtf8,
        Leaf::DictionaryValue,
    ];

    /// The one whose number, `leaf as u32`, this is.
    pub fn of_number(number: u32) -> Option<Leaf> {
        Leaf::ALL.get(number as usize).copied()
    }

    /// Is it called rarely where code asks for it? Then it keeps all registers; what it takes and gives is in
    /// [`REGISTERS.told`](crate::tiers::REGISTERS), so that nothing has to be in certain registers for it.
    pub fn is_rare(self) -> bool {
        matches!(self, Leaf::Equal | Leaf::EqualInValue | Leaf::Order | Leaf::IsBinary)
    }

    /// Where its code is.
    pub fn address(self) -> usize {
        match self {
            Leaf::Equal => rare::equal as *const () as usize,
            Leaf::EqualInValue => rare::equal_in_value as *const () as usize,
            Leaf::Order => rare::order as *const () as usize,
            Leaf::MapValue => map_value as *const () as usize,
            Leaf::MapSize => map_size as *const () as usize,
            Leaf::ByteSize => byte_size as *const () as usize,
            Leaf::BitSize => bit_size as *const () as usize,
            Leaf::Length => length as *const () as usize,
            Leaf::IsFunctionOf => is_function_of as *const () as usize,
            Leaf::IsBinary => rare::is_binary as *const () as usize,
            Leaf::TakeUtf8 => take_utf8 as *const () as usize,
            Leaf::DictionaryValue => dictionary_value as *const () as usize,
        }
    }
}

/// Ways to functions that keep all registers: those that code has doubles or words in. r15 holds the register block.
#[cfg(target_arch = "x86_64")]
mod rare {
    use crate::tiers::REGISTERS;

    macro_rules! ways {
        ($($name:ident)*) => { $(
            #[unsafe(naked)]
            pub(super) unsafe extern "sysv64" fn $name() {
                std::arch::naked_asm!(
                    "push rax
                    push rcx
                    push rdx
                    push rsi
                    push rdi
                    push r8
                    push r9
                    push r10
                    push r11
                    sub rsp, 256
                    movups [rsp], xmm0
                    movups [rsp + 16], xmm1
                    movups [rsp + 32], xmm2
                    movups [rsp + 48], xmm3
                    movups [rsp + 64], xmm4
                    movups [rsp + 80], xmm5
                    movups [rsp + 96], xmm6
                    movups [rsp + 112], xmm7
                    movups [rsp + 128], xmm8
                    movups [rsp + 144], xmm9
                    movups [rsp + 160], xmm10
                    movups [rsp + 176], xmm11
                    movups [rsp + 192], xmm12
                    movups [rsp + 208], xmm13
                    movups [rsp + 224], xmm14
                    movups [rsp + 240], xmm15
                    mov rdi, [r15 + {told}]
                    mov rsi, [r15 + {told} + 8]
                    call {function}
                    mov [r15 + {told}], rax
                    movups xmm0, [rsp]
                    movups xmm1, [rsp + 16]
                    movups xmm2, [rsp + 32]
                    movups xmm3, [rsp + 48]
                    movups xmm4, [rsp + 64]
                    movups xmm5, [rsp + 80]
                    movups xmm6, [rsp + 96]
                    movups xmm7, [rsp + 112]
                    movups xmm8, [rsp + 128]
                    movups xmm9, [rsp + 144]
                    movups xmm10, [rsp + 160]
                    movups xmm11, [rsp + 176]
                    movups xmm12, [rsp + 192]
                    movups xmm13, [rsp + 208]
                    movups xmm14, [rsp + 224]
                    movups xmm15, [rsp + 240]
                    add rsp, 256
                    pop r11
                    pop r10
                    pop r9
                    pop r8
                    pop rdi
                    pop rsi
                    pop rdx
                    pop rcx
                    pop rax
                    ret",
                    function = sym super::$name,
                    told = const REGISTERS.told,
                )
            }
        )* };
    }
    ways! { equal equal_in_value order is_binary }
}

/// Elsewhere no code calls them.
#[cfg(not(target_arch = "x86_64"))]
use self as rare;

/// The term of a word that machine code has in a register.
fn term(word: u64) -> Term {
    // SAFETY: of the running process, whose code calls.
    unsafe { Term::from_raw(word) }
}

fn or_none(term: Option<Term>) -> u64 {
    term.unwrap_or(Term::NONE).raw()
}

extern "C" fn equal(a: u64, b: u64) -> u64 {
    meter::count(Work::Compare, 1);
    eq_exact(term(a), term(b)).into()
}

extern "C" fn equal_in_value(a: u64, b: u64) -> u64 {
    eq(term(a), term(b)).into()
}

extern "C" fn order(a: u64, b: u64) -> i64 {
    meter::count(Work::Compare, 1);
    guards::order(term(a), term(b)) as i64
}

extern "C" fn map_value(map: u64, key: u64) -> u64 {
    or_none(term(map).as_map().and_then(|map| map.get(term(key))))
}

extern "C" fn map_size(map: u64) -> u64 {
    or_none(guards::map_size_of(term(map)))
}

extern "C" fn byte_size(bits: u64) -> u64 {
    or_none(guards::byte_size_of(term(bits)))
}

extern "C" fn bit_size(bits: u64) -> u64 {
    or_none(guards::bit_size_of(term(bits)))
}

extern "C" fn length(list: u64) -> u64 {
    or_none(guards::short_length(term(list)))
}

extern "C" fn is_function_of(fun: u64, arity: u64) -> u64 {
    guards::takes(term(fun), term(arity)).into()
}

extern "C" fn is_binary(bits: u64) -> u64 {
    term(bits).as_bits().is_some_and(|bits| bits.len().is_multiple_of(8)).into()
}

extern "C" fn take_utf8(context: u64) -> u64 {
    or_none(matching::take_utf8(term(context)))
}

extern "C" fn dictionary_value(context: &Ctx<'_>, key: u64) -> u64 {
    context.dictionary_value(term(key)).raw()
}

#[cfg(test)]
mod tests {
    use super::Leaf;

    #[test]
    fn leaves_are_found_by_number() {
        for (number, leaf) in (0..).zip(Leaf::ALL) {
            assert_eq!(leaf as u32, number);
            assert_eq!(Leaf::of_number(number), Some(leaf));
        }
        assert_eq!(Leaf::of_number(Leaf::ALL.len() as u32), None);
    }
}
