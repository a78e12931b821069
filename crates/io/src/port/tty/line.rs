//! The line that is being edited on a terminal, and the bytes that bring the terminal from one state of it to the next.
//!
//! The line is what has been written since the last line feed: a cell for each code point, as wide as the terminal shows
//! it. It may take many rows of the terminal. Positions count code points, because `edlin` does.

use unicode_width::UnicodeWidthChar;

/// Cells that are kept: more than a terminal shows.
const KEPT: usize = 1 << 16;

/// What the terminal shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Charset {
    /// All characters.
    Utf8,
    /// Those of Latin-1, a byte each.
    Latin1,
    /// Those of ASCII.
    Ascii,
}

/// A code point on the screen.
#[derive(Clone, Copy)]
struct Cell {
    char: char,
    /// Columns that it takes.
    width: u8,
    form: Form,
}

/// How a code point shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As it is.
    Plain,
    /// As blanks.
    Blanks,
    /// `^X`
    Control,
    /// `\x{…}`, what there is no other way to show.
    Number,
    /// `\345`, a byte that the locale has no character for.
    Octal,
}

impl Cell {
    /// At a column of the screen, which a tab depends on.
    fn new(char: char, column: usize, charset: Charset) -> Cell {
        let (form, width) = match char {
            '\t' => (Form::Blanks, 8 - column % 8),
            '\0'..='\x1f' | '\x7f' => (Form::Control, 2),
            '\u{80}'..='\u{ff}' if charset == Charset::Ascii => (Form::Octal, 4),
            // OTP writes them as they are, and counts no column.
            '\u{80}'..='\u{9f}' if charset == Charset::Utf8 => (Form::Plain, 0),
            '\u{80}'..='\u{9f}' => (Form::Number, number(char).len()),
            '\u{100}'.. if charset != Charset::Utf8 => (Form::Number, number(char).len()),
            _ => (Form::Plain, char.width().unwrap_or(1)),
        };
        Cell { char, width: width as u8, form }
    }

    fn show(self, charset: Charset, out: &mut Vec<u8>) {
        match self.form {
            Form::Plain if charset == Charset::Utf8 => {
                out.extend_from_slice(self.char.encode_utf8(&mut [0; 4]).as_bytes())
            }
            Form::Plain => out.push(u8::try_from(u32::from(self.char)).unwrap_or(b'?')),
            Form::Blanks => out.resize(out.len() + usize::from(self.width), b' '),
            Form::Control => out.extend([b'^', self.char as u8 ^ 0x40]),
            Form::Number => out.extend_from_slice(number(self.char).as_bytes()),
            Form::Octal => out.extend_from_slice(format!("\\{:03o}", u32::from(self.char)).as_bytes()),
        }
    }
}

fn number(char: char) -> String {
    format!("\\x{{{:X}}}", u32::from(char))
}

/// A row and a column, both from 0.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Place {
    row: usize,
    column: usize,
}

/// The line, and the cursor in it.
pub struct Line {
    cells: Vec<Cell>,
    at: usize,
    /// Where the cell `at` is.
    here: Place,
    columns: usize,
    charset: Charset,
    /// What it is when it is not UTF-8.
    narrow: Charset,
    /// A row was just filled to its end: the terminal goes to the next with the next character only. False between operations.
    at_edge: bool,
    out: Vec<u8>,
}

impl Line {
    /// An empty line.
    pub fn new(charset: Charset) -> Line {
        Line {
            cells: Vec::new(),
            at: 0,
            here: Place::default(),
            columns: 80,
            charset,
            narrow: if charset == Charset::Ascii { charset } else { Charset::Latin1 },
            at_edge: false,
            out: Vec::new(),
        }
    }

    /// Whether characters go out as UTF-8, or as bytes.
    pub fn is_utf8(&self) -> bool {
        self.charset == Charset::Utf8
    }

    /// See [`Line::is_utf8`].
    pub fn set_utf8(&mut self, utf8: bool) {
        self.charset = if utf8 { Charset::Utf8 } else { self.narrow };
    }

