//! From a term to a [`Spec`], with the messages of `erlang:match_spec_test/3`.
//!
//! Guards and bodies become postfix programs. While operations are added, a stack of what each leaves tells where its code
//! begins and whether it is a constant; an operation on constants only is carried out at once.

use super::functions::{SELF, find};
use super::head::{Head, HeadError, Test, variable};
use super::{Body, Clause, Dialect, Op, Place, Spec};
use crate::row::copy_out;
use myriad_heap::{Draft, Fragment};
use myriad_term::map::from_pairs;
use myriad_term::print::display;
use myriad_term::word::ListIter;
use myriad_term::{Atom, Build, Term, TermRef, am};

/// What is wrong with a specification, as sentences; their characters are bytes.
pub type Errors = Vec<String>;

/// The memory of a specification in the making.
fn memory() -> Draft<'static> {
    // SAFETY: ets/SP1: the specification keeps it, and gives out no term but with a borrow of itself.
    unsafe { Draft::unbound(Fragment::new()) }
}

impl Spec {
    /// Compiles `[{Head, Guards, Body}, ...]`.
    pub fn compile(term: TermRef<'_>, dialect: Dialect) -> Result<Spec, Errors> {
        let mut memory = memory();
        let term = copy_out(term, &mut memory);
        Self::compile_own(term, dialect, memory)
    }

    /// The same without a copy of the term.
    ///
    /// # Safety
    /// The specification is dropped before the term goes or moves (ets/SP1, term/T2).
    pub unsafe fn compile_in_place(term: Term, dialect: Dialect) -> Result<Spec, Errors> {
        Self::compile_own(term, dialect, memory())
    }

    /// Compiles `[{Pattern, [], [Result]}]`, where the result is `'$_'` or `'$$'`.
    pub fn of_pattern(pattern: TermRef<'_>, result: Atom) -> Result<Spec, Errors> {
        let mut memory = memory();
        let head = copy_out(pattern, &mut memory);
        Self::of_own_pattern(head, result, memory)
    }

    /// The same without a copy of the pattern.
    ///
    /// # Safety
    /// As for [`Spec::compile_in_place`].
    pub unsafe fn of_pattern_in_place(pattern: Term, result: Atom) -> Result<Spec, Errors> {
        Self::of_own_pattern(pattern, result, memory())
    }

    fn of_own_pattern(head: Term, result: Atom, memory: Draft<'static>) -> Result<Spec, Errors> {
        let (tests, (all, numbers)) = compile_head(head)?;
        let body =
            if result == am::dollar_underscore { Body::Whole } else { Body::Program(vec![Op::All(Place::Result)]) };
        let variables = numbers.len();
        debug_assert!(all.len() == variables && matches!(result, am::dollar_underscore | am::dollar_dollar));
        let clause = Clause { head, tests, guards: Vec::new(), body, all };
        Ok(Spec { clauses: vec![clause], variables, dialect: Dialect::Table, memory: memory.into_fragment() })
    }

    fn compile_own(term: Term, dialect: Dialect, mut memory: Draft<'static>) -> Result<Spec, Errors> {
        let one = |text: &str| Err(vec![text.to_owned()]);
        if !term.is_cons() {
            return one("Match programs are not in a list.");
        }
        let Some(count) = term.list_length() else {
            return one("Match programs are not in a proper list.");
        };
        let triples = || term.list_iter().map_while(|part| part.as_tuple_of::<3>());
        if triples().count() < count {
            return one("Match program part is not a tuple of arity 3.");
        }
        let mut clauses = Vec::with_capacity(count);
        let mut variables = 0;
        for [head, guards, body] in triples() {
            let (clause, slots) = compile_clause(&mut memory, dialect, head, guards, body)?;
            variables = variables.max(slots);
            clauses.push(clause);
        }
        Ok(Spec { clauses, variables, dialect, memory: memory.into_fragment() })
    }
}

/// The slots of variables in the order of their numbers, and their numbers by slot.
type Variables = (Vec<u32>, Vec<u64>);

