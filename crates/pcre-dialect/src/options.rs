//! The options of a pattern.

/// What the caller of `re:compile/2` can say that decides what a pattern means.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    /// `unicode`: pattern and subject are UTF-8.
    pub unicode: bool,
    /// `never_utf`: a pattern that begins with `(*UTF)` is refused.
    pub never_unicode: bool,
    /// `extended`: blanks and comments are skipped.
    pub extended: bool,
    /// `no_auto_capture`: plain parentheses have no number.
    pub no_auto_capture: bool,
    /// `dupnames`: a name may stand for several groups.
    pub same_names: bool,
    /// `caseless`: letters match in either case.
    pub caseless: bool,
    /// `newline`: what ends a line, and with it a comment.
    pub newline: Newline,
}

/// What ends a line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Newline {
    /// A carriage return.
    Cr,
    /// A line feed.
    #[default]
    Lf,
    /// A carriage return and a line feed, in this order.
    CrLf,
    /// Any line end that Unicode knows.
    Any,
    /// A carriage return, a line feed, or both in this order.
    AnyCrLf,
}
