//! Control sequences carried out.
//!
//! K1. What `~s`, `~w`, `~p` and their like give is one element of the result, a deep list; what the others give, and atoms
//!     given to `~s`, are characters in the result itself.
//! K2. A string without binaries is its own text: it is looked through, not copied.

use super::fields::Fit;
use super::job::Job;
use super::spec::{Spec, character};
use super::text::{self, Charset};
use super::{DEEPEST, float, pretty, write};
use myriad_term::{Build, Term, number_text};
use myriad_vm::bif::Escape;

/// Digits of `~b` and its like when no precision gives a base.
const DECIMAL: usize = 10;
/// Digits of a number when no precision says how many.
const DIGITS: usize = 6;
/// Columns of `~p` when no width says how many.
const LINE: usize = 80;

impl Job<'_, '_> {
    /// Puts out what a control sequence gives.
    pub fn control(&mut self, spec: &Spec) -> Result<(), Escape> {
        match spec.control {
            b's' if spec.first.is_atom() => self.atom_name(spec),
            b's' => self.string(spec),
            b'w' => self.term(spec, -1),
            b'W' => self.term(spec, depth(spec.second)?),
            b'p' => self.pretty(spec, -1),
            b'P' => self.pretty(spec, depth(spec.second)?),
            b'e' | b'f' | b'g' => self.float(spec),
            b'b' | b'B' | b'x' | b'X' | b'+' | b'#' => self.integer(spec),
            b'c' => {
                let char = spec.first.as_small().ok_or(Escape::Decline)?;
                self.char(spec, Term::small(if spec.unicode { char } else { char & 255 }))
            }
            b'~' => self.char(spec, Term::small(b'~'.into())),
            b'n' => self.newline(spec),
            b'i' => Ok(()),
            _ => Err(Escape::Decline),
        }
    }

    /// Puts out what has been gathered, as it fits.
    fn put_gathered(&mut self, fit: Option<Fit>, pad: Term) -> Result<(), Escape> {
        let fit = fit.ok_or(Escape::Decline)?;
        self.spend(self.chars.len() + fit.inner + fit.outer)?;
        let chars = std::mem::take(&mut self.chars);
        self.put(&chars, fit, pad);
        self.chars = chars;
        Ok(())
    }

    /// The length of what has been gathered, if it matters.
    fn gathered_width(&self, spec: &Spec) -> Result<usize, Escape> {
        if spec.width.is_none() && spec.precision.is_none() {
            return Ok(self.chars.len());
        }
        text::width(&self.chars).ok_or(Escape::Decline)
    }

    /// What of the characters gathered is shown as a string. Those that may be one cluster are not told apart here: none.
    fn string_fit(&self, spec: &Spec) -> Result<Fit, Escape> {
        let len = self.gathered_width(spec)?;
        let fit = Fit::of_string(len, spec.width, spec.left, spec.precision).ok_or(Escape::Decline)?;
        let is_cut = matches!(fit.body, super::fields::Body::Cut(_));
        if is_cut && spec.unicode && self.chars.contains(&u32::from('\r')) { Err(Escape::Decline) } else { Ok(fit) }
    }

    /// `~s` of an atom.
    fn atom_name(&mut self, spec: &Spec) -> Result<(), Escape> {
        let Some(atom) = spec.first.as_atom() else { return Err(Escape::Decline) };
        self.chars.clear();
        self.chars.extend(atom.text().chars().map(u32::from));
        if !spec.unicode && self.chars.iter().any(|c| *c > 255) {
            return Err(Escape::Decline);
        }
        let fit = self.string_fit(spec)?;
        self.put_gathered(Some(fit), spec.pad)
    }

    /// `~s` of character data.
    fn string(&mut self, spec: &Spec) -> Result<(), Escape> {
        let chars = self.string_chars(spec.first, spec.unicode, 0)?;
        let element = if spec.width.is_none() && spec.precision.is_none() {
            chars
        } else {
            self.gather(chars)?;
            let fit = self.string_fit(spec)?;
            self.in_field(chars, fit, spec.pad)
        };
        self.element(element);
        Ok(())
    }

