//! Text of terms.

use crate::word::Term;
use std::fmt;

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_small() {
            Some(v) => write!(f, "{v}"),
            None => write!(f, "{:#x}", self.raw()),
        }
    }
}
