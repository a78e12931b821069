//! Numbers as text, and back.

use crate::work::dirty;
use myriad_term::number_text::{
    TextError, decimals, integer_text, read_float, read_integer, scientific, short, with_short,
};
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::{BADARG, Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub NUMBERS = "erlang" {
    "integer_to_list" / 1 Plain => |ctx, a| match a[0].as_small() {
        Some(value) => { let (text, from) = small_text(value); Ok(ctx.byte_list(&text[from..], Term::NIL)) }
        None => { let text = from_integer(ctx, a[0], 10)?; Ok(list(ctx, &text)) }
    };
    "integer_to_list" / 2 Plain => |ctx, a| { let text = from_integer(ctx, a[0], base(a[1])?)?; Ok(list(ctx, &text)) };
    "integer_to_binary" / 1 Plain => |ctx, a| match a[0].as_small() {
        Some(value) => { let (text, from) = small_text(value); Ok(ctx.binary(&text[from..])) }
        None => { let text = from_integer(ctx, a[0], 10)?; Ok(ctx.binary(text.as_bytes())) }
    };
    "integer_to_binary" / 2 Plain => |ctx, a| {
        let text = from_integer(ctx, a[0], base(a[1])?)?;
        Ok(ctx.binary(text.as_bytes()))
    };
    "list_to_integer" / 1 Plain => |ctx, a| match short_decimal(a[0]) {
        Some(value) => Ok(ctx.int(value)),
        None => to_integer(ctx, &list_bytes(ctx, a[0])?, 10),
    };
    "list_to_integer" / 2 Plain => |ctx, a| to_integer(ctx, &list_bytes(ctx, a[0])?, base(a[1])?);
    "binary_to_integer" / 1 Plain => |ctx, a| match a[0].as_aligned_bytes().and_then(short_decimal_text) {
        Some(value) => Ok(ctx.int(value)),
        None => to_integer(ctx, &a[0].as_binary().ok_or(BADARG)?, 10),
    };
    "binary_to_integer" / 2 Plain => |ctx, a| to_integer(ctx, &a[0].as_binary().ok_or(BADARG)?, base(a[1])?);
    "float_to_list" / 1 Plain => |ctx, a| { let text = from_float(a[0], Term::NIL)?; Ok(list(ctx, &text)) };
    "float_to_list" / 2 Plain => |ctx, a| match only_short(a[0], a[1]) {
        Some(value) => Ok(with_short(value, |text| list(ctx, text))),
        None => { let text = from_float(a[0], a[1])?; Ok(list(ctx, &text)) }
    };
    "float_to_binary" / 1 Plain => |ctx, a| { let text = from_float(a[0], Term::NIL)?; Ok(ctx.binary(text.as_bytes())) };
    "float_to_binary" / 2 Plain => |ctx, a| match only_short(a[0], a[1]) {
        Some(value) => Ok(with_short(value, |text| ctx.binary(text.as_bytes()))),
        None => { let text = from_float(a[0], a[1])?; Ok(ctx.binary(text.as_bytes())) }
    };
    "list_to_float" / 1 Plain => |ctx, a| to_float(ctx, &list_bytes(ctx, a[0])?);
    "binary_to_float" / 1 Plain => |ctx, a| to_float(ctx, &a[0].as_binary().ok_or(BADARG)?);
}}

myriad_vm::bifs! { pub STRING_NUMBERS = "string" {
    "list_to_integer" / 1 Plain => |ctx, a| leading(ctx, a[0], am::no_integer, integer_length, |ctx, text| to_integer(ctx, text, 10));
    "list_to_float" / 1 Plain => |ctx, a| leading(ctx, a[0], am::no_float, float_length, |ctx, text| to_float(ctx, text));
}}

/// Integers of more words, and texts of more digits, are converted on a dirty scheduler.
const LONG_WORDS: usize = 512;
const LONG_TEXT: usize = 8192;
/// Digits after the point of `float_to_list/1`.
const DEFAULT_DIGITS: i64 = 20;

