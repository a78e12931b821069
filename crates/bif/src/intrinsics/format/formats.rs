//! `io_lib_format`: formats with their arguments, made into deep lists of characters.
//!
//! The format is read once, each control sequence carried out as it comes. Nothing has an effect before the end, so whatever
//! is wrong or rare declines the whole, and the Erlang code begins anew.

use super::job::Job;
use super::spec::{Reader, Spec, character};
use super::text::Charset;
use super::write::DEPTHS;
use myriad_term::{Term, am};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// `io_lib:write/1`
pub fn write_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    write(ctx, args[0], -1, Charset::Latin1)
}

/// `io_lib:write/2`: a depth, or options.
pub fn write_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[1].as_small() {
        Some(depth) if DEPTHS.contains(&depth) => write(ctx, args[0], depth, Charset::Latin1),
        _ => write_with_options(ctx, args[0], args[1]),
    }
}

/// Options of formatting are rare: any is declined.
pub fn without_options(list: Term) -> Result<(), Escape> {
    if list.is_nil() { Ok(()) } else { Err(Escape::Decline) }
}

/// Characters of most formats.
const SHORT: usize = 64;

/// The characters of a format.
fn characters(job: &mut Job<'_, '_>, format: Term) -> Result<Vec<u32>, Escape> {
    let mut chars = Vec::with_capacity(SHORT);
    if let Some(atom) = format.as_atom() {
        chars.extend(atom.text().chars().map(u32::from));
        job.spend(chars.len())?;
    } else if format.is_bitstring() {
        let bytes = format.as_binary().ok_or(Escape::Decline)?;
        job.spend(bytes.len())?;
        chars.extend(bytes.iter().copied().map(u32::from));
    } else {
        let rest = job.budget.each(job.ctx, format, |char| {
            let Some(char) = character(char) else { return false };
            chars.push(char);
            true
        })?;
        if !rest.is_nil() {
            return Err(Escape::Decline);
        }
    }
    Ok(chars)
}

/// Reads a format with its arguments: puts out its characters, and what `then` does with each control sequence.
fn read(
    ctx: &mut Ctx<'_>,
    format: Term,
    arguments: Term,
    mut then: impl FnMut(&mut Job<'_, '_>, Spec) -> Result<(), Escape>,
) -> BifResult {
    let mut job = Job::new(ctx);
    let chars = characters(&mut job, format)?;
    let mut reader = Reader::new(&chars, arguments);
    loop {
        job.out.extend(reader.plain().iter().map(|c| Term::small(i64::from(*c))));
        if reader.at_end().ok_or(Escape::Decline)? {
            return Ok(job.finish());
        }
        let spec = reader.control().ok_or(Escape::Decline)?;
        then(&mut job, spec)?;
    }
}

/// `io_lib_format:fwrite/2`
pub fn fwrite(ctx: &mut Ctx<'_>, format: Term, arguments: Term) -> BifResult {
    read(ctx, format, arguments, |job, spec| job.control(&spec))
}

/// `scan/2`: characters, and a map for each control sequence.
pub fn scan(ctx: &mut Ctx<'_>, format: Term, arguments: Term) -> BifResult {
    read(ctx, format, arguments, |job, spec| {
        let map = spec.to_map(job.ctx);
        job.out.push(map);
        Ok(())
    })
}

/// `build/1`: what [`scan`] gave, perhaps changed.
pub fn build(ctx: &mut Ctx<'_>, list: Term) -> BifResult {
    let mut job = Job::new(ctx);
    let mut rest = list;
    while let Some((head, tail)) = rest.as_cons() {
        job.spend(1)?;
        match character(head) {
            Some(_) => job.out.push(head),
            None => job.control(&Spec::of_map(head).ok_or(Escape::Decline)?)?,
        }
        rest = tail;
    }
    if rest.is_nil() { Ok(job.finish()) } else { Err(Escape::Decline) }
}

fn write(ctx: &mut Ctx<'_>, term: Term, depth: i64, charset: Charset) -> BifResult {
    let mut job = Job::new(ctx);
    let chars = job.write(term, depth, charset, 0)?;
    Ok(job.done(chars))
}

/// Options in a list: depth and encoding, no limit of characters. Without an encoding it is that of source files.
fn write_with_options(ctx: &mut Ctx<'_>, term: Term, options: Term) -> BifResult {
    let (mut depth, mut charset) = (None, None);
    let mut rest = options;
    while let Some((head, tail)) = rest.as_cons() {
        let [key, value] = head.as_tuple_of().ok_or(Escape::Decline)?;
        match key.as_atom() {
            Some(am::depth) if depth.is_none() => {
                depth = Some(value.as_small().filter(|d| DEPTHS.contains(d)).ok_or(Escape::Decline)?);
            }
            Some(am::encoding) if charset.is_none() => {
                charset = Some(match value.as_atom() {
                    Some(am::latin1) => Charset::Latin1,
                    Some(am::unicode | am::utf8) => Charset::Unicode,
                    _ => return Err(Escape::Decline),
                });
            }
            _ => return Err(Escape::Decline),
        }
        rest = tail;
    }
    if !rest.is_nil() {
        return Err(Escape::Decline);
    }
    write(ctx, term, depth.unwrap_or(-1), charset.unwrap_or(Charset::Unicode))
}
