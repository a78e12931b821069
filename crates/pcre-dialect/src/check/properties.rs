//! Names of properties of characters that PCRE 8.44 knows.

/// Longest name that it reads.
pub const LONGEST: usize = 30;

/// Does it know this one?
pub fn is_property(name: &[u8]) -> bool {
    matches!(name, [b'C' | b'L' | b'M' | b'N' | b'P' | b'S' | b'Z']) || PROPERTIES.iter().any(|p| p.as_bytes() == name)
}

/// Categories, classes of its own, scripts.
#[rustfmt::skip]
const PROPERTIES: &[&str] = &[
    "Any", "Arabic", "Armenian", "Avestan", "Balinese", "Bamum", "Bassa_Vah", "Batak", "Bengali", "Bopomofo",
    "Brahmi", "Braille", "Buginese", "Buhid", "Canadian_Aboriginal", "Carian", "Caucasian_Albanian", "Cc", "Cf",
    "Chakma", "Cham", "Cherokee", "Cn", "Co", "Common", "Coptic", "Cs", "Cuneiform", "Cypriot", "Cyrillic",
    "Deseret", "Devanagari", "Duployan", "Egyptian_Hieroglyphs", "Elbasan", "Ethiopic", "Georgian", "Glagolitic",
    "Gothic", "Grantha", "Greek", "Gujarati", "Gurmukhi", "Han", "Hangul", "Hanunoo", "Hebrew", "Hiragana",
    "Imperial_Aramaic", "Inherited", "Inscriptional_Pahlavi", "Inscriptional_Parthian", "Javanese", "Kaithi",
    "Kannada", "Katakana", "Kayah_Li", "Kharoshthi", "Khmer", "Khojki", "Khudawadi", "L&", "Lao", "Latin",
    "Lepcha", "Limbu", "Linear_A", "Linear_B", "Lisu", "Ll", "Lm", "Lo", "Lt", "Lu", "Lycian", "Lydian",
    "Mahajani", "Malayalam", "Mandaic", "Manichaean", "Mc", "Me", "Meetei_Mayek", "Mende_Kikakui",
    "Meroitic_Cursive", "Meroitic_Hieroglyphs", "Miao", "Mn", "Modi", "Mongolian", "Mro", "Myanmar", "Nabataean",
    "Nd", "New_Tai_Lue", "Nko", "Nl", "No", "Ogham", "Ol_Chiki", "Old_Italic", "Old_North_Arabian", "Old_Permic",
    "Old_Persian", "Old_South_Arabian", "Old_Turkic", "Oriya", "Osmanya", "Pahawh_Hmong", "Palmyrene",
    "Pau_Cin_Hau", "Pc", "Pd", "Pe", "Pf", "Phags_Pa", "Phoenician", "Pi", "Po", "Ps", "Psalter_Pahlavi",
    "Rejang", "Runic", "Samaritan", "Saurashtra", "Sc", "Sharada", "Shavian", "Siddham", "Sinhala", "Sk", "Sm",
    "So", "Sora_Sompeng", "Sundanese", "Syloti_Nagri", "Syriac", "Tagalog", "Tagbanwa", "Tai_Le", "Tai_Tham",
    "Tai_Viet", "Takri", "Tamil", "Telugu", "Thaana", "Thai", "Tibetan", "Tifinagh", "Tirhuta", "Ugaritic",
    "Vai", "Warang_Citi", "Xan", "Xps", "Xsp", "Xuc", "Xwd", "Yi", "Zl", "Zp", "Zs",
];
