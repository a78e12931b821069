//! Running a specification on a term.
//!
//! SM1. Registers are bare words: terms of the subject, of the specification, of the run's own memory and of the heap of the
//!      result, all of which are held for one run. [`Machine::reset`] forgets them, and no register is looked at after its run.

use super::functions::Env;
use super::head::{Test, cell};
use super::{Body, Clause, Op, Place, Spec};
use crate::row::{Row, copy_out};
use myriad_term::equal::eq_exact;
use myriad_term::map::from_pairs;
use myriad_term::{Arena, Atom, Build, Term, TermRef, am};
use myriad_trace::spec::Host;

/// What a specification is run on.
#[derive(Clone, Copy)]
pub struct Subject<'s> {
    /// The term.
    pub term: TermRef<'s>,
    /// The row that it is, if it is one.
    pub row: Option<Row<'s>>,
}

impl<'s> Subject<'s> {
    /// A row. If it is packed, its tuple is made in `memory`.
    #[inline]
    pub fn row(row: Row<'s>, memory: &'s Arena) -> Subject<'s> {
        Subject { term: row.term(memory), row: Some(row) }
    }
}

impl<'s> From<TermRef<'s>> for Subject<'s> {
    fn from(term: TermRef<'s>) -> Subject<'s> {
        Subject { term, row: None }
    }
}

impl Subject<'_> {
    fn copy_to<'h, A: Build<'h> + ?Sized>(self, heap: &mut A) -> TermRef<'h> {
        match self.row {
            Some(row) => row.copy_to(heap),
            None => copy_out(self.term, heap),
        }
    }
}

/// The registers of one run, to be used for many (SM1).
pub struct Machine {
    variables: Vec<Term>,
    frames: Vec<(*const Term, usize)>,
    stack: Vec<Term>,
    /// Values of map keys that the head looks into.
    values: Vec<Box<[Term]>>,
    /// Memory for what a run makes beside its result.
    scratch: Arena,
    pid: Term,
    node: Atom,
    /// Actions that a trace body has asked for.
    pub actions: Vec<Atom>,
    message: Option<Term>,
}

/// A term as a register holds it.
#[inline(always)]
fn word(term: TermRef<'_>) -> Term {
    // SAFETY: SM1.
    unsafe { term.assume_held() }
}

/// The host of a specification that is not run for tracing.
pub struct NoHost;

/// A program has failed.
struct Failed;

impl Machine {
    /// Registers for a specification, run by a process of a node.
    pub fn new(spec: &Spec, pid: Term, node: Atom) -> Machine {
        Machine {
            variables: vec![Term::NIL; spec.variables],
            frames: Vec::new(),
            stack: Vec::new(),
            values: Vec::new(),
            scratch: Arena::new(),
            pid,
            node,
            actions: Vec::new(),
            message: None,
        }
    }

    /// The clause that matches.
    #[inline]
    fn clause<'s>(&mut self, spec: &'s Spec, subject: Subject<'_>, host: &mut dyn Host) -> Option<&'s Clause> {
        spec.clauses.iter().find(|c| self.head(&c.tests, subject.term) && self.guards(c, subject, host))
    }

