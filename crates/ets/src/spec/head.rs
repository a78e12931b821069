//! Heads: a pattern as a list of tests, in the order in which the term's parts are met.
//!
//! The tests walk frames: the elements of a tuple, head and tail of a list cell, the values of a map's keys. Each test takes
//! the next element of the current frame; a compound one opens a frame, and a frame that is used up is left.

use myriad_term::map::View;
use myriad_term::{Term, TermRef, am};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// One test.
#[derive(Debug)]
pub enum Test {
    /// These many elements match whatever they are.
    Skip(u32),
    /// The element becomes the variable's value.
    Bind(u32),
    /// The element equals the variable's value.
    Same(u32),
    /// The element is this immediate term.
    Immediate(Term),
    /// The element equals this term.
    Constant(Term),
    /// The element is a tuple of this size; its elements come next.
    Tuple(u32),
    /// The element is a list cell; head and tail come next.
    Cons,
    /// The element is a map with these keys; their values come next.
    Map(Box<[Term]>),
}

/// What is wrong with a head.
pub enum HeadError {
    /// A key of a map pattern is a variable.
    VariableInKey,
    /// A key of a map pattern is `'_'`.
    UnderscoreInKey,
}

/// A compiled head.
#[derive(Default)]
pub struct Head {
    /// The tests, in the order in which the parts of a term are met.
    pub tests: Vec<Test>,
    /// The variables' numbers, by slot.
    pub variables: Vec<u64>,
}

/// The number of a match variable (`'$1'`).
#[inline]
pub fn variable(term: TermRef<'_>) -> Option<u64> {
    let atom = term.as_atom()?;
    if atom == am::underscore {
        return None;
    }
    let digits = atom.text().strip_prefix('$')?;
    let leading_zero = digits.len() > 1 && digits.starts_with('0');
    if digits.is_empty() || leading_zero || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // OTP computes it in 32 bits with a sign, and takes what becomes negative for no variable.
    let number = digits.bytes().fold(0i32, |n, b| n.wrapping_mul(10).wrapping_add(i32::from(b - b'0')));
    u64::try_from(number).ok()
}

/// `'_'` or a match variable?
#[inline]
pub fn is_open(term: TermRef<'_>) -> bool {
    term.is_am(am::underscore) || variable(term).is_some()
}

/// A set of addresses: the first in place, as most have no other.
#[derive(Default)]
pub struct Addresses {
    first: Option<usize>,
    others: HashSet<usize, BuildHasherDefault<AddressHasher>>,
}

impl Addresses {
    /// Is it one of them?
    #[inline]
    pub fn contains(&self, address: &usize) -> bool {
        self.first == Some(*address) || !self.others.is_empty() && self.others.contains(address)
    }

    /// Adds one; `false` if it was there.
    fn insert(&mut self, address: usize) -> bool {
        if self.contains(&address) {
            return false;
        }
        if self.first.is_none() {
            self.first = Some(address);
            return true;
        }
        self.others.insert(address)
    }
}

/// Spreads the bits of an address (Fibonacci hashing).
#[derive(Default)]
pub struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_usize(usize::from(*b)));
    }

    fn write_usize(&mut self, value: usize) {
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

/// The addresses of the compound parts of a pattern that can match more than one term: those with variables or maps inside.
pub fn open_parts(pattern: Term) -> Addresses {
    enum Work {
        Visit(Term),
        Leave,
    }
    let mut open = Addresses::default();
    if let Some(tuple) = pattern.as_tuple()
        && tuple.elements().iter().all(|t| t.is_immediate())
    {
        // The common case.
        if tuple.elements().iter().any(|t| is_open(*t)) {
            open.insert(pattern.object_ptr() as usize);
        }
        return open;
    }
    let mut path: Vec<usize> = Vec::new();
    let mut work = vec![Work::Visit(pattern)];
    while let Some(next) = work.pop() {
        let Work::Visit(term) = next else {
            path.pop();
            continue;
        };
        if term.is_atom() && is_open(term) || term.is_map() {
            if term.is_map() {
                open.insert(term.object_ptr() as usize);
            }
            // Those above an open one are open already.
            for at in path.iter().rev() {
                if !open.insert(*at) {
                    break;
                }
            }
        }
        let children: &[Term] = children(&term);
        if let Some(map) = term.as_map() {
            path.push(term.object_ptr() as usize);
            work.push(Work::Leave);
            work.extend(map.iter().map(|(_, value)| Work::Visit(value)));
        } else if !children.is_empty() {
            path.push(term.object_ptr() as usize);
            work.push(Work::Leave);
            work.extend(children.iter().map(|t| Work::Visit(*t)));
        }
    }
    open
}

/// Elements of a tuple, head and tail of a cell.
fn children<'a, 'h>(term: &'a TermRef<'h>) -> &'a [TermRef<'h>] {
    if let Some(tuple) = term.as_tuple() {
        return tuple.elements();
    }
    cell(term).map_or(&[], |cell| cell)
}

