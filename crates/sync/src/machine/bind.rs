//! In which order schedulers are bound to the logical processors of a topology.
//!
//! Each way is an order of the levels: what stands first in a key differs last between neighbours, so a level that is compared late is
//! filled first. Which level comes where is what OTP's documentation of `erlang:system_flag(scheduler_bind_type, _)` says in words.

use super::topology::Topology;

/// How schedulers are bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BindType {
    /// Not at all: the operating system places them.
    #[default]
    Unbound,
    /// As close together as possible.
    NoSpread,
    /// Over the cores first.
    ThreadSpread,
    /// Over the processors first, within them over cores.
    ProcessorSpread,
    /// As far apart as possible.
    Spread,
    /// One node after the other, each as in [`BindType::ThreadSpread`].
    NoNodeThreadSpread,
    /// One node after the other, each as in [`BindType::ProcessorSpread`].
    NoNodeProcessorSpread,
    /// Over cores first, and of those one node after the other, each as in [`BindType::ProcessorSpread`].
    ThreadNoNodeProcessorSpread,
}

impl BindType {
    /// What `db` and `default_bind` stand for.
    pub const DEFAULT: BindType = BindType::ThreadNoNodeProcessorSpread;

    /// Each way, as the flags `+sbt` and `+stbt` call it, and as Erlang programs do.
    pub const NAMES: [(BindType, &str, &str); 9] = [
        (BindType::Unbound, "u", "unbound"),
        (BindType::NoSpread, "ns", "no_spread"),
        (BindType::ThreadSpread, "ts", "thread_spread"),
        (BindType::ProcessorSpread, "ps", "processor_spread"),
        (BindType::Spread, "s", "spread"),
        (BindType::NoNodeThreadSpread, "nnts", "no_node_thread_spread"),
        (BindType::NoNodeProcessorSpread, "nnps", "no_node_processor_spread"),
        (BindType::ThreadNoNodeProcessorSpread, "tnnps", "thread_no_node_processor_spread"),
        (BindType::DEFAULT, "db", "default_bind"),
    ];

    /// By the flag's word.
    pub fn of_flag(word: &str) -> Option<BindType> {
        Self::NAMES.iter().find(|(_, flag, _)| *flag == word).map(|(bind, ..)| *bind)
    }

    /// By the atom's name.
    pub fn of_name(name: &str) -> Option<BindType> {
        Self::NAMES.iter().find(|(.., atom)| *atom == name).map(|(bind, ..)| *bind)
    }

