//! Any bytes given as an external term decode or are refused; what decodes is a term like any other: it prints, hashes,
//! copies, compares, and goes through the external format again unchanged.

use myriad_term::compare::{compare, compare_exact};
use myriad_term::equal::eq_exact;
use myriad_term::etf::{DecodeOptions, EncodeOptions, decode, encode, external_size};
use myriad_term::hash::{map_hash, table_hash};
use myriad_term::phash::{phash, phash2};
use myriad_term::{Arena, TermRef};
use std::cmp::Ordering;

/// See the file's head.
pub fn term_decode(bytes: &[u8]) {
    let heap = &mut &Arena::new();
    let unsafely = decode(heap, bytes, DecodeOptions::default());
    // Its atoms exist now, so the careful way must agree, unless a function is unknown.
    let safely = decode(heap, bytes, DecodeOptions { safe: true, ..DecodeOptions::default() });
    let Ok(decoded) = unsafely else { return assert!(safely.is_err()) };
    assert!(decoded.used <= bytes.len());
    if let Ok(other) = safely {
        assert_eq!(other.used, decoded.used);
        same(decoded.term, other.term);
    }
    assert!(!myriad_term::print::display(decoded.term).is_empty());
    let options = EncodeOptions { minor_version: 2, ..EncodeOptions::default() };
    // OTP counts atoms as longer than they are written, and so does this.
    let written = encode(decoded.term, options);
    let size = external_size(decoded.term, options);
    // The numbers of a fun count as five bytes each, as in OTP, whatever they are.
    let may_have_funs = written.contains(&myriad_term::etf::tag::NEW_FUN);
    assert!(size >= written.len() || may_have_funs, "{size} counted for {written:?}");
    let again = decode(heap, &written, DecodeOptions::default()).expect("what was written is read");
    assert_eq!(again.used, written.len());
    same(decoded.term, again.term);
    let packed = encode(decoded.term, EncodeOptions { compressed: 1, ..options });
    let again = decode(heap, &packed, DecodeOptions::default()).expect("what was packed is read");
    same(decoded.term, again.term);
}

fn same(a: TermRef<'_>, b: TermRef<'_>) {
    assert!(eq_exact(a, b) && compare(a, b) == Ordering::Equal && compare_exact(a, b) == Ordering::Equal);
    assert_eq!(phash2(a), phash2(b));
    assert_eq!(phash(a, 1 << 32), phash(b, 1 << 32));
    assert_eq!((map_hash(a), table_hash(a)), (map_hash(b), table_hash(b)));
    assert_eq!(myriad_term::size::flat_size(a), myriad_term::size::flat_size(b));
}