    /// The result for a term, on `heap`; nothing if no clause matches.
    #[inline]
    pub fn run<'h, A: Build<'h> + ?Sized>(
        &mut self,
        spec: &Spec,
        subject: Subject<'_>,
        heap: &mut A,
    ) -> Option<TermRef<'h>> {
        self.run_for(spec, subject, heap, &mut NoHost)
    }

    /// The same, with actions carried out by a host.
    #[inline]
    pub fn run_for<'h, A: Build<'h> + ?Sized>(
        &mut self,
        spec: &Spec,
        subject: Subject<'_>,
        heap: &mut A,
        host: &mut dyn Host,
    ) -> Option<TermRef<'h>> {
        self.reset();
        let clause = self.clause(spec, subject, host)?;
        Some(match &clause.body {
            Body::Whole => subject.copy_to(heap),
            Body::Immediate(term) => *term,
            Body::Program(ops) => match self.program(ops, clause, subject, heap, (host, true)) {
                Ok(()) => self.pop(),
                // Bodies do not fail.
                Err(Failed) => am::EXIT.term(),
            },
        })
    }

    /// Is the result for a term `true`?
    #[inline]
    pub fn is_true(&mut self, spec: &Spec, subject: Subject<'_>) -> bool {
        self.reset();
        let Some(clause) = self.clause(spec, subject, &mut NoHost) else { return false };
        match &clause.body {
            Body::Whole => false,
            Body::Immediate(term) => term.is(Term::TRUE),
            Body::Program(ops) => {
                self.program(ops, clause, subject, &mut &Arena::new(), (&mut NoHost, true)).is_ok()
                    && self.stack.pop().is_some_and(|t| t.is(Term::TRUE))
            }
        }
    }

    /// What `{message, X}` has said in the last run, which was on this subject.
    pub fn message<'s>(&'s self, _: Subject<'s>) -> Option<TermRef<'s>> {
        self.message
    }

    #[inline]
    fn reset(&mut self) {
        if self.scratch.used_words() > 0 {
            self.scratch = Arena::new();
        }
        self.stack.clear();
        self.actions.clear();
        self.message = None;
    }

    /// Does the term pass the tests? Binds the variables.
    fn head(&mut self, tests: &[Test], term: TermRef<'_>) -> bool {
        self.frames.clear();
        self.values.clear();
        let root = [word(term)];
        let mut frame: &[Term] = &root;
        for test in tests {
            while frame.is_empty() {
                let Some((at, len)) = self.frames.pop() else { return true };
                // SAFETY: frames are parts of the term, of `root` or of `values`, all of which stay during the walk.
                frame = unsafe { std::slice::from_raw_parts(at, len) };
            }
            if let Test::Skip(n) = test {
                frame = frame.get(*n as usize..).unwrap_or(&[]);
                continue;
            }
            let element = &frame[0];
            frame = &frame[1..];
            match test {
                Test::Skip(_) => {}
                Test::Bind(slot) => self.variables[*slot as usize] = *element,
                Test::Same(slot) => {
                    if !eq_exact(self.variables[*slot as usize], *element) {
                        return false;
                    }
                }
                Test::Immediate(term) => {
                    if !element.is(*term) {
                        return false;
                    }
                }
                Test::Constant(term) => {
                    if !eq_exact(*term, *element) {
                        return false;
                    }
                }
                Test::Tuple(len) => match element.as_tuple() {
                    Some(tuple) if tuple.len() == *len as usize => frame = self.enter(frame, tuple.elements()),
                    _ => return false,
                },
                Test::Cons => match cell(element) {
                    Some(cell) => frame = self.enter(frame, cell),
                    None => return false,
                },
                Test::Map(keys) => {
                    let Some(map) = element.as_map() else { return false };
                    let Some(values) = keys.iter().map(|k| map.get(*k)).collect::<Option<Box<[Term]>>>() else {
                        return false;
                    };
                    let (at, len) = (values.as_ptr(), values.len());
                    self.values.push(values);
                    // SAFETY: the boxed values stay where they are until the next walk.
                    frame = self.enter(frame, unsafe { std::slice::from_raw_parts(at, len) });
                }
            }
        }
        true
    }

    #[inline]
    fn enter<'f>(&mut self, rest: &'f [Term], inner: &'f [Term]) -> &'f [Term] {
        if !rest.is_empty() {
            self.frames.push((rest.as_ptr(), rest.len()));
        }
        inner
    }

    #[inline]
    fn guards(&mut self, clause: &Clause, subject: Subject<'_>, host: &mut dyn Host) -> bool {
        if clause.guards.is_empty() {
            return true;
        }
        let passed = self.program(&clause.guards, clause, subject, &mut &Arena::new(), (host, false)).is_ok();
        self.stack.clear();
        passed
    }

    /// Runs a program. In a body a call that fails gives `'EXIT'`.
    fn program<'h, A: Build<'h> + ?Sized>(
        &mut self,
        ops: &[Op],
        clause: &Clause,
        subject: Subject<'_>,
        heap: &mut A,
        (host, body): (&mut dyn Host, bool),
    ) -> Result<(), Failed> {
        let exit = am::EXIT.term();
        debug_assert!(self.stack.is_empty(), "SP2: a program begins with nothing");
        let mut at = 0;
        while let Some(op) = ops.get(at) {
            at += 1;
            match *op {
                Op::Constant(term, Place::Scratch) => self.stack.push(term),
                Op::Constant(term, Place::Result) => self.stack.push(word(copy_out(term, heap))),
                Op::Variable(slot, place) => {
                    let value = self.variables[slot as usize];
                    self.stack.push(if place == Place::Result { word(copy_out(value, heap)) } else { value });
                }
                Op::Whole(Place::Scratch) => self.stack.push(word(subject.term)),
                Op::Whole(Place::Result) => self.stack.push(word(subject.copy_to(heap))),
                Op::All(place) => {
                    let mut list = Term::NIL;
                    for slot in clause.all.iter().rev() {
                        let value = self.variables[*slot as usize];
                        list = if place == Place::Result {
                            let value = copy_out(value, heap);
                            word(heap.cons(value, list))
                        } else {
                            word((&mut &self.scratch).cons(value, list))
                        };
                    }
                    self.stack.push(list);
                }
                Op::Tuple(n, place) => {
                    debug_assert!(self.stack.len() >= n as usize, "SP2");
                    let from = self.stack.len().saturating_sub(n as usize);
                    let elements = &self.stack[from..];
                    let tuple = if place == Place::Result {
                        word(heap.tuple(elements))
                    } else {
                        word((&mut &self.scratch).tuple(elements))
                    };
                    self.stack.truncate(from);
                    self.stack.push(tuple);
                }
                Op::Cons(place) => {
                    let tail = self.pop();
                    let head = self.pop();
                    let cell = if place == Place::Result {
                        word(heap.cons(head, tail))
                    } else {
                        word((&mut &self.scratch).cons(head, tail))
                    };
                    self.stack.push(cell);
                }
                Op::Map(n, place) => {
                    debug_assert!(self.stack.len() >= 2 * n as usize, "SP2");
                    let from = self.stack.len().saturating_sub(2 * n as usize);
                    let pairs: Vec<(Term, Term)> = self.stack[from..].chunks_exact(2).map(|p| (p[0], p[1])).collect();
                    let map = if place == Place::Result {
                        word(from_pairs(heap, &pairs))
                    } else {
                        word(from_pairs(&mut &self.scratch, &pairs))
                    };
                    self.stack.truncate(from);
                    self.stack.push(map);
                }
                Op::Call(function) => {
                    debug_assert!(self.stack.len() >= function.arity, "SP2");
                    let from = self.stack.len().saturating_sub(function.arity);
                    let env = Env { scratch: &self.scratch, pid: self.pid, node: self.node };
                    let value = (function.call)(env, &self.stack[from..]).map(word);
                    self.stack.truncate(from);
                    self.stack.push(match value {
                        Some(value) => value,
                        None if body => exit,
                        None => return Err(Failed),
                    });
                }
                Op::Keep => {
                    let value = self.pop();
                    self.stack.push(word(copy_out(value, heap)));
                }
                Op::And(n) | Op::Or(n) => {
                    debug_assert!(self.stack.len() >= n as usize, "SP2");
                    let from = self.stack.len().saturating_sub(n as usize);
                    let and = matches!(op, Op::And(_));
                    let mut values = self.stack[from..].iter().map(|t| t.as_bool());
                    // All operands must be Booleans, even those behind the one that decides.
                    let value = values.try_fold(and, |sum, v| v.map(|v| if and { sum && v } else { sum || v }));
                    self.stack.truncate(from);
                    self.stack.push(match value {
                        Some(value) => Term::bool(value),
                        None if body => exit,
                        None => return Err(Failed),
                    });
                }
                Op::AndAlso(to) | Op::OrElse(to) => {
                    debug_assert!((at..=ops.len()).contains(&(to as usize)), "SP3: a program runs forward only");
                    let goes_on = matches!(op, Op::AndAlso(_));
                    match self.pop().as_bool() {
                        Some(value) if value == goes_on => {}
                        Some(value) => {
                            self.stack.push(Term::bool(value));
                            at = to as usize;
                        }
                        None if body => {
                            self.stack.push(exit);
                            at = to as usize;
                        }
                        None => return Err(Failed),
                    }
                }
                Op::Guard => {
                    if !self.pop().is(Term::TRUE) {
                        return Err(Failed);
                    }
                }
                Op::Drop => {
                    self.pop();
                }
                Op::Action(name, n) => {
                    debug_assert!(self.stack.len() >= n as usize, "SP2");
                    let from = self.stack.len().saturating_sub(n as usize);
                    let arguments: Vec<Term> = self.stack.drain(from..).collect();
                    let value = match name {
                        am::message => {
                            self.message = arguments.first().copied();
                            Some(Term::TRUE)
                        }
                        am::return_trace | am::exception_trace => {
                            self.actions.push(name);
                            Some(Term::TRUE)
                        }
                        _ => host.act(name, &arguments, &self.scratch).map(word),
                    };
                    self.stack.push(match value {
                        Some(value) => value,
                        None if body => exit,
                        None => return Err(Failed),
                    });
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Term {
        debug_assert!(!self.stack.is_empty(), "SP2: an operation finds its operands on the stack");
        self.stack.pop().unwrap_or(Term::NIL)
    }
}
