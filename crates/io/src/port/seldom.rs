//! What most ports never need: it takes memory when it is first changed, and a word until then. Ten thousand idle connections are mostly such.

use myriad_term::Pid;
use std::collections::{BTreeSet, btree_set};
use std::iter::Chain;
use std::option;

/// A value that is mostly as it is by default.
#[derive(Default)]
pub(super) struct Seldom<T>(Option<Box<T>>);

impl<T: Default> Seldom<T> {
    /// The value, if it was ever changed.
    pub(super) fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// The value, to be changed if it was ever changed.
    pub(super) fn present(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// The value, to be changed.
    pub(super) fn get_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }

    /// Takes the value out; it is as by default from now on.
    pub(super) fn take(&mut self) -> T {
        self.0.take().map(|value| *value).unwrap_or_default()
    }
}

/// The processes that a port is linked to: mostly one, its owner, which needs no memory of its own.
#[derive(Default)]
pub(super) struct Links {
    first: Option<Pid>,
    others: Seldom<BTreeSet<Pid>>,
}

impl Links {
    /// Adds one; `false`: it is there.
    pub(super) fn insert(&mut self, pid: Pid) -> bool {
        if self.first == Some(pid) || self.others.get().is_some_and(|others| others.contains(&pid)) {
            return false;
        }
        match self.first {
            None => self.first = Some(pid),
            Some(_) => _ = self.others.get_mut().insert(pid),
        }
        true
    }

    /// Takes one out; `false`: it was not there.
    pub(super) fn remove(&mut self, pid: Pid) -> bool {
        if self.first == Some(pid) {
            self.first = None;
            return true;
        }
        self.others.present().is_some_and(|others| others.remove(&pid))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.get().map_or(0, BTreeSet::len)
    }

    /// None?
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = Pid> {
        self.first.into_iter().chain(self.others.get().into_iter().flatten().copied())
    }

    /// Takes all of them out.
    pub(super) fn take(&mut self) -> Chain<option::IntoIter<Pid>, btree_set::IntoIter<Pid>> {
        self.first.take().into_iter().chain(self.others.take())
    }
}

#[cfg(test)]
mod tests {
    use super::{Links, Seldom};
    use myriad_term::Pid;

    #[test]
    fn a_value_is_there_once_it_is_changed() {
        let mut value: Seldom<Vec<u8>> = Seldom::default();
        assert!(value.get().is_none() && value.present().is_none());
        value.get_mut().push(7);
        assert_eq!(value.get(), Some(&vec![7]));
        assert_eq!(value.take(), [7]);
        assert!(value.get().is_none() && value.take().is_empty());
    }

    #[test]
    fn links_are_a_set() {
        let pids: Vec<Pid> = (1..=3).map(|number| Pid::new(number, 0)).collect();
        let mut links = Links::default();
        assert!(links.is_empty());
        for (has, pid) in pids.iter().enumerate() {
            assert!(links.insert(*pid) && !links.insert(*pid));
            assert_eq!(links.len(), has + 1);
        }
        assert_eq!(links.iter().collect::<Vec<_>>(), pids);
        assert!(links.remove(pids[0]) && !links.remove(pids[0]));
        assert!(!links.insert(pids[2]), "it is among the others");
        assert!(links.insert(pids[0]) && links.remove(pids[1]));
        assert_eq!(links.take().collect::<Vec<_>>(), [pids[0], pids[2]]);
        assert!(links.is_empty());
    }
}
