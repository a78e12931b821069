//! Tables and match specifications.
