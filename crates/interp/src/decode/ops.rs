//! Guards and arithmetic, maps and records, exceptions, messages, floats, funs.

use super::built_ins::{call_bif, named_bif, send_built};
use super::emit::{Emitter, Unfit, short_of};
use super::operands::{Args, At};
use crate::instr::Op;
use crate::machine::FLOAT_REGISTERS;
use crate::shapes::{is_plain, key_tuple};
use myriad_beam::{Arg, Op as Generic};
use myriad_sync::OnceLock;
use myriad_term::compare::compare_exact;
use myriad_term::{Export, Mfa, Term, am};
use myriad_vm::bif::{BifDef, BifKind};

/// Live registers unknown: nothing may be collected.
const UNKNOWN_LIVE: u32 = u32::MAX;

/// What `Pid ! Message` does: the built-in `send/2`, but as an instruction it is not traced with it, so not the same definition.
fn send_instruction(e: &Emitter) -> Option<&'static BifDef> {
    static SEND: OnceLock<Option<&'static BifDef>> = OnceLock::new();
    *SEND.get_or_init(|| named_bif(e, am::send, 2).map(|def| &*Box::leak(Box::new(*def))))
}

/// Translates one instruction.
pub(crate) fn translate(e: &mut Emitter, at: &At<'_>) -> Result<(), Unfit> {
    let args = Args(at.args);
    match at.op {
        Generic::Bif0 => guard_bif0(e, &args)?,
        Generic::Bif1 => guard_bif(e, &args, 1, None, 2)?,
        Generic::Bif2 => guard_bif(e, &args, 1, None, 2)?,
        Generic::Bif3 => guard_bif(e, &args, 1, None, 2)?,
        Generic::GcBif1 | Generic::GcBif2 | Generic::GcBif3 => guard_bif(e, &args, 2, Some(args.number(1)?), 3)?,

        Generic::IsEq => two(e, &args, Op::IsEq)?,
        Generic::IsNe => two(e, &args, Op::IsNe)?,
        Generic::IsFunction2 => two(e, &args, Op::IsFunction2)?,
        Generic::IsReference | Generic::IsPort => {
            e.op(if at.op == Generic::IsPort { Op::IsPort } else { Op::IsReference }, 0);
            e.source(args.at(1)?)?;
            e.label(args.label(0));
        }

        // ---- funs and messages
        Generic::MakeFun3 => make_fun(e, &args, args.at(1)?, args.items(2)?)?,
        Generic::MakeFun2 => {
            let free = e.module.beam.lambdas.get(args.number(0)? as usize).ok_or(Unfit)?.free;
            let items: Vec<Arg> = (0..u16::from(free)).map(Arg::X).collect();
            make_fun(e, &args, &Arg::X(0), &items)?;
        }
        Generic::Send => match send_instruction(e) {
            Some(def) => {
                send_built(e, at);
                call_bif(e, def, 2, None);
            }
            None => e.op(Op::RaiseUndef, 0),
        },
        Generic::LoopRec => {
            e.op(Op::LoopRec, 0);
            e.label(args.label(0));
        }
        Generic::LoopRecEnd => {
            e.op(Op::LoopRecEnd, 0);
            e.label_behind(args.label(0));
        }
        Generic::RemoveMessage => e.op(Op::RemoveMessage, 0),
        Generic::Timeout => e.op(Op::Timeout, 0),
        Generic::Wait => {
            e.op(Op::Wait, 0);
            e.label_behind(args.label(0));
        }
        Generic::WaitTimeout => {
            e.op(Op::WaitTimeout, 0);
            e.label_behind(args.label(0));
            e.source(args.at(1)?)?;
        }
        Generic::RecvMarkerReserve => register_only(e, &args, Op::MarkerReserve)?,
        Generic::RecvMarkerClear => register_only(e, &args, Op::MarkerClear)?,
        Generic::RecvMarkerUse => register_only(e, &args, Op::MarkerUse)?,
        Generic::RecvMarkerBind => {
            let (marker, reference) = (e.reg(args.at(0)?)?, e.reg(args.at(1)?)?);
            e.op(Op::MarkerBind, marker);
            e.pair(reference, 0);
        }
        Generic::RecvMark => e.op(Op::OldMark, 0),
        Generic::RecvSet => e.op(Op::OldSet, 0),

        // ---- exceptions
        Generic::Catch | Generic::Try => {
            let slot = e.reg(args.at(0)?)?;
            e.op(Op::Try, slot);
            e.handler(args.label(1), slot / 8);
        }
        Generic::TryEnd => register_only(e, &args, Op::TryEnd)?,
        Generic::TryCase => register_only(e, &args, Op::TryCase)?,
        Generic::CatchEnd => register_only(e, &args, Op::CatchEnd)?,
        Generic::Badmatch => value(e, &args, Op::Badmatch)?,
        Generic::CaseEnd => value(e, &args, Op::CaseEnd)?,
        Generic::TryCaseEnd => value(e, &args, Op::TryCaseEnd)?,
        Generic::Badrecord => value(e, &args, Op::Badrecord)?,
        Generic::IfEnd => e.op(Op::IfEnd, 0),
        Generic::Raise => {
            e.op(Op::Raise, 0);
            e.source(args.at(0)?)?;
            e.source(args.at(1)?)?;
        }
        Generic::RawRaise => e.op(Op::RawRaise, 0),
        Generic::BuildStacktrace => e.op(Op::BuildStacktrace, 0),

        // ---- maps and records
        Generic::PutMapAssoc if new_map(e, &args)? => {}
        Generic::PutMapAssoc => {
            let (destination, live, items) = (e.reg(args.at(2)?)?, args.number(3)?, args.items(4)?);
            let plain = plain_pairs(e, items)?;
            e.op(if plain.is_some() { Op::PutMapPlain } else { Op::PutMapAssoc }, destination);
            e.source(args.at(1)?)?;
            e.word(live);
            match plain {
                Some(pairs) => {
                    e.word(2 * pairs.len() as u32);
                    for (key, value) in pairs {
                        e.constant_word(key);
                        e.source(value)?;
                    }
                }
                None => sources(e, items)?,
            }
        }
        Generic::PutMapExact => {
            let (destination, live, items) = (e.reg(args.at(2)?)?, args.number(3)?, args.items(4)?);
            e.op(Op::PutMapExact, destination);
            e.source(args.at(1)?)?;
            e.fail(args.label(0));
            e.word(live);
            let items = in_key_order(e, items)?;
            sources(e, &items)?;
        }
        Generic::HasMapFields => {
            e.op(Op::HasMapFields, 0);
            e.source(args.at(1)?)?;
            e.label(args.label(0));
            sources(e, args.items(2)?)?;
        }
        Generic::GetMapElements => get_map_elements(e, &args)?,
        Generic::UpdateRecord => {
            let (size, destination, items) = (args.number(1)?, e.reg(args.at(3)?)?, args.items(4)?);
            e.op(Op::UpdateRecord, destination);
            e.source(args.at(2)?)?;
            e.word(size);
            e.word(items.len() as u32);
            for pair in items.chunks_exact(2) {
                e.word(pair[0].number().and_then(|n| u32::try_from(n).ok()).ok_or(Unfit)?);
                e.source(&pair[1])?;
            }
        }
        // There are no native records: a test fails, a use raises as for a value that is none.
        Generic::IsAnyNativeRecord
        | Generic::IsNativeRecord
        | Generic::GetRecordElements
        | Generic::IsRecordAccessible => {
            e.op(Op::Jump, 0);
            e.label(args.label(0));
        }
        Generic::PutRecord => e.op(Op::RaiseUndef, 0),
        Generic::GetRecordField => {
            if args.label(0) == 0 {
                e.op(Op::Badrecord, 0);
                e.source(args.at(1)?)?;
            } else {
                e.op(Op::Jump, 0);
                e.label(args.label(0));
            }
        }

        // ---- floats
        Generic::Fmove => fmove(e, &args)?,
        Generic::Fconv => {
            let to = float(args.at(1)?)?;
            e.op(Op::FConv, to);
            e.source(args.at(0)?)?;
        }
        Generic::Fadd => float_op(e, &args, Op::FAdd)?,
        Generic::Fsub => float_op(e, &args, Op::FSub)?,
        Generic::Fmul => float_op(e, &args, Op::FMul)?,
        Generic::Fdiv => float_op(e, &args, Op::FDiv)?,
        Generic::Fnegate => {
            let (from, to) = (float(args.at(1)?)?, float(args.at(2)?)?);
            e.op(Op::FNegate, to);
            e.word(from);
        }
        _ => return Err(Unfit),
    }
    Ok(())
}

