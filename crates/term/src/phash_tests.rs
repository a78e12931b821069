//! Tests of [`super`]: recorded values of OTP 25.

use super::*;
use crate::alloc::Build;
use crate::arena::Arena;
use crate::test_terms::recorded;
use crate::word::Term;
use crate::{Atom, Export, Mfa};

#[test]
fn values_are_those_of_otp() {
    recorded(include_str!("../testdata/hash_portable.txt"), |values, term| {
        assert_eq!(phash2_range(term, 1 << 32).to_string(), values[0]);
        assert_eq!(phash(term, 1 << 32).to_string(), values[1]);
    });
}

#[test]
fn ranges_and_identities() {
    let h = &mut &Arena::new();
    assert_eq!(phash2(Term::NIL), 113_427_502);
    assert_eq!(phash2_range(Term::NIL, 1000), 702);
    assert_eq!(phash(Term::NIL, 1000), 2);
    assert_eq!(phash2(crate::Pid::new(1, 0).term()), 51_930_921);
    // Pids <a@b.5.0> and <a@b.5.3>, ports, references of another node.
    assert_eq!(phash2_full(crate::Pid::new(5, 3).term()), 1_742_111_205);
    assert_eq!(phash_full(crate::Pid::new(5, 0).term()), 3_820_617_877);
    let port = |n| crate::Port::from_number(n).term();
    assert_eq!((phash2_full(port(7)), phash_full(port(7))), (3_725_428_046, 134_293_115));
    let far = port(4_294_967_303);
    assert_eq!((phash2_full(far), phash_full(far)), (3_671_940_937, 3_726_041_066));
    let reference = h.reference(crate::RefNumbers([3, 2, 1]));
    assert_eq!((phash2_full(reference), phash_full(reference)), (3_833_100_999, 3_125_387_975));
    let atom = |s| Atom::new(s).unwrap();
    let abs = Export::intern(Mfa { module: atom("erlang"), function: atom("abs"), arity: 1 });
    // SAFETY: an aligned address has the tag of a small integer.
    let word = unsafe { Term::from_raw(std::ptr::from_ref(abs) as u64) };
    let abs = h.boxed(crate::boxed::Header::new(Kind::ExportFun, 1), &[word]);
    assert_eq!((phash2(abs), phash(abs, 1000)), (27_471_588, 794));
}

#[test]
fn depth_does_not_matter() {
    let h = &mut &Arena::new();
    let n = crate::test_terms::many(1_000_000);
    let chain = (0..n).fold(Term::NIL, |t, i| if i % 2 == 0 { h.tuple(&[t]) } else { h.cons(t, Term::NIL) });
    assert_ne!(phash2_full(chain), phash_full(chain));
    assert_ne!(crate::hash::internal_hash(chain, 0), 0);
}
