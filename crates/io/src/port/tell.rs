//! Messages from a port to processes.

use super::{Port, System};
use crate::bytes::Run;
use myriad_heap::Draft;
use myriad_process::{Message, Payload};
use myriad_term::{Atom, BinaryBuffer, Build, Pid, Term, TermRef, am};
use myriad_vm::Signal;
use myriad_vm::tracer::flags;

/// A message from a port, to be built in the message's own memory.
pub(super) enum Tell<'a> {
    /// `{Port, {data, Data}}`
    Data(Run<'a>),
    /// `{Port, {data, {eol, Data}}}`
    Line(BinaryBuffer),
    /// `{Port, {data, {noeol, Data}}}`
    PartOfLine(BinaryBuffer),
    /// `{Port, {exit_status, Status}}`
    ExitStatus(i32),
    /// `{Port, Atom}`
    Atom(Atom),
    /// `{Port, {data, Head ++ Data}}`, where the head is a list of bytes in any case.
    Headed(Vec<u8>, Option<Vec<u8>>),
}

impl Port {
    /// Sends a message (io/PO1: under the lock).
    pub(super) fn tell(&self, system: &System, to: Pid, what: Tell<'_>) {
        // Exact where it matters: a list takes two words for each byte.
        let words = match &what {
            Tell::Data(bytes) if !self.binary => 2 * bytes.len(),
            Tell::Line(bytes) | Tell::PartOfLine(bytes) if !self.binary => 2 * bytes.len(),
            _ => 12,
        };
        // What OTP tells of the answer to `close`.
        let told_alone = matches!(what, Tell::Atom(am::closed));
        let message = Payload::build(words + 12, |draft| {
            let body = self.body(draft, what);
            draft.tuple(&[self.id.term(), body])
        });
        let told = if told_alone { am::closed.term() } else { message.term() };
        if self.trace.wants(flags::SEND) && system.lives(to) {
            self.trace_message(system, to, told);
        }
        system.signal(to, Signal::Message(Message::new(message, Term::NONE)));
    }

    fn body<'b>(&self, f: &mut Draft<'b>, what: Tell<'_>) -> TermRef<'b> {
        match what {
            Tell::Data(bytes) => {
                let data = self.bytes(f, bytes);
                f.tuple(&[am::data.term(), data])
            }
            Tell::Line(bytes) => self.line(f, am::eol, bytes),
            Tell::PartOfLine(bytes) => self.line(f, am::noeol, bytes),
            Tell::ExitStatus(status) => f.tuple(&[am::exit_status.term(), Term::small(i64::from(status))]),
            Tell::Atom(atom) => atom.term(),
            Tell::Headed(head, data) => {
                let data = data.map_or(Term::NIL, |data| self.bytes(f, Run::Borrowed(&data)));
                let list = f.byte_list(&head, data);
                f.tuple(&[am::data.term(), list])
            }
        }
    }

    fn bytes<'b>(&self, f: &mut Draft<'b>, bytes: Run<'_>) -> TermRef<'b> {
        if !self.binary { f.byte_list(&bytes, Term::NIL) } else { bytes.into_term(f) }
    }

    fn line<'b>(&self, f: &mut Draft<'b>, end: Atom, bytes: BinaryBuffer) -> TermRef<'b> {
        let data = self.bytes(f, Run::Owned(bytes));
        let line = f.tuple(&[end.term(), data]);
        f.tuple(&[am::data.term(), line])
    }
}
