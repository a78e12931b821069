//! Texts as a sequence of characters: flat lists and binaries of UTF-8.

use crate::guards::sub_binary;
use crate::intrinsics::budget::PIECE;
use crate::intrinsics::format::text::{code_point, stands_alone};
use crate::work::Budget;
use myriad_term::{Build, Term};
use myriad_vm::Ctx;
use myriad_vm::bif::Escape;

/// Carriage return and line feed: together they are one cluster.
pub const CR: u32 = 13;
/// See [`CR`].
pub const LF: u32 = 10;

/// What stands at the head of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A character.
    Char(u32),
    /// Nothing.
    End,
    /// Nothing that is read here: a nested list, a binary behind characters, wrong bytes, or what is no text at all.
    Other,
}

/// The rest of a text.
pub trait Text: Copy {
    /// Steps over the next character.
    fn next(&mut self) -> Next;

    /// The text from here on, as a term; `whole` is the term that it is the rest of.
    fn rest(self, ctx: &mut Ctx<'_>, whole: Term) -> Term;

    /// The text from here up to `end`, which is `chars` characters further on.
    fn up_to(self, ctx: &mut Ctx<'_>, whole: Term, end: Self, chars: usize) -> Term;
}

/// A list of characters.
#[derive(Clone, Copy)]
pub struct List(pub Term);

impl Text for List {
    #[inline(always)]
    fn next(&mut self) -> Next {
        match self.0.as_cons() {
            Some((head, tail)) => match code_point(head) {
                Some(char) => {
                    self.0 = tail;
                    Next::Char(char)
                }
                None => Next::Other,
            },
            None if self.0.is_nil() => Next::End,
            None => Next::Other,
        }
    }

    #[inline]
    fn rest(self, _: &mut Ctx<'_>, _: Term) -> Term {
        self.0
    }

    #[inline]
    fn up_to(self, ctx: &mut Ctx<'_>, _: Term, _: Self, chars: usize) -> Term {
        ctx.list_prefix(self.0, chars, Term::NIL)
    }
}

/// Bytes of UTF-8.
#[derive(Clone, Copy)]
pub struct Utf8<'a>(pub &'a [u8]);

impl Utf8<'_> {
    /// A character of several bytes.
    #[cold]
    fn long(&mut self) -> Next {
        let len = match self.0 {
            [0xc2..=0xdf, ..] => 2,
            [0xe0..=0xef, ..] => 3,
            _ => 4,
        };
        let char = self.0.split_at_checked(len).and_then(|(first, rest)| {
            let char = std::str::from_utf8(first).ok()?.chars().next()?;
            self.0 = rest;
            Some(char)
        });
        char.map_or(Next::Other, |char| Next::Char(char.into()))
    }
}

impl Text for Utf8<'_> {
    #[inline(always)]
    fn next(&mut self) -> Next {
        match self.0 {
            [ascii @ 0..=0x7f, rest @ ..] => {
                self.0 = rest;
                Next::Char((*ascii).into())
            }
            [] => Next::End,
            _ => self.long(),
        }
    }

    fn rest(self, ctx: &mut Ctx<'_>, whole: Term) -> Term {
        self.up_to(ctx, whole, Utf8(&[]), 0)
    }

    fn up_to(self, ctx: &mut Ctx<'_>, whole: Term, end: Self, _: usize) -> Term {
        let size = whole.as_aligned_bytes().map_or(0, <[u8]>::len);
        let (from, to) = (size - self.0.len(), size - end.0.len());
        if to - from == size {
            return whole;
        }
        sub_binary(ctx, whole, 8 * from, 8 * (to - from))
    }
}

/// A text of either kind.
#[derive(Clone, Copy)]
pub enum Data<'a> {
    /// A list.
    List(List),
    /// A binary.
    Utf8(Utf8<'a>),
}

impl<'a> Data<'a> {
    /// What a term is; declined if it is neither.
    #[inline]
    pub fn of(term: &'a Term) -> Result<Self, Escape> {
        if term.is_list() {
            return Ok(Data::List(List(*term)));
        }
        term.as_aligned_bytes().map(|bytes| Data::Utf8(Utf8(bytes))).ok_or(Escape::Decline)
    }
}

/// Calls a function with a text of either kind.
macro_rules! with_text {
    ($data:expr, $text:ident => $do:expr) => {
        match $crate::intrinsics::strings::text::Data::of(&$data)? {
            $crate::intrinsics::strings::text::Data::List($text) => $do,
            $crate::intrinsics::strings::text::Data::Utf8($text) => $do,
        }
    };
}
pub(super) use with_text;

/// Steps over characters as long as `take` says so: what stands there then.
#[inline(always)]
pub fn each<T: Text>(
    ctx: &Ctx<'_>,
    budget: &mut Budget,
    text: &mut T,
    mut take: impl FnMut(u32) -> bool,
) -> Result<Next, Escape> {
    loop {
        for done in 0..PIECE {
            let mut after = *text;
            let next = after.next();
            match next {
                Next::Char(char) if take(char) => *text = after,
                _ => {
                    budget.spend(ctx, done)?;
                    return Ok(next);
                }
            }
        }
        budget.spend(ctx, PIECE)?;
    }
}

/// Is a character a cluster of its own where another one of this kind, or nothing, follows? CR LF is to be asked for beside.
#[inline(always)]
pub fn is_alone(char: u32) -> bool {
    char < 0x300 || stands_alone(char)
}

/// Are the two one cluster, both being [`is_alone`]?
#[inline(always)]
pub fn joins(char: u32, next: u32) -> bool {
    char == CR && next == LF
}

/// Does a cluster end before this? Whether it does is not known of all: those are declined.
#[inline]
pub fn ends_before(last: u32, next: Next) -> Result<bool, Escape> {
    match next {
        Next::End => Ok(true),
        Next::Char(next) if is_alone(next) => Ok(!joins(last, next)),
        _ => Err(Escape::Decline),
    }
}