/// The tests of a head, and its variables.
fn compile_head(head: Term) -> Result<(Vec<Test>, Variables), Errors> {
    let Head { tests, variables } = Head::compile(head).map_err(|error| {
        let text = match error {
            HeadError::VariableInKey => "Variable found in map key.",
            HeadError::UnderscoreInKey => "Underscore found in map key.",
        };
        vec![text.to_owned()]
    })?;
    let mut all: Vec<u32> = (0..variables.len() as u32).collect();
    all.sort_by_key(|slot| variables[*slot as usize]);
    Ok((tests, (all, variables)))
}

fn compile_clause(
    memory: &mut Draft<'static>,
    dialect: Dialect,
    head: Term,
    guards: Term,
    body_list: Term,
) -> Result<(Clause, usize), Errors> {
    let one = |text: &str| Err(vec![text.to_owned()]);
    let mut head = head;
    if dialect != Dialect::Table {
        // Arguments may be written as a tuple.
        if let Some(tuple) = head.as_tuple() {
            head = memory.list(tuple.elements());
        } else if !(head.is_list() || head.is_am(am::underscore) || variable(head).is_some()) {
            // What is wrong with the keys of a map goes first.
            if head.is_map() {
                compile_head(head)?;
            }
            return one("Match head is invalid in this context.");
        } else if head.is_list() {
            let mut items = head.list_iter();
            items.by_ref().for_each(drop);
            if !items.tail().is_nil() {
                return one(cut(&format!("Match expression part {} is not a proper list.", text(head))));
            }
        }
    }
    let (tests, (all, variables)) = compile_head(head)?;
    let mut compiler = Compiler {
        memory,
        dialect,
        variables: &variables,
        ops: Vec::new(),
        values: Vec::new(),
        errors: Vec::new(),
        in_guard: true,
        backwards: false,
    };
    let (program, body) = compiler.clause(guards, body_list);
    if !compiler.errors.is_empty() {
        compiler.errors.clear();
        compiler.backwards = true;
        compiler.clause(guards, body_list);
        return Err(compiler.errors);
    }
    Ok((Clause { head, tests, guards: program, body, all }, variables.len()))
}

/// A value that the program so far leaves on the stack.
struct Value {
    /// Where its code begins.
    start: usize,
    /// Itself, if it is known.
    constant: Option<Term>,
}

enum Work {
    Visit(Term, Place),
    Emit(Op),
    /// A test of `andalso` or `orelse` number so and so.
    Jump(bool, usize),
    /// The end of it.
    Land(usize),
    /// A constant instead of the operand's value.
    Actioned(Atom, u32),
}

struct Compiler<'m> {
    memory: &'m mut Draft<'static>,
    dialect: Dialect,
    variables: &'m [u64],
    ops: Vec<Op>,
    values: Vec<Value>,
    errors: Errors,
    in_guard: bool,
    /// Visits the operands of calls, tuples and maps from last to first, as OTP compiles them: errors are listed in that
    /// order. The program that comes of it is of no use.
    backwards: bool,
}

/// What the names of special forms stand for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Only in trace specifications, with these numbers of arguments; in guards, too?
    Trace { least: usize, most: usize, guards: bool },
}

fn trace_form(name: Atom) -> Option<Form> {
    let (least, most, guards) = match name {
        am::is_seq_trace => (0, 0, true),
        am::message | am::display | am::silent => (1, 1, false),
        am::get_seq_token
        | am::return_trace
        | am::exception_trace
        | am::process_dump
        | am::caller
        | am::caller_line => (0, 0, false),
        am::enable_trace | am::disable_trace => (1, 2, false),
        am::trace => (2, 3, false),
        am::set_seq_token => (2, 2, false),
        _ => return None,
    };
    Some(Form::Trace { least, most, guards })
}

/// A term as errors show it: each byte of what is displayed (UTF-8 in atoms, Latin-1 in strings) as a character.
fn text(term: Term) -> String {
    display(term).into_iter().map(char::from).collect()
}

