//! Reading and validating .beam files.
