//! Any bytes are a crash dump that can be shown, or none.

use myriad_observe::dump_file::DumpFile;

/// How many processes are shown of a dump.
const SHOWN: usize = 3;

/// `myriad heap`.
pub fn crash_dump(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(dump) = DumpFile::parse(&text) else { return };
    assert!(dump.summary().lines().count() >= dump.pids().count());
    for pid in dump.pids().take(SHOWN) {
        let shown = dump.process(pid).expect("a process of the dump");
        assert!(shown.starts_with(pid));
    }
}
