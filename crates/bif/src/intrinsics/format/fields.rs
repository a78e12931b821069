//! How what is formatted stands in its field.
//!
//! A1. A number, or a term, that is longer than its field or its precision is asterisks, as many as fit; a string is cut.
//! A2. Deep lists are filled as OTP fills them: `[Body | Pad]` or `[Pad | Body]`, `Pad` a list whose halves are one and the same.

use super::job::Job;
use super::text;
use myriad_term::{Build, Term};

/// What of a text is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// All.
    Whole,
    /// This number of characters, from its beginning.
    Cut(usize),
    /// This number of asterisks.
    Stars(usize),
}

/// A text in a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fit {
    /// The text.
    pub body: Body,
    /// Fill that belongs to the body, behind it.
    pub inner: usize,
    /// Fill before or behind it.
    pub outer: usize,
    /// The body is at the left.
    pub left: bool,
}

impl Fit {
    /// No field.
    pub const WHOLE: Fit = Fit { body: Body::Whole, inner: 0, outer: 0, left: false };

    /// A number or term of `len` characters.
    pub fn of_term(len: usize, width: Option<usize>, left: bool, precision: Option<usize>) -> Fit {
        let Some(field) = width.or(precision) else { return Fit::WHOLE };
        let most = precision.map_or(field, |p| p.min(field));
        if len > most {
            Fit { body: Body::Stars(most), inner: 0, outer: field - most, left }
        } else {
            Fit { body: Body::Whole, inner: 0, outer: field - len, left }
        }
    }

    /// A string of `len` characters; none if the precision is more than the field.
    pub fn of_string(len: usize, width: Option<usize>, left: bool, precision: Option<usize>) -> Option<Fit> {
        let in_field = |field: usize, left| {
            let body = if len > field { Body::Cut(field) } else { Body::Whole };
            Fit { body, inner: 0, outer: field.saturating_sub(len), left }
        };
        Some(match (width, precision) {
            (None, None) => Fit::WHOLE,
            (Some(field), None) => in_field(field, left),
            (None, Some(precision)) => in_field(precision, true),
            (Some(field), Some(precision)) if field < precision => return None,
            (Some(field), Some(precision)) if field == precision => in_field(field, left),
            (Some(field), Some(precision)) => Fit {
                outer: field - precision,
                left,
                inner: precision.saturating_sub(len),
                ..in_field(precision, left)
            },
        })
    }
}

impl Job<'_, '_> {
    /// Puts characters out, in their field.
    pub fn put(&mut self, text: &[u32], fit: Fit, pad: Term) {
        if !fit.left {
            self.repeat(pad, fit.outer);
        }
        match fit.body {
            Body::Whole => self.out.extend(text.iter().map(|c| Term::small(i64::from(*c)))),
            Body::Cut(len) => self.out.extend(text.iter().take(len).map(|c| Term::small(i64::from(*c)))),
            Body::Stars(len) => self.repeat(Term::small(i64::from(b'*')), len),
        }
        self.repeat(pad, fit.inner);
        if fit.left {
            self.repeat(pad, fit.outer);
        }
    }

    /// The same character many times.
    pub fn repeat(&mut self, char: Term, count: usize) {
        self.out.extend(std::iter::repeat_n(char, count));
    }

    /// A deep list, whose characters have been gathered, in its field (A2).
    pub fn in_field(&mut self, chars: Term, fit: Fit, pad: Term) -> Term {
        let mut body = match fit.body {
            Body::Whole => chars,
            Body::Cut(len) => text::list_of(self.ctx, self.chars.get(..len).unwrap_or(&self.chars), Term::NIL),
            Body::Stars(len) => text::filled(self.ctx, Term::small(i64::from(b'*')), len),
        };
        if fit.inner > 0 {
            let fill = text::filled(self.ctx, pad, fit.inner);
            body = self.ctx.cons(body, fill);
        }
        if fit.outer == 0 {
            return body;
        }
        let fill = text::filled(self.ctx, pad, fit.outer);
        if fit.left { self.ctx.cons(body, fill) } else { self.ctx.cons(fill, body) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(body: Body, inner: usize, outer: usize, left: bool) -> Fit {
        Fit { body, inner, outer, left }
    }

    /// As `~w` and its like of OTP 25 fill their fields.
    #[test]
    fn numbers_and_terms() {
        assert_eq!(Fit::of_term(3, None, false, None), Fit::WHOLE);
        assert_eq!(Fit::of_term(3, Some(5), true, None), fit(Body::Whole, 0, 2, true));
        assert_eq!(Fit::of_term(6, Some(3), false, None), fit(Body::Stars(3), 0, 0, false));
        assert_eq!(Fit::of_term(6, Some(8), false, Some(3)), fit(Body::Stars(3), 0, 5, false));
        assert_eq!(Fit::of_term(6, None, false, Some(2)), fit(Body::Stars(2), 0, 0, false));
        assert_eq!(Fit::of_term(2, Some(0), false, Some(9)), fit(Body::Stars(0), 0, 0, false));
    }

    /// As `~s` does.
    #[test]
    fn strings() {
        assert_eq!(Fit::of_string(3, None, false, None), Some(Fit::WHOLE));
        assert_eq!(Fit::of_string(3, Some(5), false, None), Some(fit(Body::Whole, 0, 2, false)));
        assert_eq!(Fit::of_string(9, Some(5), false, None), Some(fit(Body::Cut(5), 0, 0, false)));
        assert_eq!(Fit::of_string(3, None, false, Some(7)), Some(fit(Body::Whole, 0, 4, true)));
        assert_eq!(Fit::of_string(3, Some(12), false, Some(6)), Some(fit(Body::Whole, 3, 6, false)));
        assert_eq!(Fit::of_string(8, Some(12), true, Some(6)), Some(fit(Body::Cut(6), 0, 6, true)));
        assert_eq!(Fit::of_string(8, Some(5), true, Some(6)), None);
    }
}
