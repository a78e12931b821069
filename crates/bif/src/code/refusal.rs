//! What the loader reports of a file that it refuses: OTP's words, with the lines of OTP's loader that they come from.
//!
//! Faults within the code are found by another check here, before any of it is translated: they have its words.

use myriad_beam::{ChunkId, LoadError as FileError};
use myriad_term::Atom;
use myriad_term::print::atom_text;
use myriad_vm::code::LoadError;

/// Chunks: name, what it is called, lines of the reports that it is missing and that it is corrupt.
const CHUNKS: [(&[u8; 4], &str, u16, u16); 8] = [
    (b"AtU8", "atom table", 146, 150),
    (b"Code", "code chunk", 152, 154),
    (b"ExpT", "export table", 156, 158),
    (b"ImpT", "import table", 160, 162),
    (b"FunT", "lambda table", 164, 164),
    (b"Line", "line table", 166, 166),
    (b"LitT", "literal table", 168, 168),
    (b"LocT", "locals table", 170, 170),
];
/// Lines of reports about the file as a whole, a name that is another, and instructions.
const HEADER: u16 = 144;
const NAME: u16 = 180;
const CODE: u16 = 400;

/// The whole report.
pub(super) fn text(name: Atom, line: u16, what: &str) -> String {
    format!("beam/beam_load.c({line}): Error loading module {}:\n  {what}\n", atom_text(name))
}

/// It holds a module of another name.
pub(super) fn of_name(found: Atom) -> (u16, String) {
    (NAME, format!("module name in object code is {}", atom_text(found)))
}

/// The file is damaged.
pub(super) fn of(error: &LoadError) -> (u16, String) {
    let chunk = |chunk: &ChunkId| CHUNKS.iter().find(|(name, ..)| chunk.0 == **name);
    let LoadError::File(file) = error else {
        return match error {
            LoadError::Literal(_) => (168, "corrupt literal table".to_owned()),
            _ => (CODE, error.to_string()),
        };
    };
    let header = || (HEADER, "corrupt file header".to_owned());
    match file {
        FileError::NotBeam => header(),
        FileError::MissingChunk { chunk: id } => {
            chunk(id).map_or_else(header, |(_, name, missing, _)| (*missing, format!("missing {name}")))
        }
        FileError::Inflate { chunk: id }
        | FileError::Truncated { chunk: id, .. }
        | FileError::Malformed { chunk: id, .. } => {
            chunk(id).map_or_else(header, |(_, name, _, corrupt)| (*corrupt, format!("corrupt {name}")))
        }
        FileError::UnknownOpcode { .. } => (CODE, "invalid opcode".to_owned()),
        other => (CODE, other.to_string()),
    }
}
