//! `decode_packet` against OTP: `vectors/packet.etf`, made by `vectors/make_packet.escript`.

use crate::test_support::{call, in_process, text};
use myriad_term::equal::eq_exact;
use myriad_term::etf::{DecodeOptions, decode};
use myriad_term::{Build, Term, am};
use myriad_vm::bif::Escape;

#[test]
fn every_start_of_the_bytes_gives_what_otp_gives() {
    in_process(|ctx| {
        let file = include_bytes!("../../vectors/packet.etf");
        let records = decode(ctx, file, DecodeOptions::default()).expect("external terms").term;
        let (mut seen, mut wrong) = (0, Vec::new());
        for record in records.list_iter() {
            let [kind, data, options, split, results] = record.as_tuple_of::<5>().expect("a record");
            for (len, expected) in results.list_iter().enumerate() {
                let part = match data.as_bits() {
                    Some(bits) if split.is_am(am::true_) => ctx.binary(&bits.to_bytes()[..len]),
                    _ => data,
                };
                let [class, value] = expected.as_tuple_of::<2>().expect("a result");
                let result = call(ctx, "erlang", "decode_packet", &[kind, part, options]);
                seen += 1;
                let same = match &result {
                    Ok(term) => class.is_am(am::ok) && eq_exact(*term, value),
                    Err(Escape::Error(reason)) => class.is_am(am::error) && eq_exact(*reason, value),
                    Err(_) => false,
                };
                if !same {
                    wrong.push(format!("{kind} {part} {options}: {} and not {value}", text(result)));
                }
            }
        }
        assert!(seen > 10_000, "{seen} calls");
        assert!(
            wrong.is_empty(),
            "{} of {seen} wrong:\n{}",
            wrong.len(),
            wrong.iter().step_by(wrong.len() / 40 + 1).cloned().collect::<Vec<_>>().join("\n")
        );
    });
}

#[test]
fn an_unknown_type_has_its_cause() {
    in_process(|ctx| {
        let nothing = ctx.binary(&[]);
        assert_eq!(text(call(ctx, "erlang", "decode_packet", &[am::true_.term(), nothing, Term::NIL])), "error:badarg");
        assert!(ctx.state.error_cause.is_am(am::badopt));
    });
}

#[test]
fn bytes_may_lie_between_borders() {
    in_process(|ctx| {
        // Three bits, then "\x02ab" and the rest.
        let bits: Vec<u8> = vec![0b101_00000, 0b010_01100, 0b001_01100, 0b010_01100, 0b011_00000];
        let whole = ctx.bitstring(&bits, 3 + 4 * 8);
        let data = crate::guards::sub_binary(ctx, whole, 3, 4 * 8);
        assert_eq!(
            text(call(ctx, "erlang", "decode_packet", &[Term::small(1), data, Term::NIL])),
            "{ok,<<\"ab\">>,<<\"c\">>}"
        );
    });
}