fn register_only(e: &mut Emitter, args: &Args<'_>, op: Op) -> Result<(), Unfit> {
    let reg = e.reg(args.at(0)?)?;
    e.op(op, reg);
    Ok(())
}

fn value(e: &mut Emitter, args: &Args<'_>, op: Op) -> Result<(), Unfit> {
    e.op(op, 0);
    e.source(args.at(0)?)
}

fn two(e: &mut Emitter, args: &Args<'_>, op: Op) -> Result<(), Unfit> {
    e.op(op, 0);
    e.source(args.at(1)?)?;
    e.source(args.at(2)?)?;
    e.label(args.label(0));
    Ok(())
}

/// The number of sources, then the sources.
/// The pairs of `put_map_exact` in the order of their keys, if all keys are constants: that decides which of several missing
/// keys an error names.
fn in_key_order(e: &mut Emitter, items: &[Arg]) -> Result<Vec<Arg>, Unfit> {
    let mut pairs: Vec<&[Arg]> = items.chunks_exact(2).collect();
    if pairs.iter().all(|pair| pair[0].reg().is_none()) {
        let mut keyed = Vec::with_capacity(pairs.len());
        for pair in pairs {
            keyed.push((e.constant(&pair[0])?, pair));
        }
        keyed.sort_by(|(a, _), (b, _)| compare_exact(*a, *b));
        pairs = keyed.into_iter().map(|(_, pair)| pair).collect();
    }
    Ok(pairs.concat())
}

