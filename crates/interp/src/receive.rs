//! Receiving: the loop over the message queue, waiting, time-outs, receive markers, hibernation.
//!
//! A process that waits resumes at the `loop_rec` of its receive: the scan continues where it was, and `wait_timeout` then sees
//! whether the timer has fired.
//!
//! A marker is the end of the queue at the time a reference was made: no message before it can hold the reference. Markers are
//! kept in the process; Erlang code holds a small integer until the marker is bound to the reference.

use crate::instr::Op;
use crate::machine::{Machine, high, target};
use crate::{calls, errors, stubs};
use myriad_process::{CodePtr, Taken};
use myriad_term::{Build, RefNumbers, Term, am};
use myriad_trace::{messages, saved_calls, sequential};
use myriad_vm::Resume;
use myriad_vm::deliver::Handled;
use myriad_vm::engine::SliceEnd;

/// Most markers that a process keeps: the oldest is forgotten then, which costs time only.
const MAX_MARKERS: usize = 8;
/// First number of a marker that is not bound yet; references never have it.
const UNBOUND: u32 = u32::MAX;
/// The marker of `recv_mark`: its number is beyond [`NUMBERS`].
const OLD: RefNumbers = RefNumbers([UNBOUND, UNBOUND, u32::MAX]);
/// Markers are numbered in turn below this: as small integers of OTP, and as two numbers of a reference.
const NUMBERS: u64 = 1 << 59;

/// Handles signals that have come. `Err`: the slice ends (the process has ended or is suspended, or more signals have come than fit the slice,
/// and it gives way before there is a message to look at); it resumes at `pc`.
///
/// A signal may ask where the process is (a stack trace, whether it runs old code), so that must be true here as in a built-in.
#[cold]
#[inline(never)]
fn fetch(m: &mut Machine<'_, '_>, pc: *const u32) -> Result<(), ()> {
    m.leave();
    m.ctx.state.resume = Resume::inside(CodePtr(pc));
    m.ctx.state.saved_x.clear();
    let handled = m.ctx.fetch_signals(m.ctx.state.reductions.left());
    m.come_back();
    if handled == Handled::Fatal {
        m.end = SliceEnd::Exited;
        return Err(());
    }
    if m.ctx.state.suspensions.by_others() {
        m.stop(SliceEnd::Waiting, pc, std::ptr::null(), 0);
        return Err(());
    }
    if handled == Handled::Some && m.ctx.state.messages.peek().is_none() {
        m.stop(SliceEnd::Yielded, pc, std::ptr::null(), 0);
        return Err(());
    }
    Ok(())
}

/// `loop_rec`: the next message to X0, or on to the label.
pub unsafe fn loop_rec(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    if m.heap().needs_collection() {
        return m.collect_at(0, 0, pc);
    }
    if m.ctx.state.messages.peek().is_none() && m.ctx.has_signals() && fetch(m, pc).is_err() {
        return std::ptr::null();
    }
    if let Some(words) = m.ctx.state.messages.small_first() {
        if !m.heap().ensure(words) {
            return m.collect_at(words, 0, pc);
        }
        let process = &mut *m.ctx.state;
        process.messages.absorb_first(&mut process.heap);
    }
    match m.ctx.state.messages.peek() {
        Some(message) => {
            // SAFETY: the message stays in the queue, or its words join the heap, for as long as the code looks at it; then the next
            // instruction.
            unsafe {
                let term = message.term().assume_held();
                m.set_x(0, term);
                pc.add(2)
            }
        }
        // SAFETY: operand of the instruction.
        None => unsafe { target(pc.add(1)) },
    }
}

/// `loop_rec_end`: the message does not match.
pub unsafe fn loop_rec_end(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    m.ctx.state.messages.advance();
    m.reds -= 1;
    // SAFETY: operand of the instruction.
    let again = unsafe { target(pc.add(1)) };
    if m.reds <= 0 && m.is_spent() {
        return m.stop(SliceEnd::Yielded, again, std::ptr::null(), 0);
    }
    again
}

#[inline]
fn move_markers(m: &mut Machine<'_, '_>, taken: &Taken) {
    let Some(markers) = m.ctx.state.markers.get_mut() else { return };
    for (_, mark) in &mut markers.list {
        if *mark == taken.gone {
            *mark = taken.now;
        }
    }
}

#[inline]
fn end_timer(m: &mut Machine<'_, '_>) {
    if m.ctx.state.receive_timer.is_armed()
        && let Some(timer) = m.ctx.state.receive_timer.end()
    {
        m.ctx.vm.timers.cancel(timer);
    }
}

