//! The `myriad` command: the emulator behind `bin/erl`; `myriad version` and `myriad compat`; `myriad topology`, which looks at the
//! machine; `myriad disasm`, `myriad messages` and `myriad heap`, which look at files; `myriad compile`, which makes machine code of files.

#[cfg(all(target_os = "linux", target_env = "gnu", not(system_allocator)))]
mod address_space;
#[cfg(feature = "native")]
mod ahead;
#[cfg(not(system_allocator))]
mod allocator;
#[cfg(all(target_os = "linux", target_env = "gnu", not(system_allocator)))]
mod arena;
mod break_menu;
mod compat;
mod crash;
mod disasm;
#[cfg(all(target_os = "linux", target_env = "gnu", not(system_allocator)))]
mod free_blocks;
mod heap;
#[cfg(not(system_allocator))]
mod magazines;
mod messages;
mod said;
#[cfg(all(target_os = "linux", target_env = "gnu", not(system_allocator)))]
mod slices;
mod topology;

use myriad::{boot, flags};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

// Where sanitizers may look on, the system's allocator serves, which they know (build.rs).
#[cfg(not(system_allocator))]
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// Gives free memory of this thread, and of those that have ended, back to the system.
fn trim() {
    #[cfg(not(system_allocator))]
    {
        unsafe extern "C" {
            fn mi_collect(force: bool);
        }
        magazines::give_back();
        // SAFETY: the allocator's own function, which any thread may call.
        unsafe { mi_collect(true) };
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        {
            free_blocks::give_back();
            arena::look();
        }
    }
}

fn main() {
    crash::install();
    myriad_term::memory::trim_by(trim);
    #[cfg(not(system_allocator))]
    myriad_term::memory::kept_by(magazines::kept);
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let status = match words.split_first().map(|(first, rest)| (first.as_encoded_bytes(), rest)) {
        Some((b"version", _)) => {
            println!("myriad {}", env!("CARGO_PKG_VERSION"));
            0
        }
        Some((b"compat", _)) => compat::print(),
        Some((b"disasm", words)) => said::status(disasm::TAKES, disasm::main(words)),
        Some((b"messages", words)) => said::status(messages::TAKES, messages::main(words)),
        Some((b"heap", words)) => said::status(heap::TAKES, heap::main(words)),
        #[cfg(feature = "native")]
        Some((b"compile", words)) => said::status(ahead::TAKES, ahead::main(words)),
        Some((b"topology", words)) => said::status(topology::TAKES, topology::main(words)),
        _ => emulate(&words.into_iter().map(OsStringExt::into_vec).collect::<Vec<_>>()),
    };
    std::process::exit(status);
}

/// How long the end of the VM waits for what is kept for the next one.
#[cfg(feature = "native")]
const LONGEST_END: std::time::Duration = std::time::Duration::from_millis(4);

fn emulate(words: &[Vec<u8>]) -> i32 {
    match flags::parse(words) {
        Ok(flags::Command::Version) => {
            eprintln!("Myriad emulator version {}", env!("CARGO_PKG_VERSION"));
            0
        }
        Ok(flags::Command::Run(config)) => match boot::start(*config) {
            Ok(vm) => {
                break_menu::start(vm);
                myriad_observe::crash_dump::install(vm);
                myriad_observe::debugger::keep();
                let status = vm.run();
                #[cfg(feature = "native")]
                if let Some(cache) = myriad_jit::Cache::of_program() {
                    cache.finish(LONGEST_END);
                }
                status
            }
            Err(message) => {
                eprintln!("myriad: {message}");
                1
            }
        },
        Err(flags::BadFlag(message)) => {
            eprintln!("{message}\r\nUsage: erl [+flags] [init arguments]; see erl(1) for the emulator flags");
            1
        }
    }
}
