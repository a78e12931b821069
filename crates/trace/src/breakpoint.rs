//! Breakpoints on functions and exports.
//!
//! B1. A [`Breakpoint`] never changes once a function has it: it is replaced as a whole, and freed by thread progress. So a
//!     thread that reads it may use it for the rest of its slice.
//! B2. While a function has a breakpoint its entry is the engine's breakpoint stub; the engine knows the entry behind it.
//! B3. An export that is traced for itself (`global`) leads to a function of its own, which is made once and never freed; it
//!     belongs to no module, and its breakpoint says which function is behind it. When tracing ends it is left with no
//!     breakpoint: a call that still comes to it looks the export up again.
//! B4. Breakpoints of a version go before it stops being current ([`Patterns::forget`]), so B3's function behind is there.

use crate::Tracing;
use crate::spec::Specification;
use crate::times::{Count, Times};
use crate::tracers::Interned;
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_sync::{Arc, LockClass, RwLock};
use myriad_term::{Export, Mfa, Term};
use myriad_vm::BifDef;
use myriad_vm::Vm;
use myriad_vm::code::{Function, Module};
use std::collections::HashMap;
use std::ptr;

/// A specification, or none: every call matches.
pub type MaybeSpec = Option<Arc<dyn Specification>>;

/// A meta trace (`erlang:trace_pattern/3` with `meta`): its messages go to a tracer of its own, whichever process calls.
pub struct Meta {
    /// Which calls.
    pub spec: MaybeSpec,
    tracer: AtomicU64,
    /// So that a module's number stays.
    _named: Interned,
}

impl Meta {
    /// To this tracer.
    pub fn new(spec: MaybeSpec, tracer: Interned) -> Meta {
        Meta { spec, tracer: AtomicU64::new(tracer.word().raw()), _named: tracer }
    }

    /// The tracer's word; none once it has ended.
    pub fn tracer(&self) -> Option<Term> {
        // Relaxed: one immediate word.
        let word = self.tracer.load(Ordering::Relaxed);
        // SAFETY: an immediate term, from `new`; or 0.
        (word != 0).then(|| unsafe { Term::from_raw(word) })
    }

    /// The tracer has ended: nothing is traced any more.
    pub fn end(&self) {
        // Relaxed: as above.
        self.tracer.store(0, Ordering::Relaxed);
    }
}

/// What is done at calls of a function (B1).
#[derive(Clone)]
pub struct Breakpoint {
    /// Call trace: which calls. Of all calls (`local`) or, on the function of an export (B3), of external ones (`global`).
    pub call: Option<MaybeSpec>,
    /// Meta trace.
    pub meta: Option<Arc<Meta>>,
    /// `call_count`
    pub count: Option<Arc<Count>>,
    /// `call_time`
    pub time: Option<Arc<Times>>,
    /// `erts_debug:breakpoint/2`: the caller's error handler runs instead.
    pub debug: bool,
    /// The function behind (B3), or null.
    pub behind: *const Function,
}

// SAFETY: `behind` is only followed as B3 says.
unsafe impl Send for Breakpoint {}
// SAFETY: `behind` is only followed as B3 says.
unsafe impl Sync for Breakpoint {}

impl Default for Breakpoint {
    fn default() -> Self {
        Breakpoint { call: None, meta: None, count: None, time: None, debug: false, behind: ptr::null() }
    }
}

impl Breakpoint {
    /// Are its calls traced, counted or timed?
    pub fn traces(&self) -> bool {
        self.call.is_some() || self.meta.is_some() || self.count.is_some() || self.time.is_some()
    }

    fn is_empty(&self) -> bool {
        !self.traces() && !self.debug
    }
}

/// The breakpoint of a function, good for the rest of the caller's slice (B1).
#[inline]
pub fn of(function: &Function) -> Option<&'static Breakpoint> {
    // Acquire: pairs with the Release in `replace`. SAFETY: B1; only `replace` stores here, a breakpoint or null.
    unsafe { function.breakpoint.load(Ordering::Acquire).cast::<Breakpoint>().as_ref() }
}

