//! `erts_debug`, and what it needs of `erts_internal`: forms and sizes of terms, a little of the VM's inside.
//!
//! Forms and sizes are told as OTP's representation has them: OTP's own libraries and tests reckon with that. The
//! children of a hash map's node are nodes, which are no values: `erts_debug:size/1` alone handles them.

mod dirty;
mod internal_state;
pub(crate) mod references;
mod relations;

use crate::guards::{bad_map, otp_small};
use crate::work::dirty_if_large;
use internal_state::{get_internal_state_1, set_internal_state_2};
use myriad_heap::is_literal;
use myriad_term::binary::WRITABLE;
use myriad_term::compare::compare_exact;
use myriad_term::map::View;
use myriad_term::size::{flat_size, size_shared};
use myriad_term::{Build, Kind, Term, am, print};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub DEBUG = "erts_debug" {
    "flat_size" / 1 Plain => |ctx, a| { dirty_if_large(ctx, a[0])?; let words = flat_size(a[0]); ctx.bump(words / 32); Ok(Term::small(words as i64)) };
    "size_shared" / 1 Plain => |ctx, a| { dirty_if_large(ctx, a[0])?; let words = size_shared(a[0], is_literal); ctx.bump(words / 4); Ok(Term::small(words as i64)) };
    "copy_shared" / 2 Plain => |ctx, a| copy_shared(ctx, a[0], a[1]);
    "same" / 2 Plain => |_, a| Ok(Term::bool(a[0].is(a[1])));
    "map_info" / 1 Plain => map_info_1;
    "display" / 1 Plain => display_1;
    "get_internal_state" / 1 Plain => get_internal_state_1;
    "dirty_cpu" / 2 DirtyCpu => |ctx, a| dirty::run(ctx, a[0], a[1]);
    "dirty_io" / 2 DirtyIo => |ctx, a| dirty::run(ctx, a[0], a[1]);
    "dirty" / 3 Plain => dirty::dirty_3;
    "set_internal_state" / 2 Plain => set_internal_state_2;
}}

myriad_vm::bifs! { pub INTERNAL_DEBUG = "erts_internal" {
    "cmp_term" / 2 Plain => |_, a| Ok(Term::small(compare_exact(a[0], a[1]) as i64));
    "term_type" / 1 Plain => |_, a| Ok(Term::atom(term_type(a[0])));
    "map_hashmap_children" / 1 Plain => map_hashmap_children_1;
}}

fn term_type(term: Term) -> myriad_term::Atom {
    let Some(kind) = term.boxed_kind() else {
        return match term {
            t if t.is_cons() => am::list,
            t if t.is_nil() => am::nil,
            t if t.is_atom() => am::atom,
            t if t.is_local_pid() => am::pid,
            t if t.is_port() => am::port,
            t if t.is_float() => am::hfloat,
            t if otp_small(t).is_some() => am::fixnum,
            _ => am::bignum,
        };
    };
    match kind {
        Kind::Tuple => am::tuple,
        Kind::Map => am::flatmap,
        Kind::MapRoot => am::hashmap,
        Kind::MapNode => am::hashmap_node,
        Kind::Fun => am::fun,
        Kind::ExportFun => am::export,
        Kind::HeapBinary if term.as_bits().is_some_and(|b| !b.is_binary()) => am::sub_binary,
        Kind::HeapBinary => am::heap_binary,
        Kind::SharedBinary => am::refc_binary,
        Kind::SubBinary => am::sub_binary,
        Kind::MatchContext => am::matchstate,
        Kind::Float => am::hfloat,
        Kind::Ref | Kind::AliasRef | Kind::MagicRef => am::reference,
        Kind::ExternalPid => am::external_pid,
        Kind::ExternalPort => am::external_port,
        Kind::ExternalRef => am::external_reference,
        _ => am::bignum,
    }
}

/// The children of a hash map's root or node.
fn children(term: &Term) -> Option<&[Term]> {
    let object = term.as_boxed()?;
    match (object.kind(), term.as_map().map(|map| map.view())) {
        (Kind::MapNode, _) => Some(object.slots()),
        (_, Some(View::Hash { children, .. })) => Some(children),
        _ => None,
    }
}

