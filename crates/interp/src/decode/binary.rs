//! Bit strings.

use super::emit::{Emitter, Unfit};
use super::operands::{Args, At};
use crate::bits;
use crate::instr::{Op, segment};
use myriad_beam::{Arg, Op as Generic};
use myriad_term::{Term, am};

/// Translates one instruction; `false`: it is none of these.
pub(crate) fn translate(e: &mut Emitter, at: &At<'_>) -> Result<bool, Unfit> {
    let args = Args(at.args);
    match at.op {
        // ---- matching
        Generic::BsStartMatch3 => start(e, args.at(1)?, args.at(3)?, args.label(0), args.number(2)?)?,
        // The atoms `no_fail` and `resume` in place of the label: it cannot fail.
        Generic::BsStartMatch4 => start(e, args.at(2)?, args.at(3)?, args.label(0), args.number(1)?)?,
        Generic::BsGetInteger2 => get(e, &args, Op::BsGetInteger)?,
        Generic::BsGetFloat2 => get(e, &args, Op::BsGetFloat)?,
        Generic::BsGetBinary2 => get(e, &args, Op::BsGetBinary)?,
        Generic::BsSkipBits2 => {
            let context = e.reg(args.at(1)?)?;
            e.op(Op::BsSkip, context);
            e.label(args.label(0));
            e.source(args.at(2)?)?;
            e.word(args.number(3)?);
        }
        Generic::BsTestUnit => {
            let context = e.reg(args.at(1)?)?;
            e.op(Op::BsTestUnit, context);
            e.label(args.label(0));
            e.word(args.number(2)?.max(1));
        }
        Generic::BsTestTail2 => {
            let (context, bits) = (e.reg(args.at(1)?)?, args.at(2)?.number().ok_or(Unfit)?);
            let narrow = u32::try_from(bits);
            e.op(if narrow.is_ok() { Op::BsTestTail } else { Op::BsTestTailWide }, context);
            e.label(args.label(0));
            match narrow {
                Ok(bits) => e.word(bits),
                Err(_) => e.wide(bits),
            }
        }
        Generic::BsMatchString => {
            let context = e.reg(args.at(1)?)?;
            let bits = args.number(2)?;
            let string = e.string(args.number(3)?.into(), (bits as usize).div_ceil(8))?;
            e.op(Op::BsMatchString, context);
            e.label(args.label(0));
            e.word(bits);
            e.wide(string);
        }
        Generic::BsGetTail | Generic::BsGetPosition => {
            let (context, destination) = (e.reg(args.at(0)?)?, e.reg(args.at(1)?)?);
            e.op(if at.op == Generic::BsGetTail { Op::BsGetTail } else { Op::BsGetPosition }, context);
            e.pair(destination, 0);
            e.word(args.number(2)?);
        }
        Generic::BsSetPosition => {
            let context = e.reg(args.at(0)?)?;
            e.op(Op::BsSetPosition, context);
            e.source(args.at(1)?)?;
        }
        Generic::BsGetUtf8 | Generic::BsGetUtf16 | Generic::BsGetUtf32 => {
            let (context, destination) = (e.reg(args.at(1)?)?, e.reg(args.at(4)?)?);
            let op = match at.op {
                Generic::BsGetUtf8 => Op::BsGetUtf8,
                Generic::BsGetUtf16 => Op::BsGetUtf16,
                _ => Op::BsGetUtf32,
            };
            e.op(op, context);
            e.pair(destination, args.number(3)? & 0xffff);
            e.label(args.label(0));
            e.word(args.number(2)?);
        }
        Generic::BsSkipUtf8 => {
            let context = e.reg(args.at(1)?)?;
            e.op(Op::BsSkipUtf8, context);
            e.label(args.label(0));
        }
        Generic::BsSkipUtf16 | Generic::BsSkipUtf32 => {
            let context = e.reg(args.at(1)?)?;
            e.op(if at.op == Generic::BsSkipUtf16 { Op::BsSkipUtf16 } else { Op::BsSkipUtf32 }, context);
            e.label(args.label(0));
            e.word(args.number(3)?);
        }
        Generic::BsMatch => bs_match(e, &args)?,

        // ---- building
        Generic::BsCreateBin => create_bin(e, &args)?,
        Generic::BsInit2 | Generic::BsInitBits => {
            let destination = e.reg(args.at(5)?)?;
            let (words, live) = (args.heap(2)?, args.number(3)?);
            e.op(Op::BsInit, destination);
            e.fail(args.label(0));
            e.word(live);
            e.word(words);
            e.word(if at.op == Generic::BsInit2 { 8 } else { 1 });
            e.source(args.at(1)?)?;
        }
        Generic::BsPutInteger => put(e, &args, Op::BsPutInteger)?,
        Generic::BsPutFloat => put(e, &args, Op::BsPutFloat)?,
        Generic::BsPutBinary => put(e, &args, Op::BsPutBinary)?,
        Generic::BsPutString => {
            let length = args.number(0)?;
            let string = e.string(args.number(1)?.into(), length as usize)?;
            e.op(Op::BsPutString, 0);
            e.word(length);
            e.wide(string);
        }
        Generic::BsPutUtf8 => put_char(e, &args, Op::BsPutUtf8)?,
        Generic::BsPutUtf16 => put_char(e, &args, Op::BsPutUtf16)?,
        Generic::BsPutUtf32 => put_char(e, &args, Op::BsPutUtf32)?,
        Generic::BsUtf8Size | Generic::BsUtf16Size => {
            let destination = e.reg(args.at(2)?)?;
            e.op(if at.op == Generic::BsUtf8Size { Op::BsUtf8Size } else { Op::BsUtf16Size }, destination);
            e.source(args.at(1)?)?;
            e.fail(args.label(0));
        }
        Generic::BsAdd => {
            let destination = e.reg(args.at(4)?)?;
            e.op(Op::BsAdd, destination);
            e.source(args.at(1)?)?;
            e.source(args.at(2)?)?;
            e.fail(args.label(0));
            e.word(args.number(3)?);
        }
        Generic::BsAppend => {
            let destination = e.reg(args.at(7)?)?;
            let (words, live, unit) = (args.heap(2)?, args.number(3)?, args.number(4)?);
            e.op(Op::BsAppend, destination);
            e.fail(args.label(0));
            e.word(live);
            e.word(words);
            e.word(unit.max(1));
            e.source(args.at(5)?)?;
            e.source(args.at(1)?)?;
        }
        Generic::BsPrivateAppend => {
            let destination = e.reg(args.at(5)?)?;
            let unit = args.number(2)?;
            e.op(Op::BsPrivateAppend, destination);
            e.fail(args.label(0));
            e.word(unit.max(1));
            e.source(args.at(3)?)?;
            e.source(args.at(1)?)?;
        }
        Generic::BsInitWritable => e.op(Op::BsInitWritable, 0),
        _ => return Ok(false),
    }
    Ok(true)
}

