//! What refers to other nodes: by pids, ports and references of theirs.
//!
//! OTP has a table of nodes whose entries count the terms that refer to them, and go when none does. Here such a term names its
//! node itself, and a heap walk (`observe::heap_walk`) tells which there are.

use myriad_observe::heap_walk::walk_heaps;
use myriad_term::{Atom, Boxed, Build, Kind, Term, am, node};
use myriad_vm::heap_walk::{Holder, Place};
use myriad_vm::{BifResult, Ctx};
use std::collections::HashMap;

/// A node by its name and creation.
type Node = (Atom, u32);
/// How often each holder refers to a node: by a timer, in another way.
type Counts = HashMap<Holder, HashMap<Place, i64>>;

/// The nodes that terms refer to, and what holds these terms. `None`: the caller must try again in another slice.
fn count(ctx: &mut Ctx<'_>) -> Option<HashMap<Node, Counts>> {
    let mut nodes: HashMap<Node, Counts> = HashMap::new();
    if !node::knows_others() {
        return Some(nodes);
    }
    let counted = walk_heaps(ctx, &mut |holder, place, object: Boxed| {
        if matches!(object.kind(), Kind::ExternalPid | Kind::ExternalPort | Kind::ExternalRef)
            && let Some(node) = object.term().external_node()
        {
            *nodes.entry(node).or_default().entry(holder).or_default().entry(place).or_default() += 1;
        }
    });
    counted.then_some(nodes)
}

/// The names of the nodes that terms refer to. `None`: to be tried again in another slice.
pub fn known_nodes(ctx: &mut Ctx<'_>) -> Option<Vec<Atom>> {
    let mut names: Vec<Atom> = count(ctx)?.into_keys().map(|(name, _)| name).collect();
    names.sort_unstable_by_key(|name| name.index());
    names.dedup();
    Some(names)
}

fn referrer(ctx: &mut Ctx<'_>, holder: Holder) -> Term {
    let (kind, who) = match holder {
        Holder::Process(pid) => (am::process, pid.term()),
        Holder::Port(port) => (am::port, port.term()),
        Holder::Name(name) => (am::process, name.term()),
        Holder::NamedTable(name) => (am::ets, name.term()),
        Holder::Table(numbers) => (am::ets, ctx.reference(numbers)),
        Holder::Specification(address) => (am::match_spec, ctx.uint(address as u64)),
        Holder::PersistentTerms => (am::system, Term::atom(am::persistent_term)),
    };
    ctx.tuple(&[Term::atom(kind), who])
}

const fn kind(place: Place) -> Atom {
    match place {
        Place::Heap => am::heap,
        Place::Timer => am::timer,
        Place::Row => am::ets,
        Place::Specification => am::binary,
        Place::System => am::system,
    }
}

/// `{{Kind, Who}, [{Type, Count}]}`
fn reference(ctx: &mut Ctx<'_>, referrer: Term, counts: &[(Atom, i64)]) -> Term {
    let counts: Vec<Term> = counts.iter().map(|(kind, count)| ctx.tuple(&[kind.term(), Term::small(*count)])).collect();
    let counts = ctx.list(&counts);
    ctx.tuple(&[referrer, counts])
}

/// The VM itself refers to its own node, and to that node's name.
fn by_system(ctx: &mut Ctx<'_>) -> Term {
    let system = ctx.tuple(&[Term::atom(am::system), Term::UNDEFINED]);
    reference(ctx, system, &[(am::system, 1)])
}

/// `{Entry, Count, Referrers}`
fn entry(ctx: &mut Ctx<'_>, entry: Term, count: i64, referrers: &[Term]) -> Term {
    let referrers = ctx.list(referrers);
    ctx.tuple(&[entry, Term::small(count), referrers])
}

/// `{{node_references, [{{Name, Creation}, Count, Referrers}]}, {dist_references, [{Name, Count, Referrers}]}}`
pub fn node_and_dist_references(ctx: &mut Ctx<'_>) -> BifResult {
    let Some(mut nodes) = count(ctx) else { return ctx.yield_to(Box::new(node_and_dist_references)) };
    let own = (ctx.vm.node_name(), ctx.vm.creation());
    nodes.entry(own).or_default();
    let (mut entries, mut names) = (Vec::new(), HashMap::<Atom, Vec<Term>>::new());
    for (node, counts) in nodes {
        let (mut total, mut referrers) = (0, Vec::new());
        if node == own {
            total += 1;
            referrers.push(by_system(ctx));
        }
        for (holder, places) in counts {
            total += places.values().sum::<i64>();
            let counts: Vec<_> = places.into_iter().map(|(place, count)| (kind(place), count)).collect();
            let who = referrer(ctx, holder);
            referrers.push(reference(ctx, who, &counts));
        }
        let id = ctx.tuple(&[node.0.term(), Term::small(i64::from(node.1))]);
        entries.push(entry(ctx, id, total, &referrers));
        let by_node = ctx.tuple(&[Term::atom(am::node), id]);
        let by_node = reference(ctx, by_node, &[(am::node, 1)]);
        names.entry(node.0).or_default().push(by_node);
    }
    let nodes = ctx.list(&entries);
    entries.clear();
    for (name, mut referrers) in names {
        if name == own.0 {
            referrers.push(by_system(ctx));
        }
        entries.push(entry(ctx, name.term(), referrers.len() as i64, &referrers));
    }
    let names = ctx.list(&entries);
    let nodes = ctx.tuple(&[Term::atom(am::node_references), nodes]);
    let names = ctx.tuple(&[Term::atom(am::dist_references), names]);
    Ok(ctx.tuple(&[nodes, names]))
}
