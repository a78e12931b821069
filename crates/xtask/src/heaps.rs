//! `--heap HOW`: how the processes of the VM that a command tests have their memory.
//!
//! It goes by the environment, so that VMs which a test starts by itself have it too; OTP's `erl` would refuse the flag, so only Myriad's gets it.

use crate::stop::Stop;
use crate::words::Words;
use std::process::Command;

/// The option.
pub const OPTION: &str = "--heap";

/// Its names, as the flag `+heap=HOW` has them.
const NAMES: [&str; 3] = ["private", "hybrid", "shared"];

/// One of the three architectures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heap(&'static str);

impl Heap {
    /// A heap for each process.
    pub const PRIVATE: Heap = Heap(NAMES[0]);
    /// The same, with large messages as bundles.
    pub const HYBRID: Heap = Heap(NAMES[1]);
    /// One heap of all processes.
    pub const SHARED: Heap = Heap(NAMES[2]);
    /// What Myriad has by itself (docs/heaps.md, "The choice").
    pub const DEFAULT: Heap = Heap::HYBRID;

    /// The one that was asked for.
    pub fn asked_for(words: &Words) -> Result<Option<Heap>, Stop> {
        words.value(OPTION).map(Heap::named).transpose()
    }

    fn named(name: &str) -> Result<Heap, Stop> {
        let found = NAMES.into_iter().find(|one| *one == name).map(Heap);
        found.ok_or_else(|| Stop::Usage(format!("{OPTION} {name}: {}", NAMES.join(", "))))
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// The emulator's flag.
    pub fn flag(self) -> String {
        format!("+heap={}", self.0)
    }
}

/// Has a VM of ours, and those that it starts, have its memory so; `None`: as it does by itself.
pub fn give(command: &mut Command, heap: Option<Heap>) {
    if let Some(heap) = heap {
        command.env("ERL_AFLAGS", heap.flag());
    }
}

/// The option as it is typed again, with a blank before it.
pub fn again(heap: Option<Heap>) -> String {
    heap.map_or_else(String::new, |heap| format!(" {OPTION} {}", heap.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_is_a_flag_in_the_environment() {
        let words = |line: &str| Words::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), &[], &[OPTION]);
        let heap = Heap::asked_for(&words("--heap hybrid").unwrap()).unwrap();
        assert_eq!((heap, again(heap)), (Some(Heap::HYBRID), " --heap hybrid".to_owned()));
        let mut command = Command::new("true");
        give(&mut command, heap);
        assert_eq!(command.get_envs().next(), Some(("ERL_AFLAGS".as_ref(), Some("+heap=hybrid".as_ref()))));
        let mut command = Command::new("true");
        let none = Heap::asked_for(&words("word").unwrap()).unwrap();
        give(&mut command, none);
        assert_eq!((command.get_envs().count(), again(none)), (0, String::new()));
        assert!(matches!(Heap::asked_for(&words("--heap large").unwrap()), Err(Stop::Usage(_))));
    }
}
