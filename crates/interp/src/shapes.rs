//! Key tuples of maps that code makes with keys that it names (`#{width => W, precision => P}`): each made once, for all maps
//! and all code of the same keys.
//!
//! SH1. The keys are atoms and small integers, and a tuple is never freed: a map may outlive the code that made it. How many
//!      there are is bounded by what programs say.

use myriad_heap::LiteralArea;
use myriad_sync::{LazyLock, LockClass, Mutex};
use myriad_term::compare::compare_exact;
use myriad_term::map::FLAT_LIMIT;
use myriad_term::{Build, Term};
use std::collections::HashMap;

static CLASS: LockClass = LockClass::new("map_shapes", 715);
static SHAPES: LazyLock<Mutex<Shapes>> =
    LazyLock::new(|| Mutex::new(&CLASS, Shapes { tuples: HashMap::new(), area: LiteralArea::permanent() }));

struct Shapes {
    /// Tuples by the words of their keys.
    tuples: HashMap<Box<[u64]>, Term>,
    area: LiteralArea,
}

/// May a term be a key here (SH1)?
pub fn is_plain(key: Term) -> bool {
    key.is_atom() || key.is_small()
}

/// The key tuple of these keys, which stand in the order of a flat map and are all different.
pub fn key_tuple(keys: &[Term]) -> Option<Term> {
    let in_order = keys.windows(2).all(|pair| compare_exact(pair[0], pair[1]).is_lt());
    if !in_order || keys.len() > FLAT_LIMIT || !keys.iter().all(|key| is_plain(*key)) {
        return None;
    }
    let words: Box<[u64]> = keys.iter().map(|key| key.raw()).collect();
    let mut shapes = SHAPES.lock();
    if let Some(known) = shapes.tuples.get(&words) {
        return Some(*known);
    }
    let tuple = shapes.area.tuple(keys);
    shapes.tuples.insert(words, tuple);
    Some(tuple)
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::am;

    #[test]
    fn one_tuple_for_the_same_keys() {
        let keys = [Term::small(3), am::error.term(), am::ok.term()];
        let tuple = key_tuple(&keys).unwrap();
        assert_eq!(tuple.as_tuple().unwrap().elements(), keys);
        assert!(tuple.is(key_tuple(&keys).unwrap()));
        assert!(!tuple.is(key_tuple(&keys[1..]).unwrap()));
    }

    #[test]
    fn only_plain_keys_in_order() {
        assert!(key_tuple(&[am::ok.term(), am::error.term()]).is_none());
        assert!(key_tuple(&[am::ok.term(), am::ok.term()]).is_none());
        assert!(key_tuple(&[Term::small(1), Term::immediate_float(2.0).unwrap()]).is_none());
    }
}
