//! Tags for dynamic tracing, as on an OTP built without it: tags are not kept.

use myriad_term::Term;
use myriad_vm::bif::badarg;

myriad_vm::bifs! { pub DYNTRACE = "erlang" {
    "dt_put_tag" / 1 Plain => |_, _| Ok(Term::UNDEFINED);
    "dt_get_tag" / 0 Plain => |_, _| Ok(Term::UNDEFINED);
    "dt_get_tag_data" / 0 Plain => |_, _| Ok(Term::UNDEFINED);
    "dt_append_vm_tag_data" / 1 Plain => |_, a| Ok(a[0]);
    "dt_prepend_vm_tag_data" / 1 Plain => |_, a| Ok(a[0]);
    "dt_spread_tag" / 1 Plain => |_, a| if a[0].as_bool().is_some() { Ok(Term::TRUE) } else { badarg() };
    // What `dt_spread_tag/1` gave.
    "dt_restore_tag" / 1 Plain => |_, a| if a[0].as_bool() == Some(true) { Ok(Term::TRUE) } else { badarg() };
}}
