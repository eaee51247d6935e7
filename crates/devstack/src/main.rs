//! The sample stack's command.

fn main() {}
