//! Splits Rust source into code and comments without parsing it.
//!
//! LX1. Both texts have the lines of the source: what belongs to the other one is blank, so a line number is good for all
//!      three. Strings and characters are blank in both.

/// The two halves of a source text.
pub struct Split {
    /// The source without comments, strings and characters.
    pub code: String,
    /// The text of the comments, with the marks that begin and end them.
    pub comments: String,
    /// The source without comments: strings stand.
    pub with_strings: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Code,
    Comment,
    Text,
}

/// Splits a source text (LX1).
pub fn split(source: &str) -> Split {
    let parts = parts(source.as_bytes());
    let keep = |wanted: &[Part]| -> String {
        let blanked = |(byte, part)| if byte == b'\n' || wanted.contains(part) { byte } else { b' ' };
        // A character of several bytes lies in one part, so what is kept is UTF-8.
        String::from_utf8(source.bytes().zip(&parts).map(blanked).collect()).unwrap_or_default()
    };
    Split { code: keep(&[Part::Code]), comments: keep(&[Part::Comment]), with_strings: keep(&[Part::Code, Part::Text]) }
}

/// What each byte belongs to.
fn parts(source: &[u8]) -> Vec<Part> {
    let mut parts = vec![Part::Code; source.len()];
    let mut at = 0;
    while at < source.len() {
        let (part, end) = next(source, at);
        parts[at..end].fill(part);
        at = end;
    }
    parts
}

/// The part that begins at `at`, and where it ends.
fn next(source: &[u8], at: usize) -> (Part, usize) {
    let rest = &source[at..];
    let within_word = at > 0 && is_word(source[at - 1]);
    match rest {
        [b'/', b'/', ..] => (Part::Comment, at + line_end(rest)),
        [b'/', b'*', ..] => (Part::Comment, at + block_end(rest)),
        [b'"', ..] => (Part::Text, at + string_end(rest)),
        [b'b' | b'c', b'"', ..] if !within_word => (Part::Text, at + 1 + string_end(&rest[1..])),
        [b'r', b'"' | b'#', ..] if !within_word => raw_string(source, at, 1),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if !within_word => raw_string(source, at, 2),
        [b'\'', ..] => match character_end(rest) {
            Some(length) => (Part::Text, at + length),
            None => (Part::Code, at + 1),
        },
        _ => (Part::Code, at + 1),
    }
}

fn line_end(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

/// Block comments nest.
fn block_end(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn string_end(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A raw string whose hashes begin `prefix` bytes after `at`; a raw identifier (`r#type`) is code.
fn raw_string(source: &[u8], at: usize, prefix: usize) -> (Part, usize) {
    let rest = &source[at + prefix..];
    let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
    if rest.get(hashes) != Some(&b'"') {
        return (Part::Code, at + prefix);
    }
    let end: Vec<u8> = [b'"'].into_iter().chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = &rest[hashes + 1..];
    let length = body.windows(end.len()).position(|window| window == end).map_or(body.len(), |p| p + end.len());
    (Part::Text, at + prefix + hashes + 1 + length)
}

/// The length of a character literal; nothing for a lifetime.
fn character_end(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        let quote = rest.iter().skip(3).position(|byte| *byte == b'\'')?;
        return Some(quote + 4);
    }
    // A character of up to four bytes, then a quote.
    let width = rest.get(1).map(|byte| match byte {
        0..0x80 => 1,
        0x80..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    })?;
    (rest.get(1 + width) == Some(&b'\'')).then_some(width + 2)
}

/// Is the byte one of an identifier?
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The words of a text, each with the place where it begins.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at + bytes[at..].iter().position(|byte| is_word(*byte))?;
        let length = bytes[begin..].iter().position(|byte| !is_word(*byte)).unwrap_or(bytes.len() - begin);
        at = begin + length;
        Some((begin, &text[begin..at]))
    })
}

/// The line of a place in a text, counted from one.
pub fn line_of(text: &str, place: usize) -> usize {
    1 + text.as_bytes()[..place].iter().filter(|byte| **byte == b'\n').count()
}

/// Where the bracket at `open` is closed, in a text without strings and comments.
pub fn closing(code: &str, open: usize) -> usize {
    let bytes = code.as_bytes();
    let mut depth = 0;
    for (at, byte) in bytes.iter().enumerate().skip(open) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_code_are_told_apart() {
        let source = "let a = \"// no\"; // yes\n/* a /* b */ c */ let b = 'x';\n";
        let split = split(source);
        assert_eq!(split.code.trim_end(), "let a =        ;       \n                  let b =    ;");
        assert_eq!(split.comments.split_whitespace().collect::<String>(), "//yes/*a/*b*/c*/");
        assert_eq!(split.with_strings.lines().next().unwrap().trim_end(), "let a = \"// no\";");
    }

    #[test]
    fn raw_strings_lifetimes_and_escapes() {
        let source = r##"f::<'a>(r#"std::sync "quoted" "#, b"x\"y", '\'', '"', 'é', r#type)"##;
        let code = split(source).code;
        assert!(!code.contains("std") && !code.contains('x'), "{code}");
        assert!(code.contains("'a>") && code.contains("r#type)"), "{code}");
    }

    #[test]
    fn lines_stay() {
        let source = "a\n\"x\ny\"\n/* \n */ b";
        let split = split(source);
        for text in [&split.code, &split.comments, &split.with_strings] {
            assert_eq!(text.lines().count(), source.lines().count());
        }
        assert_eq!(line_of(source, source.find('b').unwrap()), 5);
    }

    #[test]
    fn brackets_close() {
        let code = "mod a { fn b() { [1] } } fn c() {}";
        assert_eq!(closing(code, 6), code.find(" fn c").unwrap() - 1);
    }
}