fn start(e: &mut Emitter, source: &Arg, destination: &Arg, fail: u32, live: u32) -> Result<(), Unfit> {
    let destination = e.reg(destination)?;
    e.op(Op::BsStart, destination);
    e.source(source)?;
    e.fail(fail);
    e.word(live);
    Ok(())
}

/// Fail, context, live, size, unit, flags, destination.
fn get(e: &mut Emitter, args: &Args<'_>, op: Op) -> Result<(), Unfit> {
    let (context, destination) = (e.reg(args.at(1)?)?, e.reg(args.at(6)?)?);
    if op == Op::BsGetInteger
        && let (Arg::I(size), Ok(unit), Ok(flags)) = (args.at(3)?, args.number(4), args.number(5))
        && let Some(bits @ 1..=56) = size.checked_mul(i64::from(unit.max(1)))
        && (!bits::is_little(flags) || bits <= 8)
    {
        e.op(Op::BsGetFixed, context);
        e.pair(destination, u32::from(flags & bits::SIGNED != 0));
        e.label(args.label(0));
        e.word(args.number(2)?);
        e.word(bits as u32);
        return Ok(());
    }
    e.op(op, context);
    e.pair(destination, args.number(5)? & 0xffff);
    e.label(args.label(0));
    e.word(args.number(2)?);
    e.source(args.at(3)?)?;
    e.word(args.number(4)?.max(1));
    Ok(())
}

/// Fail, size, unit, flags, source.
fn put(e: &mut Emitter, args: &Args<'_>, op: Op) -> Result<(), Unfit> {
    e.op(op, args.number(3)? & 0xffff);
    e.fail(args.label(0));
    e.word(args.number(2)?.max(1));
    e.source(args.at(1)?)?;
    e.source(args.at(4)?)
}

fn put_char(e: &mut Emitter, args: &Args<'_>, op: Op) -> Result<(), Unfit> {
    e.op(op, args.number(1)? & 0xffff);
    e.fail(args.label(0));
    e.source(args.at(2)?)
}

/// Flags given as a literal list of atoms.
fn flags_of(list: Term) -> u32 {
    let mut flags = 0;
    for item in list.list_iter() {
        flags |= match item.as_atom() {
            Some(am::little) => bits::LITTLE,
            Some(am::signed) => bits::SIGNED,
            Some(am::native) => bits::NATIVE,
            _ => 0,
        };
    }
    flags
}

