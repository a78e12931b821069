//! A function from its instructions to published machine code.

use crate::cache::Cache;
use crate::live::Live;
use crate::name::{Name, are_in_order, value_in};
use crate::outline::{Made, Outline};
use crate::translate::{Declined, Translated, is_deaf_loop, translate};
use myriad_beam::{Arg, Body, Op};
use myriad_code::NativePtr;
use myriad_interp::code::{NativeCode, publish_companion};
use myriad_interp::decode::companion::{Companion, Draft, Handler, Visit};
use myriad_interp::decode::{At, is_ordinary_call, read};
use myriad_native::caught::caught;
use myriad_native::code::{Code, Options, Refused};
use myriad_native::form::{Form, Point, Symbol};
use myriad_native::link::{CodeSpace, Linked};
use myriad_native::memory::NoMemory;
use myriad_sync::Arc;
use myriad_vm::Vm;
use myriad_vm::code::{Function, Module, count_bytes};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Why a function stays in tier 0.
#[derive(Clone, PartialEq, Debug)]
pub enum Why {
    /// Its instructions are not of a kind that is compiled.
    Declined(Declined),
    /// There is no code for its form.
    Refused(Refused),
    /// There is no memory for its code.
    Memory(NoMemory),
    /// It has code already, or is gone.
    Late,
}

/// The ways into machine code leave it as much of the native stack as the back end lets it use.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
const _: () = assert!(myriad_interp::tiers::SPILL_BYTES >= myriad_native::x64::SPILL_AREA as usize);

/// The machine code of a function, whose memory counts as code, and is given back when this is dropped.
struct Held {
    space: Arc<CodeSpace>,
    linked: Option<Linked>,
}

