//! Binding the functions of NIF modules.

use crate::{BuiltIns, CodeServer, Executor, NifLibrary, Runtime};
use myriad_term::{Atom, Mfa};

/// What came of binding a module's NIFs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NifBinding {
    /// Done.
    Bound,
    /// Its NIFs were bound before.
    Again,
    /// No such module is loaded, or being loaded.
    NotLoaded,
}

/// The version of a module whose functions NIFs would replace.
pub struct NifTarget {
    /// Its functions, and whether each may be a NIF: all, unless the module says which (`-nifs`).
    pub functions: Vec<(Mfa, bool)>,
    /// Another version of the module has NIFs.
    pub is_upgrade: bool,
}

impl<R: Runtime> CodeServer<R> {
    /// The version that NIFs would be bound of ([`CodeServer::bind_nifs`]).
    ///
    /// # Errors
    /// There is none, or its NIFs are bound.
    pub fn functions_for_nifs(&self, name: Atom) -> Result<NifTarget, NifBinding> {
        let table = self.table.write();
        let entry = table.get(name).ok_or(NifBinding::NotLoaded)?;
        let module = entry.on_load.as_ref().or(entry.current.as_ref()).ok_or(NifBinding::NotLoaded)?.get();
        let has_nifs = |module: &crate::Module<R>| module.nifs.get().is_some();
        if has_nifs(module) {
            return Err(NifBinding::Again);
        }
        let versions = [&entry.on_load, &entry.current, &entry.old];
        let is_upgrade = versions.into_iter().flatten().any(|version| has_nifs(version.get()));
        let defined = &module.beam.functions;
        let declares = defined.iter().any(|function| function.has_nif_start);
        let may_be_nif = |declared: bool| declared || !declares;
        let functions = module.functions.iter().zip(defined);
        let functions = functions.map(|(function, found)| (function.mfa, may_be_nif(found.has_nif_start))).collect();
        Ok(NifTarget { functions, is_upgrade })
    }

    /// Replaces the functions of the module that the registry has NIFs for: of the version whose on_load function runs, or
    /// else of the current one. They are this library's.
    pub fn bind_nifs(
        &self,
        name: Atom,
        bifs: &dyn BuiltIns<R>,
        engine: &dyn Executor<R>,
        library: Box<dyn NifLibrary>,
    ) -> NifBinding {
        let table = self.table.write();
        let Some(module) = table.get(name).and_then(|entry| entry.on_load.as_ref().or(entry.current.as_ref())) else {
            return NifBinding::NotLoaded;
        };
        let module = module.get();
        if module.nifs.set(library).is_err() {
            return NifBinding::Again;
        }
        for function in &module.functions {
            if let Some(def) = bifs.nif(function.mfa) {
                function.bind_bif(def, engine);
            }
        }
        NifBinding::Bound
    }
}
