//! Control sequences of a format (`~10.2.0tw`), read from its text or from the maps that `io_lib:scan_format/2` gives.
//!
//! Reading gives nothing for whatever is not plainly right: too few arguments, numbers out of [`MOST`], characters that are
//! none. The Erlang code then says what it is.

use myriad_term::{Build, Term, am, map};

/// The widest field, and the largest precision, that is formatted here.
pub const MOST: i64 = 4096;
/// The largest character.
const LAST_CHAR: i64 = 0x10_FFFF;

/// One control sequence with its arguments.
#[derive(Clone, Copy)]
pub struct Spec {
    /// The control character.
    pub control: u8,
    /// What is formatted; the empty list if it takes no argument.
    pub first: Term,
    /// The second argument of those that take two.
    pub second: Term,
    /// Width of the field.
    pub width: Option<usize>,
    /// What is formatted stands at the left of its field.
    pub left: bool,
    /// Precision.
    pub precision: Option<usize>,
    /// The character that fills the field.
    pub pad: Term,
    /// Modifier `t`.
    pub unicode: bool,
    /// No modifier `l`: lists of characters are printed as strings.
    pub strings: bool,
}

/// How many arguments a control character takes.
fn arguments(control: u8) -> Option<usize> {
    match control {
        b'~' | b'n' => Some(0),
        b'w' | b'p' | b's' | b'e' | b'f' | b'g' | b'b' | b'B' | b'+' | b'#' | b'c' | b'i' => Some(1),
        b'W' | b'P' | b'x' | b'X' => Some(2),
        _ => None,
    }
}

/// A number that is good as a width or precision.
fn bounded(number: i64) -> Option<usize> {
    if number <= MOST { usize::try_from(number).ok() } else { None }
}

/// A small integer that is a character.
pub fn character(term: Term) -> Option<u32> {
    term.as_small().filter(|c| (0..=LAST_CHAR).contains(c)).and_then(|c| u32::try_from(c).ok())
}

/// The characters of a format, and the arguments that are left.
pub struct Reader<'a> {
    format: &'a [u32],
    arguments: Term,
}

impl<'a> Reader<'a> {
    /// From the beginning.
    pub fn new(format: &'a [u32], arguments: Term) -> Reader<'a> {
        Reader { format, arguments }
    }

    /// The plain characters up to the next control sequence.
    pub fn plain(&mut self) -> &'a [u32] {
        let end = self.format.iter().position(|c| *c == u32::from(b'~')).unwrap_or(self.format.len());
        let (plain, rest) = self.format.split_at(end);
        self.format = rest;
        plain
    }

    /// Has everything been read? Then no argument may be left (`None`).
    pub fn at_end(&self) -> Option<bool> {
        if !self.format.is_empty() {
            return Some(false);
        }
        self.arguments.is_nil().then_some(true)
    }

    fn peek(&self) -> Option<u8> {
        self.format.first().and_then(|c| u8::try_from(*c).ok())
    }

    fn skip(&mut self, count: usize) {
        self.format = self.format.get(count..).unwrap_or_default();
    }

    fn skip_if(&mut self, wanted: u8) -> bool {
        let is = self.peek() == Some(wanted);
        if is {
            self.skip(1);
        }
        is
    }

    fn argument(&mut self) -> Option<Term> {
        let (first, rest) = self.arguments.as_cons()?;
        self.arguments = rest;
        Some(first)
    }

    /// Digits, `*` for an argument, or nothing.
    fn value(&mut self) -> Option<Option<i64>> {
        if self.skip_if(b'*') {
            // (If the next argument is no integer the asterisk stays, and is no control character.)
            return self.argument()?.as_small().filter(|v| (-MOST..=MOST).contains(v)).map(Some);
        }
        let mut value = None;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            value = Some(value.unwrap_or(0) * 10 + i64::from(digit - b'0')).filter(|v| *v <= MOST);
            value?;
            self.skip(1);
        }
        Some(value)
    }

    /// The control sequence that begins here.
    pub fn control(&mut self) -> Option<Spec> {
        self.skip(1);
        let negated = self.skip_if(b'-');
        let width = match self.value()? {
            None if negated => return None,
            width => width.map(|width| if negated { -width } else { width }),
        };
        let precision = match self.skip_if(b'.').then(|| self.value()) {
            None => None,
            Some(value) => value?.map(bounded).map_or(Some(None), |v| v.map(Some))?,
        };
        let mut pad = Term::small(i64::from(b' '));
        if let [dot, char, ..] = self.format
            && *dot == u32::from(b'.')
        {
            pad = Term::small(i64::from(*char));
            self.skip(2);
            if *char == u32::from(b'*')
                && let Some(argument) = self.argument()
            {
                character(argument)?;
                pad = argument;
            }
        }
        let (mut unicode, mut strings) = (false, true);
        loop {
            if self.skip_if(b't') {
                unicode = true;
            } else if self.skip_if(b'l') {
                strings = false;
            } else {
                break;
            }
        }
        let control = self.peek()?;
        self.skip(1);
        let count = arguments(control)?;
        let first = if count > 0 { self.argument()? } else { Term::NIL };
        let second = if count > 1 { self.argument()? } else { Term::NIL };
        let left = width.is_some_and(|width| width < 0);
        let width = width.map(i64::abs).map(bounded).map_or(Some(None), |w| w.map(Some))?;
        Some(Spec { control, first, second, width, left, precision, pad, unicode, strings })
    }
}

