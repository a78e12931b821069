//! What a specification says about keys: which it can match, where among ordered keys, and whether it keeps them.

use super::Spec;
use super::head::{is_open, open_parts};
use crate::table::{Kind, Options};
use myriad_term::compare::compare;
use myriad_term::equal::{eq, eq_exact};
use myriad_term::{Term, TermRef, am};
use std::cmp::Ordering;

/// Where to look for what a specification matches.
pub enum Reach {
    /// Everywhere.
    All,
    /// At these keys only, each once, in the order in which they are to be visited.
    Keys(Vec<Term>),
    /// Among the ordered keys that this pattern can match as far as its leading parts tell.
    Range(Term),
}

impl Reach {
    /// The pattern of the keys, if it is a range.
    pub fn range(&self) -> Option<Term> {
        if let Reach::Range(pattern) = self { Some(*pattern) } else { None }
    }
}

/// What a head says about the key.
enum Bound {
    /// It matches no row.
    Never,
    /// Nothing.
    Open,
    /// It is this.
    Key(Term),
    /// It looks like this.
    Pattern(Term),
}

fn bound(head: Term, keypos: usize) -> Bound {
    let Some(tuple) = head.as_tuple() else {
        return if head.is_atom() && is_open(head) { Bound::Open } else { Bound::Never };
    };
    let Some(key) = tuple.elements().get(keypos).copied() else { return Bound::Never };
    if key.is_immediate() {
        return if is_open(key) { Bound::Open } else { Bound::Key(key) };
    }
    if open_parts(key).contains(&(key.object_ptr() as usize)) { Bound::Pattern(key) } else { Bound::Key(key) }
}

/// Where a specification has to look in a table.
pub fn reach(spec: &Spec, options: &Options) -> Reach {
    let mut keys: Vec<Term> = Vec::new();
    let mut pattern = None;
    let mut possible = 0;
    for clause in &spec.clauses {
        match bound(clause.head, options.keypos) {
            Bound::Never => continue,
            Bound::Open => return Reach::All,
            Bound::Key(key) => keys.push(key),
            Bound::Pattern(key) => pattern = Some(key),
        }
        possible += 1;
    }
    let ordered = options.kind == Kind::OrderedSet;
    if pattern.is_none() && keys.len() <= 1 {
        return Reach::Keys(keys);
    }
    match pattern {
        Some(key) if ordered && possible == 1 => return Reach::Range(key),
        Some(_) => return Reach::All,
        None => {}
    }
    if ordered {
        keys.sort_by(|a, b| compare(*a, *b));
        keys.dedup_by(|a, b| eq(*a, *b));
        debug_assert!(keys.is_sorted_by(|a, b| compare(*a, *b).is_lt()), "each key once, in order");
    } else {
        let mut unique: Vec<Term> = Vec::new();
        for key in keys {
            if !unique.iter().any(|k| eq_exact(*k, key)) {
                unique.push(key);
            }
        }
        keys = unique;
    }
    Reach::Keys(keys)
}

/// The order of a key to a pattern, up to the pattern's first open part.
pub fn compare_with_pattern(key: TermRef<'_>, pattern: TermRef<'_>) -> Ordering {
    // Most keys are a tuple of plain things.
    if let (Some(a), Some(b)) = (key.as_tuple(), pattern.as_tuple()) {
        if a.len() != b.len() {
            return a.len().cmp(&b.len());
        }
        for (a, b) in a.elements().iter().zip(b.elements()) {
            if b.is_atom() && is_open(*b) {
                return Ordering::Equal;
            }
            if !a.is_immediate() || !b.is_immediate() {
                return compare_parts(key, pattern);
            }
            let order = compare(*a, *b);
            if order.is_ne() {
                return order;
            }
        }
        return Ordering::Equal;
    }
    compare_parts(key, pattern)
}

