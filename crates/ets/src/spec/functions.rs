//! The functions that guards and bodies may call: pure, and without a process.

use myriad_term::arith::{self, Number};
use myriad_term::compare::compare;
use myriad_term::equal::{eq, eq_exact};
use myriad_term::{Arena, Atom, Build, Term, TermRef, am};

/// What functions work with.
#[derive(Clone, Copy)]
pub struct Env<'m> {
    /// Memory for results.
    pub scratch: &'m Arena,
    /// The process that runs the specification.
    pub pid: Term,
    /// The name of the node, for `node/0`.
    pub node: Atom,
}

/// A function: nothing means that it failed.
pub type Call = for<'m> fn(Env<'m>, &[TermRef<'m>]) -> Option<TermRef<'m>>;

/// A function by its name.
pub struct Function {
    /// The name by which specifications call it.
    pub name: Atom,
    /// Number of arguments.
    pub arity: usize,
    /// What it does.
    pub call: Call,
}

macro_rules! functions {
    ($($name:ident / $arity:literal => $call:expr;)*) => {
        /// All functions.
        static FUNCTIONS: &[Function] =
            &[$(Function { name: am::$name, arity: $arity, call: $call }),*];
    };
}

macro_rules! test {
    ($test:expr) => {
        |_, a| {
            let test: fn(TermRef<'_>) -> bool = $test;
            Some(Term::bool(test(a[0])))
        }
    };
}

macro_rules! unary {
    ($f:path) => {
        |e, a| $f(&mut { e.scratch }, a[0]).into()
    };
}

macro_rules! binary {
    ($f:path) => {
        |e, a| $f(&mut { e.scratch }, a[0], a[1]).ok()
    };
}

functions! {
    is_atom / 1 => test!(|t| t.is_atom());
    is_float / 1 => test!(|t| t.is_float());
    is_integer / 1 => test!(|t| t.is_integer());
    is_list / 1 => test!(|t| t.is_list());
    is_number / 1 => test!(|t| t.is_number());
    is_pid / 1 => test!(|t| t.is_pid());
    is_port / 1 => test!(|t| t.is_port());
    is_reference / 1 => test!(|t| t.is_reference());
    is_tuple / 1 => test!(|t| t.as_tuple().is_some());
    is_map / 1 => test!(|t| t.is_map());
    is_binary / 1 => test!(|t| t.as_bits().is_some_and(|b| b.is_binary()));
    is_function / 1 => test!(|t| t.is_fun());
    is_record / 3 => is_record;
    abs / 1 => unary!(arith::abs);
    element / 2 => element;
    hd / 1 => |_, a| a[0].as_cons().map(|(head, _)| head);
    tl / 1 => |_, a| a[0].as_cons().map(|(_, tail)| tail);
    length / 1 => |_, a| a[0].list_length().map(|n| Term::small(n as i64));
    node / 0 => |e, _| Some(e.node.term());
    node / 1 => node;
    round / 1 => unary!(arith::round);
    trunc / 1 => unary!(arith::trunc);
    float / 1 => unary!(arith::float);
    size / 1 => size;
    bit_size / 1 => |_, a| a[0].as_bits().map(|b| Term::small(b.len() as i64));
    byte_size / 1 => |_, a| a[0].as_bits().map(|b| Term::small(b.len().div_ceil(8) as i64));
    binary_part / 2 => |e, a| {
        let [start, len] = a[1].as_tuple_of::<2>()?;
        binary_part(e, a[0], start, len)
    };
    binary_part / 3 => |e, a| binary_part(e, a[0], a[1], a[2]);
    map_size / 1 => |_, a| a[0].as_map().map(|m| Term::small(m.size() as i64));
    map_get / 2 => |_, a| a[1].as_map()?.get(a[0]);
    is_map_key / 2 => |_, a| a[1].as_map().map(|m| Term::bool(m.has_key(a[0])));
    plus / 1 => |_, a| arith::plus(a[0]).ok();
    minus / 1 => |e, a| arith::neg(&mut { e.scratch }, a[0]).ok();
    plus / 2 => binary!(arith::add);
    minus / 2 => binary!(arith::sub);
    times / 2 => binary!(arith::mul);
    divide / 2 => binary!(arith::divide);
    div / 2 => binary!(arith::div);
    rem / 2 => binary!(arith::rem);
    band / 2 => binary!(arith::band);
    bor / 2 => binary!(arith::bor);
    bxor / 2 => binary!(arith::bxor);
    bnot / 1 => |e, a| arith::bnot(&mut { e.scratch }, a[0]).ok();
    bsl / 2 => binary!(arith::bsl);
    bsr / 2 => binary!(arith::bsr);
    lt / 2 => |_, a| Some(Term::bool(compare(a[0], a[1]).is_lt()));
    le / 2 => |_, a| Some(Term::bool(compare(a[0], a[1]).is_le()));
    gt / 2 => |_, a| Some(Term::bool(compare(a[0], a[1]).is_gt()));
    ge / 2 => |_, a| Some(Term::bool(compare(a[0], a[1]).is_ge()));
    eq / 2 => |_, a| Some(Term::bool(eq(a[0], a[1])));
    ne / 2 => |_, a| Some(Term::bool(!eq(a[0], a[1])));
    eq_exact / 2 => |_, a| Some(Term::bool(eq_exact(a[0], a[1])));
    ne_exact / 2 => |_, a| Some(Term::bool(!eq_exact(a[0], a[1])));
    not / 1 => |_, a| a[0].as_bool().map(|b| Term::bool(!b));
    xor / 2 => |_, a| Some(Term::bool(a[0].as_bool()? != a[1].as_bool()?));
}

/// `self/0`, a special form.
pub static SELF: Function = Function { name: am::self_, arity: 0, call: |e, _| Some(e.pid) };

/// The function of a name.
pub fn find(name: Atom, arity: usize) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.name == name && f.arity == arity)
}

