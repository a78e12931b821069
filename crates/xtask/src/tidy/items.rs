//! What a Rust file declares, as far as words can tell.

use super::lexer::words;

/// What stands before the name of an item.
const KEYWORDS: [&str; 10] =
    ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod", "macro_rules"];

/// Does this code declare an item of the name?
pub fn declares(code: &str, name: &str) -> bool {
    let mut before = "";
    words(code).any(|(_, word)| {
        let declared = word == name && KEYWORDS.contains(&before);
        before = word;
        declared
    })
}

/// Does the name stand in this code at all: as an item, a field, a variant?
pub fn mentions(code: &str, name: &str) -> bool {
    words(code).any(|(_, word)| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_declared_and_fields_mentioned() {
        let code = "pub struct A { b: u8 }\nmacro_rules! c { () => {} }";
        assert!(declares(code, "A") && declares(code, "c") && !declares(code, "b"));
        assert!(mentions(code, "b") && !mentions(code, "d"));
    }
}