fn compare_parts(key: TermRef<'_>, pattern: TermRef<'_>) -> Ordering {
    let mut work = vec![(key, pattern)];
    while let Some((key, pattern)) = work.pop() {
        if pattern.is_map() && key.is_map() || pattern.is_atom() && is_open(pattern) {
            return Ordering::Equal;
        }
        if let (Some(a), Some(b)) = (key.as_tuple(), pattern.as_tuple()) {
            if a.len() != b.len() {
                return a.len().cmp(&b.len());
            }
            work.extend(a.elements().iter().copied().zip(b.elements().iter().copied()).rev());
        } else if let (Some((head_a, tail_a)), Some((head_b, tail_b))) = (key.as_cons(), pattern.as_cons()) {
            work.push((tail_a, tail_b));
            work.push((head_a, head_b));
        } else {
            // One of them is no compound, so types or values decide.
            let order = compare(key, pattern);
            if order.is_ne() {
                return order;
            }
        }
    }
    Ordering::Equal
}

/// Do all results have the key of the row that they come from? (As far as can be seen; for `ets:select_replace/2`.)
pub fn keeps_key(clauses: Term, keypos: usize) -> bool {
    clauses.list_iter().all(|clause| match clause.as_tuple_of::<3>() {
        Some([head, _, body]) => clause_keeps_key(head, body, keypos),
        None => false,
    })
}

fn clause_keeps_key(head: Term, body: Term, keypos: usize) -> bool {
    let Some((result, rest)) = body.as_cons() else { return false };
    if !rest.is_nil() {
        return false;
    }
    if result.is_am(am::dollar_underscore) {
        return true;
    }
    let at = |term: Term| term.as_tuple().and_then(|t| t.elements().get(keypos).copied());
    // A whole object as a constant: the key as it is written, if it can match nothing else.
    if let (Some(key), Some([name, value])) = (at(head), result.as_tuple_of::<2>())
        && name.is_am(am::const_)
    {
        return at(value).is_some_and(|made| same_as_matched_as_constant(key, made));
    }
    let (Some(key), Some([tuple])) = (at(head), result.as_tuple_of::<1>()) else { return false };
    let Some(made) = at(tuple) else { return false };
    if same_as_matched(key, made) {
        return true;
    }
    matches!(made.as_tuple_of::<3>(), Some([element, position, whole])
        if element.is_am(am::element) && whole.is_am(am::dollar_underscore) && position.as_usize() == Some(keypos + 1))
}

/// Does the expression give just what the pattern has matched?
fn same_as_matched(pattern: Term, made: Term) -> bool {
    same_parts(vec![(pattern, made, false)])
}

/// The same for a constant.
fn same_as_matched_as_constant(pattern: Term, made: Term) -> bool {
    same_parts(vec![(pattern, made, true)])
}

/// Pattern, expression, and whether the expression is inside `{const, X}`.
fn same_parts(mut work: Vec<(Term, Term, bool)>) -> bool {
    while let Some((pattern, made, constant)) = work.pop() {
        if pattern.is_am(am::underscore) {
            return false;
        }
        if !constant && (made.is_am(am::dollar_underscore) || made.is_am(am::dollar_dollar)) {
            return false;
        }
        if let (Some([name, value]), false) = (made.as_tuple_of::<2>(), constant)
            && name.is_am(am::const_)
        {
            work.push((pattern, value, true));
            continue;
        }
        if let Some(matched) = pattern.as_tuple() {
            let made = if constant { made } else { made.as_tuple_of::<1>().map_or(Term::NIL, |[inner]| inner) };
            match made.as_tuple() {
                Some(tuple) if tuple.len() == matched.len() => {
                    let pairs = matched.elements().iter().zip(tuple.elements());
                    work.extend(pairs.map(|(p, m)| (*p, *m, constant)));
                }
                _ => return false,
            }
        } else if let (Some((head_a, tail_a)), Some((head_b, tail_b))) = (pattern.as_cons(), made.as_cons()) {
            work.push((tail_a, tail_b, constant));
            work.push((head_a, head_b, constant));
        } else if pattern.is_map() {
            // A map pattern matches larger maps, too.
            return false;
        } else if made.as_tuple().is_some()
            || !eq_exact(pattern, made)
            || constant && pattern.is_atom() && is_open(pattern)
        {
            return false;
        }
    }
    true
}
