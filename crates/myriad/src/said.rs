//! What commands that look at files say.

use std::io::{self, Write};

/// Why a command does not do what it was told.
#[derive(Debug)]
pub enum Refused {
    /// Its words are not what it takes.
    Usage,
    /// It cannot: why.
    Because(String),
}

/// Prints a text, without what a terminal might take for commands. A reader that has gone away has seen enough.
pub fn say(text: &str) -> Result<(), Refused> {
    match io::stdout().write_all(printable(text).as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Refused::Because(error.to_string())),
        _ => Ok(()),
    }
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The exit status; says what is wrong.
pub fn status(takes: &str, result: Result<(), Refused>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(Refused::Usage) => {
            eprintln!("usage: myriad {takes}");
            2
        }
        Err(Refused::Because(why)) => {
            eprintln!("myriad: {why}");
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_a_terminal_are_not_printed() {
        assert_eq!(printable("a\u{1b}[2J\nπ\u{9b}"), "a\u{fffd}[2J\nπ\u{fffd}");
        assert_eq!(status("x", Err(Refused::Usage)), 2);
        assert_eq!(status("x", Err(Refused::Because("why".to_owned()))), 1);
    }
}
