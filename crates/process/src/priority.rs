//! The priorities of processes.

/// Erlang's four priorities.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Priority {
    /// `max`
    Max = 0,
    /// `high`
    High = 1,
    /// `normal`
    Normal = 2,
    /// `low`
    Low = 3,
}

impl Priority {
    /// From its number.
    pub const fn from_bits(bits: u8) -> Priority {
        match bits {
            0 => Priority::Max,
            1 => Priority::High,
            3 => Priority::Low,
            _ => Priority::Normal,
        }
    }
}
