//! The built-in functions of `erl_ddll`.

use crate::table::{self, Driver, Role, Status};
use crate::words::word;
use crate::{port, refusals};
use myriad_bif::native_names;
use myriad_io::bytes::iodata;
use myriad_io::port::linked_in;
use myriad_term::{Atom, Build, Pid, RefNumbers, Term, am};
use myriad_vm::bif::{BADARG, Escape, badarg};
use myriad_vm::os_text::name_bytes;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub ERL_DDLL = "erl_ddll" {
    "loaded_drivers" / 0 Plain => loaded_drivers_0;
    "try_load" / 3 Plain => try_load_3;
    "try_unload" / 2 Plain => try_unload_2;
    "info" / 2 Plain => info_2;
    "monitor" / 2 Plain => monitor_2;
    "demonitor" / 1 Plain => demonitor_1;
    "format_error_int" / 1 Plain => format_error_int_1;
}}

/// A driver's name: an atom, or bytes.
fn driver_name(term: Term) -> Result<Vec<u8>, Escape> {
    match term.as_atom() {
        Some(atom) => Some(atom.text().as_bytes().to_vec()).filter(|name| !name.is_empty()),
        None => iodata(term),
    }
    .ok_or(BADARG)
}

fn is_linked_in(name: &[u8]) -> bool {
    linked_in::names().any(|driver| driver.as_bytes() == name)
}

fn loaded_drivers_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let mut names: Vec<Term> = linked_in::names().map(|name| ctx.string(name)).collect();
    let loaded: Vec<Vec<u8>> =
        table::with(|table| table.iter().rev().map(|driver| driver.library.name.clone()).collect());
    names.extend(loaded.iter().map(|name| ctx.byte_list(name, Term::NIL)));
    let names = ctx.list(&names);
    Ok(ctx.tuple(&[Term::OK, names]))
}

/// `pending` or `pending_driver`: with which a process waits for others, and without.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    Any,
    Driver,
}

/// The value of this option, if it is that.
fn pending(option: Term, key: Atom) -> Option<Pending> {
    let [_, when] = option.as_tuple_of::<2>().filter(|[name, _]| name.is_am(key))?;
    match when.as_atom()? {
        am::pending => Some(Pending::Any),
        am::pending_driver => Some(Pending::Driver),
        _ => None,
    }
}

/// Hands each option to `take`, which says whether it is one.
fn options(list: Term, mut take: impl FnMut(Term) -> bool) -> Result<(), Escape> {
    let mut items = list.list_iter();
    let good = items.by_ref().all(&mut take);
    if good && items.tail().is_nil() { Ok(()) } else { Err(BADARG) }
}

/// What `try_load/3` is asked for.
#[derive(Default)]
struct Wanted {
    kill_ports: bool,
    monitor: Option<Pending>,
    reload: Option<Pending>,
}

fn wanted(list: Term) -> Result<Wanted, Escape> {
    let mut wanted = Wanted::default();
    options(list, |option| {
        if let Some(when) = pending(option, am::monitor) {
            wanted.monitor = Some(when);
        } else if let Some(when) = pending(option, am::reload) {
            wanted.reload = Some(when);
        } else {
            let Some([key, list]) = option.as_tuple_of::<2>() else { return false };
            let flags = options(list, |flag| {
                wanted.kill_ports |= flag.is_am(am::kill_ports);
                flag.is_am(am::kill_ports)
            });
            return key.is_am(am::driver_options) && flags.is_ok();
        }
        true
    })?;
    Ok(wanted)
}

