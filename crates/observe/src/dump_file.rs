//! Reading a crash dump, Myriad's or OTP's, for somebody at a terminal: `myriad heap`.
//!
//! The file may be of any origin, cut off in the middle or made to do harm: what cannot be understood is shown as such, an address that
//! leads nowhere or in a circle costs no more than the budget of one printed term, and nothing is recursive.
//!
//! | module | holds |
//! | --- | --- |
//! | `objects` | the lines of heaps, literals and binaries: words, and the objects that they lead to |
//! | `printing` | terms as text |
//! | `report` | what is told of a dump, and of one process |

mod objects;
mod printing;
mod report;

use std::fmt;

/// A crash dump in its sections.
pub struct DumpFile<'a> {
    sections: Vec<Section<'a>>,
}

/// A section: `=NAME:OF`, and the lines up to the next.
struct Section<'a> {
    name: &'a str,
    of: &'a str,
    lines: &'a str,
}

/// The text is no crash dump.
#[derive(Debug, PartialEq, Eq)]
pub struct NoDump;

impl fmt::Display for NoDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no crash dump (it does not begin with =erl_crash_dump)")
    }
}

impl<'a> DumpFile<'a> {
    /// Divides a file's text into its sections.
    ///
    /// # Errors
    /// It does not begin as a dump does.
    pub fn parse(text: &'a str) -> Result<DumpFile<'a>, NoDump> {
        if !text.starts_with("=erl_crash_dump") {
            return Err(NoDump);
        }
        let sections = text[1..].split("\n=").map(|section| {
            let (title, lines) = section.split_once('\n').unwrap_or((section, ""));
            let title = title.trim_end();
            let (name, of) = title.split_once(':').unwrap_or((title, ""));
            Section { name, of, lines }
        });
        Ok(DumpFile { sections: sections.collect() })
    }

    /// The processes of which the dump tells.
    pub fn pids(&self) -> impl Iterator<Item = &'a str> {
        self.named("proc").map(|section| section.of)
    }

    fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Section<'a>> {
        self.sections.iter().filter(move |section| section.name == name)
    }

    fn of(&self, name: &str, of: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name && section.of == of)
    }
}

impl<'a> Section<'a> {
    fn lines(&self) -> impl Iterator<Item = &'a str> {
        self.lines.lines().map(str::trim_end).filter(|line| !line.is_empty())
    }

    /// What follows a name and a colon; nothing where there is no such line.
    fn field(&self, name: &str) -> &'a str {
        let value = |line: &'a str| line.strip_prefix(name)?.strip_prefix(": ");
        self.lines().find_map(value).unwrap_or_default()
    }

    /// A field that is a number; 0 without one.
    fn number(&self, name: &str) -> u64 {
        self.field(name).parse().unwrap_or(0)
    }
}
