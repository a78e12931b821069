//! Resources and a library's own data.

use crate::abi::{AnyObject, Destructor, Identifier, Monitor, Object, Out, ResourceTypeInit, Text, Word};
use crate::check::{self, registry, registry::Thing};
use crate::define::checked_exports;
use crate::env::Env;
use crate::load::with_processes;
use crate::resource::{self, Callbacks, Opened, ResourceType};
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_term::binary::SharedBinary;
use myriad_term::magic::magic_reference;
use myriad_term::{Build, Kind, RefNumbers};
use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};

/// Numbers that a thread takes at a time.
const BATCH: u64 = 1024;
/// What no reference of a scheduler has in its third number.
const OWN: u32 = 1 << 28;

static NEXT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The numbers that this thread has: from one, up to another.
    static NUMBERS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// The numbers of a new resource's references.
fn numbers() -> RefNumbers {
    NUMBERS.with(|numbers| {
        let (mut next, mut end) = numbers.get();
        if next == end {
            // Relaxed: nothing but the number is passed on.
            next = NEXT.fetch_add(BATCH, Ordering::Relaxed);
            end = next + BATCH;
        }
        numbers.set((next + 1, end));
        let RefNumbers([first, second, third]) = RefNumbers::nth(next);
        RefNumbers([first, second, third | OWN])
    })
}

/// A reference that is only unique, where no process makes it.
pub(super) fn reference(env: &mut Env) -> Word {
    env.reference(numbers()).into()
}

/// The first functions of a table, so many of them.
fn callbacks(init: &ResourceTypeInit, members: c_int) -> Callbacks {
    Callbacks {
        destructor: init.destructor.filter(|_| members >= 1),
        stop: init.stop.filter(|_| members >= 2),
        down: init.down.filter(|_| members >= 3),
        // A table of an older header ends before it.
        dynamic_call: if members >= 4 { init.dynamic_call } else { None },
        library: None,
    }
}

const CREATE: c_uint = 1;
const TAKE_OVER: c_uint = 2;

fn open(env: &mut Env, name: Text, callbacks: Callbacks, flags: c_uint, tried: Out<c_uint>) -> *const ResourceType {
    let Some(library) = env.library() else { return std::ptr::null() };
    let Some(opening) = env.opening() else { return std::ptr::null() };
    let (creates, takes_over) = (flags & CREATE != 0, flags & TAKE_OVER != 0);
    let callbacks = Callbacks { library: Some(library), ..callbacks };
    match Opened::new(library.module, name.bytes(), callbacks, creates, takes_over && opening.is_upgrade) {
        Some(opened) => {
            tried.set_if_wanted(if opened.is_taken_over { TAKE_OVER } else { CREATE });
            let of = opened.of();
            if check::is_on() {
                registry::comes(Thing::Type, std::ptr::from_ref(of).addr());
            }
            opening.types.push(opened);
            of
        }
        None => {
            tried.set_if_wanted(flags);
            std::ptr::null()
        }
    }
}