/// What a driver that is there answers `try_load/3`: what it comes to, and whether a monitor makes sense.
fn load_again(
    ctx: &Ctx<'_>,
    driver: &mut Driver,
    path: &[u8],
    wanted: &Wanted,
) -> Result<(&'static str, bool), &'static str> {
    let me = ctx.pid();
    let agrees = |of: &[u8], kill_ports: bool| of == path && kill_ports == wanted.kill_ports;
    match (&driver.status, wanted.reload) {
        (Status::Permanent, _) => Err("permanent"),
        (Status::Ok, Some(when)) => {
            let mine = driver.users.iter().filter(|user| user.pid == me && is_loaded(user.role)).count();
            if when == Pending::Driver && (mine, driver.loaded()) != (1, 1) {
                return Err("pending_process");
            }
            if driver.kill_ports != wanted.kill_ports {
                return Err("inconsistent");
            }
            if !driver.take_load(me) {
                return Err("not_loaded_by_this_process");
            }
            for user in driver.users.iter_mut().filter(|user| is_loaded(user.role)) {
                user.role = Role::Loaded { counts: false };
            }
            driver.add(me, Role::Loaded { counts: false });
            let forced = driver.kill_ports;
            driver.status = Status::Reload { forced, path: path.to_vec(), kill_ports: wanted.kill_ports };
            Ok((if when == Pending::Driver { "pending_driver" } else { "pending_process" }, true))
        }
        (Status::Unload { .. }, Some(_)) => Err("not_loaded_by_this_process"),
        (Status::Reload { .. }, Some(_)) => Err("pending_reload"),
        (Status::Reload { path, kill_ports, .. }, None) => {
            if !agrees(path, *kill_ports) {
                return Err("inconsistent");
            }
            driver.add(me, Role::Loaded { counts: false });
            Ok(("pending_driver", true))
        }
        (Status::Ok | Status::Unload { .. }, None) => {
            if !agrees(&driver.path, driver.kill_ports) {
                return Err("inconsistent");
            }
            if driver.status != Status::Ok {
                driver.status = Status::Ok;
                driver.tell_all(ctx.vm, table::awaits_unload, am::UP, word("unload_cancelled"));
            }
            driver.add(me, Role::Loaded { counts: true });
            Ok(("already_loaded", false))
        }
    }
}

fn is_loaded(role: Role) -> bool {
    matches!(role, Role::Loaded { .. })
}

fn try_load_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let encoding = native_names::encoding(ctx.vm);
    let Some(mut path) = name_bytes(args[0], encoding, true) else { return badarg() };
    let wanted = wanted(args[2])?;
    let name = driver_name(args[1])?;
    while path.last() == Some(&b'/') {
        path.pop();
    }
    path.push(b'/');
    path.extend(&name);
    if is_linked_in(&name) {
        return failed(ctx, "linked_in_driver");
    }
    let reference = wanted.monitor.map(|_| ctx.sched.next_ref());
    let again = table::with(|table| {
        let driver = table::named(table, &name)?;
        let answer = load_again(ctx, driver, &path, &wanted);
        if let (Ok((_, true)), Some(reference)) = (&answer, reference) {
            driver.add(ctx.pid(), Role::AwaitsLoad(reference));
        }
        let ends_ports = matches!(driver.status, Status::Reload { forced: true, .. }) && wanted.reload.is_some();
        Some((answer, ends_ports.then(|| driver.library.clone())))
    });
    match again {
        Some((Ok((state, waits)), ends_ports)) => {
            if let Some(library) = ends_ports {
                port::end_all(ctx.vm, &library);
            }
            table::settle_soon();
            done(ctx, state, reference.filter(|_| waits))
        }
        Some((Err(why), _)) => failed(ctx, why),
        None if wanted.reload.is_some() => failed(ctx, "not_loaded"),
        None => match table::load(&path, &name, wanted.kill_ports, ctx.pid()) {
            Ok(()) => done(ctx, "loaded", None),
            Err(refusal) => {
                let reason = refusals::term(ctx, &refusal);
                Ok(ctx.tuple(&[am::error.term(), reason]))
            }
        },
    }
}

