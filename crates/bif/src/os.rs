//! The operating system: environment, signals.

pub mod environment;
pub mod signals;

/// How many descriptors the operating system lets this process have.
pub fn most_descriptors() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: it writes to the structure that it is given, and nothing else.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX).min(MOST)
}

/// OTP's limit where there is none.
const MOST: usize = i32::MAX as usize;