/// OTP writes errors into a buffer of 100 bytes, which the characters stand for.
fn cut(text: &str) -> &str {
    &text[..text.char_indices().nth(99).map_or(text.len(), |(end, _)| end)]
}

impl Compiler<'_> {
    fn error(&mut self, text: String) {
        self.errors.push(cut(&text).to_owned());
        // `[]` stands for the value, so that the rest is compiled too.
        self.constant(Term::NIL, Place::Scratch);
    }

    fn expressions(&mut self, list: Term) -> Option<ListIter<'static>> {
        if !list.is_list() {
            self.errors.push("Match expression is not a list.".to_owned());
            return None;
        }
        if list.list_length().is_none() {
            self.errors.push("Match expression is not a proper list.".to_owned());
            return None;
        }
        Some(list.list_iter())
    }

    fn clause(&mut self, guards: Term, body: Term) -> (Vec<Op>, Body) {
        self.in_guard = true;
        self.ops.clear();
        self.values.clear();
        self.guards(guards);
        let program = std::mem::take(&mut self.ops);
        self.values.clear();
        self.in_guard = false;
        (program, self.body(body))
    }

    /// Asks for visits of operands.
    fn operands(&self, operands: &[Term], place: Place, work: &mut Vec<Work>) {
        if self.backwards {
            work.extend(operands.iter().map(|t| Work::Visit(*t, place)));
        } else {
            work.extend(operands.iter().rev().map(|t| Work::Visit(*t, place)));
        }
    }

    fn guards(&mut self, list: Term) {
        for guard in self.expressions(list).into_iter().flatten() {
            self.expression(guard, Place::Scratch);
            match self.values.pop() {
                // `true` needs no code.
                Some(Value { start, constant: Some(term) }) if term.is(Term::TRUE) => self.ops.truncate(start),
                _ => self.ops.push(Op::Guard),
            }
        }
    }

    fn body(&mut self, list: Term) -> Body {
        let table = self.dialect == Dialect::Table;
        if table && !list.is_cons() {
            self.errors.push("Body clause does not return anything.".to_owned());
            return Body::Whole;
        }
        let Some(expressions) = self.expressions(list) else { return Body::Whole };
        let mut expressions = expressions.peekable();
        while let Some(expression) = expressions.next() {
            let counts = table && expressions.peek().is_none();
            let start = self.ops.len();
            self.expression(expression, if counts { Place::Result } else { Place::Scratch });
            if counts {
                break;
            }
            self.values.clear();
            if table {
                // Nothing but errors in it matters.
                self.ops.truncate(start);
            } else {
                self.ops.push(Op::Drop);
            }
        }
        if !table {
            self.ops.push(Op::Constant(Term::TRUE, Place::Scratch));
        }
        match *self.ops.as_slice() {
            [Op::Whole(_)] => Body::Whole,
            [Op::Constant(term, _)] if term.is_immediate() => Body::Immediate(term),
            _ => Body::Program(std::mem::take(&mut self.ops)),
        }
    }

    fn constant(&mut self, term: Term, place: Place) {
        self.values.push(Value { start: self.ops.len(), constant: Some(term) });
        let place = if term.is_immediate() { Place::Scratch } else { place };
        self.ops.push(Op::Constant(term, place));
    }

    fn open(&mut self, op: Op) {
        self.values.push(Value { start: self.ops.len(), constant: None });
        self.ops.push(op);
    }

    /// Adds an operation on the last `n` values; on constants it is carried out.
    fn operate(&mut self, op: Op, n: usize) {
        debug_assert!(self.values.len() >= n, "SP2: an operation has operands");
        let from = self.values.len().saturating_sub(n);
        let operands: Vec<Value> = self.values.drain(from..).collect();
        let start = operands.first().map_or(self.ops.len(), |v| v.start);
        let constants: Option<Vec<Term>> = operands.iter().map(|v| v.constant).collect();
        if let Some(known) = constants
            && let Some((term, place)) = self.fold(op, &known)
        {
            self.ops.truncate(start);
            return self.constant(term, place);
        }
        self.ops.push(op);
        self.values.push(Value { start, constant: None });
    }

    fn fold(&mut self, op: Op, known: &[Term]) -> Option<(Term, Place)> {
        match (op, known) {
            (Op::Tuple(_, place), _) => Some((self.memory.tuple(known), place)),
            (Op::Cons(place), [head, tail]) => Some((self.memory.cons(*head, *tail), place)),
            (Op::Map(_, place), _) => {
                let pairs: Vec<(Term, Term)> = known.chunks_exact(2).map(|p| (p[0], p[1])).collect();
                Some((from_pairs(self.memory, &pairs), place))
            }
            _ => None,
        }
    }

    /// Compiles an expression: it leaves one value.
    fn expression(&mut self, term: Term, place: Place) {
        let (mut work, mut jumps) = (Vec::new(), Vec::new());
        let before = self.values.len();
        self.visit(term, place, &mut work, &mut jumps);
        while let Some(next) = work.pop() {
            match next {
                Work::Visit(term, place) => self.visit(term, place, &mut work, &mut jumps),
                Work::Emit(op) => {
                    let n = match op {
                        Op::Tuple(n, _) | Op::And(n) | Op::Or(n) => n as usize,
                        Op::Map(n, _) => 2 * n as usize,
                        Op::Cons(_) => 2,
                        Op::Call(f) => f.arity,
                        _ => 1,
                    };
                    self.operate(op, n);
                }
                Work::Jump(and, number) => {
                    self.values.pop();
                    jumps[number].1.push(self.ops.len());
                    self.ops.push(if and { Op::AndAlso(0) } else { Op::OrElse(0) });
                }
                Work::Land(number) => {
                    let to = self.ops.len() as u32;
                    for at in std::mem::take(&mut jumps[number].1) {
                        debug_assert!((at as u32) < to, "SP3: a jump leads forward");
                        if let Op::AndAlso(place) | Op::OrElse(place) = &mut self.ops[at] {
                            *place = to;
                        }
                    }
                    self.values.pop();
                    self.values.push(Value { start: jumps[number].0, constant: None });
                }
                Work::Actioned(name, n) => self.operate(Op::Action(name, n), n as usize),
            }
        }
        debug_assert!(
            !self.errors.is_empty() || self.values.len() == before + 1,
            "SP2: an expression leaves one value"
        );
    }

    fn visit(&mut self, term: Term, place: Place, work: &mut Vec<Work>, jumps: &mut Vec<(usize, Vec<usize>)>) {
        if term.is_am(am::dollar_underscore) {
            self.open(Op::Whole(place));
        } else if term.is_am(am::dollar_dollar) {
            self.open(Op::All(place));
        } else if let Some(number) = variable(term) {
            match self.variables.iter().position(|n| *n == number) {
                Some(slot) => self.open(Op::Variable(slot as u32, place)),
                None => self.error(format!("Variable ${number} is unbound.")),
            }
        } else if let Some((head, tail)) = term.as_cons() {
            work.push(Work::Emit(Op::Cons(place)));
            work.push(Work::Visit(tail, place));
            work.push(Work::Visit(head, place));
        } else if let Some(map) = term.as_map() {
            work.push(Work::Emit(Op::Map(map.size() as u32, place)));
            if self.backwards {
                // All values first, then all keys.
                work.extend(map.iter().map(|(key, _)| Work::Visit(key, place)));
                work.extend(map.iter().map(|(_, value)| Work::Visit(value, place)));
                return;
            }
            for (key, value) in map.iter() {
                work.push(Work::Visit(value, place));
                work.push(Work::Visit(key, place));
            }
        } else if let Some(tuple) = term.as_tuple() {
            self.tuple(term, tuple.elements(), place, work, jumps);
        } else {
            self.constant(term, place);
        }
    }

    fn tuple(
        &mut self,
        term: Term,
        elements: &[Term],
        place: Place,
        work: &mut Vec<Work>,
        jumps: &mut Vec<(usize, Vec<usize>)>,
    ) {
        let (name, arguments) = match elements {
            [inner] if inner.as_tuple().is_some() => {
                let inner = inner.as_tuple().map_or(&[][..], |t| t.elements());
                work.push(Work::Emit(Op::Tuple(inner.len() as u32, place)));
                self.operands(inner, place, work);
                return;
            }
            [name, arguments @ ..] if name.is_atom() && variable(*name).is_none() => match name.as_atom() {
                Some(name) => (name, arguments),
                None => return,
            },
            _ => {
                let shown = text(term);
                return self.error(format!(
                    "{shown} is neither a function call, nor a tuple (tuples are written {{{{ ... }}}})."
                ));
            }
        };
        match name {
            am::const_ => match arguments {
                [value] => self.constant(*value, place),
                _ => self.error(format!("Special form 'const' called with more than one argument in {}.", text(term))),
            },
            am::self_ if arguments.is_empty() => self.open(Op::Call(&SELF)),
            am::self_ => self.error(format!("Special form 'self' called with arguments in {}.", text(term))),
            am::and | am::or | am::andalso | am::andthen | am::orelse if arguments.is_empty() => {
                let name = if name == am::andthen { am::andalso } else { name };
                self.error(format!("Special form '{}' called without arguments in {}.", name.text(), text(term)));
            }
            am::and | am::or => {
                let n = arguments.len() as u32;
                work.push(Work::Emit(if name == am::and { Op::And(n) } else { Op::Or(n) }));
                self.operands(arguments, Place::Scratch, work);
            }
            am::andalso | am::andthen | am::orelse => {
                jumps.push((self.ops.len(), Vec::new()));
                let number = jumps.len() - 1;
                work.push(Work::Land(number));
                for (i, argument) in arguments.iter().enumerate().rev() {
                    let last = i + 1 == arguments.len();
                    if !last {
                        work.push(Work::Jump(name != am::orelse, number));
                    }
                    work.push(Work::Visit(*argument, if last { place } else { Place::Scratch }));
                }
            }
            _ => match trace_form(name) {
                Some(form) => self.trace_form(term, name, form, arguments, work),
                None => self.call(name, arguments, place, work),
            },
        }
    }

    fn call(&mut self, name: Atom, arguments: &[Term], place: Place, work: &mut Vec<Work>) {
        let arity = arguments.len();
        let shown = || text(name.term());
        if matches!((name, arity), (am::set_tcw | am::set_tcw_fake, 1) | (am::get_tcw, 0)) {
            if self.dialect == Dialect::Table || self.in_guard && name != am::get_tcw {
                return self.error(format!("Function {}/{arity} cannot be called in this context.", shown()));
            }
            work.push(Work::Actioned(name, arity as u32));
            work.extend(arguments.iter().map(|t| Work::Visit(*t, Place::Scratch)));
            return;
        }
        match find(name, arity) {
            None => self.error(format!("Function {}/{arity} does_not_exist.", shown())),
            Some(function) => {
                if place == Place::Result {
                    work.push(Work::Emit(Op::Keep));
                }
                work.push(Work::Emit(Op::Call(function)));
                self.operands(arguments, Place::Scratch, work);
            }
        }
    }

    fn trace_form(&mut self, term: Term, name: Atom, form: Form, arguments: &[Term], work: &mut Vec<Work>) {
        let Form::Trace { least, most, guards } = form;
        let shown = if name == am::set_seq_token { "set_seq_trace" } else { name.text() };
        if !self.dialect.knows(name) {
            return self.error(format!("Special form '{shown}' used in wrong dialect."));
        }
        if self.in_guard && !guards {
            return self.error(format!("Special form '{shown}' called in guard context."));
        }
        if !(least..=most).contains(&arguments.len()) {
            let what = if most == 0 { "arguments" } else { "wrong number of arguments" };
            return self.error(format!("Special form '{shown}' called with {what} in {}.", text(term)));
        }
        work.push(Work::Actioned(name, arguments.len() as u32));
        self.operands(arguments, Place::Scratch, work);
    }
}
