//! Terms of a dump as text, as the shell would print them, up to a budget.

use super::objects::{Object, Objects, Word};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use myriad_term::arena::Arena;
use myriad_term::etf::{DecodeOptions, decode};
use myriad_term::print;

/// How many terms are printed of one, and how many words or characters count as much as a term.
const TERMS: usize = 1000;
const WORDS: usize = 10;
const CHARACTERS: usize = 64;
/// How many bytes are printed of a binary, and characters of a string.
const BYTES: usize = 200;

/// What is still to be printed.
enum Todo<'a> {
    Text(&'static str),
    Term(Word<'a>),
    /// The rest of a list, behind an element.
    Tail(Word<'a>),
}

struct Printer<'a, 'd> {
    objects: &'d Objects<'a>,
    out: String,
    todo: Vec<Todo<'a>>,
    /// Terms that may still be printed.
    left: usize,
}

/// The text of a term, as far as the budgets of one term and of all lead.
pub fn text<'a>(objects: &Objects<'a>, word: Word<'a>) -> String {
    let left = objects.budget.get().min(TERMS);
    let mut printer = Printer { objects, out: String::new(), todo: vec![Todo::Term(word)], left };
    while let Some(todo) = printer.todo.pop() {
        match todo {
            Todo::Text(text) => printer.out.push_str(text),
            _ if printer.left == 0 => {
                printer.out.push_str("...");
                break;
            }
            Todo::Term(word) => printer.term(word),
            Todo::Tail(word) => printer.tail(word),
        }
    }
    objects.budget.set(objects.budget.get() - (left - printer.left));
    printer.out
}

impl<'a> Printer<'a, '_> {
    /// What is long costs more than what is short, so that a file cannot make much work of little.
    fn costs(&mut self, terms: usize) {
        self.left = self.left.saturating_sub(terms);
    }

    fn term(&mut self, word: Word<'a>) {
        self.costs(1);
        if let Word::Small(text) | Word::Pid(text) | Word::Port(text) | Word::Note(text) | Word::Atom(text) = word {
            self.costs(text.len() / CHARACTERS);
        }
        match word {
            Word::Small(text) | Word::Pid(text) | Word::Note(text) => self.out.push_str(text),
            Word::Port(text) => self.out.extend(["#Port", text]),
            Word::Atom(name) if print::needs_quotes(name) => {
                self.out.extend(["'", &name.replace('\\', "\\\\").replace('\'', "\\'"), "'"]);
            }
            Word::Atom(name) => self.out.push_str(name),
            Word::Nil => self.out.push_str("[]"),
            Word::Object(address) => match self.objects.at(address) {
                Some(object) => self.object(word, &object),
                None => self.out.push_str(&format!("<nothing at {address:X}>")),
            },
        }
    }

    fn object(&mut self, word: Word<'a>, object: &Object<'a>) {
        match object {
            Object::Cons(head, tail) => match self.string(word) {
                Some(string) => self.out.push_str(&string),
                None => {
                    self.out.push('[');
                    self.todo.extend([Todo::Tail(*tail), Todo::Term(*head)]);
                }
            },
            Object::Tuple(elements) => {
                self.out.push('{');
                self.row(elements.iter().map(|element| vec![Todo::Term(*element)]).collect());
            }
            Object::Float(text) => {
                self.out.push_str(&text.parse::<f64>().map_or("<float>".into(), |f| format!("{f:?}")))
            }
            Object::Bignum(text) => {
                self.costs(text.len() / CHARACTERS);
                self.out.push_str(text);
            }
            Object::FlatMap(keys, values) => {
                let keys = match keys {
                    Word::Object(at) => self.objects.at(*at),
                    _ => None,
                };
                let Some(Object::Tuple(keys)) = keys else { return self.out.push_str("#{...}") };
                self.map(keys.into_iter().zip(values.iter().copied()).collect());
            }
            Object::MapNode(parts) => {
                self.costs(parts.len() / WORDS);
                let pairs = self.pairs(parts.iter().rev().copied().collect());
                self.map(pairs);
            }
            Object::HeapBinary(bytes) => self.bytes(bytes, 0, u64::MAX),
            Object::Slice(at, from, size) => self.slice(*at, *from, *size),
            Object::External(bytes) => self.external(bytes),
            Object::Unknown => self.out.push_str("<not understood>"),
        }
    }

    /// Parts with commas between, and a bracket.
    fn row(&mut self, mut parts: Vec<Vec<Todo<'a>>>) {
        self.costs(parts.len() / WORDS);
        parts.truncate(self.left + 1);
        self.todo.push(Todo::Text("}"));
        for (index, part) in parts.into_iter().enumerate().rev() {
            self.todo.extend(part.into_iter().rev());
            if index > 0 {
                self.todo.push(Todo::Text(","));
            }
        }
    }

    fn map(&mut self, pairs: Vec<(Word<'a>, Word<'a>)>) {
        self.out.push_str("#{");
        self.row(pairs.into_iter().map(|(k, v)| vec![Todo::Term(k), Todo::Text(" => "), Todo::Term(v)]).collect());
    }

    /// The pairs below nodes of a map. What is not understood there is left out.
    fn pairs(&self, mut nodes: Vec<Word<'a>>) -> Vec<(Word<'a>, Word<'a>)> {
        let (mut pairs, mut looks) = (Vec::new(), 0);
        while let Some(Word::Object(at)) = nodes.pop().filter(|_| looks < 2 * TERMS) {
            looks += 1;
            match self.objects.at(at) {
                Some(Object::Cons(key, value)) => pairs.push((key, value)),
                Some(Object::MapNode(parts)) => nodes.extend(parts.into_iter().take(TERMS).rev()),
                _ => {}
            }
        }
        pairs
    }

    fn tail(&mut self, word: Word<'a>) {
        let object = match word {
            Word::Object(at) => self.objects.at(at),
            _ => None,
        };
        match (word, object) {
            (Word::Nil, _) => self.out.push(']'),
            (_, Some(Object::Cons(head, tail))) => {
                self.out.push(',');
                self.todo.extend([Todo::Tail(tail), Todo::Term(head)]);
            }
            _ => {
                self.out.push('|');
                self.todo.extend([Todo::Text("]"), Todo::Term(word)]);
            }
        }
    }

    /// A list that is a string, as one.
    fn string(&self, mut word: Word<'a>) -> Option<String> {
        let mut text = String::new();
        while let Word::Object(at) = word {
            let Some(Object::Cons(Word::Small(digits), tail)) = self.objects.at(at) else { return None };
            text.push(char::from_u32(digits.parse().ok()?).filter(|c| !c.is_control() || *c == '\n')?);
            if text.len() > BYTES {
                return Some(format!("{text:?}..."));
            }
            word = tail;
        }
        (word == Word::Nil).then(|| format!("{text:?}"))
    }

    fn slice(&mut self, at: u64, from: u64, size: u64) {
        let object = self.objects.at(at);
        match (self.objects.binary(at), object) {
            (Some(bytes), _) | (None, Some(Object::HeapBinary(bytes))) => self.bytes(bytes, from, size),
            _ => self.out.push_str(&format!("<<{size} bytes>>")),
        }
    }

    /// A part of bytes in base 64.
    fn bytes(&mut self, text: &str, from: u64, size: u64) {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let wanted = usize::try_from(size).unwrap_or(usize::MAX);
        // As much of the text as holds the bytes to be shown and one more.
        let skipped = (from / 3).saturating_mul(4);
        let piece = text.as_bytes().get(skipped..).unwrap_or_default();
        let piece = &piece[..piece.len().min((BYTES / 3 + 2) * 4)];
        let Ok(bytes) = BASE64_STANDARD.decode(piece) else { return self.out.push_str("<<bad bytes>>") };
        let bytes = bytes.get(from % 3..).unwrap_or_default();
        let bytes = &bytes[..bytes.len().min(wanted)];
        let shown = &bytes[..bytes.len().min(BYTES)];
        match std::str::from_utf8(shown) {
            Ok(text) if !text.chars().any(char::is_control) && !text.is_empty() => {
                self.out.push_str(&format!("<<{text:?}"));
            }
            _ => {
                let numbers: Vec<String> = shown.iter().map(u8::to_string).collect();
                self.out.push_str(&format!("<<{}", numbers.join(",")));
            }
        }
        self.out.push_str(if shown.len() < bytes.len() { "...>>" } else { ">>" });
    }

    fn external(&mut self, text: &str) {
        const COMPRESSED: u8 = 80;
        self.costs(text.len() / CHARACTERS);
        let bytes = BASE64_STANDARD.decode(text).unwrap_or_default();
        let mut arena = &Arena::new();
        // A dump has none that are compressed, which may be much larger than they look.
        let decoded = (bytes.get(1) != Some(&COMPRESSED)).then(|| decode(&mut arena, &bytes, DecodeOptions::default()));
        match decoded {
            Some(Ok(decoded)) => self.out.push_str(&print::text(decoded.term, TERMS)),
            _ => self.out.push_str("<bad external term>"),
        }
    }
}
