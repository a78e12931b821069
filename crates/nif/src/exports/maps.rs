//! Maps.

use crate::abi::{MapIterator, Out, Row, Word};
use crate::check::{self, registry, registry::Thing};
use crate::define::checked_exports;
use crate::env::Env;
use myriad_term::map;
use std::ffi::{c_int, c_uint};

fn put(env: &mut Env, map: Word, key: Word, value: Word, only_if_there: bool) -> Option<Word> {
    let term = map.term();
    let map = term.as_map()?;
    if only_if_there && !map.has_key(key.term()) {
        return None;
    }
    Some(map.put(env, key.term(), value.term()).into())
}

checked_exports! {
    /// Is it a map?
    fn enif_is_map(_env: Option<&mut Env>, term: Word) -> c_int { c_int::from(term.term().is_map()) }

    /// The number of its pairs.
    fn enif_get_map_size(_env: Option<&mut Env>, term: Word, to: Out<usize>) -> c_int {
        let term = term.term();
        to.set_if(term.as_map().map(|map| map.size()))
    }

    /// The empty map.
    fn enif_make_new_map(env: &mut Env) -> Word { map::empty(env).into() }

    /// A map with a pair more, or another value.
    fn enif_make_map_put(env: &mut Env, map: Word, key: Word, value: Word, to: Out<Word>) -> c_int {
        to.set_if(put(env, map, key, value, false))
    }

    /// A map with another value.
    fn enif_make_map_update(env: &mut Env, map: Word, key: Word, value: Word, to: Out<Word>) -> c_int {
        to.set_if(put(env, map, key, value, true))
    }

    /// A map without a key, which it need not have.
    fn enif_make_map_remove(env: &mut Env, map: Word, key: Word, to: Out<Word>) -> c_int {
        let term = map.term();
        to.set_if(term.as_map().map(|map| map.remove(env, key.term()).into()))
    }

    /// The value of a key.
    fn enif_get_map_value(_env: Option<&mut Env>, map: Word, key: Word, to: Out<Word>) -> c_int {
        let term = map.term();
        to.set_if(term.as_map().and_then(|map| map.get(key.term())).map(Word::from))
    }

    /// A map of these keys and values; nothing if a key is there twice.
    fn enif_make_map_from_arrays(env: &mut Env, keys: Row<Word>, values: Row<Word>, count: usize, to: Out<Word>) -> c_int {
        let pairs = keys.terms(count).iter().zip(values.terms(count));
        let pairs: Vec<_> = pairs.map(|(key, value)| (key.term(), value.term())).collect();
        to.set_if(map::from_unique_pairs(env, &pairs).map(Word::from))
    }

    /// Goes through the pairs of a map: from the first (1) or before it, or from the last (2).
    fn enif_map_iterator_create(_env: Option<&mut Env>, map: Word, to: Out<MapIterator>, entry: c_uint) -> c_int {
        let term = map.term();
        let Some(pairs) = term.as_map().map(|map| map.pairs().map(|(key, value)| [key.into(), value.into()])) else { return 0 };
        let pairs: Box<[[Word; 2]]> = pairs.collect();
        let size = pairs.len();
        let index = if entry == 2 { size } else { 1 };
        to.set(MapIterator::new(map, size, index, Box::into_raw(pairs).cast()))
    }

    /// It is used no more.
    fn enif_map_iterator_destroy(_env: Option<&mut Env>, iterator: &mut MapIterator) {
        let pairs = std::mem::replace(&mut iterator.pairs, std::ptr::null_mut());
        // That of no pairs is any iterator's of an empty map.
        if check::is_on() && iterator.size > 0 {
            registry::goes(Thing::Iterator, pairs.addr());
        }
        if !pairs.is_null() {
            // SAFETY: the box that `enif_map_iterator_create` made, of so many pairs.
            drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(pairs, iterator.size)) });
        }
        iterator.size = 0;
    }

    /// Is it before the first pair?
    fn enif_map_iterator_is_head(_env: Option<&mut Env>, iterator: &mut MapIterator) -> c_int { c_int::from(iterator.index == 0) }

    /// Is it behind the last pair?
    fn enif_map_iterator_is_tail(_env: Option<&mut Env>, iterator: &mut MapIterator) -> c_int {
        c_int::from(iterator.index > iterator.size)
    }

    /// The next pair; is there one?
    fn enif_map_iterator_next(_env: Option<&mut Env>, iterator: &mut MapIterator) -> c_int {
        iterator.index = iterator.index.saturating_add(1).min(iterator.size + 1);
        c_int::from(iterator.index <= iterator.size)
    }

    /// The pair before; is there one?
    fn enif_map_iterator_prev(_env: Option<&mut Env>, iterator: &mut MapIterator) -> c_int {
        iterator.index = iterator.index.saturating_sub(1);
        c_int::from(iterator.index > 0)
    }

    /// Key and value.
    fn enif_map_iterator_get_pair(_env: Option<&mut Env>, iterator: &mut MapIterator, key: Out<Word>, value: Out<Word>) -> c_int {
        let pairs = Row::of_data(iterator.pairs);
        let Some(pair) = iterator.index.checked_sub(1).and_then(|i| pairs.slice(iterator.size).get(i)) else { return 0 };
        key.set(pair[0]);
        value.set(pair[1])
    }
}
