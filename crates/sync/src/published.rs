//! [`Published`]: an object that is made beside the threads that will use it, and published once.
//!
//! PB1. Who finds the object finds it whole. It does not change from then on.
//! PB2. Of several that publish, the first has published; the others keep theirs.
//! PB3. Whoever ends it sees to it that nobody looks any more ([`Pins`](crate::Pins), [`Progress`](crate::Progress)).

use crate::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Relaxed, Release},
};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// An object, once it is there.
#[derive(Debug)]
pub struct Published<T>(AtomicPtr<T>, PhantomData<Box<T>>);

impl<T> Published<T> {
    const_unless_loom! {
        /// Nothing yet.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(AtomicPtr::new(std::ptr::null_mut()), PhantomData)
        }
    }

    /// Publishes an object; `false`: there is one, and this one remains the caller's (PB2).
    ///
    /// # Safety
    /// It comes from a box, and is whole; if it is published, it is not the caller's any more.
    #[must_use]
    pub unsafe fn publish(&self, object: NonNull<T>) -> bool {
        // Release: pairs with the Acquire in `get` (PB1). Relaxed on failure: nothing is read.
        self.0.compare_exchange(std::ptr::null_mut(), object.as_ptr(), Release, Relaxed).is_ok()
    }

    /// The object.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // Acquire: pairs with the Release in `publish`. SAFETY: it stays there for as long as this does (PB3).
        unsafe { self.0.load(Acquire).as_ref() }
    }

    /// Is there one (a figure, already old)?
    #[inline]
    pub fn is_there(&self) -> bool {
        // Relaxed: nothing is read by it.
        !self.0.load(Relaxed).is_null()
    }

    /// Takes the object out (PB3).
    pub fn take(&mut self) -> Option<Box<T>> {
        // Relaxed: who has the only way here has heard of the thread that has published it.
        let object = NonNull::new(self.0.load(Relaxed))?;
        self.0.store(std::ptr::null_mut(), Relaxed);
        // SAFETY: `publish` got it from a box, and it has not been taken out before.
        Some(unsafe { Box::from_raw(object.as_ptr()) })
    }
}

impl<T> Drop for Published<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Published;
    use std::ptr::NonNull;
    use std::sync::Arc;

    #[test]
    fn the_first_is_published_and_dropped_in_the_end() {
        let counted = Arc::new(());
        let object = || NonNull::from(Box::leak(Box::new(counted.clone())));
        let mut published = Published::new();
        assert!(published.get().is_none() && !published.is_there());
        // SAFETY: it comes from a box.
        assert!(unsafe { published.publish(object()) });
        let late = object();
        // SAFETY: as above.
        assert!(!unsafe { published.publish(late) });
        // SAFETY: it was not published.
        drop(unsafe { Box::from_raw(late.as_ptr()) });
        assert!(published.is_there());
        assert_eq!(published.get().map(Arc::strong_count), Some(2));
        assert!(published.take().is_some() && published.take().is_none());
        // SAFETY: as above.
        assert!(unsafe { published.publish(object()) });
        drop(published);
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
