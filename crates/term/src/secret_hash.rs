//! The hash of what programs outside may name (texts of atoms, exports, funs): it starts from a secret of this process, so that names which
//! meet in a table cannot be chosen.

use foldhash::SharedSeed;
use foldhash::fast::SeedableRandomState;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Where runs are to repeat, the same seed each time ([`myriad_sync::REPEATS`]).
static KNOWN: SharedSeed = SharedSeed::from_u64(0);

/// Another one each time.
pub(crate) fn secret_hash() -> SeedableRandomState {
    if myriad_sync::REPEATS {
        SeedableRandomState::with_seed(0, &KNOWN)
    } else {
        SeedableRandomState::with_seed(RandomState::new().build_hasher().finish(), SharedSeed::global_random())
    }
}
