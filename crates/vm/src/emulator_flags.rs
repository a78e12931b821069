//! What emulator flags say that no other part of [`Config`](crate::vm::Config) holds: read once, when the VM is made, and asked by its parts.
//!
//! The command line's table of flags (crate `myriad`) fills this in. No other crate reads the words of the command line, but
//! `erlang:system_info(emu_args)`, which tells them as they came.

/// `+B`: what an interrupt (Ctrl-C) does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Break {
    /// Without the flag: the break menu.
    Menu,
    /// `+Bi`: nothing.
    Ignored,
    /// `+Bc`: it is a key like others to the shell.
    Key,
    /// `+Bd` and any other: the VM ends.
    End,
}

/// `+W`: as what warnings are logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Warnings {
    /// `+Ww` and without the flag: as warnings.
    Warning,
    /// `+Wi`: as information.
    Info,
    /// `+We`: as errors.
    Error,
}

/// The encoding that `+fn` names for file names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileNames {
    /// `+fnu`
    Utf8,
    /// `+fnl`
    Latin1,
    /// `+fna` and without the flag: that of the locale.
    Locale,
}

/// What `+fn` says of a file name that is wrong in UTF-8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrongNames {
    /// `w` and without a letter: it is left out, with a warning.
    Warning,
    /// `i`: it is left out.
    Ignored,
    /// `e`: an error.
    Error,
}

/// What emulator flags say, beside what [`crate::vm::Config`] has fields for.
#[derive(Clone, Debug)]
pub struct EmulatorFlags {
    /// `+B`
    pub interrupt: Break,
    /// `+C`: the time warp mode, if it is said.
    pub time_warp_mode: Option<&'static str>,
    /// `+c`
    pub time_correction: bool,
    /// `+e`: what `ets_limit` is said to be.
    pub ets_limit: usize,
    /// `+fn`
    pub file_names: FileNames,
    /// `+fn`, its last letter
    pub wrong_names: WrongNames,
    /// `+pc unicode`: all printable characters of Unicode are shown in strings, not those of Latin-1 only.
    pub shows_unicode: bool,
    /// `+spp`: parallelism of ports, if `open_port/2` does not say.
    pub port_parallelism: bool,
    /// `+W`
    pub warnings: Warnings,
    /// `+zdbbl`, in KiB: when the buffer of a connection to another node is busy.
    pub dist_buffer_kib: i64,
}

impl Default for EmulatorFlags {
    fn default() -> EmulatorFlags {
        EmulatorFlags {
            interrupt: Break::Menu,
            time_warp_mode: None,
            time_correction: true,
            ets_limit: 8192,
            file_names: FileNames::Locale,
            wrong_names: WrongNames::Warning,
            shows_unicode: false,
            port_parallelism: false,
            warnings: Warnings::Warning,
            dist_buffer_kib: 1024,
        }
    }
}