impl Held {
    fn new(space: Arc<CodeSpace>, linked: Linked) -> Held {
        count_bytes(linked.addresses().len() as i64);
        Held { space, linked: Some(linked) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(linked) = self.linked.take() {
            count_bytes(-(linked.addresses().len() as i64));
            // SAFETY: it is dropped with the companion, when no process runs it (interp/D4), or before anybody has seen it.
            unsafe { self.space.free(linked) };
        }
    }
}

/// The instructions of the companion, by what names them.
#[derive(Default)]
struct Emitted {
    visits: HashMap<Name, Visit>,
    markers: HashMap<Name, Handler>,
}

/// What is made of a function, with what people want to know of it.
pub(crate) struct Fresh {
    pub(crate) made: Made,
    pub(crate) form: Form,
    /// Which instruction of the body is at a place of the list that names and form go by.
    pub(crate) numbers: Vec<usize>,
    /// Index into the module's line table, by the numbers in [`Code::sources`]; 0 where none is known.
    pub(crate) lines: Vec<u32>,
}

impl Fresh {
    fn new(list: &[At<'_>], translated: Translated, code: Code) -> Fresh {
        let mut lines = vec![0; list.last().map_or(0, |at| at.index + 1)];
        list.iter().for_each(|at| lines[at.index] = at.line);
        let numbers = list.iter().map(|at| at.index).collect();
        let Translated { form, outline } = translated;
        Fresh { made: Made { code, outline }, form, numbers, lines }
    }
}

/// A function that has been compiled.
pub(crate) struct Compiled {
    pub(crate) fresh: Fresh,
    /// Where its code begins.
    pub(crate) start: usize,
}

/// The instructions of a function that is to be compiled.
fn body(vm: &Vm, function: &'static Function) -> Result<(&'static Module, Body), Why> {
    let declined = Why::Declined;
    let module = function.module().ok_or(declined(Declined::Unfit))?;
    if module.runs_intrinsics && vm.bifs.native_intrinsic(function.mfa).is_some() {
        return Err(declined(Declined::Intrinsic));
    }
    let body = module.beam.decode_function(function.index).map_err(|_| declined(Declined::Unfit))?;
    Ok((module, body))
}

/// The code of a function, which is not linked.
///
/// # Errors
/// Why there is none.
pub(crate) fn make(vm: &'static Vm, function: &'static Function) -> Result<Fresh, Why> {
    caught(|| {
        let declined = Why::Declined;
        let (module, body) = body(vm, function)?;
        let list = read(vm, module, function, &body).map_err(|_| declined(Declined::Unfit))?;
        let live = Live::new(module, &body).ok_or(declined(Declined::TooLong))?;
        breaks_down(function);
        let translated = translate(vm, module, function, &list, &live).map_err(declined)?;
        let code = myriad_native::compile(&translated.form, &Options::default()).map_err(Why::Refused)?;
        Ok(Fresh::new(&list, translated, code))
    })
    .unwrap_or_else(|said| Err(Why::Refused(Refused::Panicked(said))))
}

/// For tests of what a panic comes to: in builds with assertions, functions of this name cannot be compiled.
fn breaks_down(function: &Function) {
    if cfg!(debug_assertions) {
        assert!(function.mfa.function.text() != "panics_when_compiled", "{} is a test", function.mfa.function.text());
    }
}

/// Compiles a function, lets it run in machine code from its next call on, and keeps the code for later runs.
///
/// # Safety
/// The function's module is not released meanwhile.
///
/// # Errors
/// Why it stays in tier 0.
pub(crate) unsafe fn compile(
    vm: &'static Vm,
    function: &'static Function,
    space: &Arc<CodeSpace>,
) -> Result<Compiled, Why> {
    let fresh = make(vm, function)?;
    // SAFETY: the caller's promise.
    let start = unsafe { link(vm, function, space, &fresh.made) }?;
    if let (Some(cache), Some(module)) = (Cache::of_program(), function.module()) {
        cache.keep(vm, module, function.index, &fresh.made);
    }
    Ok(Compiled { fresh, start })
}

/// Lets a function run in machine code that was made for it, in this run or an earlier one, from its next call on.
///
/// # Safety
/// The function's module is not released meanwhile.
///
/// Gives the address of the code.
///
/// # Errors
/// Why it stays in tier 0.
pub(crate) unsafe fn link(
    vm: &'static Vm,
    function: &'static Function,
    space: &Arc<CodeSpace>,
    made: &Made,
) -> Result<usize, Why> {
    let unfit = || Why::Declined(Declined::Unfit);
    let Made { code, outline } = made;
    let module = function.module().ok_or_else(unfit)?;
    if !outline.orders.iter().all(|order| are_in_order(module, order)) {
        return Err(unfit());
    }
    let body = module.beam.decode_function(function.index).map_err(|_| unfit())?;
    let list = read(vm, module, function, &body).map_err(|_| unfit())?;
    let (mut draft, emitted) = companion(vm, function, &list, outline).ok_or_else(unfit)?;
    let values = outline.names.iter().map(|name| value(module, &draft, &emitted, name));
    let values = values.collect::<Option<Vec<u64>>>().ok_or_else(unfit)?;
    let resolve = |symbol: Symbol| values[symbol.0 as usize];
    let linked = space.link(code, std::ptr::from_ref(function) as u64, resolve).map_err(Why::Memory)?;
    let points: HashMap<u32, usize> = linked.points.iter().map(|(point, at)| (point.0, *at)).collect();
    let entry = NativePtr(linked.entry as *const u8);
    let nowhere = NativePtr(std::ptr::null());
    draft.complete(entry, |point| points.get(&point).map_or(nowhere, |at| NativePtr(*at as *const u8)));
    let (start, bytes) = (linked.entry - code.entry as usize, code.bytes.len());
    let memory = Box::new(Held::new(space.clone(), linked));
    let passes_breakpoints = is_deaf_loop(module, function, &list);
    let native = NativeCode { entry, bytes, passes_breakpoints, memory };
    // SAFETY: the caller's promise; the machine code is complete, and the companion has its addresses.
    let published = unsafe { publish_companion(vm, function, draft.decoded, native) };
    published.then_some(start).ok_or(Why::Late)
}

/// The companion of a function.
fn companion(
    vm: &'static Vm,
    function: &'static Function,
    list: &[At<'_>],
    outline: &Outline,
) -> Option<(Draft, Emitted)> {
    let module = function.module()?;
    let info = module.beam.functions.get(function.index as usize)?.info;
    let mut made = Companion::new(vm, module, function, info);
    let mut emitted = Emitted::default();
    for name in &outline.names {
        match *name {
            Name::Visit(index) | Name::Record(index) => {
                let mut next = Some(index);
                while let Some(index) = next.take()
                    && let Entry::Vacant(place) = emitted.visits.entry(Name::Visit(index))
                {
                    let point = outline.returning.contains(&index).then_some(index as u32);
                    let rest = list.get(index..index + outline.length(index))?;
                    place.insert(made.visit(rest, point).ok()?);
                    if point.is_some() && list.get(index + 1).is_some_and(|at| calls_built_in(vm, module, at)) {
                        made.runs_on();
                        next = Some(index + 1);
                    }
                }
            }
            Name::Adoption(index) => {
                let visit = made.adopt(list.get(index)?, (list.len() + index) as u32);
                emitted.visits.insert(name.clone(), visit);
            }
            _ => {}
        }
    }
    let labels: HashMap<u32, &At<'_>> = list.iter().filter_map(|at| Some((at.label()?, at))).collect();
    for (label, Point(point)) in &outline.labels {
        made.label(labels.get(label)?, *point).ok()?;
    }
    for name in &outline.names {
        if let Name::Marker { label, slot, line } = *name {
            emitted.markers.insert(name.clone(), made.handler(label, slot, line));
        }
    }
    Some((made.finish().ok()?, emitted))
}

/// Is this a call of a built-in?
fn calls_built_in(vm: &Vm, module: &Module, at: &At<'_>) -> bool {
    let is_call = matches!(at.op, Op::CallExt | Op::CallExtLast | Op::CallExtOnly);
    let import = at.args.get(1).and_then(Arg::number).and_then(|index| module.imports.get(index as usize));
    is_call && import.is_some_and(|export| !is_ordinary_call(vm, export))
}

/// The word that a name stands for.
fn value(module: &Module, draft: &Draft, emitted: &Emitted, name: &Name) -> Option<u64> {
    let visit = |name: &Name| emitted.visits.get(name).copied();
    match name {
        Name::Visit(_) | Name::Adoption(_) => visit(name).map(|visit| draft.instruction(visit)),
        Name::Record(index) => visit(&Name::Visit(*index)).and_then(|visit| draft.record(visit)),
        Name::Marker { .. } => emitted.markers.get(name).map(|handler| draft.marker(*handler)),
        _ => value_in(module, name),
    }
}
