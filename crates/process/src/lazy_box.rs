//! A part that few processes have: a null pointer until it is first changed.
//!
//! A million processes wait for messages; what they do not use should not cost them memory.

use std::ops::{Deref, DerefMut};

/// A part's value as long as it was never changed.
pub trait StaticDefault: Default + 'static {
    /// The value, to be read.
    fn static_default() -> &'static Self;
}

/// A part that is made when it is first changed; till then it reads as nothing.
#[derive(Default)]
pub struct LazyBox<T: StaticDefault>(Option<Box<T>>);

impl<T: StaticDefault> LazyBox<T> {
    /// Nothing.
    pub const fn new() -> LazyBox<T> {
        LazyBox(None)
    }

    /// The part, if there is one: to be changed without making it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T: StaticDefault> Deref for LazyBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(part) => part,
            None => T::static_default(),
        }
    }
}

impl<T: StaticDefault> DerefMut for LazyBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T: Send + Sync + 'static> StaticDefault for Vec<T> {
    fn static_default() -> &'static Self {
        // An empty vector has no memory, so each is as good as another.
        const { &Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::LazyBox;

    #[test]
    fn reading_makes_nothing() {
        let mut rare: LazyBox<Vec<u64>> = LazyBox::new();
        assert!(rare.is_empty() && rare.get_mut().is_none());
        rare.push(1);
        assert_eq!((rare.len(), rare.get_mut().map(|v| v[0])), (1, Some(1)));
        assert_eq!(size_of::<LazyBox<Vec<u64>>>(), 8);
    }
}
