//! Descriptors, timers, work on other threads, monitors.

use crate::abi::{Event, Handle, Monitor, Word, mode};
use crate::data_lock::OfPort;
use crate::events::stop_select;
use crate::monitors;
use crate::port::with_port;
use crate::workers::{self, Data, Function, Work};
use myriad_nif::abi::Out;
use myriad_nif::exports;
use myriad_term::Term;
use std::ffi::{c_int, c_long, c_uint, c_ulong, c_void};

exports! {
    /// Waits for a descriptor, or no more: 0, or -1.
    fn driver_select(port: Handle, event: Event, bits: c_int, on: c_int) -> c_int {
        let done = with_port(port, |instance, context| {
            if on != 0 {
                // What the driver has no function for is not waited for.
                let mut bits = bits;
                if instance.entry.ready_input.is_none() {
                    bits &= !mode::READ;
                }
                if instance.entry.ready_output.is_none() {
                    bits &= !mode::WRITE;
                }
                return instance.events.select(context, event, bits).map(|()| None);
            }
            let over = instance.events.deselect(context, event, bits)?;
            Ok((over && bits & mode::NO_CALLBACK == 0).then_some(instance.entry.stop_select))
        });
        match done {
            Some(Ok(over)) => {
                // Outside of the instance (driver.port/CA1).
                if let Some(function) = over {
                    stop_select(function, event);
                }
                0
            }
            _ => -1,
        }
    }

    /// Has `timeout` called after so many milliseconds.
    fn driver_set_timer(port: Handle, after_ms: c_ulong) -> c_int {
        let set = with_port(port, |instance, context| {
            if instance.entry.timeout.is_none() {
                return -1;
            }
            instance.set_timer(context, after_ms);
            0
        });
        set.unwrap_or(-1)
    }

    /// Takes that back.
    fn driver_cancel_timer(port: Handle) -> c_int {
        with_port(port, |instance, context| instance.cancel_timer(context)).map_or(-1, |()| 0)
    }

    /// The milliseconds that are left.
    fn driver_read_timer(port: Handle, to: Out<c_ulong>) -> c_int {
        let left = with_port(port, |instance, context| instance.timer_left_ms(context));
        left.map_or(-1, |left| {
            to.set(left);
            0
        })
    }

    /// Has work done by another thread: those with one key in turn. Gives a number that is not negative.
    fn driver_async(
        port: Handle,
        key: Option<&c_uint>,
        function: Function,
        data: *mut c_void,
        free: Option<Function>,
    ) -> c_long {
        let held = with_port(port, |instance, _| {
            (instance.data_lock.as_ref().map(OfPort::another), instance.library.another())
        });
        let Some((lock, library)) = held else { return -1 };
        let work = Work { port, function, data: Data { of: data, free }, lock, library };
        workers::give(work, key.copied());
        0
    }

    /// A key for the work of one port.
    fn driver_async_port_key(port: Handle) -> c_uint {
        // The golden ratio spreads numbers that follow each other.
        (port.id().number() as c_uint).wrapping_mul(0x9e37_79b9)
    }

    /// Monitors a process: 0; above 0 where there is none, below where the driver could not be told.
    fn driver_monitor_process(port: Handle, process: Word, to: Out<Monitor>) -> c_int {
        let watched = with_port(port, |instance, context| {
            instance.entry.process_exit?;
            let Some(pid) = process.term().and_then(Term::as_local_pid) else { return Some(None) };
            let serial = monitors::watch(context.vm(), pid, context.id());
            if let Some(serial) = serial {
                instance.monitors.insert(serial, pid);
            }
            Some(serial.map(|serial| Monitor { serial, port: context.id().number(), spare: [0; 2] }))
        });
        match watched.flatten() {
            None => -1,
            Some(None) => 1,
            Some(Some(monitor)) => {
                to.set(monitor);
                0
            }
        }
    }

    /// Monitors it no more: 0; 1 where there was no such monitor.
    fn driver_demonitor_process(port: Handle, monitor: &Monitor) -> c_int {
        let gone = with_port(port, |instance, context| {
            let pid = instance.monitors.remove(&monitor.serial)?;
            monitors::forget(context.vm(), context.id(), std::iter::once((monitor.serial, pid)));
            Some(())
        });
        match gone {
            None => -1,
            Some(None) => 1,
            Some(Some(())) => 0,
        }
    }

    /// The process that is monitored; `[]` where there is no such monitor.
    fn driver_get_monitored_process(port: Handle, monitor: &Monitor) -> Word {
        let pid = with_port(port, |instance, _| instance.monitors.get(&monitor.serial).copied()).flatten();
        pid.map_or(Term::NIL, Term::pid).into()
    }

    /// Are they the same? In an order of their own, as `memcmp`.
    fn driver_compare_monitors(a: &Monitor, b: &Monitor) -> c_int { a.serial.cmp(&b.serial) as c_int }
}
