//! The observer of tests; crate `observe` has that of users.

pub use crate::upcalls::Observer;

use crate::ctx::Ctx;

/// The observer of a VM that nobody looks into: for tests.
pub struct NoObserver;

impl Observer for NoObserver {
    fn fatal(&self, slogan: &str) {
        eprintln!("{slogan}");
    }

    fn process_dump(&self, _: &Ctx<'_>) -> String {
        String::new()
    }
}
