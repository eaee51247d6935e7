//! Version 1 of the contract's calls: a folder per resource, a file per verb.

pub(super) mod asks;
pub(super) mod conversations;
