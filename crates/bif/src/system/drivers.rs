//! Module `erl_ddll`: drivers. Those that are part of the VM are there for ever, and no library with another is loaded.

use crate::iodata::each_run;
use crate::{libraries, native_names};
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::{BADARG, Escape, badarg};
use myriad_vm::os_text::name_bytes;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub DRIVERS = "erl_ddll" {
    "loaded_drivers" / 0 Plain => loaded_drivers_0;
    "try_load" / 3 Plain => try_load_3;
    "try_unload" / 2 Plain => try_unload_2;
    "info" / 2 Plain => info_2;
    "monitor" / 2 Plain => monitor_2;
    "demonitor" / 1 Plain => |_, a| if a[0].is_reference() { Ok(Term::TRUE) } else { badarg() };
    "format_error_int" / 1 Plain => format_error_int_1;
}}

/// The drivers that are part of the VM (`io::port`).
const LINKED_IN: [&str; 4] = ["udp_inet", "ram_file_drv", "tty_sl", "trace_file_drv"];

static CLASS: LockClass = LockClass::new("driver_refusals", 730);
/// Why libraries were refused, each text once, that of no file first: `{open_error, N}` names the one at `FIRST_TEXT - N`.
pub struct Refusals(Mutex<Vec<String>>);

impl Default for Refusals {
    fn default() -> Refusals {
        Refusals(Mutex::new(&CLASS, Vec::new()))
    }
}

/// The number of the first text.
const FIRST_TEXT: i64 = -10;

/// What `{open_error, -N}` of smaller numbers means, from 0 on.
const OPEN_ERRORS: [&str; 9] = [
    "No error",
    "No driver init in dynamic library",
    "Driver init failed",
    "Bad driver name",
    "Driver name to long",
    "Driver compiled with incorrect version of erl_driver.h",
    "DDLL functionality not available on this platform",
    "Unspecified dynamic library error",
    "Symbol not found in dynamic library",
];

/// What the errors of `try_load/3` and `try_unload/2` mean.
const ERRORS: [(&str, &str); 9] = [
    ("inconsistent", "Driver name and/or driver options are inconsistent with currently loaded driver"),
    ("not_loaded", "DDLL driver is not loaded"),
    ("permanent", "DDLL driver is permanent an cannot be unloaded/loaded"),
    ("not_loaded_by_this_process", "DDLL driver was not loaded by this process"),
    ("linked_in_driver", "Driver is statically linked and cannot be loaded/unloaded"),
    ("no_driver_init", "No driver init in dynamic library"),
    ("driver_incorrect_version", "Driver compiled with incorrect version of erl_driver.h"),
    ("pending_process", "Driver is loaded by others when attempting option {reload, pending_driver}"),
    ("not_pending", "DDLL load not pending for this driver name"),
];

/// A driver's name: an atom, or bytes.
fn driver_name(term: Term) -> Result<Vec<u8>, Escape> {
    if let Some(atom) = term.as_atom() {
        return Ok(atom.text().as_bytes().to_vec());
    }
    let mut name = Vec::new();
    each_run(term, |run| name.extend_from_slice(run))?;
    Ok(name)
}

fn is_linked_in(name: &[u8]) -> bool {
    LINKED_IN.iter().any(|driver| driver.as_bytes() == name)
}

fn loaded_drivers_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let names = LINKED_IN.map(|name| ctx.string(name));
    let names = ctx.list(&names);
    Ok(ctx.tuple(&[Term::OK, names]))
}

/// Is each of a proper list's elements as `good` wants it?
fn all(list: Term, good: impl FnMut(Term) -> bool) -> bool {
    let mut elements = list.list_iter();
    elements.by_ref().all(good) && elements.tail().is_nil()
}

/// Is this `{monitor, pending}` or `{monitor, pending_driver}`, or the same of `reload`?
fn is_pending(option: Term, key: Atom) -> bool {
    let pending = |when: Term| matches!(when.as_atom(), Some(am::pending | am::pending_driver));
    option.as_tuple_of::<2>().is_some_and(|[k, when]| k.is_am(key) && pending(when))
}

