//! The machine as recorded trees tell of it.

use super::topology::{Inside, Level, Part};
use super::trees::{self, Tree};
use super::{BindType, Machine, Place, Version};
use std::path::Path;

fn read(tree: &Tree) -> Machine {
    Machine::read_from(&tree.files())
}

fn place(machine: &Machine, number: usize) -> Place {
    machine.processors[number].place
}

#[test]
fn a_laptop_with_small_cores() {
    let machine = read(&trees::laptop());
    assert_eq!(machine.capacity().rounded_up(), 10);
    assert_eq!(place(&machine, 3), Place { thread: 1, core: 1, module: 1, ..Place::default() });
    let modules: Vec<u16> = machine.processors.iter().map(|p| p.place.module).collect();
    // A cluster of two is a module; one of four is not.
    assert_eq!(modules, [0, 0, 1, 1, 2, 2, 3, 4, 5, 6]);
    // OTP's order, which knows no clusters, and ours: what shares more comes later.
    assert_eq!(BindType::DEFAULT.order(&machine.topology().unwrap()), [0, 2, 4, 5, 6, 7, 8, 9, 1, 3]);
    assert_eq!(machine.order(BindType::DEFAULT, None), [0, 2, 4, 6, 7, 8, 9, 5, 1, 3]);
    assert_eq!(machine.order(BindType::NoSpread, None), (0..10).collect::<Vec<_>>());
}

#[test]
fn cores_that_share_their_instructions_are_a_module() {
    let tree = trees::modules("0-31");
    let places: Vec<[u16; 2]> = read(&tree).processors[..4].iter().map(|p| [p.place.core, p.place.module]).collect();
    assert_eq!(places, [[0, 0], [1, 0], [2, 1], [3, 1]]);
}

/// Kourai's machine and placements of 16 schedulers: `0-16` on one socket, `8-8` on both. One core of each module comes before its second one.
#[test]
fn schedulers_come_to_different_modules_first() {
    let first_and_second = |ranges: &[[u32; 2]]| -> Vec<u32> {
        let step = |from| move |[first, end]: &[u32; 2]| (first + from..*end).step_by(2);
        ranges.iter().flat_map(step(0)).chain(ranges.iter().flat_map(step(1))).collect()
    };
    for (mask, ranges) in [("16-31", &[[16, 32]][..]), ("0-7,16-23", &[[0, 8], [16, 24]])] {
        assert_eq!(read(&trees::modules(mask)).order(BindType::DEFAULT, None), first_and_second(ranges), "{mask}");
    }
    // Of some modules the mask has one core, and that one counts as a first.
    let machine = read(&trees::modules("0-1,3,18"));
    assert_eq!(machine.order(BindType::DEFAULT, None), [0, 3, 18, 1]);
    assert_eq!(machine.order(BindType::Spread, None), [0, 18, 3, 1]);
}

/// A mask with threads of which some are the only ones of their cores.
#[test]
fn schedulers_come_to_different_cores_first() {
    let tree = trees::server();
    tree.write("/proc/self/status", "Cpus_allowed_list:\t0,128-130,192\n");
    let machine = read(&tree);
    assert_eq!(machine.order(BindType::DEFAULT, None), [0, 129, 130, 192, 128]);
    assert_eq!(machine.order(BindType::NoNodeThreadSpread, None), [0, 129, 130, 128, 192]);
    assert_eq!(machine.order(BindType::NoSpread, None), [0, 128, 129, 130, 192]);
    assert_eq!(machine.order(BindType::Unbound, None), []);
    // A topology that is defined counts in place of the machine's, and of it what can be used.
    let defined = super::sct::parse("L0t0c0:L129t1c0:L130t0c1:L128t1c1:L5t0c2").unwrap();
    assert_eq!(machine.order(BindType::DEFAULT, Some(&defined)), [0, 130, 129, 128]);
    assert_eq!(machine.order(BindType::DEFAULT, Some(&super::sct::parse("L5c0").unwrap())), []);
}