/// Flags as a number or as a literal list.
fn flags(e: &mut Emitter, arg: &Arg) -> Result<u32, Unfit> {
    match arg {
        Arg::U(n) => Ok(*n as u32 & 0xff),
        Arg::I(n) => Ok(*n as u32 & 0xff),
        other => e.constant(other).map(flags_of),
    }
}

/// A plain number in a flat list, however it is tagged.
fn plain(arg: &Arg) -> Result<u64, Unfit> {
    match arg {
        Arg::U(n) => Ok(*n),
        Arg::I(n) => u64::try_from(*n).map_err(|_| Unfit),
        _ => Err(Unfit),
    }
}

fn short(arg: &Arg) -> Result<u32, Unfit> {
    u32::try_from(plain(arg)?).map_err(|_| Unfit)
}

fn atom(e: &mut Emitter, arg: &Arg) -> Result<myriad_term::Atom, Unfit> {
    e.constant(arg)?.as_atom().ok_or(Unfit)
}

fn create_bin(e: &mut Emitter, args: &Args<'_>) -> Result<(), Unfit> {
    let (words, live, unit) = (args.heap(1)?, args.number(2)?, args.number(3)?);
    let destination = e.reg(args.at(4)?)?;
    let items = args.items(5)?;
    e.op(Op::BsCreateBin, destination);
    e.fail(args.label(0));
    e.word(live);
    e.word(words);
    e.word(unit);
    e.word(items.len() as u32 / 6);
    for segment in items.chunks_exact(6) {
        let [name, number, unit, flag, value, size] = segment else { return Err(Unfit) };
        let kind = match atom(e, name)? {
            am::integer => segment::INTEGER,
            am::float => segment::FLOAT,
            am::binary => segment::BINARY,
            am::append_ => segment::APPEND,
            am::private_append => segment::PRIVATE_APPEND,
            am::string => segment::STRING,
            am::utf8 => segment::UTF8,
            am::utf16 => segment::UTF16,
            am::utf32 => segment::UTF32,
            _ => return Err(Unfit),
        };
        let flags = flags(e, flag)?;
        e.word(kind | flags << 8);
        e.word(short(unit)?.max(1));
        e.word(short(number)?);
        if kind == segment::STRING {
            let bytes = short(size)?;
            let string = e.string(plain(value)?, bytes as usize)?;
            e.wide(string);
            e.word(bytes);
        } else {
            e.source(value)?;
            e.source(size)?;
            e.word(0);
        }
    }
    Ok(())
}

/// The commands of `bs_match`, each an atom and its operands in one flat list.
fn bs_match(e: &mut Emitter, args: &Args<'_>) -> Result<(), Unfit> {
    let fail = args.label(0);
    let context = e.reg(args.at(1)?)?;
    let mut rest = args.items(2)?;
    while let Some((command, operands)) = rest.split_first() {
        let used = match (atom(e, command)?, operands) {
            (am::ensure_at_least, [stride, unit, ..]) => {
                e.op(Op::BsEnsureAtLeast, context);
                e.label(fail);
                e.word(short(stride)?);
                e.word(short(unit)?.max(1));
                2
            }
            (am::ensure_exactly, [stride, ..]) => {
                e.op(Op::BsEnsureExactly, context);
                e.label(fail);
                e.word(short(stride)?);
                1
            }
            (am::integer, [live, flag, size, unit, destination, ..]) => {
                let (flags, destination) = (flags(e, flag)?, e.reg(destination)?);
                e.op(Op::BsMatchInteger, context);
                e.pair(destination, flags);
                e.word(short(live)?);
                e.word(short(size)?.checked_mul(short(unit)?).ok_or(Unfit)?);
                5
            }
            (am::binary, [live, _, size, unit, destination, ..]) => {
                let destination = e.reg(destination)?;
                e.op(Op::BsMatchBinary, context);
                e.pair(destination, 0);
                e.word(short(live)?);
                e.word(short(size)?.checked_mul(short(unit)?).ok_or(Unfit)?);
                5
            }
            (am::get_tail, [live, _, destination, ..]) => {
                let destination = e.reg(destination)?;
                e.op(Op::BsMatchTail, context);
                e.pair(destination, 0);
                e.word(short(live)?);
                3
            }
            (am::skip, [stride, ..]) => {
                e.op(Op::BsMatchSkip, context);
                e.word(short(stride)?);
                1
            }
            (am::eq_exact, [_, size, value, ..]) => {
                e.op(Op::BsMatchEqual, context);
                e.label(fail);
                e.word(short(size)?);
                let expected = match value {
                    Arg::I(n) => *n as u64,
                    Arg::U(n) => *n,
                    Arg::BigInt(bytes) => bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b)),
                    _ => return Err(Unfit),
                };
                e.wide(expected);
                3
            }
            _ => return Err(Unfit),
        };
        rest = &operands[used..];
    }
    Ok(())
}