fn try_load_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(mut path) = name_bytes(args[0], native_names::encoding(ctx.vm), true) else { return badarg() };
    let name = driver_name(args[1])?;
    let mut reload = false;
    let options = all(args[2], |option| {
        let driver_options =
            |[key, list]: [Term; 2]| key.is_am(am::driver_options) && all(list, |o| o.is_am(am::kill_ports));
        let again = is_pending(option, am::reload);
        reload |= again;
        again || is_pending(option, am::monitor) || option.as_tuple_of().is_some_and(driver_options)
    });
    if !options {
        return badarg();
    }
    if is_linked_in(&name) {
        return failed(ctx, am::linked_in_driver);
    }
    if reload {
        return failed(ctx, am::not_loaded);
    }
    path.push(b'/');
    path.extend(name);
    path.extend(b".so");
    let text = libraries::refusal(&path).unwrap_or_else(|| "this VM loads no C drivers".to_owned());
    let mut refusals = ctx.vm.part::<Refusals>().0.lock();
    if refusals.is_empty() {
        refusals.push(libraries::absent());
    }
    let place = refusals.iter().position(|refusal| *refusal == text).unwrap_or(refusals.len());
    if place == refusals.len() {
        refusals.push(text);
    }
    drop(refusals);
    let reason = ctx.tuple(&[Term::atom(am::open_error), Term::small(FIRST_TEXT - place as i64)]);
    Ok(ctx.tuple(&[Term::atom(am::error), reason]))
}

fn failed(ctx: &mut Ctx<'_>, why: Atom) -> BifResult {
    Ok(ctx.tuple(&[Term::atom(am::error), Term::atom(why)]))
}

fn try_unload_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = driver_name(args[0])?;
    if !all(args[1], |option| option.is_am(am::kill_ports) || is_pending(option, am::monitor)) {
        return badarg();
    }
    failed(ctx, if is_linked_in(&name) { am::linked_in_driver } else { am::not_loaded })
}

/// `info(Name, Item)` of a driver that is part of the VM says that it is.
fn info_2(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = driver_name(args[0])?;
    let Some(item) = args[1].as_atom().filter(|_| is_linked_in(&name)) else { return badarg() };
    Ok(match item {
        am::linked_in_driver => Term::TRUE,
        am::permanent => Term::FALSE,
        am::processes | am::driver_options | am::port_count | am::awaiting_load | am::awaiting_unload => {
            Term::atom(am::linked_in_driver)
        }
        _ => return badarg(),
    })
}

/// A driver stays as it is, there or not: the message that says so comes at once.
fn monitor_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some([name, when]) = args[1].as_tuple_of::<2>() else { return badarg() };
    let there = is_linked_in(&driver_name(name)?);
    let known = matches!(when.as_atom(), Some(am::loaded | am::unloaded | am::unloaded_only));
    if !args[0].is_am(am::driver) || !known {
        return badarg();
    }
    let (tag, state) = if there { (am::UP, am::permanent) } else { (am::DOWN, am::unloaded) };
    let reference = ctx.make_ref();
    let message = ctx.tuple(&[tag.term(), reference, Term::atom(am::driver), name, state.term()]);
    ctx.send(ctx.pid().term(), message)?;
    Ok(reference)
}

fn format_error_int_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if let Some(error) = args[0].as_atom() {
        let (_, text) = ERRORS.iter().find(|(name, _)| *name == error.text()).ok_or(BADARG)?;
        return Ok(ctx.string(text));
    }
    let [key, code] = args[0].as_tuple_of::<2>().ok_or(BADARG)?;
    let Some(code) = code.as_small().filter(|_| key.is_am(am::open_error)) else { return badarg() };
    if code > FIRST_TEXT {
        let known = usize::try_from(-code).ok().and_then(|number| OPEN_ERRORS.get(number));
        return Ok(ctx.string(known.copied().unwrap_or("Unspecified error")));
    }
    let place = usize::try_from(FIRST_TEXT.saturating_sub(code)).unwrap_or(usize::MAX);
    let text = ctx.vm.part::<Refusals>().0.lock().get(place).cloned();
    Ok(ctx.string(text.as_deref().unwrap_or("Unknown dlload error")))
}
