//! Where the schedulers run, as far as that is known: which of them are near each other, and which share a core.

use myriad_sync::bits::ones;
use myriad_sync::machine::Place;

/// A set of schedulers, 64 to a word.
type Set = Box<[u64]>;

/// The places of all schedulers.
pub struct Places {
    sets: Vec<Set>,
    /// For each scheduler: the sets that it is in, the smallest first; the last one has all.
    around: Box<[Box<[usize]>]>,
    /// For each scheduler: those on the same core, or on one that shares its front end.
    mates: Box<[Box<[usize]>]>,
}

impl Places {
    /// So many schedulers, none of which is nearer to one than to another.
    pub fn unknown(schedulers: usize) -> Places {
        Places::new(&vec![Place::default(); schedulers], false)
    }

    /// Schedulers in these places.
    pub fn known(places: &[Place]) -> Places {
        Places::new(places, true)
    }

    fn new(places: &[Place], are_known: bool) -> Places {
        let mut sets: Vec<Set> = Vec::new();
        let mut around = vec![Vec::new(); places.len()];
        let levels: [fn(&Place) -> u16; 4] =
            [|place| place.module, |place| place.cache, |place| place.node, |place| place.socket];
        let all: fn(&Place) -> u16 = |_| 0;
        for level in levels.into_iter().filter(|_| are_known).chain([all]) {
            let mut groups = std::collections::BTreeMap::new();
            for (id, place) in places.iter().enumerate() {
                let set = *groups.entry(level(place)).or_insert_with(|| {
                    sets.push(vec![0; places.len().div_ceil(64)].into());
                    sets.len() - 1
                });
                sets[set][id / 64] |= 1 << (id % 64);
                around[id].push(set);
            }
        }
        let on_one_core =
            |id: usize, other: &usize| *other != id && are_known && places[*other].module == places[id].module;
        let mates = (0..places.len()).map(|id| (0..places.len()).filter(|other| on_one_core(id, other)).collect());
        let mates = mates.collect();
        Places { sets, around: around.into_iter().map(Vec::into_boxed_slice).collect(), mates }
    }

    /// Those on the same core as this one.
    #[inline]
    pub fn mates(&self, id: usize) -> &[usize] {
        &self.mates[id]
    }

    /// The schedulers whose bits are set in the words that `word` gives, but for this one: the nearest first, and of those that are as near the
    /// next ones by number.
    pub fn nearest<'a>(&'a self, id: usize, word: impl Fn(usize) -> u64 + 'a) -> impl Iterator<Item = usize> + 'a {
        let around = &self.around[id];
        let words = self.sets[around[0]].len();
        let of_set = move |level: usize, index: usize| {
            let nearer = if level == 0 { 0 } else { self.sets[around[level - 1]][index] };
            self.sets[around[level]][index] & !nearer
        };
        // The word of the scheduler itself comes twice: what is above it first, what is below last.
        (0..around.len()).flat_map(move |level| (0..=words).map(move |turn| (level, turn))).flat_map(
            move |(level, turn)| {
                let index = (id / 64 + turn) % words;
                let up_to_it = u64::MAX >> (63 - id % 64);
                let part = match turn {
                    0 => !up_to_it,
                    _ if turn == words => up_to_it >> 1,
                    _ => u64::MAX,
                };
                let part = part & of_set(level, index);
                ones(if part == 0 { 0 } else { word(index) & part }).map(move |bit| index * 64 + bit)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Places};

    fn all(_: usize) -> u64 {
        u64::MAX
    }

    #[test]
    fn where_nothing_is_known_the_next_ones_come_first() {
        let places = Places::unknown(5);
        assert_eq!(places.nearest(3, all).collect::<Vec<_>>(), [4, 0, 1, 2]);
        assert!(places.mates(0).is_empty());
        let places = Places::unknown(130);
        let order: Vec<usize> = places.nearest(70, all).collect();
        assert_eq!(order, (71..130).chain(0..70).collect::<Vec<_>>());
        assert_eq!(places.nearest(70, |index| if index == 1 { 1 << 6 | 1 } else { 0 }).collect::<Vec<_>>(), [64]);
    }

    /// Two sockets of two caches of two cores of two threads, those of a core eight apart.
    #[test]
    fn near_ones_come_first() {
        let place = |id: u16| {
            let [core, cache, node] = [id % 8, id % 8 / 2, id % 8 / 4];
            Place { thread: id / 8, core, module: core, cache, node, socket: node }
        };
        let places = Places::known(&(0..16).map(place).collect::<Vec<_>>());
        assert_eq!(places.mates(3), [11]);
        assert_eq!(
            places.nearest(3, all).collect::<Vec<_>>(),
            [11, 10, 2, 8, 9, 0, 1, 4, 5, 6, 7, 12, 13, 14, 15].to_vec(),
        );
    }
}