/// The function that an export runs in the end: the one that it leads to, or the one behind that (B3).
pub fn behind(function: &'static Function) -> &'static Function {
    match of(function) {
        // SAFETY: B4.
        Some(b) if !b.behind.is_null() => unsafe { &*b.behind },
        _ => function,
    }
}

/// Is this the function of an export that is, or was, traced for itself (B3)?
#[inline]
pub fn is_stand_in(function: &Function) -> bool {
    function.index == STAND_IN
}

/// Replaces the breakpoint of a function.
fn replace(vm: &'static Vm, function: &Function, breakpoint: Option<Breakpoint>) {
    let new = breakpoint.map_or(ptr::null_mut(), |b| Box::into_raw(Box::new(b)).cast::<()>());
    // AcqRel: pairs with the Acquire in `of`, and takes the old one over.
    let old = function.breakpoint.swap(new, Ordering::AcqRel);
    if let Some(module) = function.module()
        && old.is_null() != new.is_null()
    {
        // Relaxed: see `is_traced`. One writer at a time.
        let count = module.breakpoints.load(Ordering::Relaxed);
        module.breakpoints.store(if new.is_null() { count - 1 } else { count + 1 }, Ordering::Relaxed);
    }
    // A stand-in keeps its entry: calls that are under way find that the breakpoint is gone.
    if !is_stand_in(function) {
        function.settle_entry(vm.engine());
    }
    if !old.is_null() {
        let old = Retired(old.cast());
        vm.progress.retire_unregistered(move || old.free());
    }
}

/// What stands for the index of B3's functions.
const STAND_IN: u32 = u32::MAX - 1;

struct Retired(*mut Breakpoint);
// SAFETY: sole owner of a breakpoint that no function leads to any more.
unsafe impl Send for Retired {}

impl Retired {
    fn free(self) {
        // SAFETY: came from a Box in `replace`; B1's readers have passed a quiescent point.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// The stand-ins of exports (B3).
#[derive(Default)]
pub struct Patterns {
    stand_ins: HashMap<Mfa, &'static Function>,
    /// How many built-ins have a breakpoint of either kind: by definition.
    bifs: HashMap<usize, &'static Export>,
    /// `trace_pattern(on_load, ...)`: what new code gets, and whether exports or all functions.
    pub on_load: Option<(Breakpoint, bool)>,
}

static BIF_CLASS: LockClass = LockClass::new("traced_bifs", 272);
/// Which built-ins have breakpoints, for instructions that call built-ins without their entry. They ask here only while there
/// is a hook at all ([`Switches::hooked`](myriad_vm::tracer::switches::Switches::hooked)): one stands for all these breakpoints.
pub struct BifHooks {
    /// By definition.
    traced: RwLock<HashMap<usize, &'static Export>>,
}

impl Default for BifHooks {
    fn default() -> BifHooks {
        BifHooks { traced: RwLock::new(&BIF_CLASS, HashMap::new()) }
    }
}

impl BifHooks {
    /// The function to enter for a built-in with a breakpoint.
    #[cold]
    pub fn traced(&self, def: &'static BifDef) -> Option<&'static Function> {
        let export = self.traced.read().get(&(ptr::from_ref(def) as usize)).copied()?;
        Some(Function::of_export(export))
    }
}

impl Patterns {
    /// Changes the breakpoint of a function (`local` and its like).
    pub fn change(&mut self, vm: &'static Vm, function: &'static Function, f: impl FnOnce(&mut Breakpoint)) {
        let mut new = of(function).cloned().unwrap_or_default();
        f(&mut new);
        self.set(vm, function, new);
    }

    fn set(&mut self, vm: &'static Vm, function: &'static Function, new: Breakpoint) {
        let some = !new.is_empty();
        if !some && of(function).is_none() {
            return;
        }
        replace(vm, function, some.then_some(new));
        self.note_bif(vm, function);
    }

    /// Keeps the list of built-ins with breakpoints.
    fn note_bif(&mut self, vm: &'static Vm, function: &'static Function) {
        let Some(def) = function.bif() else { return };
        let export = Export::intern(function.mfa);
        let key = ptr::from_ref(def) as usize;
        let entered = Function::of_export(export);
        let before = self.bifs.len();
        // A call that knows the built-in is not meant by `debug`, as on OTP.
        if of(entered).is_some_and(Breakpoint::traces) {
            self.bifs.insert(key, export);
        } else {
            self.bifs.remove(&key);
        }
        if self.bifs.len() != before {
            Tracing::of(vm).bif_hooks.traced.write().clone_from(&self.bifs);
            match (before, self.bifs.len()) {
                (0, _) => vm.switches.add_hook(),
                (_, 0) => vm.switches.remove_hook(),
                _ => {}
            }
        }
    }

    /// The specification by which an export is traced for itself.
    pub fn global(&self, export: &Export) -> Option<MaybeSpec> {
        let entered = Function::of_export(export);
        if is_stand_in(entered) { of(entered)?.call.clone() } else { None }
    }

    /// Traces an export for itself, or no longer. Breakpoints of the function itself go.
    pub fn set_global(&mut self, vm: &'static Vm, export: &'static Export, spec: Option<MaybeSpec>) {
        let entered = Function::of_export(export);
        let function = behind(entered);
        match spec {
            Some(spec) => {
                self.set(vm, function, Breakpoint::default());
                let stand_in = *self.stand_ins.entry(export.mfa).or_insert_with(|| {
                    Box::leak(Box::new(Function::new(export.mfa, vm.engine().breakpoint(), STAND_IN)))
                });
                let breakpoint = Breakpoint { call: Some(spec), behind: function, ..Breakpoint::default() };
                replace(vm, stand_in, Some(breakpoint));
                // Release: pairs with the Acquire in `Function::of_export`.
                export.code.store(ptr::from_ref(stand_in).cast_mut().cast(), Ordering::Release);
            }
            None => {
                if !is_stand_in(entered) {
                    return;
                }
                // Release: as above.
                export.code.store(ptr::from_ref(function).cast_mut().cast(), Ordering::Release);
                replace(vm, entered, None);
            }
        }
        self.note_bif(vm, function);
    }

    /// Takes all breakpoints from a version that is about to stop being current (B4).
    pub fn forget(&mut self, vm: &'static Vm, module: &'static Module) {
        for (export, _) in &module.exports {
            self.set_global(vm, export, None);
        }
        for function in &module.functions {
            self.set(vm, function, Breakpoint::default());
        }
    }

    /// Gives a version that has just become current what new code gets.
    pub fn welcome(&mut self, vm: &'static Vm, module: &'static Module) {
        let Some((breakpoint, global)) = self.on_load.clone() else { return };
        if global {
            for (export, _) in &module.exports {
                self.set_global(vm, export, breakpoint.call.clone());
            }
            return;
        }
        for function in &module.functions {
            let mut own = breakpoint.clone();
            own.count = own.count.map(|_| Arc::default());
            own.time = own.time.map(|_| Times::new());
            self.set(vm, function, own);
        }
    }
}
