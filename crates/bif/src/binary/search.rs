//! Searching binaries: `match`, `matches`, `split`.
//!
//! A subject is searched window by window, giving way between windows when the slice is used up, and likewise while the
//! result is built. A window reaches so far beyond its own end that no occurrence which begins in it is cut short.

use super::pattern::Source;
use super::slice_limit;
use crate::argument::Bytes;
use crate::guards::sub_binary;
use crate::work::dirty;
use myriad_term::binary::HEAP_BINARY_LIMIT;
use myriad_term::{Build, Kind, Term, am};
use myriad_vm::bif::{BADARG, Escape, badarg};
use myriad_vm::{BifResult, Ctx};

use std::ops::Range;

/// Bytes of a window, unless the pattern is longer.
const WINDOW: usize = 16 * 1024;
/// A longer pattern, or a longer subject that must be moved to a byte border, goes to a dirty scheduler.
const LONG: usize = 256 * 1024;
/// Items of a result that are made for one reduction.
const ITEMS_PER_REDUCTION: usize = 4;

/// What the options say.
#[derive(Default)]
struct Options {
    scope: Option<Range<usize>>,
    global: bool,
    trim: bool,
    trim_all: bool,
}

/// The bytes that `{Start, Length}` names; a negative length means those before `Start`.
fn range(part: Term, size: usize) -> Option<Range<usize>> {
    let [start, len] = part.as_tuple_of::<2>()?;
    let (start, len) = (start.as_small()?, len.as_small()?);
    // Small integers have 61 bits: no overflow.
    let (from, to) = if len < 0 { (start + len, start) } else { (start, start + len) };
    let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
    (to <= size).then_some(from..to)
}

/// Options of a search in `size` bytes. As in OTP, the tail of a list that is not empty is not looked at.
fn options(list: Term, size: usize, splitting: bool) -> Result<Options, Escape> {
    let mut options = Options::default();
    if !list.is_list() {
        return badarg();
    }
    for option in list.list_iter() {
        match (option.as_atom(), option.as_tuple_of::<2>()) {
            (_, Some([key, part])) if key.is_am(am::scope) => options.scope = Some(range(part, size).ok_or(BADARG)?),
            (Some(am::global), _) if splitting => options.global = true,
            (Some(am::trim), _) if splitting => options.trim = true,
            (Some(am::trim_all), _) if splitting => options.trim_all = true,
            _ => return badarg(),
        }
    }
    Ok(options)
}

/// A search in progress.
struct Search {
    /// What is to be searched.
    bytes: Bytes,
    /// Where these bytes begin in the subject.
    base: usize,
    /// How far the search has come.
    at: usize,
    source: Source,
}

/// How far a search has come.
enum Step {
    /// An occurrence: its place in the subject, and its length.
    Found(usize, usize),
    /// There are no more.
    End,
    /// The slice is used up.
    Pause,
}

fn must_pause(ctx: &Ctx<'_>) -> bool {
    ctx.exhausted() && !ctx.sched.dirty
}

impl Search {
    /// `None` if the end of the scope is the beginning of the subject: such a search looks at no pattern.
    fn new(
        ctx: &mut Ctx<'_>,
        subject: Term,
        pattern: Term,
        scope: Option<Range<usize>>,
    ) -> Result<Option<Search>, Escape> {
        let bits = subject.as_bits().ok_or(BADARG)?;
        let scope = scope.unwrap_or(0..bits.len() / 8);
        if scope.end == 0 {
            return Ok(None);
        }
        let source = Source::new(ctx, pattern, scope.len())?;
        let bytes = Bytes::part_of(subject, scope.clone()).ok_or(BADARG)?;
        let moved = bytes.is_moved();
        if source.pattern().is_some_and(|p| p.longest() > LONG) || moved && scope.len() > LONG {
            dirty(ctx)?;
        }
        if moved {
            ctx.bump(scope.len() / 64);
        }
        Ok(Some(Search { bytes, base: scope.start, at: 0, source }))
    }

    fn next(&mut self, ctx: &mut Ctx<'_>) -> Step {
        let Some(pattern) = self.source.pattern() else { return Step::End };
        loop {
            let left = &self.bytes[self.at..];
            if left.is_empty() {
                return Step::End;
            }
            let limit = slice_limit(ctx.vm);
            let window = WINDOW.min(limit).max(pattern.longest());
            let reach = (window + (pattern.longest() - 1)).min(left.len());
            let found = pattern.find(&left[..reach]);
            ctx.bump(found.map_or(reach, |(start, len)| start + len) / pattern.bytes_per_reduction());
            match found {
                Some((start, len)) if start < window || reach == left.len() => {
                    let place = self.at + start;
                    self.at = place + len;
                    return Step::Found(self.base + place, len);
                }
                _ if reach == left.len() => {
                    self.at = self.bytes.len();
                    return Step::End;
                }
                _ => self.at += window,
            }
            if must_pause(ctx) || limit < WINDOW && !ctx.sched.dirty {
                return Step::Pause;
            }
        }
    }
}

/// Runs `work` to its end, slice by slice.
fn run(ctx: &mut Ctx<'_>, mut work: impl FnMut(&mut Ctx<'_>) -> BifResult + Send + 'static) -> BifResult {
    match work(ctx) {
        Err(Escape::Yield) => ctx.yield_to(Box::new(work)),
        result => result,
    }
}