    /// The terminal is so wide.
    pub fn set_columns(&mut self, columns: usize) {
        self.columns = columns.max(2);
        self.here = self.place(self.at);
    }

    /// Bytes to be written to the terminal.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Writes text over what is there.
    pub fn put(&mut self, text: &str) {
        let mut rest = text.chars();
        while let Some(char) = rest.next() {
            match char {
                '\n' => {
                    self.go(self.cells.len());
                    self.out.extend_from_slice(b"\r\n");
                    self.cells.clear();
                    (self.at, self.here, self.at_edge) = (0, Place::default(), false);
                }
                '\r' => self.go(0),
                '\x07' => self.beep(),
                '\x1b' => {
                    let after = escape(rest.as_str());
                    self.out.push(0x1b);
                    self.out.extend_from_slice(after.as_bytes());
                    rest = rest.as_str()[after.len()..].chars();
                }
                _ => self.overwrite(Cell::new(char, self.here.column, self.charset)),
            }
        }
        self.settle();
        self.forget();
    }

    /// Puts text between what is before and after the cursor.
    pub fn insert(&mut self, text: &str) {
        let new: Vec<Cell> = text.chars().map(|char| Cell::new(char, 0, self.charset)).collect();
        let end = self.at + new.len();
        self.cells.splice(self.at..self.at, new);
        self.show_from(self.at);
        self.back_to(end);
        self.settle();
    }

    /// Deletes code points: after the cursor, or before it if negative.
    pub fn delete(&mut self, count: i64) {
        let end = self.target(count);
        let (from, to) = (self.at.min(end), self.at.max(end));
        self.go(from);
        self.cells.drain(from..to);
        self.out.extend_from_slice(b"\x1b[J");
        self.show_from(from);
        self.back_to(from);
    }

    /// Moves the cursor over `count` code points, backwards if it is negative.
    pub fn move_by(&mut self, count: i64) {
        self.go(self.target(count));
    }

    /// Rings.
    pub fn beep(&mut self) {
        self.out.push(7);
    }

    fn target(&self, count: i64) -> usize {
        let steps = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        if count < 0 { self.at.saturating_sub(steps) } else { self.at.saturating_add(steps).min(self.cells.len()) }
    }

    fn overwrite(&mut self, cell: Cell) {
        match self.cells.get_mut(self.at) {
            Some(old) => *old = cell,
            None => self.cells.push(cell),
        }
        cell.show(self.charset, &mut self.out);
        self.at += 1;
        self.here = self.after(self.here, cell);
        self.at_edge = self.here.column == 0;
    }

    /// Writes the cells from here on; the cursor is at the first of them, and comes to the end of all.
    fn show_from(&mut self, first: usize) {
        for cell in &self.cells[first..] {
            cell.show(self.charset, &mut self.out);
        }
        self.at = self.cells.len();
        self.here = self.place(self.at);
        self.at_edge = first < self.at && self.here.column == 0;
    }

    fn back_to(&mut self, index: usize) {
        self.go(index);
        self.forget();
    }

    /// Where a cell is.
    fn place(&self, index: usize) -> Place {
        let before = &self.cells[..index.min(self.cells.len())];
        before.iter().fold(Place::default(), |place, cell| self.after(place, *cell))
    }

    /// Where the next cell is; a wide one that does not fit at the end of a row begins the next.
    fn after(&self, mut place: Place, cell: Cell) -> Place {
        let width = usize::from(cell.width);
        if cell.form == Form::Plain && place.column + width > self.columns {
            place = Place { row: place.row + 1, column: 0 };
        }
        let column = place.column + width;
        Place { row: place.row + column / self.columns, column: column % self.columns }
    }

    /// After a full row: has the terminal go to the next, as OTP does at the end of each operation.
    fn settle(&mut self) {
        if std::mem::take(&mut self.at_edge) {
            self.out.extend_from_slice(b" \x08");
        }
    }