fn sources(e: &mut Emitter, items: &[Arg]) -> Result<(), Unfit> {
    e.word(items.len() as u32);
    items.iter().try_for_each(|item| e.source(item))
}

fn make_fun(e: &mut Emitter, args: &Args<'_>, destination: &Arg, items: &[Arg]) -> Result<(), Unfit> {
    let entry = *e.module.funs.get(args.number(0)? as usize).ok_or(Unfit)?;
    let destination = e.reg(destination)?;
    e.op(Op::MakeFun, destination);
    e.wide(std::ptr::from_ref(entry) as u64);
    sources(e, items)
}

/// Pairs that all have plain constants as keys, all different, in the order of the keys.
fn plain_pairs<'a>(e: &mut Emitter, items: &'a [Arg]) -> Result<Option<Vec<(Term, &'a Arg)>>, Unfit> {
    let mut pairs = Vec::with_capacity(items.len() / 2);
    for pair in items.chunks_exact(2) {
        if pair[0].reg().is_some() {
            return Ok(None);
        }
        let key = e.constant(&pair[0])?;
        if !is_plain(key) {
            return Ok(None);
        }
        pairs.push((key, &pair[1]));
    }
    pairs.sort_by(|(a, _), (b, _)| compare_exact(*a, *b));
    Ok(pairs.windows(2).all(|two| !two[0].0.is(two[1].0)).then_some(pairs))
}

/// A map made of nothing, whose keys are known: emitted if so.
fn new_map(e: &mut Emitter, args: &Args<'_>) -> Result<bool, Unfit> {
    let (source, destination, live, items) = (args.at(1)?, e.reg(args.at(2)?)?, args.number(3)?, args.items(4)?);
    if source.reg().is_some() || e.constant(source)?.as_map().is_none_or(|map| map.size() > 0) {
        return Ok(false);
    }
    let Some(pairs) = plain_pairs(e, items)? else { return Ok(false) };
    let keys: Vec<Term> = pairs.iter().map(|(key, _)| *key).collect();
    let Some(tuple) = key_tuple(&keys) else { return Ok(false) };
    e.op(Op::NewMap, destination);
    e.word(live);
    e.word(pairs.len() as u32);
    e.wide(tuple.raw());
    pairs.iter().try_for_each(|(_, value)| e.source(value))?;
    Ok(true)
}

