//! Resources: objects of a library that terms refer to, by references that keep them alive.
//!
//! The library has the address of the object's bytes. Right before these stands a pointer to what counts its holders. What it
//! watches is in [`crate::monitor`].
//!
//! RT1. A type that has functions holds their library as long as it is open or has objects. Both change before whoever changes them looks,
//!      under the type's lock, whether the library is still needed: so one of the two who make it unneeded lets it go.

use crate::abi::{Destructor, Down, DynamicCall, Stop};
use crate::check;
use crate::check::registry;
use crate::env;
use crate::load::Library;
use crate::monitor::Monitors;
use myriad_sync::atomic::{AtomicUsize, Ordering};
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
/// The types that libraries have open.
static TYPES: SpinLock<Vec<&'static ResourceType>> = SpinLock::new(&CLASS, Vec::new());

/// A type of resources (`ErlNifResourceType`). It stays for ever: its objects may outlive the module.
pub struct ResourceType {
    module: Atom,
    name: Box<[u8]>,
    state: SpinLock<State>,
    /// How many objects there are (RT1).
    objects: AtomicUsize,
}

/// What the library that has opened a type last does with its objects.
#[derive(Default)]
struct State {
    callbacks: Callbacks,
    /// Can objects be made?
    is_open: bool,
    /// Does the type hold the library?
    holds: bool,
}

/// The functions of a library for the objects of a type.
#[derive(Clone, Copy, Default)]
pub(crate) struct Callbacks {
    pub(crate) destructor: Option<Destructor>,
    pub(crate) stop: Option<Stop>,
    pub(crate) down: Option<Down>,
    pub(crate) dynamic_call: Option<DynamicCall>,
    /// The library whose they are.
    pub(crate) library: Option<&'static Library>,
}

impl Callbacks {
    fn are_any(&self) -> bool {
        self.destructor.is_some() || self.stop.is_some() || self.down.is_some() || self.dynamic_call.is_some()
    }
}

static STATE_CLASS: LockClass = LockClass::new("nif_resource_type", 911);

impl ResourceType {
    fn new(module: Atom, name: &[u8]) -> ResourceType {
        let state = SpinLock::new(&STATE_CLASS, State::default());
        ResourceType { module, name: name.into(), state, objects: AtomicUsize::new(0) }
    }

    /// The functions, as long as they are there: for who holds an object, or the library.
    pub(crate) fn callbacks(&self) -> Callbacks {
        self.state.lock().callbacks
    }

    /// Calls one of the functions, for an object; their library stays meanwhile.
    pub(crate) fn call<R>(&self, call: impl FnOnce(Callbacks) -> R) -> R {
        let state = self.state.lock();
        let callbacks = state.callbacks;
        let library = callbacks.library.filter(|_| callbacks.are_any());
        // RT1: the type holds it.
        library.into_iter().for_each(Library::hold);
        drop(state);
        let result = call(callbacks);
        library.into_iter().for_each(Library::release);
        result
    }

    /// An object more. One of a type that was closed has the library stay, in which a call or thread of its own makes it.
    fn object_comes(&self) {
        // Relaxed: the lock orders it with who looks whether there are objects.
        if self.objects.fetch_add(1, Ordering::Relaxed) == 0 {
            let mut state = self.state.lock();
            if !state.is_open && !state.holds && state.callbacks.are_any() {
                state.callbacks.library.into_iter().for_each(Library::hold);
                state.holds = true;
            }
        }
    }

    /// An object less: the last one of a type that was closed lets the library go (RT1).
    fn object_goes(&self) {
        // Relaxed: as above.
        if self.objects.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.settle(|_| {});
        }
    }

    /// Changes the state, and lets a library go that is no longer to be held (RT1).
    fn settle(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        let (held, library) = (state.holds, state.callbacks.library);
        change(&mut state);
        // Relaxed: who makes another count of objects of this looks under the lock afterwards.
        let needed = state.is_open || self.objects.load(Ordering::Relaxed) > 0;
        state.holds = needed && state.callbacks.are_any();
        if state.holds {
            state.callbacks.library.into_iter().for_each(Library::hold);
        }
        drop(state);
        library.into_iter().filter(|_| held).for_each(Library::release);
    }

    /// It is open, with these functions.
    fn open(&self, callbacks: Callbacks) {
        self.settle(|state| {
            state.callbacks = callbacks;
            state.is_open = true;
        });
    }

    /// Is it this library's?
    fn is_of(&self, library: &'static Library) -> bool {
        self.callbacks().library.is_some_and(|own| std::ptr::eq(own, library))
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
                let of = Box::leak(Box::new(ResourceType::new(module, name)));
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
        self.of.open(self.callbacks);
        if !self.is_taken_over {
            TYPES.lock().push(self.of);
        }
    }
}

/// The type of this name.
pub(crate) fn find(module: Atom, name: &[u8]) -> Option<&'static ResourceType> {
    TYPES.lock().iter().copied().find(|of| of.module == module && *of.name == *name)
}

/// The types that are a library's are no longer open; objects may still have them.
pub(crate) fn close_types(library: &'static Library) {
    let closed: Vec<_> = TYPES.lock().extract_if(.., |of| of.is_of(library)).collect();
    for of in closed {
        of.settle(|state| state.is_open = false);
    }
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

/// The memory of an object that is no more, until this goes.
struct Freed(NonNull<u8>, Layout);

// SAFETY: memory that nobody uses.
unsafe impl Send for Freed {}

impl Drop for Freed {
    fn drop(&mut self) {
        // SAFETY: from `make`, with this layout.
        unsafe { dealloc(self.0.as_ptr(), self.1) };
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        if let Some(monitors) = self.monitors.get() {
            monitors.end();
        }
        if check::is_on() {
            registry::object_dies(self.object().addr());
        }
        self.of.call(|Callbacks { destructor, library, .. }| {
            if let Some(destructor) = destructor {
                // SAFETY: ABI1: the type's destructor, of an object that nobody holds any more.
                env::for_callback(library, "dtor", |env| unsafe { destructor(env, self.object()) });
            }
        });
        self.of.object_goes();
        if check::is_on() {
            registry::object_goes(self.object().addr());
            let freed = Freed(self.memory, self.layout);
            return registry::keep(Box::new(freed), self.layout.size(), None);
        }
        drop(Freed(self.memory, self.layout));
    }
}

/// The bytes of a new object, which the caller holds: [`release`] gives it back.
pub(crate) fn make(of: &'static ResourceType, size: usize, numbers: RefNumbers) -> Option<*mut c_void> {
    let layout = Layout::from_size_align(size.checked_add(BEFORE)?, BEFORE).ok()?;
    // SAFETY: the size is not zero.
    let Some(memory) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
    of.object_comes();
    let holder = Magic::new(numbers, Resource { of, memory, layout, monitors: OnceLock::new() });
    // SAFETY: the bytes before the object have room for the pointer.
    let object: *mut c_void = unsafe {
        memory.cast::<*const ()>().write(holder.into_raw());
        memory.as_ptr().add(BEFORE).cast()
    };
    if check::is_on() {
        registry::object_comes(object.addr());
    }
    Some(object)
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
