//! Calls of the interface, with what they have been given.

use super::registry;
use super::report::misuse;
use myriad_term::Term;
use std::borrow::Cow;
use std::cell::RefCell;

thread_local! {
    /// The calls of the interface that are under way on this thread, the innermost last.
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
}

/// A call of a function of the interface.
pub(crate) struct Call {
    function: &'static str,
    /// The environments that it has been given, the first one being that of its terms.
    envs: Vec<usize>,
    /// That of a message.
    pub(crate) message: Option<usize>,
    /// That of its terms, if none has been given.
    of_terms: Option<usize>,
}

impl Call {
    pub(crate) fn new(function: &'static str) -> Call {
        Call { function, envs: Vec::new(), message: None, of_terms: None }
    }

    fn wrong(&self, argument: &str, what: &str) -> ! {
        misuse(self.function, argument, what)
    }

    pub(crate) fn wrong_if(&self, argument: &str, what: Option<Cow<'_, str>>) {
        if let Some(what) = what {
            self.wrong(argument, &what);
        }
    }

    pub(crate) fn expect(&self, argument: &str, is_right: bool, else_it_is: &str) {
        if !is_right {
            self.wrong(argument, else_it_is);
        }
    }

    /// An environment among its arguments.
    pub(crate) fn env(&mut self, env: usize, argument: &str, may_be_none: bool) {
        if env == 0 {
            return self.expect(argument, may_be_none, "no environment");
        }
        self.wrong_if(argument, registry::wrong_env(env, false));
        self.envs.push(env);
    }

    /// One that is to be the library's own, if there is one; it is cleared or freed, if that is said.
    pub(crate) fn own_env(&mut self, env: usize, argument: &str, to_end: bool) {
        if env == 0 {
            return;
        }
        self.wrong_if(argument, registry::wrong_env(env, to_end));
        let is_own = registry::kind(env) == Some(registry::Kind::Own);
        self.expect(argument, is_own, "an environment that is not the library's own");
        self.envs.push(env);
    }

    /// A term among its arguments, of its environment.
    pub(crate) fn term(&mut self, word: u64, argument: &str) {
        let Some(env) = self.any_term(word, argument) else { return };
        self.expect(argument, self.envs.first().is_none_or(|own| *own == env), "a term of another environment");
    }

    /// A term among its arguments, of any environment; that is given.
    pub(crate) fn any_term(&mut self, word: u64, argument: &str) -> Option<usize> {
        match registry::env_of(word) {
            Ok(env) => {
                self.of_terms = self.of_terms.or(env);
                env
            }
            Err(what) => self.wrong(argument, &what),
        }
    }

    /// It begins, with arguments that are as they should be.
    pub(crate) fn begin(self) {
        self.envs.iter().for_each(|env| registry::use_env(*env, true));
        CALLS.with_borrow_mut(|calls| calls.push(self));
    }

    /// It is over.
    pub(crate) fn end() -> Call {
        let call = CALLS.with_borrow_mut(Vec::pop).unwrap_or_else(|| Call::new(""));
        call.envs.iter().for_each(|env| registry::use_env(*env, false));
        call
    }

    /// The environment of the terms that it gives.
    pub(crate) fn own(&self) -> Option<usize> {
        self.envs.first().copied().or(self.of_terms)
    }

    /// As the library gets a term, which it has by its handle already, or which is one.
    pub(crate) fn give(&self, word: u64, term: impl FnOnce() -> Term) -> u64 {
        match self.own() {
            Some(env) if !registry::is_handle(word) && word != Term::NONE.raw() => registry::give(env, term()),
            _ => word,
        }
    }

    /// Handles of terms in a row.
    fn give_row(&self, terms: &[Term]) -> *const u64 {
        self.own().map_or(std::ptr::null(), |env| registry::give_row(env, terms))
    }
}

/// As the elements of a row of terms that the VM has: a row of words for the library.
#[cold]
pub(crate) fn row(terms: &[Term]) -> *const u64 {
    CALLS.with_borrow(|calls| calls.last().map_or(std::ptr::null(), |call| call.give_row(terms)))
}

/// Looks at each word of a row that the library has handed over.
#[cold]
pub(crate) fn each(words: impl Iterator<Item = u64>) {
    let Some(mut call) = CALLS.with_borrow_mut(Vec::pop) else { return };
    words.for_each(|word| call.term(word, "a term of the row"));
    CALLS.with_borrow_mut(|calls| calls.push(call));
}

/// What is wrong with an argument of the function that is called.
#[cold]
pub(crate) fn wrong(argument: &str, what: &str) -> ! {
    let function = CALLS.try_with(|calls| Some(calls.try_borrow().ok()?.last()?.function)).ok().flatten();
    misuse(function.unwrap_or("the interface"), argument, what)
}
