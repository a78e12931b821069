//! What can be wrong with a pattern, and the messages that programs see: those of PCRE 8.44.
//!
//! [`crate::check`] finds the faults. PCRE2 should have nothing left to refuse, but for patterns that are too large for it.

/// Why a pattern is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Error {
    /// What is wrong.
    pub fault: Fault,
    /// How many bytes of the pattern PCRE 8.44 has read when it finds out.
    pub offset: usize,
}

/// Declares the faults and their texts.
macro_rules! faults {
    ($($fault:ident $text:literal;)*) => {
        /// What is wrong with a pattern.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Fault {
            $(#[doc = $text] $fault,)*
        }

        impl Fault {
            /// The message.
            pub fn message(self) -> &'static str {
                match self { $(Fault::$fault => $text,)* }
            }
        }
    };
}

faults! {
    EndsInBackslash "\\ at end of pattern";
    EndsInControl "\\c at end of pattern";
    UnknownEscape "unrecognized character follows \\";
    CountsOutOfOrder "numbers out of order in {} quantifier";
    BigCount "number too big in {} quantifier";
    OpenClass "missing terminating ] for character class";
    ClassEscape "invalid escape sequence in character class";
    RangeOutOfOrder "range out of order in character class";
    NothingToRepeat "nothing to repeat";
    BadOption "unrecognized character after (? or (?-";
    PosixOutsideClass "POSIX named classes are supported only within a class";
    OpenGroup "missing )";
    NoSuchGroup "reference to non-existent subpattern";
    OpenComment "missing ) after comment";
    TooLarge "regular expression is too large";
    Unmatched "unmatched parentheses";
    BadLookbehind "unrecognized character after (?<";
    VaryingLookbehind "lookbehind assertion is not fixed length";
    BadCondition "malformed number or name after (?(";
    ManyBranches "conditional group contains more than two branches";
    NoAssertion "assertion expected after (?( or (?(?C)";
    OpenCall "(?R or (?[+-]digits must be followed by )";
    UnknownPosix "unknown POSIX class name";
    Collating "POSIX collating elements are not supported";
    BigCharacter "character value in \\x{} or \\o{} is too large";
    ZeroCondition "invalid condition (?(0)";
    ByteInLookbehind "\\C not allowed in lookbehind assertion";
    NotSupported "PCRE does not support \\L, \\l, \\N{name}, \\U, or \\u";
    BigCallout "number after (?C is > 255";
    OpenCallout "closing ) for (?C expected";
    EndlessCall "recursive call could loop indefinitely";
    BadPython "unrecognized character after (?P";
    OpenName "syntax error in subpattern name (missing terminator)";
    SameName "two named subpatterns have the same name";
    BadUtf "invalid UTF-8 string";
    BadProperty "malformed \\P or \\p sequence";
    UnknownProperty "unknown property name after \\P or \\p";
    LongName "subpattern name is too long (maximum 32 characters)";
    ManyNames "too many named subpatterns (maximum 10000)";
    BigOctal "octal value is greater than \\377 in 8-bit non-UTF-8 mode";
    ManyDefinitions "DEFINE group contains more than one branch";
    NoReference "\\g is not followed by a braced, angle-bracketed, or quoted name/number or by a plain number";
    ZeroReference "a numbered reference must not be zero";
    VerbArgument "an argument is not allowed for (*ACCEPT), (*FAIL), or (*COMMIT)";
    BadVerb "(*VERB) not recognized or malformed";
    BigNumber "number is too big";
    NoName "subpattern name expected";
    NoDigit "digit expected after (?+";
    OtherName "different names for subpatterns of the same number are not allowed";
    MarkArgument "(*MARK) must have an argument";
    ControlNotAscii "\\c must be followed by an ASCII character";
    NoQuotedName "\\k is not followed by a braced, angle-bracketed, or quoted name";
    NoNewlineInClass "\\N is not supported in a class";
    Surrogate "disallowed Unicode code point (>= 0xd800 && <= 0xdfff)";
    LongMark "name is too long in (*MARK), (*PRUNE), (*SKIP), or (*THEN)";
    UtfDisabled "setting UTF is disabled by the application";
    NotHexadecimal "non-hex character in \\x{} (closing brace missing?)";
    NotOctal "non-octal character in \\o{} (closing brace missing?)";
    NoOctalBrace "missing opening brace after \\o";
    RangeOfClass "invalid range in character class";
    DigitFirst "group name must start with a non-digit";
    NoDigits "digits missing in \\x{} or \\o{}";
    TooComplicated "regular expression is too complicated";
}

/// PCRE2's numbers for text that is not UTF-8.
const INVALID_UTF_FIRST: i32 = -23;
const INVALID_UTF_LAST: i32 = -1;
/// PCRE2's numbers for patterns too large or too deep for it.
const TOO_LARGE: [i32; 1] = [120];
const TOO_COMPLICATED: [i32; 4] = [119, 135, 184, 186];

/// What PCRE 8.44 says where PCRE2 refuses the translation of a pattern.
///
/// `code` and `offset` are PCRE2's; the offset is cut to the pattern's length, since a translation can be longer. No fault: PCRE 8.44 has no such
/// message.
pub fn error_of_pcre2(code: i32, offset: usize, pattern: &[u8]) -> (Option<Fault>, usize) {
    let len = crate::lead::before_nul(pattern).len();
    match code {
        INVALID_UTF_FIRST..=INVALID_UTF_LAST => (Some(Fault::BadUtf), offset),
        _ if TOO_LARGE.contains(&code) => (Some(Fault::TooLarge), len),
        _ if TOO_COMPLICATED.contains(&code) => (Some(Fault::TooComplicated), offset.min(len)),
        _ => (None, offset.min(len)),
    }
}
