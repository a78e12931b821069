//! A function from its instructions to published machine code.

use crate::live::Live;
use crate::name::{Name, are_in_order, value_in};
use crate::translate::{Declined, Translated, translate};
use myriad_beam::{Arg, Body, FunctionDef, Op};
use myriad_code::NativePtr;
use myriad_interp::code::{NativeCode, publish_companion};
use myriad_interp::decode::companion::{Companion, Draft, Handler, Visit};
use myriad_interp::decode::{At, is_ordinary_call, read};
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

/// What is made of a function.
pub(crate) struct Made {
    pub(crate) form: Form,
    /// What symbols stand for, by number.
    pub(crate) names: Vec<Name>,
    /// Symbols are not put in.
    pub(crate) code: Code,
    /// Which instruction of the body is at a place of the list that names and form go by.
    pub(crate) numbers: Vec<usize>,
    /// Index into the module's line table, by the numbers in [`Code::sources`]; 0 where none is known.
    pub(crate) lines: Vec<u32>,
}

impl Made {
    fn new(list: &[At<'_>], translated: Translated, code: Code) -> Made {
        let mut lines = vec![0; list.last().map_or(0, |at| at.index + 1)];
        list.iter().for_each(|at| lines[at.index] = at.line);
        let numbers = list.iter().map(|at| at.index).collect();
        Made { form: translated.form, names: translated.names, code, numbers, lines }
    }
}

/// A function that has been compiled.
pub(crate) struct Compiled {
    pub(crate) made: Made,
    /// Where its code begins.
    pub(crate) start: usize,
}

/// The instructions of a function that is to be compiled.
fn body(vm: &Vm, function: &'static Function) -> Result<(&'static Module, &'static FunctionDef, Body), Why> {
    let declined = Why::Declined;
    let module = function.module().ok_or(declined(Declined::Unfit))?;
    if module.runs_intrinsics && vm.bifs.native_intrinsic(function.mfa).is_some() {
        return Err(declined(Declined::Intrinsic));
    }
    let def = module.beam.functions.get(function.index as usize).ok_or(declined(Declined::Unfit))?;
    let body = module.beam.decode_function(function.index).map_err(|_| declined(Declined::Unfit))?;
    Ok((module, def, body))
}

/// Makes machine code of a function, for people to read.
pub(crate) fn make(vm: &'static Vm, function: &'static Function) -> Result<Made, Why> {
    let declined = Why::Declined;
    let (module, _, body) = body(vm, function)?;
    let list = read(vm, module, function, &body).map_err(|_| declined(Declined::Unfit))?;
    let live = Live::new(module, &body).ok_or(declined(Declined::TooLong))?;
    let translated = translate(vm, module, function, &list, &live).map_err(declined)?;
    let code = myriad_native::compile(&translated.form, &Options::default()).map_err(Why::Refused)?;
    Ok(Made::new(&list, translated, code))
}

/// Compiles a function, and lets it run in machine code from its next call on.
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
    let declined = Why::Declined;
    let (module, def, body) = body(vm, function)?;
    let list = read(vm, module, function, &body).map_err(|_| declined(Declined::Unfit))?;
    let live = Live::new(module, &body).ok_or(declined(Declined::TooLong))?;
    let translated = translate(vm, module, function, &list, &live).map_err(declined)?;
    let (mut draft, emitted) =
        companion(vm, function, def.info, &list, &translated).ok_or(declined(Declined::Unfit))?;
    debug_assert!(translated.orders.iter().all(|order| are_in_order(module, order)), "the search would go astray");
    let code = myriad_native::compile(&translated.form, &Options::default()).map_err(Why::Refused)?;
    let resolve = |symbol: Symbol| value(module, &draft, &emitted, &translated.names[symbol.0 as usize]);
    let linked = space.link(&code, std::ptr::from_ref(function) as u64, resolve).map_err(Why::Memory)?;
    let points: HashMap<u32, usize> = linked.points.iter().map(|(point, at)| (point.0, *at)).collect();
    let entry = NativePtr(linked.entry as *const u8);
    let nowhere = NativePtr(std::ptr::null());
    draft.complete(entry, |point| points.get(&point).map_or(nowhere, |at| NativePtr(*at as *const u8)));
    let (start, bytes) = (linked.entry - code.entry as usize, code.bytes.len());
    let memory = Box::new(Held::new(space.clone(), linked));
    // SAFETY: the caller's promise; the machine code is complete, and the companion has its addresses.
    let published = unsafe { publish_companion(vm, function, draft.decoded, NativeCode { entry, bytes, memory }) };
    published.then(|| Compiled { made: Made::new(&list, translated, code), start }).ok_or(Why::Late)
}

/// The companion of a form.
fn companion(
    vm: &'static Vm,
    function: &'static Function,
    info: u32,
    list: &[At<'_>],
    translated: &Translated,
) -> Option<(Draft, Emitted)> {
    let module = function.module()?;
    let mut made = Companion::new(vm, module, function, info);
    let mut emitted = Emitted::default();
    for name in &translated.names {
        match *name {
            Name::Visit(index) | Name::Record(index) => {
                let mut next = Some(index);
                while let Some(index) = next.take()
                    && let Entry::Vacant(place) = emitted.visits.entry(Name::Visit(index))
                {
                    let point = translated.returning.contains(&index).then_some(index as u32);
                    let rest = list.get(index..index + translated.length(index))?;
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
    for (label, Point(point)) in &translated.labels {
        made.label(*label, *point);
    }
    for name in &translated.names {
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
fn value(module: &Module, draft: &Draft, emitted: &Emitted, name: &Name) -> u64 {
    let visit = |name: &Name| emitted.visits.get(name).copied();
    let value = match name {
        Name::Visit(_) | Name::Adoption(_) => visit(name).map(|visit| draft.instruction(visit)),
        Name::Record(index) => visit(&Name::Visit(*index)).and_then(|visit| draft.record(visit)),
        Name::Marker { .. } => emitted.markers.get(name).map(|handler| draft.marker(*handler)),
        _ => value_in(module, name),
    };
    value.unwrap_or(0)
}