impl Spec {
    /// From a map as `io_lib:scan_format/2` gives it, perhaps with more in it.
    pub fn of_map(term: Term) -> Option<Spec> {
        let map = term.as_map()?;
        let get = |key| map.get(Term::atom(key));
        let number = |term: Term| match term.as_small() {
            Some(number) => bounded(number).map(Some),
            None => term.is_am(am::none).then_some(None),
        };
        let control = u8::try_from(get(am::control_char)?.as_small()?).ok()?;
        let count = arguments(control)?;
        let mut rest = get(am::args)?;
        let mut given = [Term::NIL; 2];
        for slot in given.iter_mut().take(count) {
            (*slot, rest) = rest.as_cons()?;
        }
        if !rest.is_nil() {
            return None;
        }
        let pad = get(am::pad_char)?;
        character(pad)?;
        Some(Spec {
            control,
            first: given[0],
            second: given[1],
            width: number(get(am::width)?)?,
            left: match get(am::adjust)?.as_atom()? {
                am::left => true,
                am::right => false,
                _ => return None,
            },
            precision: number(get(am::precision)?)?,
            pad,
            unicode: match get(am::encoding)?.as_atom()? {
                am::unicode => true,
                am::latin1 => false,
                _ => return None,
            },
            strings: get(am::strings)?.as_bool()?,
        })
    }

    /// The map that `io_lib:scan_format/2` gives.
    pub fn to_map<A: Build<'static> + ?Sized>(self, heap: &mut A) -> Term {
        let atom = |is: bool, yes, no| Term::atom(if is { yes } else { no });
        let number = |number: Option<usize>| number.map_or(Term::atom(am::none), |n| Term::small(n as i64));
        let arguments = heap.list(&[self.first, self.second][..arguments(self.control).unwrap_or(0)]);
        map::from_pairs(
            heap,
            &[
                (Term::atom(am::adjust), atom(self.left, am::left, am::right)),
                (Term::atom(am::args), arguments),
                (Term::atom(am::control_char), Term::small(self.control.into())),
                (Term::atom(am::encoding), atom(self.unicode, am::unicode, am::latin1)),
                (Term::atom(am::pad_char), self.pad),
                (Term::atom(am::precision), number(self.precision)),
                (Term::atom(am::strings), Term::bool(self.strings)),
                (Term::atom(am::width), number(self.width)),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_heap::{Heap, Settings};

    /// The first control sequence of a format with these integers as arguments.
    fn read(format: &str, arguments: &[i64]) -> Option<Spec> {
        let mut heap = Heap::new(&Settings::default());
        let arguments: Vec<Term> = arguments.iter().map(|n| Term::small(*n)).collect();
        let arguments = heap.list(&arguments);
        let chars: Vec<u32> = format.chars().map(u32::from).collect();
        let mut reader = Reader::new(&chars, arguments);
        reader.plain();
        let spec = reader.control()?;
        reader.plain();
        reader.at_end()?.then_some(spec)
    }

    /// What `io_lib:scan_format/2` of OTP 25 finds.
    #[test]
    fn control_sequences() {
        let spec = read("ab~-10.3.xtlw.", &[1]).expect("right");
        assert_eq!((spec.control, spec.width, spec.left, spec.precision), (b'w', Some(10), true, Some(3)));
        assert!(spec.pad.is(Term::small(120)) && spec.unicode && !spec.strings);
        let spec = read("~*.*.*s", &[-5, 2, 45, 7]).expect("right");
        assert_eq!((spec.width, spec.left, spec.precision), (Some(5), true, Some(2)));
        assert!(spec.pad.is(Term::small(45)) && spec.first.is(Term::small(7)));
        let spec = read("~-*b", &[-4, 1]).expect("right");
        assert_eq!((spec.width, spec.left), (Some(4), false));
        let spec = read("~..xb", &[1]).expect("right");
        assert_eq!((spec.width, spec.precision, spec.pad.as_small()), (None, None, Some(120)));
        let spec = read("~10..*~", &[]).expect("an asterisk, as there is no argument");
        assert_eq!(spec.pad.as_small(), Some(42));
    }

    #[test]
    fn what_is_wrong_or_rare() {
        for format in ["~", "~10", "~-w", "~q", "~w~w", "~99999999999999999999w", "~.-1w"] {
            assert!(read(format, &[1]).is_none(), "{format}");
        }
        assert!(read("~w", &[]).is_none() && read("~w", &[1, 2]).is_none() && read("~.*w", &[-1, 2]).is_none());
    }
}
