//! Nodes and distribution: this node may have a name, knows itself and what terms refer to, and reaches no other.

use super::bad_option;
use crate::debug::references::known_nodes;
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::{Escape, NOTSUP, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub DISTRIBUTION = "erlang" {
    "nodes" / 0 Plain => |_, _| Ok(Term::NIL);
    "nodes" / 1 Plain => nodes_1;
    "nodes" / 2 Plain => nodes_2;
    "setnode" / 2 Plain => setnode_2;
    "monitor_node" / 2 Plain => |ctx, a| monitor_node(ctx, a[0], a[1], Term::NIL);
    "monitor_node" / 3 Plain => |ctx, a| monitor_node(ctx, a[0], a[1], a[2]);
    "dist_ctrl_get_data" / 1 Plain => |_, _| Err(NOTSUP);
    "dist_ctrl_get_data_notification" / 1 Plain => |_, _| Err(NOTSUP);
    "dist_ctrl_get_opt" / 2 Plain => |_, _| Err(NOTSUP);
    "dist_ctrl_input_handler" / 2 Plain => |_, _| Err(NOTSUP);
    "dist_ctrl_put_data" / 2 Plain => |_, _| badarg();
    "dist_ctrl_set_opt" / 3 Plain => |_, _| Err(NOTSUP);
    "dist_get_stat" / 1 Plain => |_, _| badarg();
}}

myriad_vm::bifs! { pub INTERNAL_DISTRIBUTION = "erts_internal" {
    "get_dflags" / 0 Plain => get_dflags_0;
    "get_creation" / 0 Plain => |ctx, _| match ctx.vm.creation() {
        0 => Ok(Term::UNDEFINED),
        creation => Ok(Term::small(i64::from(creation))),
    };
    "dist_spawn_request" / 4 Plain => dist_spawn_request_4;
    "create_dist_channel" / 3 Plain => |_, _| Ok(Term::atom(am::badarg));
    "new_connection" / 1 Plain => |_, _| badarg();
    "abort_pending_connection" / 2 Plain => |_, _| badarg();
}}

myriad_vm::bifs! { pub NET_KERNEL = "net_kernel" {
    "dflag_unicode_io" / 1 Plain => |_, a| if a[0].is_pid() { Ok(Term::TRUE) } else { badarg() };
}}

/// Flags that may be rejected, and those that ask for strict order.
const REJECTABLE: i64 = 0x80_2042;
const STRICT_ORDER: i64 = 0x2000;

fn get_dflags_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let default = ctx.uint(ctx.vm.release.dist_flags);
    let mandatory = ctx.uint(ctx.vm.release.dist_mandatory);
    let flags =
        [am::erts_dflags.term(), default, mandatory, default, Term::small(REJECTABLE), Term::small(STRICT_ORDER)];
    Ok(ctx.tuple(&flags))
}

/// What an argument of `nodes/1,2` asks for.
#[derive(Clone, Copy, Default)]
struct Wanted {
    /// This node.
    own: bool,
    /// Nodes that terms refer to.
    known: bool,
}

/// What the argument (a kind of node, or a list of them) asks for. `None`: it is none.
fn wanted(which: Term) -> Option<Wanted> {
    let mut wanted = Wanted::default();
    let mut one = |t: Term| match t.as_atom() {
        Some(am::this) => {
            wanted.own = true;
            true
        }
        Some(am::known) => {
            wanted = Wanted { own: true, known: true };
            true
        }
        Some(am::visible | am::hidden | am::connected) => true,
        _ => false,
    };
    if !which.is_list() {
        return one(which).then_some(wanted);
    }
    let mut kinds = which.list_iter();
    let all = kinds.by_ref().all(one) && kinds.tail().is_nil();
    all.then_some(wanted)
}

/// This node and others that are asked for. `None`: to be tried again in another slice.
fn nodes(ctx: &mut Ctx<'_>, wanted: Wanted) -> Option<Vec<Atom>> {
    let own = ctx.vm.node_name();
    let mut nodes = if wanted.known { known_nodes(ctx)? } else { Vec::new() };
    nodes.retain(|node| *node != own);
    nodes.extend(wanted.own.then_some(own));
    Some(nodes)
}