    /// Moves the cursor to a cell.
    fn go(&mut self, index: usize) {
        if index == self.at {
            return;
        }
        self.settle();
        let (from, to) = (self.here, self.place(index));
        let mut step = |count: usize, letter: char| {
            if count > 0 {
                self.out.extend_from_slice(format!("\x1b[{count}{letter}").as_bytes());
            }
        };
        step(from.row.saturating_sub(to.row), 'A');
        step(to.row.saturating_sub(from.row), 'B');
        if to.column == 0 && from.column > 0 {
            self.out.push(b'\r');
        } else {
            step(from.column.saturating_sub(to.column), 'D');
            step(to.column.saturating_sub(from.column), 'C');
        }
        (self.at, self.here) = (index, to);
    }

    /// Drops cells that the cursor will not come back to: whole rows at the front of a very long line.
    fn forget(&mut self) {
        if self.cells.len() > KEPT && self.at == self.cells.len() {
            let rows = self.place(self.cells.len() - KEPT / 2).row;
            let (mut place, mut drop) = (Place::default(), 0);
            while place.row < rows {
                place = self.after(place, self.cells[drop]);
                drop += 1;
            }
            self.cells.drain(..drop);
            self.at -= drop;
            self.here = self.place(self.at);
        }
    }
}

/// The part of a text that belongs to the escape character before it: a control sequence, a string of the operating system,
/// or one character.
fn escape(text: &str) -> &str {
    let end = match text.as_bytes().first() {
        Some(b'[') => text.bytes().skip(1).position(|b| (0x40..0x7f).contains(&b)).map(|n| n + 2),
        Some(b']') => text.bytes().position(|b| b == 7).map(|n| n + 1),
        _ => text.chars().next().map(char::len_utf8),
    };
    &text[..end.filter(|n| text.is_char_boundary(*n)).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A terminal with the sequences that a line uses.
    struct Screen {
        rows: Vec<Vec<char>>,
        row: usize,
        column: usize,
        edge: bool,
        columns: usize,
    }

    impl Screen {
        fn new(columns: usize) -> Screen {
            Screen { rows: vec![Vec::new()], row: 0, column: 0, edge: false, columns }
        }

        fn feed(&mut self, bytes: &[u8]) {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let mut chars = text.chars();
            while let Some(c) = chars.next() {
                match c {
                    '\r' => (self.column, self.edge) = (0, false),
                    '\n' => self.down(),
                    '\x08' => self.column -= 1,
                    '\x1b' => {
                        assert_eq!(chars.next(), Some('['));
                        let mut count = 0;
                        let letter = loop {
                            match chars.next().unwrap() {
                                d if d.is_ascii_digit() => count = count * 10 + d.to_digit(10).unwrap() as usize,
                                letter => break letter,
                            }
                        };
                        self.edge = false;
                        match letter {
                            'A' => self.row -= count,
                            'B' => {
                                self.row += count;
                                assert!(self.row < self.rows.len());
                            }
                            'C' => self.column += count,
                            'D' => self.column -= count,
                            'J' => {
                                self.rows.truncate(self.row + 1);
                                self.rows[self.row].truncate(self.column);
                            }
                            other => panic!("{other}"),
                        }
                    }
                    // A combining character stays with the one before it.
                    c if c.width() == Some(0) => {}
                    c => {
                        if self.edge {
                            self.column = 0;
                            self.down();
                        }
                        let row = &mut self.rows[self.row];
                        for (i, part) in std::iter::once(c).chain((1..c.width().unwrap()).map(|_| '_')).enumerate() {
                            if row.len() <= self.column + i {
                                row.resize(self.column + i + 1, ' ');
                            }
                            row[self.column + i] = part;
                        }
                        self.column += c.width().unwrap();
                        self.edge = self.column == self.columns;
                        if self.edge {
                            self.column -= 1;
                        }
                    }
                }
            }
        }

        fn down(&mut self) {
            (self.row, self.edge) = (self.row + 1, false);
            if self.row == self.rows.len() {
                self.rows.push(Vec::new());
            }
        }

        fn text(&self) -> Vec<String> {
            self.rows.iter().map(|r| r.iter().collect::<String>().trim_end().to_owned()).collect()
        }
    }

    /// What is on the screen after some edits, and where the cursor is.
    fn shown(edits: impl FnOnce(&mut Line)) -> (Vec<String>, usize, usize) {
        let mut line = Line::new(Charset::Utf8);
        line.set_columns(10);
        edits(&mut line);
        let mut screen = Screen::new(10);
        screen.feed(&line.take_output());
        (screen.text(), screen.row, screen.column)
    }

    #[test]
    fn text_is_inserted_and_deleted_over_rows() {
        let (rows, row, column) = shown(|l| {
            l.put("1> ");
            l.insert("abcdefghijk");
            l.move_by(-9);
            l.insert("XY");
        });
        assert_eq!((rows, row, column), (vec!["1> abXYcde".to_owned(), "fghijk".to_owned()], 0, 7));
        let (rows, row, column) = shown(|l| {
            l.put("1> ");
            l.insert("abcdefghijk");
            l.delete(-5);
            l.move_by(-2);
            l.delete(1);
        });
        assert_eq!((rows, row, column), (vec!["1> abcdf".to_owned()], 0, 7));
    }

    #[test]
    fn the_terminal_goes_on_after_a_full_row() {
        let mut line = Line::new(Charset::Utf8);
        line.set_columns(10);
        line.put("0123456789");
        assert_eq!(line.take_output(), b"0123456789 \x08");
        line.put("0123456789\n0123456789");
        assert_eq!(line.take_output(), b"0123456789\r\n0123456789 \x08");
    }

    #[test]
    fn a_long_line_takes_time_in_proportion() {
        let mut line = Line::new(Charset::Utf8);
        line.put(&"a".repeat(400_000));
        assert!(line.take_output().len() >= 400_000);
    }

    #[test]
    fn a_full_row_is_followed_by_one_line_feed() {
        let (rows, row, column) = shown(|l| l.put("0123456789\nab"));
        assert_eq!((rows, row, column), (vec!["0123456789".to_owned(), "ab".to_owned()], 1, 2));
        let (rows, row, column) = shown(|l| {
            l.insert("0123456789");
            l.move_by(-1);
            l.move_by(1);
            l.insert("x");
        });
        assert_eq!((rows, row, column), (vec!["0123456789".to_owned(), "x".to_owned()], 1, 1));
    }

    #[test]
    fn wide_and_combining_characters_take_their_room() {
        let (rows, row, column) = shown(|l| {
            l.insert("日本e\u{301}x");
            l.move_by(-3);
            l.insert("-");
        });
        assert_eq!((rows[0].replace('_', "").as_str(), row, column), ("日本-ex", 0, 5));
    }

    #[test]
    fn control_characters_and_colours() {
        let (rows, ..) = shown(|l| l.put("a\u{1}b\tc"));
        assert_eq!(rows, ["a^Ab    c"]);
        let mut line = Line::new(Charset::Utf8);
        line.put("\x1b[31mred\x1b[0m!");
        assert_eq!(line.take_output(), b"\x1b[31mred\x1b[0m!");
        line.move_by(-4);
        assert_eq!(line.take_output(), b"\r");
    }

    #[test]
    fn c1_controls_go_out_as_they_are() {
        let mut line = Line::new(Charset::Utf8);
        line.put("a\u{85}b");
        assert_eq!(line.take_output(), "a\u{85}b".as_bytes());
        line.move_by(-3);
        assert_eq!(line.take_output(), b"\r");
        let mut line = Line::new(Charset::Latin1);
        line.put("\u{85}");
        assert_eq!(line.take_output(), b"\\x{85}");
    }

    #[test]
    fn latin_1_terminals_get_bytes() {
        let mut line = Line::new(Charset::Latin1);
        line.put("å∀");
        assert_eq!(line.take_output(), b"\xe5\\x{2200}");
        let mut line = Line::new(Charset::Ascii);
        line.put("aå∀");
        assert_eq!(line.take_output(), b"a\\345\\x{2200}");
    }
}
