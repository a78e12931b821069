//! A whole VM as a library: what the command `myriad` makes its VM with.
//!
//! ```no_run
//! let words: Vec<Vec<u8>> = vec![b"--".to_vec(), b"-root".to_vec(), b"/usr/lib/erlang".to_vec()];
//! if let Ok(myriad::flags::Command::Run(config)) = myriad::flags::parse(&words) {
//!     let vm = myriad::boot::start(*config).expect("a release");
//!     std::process::exit(vm.run());
//! }
//! ```

pub mod boot;
pub mod flags;
pub mod native;
mod own_modules;
pub mod task;

pub use task::Task;
