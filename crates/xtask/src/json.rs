//! Writing JSON, for results that other programs read.
//!
//! Each command that judges something takes `--json FILE`, and writes one object there: `command`, `good` (was the exit status 0?), and
//! what it counted and found.

use crate::files;
use crate::stop::Stop;
use crate::words::Words;
use std::fmt::Write;

/// A JSON value.
#[derive(Clone, Debug)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A count, a seed.
    Whole(u64),
    /// A number with a fraction.
    Number(f64),
    /// A text.
    Text(String),
    /// Values in a row.
    List(Vec<Json>),
    /// Values by name, in this order.
    Object(Vec<(&'static str, Json)>),
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_owned())
    }
}

impl From<usize> for Json {
    fn from(number: usize) -> Json {
        Json::Whole(number as u64)
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Json {
        Json::Whole(number)
    }
}

impl From<bool> for Json {
    fn from(is: bool) -> Json {
        Json::Bool(is)
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

/// Writes the result of a command, if its words ask for one. `found` makes what it counted and found.
pub fn result(
    words: &Words,
    command: &str,
    good: bool,
    found: impl FnOnce() -> Vec<(&'static str, Json)>,
) -> Result<(), Stop> {
    let Some(file) = words.value("--json") else { return Ok(()) };
    let mut items = vec![("command", command.into()), ("good", good.into())];
    items.extend(found());
    files::write(file.as_ref(), Json::Object(items).to_text())
}

impl Json {
    /// The text of a file with this value alone: a line for each part of the outermost two levels.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, 0);
        text.push('\n');
        text
    }

    fn write(&self, text: &mut String, level: usize) {
        match self {
            Json::Null => text.push_str("null"),
            Json::Bool(is) => drop(write!(text, "{is}")),
            Json::Whole(number) => drop(write!(text, "{number}")),
            Json::Number(number) if number.is_finite() => drop(write!(text, "{number}")),
            // JSON has no word for what is no number.
            Json::Number(_) => text.push_str("null"),
            Json::Text(words) => quote(text, words),
            Json::List(items) => list(text, level, ['[', ']'], items, |text, item| item.write(text, level + 1)),
            Json::Object(items) => list(text, level, ['{', '}'], items, |text, (name, value)| {
                quote(text, name);
                text.push_str(": ");
                value.write(text, level + 1);
            }),
        }
    }
}

/// Items between brackets: on lines of their own at the first two levels.
fn list<T>(
    text: &mut String,
    level: usize,
    [open, close]: [char; 2],
    items: &[T],
    mut each: impl FnMut(&mut String, &T),
) {
    let indent = |level: usize| format!("\n{}", "  ".repeat(level));
    let is_spread = level < 2 && !items.is_empty();
    text.push(open);
    for (index, item) in items.iter().enumerate() {
        text.push_str(if index == 0 {
            ""
        } else if is_spread {
            ","
        } else {
            ", "
        });
        text.push_str(&if is_spread { indent(level + 1) } else { String::new() });
        each(text, item);
    }
    text.push_str(&if is_spread { indent(level) } else { String::new() });
    text.push(close);
}

fn quote(text: &mut String, words: &str) {
    text.push('"');
    for c in words.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            c if c < ' ' => drop(write!(text, "\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value() {
        let row = Json::Object(vec![("name", "a\"b\\\n\u{1}é".into()), ("none", None::<usize>.into())]);
        let value = Json::Object(vec![
            ("count", 3_usize.into()),
            ("ratio", Json::Number(0.5)),
            ("nothing", Json::Number(f64::NAN)),
            ("seed", u64::MAX.into()),
            ("good", true.into()),
            ("empty", Json::List(vec![])),
            ("rows", Json::List(vec![row.clone(), row])),
        ]);
        let row = r#"{"name": "a\"b\\\n\u0001é", "none": null}"#;
        let expected = format!(
            "{{\n  \"count\": 3,\n  \"ratio\": 0.5,\n  \"nothing\": null,\n  \"seed\": 18446744073709551615,\n  \"good\": true,\n  \"empty\": [],\n  \"rows\": [\n    {row},\n    {row}\n  ]\n}}\n"
        );
        assert_eq!(value.to_text(), expected);
    }

    #[test]
    fn a_result_is_written_where_the_words_say() {
        let file = std::env::temp_dir().join(format!("xtask-json-{}", std::process::id()));
        let words = ["--json".to_owned(), file.to_string_lossy().into_owned()];
        let words = Words::parse(&words, &[], &["--json"]).unwrap();
        result(&words, "soak", false, || vec![("seed", 7_u64.into())]).unwrap();
        let expected = "{\n  \"command\": \"soak\",\n  \"good\": false,\n  \"seed\": 7\n}\n";
        assert_eq!(files::read(&file).unwrap(), expected);
        std::fs::remove_file(file).unwrap();
        result(&Words::default(), "soak", true, || panic!("nobody asked")).unwrap();
    }
}
