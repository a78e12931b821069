//! Process heaps, fragments, off-heap binaries and the collectors.