/// An exception from outside ends a receive, if the process is in one: the next one begins with the first message.
pub fn leave_receive(m: &mut Machine<'_, '_>) {
    end_timer(m);
    m.ctx.state.messages.rewind();
}

/// `remove_message`: the message is accepted.
pub unsafe fn remove_message(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    end_timer(m);
    if m.ctx.state.saves_calls() {
        saved_calls::save(m.ctx, saved_calls::RECEIVE);
    }
    if let Some((message, taken)) = m.ctx.state.messages.take() {
        move_markers(m, &taken);
        let (term, token) = message.receive(m.heap());
        // A message of a process without a token takes it; one of nobody leaves it.
        if token.is_some() && (!token.is_immediate() || m.ctx.state.token.is_some()) {
            sequential::accept(m.ctx, token, term);
        }
    }
    // SAFETY: the next instruction.
    unsafe { pc.add(1) }
}

/// The message that is looked at becomes part of the heap: the code does more with it than look, but it stays in the queue.
pub unsafe fn adopt_message(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    let process = &mut *m.ctx.state;
    process.messages.attach_current(&mut process.heap);
    // SAFETY: the next instruction.
    unsafe { pc.add(1) }
}

/// `timeout`: the receive is over without a message.
pub unsafe fn timeout(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    end_timer(m);
    if m.ctx.state.saves_calls() {
        saved_calls::save(m.ctx, saved_calls::TIMEOUT);
    }
    if m.ctx.process.trace.wants(myriad_vm::tracer::flags::RECEIVE) {
        messages::received(m.ctx, Term::atom(am::clock_service), Term::atom(am::timeout));
    }
    m.ctx.state.messages.rewind();
    // SAFETY: the next instruction.
    unsafe { pc.add(1) }
}

fn wait_at(m: &mut Machine<'_, '_>, again: *const u32) -> *const u32 {
    // Signals that have come since the last look are handled before waiting; it is fetched here, because a receive without clauses
    // (`receive after`) comes back here without fetching anything.
    if m.ctx.has_signals() {
        return if fetch(m, again).is_ok() { again } else { std::ptr::null() };
    }
    m.stop(SliceEnd::Waiting, again, std::ptr::null(), 0)
}

/// `wait`, where something has come or is to be done meanwhile.
pub unsafe fn wait(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operand of the instruction.
    let again = unsafe { target(pc.add(1)) };
    wait_at(m, again)
}

/// `wait_timeout`: continues behind it when the time is over. The time is read once for each receive: when the process comes here
/// again, woken by what does not match, only its Y registers are as before.
pub unsafe fn wait_timeout(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    let (again, next) = unsafe { (target(pc.add(1)), pc.add(3)) };
    if m.ctx.state.receive_timer.has_fired() {
        return next;
    }
    if m.ctx.state.receive_timer.is_armed() {
        return wait_at(m, again);
    }
    // SAFETY: operand of the instruction.
    let time = unsafe { m.source(pc.add(2)) };
    let mut timer = None;
    if !time.is_am(am::infinity) {
        let ms = match time.as_small() {
            Some(0) => return next,
            Some(ms @ 1..=0xffff_ffff) => ms as u64,
            _ => {
                // The receive is over: the next one starts from the first message.
                m.ctx.state.messages.rewind();
                return errors::error_at(m, pc, Term::atom(am::timeout_value));
            }
        };
        let vm = m.ctx.vm;
        let at = vm.platform.now_ns() + ms * 1_000_000;
        timer = Some(vm.set_receive_timer(m.ctx.sched.id, at, m.ctx.process.pid));
    }
    m.ctx.state.receive_timer.arm(timer);
    wait_at(m, again)
}

// ---- markers

fn set_marker(m: &mut Machine<'_, '_>, key: RefNumbers) {
    let mark = m.ctx.state.messages.end_mark();
    let markers = &mut m.ctx.state.markers.list;
    markers.retain(|(k, _)| *k != key);
    if markers.len() >= MAX_MARKERS {
        markers.remove(0);
    }
    markers.push((key, mark));
}

fn seek(m: &mut Machine<'_, '_>, key: RefNumbers) {
    let found = m.ctx.state.markers.list.iter().find(|(k, _)| *k == key).map(|(_, mark)| *mark);
    if let Some(mark) = found {
        // SAFETY: markers are moved along with every message that is taken out (`remove_message`).
        unsafe { m.ctx.state.messages.seek(mark) };
    }
}

