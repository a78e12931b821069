//! What `new-bif` and `new-op` have in common: a change of several files that is written as a whole or not at all.

pub mod bif;
pub mod op;
mod text;

use crate::files;
use crate::stop::{Done, Stop};
use std::path::Path;
use std::process::ExitCode;

/// A file with its new text, and what has been written there.
struct Edit {
    path: String,
    text: String,
    what: String,
}

/// Writes the files, says what they have now, and how to go on.
fn write(top: &Path, edits: &[Edit], next: &str) -> Done {
    for Edit { path, text, what } in edits {
        let file = top.join(path);
        file.parent().map_or(Ok(()), files::make_folder)?;
        files::write(&file, text)?;
        println!("{path}: {what}");
    }
    println!("{next}");
    Ok(ExitCode::SUCCESS)
}

/// The texts of the Rust files below a folder of the repository, by path from the top.
fn sources(top: &Path, folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in files::ending(&top.join(folder), "") {
        let name = format!("{folder}/{}", files::name(&path));
        if path.is_dir() {
            found.extend(sources(top, &name));
        } else if name.ends_with(".rs") {
            found.push((name, files::read_if_there(&path)));
        }
    }
    found
}

/// A name as functions and files have it: `GetElement2` becomes `get_element2`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(if c.is_alphanumeric() { c.to_lowercase().next() } else { Some('_') });
    }
    snake
}

fn failed<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Failed(why.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_small_letters() {
        assert_eq!((snake("GetElement2"), snake("is_a?")), ("get_element2".to_owned(), "is_a_".to_owned()));
    }
}
