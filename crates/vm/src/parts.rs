//! What upper crates keep for a VM, by its type.
//!
//! The table has as many slots as it takes for each type to have one of its own (a perfect hash function: Sprugnoli, CACM 20, 1977), so
//! that one look tells, without a search: some built-ins ask at each call.

use std::any::{Any, TypeId};
use std::hash::{Hash, Hasher};

/// State that an upper crate keeps for a VM.
pub type Part = &'static (dyn Any + Send + Sync);

/// So many slots are enough for each type to have one of its own: the bits of a type's identifier are a hash.
const MOST_SLOTS: usize = 1 << 20;

/// The parts of a VM, each of a type of its own.
pub(crate) struct PartTable(Box<[Option<(TypeId, Part)>]>);

/// Takes the bits of a type's identifier as they are.
#[derive(Default)]
struct Bits(u64);

impl Hasher for Bits {
    #[inline]
    fn write_u64(&mut self, bits: u64) {
        self.0 = bits;
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |bits, byte| bits.rotate_left(8) ^ u64::from(*byte));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[inline]
fn slot(of: TypeId, slots: usize) -> usize {
    let mut bits = Bits::default();
    of.hash(&mut bits);
    bits.finish() as usize & slots.wrapping_sub(1)
}

impl PartTable {
    /// Of these parts.
    ///
    /// # Panics
    /// Two of them are of one type: a mistake in the wiring.
    pub(crate) fn new(parts: &[Part]) -> PartTable {
        let mut sizes = std::iter::successors(Some(1), |size| Some(size * 2)).take_while(|size| *size <= MOST_SLOTS);
        sizes.find_map(|size| PartTable::of_size(parts, size)).expect("each part is of a type of its own")
    }

    /// Nothing if two of the parts want one slot.
    fn of_size(parts: &[Part], size: usize) -> Option<PartTable> {
        let mut slots: Box<[Option<(TypeId, Part)>]> = vec![None; size].into();
        for part in parts {
            let id = (**part).type_id();
            if slots[slot(id, size)].replace((id, *part)).is_some() {
                return None;
            }
        }
        Some(PartTable(slots))
    }

    /// The part of this type.
    #[inline]
    pub(crate) fn get<T: Any>(&self) -> Option<&'static T> {
        let (id, part) = self.0.get(slot(TypeId::of::<T>(), self.0.len()))?.as_ref()?;
        // SAFETY: the entry has the identifier of the part's type (`of_size`), which is that of T.
        (*id == TypeId::of::<T>()).then(|| unsafe { &*std::ptr::from_ref(*part).cast::<T>() })
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, PartTable};

    #[test]
    fn each_part_is_found_by_its_type() {
        let parts: [Part; 6] = [&1u8, &2u16, &3u32, &4u64, &5i8, &"six"];
        let table = PartTable::new(&parts);
        assert_eq!((table.get::<u8>(), table.get::<u16>(), table.get::<u32>()), (Some(&1), Some(&2), Some(&3)));
        assert_eq!((table.get::<u64>(), table.get::<i8>(), table.get::<&str>()), (Some(&4), Some(&5), Some(&"six")));
        assert_eq!((table.get::<i16>(), table.get::<String>()), (None, None));
        assert_eq!(PartTable::new(&[]).get::<u8>(), None);
    }

    #[test]
    #[should_panic(expected = "each part is of a type of its own")]
    fn two_of_one_type_are_a_mistake() {
        let _ = PartTable::new(&[&1u8, &2u8]);
    }
}