    /// The atom's name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(bind, ..)| *bind == self).map_or("unbound", |(.., atom)| atom)
    }

    /// The logical processors in the order in which schedulers are bound to them; none where they are not bound.
    pub fn order(self, topology: &Topology) -> Vec<u32> {
        self.order_with_twins(topology, |_| 0)
    }

    /// The same, where cores share a front end: `twin` says, of a logical processor's core, how many of the others come before it. OTP's levels have no
    /// such thing; it comes where hardware threads come, which share even more.
    pub(super) fn order_with_twins(self, topology: &Topology, twin: impl Fn(u32) -> usize) -> Vec<u32> {
        if self == BindType::Unbound {
            return Vec::new();
        }
        let mut all = topology.ranks();
        all.sort_by_key(|(logical, rank)| self.key(*rank, twin(*logical)));
        all.into_iter().map(|(logical, _)| logical).collect()
    }

    /// `node` is what stands alone: a node, or a processor that has `inner` ones.
    fn key(self, [node, processor, inner, core, thread]: [usize; 5], twin: usize) -> [usize; 6] {
        match self {
            BindType::Unbound | BindType::NoSpread => [node, processor, inner, core, thread, twin],
            BindType::ThreadSpread => [thread, twin, node, processor, inner, core],
            BindType::ProcessorSpread => [thread, twin, inner, core, node, processor],
            BindType::Spread => [thread, twin, core, inner, processor, node],
            BindType::NoNodeThreadSpread => [node, inner, thread, twin, processor, core],
            BindType::NoNodeProcessorSpread => [node, inner, thread, twin, core, processor],
            BindType::ThreadNoNodeProcessorSpread => [thread, twin, node, inner, core, processor],
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::BindType;
    use crate::machine::sct;

    fn orders(topology: &str) -> Vec<(&'static str, Vec<u32>)> {
        let topology = sct::parse(topology).unwrap();
        BindType::NAMES[1..8].iter().map(|(bind, flag, _)| (*flag, bind.order(&topology))).collect()
    }

    /// As OTP 25 binds 16 schedulers.
    #[test]
    fn nodes_that_have_processors() {
        let topology = "L0-1t0-1c0p0n0:L2-3t0-1c1p0n0:L4-5t0-1c2p1n0:L6-7t0-1c3p1n0:L8-9t0-1c4p2n1:L10-11t0-1c5p2n1:\
                        L12-13t0-1c6p3n1:L14-15t0-1c7p3n1";
        assert_eq!(
            orders(topology),
            [
                ("ns", vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
                ("ts", vec![0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15]),
                ("ps", vec![0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15]),
                ("s", vec![0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]),
                ("nnts", vec![0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15]),
                ("nnps", vec![0, 4, 2, 6, 1, 5, 3, 7, 8, 12, 10, 14, 9, 13, 11, 15]),
                ("tnnps", vec![0, 4, 2, 6, 8, 12, 10, 14, 1, 5, 3, 7, 9, 13, 11, 15]),
            ]
        );
    }

    /// As OTP 25 binds 16 schedulers.
    #[test]
    fn nodes_that_are_parts_of_processors() {
        let topology = "L0-1t0-1c0n0p0:L2-3t0-1c1n0p0:L4-5t0-1c2n1p0:L6-7t0-1c3n1p0:L8-9t0-1c4n2p1:L10-11t0-1c5n2p1:\
                        L12-13t0-1c6n3p1:L14-15t0-1c7n3p1";
        assert_eq!(
            orders(topology),
            [
                ("ns", vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
                ("ts", vec![0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15]),
                ("ps", vec![0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15]),
                ("s", vec![0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]),
                ("nnts", vec![0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15]),
                ("nnps", vec![0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15]),
                ("tnnps", vec![0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15]),
            ]
        );
    }

    /// As OTP 25 binds 32 schedulers: what stands alone comes in the order of its first processor.
    #[test]
    fn nodes_of_both_kinds() {
        let topology = "L0-1t0-1c0p0n0:L2-3t0-1c1p0n0:L4-5t0-1c0p1n0:L6-7t0-1c1p1n0:L8-9t0-1c0n1p2:L10-11t0-1c1n1p2:L12-13t0-1c2n2p2:L14-15t0-1c3n2p2:\
                        L16-17t0-1c0p3n3:L18-19t0-1c1p3n3:L20-21t0-1c0p4n3:L22-23t0-1c1p4n3:L24-25t0-1c0n4p5:L26-27t0-1c1n4p5:L28-29t0-1c2n5p5:L30-31t0-1c3n5p5";
        let topology = sct::parse(topology).unwrap();
        for (flag, order) in [
            ("ns", (0..32).collect::<Vec<u32>>()),
            (
                "s",
                vec![
                    0, 8, 16, 24, 4, 20, 12, 28, 2, 10, 18, 26, 6, 22, 14, 30, 1, 9, 17, 25, 5, 21, 13, 29, 3, 11, 19,
                    27, 7, 23, 15, 31,
                ],
            ),
            (
                "nnts",
                vec![
                    0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15, 16, 18, 20, 22, 17, 19, 21, 23, 24, 26, 25,
                    27, 28, 30, 29, 31,
                ],
            ),
            (
                "tnnps",
                vec![
                    0, 4, 2, 6, 8, 10, 12, 14, 16, 20, 18, 22, 24, 26, 28, 30, 1, 5, 3, 7, 9, 11, 13, 15, 17, 21, 19,
                    23, 25, 27, 29, 31,
                ],
            ),
        ] {
            assert_eq!(BindType::of_flag(flag).unwrap().order(&topology), order, "{flag}");
        }
        for (topology, order) in [
            ("L0c0p5n0:L1c0n7p2", vec![1, 0]),
            ("L0c0p3n6:L1c0n2p5", vec![0, 1]),
            ("L0c0p5n0:L1c0p2n1:L2c0n7p3", vec![1, 2, 0]),
        ] {
            assert_eq!(BindType::NoSpread.order(&sct::parse(topology).unwrap()), order, "{topology}");
        }
    }

    #[test]
    fn each_way_has_its_names() {
        for (bind, flag, name) in BindType::NAMES {
            assert_eq!((BindType::of_flag(flag), BindType::of_name(name)), (Some(bind), Some(bind)));
        }
        assert_eq!(BindType::of_flag("db").unwrap().name(), "thread_no_node_processor_spread");
        assert_eq!((BindType::of_flag("x"), BindType::of_name("ns")), (None, None));
        assert!(BindType::Unbound.order(&sct::parse("L0-1c0-1").unwrap()).is_empty());
    }
}
