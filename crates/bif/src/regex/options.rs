//! The options of `re:compile/2` and `re:run/3`.

use super::pcre::{Flags, Limits, STEPS};
use myriad_term::{Atom, Term};
use pcre2_sys as pcre;

/// What is to be given back of a match.
#[derive(Clone, Copy)]
pub enum Which {
    /// All groups up to the last that took part.
    All,
    /// All but the whole.
    AllButFirst,
    /// Those with names, by name.
    AllNames,
    /// The whole.
    First,
    /// That there is one.
    Nothing,
    /// Numbers and names.
    Listed(Term),
}

/// In which form.
#[derive(Clone, Copy)]
pub enum Form {
    /// Places and lengths.
    Index,
    /// Lists of bytes or characters.
    List,
    /// Binaries.
    Binary,
}

/// Ends of lines that no option has: those of several together, which the older library refuses when it compiles.
const INCONSISTENT: u32 = 7;

/// Options of compiling and of running.
pub struct Options {
    /// How to compile.
    pub flags: Flags,
    /// `newline` or `bsr_...` is among them.
    pub lines: bool,
    /// One for compiling only is among them.
    pub compiling: bool,
    /// One for running only is among them.
    pub running: bool,
    /// Option bits of a match.
    pub run_bits: u32,
    /// All matches.
    pub global: bool,
    /// Errors are values.
    pub report: bool,
    /// Where to begin.
    pub offset: usize,
    /// What to give back.
    pub which: Which,
    /// And how.
    pub form: Form,
    /// As `form` for all matches: there, a `capture` without a form leaves the one before.
    global_form: Form,
    /// There was a `newline`.
    newline: bool,
    /// Limits.
    pub limits: Limits,
}

/// Options for compiling that are one bit.
const COMPILE: &[(&str, u32)] = &[
    ("unicode", pcre::PCRE2_UTF),
    ("caseless", pcre::PCRE2_CASELESS),
    ("dollar_endonly", pcre::PCRE2_DOLLAR_ENDONLY),
    ("dotall", pcre::PCRE2_DOTALL),
    ("extended", pcre::PCRE2_EXTENDED),
    ("firstline", pcre::PCRE2_FIRSTLINE),
    ("multiline", pcre::PCRE2_MULTILINE),
    ("no_auto_capture", pcre::PCRE2_NO_AUTO_CAPTURE),
    ("dupnames", pcre::PCRE2_DUPNAMES),
    ("ungreedy", pcre::PCRE2_UNGREEDY),
    ("no_start_optimize", pcre::PCRE2_NO_START_OPTIMIZE),
    ("ucp", pcre::PCRE2_UCP),
    ("never_utf", pcre::PCRE2_NEVER_UTF),
];

/// All bits that a compiled pattern may have.
pub fn compile_bits() -> u32 {
    COMPILE.iter().fold(pcre::PCRE2_ANCHORED, |all, (_, bit)| all | bit)
}

/// Options for running that are one bit.
const RUN: &[(&str, u32)] = &[
    ("notbol", pcre::PCRE2_NOTBOL),
    ("noteol", pcre::PCRE2_NOTEOL),
    ("notempty", pcre::PCRE2_NOTEMPTY),
    ("notempty_atstart", pcre::PCRE2_NOTEMPTY_ATSTART),
];

impl Options {
    /// Reads them, unless one is wrong; `old` = as OTP's older releases have patterns.
    pub fn read(list: Term, old: bool) -> Option<Options> {
        let mut o = Options {
            flags: Flags { bits: 0, newline: pcre::PCRE2_NEWLINE_LF, bsr: None, old },
            lines: false,
            compiling: false,
            running: false,
            run_bits: 0,
            global: false,
            report: false,
            offset: 0,
            which: Which::All,
            form: Form::Index,
            global_form: Form::Index,
            newline: false,
            limits: Limits { steps: STEPS, depth: STEPS },
        };
        let mut items = list.list_iter();
        for item in items.by_ref() {
            let known = match item.as_atom() {
                Some(name) => o.name(name.text()),
                None => o.pair(item),
            };
            known?;
        }
        if o.global {
            o.form = o.global_form;
        }
        items.tail().is_nil().then_some(o)
    }