/// On each tree, with each way to spread and with masks that leave one processor in so many: each processor that can be used comes once; no
/// module comes again while another one that the mask has did not come, and no core.
#[test]
fn nothing_is_shared_while_something_is_free() {
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for tree in [trees::laptop(), trees::server(), trees::modules("0-31"), Tree::new(trees::CONTAINER)] {
        let whole = read(&tree);
        for left in [1, 2, 2, 3, 3, 4, 8] {
            let mut machine = whole.clone();
            machine.processors.iter_mut().for_each(|p| p.is_allowed = draw(left) == 0);
            let usable = machine.usable();
            for (bind, ..) in BindType::NAMES {
                let order = machine.order(bind, None);
                let nodes_apart = matches!(bind, BindType::NoNodeThreadSpread | BindType::NoNodeProcessorSpread);
                let mut sorted = order.clone();
                sorted.sort_unstable();
                match bind {
                    BindType::Unbound => assert_eq!(order, []),
                    _ => assert_eq!(sorted, usable),
                }
                if matches!(bind, BindType::Unbound | BindType::NoSpread) {
                    continue;
                }
                let places = machine.places(&order);
                for node in 0..4 {
                    let of_node = places.iter().filter(|p| !nodes_apart || p.node == node);
                    let (modules, cores): (Vec<u16>, Vec<u16>) = of_node.map(|p| (p.module, p.core)).unzip();
                    assert!(come_apart(&modules) && come_apart(&cores), "{bind:?}: {places:?}");
                }
            }
        }
    }
}

/// Does each of them come once before any comes twice?
fn come_apart(all: &[u16]) -> bool {
    let different = super::numbers(all.iter().copied()).len();
    super::numbers(all[..different].iter().copied()).len() == different
}