/// Head and tail of a list cell, where they stand.
#[inline]
pub fn cell<'a, 'h>(term: &'a TermRef<'h>) -> Option<&'a [TermRef<'h>; 2]> {
    // SAFETY: term/T1, term/T2: a list word points at two terms, which stay.
    term.is_cons().then(|| unsafe { &*term.cell().cast::<[TermRef<'h>; 2]>() })
}

enum Work {
    Visit(Term),
    FrameEnd,
}

impl Head {
    /// Compiles a pattern.
    pub fn compile(pattern: Term) -> Result<Head, HeadError> {
        let open = open_parts(pattern);
        let width = pattern.as_tuple().map_or(1, |t| t.len()).min(16) + 2;
        let mut head = Head { tests: Vec::with_capacity(width), variables: Vec::new() };
        let mut work = Vec::with_capacity(width);
        work.push(Work::Visit(pattern));
        let mut same_frame = false;
        while let Some(next) = work.pop() {
            let Work::Visit(term) = next else {
                same_frame = false;
                continue;
            };
            if term.is_am(am::underscore) {
                match head.tests.last_mut() {
                    Some(Test::Skip(n)) if same_frame => *n += 1,
                    _ => head.tests.push(Test::Skip(1)),
                }
                same_frame = true;
                continue;
            }
            same_frame = false;
            if let Some(number) = variable(term) {
                let slot = head.variables.iter().position(|n| *n == number);
                head.tests.push(match slot {
                    Some(slot) => Test::Same(slot as u32),
                    None => {
                        head.variables.push(number);
                        Test::Bind(head.variables.len() as u32 - 1)
                    }
                });
                continue;
            }
            if term.is_immediate() {
                head.tests.push(Test::Immediate(term));
                continue;
            }
            if !open.contains(&(term.object_ptr() as usize)) {
                head.tests.push(Test::Constant(term));
                continue;
            }
            work.push(Work::FrameEnd);
            if let Some(tuple) = term.as_tuple() {
                head.tests.push(Test::Tuple(tuple.len() as u32));
                work.extend(tuple.elements().iter().rev().copied().map(Work::Visit));
            } else if let Some(cell) = cell(&term) {
                head.tests.push(Test::Cons);
                work.extend(cell.iter().rev().copied().map(Work::Visit));
            } else {
                let (keys, values) = map_pattern(term)?;
                head.tests.push(Test::Map(keys));
                work.extend(values.into_iter().rev().map(Work::Visit));
            }
        }
        while let Some(Test::Skip(_)) = head.tests.last() {
            head.tests.pop();
        }
        debug_assert!(head.tests.len() >= head.variables.len(), "each variable is bound by a test");
        Ok(head)
    }
}

fn map_pattern(term: Term) -> Result<(Box<[Term]>, Vec<Term>), HeadError> {
    let Some(map) = term.as_map() else { return Ok((Box::default(), Vec::new())) };
    let pairs: Vec<(Term, Term)> = match map.view() {
        View::Flat { keys, values } => keys.iter().copied().zip(values.iter().copied()).collect(),
        View::Hash { .. } => map.iter().collect(),
    };
    // Only a key that is a variable itself is refused; one inside a key stands for itself.
    for (key, _) in &pairs {
        if key.is_am(am::underscore) {
            return Err(HeadError::UnderscoreInKey);
        }
        if variable(*key).is_some() {
            return Err(HeadError::VariableInKey);
        }
    }
    Ok(pairs.into_iter().unzip::<_, _, Vec<_>, Vec<_>>()).map(|(k, v)| (k.into_boxed_slice(), v))
}
