//! Which of the first 256 characters are letters and so on, by Latin-1, as in the character tables of OTP's `re`.

/// Is it white space?
pub fn is_space(c: u8) -> bool {
    matches!(c, 9..=13 | 32)
}

/// Is it a capital letter?
pub fn is_upper(c: u8) -> bool {
    c.is_ascii_uppercase() || matches!(c, 0xc0..=0xd6 | 0xd8..=0xde)
}

/// Is it a small letter? Some have no capital among these characters.
pub fn is_lower(c: u8) -> bool {
    c.is_ascii_lowercase() || matches!(c, 0xaa | 0xb5 | 0xba | 0xdf..=0xf6 | 0xf8..)
}

/// Is it a letter?
pub fn is_letter(c: u8) -> bool {
    is_upper(c) || is_lower(c)
}

/// Can it be part of a word, and of a name: a letter, a digit or an underscore?
pub fn is_word(c: u8) -> bool {
    is_letter(c) || c.is_ascii_digit() || c == b'_'
}