/// The decimal text of a small integer: it stands at the end of the bytes, from the index on.
fn small_text(value: i64) -> ([u8; 20], usize) {
    let mut text = [b'0'; 20];
    let mut at = text.len();
    let mut rest = value.unsigned_abs();
    // At most nineteen digits: a small integer has 61 bits. Two at a time: divisions are what costs.
    while rest >= 10 {
        let two = (rest % 100) as u8;
        rest /= 100;
        at -= 2;
        text[at] = b'0' + two / 10;
        text[at + 1] = b'0' + two % 10;
    }
    if rest > 0 || at == text.len() {
        at -= 1;
        text[at] = b'0' + rest as u8;
    }
    if value < 0 {
        at -= 1;
        text[at] = b'-';
    }
    (text, at)
}

fn list(ctx: &mut Ctx<'_>, text: &str) -> Term {
    ctx.byte_list(text.as_bytes(), Term::NIL)
}

fn base(term: Term) -> Result<u32, Escape> {
    match term.as_usize() {
        Some(base @ 2..=36) => Ok(base as u32),
        _ => badarg(),
    }
}

fn from_integer(ctx: &mut Ctx<'_>, integer: Term, base: u32) -> Result<String, Escape> {
    if let Some((_, words)) = integer.as_big() {
        if words.len() > LONG_WORDS {
            dirty(ctx)?;
        }
        ctx.bump(words.len() / 4);
    }
    integer_text(integer, base).ok_or(BADARG)
}

/// The value of a list of one to eighteen decimal digits, perhaps with a sign: most lists that are integers.
fn short_decimal(list: Term) -> Option<i64> {
    let (head, tail) = list.as_cons()?;
    let (negative, mut rest) = match head.as_small()? {
        45 => (true, tail),
        43 => (false, tail),
        _ => (false, list),
    };
    let (mut value, mut digits) = (0, 0);
    while let Some((head, tail)) = rest.as_cons() {
        let digit = head.as_small().filter(|c| (48..=57).contains(c))? - 48;
        digits += 1;
        // 10^18 is below 2^60. Before the sum: a nineteenth digit might not fit it.
        if digits > 18 {
            return None;
        }
        value = value * 10 + digit;
        rest = tail;
    }
    (digits > 0 && rest.is_nil()).then_some(if negative { -value } else { value })
}

/// The value of a text of one to eighteen decimal digits, perhaps with a sign.
#[inline]
fn short_decimal_text(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    // 10^18 is below 2^60.
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// The bytes of a proper list of them.
fn list_bytes(ctx: &Ctx<'_>, list: Term) -> Result<Vec<u8>, Escape> {
    let (bytes, rest) = leading_bytes(ctx, list)?;
    if rest.is_nil() { Ok(bytes) } else { badarg() }
}

/// The bytes at the head of a list that can stand in a number, and the rest.
fn leading_bytes(ctx: &Ctx<'_>, list: Term) -> Result<(Vec<u8>, Term), Escape> {
    let (mut bytes, mut rest) = (Vec::new(), list);
    while let Some((head, tail)) = rest.as_cons() {
        let Some(byte) = head.as_small().and_then(|c| u8::try_from(c).ok()).filter(|byte| in_number(*byte)) else {
            break;
        };
        bytes.push(byte);
        if bytes.len() == LONG_TEXT {
            dirty(ctx)?;
        }
        rest = tail;
    }
    Ok((bytes, rest))
}

/// Can the byte stand in a number, in any base?
fn in_number(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b',')
}

fn to_integer(ctx: &mut Ctx<'_>, text: &[u8], base: u32) -> BifResult {
    if text.len() > LONG_TEXT {
        dirty(ctx)?;
    }
    ctx.bump(text.len() / 16);
    read_integer(ctx, text, base).map_err(|error| match error {
        TextError::BadArg => BADARG,
        TextError::SystemLimit => SYSTEM_LIMIT,
    })
}