/// `{ok, State}` or `{ok, State, Reference}`
fn done(ctx: &mut Ctx<'_>, state: &str, reference: Option<RefNumbers>) -> BifResult {
    let state = word(state).term();
    Ok(match reference {
        Some(reference) => {
            let reference = ctx.reference(reference);
            ctx.tuple(&[Term::OK, state, reference])
        }
        None => ctx.tuple(&[Term::OK, state]),
    })
}

fn failed(ctx: &mut Ctx<'_>, why: &str) -> BifResult {
    Ok(ctx.tuple(&[am::error.term(), word(why).term()]))
}

/// What `try_unload/2` does to a driver: the state that it gives, whether a monitor makes sense, and whether its ports are to end.
fn unload(
    ctx: &Ctx<'_>,
    driver: &mut Driver,
    kill_ports: bool,
    monitor: Option<Pending>,
) -> Result<(&'static str, bool, bool), &'static str> {
    if driver.status == Status::Permanent {
        return Err("permanent");
    }
    if !driver.take_load(ctx.pid()) && driver.loaded() > 0 {
        return Err("not_loaded_by_this_process");
    }
    if driver.loaded() > 0 {
        return Ok(("pending_process", monitor == Some(Pending::Any), false));
    }
    driver.cancel_reload(ctx.vm);
    let forced = driver.ports > 0 && (kill_ports || driver.kill_ports);
    driver.status = Status::Unload { forced };
    Ok(("pending_driver", monitor.is_some(), forced))
}

fn try_unload_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (mut kill_ports, mut monitor) = (false, None);
    options(args[1], |option| {
        if option.is_am(am::kill_ports) {
            kill_ports = true;
            return true;
        }
        monitor = pending(option, am::monitor);
        monitor.is_some()
    })?;
    let name = driver_name(args[0])?;
    if is_linked_in(&name) {
        return failed(ctx, "linked_in_driver");
    }
    let reference = monitor.map(|_| ctx.sched.next_ref());
    let answer = table::with(|table| {
        let driver = table::named(table, &name)?;
        let answer = unload(ctx, driver, kill_ports, monitor);
        if let (Ok((_, true, _)), Some(reference)) = (&answer, reference) {
            driver.add(ctx.pid(), Role::AwaitsUnload(reference));
        }
        Some(answer.map(|answer| (answer, driver.library.clone())))
    });
    match answer {
        None => failed(ctx, "not_loaded"),
        Some(Err(why)) => failed(ctx, why),
        Some(Ok(((state, waits, forced), library))) => {
            if forced {
                port::end_all(ctx.vm, &library);
            }
            drop(library);
            table::settle_soon();
            done(ctx, state, reference.filter(|_| waits))
        }
    }
}

/// `[{Pid, Count}]` of those in a role.
fn users(ctx: &mut Ctx<'_>, driver: &[(Pid, usize)]) -> Term {
    let pairs: Vec<Term> =
        driver.iter().map(|(pid, count)| ctx.tuple(&[pid.term(), Term::small(*count as i64)])).collect();
    ctx.list(&pairs)
}

fn counted(driver: &Driver, of: impl Fn(Role) -> bool) -> Vec<(Pid, usize)> {
    let mut counts: Vec<(Pid, usize)> = Vec::new();
    for user in driver.users.iter().filter(|user| of(user.role)) {
        match counts.iter_mut().find(|(pid, _)| *pid == user.pid) {
            Some((_, count)) => *count += 1,
            None => counts.push((user.pid, 1)),
        }
    }
    counts.reverse();
    counts
}

/// What `info/2` says of a loaded driver.
enum Told {
    Word(Term),
    Options(bool),
    Users(Vec<(Pid, usize)>),
}

