//! The listing of a form: one operation a line, the same text for the same form.

use std::fmt::{self, Display, Formatter};

use super::{
    Base, Binary, BlockId, Checked, Condition, End, FloatBinary, Form, Op, Place, Point, Region, Symbol, Type, Unary,
    Value, Variable, Width,
};

/// Names of things that have numbers.
macro_rules! numbered {
    ($($kind:ident $prefix:literal)*) => { $(
        impl Display for $kind {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )* };
}

numbered! { Value "v" Variable "var" BlockId "b" Symbol "s" Point "p" }

/// Names of things of which there are few.
macro_rules! named {
    ($($kind:ident { $($variant:ident $name:literal)* })*) => { $(
        impl Display for $kind {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $name,)* })
            }
        }
    )* };
}

named! {
    Type { Word "word" Float "float" }
    Region { Heap "heap" Stack "stack" Registers "registers" Other "other" }
    Width { U8 "u8" U16 "u16" U32 "u32" S32 "s32" Word "word" Float "float" }
    Binary {
        Add "add" Sub "sub" Mul "mul" And "and" Or "or" Xor "xor" ShiftLeft "shift_left" ShiftRight "shift_right"
        ShiftRightSigned "shift_right_signed" RotateLeft "rotate_left" DivideSigned "divide_signed" RemainderSigned "remainder_signed"
    }
    Unary { SwapBytes "swap_bytes" LeadingZeros "leading_zeros" }
    FloatBinary { Add "float_add" Sub "float_sub" Mul "float_mul" Div "float_div" }
    Condition {
        Equal "equal" NotEqual "not_equal" Less "less" LessOrEqual "less_or_equal" Greater "greater" GreaterOrEqual "greater_or_equal"
        Below "below" BelowOrEqual "below_or_equal" Above "above" AboveOrEqual "above_or_equal"
    }
    Checked { Add "checked_add" Sub "checked_sub" Mul "checked_mul" }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} [", self.region, self.width)?;
        match self.base {
            Base::Block => f.write_str("block")?,
            Base::Value(value) => write!(f, "{value}")?,
        }
        match self.offset {
            0 => f.write_str("]"),
            offset => write!(f, "{offset:+}]"),
        }
    }
}

/// Values with commas between them.
struct List<'a>(&'a [Value]);

impl Display for List<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, value) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{value}")?;
        }
        Ok(())
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(number) => write!(f, "source {number}"),
            Self::Word(to, number) if *number < 0x1_0000 => write!(f, "{to} = {number}"),
            Self::Word(to, number) => write!(f, "{to} = {number:#x}"),
            Self::Float(to, number) => write!(f, "{to} = {number:?}"),
            Self::Symbol(to, symbol) => write!(f, "{to} = {symbol}"),
            Self::Get(to, variable) => write!(f, "{to} = {variable}"),
            Self::Set(variable, from) => write!(f, "{variable} = {from}"),
            Self::Load(to, place) => write!(f, "{to} = {place}"),
            Self::Store(place, from) => write!(f, "{place} = {from}"),
            Self::Binary(to, what, a, b) => write!(f, "{to} = {what} {a}, {b}"),
            Self::Unary(to, what, a) => write!(f, "{to} = {what} {a}"),
            Self::Compare(to, what, a, b) => write!(f, "{to} = {what} {a}, {b}"),
            Self::Select(to, condition, a, b) => write!(f, "{to} = select {condition}, {a}, {b}"),
            Self::FloatBinary(to, what, a, b) => write!(f, "{to} = {what} {a}, {b}"),
            Self::FloatCompare(to, what, a, b) => write!(f, "{to} = float_{what} {a}, {b}"),
            Self::FloatBits(to, a) => write!(f, "{to} = float_bits {a}"),
            Self::BitsFloat(to, a) => write!(f, "{to} = bits_float {a}"),
            Self::ToFloat(to, a) => write!(f, "{to} = to_float {a}"),
            Self::Leaf(Some(to), target, arguments) => write!(f, "{to} = leaf {target}({})", List(arguments)),
            Self::Leaf(None, target, arguments) => write!(f, "leaf {target}({})", List(arguments)),
            Self::Counter(to) => write!(f, "{to} = counter"),
            Self::SetCounter(from) => write!(f, "counter = {from}"),
            Self::RareLeaf(target) => write!(f, "rare leaf {target}"),
        }
    }
}

impl Display for End {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jump(to) => write!(f, "jump {to}"),
            Self::Branch { condition, then, otherwise, likely } => {
                let usual = match likely {
                    None => "",
                    Some(true) => " (likely)",
                    Some(false) => " (unlikely)",
                };
                write!(f, "branch {condition}, {then}, {otherwise}{usual}")
            }
            Self::Checked { result, with, a, b, fits, overflows } => {
                write!(f, "{result} = {with} {a}, {b}, {fits}, {overflows}")
            }
            Self::Tail { target, sp, x } => write!(f, "tail {target}({sp}; {})", List(x)),
            Self::Call { target, sp, x, point, sp_after, x0_after, next } => {
                write!(f, "{sp_after}, {x0_after} = call {target}({sp}; {}), {point}, {next}", List(x))
            }
            Self::Visit { target, sp, what, point, sp_after, x0_after, next, rare } => {
                let usual = if *rare { " (rare)" } else { "" };
                write!(f, "{sp_after}, {x0_after} = visit {target}({sp}; {what}), {point}, {next}{usual}")
            }
            Self::Return { sp, x0 } => write!(f, "return {sp}, {x0}"),
        }
    }
}

impl Display for Form {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "form({})", List(&self.parameters))?;
        for (number, kind) in self.variables.iter().enumerate() {
            writeln!(f, "  var{number}: {kind}")?;
        }
        for entry in &self.points {
            writeln!(f, "  {}({}, {}): {}", entry.point, entry.sp, entry.x0, entry.block)?;
        }
        for (number, block) in self.blocks.iter().enumerate() {
            writeln!(f, "b{number}:")?;
            for op in &block.ops {
                writeln!(f, "  {op}")?;
            }
            writeln!(f, "  {}", block.end)?;
        }
        Ok(())
    }
}
