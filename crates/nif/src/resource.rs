//! Resources: objects of a library that terms refer to, by references that keep them alive.
//!
//! The library has the address of the object's bytes. Right before these stands a pointer to what counts its holders.

use crate::abi::Destructor;
use crate::env::Env;
use myriad_sync::{LockClass, SpinLock};
use myriad_term::magic::Magic;
use myriad_term::{Atom, RefNumbers};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Bytes before the object, as many as its alignment.
const BEFORE: usize = 16;

static CLASS: LockClass = LockClass::new("nif_resource_types", 910);
static TYPES: SpinLock<Vec<&'static ResourceType>> = SpinLock::new(&CLASS, Vec::new());

/// A type of resources (`ErlNifResourceType`). It stays for ever: its objects may outlive the module.
pub struct ResourceType {
    module: Atom,
    name: Box<[u8]>,
    /// The destructor of the library that has opened it last.
    destructor: SpinLock<Option<Destructor>>,
}

static DESTRUCTOR_CLASS: LockClass = LockClass::new("nif_destructor", 911);

/// A type that a library has opened, and what is to be so when the library has begun.
pub(crate) struct Opened {
    of: &'static ResourceType,
    destructor: Option<Destructor>,
    /// It was there before.
    pub(crate) is_taken_over: bool,
}

impl Opened {
    /// A new type, or that of another version of the module, if either is asked for. `None`: what is asked for is not possible.
    pub(crate) fn new(
        module: Atom,
        name: &[u8],
        destructor: Option<Destructor>,
        creates: bool,
        takes_over: bool,
    ) -> Option<Opened> {
        let old = TYPES.lock().iter().copied().find(|old| old.module == module && *old.name == *name);
        match old {
            Some(of) if takes_over => Some(Opened { of, destructor, is_taken_over: true }),
            None if creates => {
                let none = SpinLock::new(&DESTRUCTOR_CLASS, None);
                let of = Box::leak(Box::new(ResourceType { module, name: name.into(), destructor: none }));
                Some(Opened { of, destructor, is_taken_over: false })
            }
            _ => None,
        }
    }

    /// The type.
    pub(crate) fn of(&self) -> &'static ResourceType {
        self.of
    }

    /// The library has begun: the type is its.
    pub(crate) fn settle(self) {
        *self.of.destructor.lock() = self.destructor;
        if !self.is_taken_over {
            TYPES.lock().push(self.of);
        }
    }
}

/// The types of a module none of whose versions has a library are no longer to be taken over; objects may still have them.
pub(crate) fn forget_types(module: Atom) {
    TYPES.lock().retain(|old| old.module != module);
}

/// An object.
pub(crate) struct Resource {
    of: &'static ResourceType,
    memory: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is the library's, which may use it from any thread by its own rules; this only counts its holders and frees it.
unsafe impl Send for Resource {}
// SAFETY: as above.
unsafe impl Sync for Resource {}

impl Drop for Resource {
    fn drop(&mut self) {
        let destructor = *self.of.destructor.lock();
        if let Some(destructor) = destructor {
            // SAFETY: ABI1: the type's destructor, of an object that nobody holds any more.
            unsafe { destructor(&mut Env::own(None), self.memory.as_ptr().add(BEFORE).cast::<c_void>()) };
        }
        // SAFETY: from `make`, with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// The bytes of a new object, which the caller holds: [`release`] gives it back.
pub(crate) fn make(of: &'static ResourceType, size: usize, numbers: RefNumbers) -> Option<*mut c_void> {
    let layout = Layout::from_size_align(size.checked_add(BEFORE)?, BEFORE).ok()?;
    // SAFETY: the size is not zero.
    let Some(memory) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
    let holder = Magic::new(numbers, Resource { of, memory, layout });
    // SAFETY: the bytes before the object have room for the pointer.
    unsafe {
        memory.cast::<*const ()>().write(holder.into_raw());
        Some(memory.as_ptr().add(BEFORE).cast())
    }
}

/// The holders of an object, of which the caller is one.
///
/// # Safety
/// `object` came from [`make`] and is alive.
unsafe fn holder(object: *const c_void) -> ManuallyDrop<Magic> {
    // SAFETY: the caller's promise: a pointer from `into_raw` stands before the object.
    ManuallyDrop::new(unsafe { Magic::from_raw(object.cast::<u8>().sub(BEFORE).cast::<*const ()>().read()) })
}

/// One holder more.
///
/// # Safety
/// `object` came from [`make`] and is alive.
pub(crate) unsafe fn keep(object: *const c_void) -> Magic {
    // SAFETY: the caller's promise.
    Magic::clone(&*unsafe { holder(object) })
}

/// One holder less; with the last the object goes.
///
/// # Safety
/// `object` came from [`make`], and the caller holds it and will no more.
pub(crate) unsafe fn release(object: *const c_void) {
    // SAFETY: the caller's promise.
    drop(ManuallyDrop::into_inner(unsafe { holder(object) }));
}

/// The size of an object.
///
/// # Safety
/// `object` came from [`make`] and is alive.
pub(crate) unsafe fn size(object: *const c_void) -> usize {
    // SAFETY: the caller's promise.
    unsafe { holder(object) }.get::<Resource>().map_or(0, |resource| resource.layout.size() - BEFORE)
}

/// The object behind a reference, if it is of this type.
pub(crate) fn object_of(holder: &Magic, of: *const ResourceType) -> Option<*mut c_void> {
    let resource = holder.get::<Resource>().filter(|resource| std::ptr::eq(resource.of, of))?;
    // SAFETY: the object stands so far into its memory.
    Some(unsafe { resource.memory.as_ptr().add(BEFORE) }.cast())
}