    /// Is `unicode` among them?
    pub fn unicode(&self) -> bool {
        self.flags.bits & pcre::PCRE2_UTF != 0
    }

    /// An option that is an atom.
    fn name(&mut self, name: &str) -> Option<()> {
        let bit = |table: &[(&str, u32)]| table.iter().find(|(n, _)| *n == name).map(|(_, bit)| *bit);
        if let Some(bit) = bit(COMPILE) {
            self.compiling = true;
            self.flags.bits |= bit;
            return Some(());
        }
        if let Some(bit) = bit(RUN) {
            self.running = true;
            self.run_bits |= bit;
            return Some(());
        }
        match name {
            "anchored" => {
                self.flags.bits |= pcre::PCRE2_ANCHORED;
                self.run_bits |= pcre::PCRE2_ANCHORED;
            }
            "bsr_anycrlf" | "bsr_unicode" => {
                let unicode = name == "bsr_unicode";
                let bsr = if unicode { pcre::PCRE2_BSR_UNICODE } else { pcre::PCRE2_BSR_ANYCRLF };
                if self.flags.bsr.is_some_and(|other| other != bsr) {
                    if !self.flags.old {
                        return None;
                    }
                    // What is wrong is the pattern, says the older library.
                    (self.flags.newline, self.newline) = (INCONSISTENT, true);
                }
                self.flags.bsr = Some(bsr);
                self.lines = true;
            }
            "global" => (self.global, self.running) = (true, true),
            "report_errors" => (self.report, self.running) = (true, true),
            _ => return None,
        }
        Some(())
    }

    /// An option that is a tuple.
    fn pair(&mut self, item: Term) -> Option<()> {
        let tuple = item.as_tuple()?;
        let (name, value, form) = match tuple.elements() {
            [name, value] => (*name, *value, None),
            [name, value, form] => (*name, *value, Some(*form)),
            _ => return None,
        };
        let name = name.as_atom()?.text();
        if name == "newline" && form.is_none() {
            let newline = match value.as_atom()?.text() {
                "cr" => pcre::PCRE2_NEWLINE_CR,
                "lf" => pcre::PCRE2_NEWLINE_LF,
                "crlf" => pcre::PCRE2_NEWLINE_CRLF,
                "any" => pcre::PCRE2_NEWLINE_ANY,
                "anycrlf" => pcre::PCRE2_NEWLINE_ANYCRLF,
                _ => return None,
            };
            // Bits to the older library: those of all such options together.
            self.flags.newline = if self.newline && self.flags.old { self.flags.newline | newline } else { newline };
            (self.lines, self.newline) = (true, true);
            return Some(());
        }
        self.running = true;
        if name == "capture" {
            self.form = match form.map(|f| f.as_atom().map(Atom::text)) {
                None => Form::Index,
                Some(Some("index")) => Form::Index,
                Some(Some("list")) => Form::List,
                Some(Some("binary")) => Form::Binary,
                _ => return None,
            };
            if form.is_some() {
                self.global_form = self.form;
            }
            self.which = match value.as_atom().map(Atom::text) {
                Some("all") => Which::All,
                Some("all_but_first") => Which::AllButFirst,
                Some("all_names") => Which::AllNames,
                Some("first") => Which::First,
                Some("none") => Which::Nothing,
                None if value.is_nil() => Which::Nothing,
                None if value.is_cons() => Which::Listed(value),
                _ => return None,
            };
            return Some(());
        }
        let number = value.as_small()?;
        match (name, form) {
            ("offset", None) => self.offset = usize::try_from(i32::try_from(number).ok()?).ok()?,
            ("match_limit", None) => self.limits.steps = i32::try_from(number).ok()?.try_into().ok()?,
            ("match_limit_recursion", None) => self.limits.depth = i32::try_from(number).ok()?.try_into().ok()?,
            _ => return None,
        }
        Some(())
    }
}