fn is_record<'m>(_: Env<'m>, a: &[TermRef<'m>]) -> Option<TermRef<'m>> {
    if !a[1].is_atom() || a[2].as_small()? < 0 {
        return None;
    }
    let elements = a[0].as_tuple().map_or(&[][..], |t| t.elements());
    let tagged = elements.first().is_some_and(|tag| tag.is(a[1]));
    Some(Term::bool(tagged && Some(elements.len()) == a[2].as_usize()))
}

fn element<'m>(_: Env<'m>, a: &[TermRef<'m>]) -> Option<TermRef<'m>> {
    let at = a[0].as_usize()?.checked_sub(1)?;
    a[1].as_tuple()?.elements().get(at).copied()
}

fn node<'m>(e: Env<'m>, a: &[TermRef<'m>]) -> Option<TermRef<'m>> {
    if let Some((name, _)) = a[0].external_node() {
        return Some(name.term());
    }
    (a[0].is_pid() || a[0].is_port() || a[0].is_reference()).then(|| e.node.term())
}

fn size<'m>(_: Env<'m>, a: &[TermRef<'m>]) -> Option<TermRef<'m>> {
    if let Some(tuple) = a[0].as_tuple() {
        return Some(Term::small(tuple.len() as i64));
    }
    a[0].as_bits().map(|b| Term::small((b.len() / 8) as i64))
}

fn binary_part<'m>(e: Env<'m>, binary: TermRef<'m>, start: TermRef<'m>, len: TermRef<'m>) -> Option<TermRef<'m>> {
    let bits = binary.as_bits().filter(|b| b.is_binary())?;
    let (Number::Small(start), Number::Small(len)) = (Number::of(&start)?, Number::of(&len)?) else { return None };
    let (from, to) = if len < 0 { (start.checked_add(len)?, start) } else { (start, start.checked_add(len)?) };
    if from < 0 || to > (bits.len() / 8) as i64 {
        return None;
    }
    let part = bits.part(from as usize * 8, (to - from) as usize * 8)?;
    Some((&mut { e.scratch }).binary(&part.to_bytes()))
}
