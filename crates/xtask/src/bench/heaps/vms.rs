//! The VMs that are compared: `erl`, and this one with each architecture that it has.

use super::super::measure::Bench;
use crate::program;
use std::path::PathBuf;

/// The architectures, the letters of the paper's bars, and the flags that choose them.
const ARCHITECTURES: [(&str, &str, &[&str]); 4] = [
    ("private", "P", &["+heap=private"]),
    ("shared", "S", &["+heap=shared"]),
    ("hybrid", "H", &["+heap=hybrid"]),
    ("hybrid without analysis", "H-", &["+heap=hybrid", "+JMbuilt", "false"]),
];

/// A VM as it is started.
pub struct Vm {
    /// `erl`, or the architecture, and whether messages are built without analysis.
    pub name: &'static str,
    /// Its letter.
    pub letter: &'static str,
    /// The program.
    pub path: PathBuf,
    /// The flags that choose it, if it takes any.
    pub flags: Vec<&'static str>,
    /// Does it tell the parts of sends and collections?
    tells_parts: bool,
}

impl Vm {
    /// One without flags.
    #[cfg(test)]
    pub fn plain(name: &'static str, letter: &'static str, path: PathBuf) -> Vm {
        Vm { name, letter, path, flags: vec![], tells_parts: false }
    }

    /// The flag that has the VM tell the parts of sends and collections, if it can.
    pub fn parts_flags(&self) -> &'static [&'static str] {
        if self.tells_parts { &["+JMphases", "true"] } else { &[] }
    }
}

/// `erl`, and the architectures that the measured VM accepts. One that accepts none has private heaps.
pub fn all(bench: &Bench) -> Vec<Vm> {
    let accepts = |flags: &[&str]| {
        let mut command = bench.start_vm(&bench.vm, flags);
        program::quiet(command.args(["-eval", "halt()."])).is_ok_and(|status| status == 0)
    };
    let tells_parts = accepts(&["+JMphases", "true"]);
    let own = |name, letter, flags| Vm { name, letter, path: bench.vm.clone(), flags, tells_parts };
    let mut vms: Vec<Vm> = ARCHITECTURES
        .into_iter()
        .filter(|(_, _, flags)| accepts(flags))
        .map(|(name, letter, flags)| own(name, letter, flags.to_vec()))
        .collect();
    if vms.is_empty() {
        let (name, letter, _) = ARCHITECTURES[0];
        vms.push(own(name, letter, vec![]));
    }
    vms.insert(0, Vm { name: "erl", letter: "erl", path: bench.erl.clone(), flags: vec![], tells_parts: false });
    vms
}

/// Which there are, and which are left out.
pub fn said(vms: &[Vm]) -> String {
    let missing: Vec<&str> =
        ARCHITECTURES.iter().map(|(name, ..)| *name).filter(|name| vms.iter().all(|vm| vm.name != *name)).collect();
    let there: Vec<&str> = vms.iter().map(|vm| vm.name).collect();
    let mut text = format!("\nMeasured in turns: {}.", there.join(", "));
    if !missing.is_empty() {
        text += &format!(" LEFT OUT: {}, which this VM does not have.", missing.join(", "));
    }
    if vms.iter().all(|vm| !vm.tells_parts) {
        text += " This VM does not tell sends, sizes and copies apart from the mutator.";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vm(name: &'static str, tells_parts: bool) -> Vm {
        Vm { name, letter: "P", path: PathBuf::new(), flags: vec![], tells_parts }
    }

    #[test]
    fn what_is_left_out_is_said() {
        let text =
            said(&[vm("erl", false), vm("private", true), vm("hybrid", true), vm("hybrid without analysis", true)]);
        assert_eq!(
            text,
            "\nMeasured in turns: erl, private, hybrid, hybrid without analysis. LEFT OUT: shared, which this VM does not have."
        );
        let text = said(&[vm("erl", false), vm("private", false)]);
        assert!(
            text.contains("LEFT OUT: shared, hybrid, hybrid without analysis,") && text.ends_with("from the mutator.")
        );
    }
}
