//! Becoming another program that dies with its parent.
//!
//! A child must not outlive a parent that was killed and could clean nothing up. The kernel can see to that, when the
//! child asks for it itself before it becomes the program it is meant to be. So the parent starts this executable
//! once more, which asks, makes sure that the parent is still there, and then turns into the program. The process id
//! stays the same, and the program needs to know nothing of it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};

/// The hidden subcommand that does it: `bound PARENT_ID PROGRAM [ARGS]`.
pub(crate) const VERB: &str = "bound";

/// Turns this process into `program`. Returns only when that fails.
pub(crate) fn become_program(parent: i32, program: &OsString, args: &[OsString]) -> anyhow::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        set_parent_process_death_signal(Some(Signal::KILL))
            .context("cannot be bound to the parent process")?;
        if getppid().map(rustix::process::Pid::as_raw_pid) != Some(parent) {
            bail!("the parent process is gone");
        }
    }
    let err = Command::new(program).args(args).exec();
    Err(err).with_context(|| format!("cannot run {}", program.display()))
}