fn nodes_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(wanted) = wanted(args[0]) else { return badarg() };
    let Some(nodes) = nodes(ctx, wanted) else {
        let which = args[0];
        return ctx.yield_to(Box::new(move |ctx| nodes_1(ctx, &[which])));
    };
    let nodes: Vec<Term> = nodes.into_iter().map(Atom::term).collect();
    Ok(ctx.list(&nodes))
}

/// With a map that says which of `connection_id` and `node_type` are asked for.
fn nodes_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(wanted), Some(options)) = (wanted(args[0]), args[1].as_map()) else { return badarg() };
    let mut asked = Vec::new();
    for (key, wanted) in options.iter() {
        let Some(item @ (am::connection_id | am::node_type)) = key.as_atom() else { return badarg() };
        match wanted.as_bool() {
            Some(true) => asked.push(item),
            Some(false) => {}
            None => return badarg(),
        }
    }
    let Some(nodes) = nodes(ctx, wanted) else {
        let args = [args[0], args[1]];
        return ctx.yield_to(Box::new(move |ctx| nodes_2(ctx, &args)));
    };
    let own = ctx.vm.node_name();
    let mut entries = Vec::new();
    for node in nodes {
        let kind = if node == own { am::this } else { am::known };
        let value = |item| if item == am::node_type { Term::atom(kind) } else { Term::UNDEFINED };
        let pairs: Vec<_> = asked.iter().map(|item| (item.term(), value(*item))).collect();
        let info = myriad_term::map::from_pairs(ctx, &pairs);
        entries.push(ctx.tuple(&[node.term(), info]));
    }
    Ok(ctx.list(&entries))
}

/// Is this `Name@Host`, the name of letters, digits, `-` and `_`, and the host without another `@`?
fn is_node_name(name: Atom) -> bool {
    name.text().split_once('@').is_some_and(|(name, host)| {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !name.is_empty() && name.chars().all(fits) && !host.is_empty() && !host.contains('@')
    })
}

/// The node gets its name, and its identifiers the creation that its runs are told apart by.
fn setnode_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(name), Some(creation)) = (args[0].as_atom(), args[1].as_usize()) else { return badarg() };
    // Its lowest 32 bits count, as in OTP.
    let fits = is_node_name(name) && name != am::nonode_nohost;
    if fits && ctx.vm.name_node(name, creation as u32) { Ok(Term::TRUE) } else { badarg() }
}

fn monitor_node(ctx: &mut Ctx<'_>, node: Term, flag: Term, options: Term) -> BifResult {
    let mut items = options.list_iter();
    if !items.by_ref().all(|o| o.is_am(am::allow_passive_connect)) {
        return bad_option(ctx);
    }
    let Some(node) = node.as_atom() else { return badarg() };
    if !items.tail().is_nil() {
        return badarg();
    }
    let own = ctx.vm.node_name();
    if node != own && own == am::nonode_nohost {
        return Err(Escape::Error(Term::atom(am::notalive)));
    }
    match flag.as_bool() {
        Some(true) if node != own => {
            // There is no connection, nor will there be one.
            let down = ctx.tuple(&[am::nodedown.term(), node.term()]);
            ctx.send(ctx.pid().term(), down)?;
        }
        Some(_) => {}
        None => return badarg(),
    }
    Ok(Term::TRUE)
}

/// A process on another node: the answer that there is no connection comes as a message.
fn dist_spawn_request_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let function = args[1].as_tuple_of::<3>();
    let fits = function.is_some_and(|[m, f, a]| m.is_atom() && f.is_atom() && a.list_length().is_some());
    let kind = args[3].as_atom();
    let known = matches!(kind, Some(am::spawn_request | am::spawn_opt));
    if !args[0].is_atom() || !fits || !known || args[2].list_length().is_none() {
        return Ok(Term::atom(am::badarg));
    }
    let mut monitor = false;
    let mut tag = Term::atom(am::spawn_reply);
    for option in args[2].list_iter() {
        match option.as_tuple_of::<2>() {
            Some([key, value]) if key.is_am(am::reply_tag) => tag = value,
            Some([key, _]) if key.is_am(am::monitor) => monitor = true,
            _ => monitor |= option.is_am(am::monitor),
        }
    }
    let reference = ctx.make_ref();
    let reply = ctx.tuple(&[tag, reference, Term::atom(am::error), Term::atom(am::noconnection)]);
    ctx.send(ctx.pid().term(), reply)?;
    Ok(if kind == Some(am::spawn_opt) { ctx.tuple(&[reference, Term::bool(monitor)]) } else { reference })
}
