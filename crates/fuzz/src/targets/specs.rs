//! Any term given as a match specification compiles or is refused; what compiles runs on any term.
//!
//! The input is the external form of `{Specification, Subject}`.

use super::process::{built_in, call, in_process};
use myriad_ets::spec::machine::Machine;
use myriad_ets::spec::{Dialect, Spec};
use myriad_term::etf::{DecodeOptions, decode};
use myriad_term::{Build, Term, am};

/// See the file's head.
pub fn match_spec(bytes: &[u8]) {
    in_process(|ctx| {
        let Ok(decoded) = decode(ctx, bytes, DecodeOptions::default()) else { return };
        let Some([spec, subject]) = decoded.term.as_tuple_of::<2>() else { return };
        for dialect in [Dialect::Table, Dialect::Trace] {
            if let Ok(spec) = Spec::compile(spec, dialect) {
                let mut machine = Machine::new(&spec, ctx.pid().term(), ctx.vm.node_name());
                let first = machine.run(&spec, subject.into(), ctx);
                let second = machine.run(&spec, subject.into(), ctx);
                assert_eq!(first.is_some(), second.is_some());
            }
        }
        // As Erlang code gets at it: the texts of errors, too.
        let name = myriad_term::Atom::new("match_spec_test").expect("room for atoms");
        let Some(def) = built_in(ctx, am::erlang, name, 3) else { return };
        for dialect in [am::table, am::trace] {
            drop(call(ctx, def, &[subject, spec, dialect.term()]));
            let list = ctx.list(&[subject, Term::NIL]);
            drop(call(ctx, def, &[list, spec, dialect.term()]));
        }
    });
}
