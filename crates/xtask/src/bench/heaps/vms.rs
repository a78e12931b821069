//! The VMs that are compared: `erl`, and this one with each architecture that it has.

use super::super::measure::Bench;
use crate::program;
use std::path::PathBuf;

/// The architectures, as `+heap=` names them, and the letters of the paper's bars.
const ARCHITECTURES: [(&str, &str, &str); 3] =
    [("private", "P", "+heap=private"), ("shared", "S", "+heap=shared"), ("hybrid", "H", "+heap=hybrid")];

/// A VM as it is started.
pub struct Vm {
    /// `erl`, or the architecture.
    pub name: &'static str,
    /// Its letter.
    pub letter: &'static str,
    /// The program.
    pub path: PathBuf,
    /// The flag that chooses the architecture, if it takes one.
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
        .filter(|(_, _, flag)| accepts(&[flag]))
        .map(|(name, letter, flag)| own(name, letter, vec![flag]))
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
        let text = said(&[vm("erl", false), vm("private", true), vm("hybrid", true)]);
        assert_eq!(text, "\nMeasured in turns: erl, private, hybrid. LEFT OUT: shared, which this VM does not have.");
        let text = said(&[vm("erl", false), vm("private", false)]);
        assert!(text.contains("LEFT OUT: shared, hybrid") && text.ends_with("from the mutator."));
    }
}
