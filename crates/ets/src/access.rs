//! From a table argument to the table, with the checks and errors that all functions share.

use crate::registry::Registry;
use crate::store::Caller;
use crate::table::{Gone, Protection, Table, User};
use myriad_sync::Arc;
use myriad_term::magic::magic_reference;
use myriad_term::{Alloc, Atom, Magic, Term, TermRef, am};
use myriad_vm::bif::BADARG;
use myriad_vm::{Ctx, Escape, Vm};
use std::ops::Deref;

/// What a function wants to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Look at rows.
    Read,
    /// Change rows or the table.
    Write,
    /// Only look at the table itself.
    Info,
}

impl Need {
    /// May anybody do this with a table of such protection?
    #[inline]
    fn is_met_by(self, protection: Protection) -> bool {
        let enough = match self {
            Need::Info => Protection::OwnerState,
            Need::Read => Protection::Protected,
            Need::Write => Protection::Public,
        };
        protection as u32 >= enough as u32
    }
}

/// A table in use during one call of a function.
pub enum InUse {
    /// Held by the reference that is an argument, or by the entry of its name.
    Held(*const Arc<Table>),
    /// Found by its numbers.
    Found(Arc<Table>),
}

impl InUse {
    /// The table, to keep it longer.
    pub fn shared(&self) -> Arc<Table> {
        self.arc().clone()
    }

    /// The counted table.
    #[inline]
    pub fn arc(&self) -> &Arc<Table> {
        match self {
            // SAFETY: term/T2: the reference stays on the caller's heap during the call, and holds the table; so does the entry of
            // a name (ets/RG3).
            InUse::Held(table) => unsafe { &**table },
            InUse::Found(table) => table,
        }
    }
}

impl Deref for InUse {
    type Target = Table;
    #[inline]
    fn deref(&self) -> &Table {
        self.arc()
    }
}

/// What the magic reference of an identifier holds: the table, though not its rows once it is deleted.
struct TableId(Arc<Table>);

/// The identifier of a table.
pub fn identifier<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, table: &Arc<Table>) -> TermRef<'h> {
    magic_reference(heap, Magic::new(table.numbers, TableId(table.clone())))
}

/// How the table is known: by name or identifier.
pub fn known_as<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, table: &Arc<Table>) -> TermRef<'h> {
    if table.options.named { table.name().term() } else { identifier(heap, table) }
}

/// `error:badarg` with a cause.
#[cold]
pub fn bad<T>(ctx: &mut Ctx<'_>, cause: Atom) -> Result<T, Escape> {
    ctx.state.error_cause = cause.term();
    Err(BADARG)
}

/// The error for a table that has just been deleted.
#[cold]
pub fn gone<T>(ctx: &mut Ctx<'_>, _: Gone) -> Result<T, Escape> {
    bad(ctx, am::id)
}

/// The table that a term stands for, deleted or not.
#[inline]
pub fn find(vm: &Vm, term: Term) -> Result<InUse, Atom> {
    match at_hand(vm, term) {
        Some(table) => Ok(InUse::Held(table)),
        None if term.is_atom() => Err(am::id),
        None => term
            .as_local_ref()
            .and_then(|numbers| Registry::of(vm).by_reference(numbers))
            .map(InUse::Found)
            .ok_or(am::type_),
    }
}

/// The table that a name stands for, or that an identifier holds.
#[inline]
fn at_hand(vm: &Vm, term: Term) -> Option<*const Arc<Table>> {
    if let Some(name) = term.as_atom() {
        return Registry::of(vm).named(name);
    }
    let magic = term.as_magic()?;
    magic.get::<TableId>().map(|TableId(table)| &raw const *table)
}

/// The caller as a user of tables (ets/TB4).
#[inline]
pub fn user(ctx: &Ctx<'_>) -> User {
    debug_assert!(ctx.sched.slices.is_some() || ctx.sched.dirty, "TB4: a normal scheduler takes part in grace periods");
    ctx.sched.slices.is_some().then(|| ctx.pid())
}

/// The caller as one that writes a table.
#[inline]
pub fn caller<'a>(ctx: &'a Ctx<'_>) -> Caller<'a> {
    Caller { user: user(ctx), slices: ctx.sched.slices.as_ref() }
}

/// The live table of an argument, which the caller may use so.
#[inline]
pub fn table(ctx: &mut Ctx<'_>, term: Term, need: Need) -> Result<InUse, Escape> {
    if let Some(at) = at_hand(ctx.vm, term) {
        let found = InUse::Held(at);
        if !found.is_deleted() && (need.is_met_by(found.protection()) || found.owner() == ctx.pid()) {
            return Ok(found);
        }
    }
    table_otherwise(ctx, term, need)
}

/// A table that is known by a reference that holds none; what stands in the way.
#[cold]
#[inline(never)]
fn table_otherwise(ctx: &mut Ctx<'_>, term: Term, need: Need) -> Result<InUse, Escape> {
    let found = match find(ctx.vm, term) {
        Ok(found) => found,
        Err(cause) => return bad(ctx, cause),
    };
    if found.is_deleted() {
        return bad(ctx, am::id);
    }
    let allowed = need.is_met_by(found.protection()) || found.owner() == ctx.pid();
    if !allowed && !Registry::of(ctx.vm).is_super_user(ctx.pid()) {
        return bad(ctx, am::access);
    }
    Ok(found)
}
