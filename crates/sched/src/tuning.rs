//! What the command line says of waking, searching and balancing.

/// `+scl`, `+sub`, `+sbwt`, `+swt`, `+swct`, `+JMcache`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// The number of active schedulers follows the work (`+scl true`, which `+sub true` excludes).
    pub compacts: bool,
    /// How long a scheduler without work searches for some before it parks, nanoseconds.
    pub search_ns: u64,
    /// When others are woken.
    pub wakes: Wakes,
    /// Schedulers that sleep are woken to give memory back when so many bytes have been freed.
    pub cleanup_bytes: usize,
    /// A process that waits hands its core to the one that it has woken (`+JMcache`; Hedqvist 1998, 5.2.8).
    pub caches: bool,
}

/// When a scheduler that has more to do than it runs wakes another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wakes {
    /// At once where work comes to be shared, and at the end of each slice where some still is.
    Soon,
    /// At once, and where work has waited for about a slice.
    Medium,
    /// Where it has waited for about so many slices.
    Late(u32),
}

impl Default for Tuning {
    fn default() -> Tuning {
        let (search_ns, cleanup_bytes) = (SEARCH_NS[3], CLEANUP_BYTES[2]);
        Tuning { compacts: true, search_ns, wakes: Wakes::Medium, cleanup_bytes, caches: true }
    }
}

/// By the values of `+sbwt`: `none`, `very_short`, `short`, `medium`, `long`, `very_long`. The default is what a wake-up takes, some times over: a
/// search that goes on for longer costs more than it saves. One scheduler searches at a time, so nothing is used once all sleep.
const SEARCH_NS: [u64; 6] = [0, 5_000, 10_000, 20_000, 50_000, 200_000];

/// By the values of `+swct`: `very_eager`, `eager`, `medium`, `lazy`, `very_lazy`. The default is about what an idle VM takes, so that what lies unused
/// for long is seldom more than half of a small program's memory; each step is a factor of four, OTP's own thresholds being documented nowhere.
const CLEANUP_BYTES: [usize; 5] = [2 << 20, 8 << 20, 32 << 20, 128 << 20, 512 << 20];

impl Tuning {
    /// `+sbwt`, by the place of the value among those of [`SEARCH_NS`].
    pub fn set_search(&mut self, value: usize) {
        self.search_ns = SEARCH_NS[value.min(SEARCH_NS.len() - 1)];
    }

    /// `+swt`, by the place of the value in `very_low`, `low`, `medium`, `high`, `very_high`. As OTP counts work that waits, `high` and `very_high`
    /// let four and sixteen times as much go by as `medium`; how much that is there is not documented.
    pub fn set_wakes(&mut self, value: usize) {
        self.wakes = [Wakes::Soon, Wakes::Soon, Wakes::Medium, Wakes::Late(4), Wakes::Late(16)][value.min(4)];
    }

    /// `+swct`, by the place of the value among those of [`CLEANUP_BYTES`].
    pub fn set_cleanup(&mut self, value: usize) {
        self.cleanup_bytes = CLEANUP_BYTES[value.min(CLEANUP_BYTES.len() - 1)];
    }
}