fn to_float(ctx: &mut Ctx<'_>, text: &[u8]) -> BifResult {
    match read_float(text) {
        Some(value) => Ok(ctx.float(value)),
        None => badarg(),
    }
}

/// The form in which a float is written.
enum Form {
    Scientific(i64),
    Decimals(i64),
    Short,
}

/// The float, if the options are `[short]`.
fn only_short(float: Term, options: Term) -> Option<f64> {
    let (option, tail) = options.as_cons()?;
    if option.is_am(am::short) && tail.is_nil() { float.as_float() } else { None }
}

fn from_float(float: Term, options: Term) -> Result<String, Escape> {
    let (mut form, mut compact) = (Form::Scientific(DEFAULT_DIGITS), false);
    let mut items = options.list_iter();
    for option in items.by_ref() {
        match (option.as_atom(), option.as_tuple_of::<2>()) {
            (Some(am::short), _) => form = Form::Short,
            (Some(am::compact), _) => compact = true,
            (_, Some([key, n])) if key.is_am(am::decimals) => form = Form::Decimals(n.as_small().ok_or(BADARG)?),
            (_, Some([key, n])) if key.is_am(am::scientific) => form = Form::Scientific(n.as_small().ok_or(BADARG)?),
            _ => return badarg(),
        }
    }
    let Some(value) = float.as_float().filter(|_| items.tail().is_nil()) else { return badarg() };
    match form {
        Form::Scientific(digits) => scientific(value, digits),
        Form::Decimals(n) => decimals(value, n, compact),
        Form::Short => Some(short(value)),
    }
    .ok_or(BADARG)
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|c| c.is_ascii_digit()).count()
}

fn sign(text: &[u8]) -> usize {
    usize::from(matches!(text.first(), Some(b'+' | b'-')))
}

/// Length of the integer at the head of a text; 0 if there is none.
fn integer_length(text: &[u8]) -> usize {
    let sign = sign(text);
    match digits(&text[sign..]) {
        0 => 0,
        n => sign + n,
    }
}

/// Length of the float at the head of a text; 0 if there is none.
fn float_length(text: &[u8]) -> usize {
    let whole = integer_length(text);
    let fraction = match &text[whole..] {
        [b'.' | b',', rest @ ..] if whole > 0 => digits(rest),
        _ => 0,
    };
    if fraction == 0 {
        return 0;
    }
    let mantissa = whole + 1 + fraction;
    match &text[mantissa..] {
        [b'e' | b'E', rest @ ..] if integer_length(rest) > 0 => mantissa + 1 + integer_length(rest),
        _ => mantissa,
    }
}

/// `{Number, Rest}` of the number at the head of a list, or `{error, Reason}`.
fn leading<'c>(
    ctx: &mut Ctx<'c>,
    list: Term,
    none: Atom,
    length: fn(&[u8]) -> usize,
    read: fn(&mut Ctx<'c>, &[u8]) -> BifResult,
) -> BifResult {
    if !list.is_list() {
        return Ok(ctx.tuple(&[Term::atom(am::error), Term::atom(am::not_a_list)]));
    }
    let (bytes, _) = leading_bytes(ctx, list)?;
    ctx.bump(bytes.len() / 16);
    let used = length(&bytes);
    let number = if used == 0 { badarg() } else { read(ctx, &bytes[..used]) };
    match number {
        Ok(number) => {
            let mut rest = list;
            for _ in 0..used {
                rest = rest.as_cons().map_or(Term::NIL, |(_, tail)| tail);
            }
            Ok(ctx.tuple(&[number, rest]))
        }
        Err(Escape::Error(reason)) if reason.is_am(am::badarg) => Ok(ctx.tuple(&[Term::atom(am::error), none.term()])),
        Err(escape) => Err(escape),
    }
}