fn told(driver: &Driver, item: Atom) -> Option<Told> {
    let permanent = driver.status == Status::Permanent;
    let users = |of: fn(Role) -> bool| {
        if permanent { Told::Word(am::permanent.term()) } else { Told::Users(counted(driver, of)) }
    };
    Some(match item {
        am::linked_in_driver => Told::Word(Term::FALSE),
        am::permanent => Told::Word(Term::bool(permanent)),
        am::driver_options => Told::Options(driver.kill_ports),
        am::port_count if permanent => Told::Word(am::permanent.term()),
        am::port_count => Told::Word(Term::small(driver.ports as i64)),
        am::processes => users(is_loaded),
        am::awaiting_load => users(|role| matches!(role, Role::AwaitsLoad(_))),
        am::awaiting_unload => users(|role| matches!(role, Role::AwaitsUnload(_) | Role::AwaitsUnloadOnly(_))),
        _ => return None,
    })
}

fn info_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = driver_name(args[0])?;
    let item = args[1].as_atom().ok_or(BADARG)?;
    if is_linked_in(&name) {
        return match item {
            am::linked_in_driver => Ok(Term::TRUE),
            am::permanent => Ok(Term::FALSE),
            am::processes | am::driver_options | am::port_count | am::awaiting_load | am::awaiting_unload => {
                Ok(am::linked_in_driver.term())
            }
            _ => badarg(),
        };
    }
    let told = table::with(|table| told(table::named(table, &name)?, item));
    match told.ok_or(BADARG)? {
        Told::Word(term) => Ok(term),
        Told::Options(true) => Ok(ctx.list(&[am::kill_ports.term()])),
        Told::Options(false) => Ok(Term::NIL),
        Told::Users(counts) => Ok(users(ctx, &counts)),
    }
}

/// `monitor(driver, {Name, When})`: a message comes at once, unless what is waited for is still to be decided.
fn monitor_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some([name_term, when]) = args[1].as_tuple_of::<2>().filter(|_| args[0].is_am(am::driver)) else {
        return badarg();
    };
    let name = driver_name(name_term)?;
    let when = match when.as_atom() {
        Some(when @ (am::loaded | am::unloaded | am::unloaded_only)) => when,
        _ => return badarg(),
    };
    let reference = ctx.sched.next_ref();
    let me = ctx.pid();
    let at_once = table::with(|table| {
        let Some(driver) = table::named(table, &name) else {
            let there = is_linked_in(&name);
            return Some(if there { (am::UP, am::permanent) } else { (am::DOWN, am::unloaded) });
        };
        let role = match (&driver.status, when) {
            (Status::Permanent, _) => return Some((am::UP, am::permanent)),
            (Status::Ok, am::loaded) => return Some((am::UP, am::loaded)),
            (Status::Unload { .. }, am::loaded) => return Some((am::DOWN, word("load_cancelled"))),
            (Status::Reload { .. }, am::loaded) => Role::AwaitsLoad(reference),
            (_, am::unloaded) => Role::AwaitsUnload(reference),
            _ => Role::AwaitsUnloadOnly(reference),
        };
        driver.add(me, role);
        None
    });
    let reference = ctx.reference(reference);
    if let Some((tag, state)) = at_once {
        let message = ctx.tuple(&[tag.term(), reference, am::driver.term(), name_term, state.term()]);
        ctx.send(ctx.pid().term(), message)?;
    }
    Ok(reference)
}

fn demonitor_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let reference = args[0].as_local_ref().ok_or(BADARG)?;
    let me = ctx.pid();
    table::with(|table| {
        for driver in table.iter_mut() {
            driver.users.retain(|user| user.pid != me || !awaits(user.role, reference));
        }
    });
    Ok(Term::TRUE)
}

fn awaits(role: Role, reference: RefNumbers) -> bool {
    match role {
        Role::AwaitsLoad(of) | Role::AwaitsUnload(of) | Role::AwaitsUnloadOnly(of) => of == reference,
        Role::Loaded { .. } => false,
    }
}

fn format_error_int_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let text = refusals::text(args[0]).ok_or(BADARG)?;
    Ok(ctx.byte_list(&text, Term::NIL))
}
