//! Resources and a library's own data.

use crate::abi::{Destructor, Out, Text, Word};
use crate::define::exports;
use crate::env::Env;
use crate::resource::{self, Opened, ResourceType};
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_term::magic::magic_reference;
use myriad_term::{Build, RefNumbers};
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

const CREATE: c_uint = 1;
const TAKE_OVER: c_uint = 2;

fn open(
    env: &mut Env,
    name: Text,
    destructor: Option<Destructor>,
    flags: c_uint,
    tried: Out<c_uint>,
) -> *const ResourceType {
    let Some(module) = env.library().map(|library| library.module) else { return std::ptr::null() };
    let Some(opening) = env.opening() else { return std::ptr::null() };
    let (creates, takes_over) = (flags & CREATE != 0, flags & TAKE_OVER != 0);
    match Opened::new(module, name.bytes(), destructor, creates, takes_over && opening.is_upgrade) {
        Some(opened) => {
            tried.set_if_wanted(if opened.is_taken_over { TAKE_OVER } else { CREATE });
            let of = opened.of();
            opening.types.push(opened);
            of
        }
        None => {
            tried.set_if_wanted(flags);
            std::ptr::null()
        }
    }
}

exports! {
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
        open(env, name, destructor, flags, tried)
    }

    /// A new object, which the caller holds.
    fn enif_alloc_resource(of: &'static ResourceType, size: usize) -> *mut c_void {
        resource::make(of, size, numbers()).unwrap_or(std::ptr::null_mut())
    }

    /// The caller holds it no more.
    fn enif_release_resource(object: *const c_void) {
        // SAFETY: ABI1: an object that the caller holds.
        unsafe { resource::release(object) };
    }

    /// The caller holds it once more.
    fn enif_keep_resource(object: *const c_void) {
        // SAFETY: ABI1: an object that is alive.
        let holder = unsafe { resource::keep(object) };
        holder.into_raw();
    }

    /// The size of an object.
    fn enif_sizeof_resource(object: *const c_void) -> usize {
        // SAFETY: ABI1: an object that is alive.
        unsafe { resource::size(object) }
    }

    /// A reference that keeps an object.
    fn enif_make_resource(env: &mut Env, object: *const c_void) -> Word {
        // SAFETY: ABI1: an object that is alive.
        let holder = unsafe { resource::keep(object) };
        magic_reference(env, holder).into()
    }

    /// The object that a reference keeps, if it is of this type.
    fn enif_get_resource(_env: Option<&mut Env>, term: Word, of: *const ResourceType, to: Out<*mut c_void>) -> c_int {
        to.set_if(term.term().as_magic().and_then(|holder| resource::object_of(&holder, of)))
    }
}