fn get_map_elements(e: &mut Emitter, args: &Args<'_>) -> Result<(), Unfit> {
    let (source, items) = (args.at(1)?, args.items(2)?);
    if let Some(pairs) = plain_pairs(e, items)?
        && let Some(pairs) = pairs.into_iter().map(|(key, to)| Some((short_of(key)?, to))).collect::<Option<Vec<_>>>()
    {
        if let [(key, destination)] = pairs[..] {
            let destination = e.reg(destination)?;
            e.op(Op::GetPlainElement, destination);
            e.source(source)?;
            e.label(args.label(0));
            e.word(key as u32);
            return Ok(());
        }
        e.op(Op::GetPlainElements, 0);
        e.source(source)?;
        e.label(args.label(0));
        e.word(2 * pairs.len() as u32);
        for (key, destination) in pairs {
            let destination = e.reg(destination)?;
            e.word(key as u32);
            e.word(destination);
        }
        return Ok(());
    }
    if let [key, destination] = items {
        let destination = e.reg(destination)?;
        e.op(Op::GetMapElement, destination);
        e.source(source)?;
        e.source(key)?;
        e.label(args.label(0));
        return Ok(());
    }
    e.op(Op::GetMapElements, 0);
    e.source(source)?;
    e.label(args.label(0));
    e.word(items.len() as u32);
    for pair in items.chunks_exact(2) {
        e.source(&pair[0])?;
        let destination = e.reg(&pair[1])?;
        e.word(destination);
    }
    Ok(())
}

// ---- floats

fn float(arg: &Arg) -> Result<u32, Unfit> {
    match arg {
        Arg::FR(r) if usize::from(*r) < FLOAT_REGISTERS => Ok(u32::from(*r)),
        _ => Err(Unfit),
    }
}

fn fmove(e: &mut Emitter, args: &Args<'_>) -> Result<(), Unfit> {
    match (args.at(0)?, args.at(1)?) {
        (from @ Arg::FR(_), to @ Arg::FR(_)) => {
            let (from, to) = (float(from)?, float(to)?);
            e.op(Op::FMove, to);
            e.word(from);
        }
        (from @ Arg::FR(_), to) => {
            let (from, to) = (float(from)?, e.reg(to)?);
            e.op(Op::FMoveToTerm, to);
            e.word(from);
        }
        (from, to) => {
            let to = float(to)?;
            e.op(Op::FMoveFromTerm, to);
            e.source(from)?;
        }
    }
    Ok(())
}

fn float_op(e: &mut Emitter, args: &Args<'_>, op: Op) -> Result<(), Unfit> {
    let (a, b, to) = (float(args.at(1)?)?, float(args.at(2)?)?, float(args.at(3)?)?);
    e.op(op, to);
    e.pair(a, b);
    e.fail(args.label(0));
    Ok(())
}

// ---- guard built-ins

fn guard_bif0(e: &mut Emitter, args: &Args<'_>) -> Result<(), Unfit> {
    let export = e.import(args.number(0)?.into())?;
    let destination = e.reg(args.at(1)?)?;
    if export.mfa.module == am::erlang {
        match export.mfa.function {
            am::self_ => {
                e.op(Op::SelfPid, destination);
                return Ok(());
            }
            am::node => {
                e.op(Op::NodeName, destination);
                return Ok(());
            }
            _ => {}
        }
    }
    match guard(e, export) {
        Some(def) => {
            e.op(Op::GuardBif0, destination);
            e.wide(std::ptr::from_ref(def) as u64);
        }
        None => e.op(Op::RaiseUndef, 0),
    }
    Ok(())
}

/// The built-in that a guard instruction calls: only one that may stand in a guard, or another of those that compilers take for
/// such. The instruction knows of no trap and no wait.
fn guard(e: &Emitter, export: &Export) -> Option<&'static BifDef> {
    let Mfa { module, function, arity } = export.mfa;
    let like_one = module == am::erlang && arity == 1 && matches!(function, am::get | am::list_to_atom);
    e.bif(export).filter(|def| def.kind == BifKind::Guard || like_one)
}