    /// Gathers the characters of a deep list.
    fn gather(&mut self, chars: Term) -> Result<(), Escape> {
        let (gathered, budget) = (&mut self.chars, &mut self.budget);
        gathered.clear();
        let all = budget.each_deep(self.ctx, chars, |char| {
            let Some(char) = character(char) else { return false };
            gathered.push(char);
            true
        })?;
        if all { Ok(()) } else { Err(Escape::Decline) }
    }

    /// Character data with lists for binaries (K2).
    fn string_chars(&mut self, data: Term, unicode: bool, nested: usize) -> Result<Term, Escape> {
        if data.is_bitstring() {
            return self.binary_chars(data, unicode);
        }
        if !data.is_list() {
            return Err(Escape::Decline);
        }
        let mut whole = true;
        let rest = self.budget.each(self.ctx, data, |head| {
            whole &= head.is_small();
            head.as_small().is_none_or(|char| char >= 0 && (char <= 255 || unicode))
        })?;
        if whole && rest.is_nil() {
            return Ok(data);
        }
        if rest.is_cons() || nested >= DEEPEST {
            return Err(Escape::Decline);
        }
        let from = self.stack.len();
        let mut rest = data;
        let mut same = true;
        while let Some((head, tail)) = rest.as_cons() {
            let chars = if head.is_small() { head } else { self.string_chars(head, unicode, nested + 1)? };
            same &= chars.is(head);
            self.stack.push(chars);
            rest = tail;
        }
        let end = if rest.is_nil() { rest } else { self.string_chars(rest, unicode, nested + 1)? };
        let list = if same && end.is(rest) { data } else { self.ctx.list_onto(&self.stack[from..], end) };
        self.stack.truncate(from);
        Ok(list)
    }

    /// The characters of a binary; its bytes if they are not to be UTF-8, or are none.
    fn binary_chars(&mut self, binary: Term, unicode: bool) -> Result<Term, Escape> {
        let bytes = binary.as_binary().ok_or(Escape::Decline)?;
        self.spend(bytes.len())?;
        if !unicode || bytes.is_ascii() {
            return Ok(self.text(&bytes));
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => self.gathered(|out| {
                out.extend(text.chars().map(u32::from));
                Ok(())
            }),
            Err(_) => Ok(self.text(&bytes)),
        }
    }

    /// `~w` and `~W`.
    fn term(&mut self, spec: &Spec, depth: i64) -> Result<(), Escape> {
        let charset = charset(spec);
        let chars = self.write(spec.first, depth, charset, 0)?;
        let element = if spec.width.is_none() && spec.precision.is_none() {
            chars
        } else {
            self.gather(chars)?;
            let len = self.gathered_width(spec)?;
            let fit = Fit::of_term(len, spec.width, spec.left, spec.precision);
            self.in_field(chars, fit, spec.pad)
        };
        self.element(element);
        Ok(())
    }

    /// `~p` and `~P`: the width is the length of lines, the precision the column of the first character.
    fn pretty(&mut self, spec: &Spec, depth: i64) -> Result<(), Escape> {
        if spec.left {
            return Err(Escape::Decline);
        }
        let column = match spec.precision {
            Some(column) => column.max(1),
            None => self.column_here()? + 1,
        };
        let options = pretty::Options {
            column: column as i64,
            line_length: spec.width.unwrap_or(LINE) as i64,
            depth: usize::try_from(depth).ok(),
            line_chars: None,
            charset: charset(spec),
            records: false,
            strings: spec.strings,
        };
        let chars = pretty::print(self.ctx, spec.first, &options, &mut self.budget, !self.made)?;
        self.element(chars);
        Ok(())
    }

    /// The column at the end of what has been put out.
    fn column_here(&mut self) -> Result<usize, Escape> {
        let (done, mut column) = self.column;
        let (out, budget) = (&self.out, &mut self.budget);
        let mut step = |char: Term| {
            column = match char.as_small() {
                Some(10) => 0,
                Some(9) => (column + 8) / 8 * 8,
                Some(_) => column + 1,
                None => return false,
            };
            true
        };
        for element in &out[done..] {
            if element.is_list() {
                budget.each_deep(self.ctx, *element, &mut step)?;
            } else {
                budget.spend(self.ctx, 1)?;
                step(*element);
            }
        }
        self.column = (out.len(), column);
        Ok(column)
    }