checked_exports! {
    /// The library's own data.
    fn enif_priv_data(env: &mut Env) -> *mut c_void {
        // Acquire: pairs with the Release of `load::begin`.
        env.library().map_or(std::ptr::null_mut(), |library| library.private.load(Ordering::Acquire))
    }

    /// A type of resources with a destructor.
    fn enif_open_resource_type(
        env: &mut Env,
        _module: *const c_void,
        name: Text,
        destructor: Option<Destructor>,
        flags: c_uint,
        tried: Out<c_uint>,
    ) -> *const ResourceType {
        open(env, name, Callbacks { destructor, ..Callbacks::default() }, flags, tried)
    }

    /// A type of resources with the first three functions, which the table always has.
    fn enif_open_resource_type_x(
        env: &mut Env,
        name: Text,
        init: &ResourceTypeInit,
        flags: c_uint,
        tried: Out<c_uint>,
    ) -> *const ResourceType {
        open(env, name, callbacks(init, 3), flags, tried)
    }

    /// A type of resources with as many functions as the table says.
    fn enif_init_resource_type(
        env: &mut Env,
        name: Text,
        init: &ResourceTypeInit,
        flags: c_uint,
        tried: Out<c_uint>,
    ) -> *const ResourceType {
        open(env, name, callbacks(init, init.members), flags, tried)
    }

    /// Calls the function `dyncall` of the type of this module and name, if the reference leads to an object of it: 0, or 1 if not.
    fn enif_dynamic_resource_call(env: &mut Env, module: Word, name: Word, object: Word, data: *mut c_void) -> c_int {
        let (Some(module), Some(name)) = (module.term().as_atom(), name.term().as_atom()) else { return 1 };
        let Some(of) = resource::find(module, name.text().as_bytes()) else { return 1 };
        let object = object.term().as_magic().and_then(|holder| resource::object_of(&holder, of));
        let Some(object) = object else { return 1 };
        of.call(|callbacks| {
            let Some(call) = callbacks.dynamic_call else { return 1 };
            // SAFETY: ABI1: the type's function, of an object that the reference holds meanwhile.
            unsafe { call(env, object, data) };
            0
        })
    }

    /// A binary of bytes of an object, which it keeps.
    fn enif_make_resource_binary(env: &mut Env, object: Object, data: *const u8, size: usize) -> Word {
        // SAFETY: ABI1: an object that is alive, and bytes that stay as long as it is.
        let shared = unsafe { SharedBinary::of_object(resource::keep(object.0), data, size) };
        env.shared_binary(shared).into()
    }

    /// Calls the type's function `down` when the process ends: 0; 1 if it has ended; less than 0 if there is no such function.
    fn enif_monitor_process(_env: Option<&mut Env>, object: Object, pid: &Identifier, to: Out<Monitor>) -> c_int {
        let reference = numbers();
        // SAFETY: ABI1: an object that is alive.
        let watched = unsafe { resource::with(object.0, |resource| {
            resource.of().callbacks().down?;
            to.set_if_wanted(Monitor::new(reference));
            let pid = pid.0.term().as_local_pid();
            Some(pid.and_then(|pid| with_processes(|vm| resource.monitors().watch(vm, pid, reference))) == Some(true))
        }) };
        match watched.flatten() {
            Some(true) => 0,
            Some(false) => 1,
            None => -1,
        }
    }

    /// It is called no more: 0; 1 if it has been called, or the monitor is none of this object.
    fn enif_demonitor_process(_env: Option<&mut Env>, object: AnyObject, monitor: &Monitor) -> c_int {
        // SAFETY: ABI1: an object that is alive.
        let over = unsafe {
            resource::with(object.0, |resource| with_processes(|vm| resource.monitors().unwatch(vm, monitor.reference())))
        };
        c_int::from(over.flatten() != Some(true))
    }

    /// An order of monitors: less than 0, 0 or more.
    fn enif_compare_monitors(a: &Monitor, b: &Monitor) -> c_int { a.cmp(b) as c_int }

    /// A term that stands for a monitor.
    fn enif_make_monitor_term(env: &mut Env, monitor: &Monitor) -> Word { env.reference(monitor.reference()).into() }

    /// A new object, which the caller holds.
    fn enif_alloc_resource(of: &'static ResourceType, size: usize) -> *mut c_void {
        resource::make(of, size, numbers()).unwrap_or(std::ptr::null_mut())
    }

    /// The caller holds it no more.
    fn enif_release_resource(object: Object) {
        if check::is_on() && !registry::hold(object.0.addr(), false) {
            check::wrong("object", "a resource that the library does not hold");
        }
        // SAFETY: ABI1: an object that the caller holds.
        unsafe { resource::release(object.0) };
    }

    /// The caller holds it once more.
    fn enif_keep_resource(object: Object) {
        if check::is_on() {
            registry::hold(object.0.addr(), true);
        }
        // SAFETY: ABI1: an object that is alive.
        let holder = unsafe { resource::keep(object.0) };
        holder.into_raw();
    }

    /// The size of an object.
    fn enif_sizeof_resource(object: AnyObject) -> usize {
        // SAFETY: ABI1: an object that is alive.
        unsafe { resource::size(object.0) }
    }

    /// A reference that keeps an object.
    fn enif_make_resource(env: &mut Env, object: Object) -> Word {
        // SAFETY: ABI1: an object that is alive.
        let holder = unsafe { resource::keep(object.0) };
        magic_reference(env, holder).into()
    }

    /// The object that a reference keeps, or a binary of its bytes, if it is of this type.
    fn enif_get_resource(_env: Option<&mut Env>, term: Word, of: &'static ResourceType, to: Out<*mut c_void>) -> c_int {
        let term = term.term();
        if let Some(holder) = term.as_magic() {
            return to.set_if(resource::object_of(&holder, of));
        }
        let shared = term.as_boxed().filter(|boxed| boxed.kind() == Kind::SharedBinary).map(|boxed| boxed.shared());
        to.set_if(shared.and_then(|shared| shared.object()).and_then(|holder| resource::object_of(&holder, of)))
    }
}
