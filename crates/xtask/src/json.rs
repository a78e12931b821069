//! Writing JSON, for results that other programs read.

use std::fmt::Write;

/// A JSON value.
#[derive(Clone, Debug)]
pub enum Json {
    /// `null`.
    Null,
    /// A number, as JSON writes it.
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
        // Counts are far below 2^53, so that a double holds them.
        Json::Number(number as f64)
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
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
            Json::Number(number) => drop(write!(text, "{number}")),
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
            ("empty", Json::List(vec![])),
            ("rows", Json::List(vec![row.clone(), row])),
        ]);
        let row = r#"{"name": "a\"b\\\n\u0001é", "none": null}"#;
        let expected = format!(
            "{{\n  \"count\": 3,\n  \"ratio\": 0.5,\n  \"empty\": [],\n  \"rows\": [\n    {row},\n    {row}\n  ]\n}}\n"
        );
        assert_eq!(value.to_text(), expected);
    }
}