/// The size of a binary.
fn byte_size(subject: Term) -> Result<usize, Escape> {
    subject.as_bits().filter(|b| b.is_binary()).map(|b| b.len() / 8).ok_or(BADARG)
}

fn place(ctx: &mut Ctx<'_>, start: usize, len: usize) -> Term {
    ctx.tuple(&[Term::small(start as i64), Term::small(len as i64)])
}

/// `binary:match/3`
pub(super) fn first(ctx: &mut Ctx<'_>, subject: Term, pattern: Term, list: Term) -> BifResult {
    let options = options(list, byte_size(subject)?, false)?;
    let Some(mut search) = Search::new(ctx, subject, pattern, options.scope)? else { return Ok(am::nomatch.term()) };
    run(ctx, move |ctx| match search.next(ctx) {
        Step::Found(start, len) => Ok(place(ctx, start, len)),
        Step::End => Ok(am::nomatch.term()),
        Step::Pause => Err(Escape::Yield),
    })
}

/// A search for all occurrences (or the first), and then the list made of them from its end.
struct Collector {
    search: Option<Search>,
    only_first: bool,
    found: Vec<(usize, usize)>,
    list: Term,
}

impl Collector {
    fn new(search: Option<Search>, only_first: bool) -> Collector {
        Collector { search, only_first, found: Vec::new(), list: Term::NIL }
    }

    /// Searches; `Err` if the rest is for a later slice.
    fn search(&mut self, ctx: &mut Ctx<'_>) -> Result<(), Escape> {
        while let Some(search) = &mut self.search {
            match search.next(ctx) {
                Step::Found(start, len) => {
                    self.found.push((start, len));
                    if self.only_first {
                        self.search = None;
                    } else {
                        pay(ctx, self.found.len())?;
                    }
                }
                Step::End => self.search = None,
                Step::Pause => return Err(Escape::Yield),
            }
        }
        Ok(())
    }
}

/// Counts an item; `count` says how many there are by now.
fn pay(ctx: &mut Ctx<'_>, count: usize) -> Result<(), Escape> {
    if count.is_multiple_of(ITEMS_PER_REDUCTION) {
        ctx.bump(1);
        if must_pause(ctx) {
            return Err(Escape::Yield);
        }
    }
    Ok(())
}

/// `binary:matches/3`
pub(super) fn all(ctx: &mut Ctx<'_>, subject: Term, pattern: Term, list: Term) -> BifResult {
    let options = options(list, byte_size(subject)?, false)?;
    let mut work = Collector::new(Search::new(ctx, subject, pattern, options.scope)?, false);
    run(ctx, move |ctx| {
        work.search(ctx)?;
        while let Some((start, len)) = work.found.pop() {
            let item = place(ctx, start, len);
            work.list = ctx.cons(item, work.list);
            pay(ctx, work.found.len())?;
        }
        Ok(work.list)
    })
}

/// A subject that parts are to be made of, looked at once.
struct Parts {
    subject: Term,
    /// If its bytes lie at byte borders: the shared binary that holds them, and the bit in it where they begin.
    shared: Option<(Term, usize)>,
}

impl Parts {
    /// The subject is an argument (bif/LA1).
    fn of(subject: Term) -> Parts {
        let parts = subject.as_aligned_bytes().and_then(|_| subject.binary_parts());
        let shared = parts.filter(|(whole, ..)| whole.boxed_kind() == Some(Kind::SharedBinary));
        Parts { subject, shared: shared.map(|(whole, offset, _)| (whole, offset)) }
    }

    /// As [`sub_binary`].
    fn part(&self, ctx: &mut Ctx<'_>, part: Range<usize>) -> Term {
        let (start, bits) = (part.start * 8, part.len() * 8);
        match self.shared {
            Some((whole, offset)) => match self.subject.as_aligned_bytes().and_then(|bytes| bytes.get(part)) {
                Some(few) if few.len() <= HEAP_BINARY_LIMIT => ctx.heap_binary(few, bits),
                _ => ctx.sub_binary(whole, offset + start, bits),
            },
            None => sub_binary(ctx, self.subject, start, bits),
        }
    }
}

/// `binary:split/3`
pub(super) fn split(ctx: &mut Ctx<'_>, subject: Term, pattern: Term, list: Term) -> BifResult {
    let size = byte_size(subject)?;
    let Options { scope, global, trim, trim_all } = options(list, size, true)?;
    let parts = Parts::of(subject);
    let mut work = Collector::new(Search::new(ctx, subject, pattern, scope)?, !global);
    // The parts from here on are in the list.
    let mut end = size;
    let mut finished = false;
    run(ctx, move |ctx| {
        work.search(ctx)?;
        while !finished {
            let (part, before) = match work.found.pop() {
                Some((start, len)) => (start + len..end, start),
                None => {
                    finished = true;
                    (0..end, 0)
                }
            };
            end = before;
            if !part.is_empty() || !(trim_all || trim && work.list.is_nil()) {
                let item = if part.len() == size { subject } else { parts.part(ctx, part) };
                work.list = ctx.cons(item, work.list);
            }
            pay(ctx, work.found.len())?;
        }
        Ok(work.list)
    })
}
