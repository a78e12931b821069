//! What the module `parallel` asks of the VM (docs/parallel.md).

use myriad_term::{Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::parallel::Handed;

myriad_vm::bifs! { pub PARALLEL = "parallel_parts" {
    "enter" / 4 Plain => |ctx, a| {
        ctx.enter_loop(a[1], a[2], a[3]);
        Ok(Term::OK)
    };
    // Where parts are made when they are asked for, no loop is cut when it begins.
    "cut" / 5 Plain => |_, _| badarg();
    "leave" / 0 Plain => |_, _| Ok(Term::OK);
    "make" / 4 Plain => |ctx, a| {
        let (f, rest, n, of) = (a[0], a[1], a[2].as_small().unwrap_or(0), a[3]);
        let name = ctx.make_part(&Handed { f, rest, n, of }, None);
        Ok(name.map_or(am::none.term(), |name| Term::small(name as i64)))
    };
    "await" / 1 Plain => |ctx, a| ctx.await_part(a[0]);
    "abort" / 1 Plain => |ctx, a| {
        ctx.abort_parts(a[0]);
        Ok(Term::OK)
    };
    "stopped_by" / 2 Plain => |ctx, a| Ok(ctx.stopped_by(a[0], a[1]));
    "report" / 1 Plain => |ctx, a| {
        ctx.report_part(a[0]);
        Ok(Term::OK)
    };
}}
