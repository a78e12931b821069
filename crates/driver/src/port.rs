//! How the functions of the interface find the port that they are about.
//!
//! CA1. While a driver's function runs for a port, the instance and the context of the call are reached through [`with_port`] alone: the frame that
//!      has called the function uses neither until it has returned, and what `with_port` lends is given back before a driver's function is called.

use crate::abi::Handle;
use crate::call::{may_wait, under_way, with_vm};
use crate::instance::Instance;
use crate::library::Library;
use crate::words::word;
use myriad_io::port::driver::{Context, Driver};
use myriad_io::port::linked_in;
use myriad_sync::Arc;
use myriad_vm::Vm;
use std::any::Any;

/// Looks at a port of a C driver's, or acts in its name. Nothing if there is none.
pub(crate) fn with_port<R>(port: Handle, act: impl FnOnce(&mut Instance, &mut Context<'_>) -> R) -> Option<R> {
    if let Some(call) = under_way(port) {
        // SAFETY: CA1: the frames that lend them do not use them now, and they live as long as the call; an instance has made it.
        let (instance, context) = unsafe {
            let call = call.as_ref();
            (&mut *call.instance.cast::<Instance>().as_ptr(), &mut *call.context.as_ptr())
        };
        return Some(act(instance, context));
    }
    with_vm(|vm| {
        linked_in::at_once(vm, port.id(), may_wait(), |driver, context| {
            let instance = (driver as &mut dyn Any).downcast_mut::<Instance>()?;
            Some(act(instance, context))
        })
    })
    .flatten()
    .flatten()
}

/// Calls a port's instance in the port's turn, if the port is still there then.
pub(crate) fn in_turn(
    vm: &'static Vm,
    port: Handle,
    call: impl FnOnce(&mut Instance, &mut Context<'_>) + Send + 'static,
) {
    linked_in::in_turn(vm, port.id(), move |driver: &mut dyn Driver, context: &mut Context<'_>| {
        if let Some(instance) = (driver as &mut dyn Any).downcast_mut::<Instance>() {
            call(instance, context);
        }
    });
}

/// Has all ports of a driver end, each in its turn.
pub(crate) fn end_all(vm: &'static Vm, library: &Arc<Library>) {
    let Some(ports) = vm.subsystems().find_map(|one| one.ports()) else { return };
    for port in ports.all(vm) {
        let library = library.clone();
        in_turn(vm, port.into(), move |instance, context| {
            if Arc::ptr_eq(instance.library.library(), &library) {
                context.exit(word("driver_unloaded"));
            }
        });
    }
}
