//! Panics while code is made: the function has no code then, and the program goes on.
//!
//! Elsewhere a panic is a broken invariant, which ends the VM. What makes code only reads the function and builds things of its own, which go with
//! it; so nothing that others use is left half done, and its panic says no more than that this function is too much for it.
//!
//! CA1. [`caught`] runs what shares nothing that it changes: from instructions to a form, and from a form to code that stands nowhere yet.
//! CA2. A panic unwinds the stack only where it is caught: the program's hook ends it otherwise, and asks [`noted`] first. (The profile's
//!      `panic = "unwind"` is for that alone.)
//!
//! Not caught are a stack that is full (workers have 8 MB) and memory that runs out; the limits of `compile.rs` are there for both.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// For the program's panic hook: will the panic of this thread be caught? Then `what` is kept for who catches it.
pub fn noted(what: impl FnOnce() -> String) -> bool {
    let is_caught = cfg!(panic = "unwind") && IS_CAUGHT.get();
    if is_caught {
        SAID.set(Some(what()));
    }
    is_caught
}

/// What `make` gives (CA1), or what it has said in its panic.
pub fn caught<T>(make: impl FnOnce() -> T) -> Result<T, String> {
    let before = IS_CAUGHT.replace(true);
    // Unwind safety: CA1.
    let made = catch_unwind(AssertUnwindSafe(make));
    IS_CAUGHT.set(before);
    made.map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
        SAID.take().unwrap_or_else(|| text.unwrap_or("panic").to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::{caught, noted};

    #[test]
    fn what_panics_has_said_why() {
        assert_eq!(caught(|| 7), Ok(7));
        assert_eq!(caught(|| assert!(std::hint::black_box(false), "too {}", "much")), Err("too much".to_owned()));
        assert!(!noted(|| unreachable!("nothing is caught here")));
        let inner = || caught(|| assert!(std::hint::black_box(false), "inner"));
        assert_eq!(caught(inner), Ok(Err("inner".to_owned())));
        let said = caught(|| {
            assert_eq!(inner(), Err("inner".to_owned()));
            assert!(noted(|| "with its place".to_owned()), "the outer one still catches");
            panic!("without");
        });
        assert_eq!(said, Err("with its place".to_owned()));
        assert_eq!(caught(|| std::panic::panic_any(7)), Err("panic".to_owned()));
    }
}
