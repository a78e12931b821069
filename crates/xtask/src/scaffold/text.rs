//! Changes of a Rust file's text, line by line.

/// Puts lines before the line at an index.
fn insert(text: &str, index: usize, lines: &str) -> String {
    let mut all: Vec<&str> = text.lines().collect();
    all.splice(index..index, lines.lines());
    all.join("\n") + "\n"
}

/// Where the unit tests begin, which stand at a file's end.
fn tests_at(text: &str) -> Option<usize> {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len().saturating_sub(1)).rev().find(|at| lines[*at] == "#[cfg(test)]" && lines[at + 1] == "mod tests {")
}

/// Adds an item behind all others, but before the unit tests.
pub fn with_item(text: &str, item: &str) -> String {
    match tests_at(text) {
        Some(at) => insert(text, at, &format!("{item}\n\n")),
        None => format!("{}\n\n{item}\n", text.trim_end()),
    }
}

/// Adds a unit test behind all others.
pub fn with_test(text: &str, test: &str) -> String {
    let indented: String =
        test.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") }).collect();
    match text.trim_end().strip_suffix('}') {
        Some(body) if tests_at(text).is_some() => format!("{}\n\n{indented}}}\n", body.trim_end()),
        _ => format!("{}\n\n#[cfg(test)]\nmod tests {{\n{indented}}}\n", text.trim_end()),
    }
}

/// Adds a line before the first one that begins with `end`, of those behind a line for which `begins` holds.
pub fn with_line(text: &str, begins: impl Fn(&str) -> bool, end: &str, line: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines.iter().position(|line| begins(line))?;
    let at = begin + 1 + lines[begin + 1..].iter().position(|line| line.starts_with(end))?;
    Some(insert(text, at, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "use x;\n\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";

    #[test]
    fn items_stand_before_the_tests() {
        let expected = "use x;\n\nfn a() {}\n\nfn b() {}\n\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";
        assert_eq!(with_item(FILE, "fn b() {}"), expected);
        assert_eq!(with_item("fn a() {}\n", "fn b() {}"), "fn a() {}\n\nfn b() {}\n");
    }

    #[test]
    fn tests_stand_together() {
        let expected = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn t() {}\n\n    fn u() {\n    }\n}\n";
        assert_eq!(with_test("fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n", "fn u() {\n}"), expected);
        assert_eq!(with_test("fn a() {}\n", "fn u() {}"), "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn u() {}\n}\n");
    }

    #[test]
    fn lines_are_added_to_a_part() {
        let table = "a {\n    one\n}\nb {\n    two\n}\n";
        assert_eq!(
            with_line(table, |line| line == "b {", "}", "    three").unwrap(),
            "a {\n    one\n}\nb {\n    two\n    three\n}\n"
        );
        assert_eq!(with_line(table, |line| line == "c {", "}", "x"), None);
    }
}
