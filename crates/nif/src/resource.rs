//! Resources: objects of a library that terms refer to, by references that keep them alive.
//!
//! The library has the address of the object's bytes. Right before these stands a pointer to what counts its holders. What it
//! watches is in [`crate::monitor`].

use crate::abi::{Destructor, Down, DynamicCall, Stop};
use crate::env::Env;
use crate::load::Library;
use crate::monitor::Monitors;
use myriad_sync::{LockClass, OnceLock, SpinLock};
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
    /// What the library that has opened it last does with its objects.
    callbacks: SpinLock<Callbacks>,
}

/// The functions of a library for the objects of a type.
#[derive(Clone, Copy, Default)]
pub(crate) struct Callbacks {
    pub(crate) destructor: Option<Destructor>,
    #[allow(dead_code, reason = "of descriptors that `enif_select` watches")]
    pub(crate) stop: Option<Stop>,
    pub(crate) down: Option<Down>,
    pub(crate) dynamic_call: Option<DynamicCall>,
    /// The library whose they are.
    pub(crate) library: Option<&'static Library>,
}

static CALLBACKS_CLASS: LockClass = LockClass::new("nif_resource_callbacks", 911);

impl ResourceType {
    pub(crate) fn callbacks(&self) -> Callbacks {
        *self.callbacks.lock()
    }
}

/// A type that a library has opened, and what is to be so when the library has begun.
pub(crate) struct Opened {
    of: &'static ResourceType,
    callbacks: Callbacks,
    /// It was there before.
    pub(crate) is_taken_over: bool,
}

impl Opened {
    /// A new type, or that of another version of the module, if either is asked for. `None`: what is asked for is not possible.
    pub(crate) fn new(
        module: Atom,
        name: &[u8],
        callbacks: Callbacks,
        creates: bool,
        takes_over: bool,
    ) -> Option<Opened> {
        match find(module, name) {
            Some(of) if takes_over => Some(Opened { of, callbacks, is_taken_over: true }),
            None if creates => {
                let none = SpinLock::new(&CALLBACKS_CLASS, Callbacks::default());
                let of = Box::leak(Box::new(ResourceType { module, name: name.into(), callbacks: none }));
                Some(Opened { of, callbacks, is_taken_over: false })
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
        *self.of.callbacks.lock() = self.callbacks;
        if !self.is_taken_over {
            TYPES.lock().push(self.of);
        }
    }
}

/// The type of this name.
pub(crate) fn find(module: Atom, name: &[u8]) -> Option<&'static ResourceType> {
    TYPES.lock().iter().copied().find(|of| of.module == module && *of.name == *name)
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
    /// The processes that it watches, if it ever did.
    monitors: OnceLock<Monitors>,
}

// SAFETY: the memory is the library's, which may use it from any thread by its own rules; this only counts its holders and frees it.
unsafe impl Send for Resource {}
// SAFETY: as above.
unsafe impl Sync for Resource {}

impl Resource {
    /// The type.
    pub(crate) fn of(&self) -> &'static ResourceType {
        self.of
    }

    /// The library's object.
    pub(crate) fn object(&self) -> *mut c_void {
        // SAFETY: the object stands so far into its memory.
        unsafe { self.memory.as_ptr().add(BEFORE) }.cast()
    }

    /// What it watches.
    pub(crate) fn monitors(&self) -> &Monitors {
        // SAFETY: the bytes before the object hold the word of its holders.
        self.monitors.get_or_init(|| Monitors::of(unsafe { self.memory.cast::<*const ()>().read() }))
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        if let Some(monitors) = self.monitors.get() {
            monitors.end();
        }
        let Callbacks { destructor, library, .. } = self.of.callbacks();
        if let Some(destructor) = destructor {
            // SAFETY: ABI1: the type's destructor, of an object that nobody holds any more.
            unsafe { destructor(&mut Env::own(library), self.object()) };
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
    let holder = Magic::new(numbers, Resource { of, memory, layout, monitors: OnceLock::new() });
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

/// Calls `look` with what is known of an object.
///
/// # Safety
/// `object` came from [`make`] and is alive, or its destructor runs.
pub(crate) unsafe fn with<R>(object: *const c_void, look: impl FnOnce(&Resource) -> R) -> Option<R> {
    // SAFETY: the caller's promise.
    unsafe { holder(object) }.get::<Resource>().map(look)
}

/// The size of an object.
///
/// # Safety
/// As for [`with`].
pub(crate) unsafe fn size(object: *const c_void) -> usize {
    // SAFETY: the caller's promise.
    unsafe { with(object, |resource| resource.layout.size() - BEFORE) }.unwrap_or(0)
}

/// The object behind a reference, if it is of this type.
pub(crate) fn object_of(holder: &Magic, of: *const ResourceType) -> Option<*mut c_void> {
    holder.get::<Resource>().filter(|resource| std::ptr::eq(resource.of, of)).map(Resource::object)
}
