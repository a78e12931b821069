//! Terms of words that may be none (observe/DB2): each object is read through the system before it is looked at.

use super::LEAVES;
use myriad_term::boxed::Header;
use myriad_term::{Kind, Tag, Term, print};
use std::fmt::Write;

/// The most words that are taken for one object.
pub const MOST_WORDS: usize = 1 << 16;
/// How many terms are printed of one.
const TERMS: usize = 500;

/// The words at an address, if there is memory.
pub fn words(address: usize, count: usize) -> Option<Vec<u64>> {
    let mut words = vec![0_u64; count];
    let bytes = count * size_of::<u64>();
    let here = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: bytes };
    let there = libc::iovec { iov_base: address as *mut _, iov_len: bytes };
    // SAFETY: the system writes to `words`, which are so many, and looks itself whether the others can be read.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &raw const here, 1, &raw const there, 1, 0) };
    (usize::try_from(read) == Ok(bytes)).then_some(words)
}

/// What is still to be printed.
enum Todo {
    Text(&'static str),
    Word(u64),
    /// The rest of a list, behind an element.
    Tail(u64),
}

struct Printer {
    out: String,
    todo: Vec<Todo>,
}

/// A line with the term of a word, or with what is wrong with it.
pub fn term(word: u64) -> String {
    let mut printer = Printer { out: String::new(), todo: vec![Todo::Word(word)] };
    for _ in 0..TERMS {
        match printer.todo.pop() {
            Some(Todo::Text(text)) => printer.out.push_str(text),
            Some(Todo::Word(word)) => printer.word(word),
            Some(Todo::Tail(word)) => printer.tail(word),
            None => break,
        }
    }
    printer.out.push_str(if printer.todo.is_empty() { "\n" } else { "...\n" });
    printer.out
}

impl Printer {
    fn word(&mut self, word: u64) {
        // SAFETY: the word is asked for its tag; what it leads to has been read before it is used.
        let term = unsafe { Term::from_raw(word) };
        match term.tag() {
            Tag::List => match cell(word) {
                Some([head, tail]) => {
                    self.out.push('[');
                    self.todo.extend([Todo::Tail(tail), Todo::Word(head)]);
                }
                None => self.no_memory(word),
            },
            Tag::Boxed => self.boxed(term),
            Tag::Header => {
                let header = Header::from_raw(word);
                self.say(&format!("<header: {} of {} words>", name(header), header.size()));
            }
            Tag::Free => self.say(&format!("<no term: {word:#x}>")),
            Tag::Small | Tag::Float | Tag::Immediate => self.say(&print::text(term, 1)),
        }
    }

    fn say(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn no_memory(&mut self, word: u64) {
        self.say(&format!("<no memory at {:#x}>", address(word)));
    }

    fn boxed(&mut self, term: Term) {
        let at = address(term.raw());
        let Some(&[header]) = words(at, 1).as_deref() else { return self.no_memory(term.raw()) };
        // SAFETY: the word is asked for its tag.
        if unsafe { Term::from_raw(header) }.tag() != Tag::Header {
            return self.say(&format!("<no object at {at:#x}>"));
        }
        let header = Header::from_raw(header);
        if header.size() > MOST_WORDS {
            return self.say(&format!("<{} of {} words at {at:#x}>", name(header), header.size()));
        }
        let Some(parts) = words(at + size_of::<u64>(), header.size()) else { return self.no_memory(term.raw()) };
        if is_leaf(header, &parts) {
            return self.say(&print::text(term, TERMS));
        }
        if header.kind() == Kind::Tuple {
            self.say("{");
            self.row(header, &parts, "}");
        } else {
            let _ = write!(self.out, "<{}: ", name(header));
            self.row(header, &parts, ">");
        }
    }

    /// The parts of an object with commas between; words that are no terms in hexadecimal.
    fn row(&mut self, header: Header, parts: &[u64], close: &'static str) {
        let raw = match header.kind() {
            // The first word of these is an address.
            Kind::Fun | Kind::ExportFun | Kind::Record => 1,
            _ if header.holds_terms() => 0,
            _ => parts.len(),
        };
        let (raw, terms) = parts.split_at(raw.min(parts.len()));
        let texts: Vec<String> = raw.iter().take(TERMS).map(|word| format!("{word:#x}")).collect();
        self.say(&texts.join(","));
        self.todo.push(Todo::Text(close));
        for (index, word) in terms.iter().enumerate().take(TERMS).rev() {
            self.todo.push(Todo::Word(*word));
            if index > 0 || !raw.is_empty() {
                self.todo.push(Todo::Text(","));
            }
        }
    }

    fn tail(&mut self, word: u64) {
        // SAFETY: the word is asked for its tag.
        let term = unsafe { Term::from_raw(word) };
        let cell = if term.tag() == Tag::List { cell(word) } else { None };
        match cell {
            Some([head, tail]) => {
                self.say(",");
                self.todo.extend([Todo::Tail(tail), Todo::Word(head)]);
            }
            None if term.is_nil() => self.say("]"),
            None => {
                self.say("|");
                self.todo.extend([Todo::Text("]"), Todo::Word(word)]);
            }
        }
    }
}

/// May the general printer look at an object whose words can be read?
fn is_leaf(header: Header, parts: &[u64]) -> bool {
    match header.kind() {
        // Its bits are in it.
        Kind::HeapBinary => parts.first().is_some_and(|bits| *bits <= 64 * (parts.len() as u64 - 1)),
        kind => LEAVES.iter().any(|(leaf, least)| *leaf == kind && parts.len() >= *least),
    }
}

fn name(header: Header) -> &'static str {
    header.kind().name().unwrap_or("object of no kind")
}

fn address(word: u64) -> usize {
    // SAFETY: the pointer is not followed.
    unsafe { Term::from_raw(word) }.object_ptr().addr()
}

/// Head and tail of a list cell.
fn cell(word: u64) -> Option<[u64; 2]> {
    words(address(word), 2)?.try_into().ok()
}
