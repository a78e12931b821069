//! What the VM asks of the crate that shows it to people (crate `observe`): to say why it ends, and what a process is like.

use crate::ctx::Ctx;

/// What shows people the state of the VM.
pub trait Observer: Send + Sync {
    /// The VM must end: says why, and writes a crash dump. The caller stops the VM.
    fn fatal(&self, slogan: &str);

    /// All of the process that runs, in the words of a crash dump (`{process_dump}` in a match specification).
    fn process_dump(&self, ctx: &Ctx<'_>) -> String;
}

/// An observer that shows nothing: for tests.
pub struct NoObserver;

impl Observer for NoObserver {
    fn fatal(&self, slogan: &str) {
        eprintln!("{slogan}");
    }

    fn process_dump(&self, _: &Ctx<'_>) -> String {
        String::new()
    }
}