#[test]
fn a_server() {
    let machine = read(&trees::server());
    assert_eq!(machine.processors.len(), 256);
    assert_eq!(place(&machine, 0), Place::default());
    assert_eq!(place(&machine, 255), Place { thread: 1, core: 127, module: 127, cache: 15, node: 1, socket: 1 });
    assert_eq!(place(&machine, 136), Place { thread: 1, core: 8, module: 8, cache: 1, ..Place::default() });
    let topology = machine.topology().unwrap();
    let [Part { level: Level::Node, inside: Inside::Parts(first) }, _] = &topology.parts()[..] else {
        panic!("{:?}", topology.parts());
    };
    assert!(
        matches!(&first[..], [Part { level: Level::Processor, inside: Inside::Parts(cores) }] if cores.len() == 64)
    );
    // Close together: both threads of a core. By default: all cores of one node, then those of the other, then second threads.
    assert_eq!(BindType::NoSpread.order(&topology)[..4], [0, 128, 1, 129]);
    let order = BindType::DEFAULT.order(&topology);
    assert_eq!([order[1], order[63], order[64], order[128]], [1, 63, 64, 128]);
    assert_eq!(BindType::Spread.order(&topology)[..4], [0, 64, 1, 65]);
    let places = machine.places(&order[62..66]);
    assert_eq!(places.iter().map(|p| p.node).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert_eq!(places.iter().map(|p| p.cache).collect::<Vec<_>>(), [7, 7, 8, 8]);
}

#[test]
fn a_socket_with_two_nodes() {
    let tree = Tree::new(&[
        ("/sys/devices/system/node/node0/cpulist", "0-1"),
        ("/sys/devices/system/node/node3/cpulist", "2-3"),
    ]);
    (0..4).for_each(|number| tree.processor(number, [0, number], "0-3"));
    let parts = read(&tree).topology().unwrap().parts();
    let [Part { level: Level::Processor, inside: Inside::Parts(nodes) }] = &parts[..] else { panic!("{parts:?}") };
    assert!(nodes.len() == 2 && nodes.iter().all(|node| node.level == Level::Node));
}

#[test]
fn containers() {
    let machine = read(&Tree::new(trees::CONTAINER));
    let quota = machine.quota.clone().unwrap();
    assert_eq!((quota.millis, quota.version), (2500, Version::Unified));
    assert_eq!(quota.group, Path::new("/sys/fs/cgroup/pods/one"));
    assert_eq!((machine.usable().len(), machine.capacity().rounded_up()), (4, 3));

    let machine = read(&Tree::new(trees::OLD_CONTAINER));
    let quota = machine.quota.clone().unwrap();
    assert_eq!((quota.millis, quota.version), (500, Version::Legacy));
    assert_eq!(quota.group, Path::new("/sys/fs/cgroup/cpu/a"));
    assert_eq!(machine.capacity().rounded_up(), 1);

    let tree = Tree::new(trees::CONTAINER);
    for nothing in ["0 100000", "1 100000"] {
        tree.write("/sys/fs/cgroup/pods/one/cpu.max", nothing);
        assert_eq!(read(&tree).capacity().rounded_up(), 1, "{nothing}");
    }
}

#[test]
fn offline_processors_are_not_used() {
    let machine = read(&Tree::new(trees::OFFLINE));
    assert_eq!((machine.processors.len(), machine.usable()), (4, vec![2]));
    assert_eq!(machine.topology().unwrap().entries().iter().map(|e| e.logical).collect::<Vec<_>>(), [0, 2]);
    // A mask of offline ones alone: this runs somewhere all the same.
    let tree = Tree::new(trees::OFFLINE);
    tree.write("/proc/self/status", "Cpus_allowed_list:\t1,3\n");
    assert_eq!(read(&tree).usable(), [0]);
}

#[test]
fn where_nothing_is_told_there_is_a_processor() {
    for files in [&[][..], &[("/proc/self/status", "")], &[("/proc/self/status", "Cpus_allowed_list:\n")]] {
        let machine = read(&Tree::new(files));
        assert_eq!((machine.usable(), machine.capacity().rounded_up()), (vec![0], 1));
        assert!(machine.topology().is_some());
    }
    // Without sysfs the mask tells.
    let machine = read(&Tree::new(&[("/proc/self/status", "Cpus_allowed_list:\t4-5,9\n")]));
    assert_eq!(machine.usable(), [4, 5, 9]);
    assert_eq!(machine.topology().unwrap().entries().len(), 3);
}

/// Every file of a tree in turn says something else, or cannot be read: the machine still has a processor, and reading ends.
#[test]
fn broken_files() {
    let huge = "9,".repeat(20_000);
    let wrong =
        ["", "\n", "-1", "x", "0-", "99999999999999999999", "4294967295", "0-65535", "\u{0}\u{1}", "0,1,2,3", &huge];
    for files in [trees::CONTAINER, trees::OLD_CONTAINER, trees::VIRTUAL, trees::OFFLINE] {
        for (path, text) in files {
            let tree = Tree::new(files);
            for wrong in wrong {
                tree.write(path, wrong);
                let machine = read(&tree);
                let usable = machine.usable().len();
                assert!((1..=4).contains(&usable), "{path}: {usable}");
                assert!((1..=usable).contains(&machine.capacity().rounded_up()), "{path}");
                assert!(machine.topology().is_some(), "{path}");
                assert!(super::Watch::new(tree.files()).look(0).is_some());
            }
            // A directory in the place of a file, then nothing.
            let place = tree.root().join(path.trim_start_matches('/'));
            std::fs::remove_file(&place).unwrap();
            std::fs::create_dir(&place).unwrap();
            assert!(!read(&tree).usable().is_empty());
            std::fs::remove_dir(&place).unwrap();
            assert!(!read(&tree).usable().is_empty());
            tree.write(path, text);
            assert_eq!(read(&tree), read(&Tree::new(files)));
        }
    }
}

/// The machine that the tests run on.
#[test]
fn this_machine() {
    let machine = Machine::read();
    assert!(super::available_parallelism() >= 1 && super::configured_processors() >= machine.usable().len());
    assert!(machine.topology().is_some());
}
