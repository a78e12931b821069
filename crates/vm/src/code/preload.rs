//! The modules that are there before the first process: read from the release, not part of the VM.

use super::{FinishError, PreparedCode, install_undefined, prepare};
use crate::vm::Vm;

/// Loads the release's preloaded modules.
pub fn load_preloaded(vm: &'static Vm) -> Result<(), String> {
    install_undefined::<Vm>(vm.engine());
    let mut modules = Vec::with_capacity(vm.release.preloaded.len());
    for path in &vm.release.preloaded {
        let cannot = |why: &dyn std::fmt::Display| format!("cannot load {}: {why}", path.display());
        let bytes = std::fs::read(path).map_err(|e| cannot(&e))?;
        let mut prepared = prepare(&bytes, &vm.bifs, vm.engine()).map_err(|e| cannot(&e))?;
        prepared.forget_lines();
        modules.push(PreparedCode::new(prepared));
    }
    let list: Vec<&PreparedCode> = modules.iter().collect();
    match vm.code.finish_loading(&list) {
        Ok(()) => {
            vm.code.set_preloaded(list.iter().map(|code| code.name).collect());
            Ok(())
        }
        Err(FinishError::Duplicated(names) | FinishError::NotPurged(names)) => {
            Err(format!("preloaded modules are there twice: {names:?}"))
        }
        Err(_) => Err("a preloaded module has an on_load function".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::load_preloaded;
    use crate::code::test_support::vm_of;
    use crate::release::Release;
    use myriad_term::{Export, Mfa, am};
    use std::path::Path;

    #[test]
    fn the_preloaded_modules_of_the_installed_release_are_loaded() {
        let Ok(release) = Release::find(Path::new("/usr/lib/erlang")) else { return };
        let vm = vm_of(release, &[]);
        load_preloaded(vm).unwrap();
        assert_eq!(vm.code.preloaded().len(), 21);
        assert_eq!(vm.code.loaded().len(), 21);
        let start = Export::intern(Mfa { module: am::erl_init, function: am::start, arity: 2 });
        assert!(start.is_defined());
        assert!(load_preloaded(vm).is_ok(), "again: the first ones are old now");
        assert!(load_preloaded(vm).unwrap_err().contains("there twice"));
    }
}
