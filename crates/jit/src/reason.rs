//! Why functions stay in tier 0, by number and name: for counts, and for who asks about a function.

use crate::compile::Why;
use crate::translate::Declined;
use myriad_native::code::Refused;

/// Was it the instructions, or what came of them?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Its instructions are not of a kind that is compiled.
    Declined,
    /// There is no code for its form, or no memory for its code.
    Refused,
}

/// Kind and name of each reason. A verdict ([`myriad_interp::verdict`]) is the place in here, from 1 on.
pub const REASONS: [(Kind, &str); 12] = [
    (Kind::Declined, "too_long"),
    (Kind::Declined, "too_many_registers"),
    (Kind::Declined, "unfit"),
    (Kind::Declined, "loops"),
    (Kind::Declined, "intrinsic"),
    (Kind::Refused, "bad_form"),
    (Kind::Refused, "too_large"),
    (Kind::Refused, "generator"),
    (Kind::Refused, "unexpected_code"),
    (Kind::Refused, "processor"),
    (Kind::Refused, "memory"),
    (Kind::Refused, "panic"),
];

/// The place of a reason in [`REASONS`]; `None` for what says nothing about the function.
pub(crate) fn place(why: &Why) -> Option<usize> {
    Some(match why {
        Why::Declined(Declined::TooLong) => 0,
        Why::Declined(Declined::TooManyRegisters) => 1,
        Why::Declined(Declined::Unfit) => 2,
        Why::Declined(Declined::Loops) => 3,
        Why::Declined(Declined::Intrinsic) => 4,
        Why::Refused(Refused::Form(_)) => 5,
        Why::Refused(Refused::TooLarge { .. }) => 6,
        Why::Refused(Refused::Generator(_)) => 7,
        Why::Refused(Refused::Unexpected(_)) => 8,
        Why::Refused(Refused::Processor) => 9,
        Why::Memory(_) => 10,
        Why::Refused(Refused::Panicked(_)) => 11,
        Why::Late => return None,
    })
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Why::Declined(_) => f.write_str(place(self).map_or("", |place| REASONS[place].1)),
            Why::Refused(refused) => write!(f, "{refused}"),
            Why::Memory(why) => write!(f, "no memory for code: {why}"),
            Why::Late => f.write_str("it has code already, or is gone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_native::memory::NoMemory;

    #[test]
    fn each_reason_has_a_name_of_its_kind() {
        let text = || "x".to_owned();
        let all = [
            (Why::Declined(Declined::Loops), Some((Kind::Declined, "loops"))),
            (Why::Declined(Declined::Intrinsic), Some((Kind::Declined, "intrinsic"))),
            (Why::Refused(Refused::Form(text())), Some((Kind::Refused, "bad_form"))),
            (Why::Refused(Refused::Unexpected(text())), Some((Kind::Refused, "unexpected_code"))),
            (Why::Memory(NoMemory::Full), Some((Kind::Refused, "memory"))),
            (Why::Refused(Refused::Panicked(text())), Some((Kind::Refused, "panic"))),
            (Why::Late, None),
        ];
        for (why, expected) in all {
            assert_eq!(place(&why).map(|place| REASONS[place]), expected);
        }
        assert_eq!(Why::Declined(Declined::TooLong).to_string(), "too_long");
    }
}
