//! Points at which a test driver may let another thread run.
//!
//! Code that shares state with other threads calls [`sim_point`] between two steps of a protocol. A driver that runs schedulers
//! from a seed sets itself up with [`drive_by`], and so decides which interleaving is tried. Release builds have no points.

/// Lets another thread run here, if a driver has set itself up for the calling thread and wants that.
#[inline(always)]
pub fn sim_point() {
    #[cfg(debug_assertions)]
    if let Some(driver) = driver::DRIVER.get() {
        driver();
    }
}

/// Has `driver` called at each point that the calling thread passes, in builds with debug assertions.
pub fn drive_by(driver: fn()) {
    #[cfg(debug_assertions)]
    driver::DRIVER.set(Some(driver));
    #[cfg(not(debug_assertions))]
    let _ = driver;
}

#[cfg(debug_assertions)]
mod driver {
    use std::cell::Cell;

    std::thread_local! {
        pub(super) static DRIVER: Cell<Option<fn()>> = const { Cell::new(None) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::Cell;

    thread_local! {
        static PASSED: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn a_driver_is_called_at_each_point_of_its_thread() {
        super::sim_point();
        super::drive_by(|| PASSED.set(PASSED.get() + 1));
        super::sim_point();
        super::sim_point();
        assert_eq!(PASSED.get(), if cfg!(debug_assertions) { 2 } else { 0 });
    }
}
