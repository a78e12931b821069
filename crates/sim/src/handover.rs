//! What two threads of the machine at hand take to hand each other a cache line, and a wake-up.
//!
//! The least of many short rounds: in most of them one of the two may have no core.

use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_sync::{Arc, Parker, spin_hint, thread};
use std::time::{Duration, Instant};

/// The other thread.
const NAME: &str = "handover";
const ROUNDS: u64 = 2000;
/// Hand-overs of a round, there and back.
const TURNS: u64 = 50;
const WAKE_UPS: u64 = 400;
/// All rounds together take no longer.
const MOST_TIME: Duration = Duration::from_secs(10);

/// A line takes no longer between two cores. What took longer was a thread that waited for a core.
const MOST_LINE_NS: f64 = 1000.0;

/// A cache line that goes from one core to another: nanoseconds; `None`: no two cores were free at a time. It goes twice when the threads take turns: to be written, which takes it from
/// the reader, and to be read.
///
/// # Errors
/// One line: there is no second thread.
pub fn line_ns() -> Result<Option<f64>, String> {
    let whose = Arc::new(AtomicU64::new(0));
    let theirs = whose.clone();
    let other = thread::spawn(NAME, move || follow(&theirs)).map_err(no_thread)?;
    let since = Instant::now();
    let (mut least, mut turn) = (f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for _ in 0..TURNS {
            // Release: pairs with the Acquire in `follow`, which sees nothing but the number.
            whose.store(turn + 1, Ordering::Release);
            wait_for(&whose, turn + 2);
            turn += 2;
        }
        least = least.min(begin.elapsed().as_nanos() as f64 / (4 * TURNS) as f64);
        if since.elapsed() > MOST_TIME {
            break;
        }
    }
    // Release: as above; it is the sign to end.
    whose.store(END, Ordering::Release);
    // It cannot panic.
    let _ = other.join();
    Ok(Some(least).filter(|ns| *ns <= MOST_LINE_NS))
}

fn no_thread(why: std::io::Error) -> String {
    format!("cannot start a thread: {why}")
}

/// Told to the other thread when all is done.
const END: u64 = u64::MAX;

/// Answers each odd number with the next one.
fn follow(whose: &AtomicU64) {
    let mut turn = 1;
    loop {
        // Acquire: pairs with the Release in `line_ns`.
        match whose.load(Ordering::Acquire) {
            END => return,
            number if number == turn => {
                // Release: pairs with the Acquire in `wait_for`.
                whose.store(turn + 1, Ordering::Release);
                turn += 2;
            }
            _ => spin_hint(),
        }
    }
}

fn wait_for(whose: &AtomicU64, number: u64) {
    // Acquire: pairs with the Release in `follow`.
    while whose.load(Ordering::Acquire) != number {
        spin_hint();
    }
}

/// From a wake-up until the thread that slept works: nanoseconds.
///
/// # Errors
/// One line: there is no second thread.
pub fn wake_ns() -> Result<f64, String> {
    let parkers = Arc::new([Parker::new(), Parker::new()]);
    let theirs = parkers.clone();
    let other = thread::spawn(NAME, move || {
        for _ in 0..WAKE_UPS {
            theirs[1].park(None);
            theirs[0].unpark();
        }
    })
    .map_err(no_thread)?;
    let mut least = f64::INFINITY;
    for _ in 0..WAKE_UPS {
        // So that it sleeps.
        thread::sleep(Duration::from_micros(200));
        let begin = Instant::now();
        parkers[1].unpark();
        parkers[0].park(None);
        least = least.min(begin.elapsed().as_nanos() as f64 / 2.0);
    }
    // It cannot panic.
    let _ = other.join();
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::{MOST_LINE_NS, line_ns, wake_ns};

    #[test]
    fn handing_over_takes_time() {
        // How much is the machine's concern, which may be busy.
        assert!(line_ns().unwrap().is_none_or(|ns| (1.0..=MOST_LINE_NS).contains(&ns)));
        assert!((1.0..f64::INFINITY).contains(&wake_ns().unwrap()));
    }
}
