//! Printing straight to the standard files, for debugging and early boot.

use myriad_term::Term;
use myriad_term::print::display;
use myriad_vm::BifResult;
use myriad_vm::bif::badarg;
use std::io::Write;

myriad_vm::bifs! { pub DISPLAY = "erlang" {
    "display" / 1 Plain => |_, a| Ok(display_1(a[0]));
    "display_string" / 1 Plain => |_, a| display_string(a[0]);
    "display_nl" / 0 Plain until 25 => |_, _| { to_stderr(b"\r\n"); Ok(Term::TRUE) };
}}

// A closed file is no error of the program that prints for debugging.

fn display_1(term: Term) -> Term {
    let mut text = display(term);
    text.extend(b"\r\n");
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(&text).and_then(|()| stdout.flush());
    Term::TRUE
}

fn to_stderr(bytes: &[u8]) {
    let _ = std::io::stderr().write_all(bytes);
}

fn display_string(list: Term) -> BifResult {
    let mut text = String::new();
    let mut items = list.list_iter();
    for item in items.by_ref() {
        match item.as_small().and_then(|c| u32::try_from(c).ok()).and_then(char::from_u32) {
            Some(c) => text.push(c),
            None => return badarg(),
        }
    }
    if !items.tail().is_nil() {
        return badarg();
    }
    to_stderr(text.as_bytes());
    Ok(Term::TRUE)
}
