//! The paths that a Rust file names: those of its `use` items, and those within its code.

use super::lexer::{closing, is_word, words};

/// How a path is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Brought into scope.
    Use,
    /// Brought into scope and offered to others (`pub use`).
    Offer,
    /// Written out in the code.
    Plain,
}

/// A path, `a::b::c`.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    /// Its words; `*` for all that is in there.
    pub words: Vec<String>,
    /// The name under which it is known from here on.
    pub name: String,
    /// How it is named.
    pub kind: Kind,
    /// Where it stands in the text.
    pub at: usize,
}

/// All paths of more than one word in a file's code, and all that `use` names.
pub fn paths(code: &str) -> Vec<Named> {
    let mut found = Vec::new();
    let mut behind = 0;
    for (at, word) in words(code) {
        if at < behind {
            continue;
        }
        if word == "use" && begins_an_item(code, at) {
            let end = code[at..].find(';').map_or(code.len(), |length| at + length);
            let kind = if is_public(code, at) { Kind::Offer } else { Kind::Use };
            branch(code, at + 3..end, &[], kind, &mut found);
            behind = end;
        } else if let Some((path, end)) = plain(code, at, word) {
            found.push(Named { name: path[path.len() - 1].clone(), words: path, kind: Kind::Plain, at });
            behind = end;
        }
    }
    found
}

/// `use` with no item before it is one; in `impl Trait + use<'a>` it is not.
fn begins_an_item(code: &str, at: usize) -> bool {
    !code[at + 3..].trim_start().starts_with('<')
}

fn is_public(code: &str, at: usize) -> bool {
    let before = code[..at].trim_end();
    let item = before.rfind([';', '}', '{', ']']).map_or(before, |end| &before[end + 1..]);
    item.trim_start().starts_with("pub")
}

/// Adds the paths of a part of a `use` item: `a::b`, `a::{b, c as d}`, `*`.
fn branch(code: &str, part: std::ops::Range<usize>, prefix: &[String], kind: Kind, found: &mut Vec<Named>) {
    let text = &code[part.clone()];
    let at = part.start + text.len() - text.trim_start().len();
    if let Some(open) = text.find('{') {
        let prefix: Vec<String> = prefix.iter().cloned().chain(segments(&text[..open])).collect();
        let close = closing(code, part.start + open).min(part.end);
        for piece in pieces(code, part.start + open + 1..close) {
            branch(code, piece, &prefix, kind, found);
        }
        return;
    }
    let (path, name) = text.split_once(" as ").map_or((text, None), |(path, name)| (path, Some(name.trim())));
    let mut words: Vec<String> = prefix.iter().cloned().chain(segments(path)).collect();
    // `use a::{self, b}` names `a`.
    if words.len() > 1 && words.last().is_some_and(|last| last == "self") {
        words.pop();
    }
    if let Some(last) = words.last().cloned() {
        found.push(Named { words, name: name.map_or(last, str::to_owned), kind, at });
    }
}

/// The parts between the commas of a list, brackets unopened.
fn pieces(code: &str, list: std::ops::Range<usize>) -> Vec<std::ops::Range<usize>> {
    let mut pieces = Vec::new();
    let (mut begin, mut at) = (list.start, list.start);
    while at < list.end {
        match code.as_bytes()[at] {
            b'{' => at = closing(code, at),
            b',' => {
                pieces.push(begin..at);
                begin = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    pieces.push(begin..list.end);
    pieces
}

fn segments(path: &str) -> impl Iterator<Item = String> {
    path.split("::").map(|word| word.trim().trim_start_matches("r#").to_owned()).filter(|word| !word.is_empty())
}

/// The path that begins with this word, and its end; nothing within a path, or of a single word.
fn plain(code: &str, at: usize, first: &str) -> Option<(Vec<String>, usize)> {
    // `$crate` in a macro is where the macro is used.
    if code[..at].ends_with("::") || code[..at].ends_with('$') {
        return None;
    }
    let mut path = vec![first.to_owned()];
    let mut end = at + first.len();
    while let Some(rest) = code[end..].strip_prefix("::") {
        let length = rest.bytes().position(|byte| !is_word(byte)).unwrap_or(rest.len());
        if length == 0 {
            break;
        }
        path.push(rest[..length].to_owned());
        end += 2 + length;
    }
    (path.len() > 1).then_some((path, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_use() {
        let code =
            "use a::b;\npub use c::{self, d::{e, f as g}, *};\nfn h() -> impl X + use<'_> { use i; std::mem::take(y) }";
        let seen: Vec<(String, String, Kind)> =
            paths(code).into_iter().map(|p| (p.words.join("::"), p.name, p.kind)).collect();
        let expected = [
            ("a::b", "b", Kind::Use),
            ("c", "c", Kind::Offer),
            ("c::d::e", "e", Kind::Offer),
            ("c::d::f", "g", Kind::Offer),
            ("c::*", "*", Kind::Offer),
            ("i", "i", Kind::Use),
            ("std::mem::take", "take", Kind::Plain),
        ];
        let expected = expected.map(|(path, name, kind)| (path.to_owned(), name.to_owned(), kind));
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_path_knows_its_place() {
        let code = "use {\n    a::b,\n    c::d,\n};";
        assert_eq!(paths(code).iter().map(|path| &code[path.at..=path.at]).collect::<String>(), "ac");
    }
}