/// The import is argument `import`, the sources are those from `first` up to the destination.
fn guard_bif(e: &mut Emitter, args: &Args<'_>, import: usize, live: Option<u32>, first: usize) -> Result<(), Unfit> {
    let export = e.import(args.number(import)?.into())?;
    let sources = args.0.get(first..args.0.len().saturating_sub(1)).ok_or(Unfit)?;
    let destination = e.reg(args.0.last().ok_or(Unfit)?)?;
    let fail = args.label(0);
    let known_live = live.unwrap_or(UNKNOWN_LIVE);
    let name = export.mfa;
    let mut quick = None;
    if name.module == am::erlang {
        let function = name.function;
        if let [a, b] = sources {
            if let Some(op) = arithmetic(function) {
                return emit_arithmetic(e, op, destination, [a, b], fail, known_live);
            }
            quick = match function {
                am::element => Some(Op::Element),
                am::map_get => Some(Op::MapGet),
                am::is_map_key => Some(Op::IsMapKey),
                _ => None,
            };
        } else if let [a] = sources {
            if function == am::plus {
                // As in OTP, it adds nought: -0.0 becomes 0.0.
                return emit_arithmetic(e, Op::Add, destination, [a, &Arg::I(0)], fail, known_live);
            }
            quick = match function {
                am::hd => Some(Op::Hd),
                am::tl => Some(Op::Tl),
                am::tuple_size => Some(Op::TupleSize),
                am::map_size => Some(Op::MapSize),
                am::byte_size => Some(Op::ByteSize),
                am::bit_size => Some(Op::BitSize),
                am::length => Some(Op::Length),
                _ => None,
            };
        }
    }
    let Some(def) = guard(e, export) else {
        if fail == 0 {
            e.op(Op::RaiseUndef, 0);
        } else {
            e.op(Op::Jump, 0);
            e.label(fail);
        }
        return Ok(());
    };
    let op = quick.unwrap_or(match sources.len() {
        1 => Op::GuardBif1,
        2 => Op::GuardBif2,
        _ => Op::GuardBif3,
    });
    e.op(op, destination);
    e.wide(std::ptr::from_ref(def) as u64);
    e.fail(fail);
    e.word(known_live);
    sources.iter().try_for_each(|source| e.source(source))
}

fn arithmetic(function: myriad_term::Atom) -> Option<Op> {
    Some(match function {
        am::plus => Op::Add,
        am::minus => Op::Subtract,
        am::times => Op::Multiply,
        am::div => Op::Div,
        am::rem => Op::Rem,
        am::band => Op::Band,
        am::bor => Op::Bor,
        am::bsl => Op::Bsl,
        am::bsr => Op::Bsr,
        _ => return None,
    })
}

fn emit_arithmetic(
    e: &mut Emitter,
    op: Op,
    destination: u32,
    [a, b]: [&Arg; 2],
    fail: u32,
    live: u32,
) -> Result<(), Unfit> {
    // Adding a small constant: the commonest of all.
    let small = |e: &mut Emitter, arg: &Arg| match e.short(arg) {
        Some(k) if k & 7 == 0 => Some(k),
        _ => None,
    };
    let constant = match op {
        Op::Add if a.reg().is_some() => small(e, b).map(|k| (a, k)),
        Op::Add if b.reg().is_some() => small(e, a).map(|k| (b, k)),
        Op::Subtract if a.reg().is_some() => small(e, b).filter(|k| *k >= 0).map(|k| (a, -k)),
        _ => None,
    };
    if let Some((reg, k)) = constant {
        e.op(Op::AddSmall, destination);
        e.source(reg)?;
        e.constant_word(Term::small(i64::from(k) >> 3));
        e.fail(fail);
        e.word(live);
        e.word(k as u32);
        return Ok(());
    }
    let op = match op {
        Op::Add if a.reg().is_some() && b.reg().is_some() => Op::AddRegisters,
        Op::Subtract if a.reg().is_some() && b.reg().is_some() => Op::SubtractRegisters,
        _ => op,
    };
    e.op(op, destination);
    e.source(a)?;
    e.source(b)?;
    e.fail(fail);
    e.word(live);
    Ok(())
}