fn map_hashmap_children_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match children(&args[0]) {
        Some(children) => Ok(ctx.list(children)),
        None if args[0].is_map() => badarg(),
        None => bad_map(args[0]),
    }
}

/// Children that a node can have.
const WIDTH: usize = 16;

/// The shape of a hash map: depth, full nodes, nodes by number of children, leaves by depth.
fn map_info_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(top) = children(&args[0]) else {
        return if args[0].is_map() { badarg() } else { bad_map(args[0]) };
    };
    let (mut full, mut nodes, mut leaves) = (0, [0; WIDTH], [0; WIDTH]);
    let (mut depth, mut node_count, mut leaf_count) = (0, 0, 0);
    let mut left = vec![(top, 1)];
    while let Some((children, level)) = left.pop() {
        match nodes.get_mut(children.len().wrapping_sub(1)) {
            _ if level == 1 && children.len() == WIDTH => full += 1,
            Some(count) => *count += 1,
            None => {}
        }
        node_count += 1;
        for child in children {
            if child.is_cons() {
                depth = depth.max(level);
                leaf_count += 1;
                leaves[level.min(WIDTH - 1)] += 1;
            } else if let Some(object) = child.as_boxed() {
                left.push((object.slots(), level + 1));
            }
        }
    }
    ctx.bump(leaf_count / 8);
    let counts = |ctx: &mut Ctx<'_>, counts: [i64; WIDTH]| ctx.tuple(&counts.map(Term::small));
    let number = |n: usize| Term::small(n as i64);
    let (nodes, leaves) = (counts(ctx, nodes), counts(ctx, leaves));
    let items = [
        ctx.tuple(&[Term::atom(am::depth), number(depth)]),
        ctx.tuple(&[Term::atom(am::arrays), number(full), Term::NIL]),
        ctx.tuple(&[Term::atom(am::bitmaps), number(node_count - full), nodes]),
        ctx.tuple(&[Term::atom(am::leafs), number(leaf_count), leaves]),
    ];
    Ok(ctx.list(&items))
}

/// Prints a term, and gives what it printed.
fn display_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    use std::io::Write;
    let mut text = print::display(args[0]);
    text.push(b'\n');
    let mut stdout = std::io::stdout().lock();
    // A closed file is no error of the program that prints for debugging.
    let _ = stdout.write_all(&text).and_then(|()| stdout.flush());
    Ok(ctx.byte_list(&text, Term::NIL))
}

/// A copy with the term's sharing, the literals in it copied or not.
fn copy_shared(ctx: &mut Ctx<'_>, term: Term, copy_literals: Term) -> BifResult {
    let Some(copy_literals) = copy_literals.as_bool() else { return badarg() };
    ctx.bump(size_shared(term, is_literal) / 4);
    let stays = |at: *const u64| !copy_literals && is_literal(at);
    // SAFETY: literals stay, which the process holds as it holds the term.
    Ok(unsafe { myriad_term::copy_shared::copy_shared(term, ctx, stays) })
}

/// `heap_binary`, or `{refc_binary, Bytes, {binary, Allocated}, Flags}`.
fn binary_info(ctx: &mut Ctx<'_>, term: Term) -> BifResult {
    /// OTP's flags of a binary that may be appended to: writable, and active.
    const APPENDABLE: i64 = 3;
    let Some((whole, ..)) = term.binary_parts() else { return badarg() };
    let Some(object) = whole.as_boxed().filter(|object| object.kind() == Kind::SharedBinary) else {
        return Ok(Term::atom(am::heap_binary));
    };
    let flags = if object.header().aux() & WRITABLE != 0 { APPENDABLE } else { 0 };
    let allocated = ctx.uint(object.shared().capacity() as u64);
    let allocated = ctx.tuple(&[Term::atom(am::binary), allocated]);
    Ok(ctx.tuple(&[Term::atom(am::refc_binary), Term::small(object.word(0) as i64), allocated, Term::small(flags)]))
}