/// The key of a marker that is not bound yet.
fn unbound(number: i64) -> RefNumbers {
    RefNumbers([UNBOUND, (number >> 32) as u32, number as u32])
}

/// The key that a register's value names: a reference, or the number of a marker not bound yet.
fn key_of(value: Term) -> Option<RefNumbers> {
    value.as_small().map(unbound).or_else(|| value.as_local_ref())
}

/// `recv_marker_reserve`
pub unsafe fn marker_reserve(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    let serial = &mut m.ctx.state.markers.serial;
    let number = (*serial % NUMBERS) as i64;
    *serial = serial.wrapping_add(1);
    set_marker(m, unbound(number));
    // SAFETY: operand of the instruction.
    unsafe {
        m.set(high(pc), Term::small(number));
        pc.add(1)
    }
}

/// `recv_marker_bind`
pub unsafe fn marker_bind(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    let (marker, reference) = unsafe { (m.get(high(pc)), m.get(*pc.add(1) & 0xffff)) };
    if let (Some(from), Some(to)) = (key_of(marker), reference.as_local_ref()) {
        for (key, _) in m.ctx.state.markers.get_mut().into_iter().flat_map(|m| &mut m.list) {
            if *key == from {
                *key = to;
            }
        }
    }
    // SAFETY: the next instruction.
    unsafe { pc.add(2) }
}

/// `recv_marker_clear`
pub unsafe fn marker_clear(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operand of the instruction.
    let value = unsafe { m.get(high(pc)) };
    if let Some(key) = key_of(value) {
        m.ctx.state.markers.list.retain(|(k, _)| *k != key);
    }
    // SAFETY: the next instruction.
    unsafe { pc.add(1) }
}

/// `recv_marker_use`
pub unsafe fn marker_use(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operand of the instruction.
    let value = unsafe { m.get(high(pc)) };
    if let Some(key) = key_of(value) {
        seek(m, key);
    }
    // SAFETY: the next instruction.
    unsafe { pc.add(1) }
}

/// `recv_mark`
pub unsafe fn old_mark(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    set_marker(m, OLD);
    // SAFETY: the next instruction.
    unsafe { pc.add(1) }
}

/// `recv_set`
pub unsafe fn old_set(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    seek(m, OLD);
    // SAFETY: the next instruction.
    unsafe { pc.add(1) }
}

// ---- hibernation

/// Most arguments for which OTP lets a process hibernate: what is wrong with fewer than these is found out when it wakes.
const MOST_KEPT: usize = 1024;

/// A call of `erlang:hibernate/3`: forgets the stack, keeps little memory, and when a message comes calls `X0:X1(X2...)`.
pub unsafe fn hibernate(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    let all = [m.x(0), m.x(1), m.x(2)];
    let wrong = match all[2].list_length() {
        Some(n) if all[0].is_atom() && all[1].is_atom() => (n > MOST_KEPT).then_some(am::system_limit),
        _ => Some(am::badarg),
    };
    if let Some(reason) = wrong {
        let name = errors::erlang(am::hibernate, 3);
        let arguments = m.ctx.list(&all);
        // Reached through its entry, its caller is on the stack.
        let entered = m.locate(pc).is_some_and(|at| at.function.mfa == name);
        let pc = if entered { std::ptr::null() } else { pc };
        return errors::bif_error(m, pc, name, arguments, reason.term());
    }
    let base = m.heap().hend;
    m.heap().stop = base;
    stubs::push_bottom(m);
    m.ctx.state.messages.rewind();
    m.leave();
    // SAFETY: the stack is empty, the arguments are in the X registers, all else is in the process.
    let done = unsafe { m.ctx.shrink_heap(std::slice::from_raw_parts_mut(m.x, 3)) };
    m.come_back();
    if !done {
        m.end = SliceEnd::Exited;
        return std::ptr::null();
    }
    // SAFETY: the instruction stands alone in the stub's code.
    unsafe { hibernating(m, stubs::code_of(Op::Hibernating)) }
}

/// Where a hibernating process resumes.
pub unsafe fn hibernating(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    if m.ctx.state.messages.is_empty() {
        // What others have asked of it since it hibernated has left garbage.
        if m.heap().needs_collection() && !m.collect(0, 3) {
            return std::ptr::null();
        }
        return m.stop(SliceEnd::Waiting, pc, std::ptr::null(), 3);
    }
    // SAFETY: the instruction at hand has the operands of `apply_list_last`.
    unsafe { calls::apply_mfa(m, pc, true) }
}
