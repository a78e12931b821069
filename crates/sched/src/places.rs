//! Where the schedulers run, as far as that is known: which of them are near each other, and which share a core.

use myriad_sync::Bits;
use myriad_sync::bits::ones;
use myriad_sync::machine::Place;
use std::collections::BTreeMap;

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
    /// Schedulers in these places. One whose place is not known is as near to one as to another.
    pub fn of(places: &[Option<Place>]) -> Places {
        let mut sets: Vec<Set> = Vec::new();
        let mut around = vec![Vec::new(); places.len()];
        let levels: [fn(&Place) -> u16; 4] =
            [|place| place.module, |place| place.cache, |place| place.node, |place| place.socket];
        let known = || places.iter().enumerate().filter_map(|(id, place)| Some((id, place.as_ref()?)));
        let mut add = |members: &mut dyn Iterator<Item = (usize, u16)>| {
            let mut groups = BTreeMap::new();
            for (id, group) in members {
                let set = *groups.entry(group).or_insert_with(|| {
                    sets.push(vec![0; places.len().div_ceil(64)].into());
                    sets.len() - 1
                });
                sets[set][id / 64] |= 1 << (id % 64);
                around[id].push(set);
            }
        };
        levels.iter().for_each(|level| add(&mut known().map(|(id, place)| (id, level(place)))));
        add(&mut (0..places.len()).map(|id| (id, 0)));
        let module = |id: usize| places[id].map(|place| place.module);
        let on_one_core =
            |id: usize, other: &usize| *other != id && module(id).is_some() && module(*other) == module(id);
        let mates = (0..places.len()).map(|id| (0..places.len()).filter(|other| on_one_core(id, other)).collect());
        let mates = mates.collect();
        Places { sets, around: around.into_iter().map(Vec::into_boxed_slice).collect(), mates }
    }

    /// Those on the same core as this one.
    #[inline]
    pub fn mates(&self, id: usize) -> &[usize] {
        &self.mates[id]
    }

    /// The idle schedulers, of so many active ones, in the order in which work of this one wakes them: the nearest first, then this one itself. Two that share a core do not
    /// work twice as fast as one, so those with a mate that works come after all others.
    pub fn to_wake<'a>(&'a self, id: usize, active: usize, idle: &'a Bits) -> impl Iterator<Item = usize> {
        let nearest = move || self.nearest(id, |index, of| idle.word(index) & of).chain([id]);
        let is_alone = move |other: &usize| self.is_alone(*other, active, idle);
        nearest().filter(is_alone).chain(nearest().filter(move |other| !is_alone(other)))
    }

    /// How many schedulers, the first ones by number, have so many cores between them; or are so many, where there are fewer cores.
    pub fn to_have(&self, cores: usize) -> usize {
        let has_core_of_its_own = |id: &usize| self.mates(*id).iter().all(|mate| mate > id);
        let last = (0..self.mates.len()).filter(has_core_of_its_own).take(cores).last();
        last.map_or(0, |id| id + 1).max(cores)
    }

    /// Do all that share a core with this scheduler rest, of so many active ones, of which these are idle?
    pub fn is_alone(&self, id: usize, active: usize, idle: &Bits) -> bool {
        self.mates(id).iter().all(|mate| *mate >= active || idle.has(*mate))
    }

    /// The schedulers that `word` gives, but for this one: the nearest first, and of those that are as near the next ones by number. `word` is
    /// asked which of some bits, those of the word of such a number, are set.
    pub fn nearest<'a>(&'a self, id: usize, word: impl Fn(usize, u64) -> u64 + 'a) -> impl Iterator<Item = usize> + 'a {
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
                ones(if part == 0 { 0 } else { word(index, part) }).map(move |bit| index * 64 + bit)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Bits, Place, Places};

    /// Two sockets of four cores of two threads, the first threads first; two cores share a cache.
    fn eight_cores() -> Places {
        let place = |id: u16| {
            let [core, cache, node] = [id % 8, id % 8 / 2, id % 8 / 4];
            Some(Place { thread: id / 8, core, module: core, cache, node, socket: node })
        };
        Places::of(&(0..16).map(place).collect::<Vec<_>>())
    }

    fn all(_: usize, of: u64) -> u64 {
        of
    }

    #[test]
    fn where_nothing_is_known_the_next_ones_come_first() {
        let places = Places::of(&[None; 5]);
        assert_eq!(places.nearest(3, all).collect::<Vec<_>>(), [4, 0, 1, 2]);
        assert!(places.mates(0).is_empty());
        let places = Places::of(&[None; 130]);
        let order: Vec<usize> = places.nearest(70, all).collect();
        assert_eq!(order, (71..130).chain(0..70).collect::<Vec<_>>());
        assert_eq!(
            places.nearest(70, |index, of| if index == 1 { of & (1 << 6 | 1) } else { 0 }).collect::<Vec<_>>(),
            [64]
        );
    }

    /// Two sockets of two caches of two cores of two threads, those of a core eight apart.
    #[test]
    fn near_ones_come_first() {
        let places = eight_cores();
        assert_eq!(places.mates(3), [11]);
        assert_eq!([1, 8, 9, 16].map(|cores| places.to_have(cores)), [1, 8, 9, 16]);
        assert_eq!(
            places.nearest(3, all).collect::<Vec<_>>(),
            [11, 10, 2, 8, 9, 0, 1, 4, 5, 6, 7, 12, 13, 14, 15].to_vec(),
        );
    }

    /// Four processors on two cores, and more schedulers than those.
    #[test]
    fn some_are_bound_and_some_are_not() {
        let place = |id: u16| Place { thread: id / 2, core: id % 2, module: id % 2, ..Place::default() };
        let places = Places::of(&[Some(place(0)), Some(place(1)), Some(place(2)), Some(place(3)), None, None]);
        assert_eq!([0, 1, 2, 3, 4].map(|id| places.mates(id).to_vec()), [vec![2], vec![3], vec![0], vec![1], vec![]]);
        assert_eq!(places.nearest(1, all).collect::<Vec<_>>(), [3, 2, 0, 4, 5]);
        assert_eq!(places.nearest(4, all).collect::<Vec<_>>(), [5, 0, 1, 2, 3]);
    }

    /// Eight cores, on which the schedulers 0, 2 and 8 work, and all others are idle.
    #[test]
    fn whose_mates_work_wake_last() {
        let places = eight_cores();
        let idle = Bits::new(16);
        (0..16).filter(|id| ![0, 2, 8].contains(id)).for_each(|id| idle.set(id));
        // Of 2 the mate is 10, whose core's neighbour in the cache is 3.
        assert_eq!(places.to_wake(2, 16, &idle).collect::<Vec<_>>(), [3, 11, 9, 1, 4, 5, 6, 7, 12, 13, 14, 15, 2, 10]);
        (0..16).filter(|id| ![10, 12].contains(id)).for_each(|id| idle.clear(id));
        assert_eq!(places.to_wake(2, 16, &idle).collect::<Vec<_>>(), [2, 10, 12]);
    }

    /// Cores of two threads, those of a core side by side.
    #[test]
    fn so_many_cores_take_more_schedulers() {
        let place = |id: u16| Place { thread: id % 2, core: id / 2, module: id / 2, ..Place::default() };
        let places = Places::of(&(0..6).map(|id| Some(place(id))).collect::<Vec<_>>());
        assert_eq!([1, 2, 3, 4, 6].map(|cores| places.to_have(cores)), [1, 3, 5, 5, 6]);
        assert_eq!([1, 3].map(|cores| Places::of(&[None; 4]).to_have(cores)), [1, 3]);
        let idle = Bits::new(6);
        idle.set(3);
        assert!(places.is_alone(2, 6, &idle) && !places.is_alone(3, 6, &idle) && places.is_alone(4, 5, &idle));
    }
}