    /// `~e`, `~f`, `~g`.
    fn float(&mut self, spec: &Spec) -> Result<(), Escape> {
        let value = spec.first.as_float().ok_or(Escape::Decline)?;
        let precision = spec.precision.unwrap_or(DIGITS);
        let text = match spec.control {
            b'e' => float::exponential(value, precision),
            b'f' => float::fixed(value, precision),
            _ => float::general(value, precision),
        };
        self.chars.clear();
        self.chars.extend(text.ok_or(Escape::Decline)?.into_iter().map(u32::from));
        let fit = Fit::of_term(self.chars.len(), spec.width, spec.left, None);
        self.put_gathered(Some(fit), spec.pad)
    }

    /// `~b`, `~x`, `~+` and those with capital letters: the precision is the base.
    fn integer(&mut self, spec: &Spec) -> Result<(), Escape> {
        let base = spec.precision.unwrap_or(DECIMAL);
        if !(2..=36).contains(&base) || !spec.first.is_integer() {
            return Err(Escape::Decline);
        }
        if let Some((_, limbs)) = spec.first.as_big() {
            self.spend(limbs.len() * write::LIMB)?;
        }
        let mut text = String::new();
        number_text::push_integer(&mut text, spec.first, base as u32);
        let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
        self.chars.clear();
        self.chars.extend(sign.bytes().map(u32::from));
        match spec.control {
            b'x' | b'X' => match spec.second.as_atom() {
                Some(prefix) => self.chars.extend(prefix.text().chars().map(u32::from)),
                None => self.prefix(spec.second)?,
            },
            b'+' | b'#' => self.chars.extend(format!("{base}#").bytes().map(u32::from)),
            _ => {}
        }
        let lower = matches!(spec.control, b'b' | b'x' | b'+');
        self.chars.extend(digits.bytes().map(|d| u32::from(if lower { d.to_ascii_lowercase() } else { d })));
        let len = match spec.width {
            Some(_) => text::width(&self.chars).ok_or(Escape::Decline)?,
            None => self.chars.len(),
        };
        let fit = Fit::of_term(len, spec.width, spec.left, None);
        self.put_gathered(Some(fit), spec.pad)
    }

    /// Gathers the prefix of `~x`, a deep list of characters.
    fn prefix(&mut self, list: Term) -> Result<(), Escape> {
        let (gathered, budget) = (&mut self.chars, &mut self.budget);
        let all = budget.each_deep(self.ctx, list, |char| {
            let Some(char) = text::code_point(char).filter(|c| text::is_char(*c)) else { return false };
            gathered.push(char);
            true
        })?;
        if all { Ok(()) } else { Err(Escape::Decline) }
    }

    /// `~c` and `~~`: as often as the precision, or else the width, says.
    fn char(&mut self, spec: &Spec, char: Term) -> Result<(), Escape> {
        let (count, field) = match (spec.width, spec.precision) {
            (None, None) => (1, 1),
            (Some(count), None) | (None, Some(count)) => (count, count),
            (Some(field), Some(count)) if field >= count => (count, field),
            _ => return Err(Escape::Decline),
        };
        self.spend(field)?;
        if !spec.left {
            self.repeat(spec.pad, field - count);
        }
        self.repeat(char, count);
        if spec.left {
            self.repeat(spec.pad, field - count);
        }
        Ok(())
    }

    /// `~n`: as many as the width says.
    fn newline(&mut self, spec: &Spec) -> Result<(), Escape> {
        if spec.left {
            return Err(Escape::Decline);
        }
        self.repeat(Term::small(b'\n'.into()), spec.width.unwrap_or(1));
        Ok(())
    }
}

/// The depth of `~W` and `~P`.
fn depth(term: Term) -> Result<i64, Escape> {
    term.as_small().filter(|depth| write::DEPTHS.contains(depth)).ok_or(Escape::Decline)
}

fn charset(spec: &Spec) -> Charset {
    if spec.unicode { Charset::Unicode } else { Charset::Latin1 }
}
