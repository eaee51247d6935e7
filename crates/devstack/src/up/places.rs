//! Where things lie: the programs of the stack, its data, its logs and its state file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The folders of a stack.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// This executable, which also launches the others.
    pub(crate) launcher: PathBuf,
    /// Where state, data and logs are written.
    pub(crate) run_dir: PathBuf,
}

impl Places {
    /// Finds the places. The run folder is the one given, else `devstack` under the build folder that this executable
    /// lies in, else `ask-devstack` under the person's runtime folder.
    pub(crate) fn find(given: Option<PathBuf>, runtime_dir: Option<&OsStr>) -> anyhow::Result<Self> {
        let launcher = std::env::current_exe().context("cannot tell where this program lies")?;
        let runtime_dir =
            runtime_dir.filter(|dir| !dir.is_empty()).map(|dir| Path::new(dir).join("ask-devstack"));
        let Some(run_dir) = given.or_else(|| build_dir(&launcher)).or(runtime_dir) else {
            bail!("there is no place for logs and data: give --run-dir, or set XDG_RUNTIME_DIR");
        };
        let run_dir =
            std::path::absolute(&run_dir).with_context(|| format!("cannot use {}", run_dir.display()))?;
        Ok(Self { launcher, run_dir })
    }

    /// The sample data, shared by all stacks of this run folder.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.run_dir.join("data")
    }

    /// The file that tells of the stack that is up.
    pub(crate) fn state_file(&self) -> PathBuf {
        self.run_dir.join("stack.json")
    }

    /// The logs of the stack that is up.
    pub(crate) fn logs_dir(&self) -> PathBuf {
        self.run_dir.join("logs")
    }

    /// The logs of a stack that lives for one command of this process.
    pub(crate) fn own_logs_dir(&self) -> PathBuf {
        self.run_dir.join(format!("logs-{}", std::process::id()))
    }
}

/// A program that lies beside `launcher`.
pub(crate) fn find_program(launcher: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let path = launcher.with_file_name(name);
    if path.is_file() {
        return Ok(path);
    }
    bail!("{name} is not beside {}; build the whole workspace first (cargo build)", launcher.display())
}

fn build_dir(launcher: &Path) -> Option<PathBuf> {
    let target = launcher.ancestors().find(|dir| dir.file_name() == Some(OsStr::new("target")))?;
    Some(target.join("devstack"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_folder_lies_in_the_build_folder() {
        assert_eq!(build_dir(Path::new("/w/target/debug/ask-devstack")), Some("/w/target/devstack".into()));
        assert_eq!(build_dir(Path::new("/w/target/x86/release/deps/t-1")), Some("/w/target/devstack".into()));
        assert_eq!(build_dir(Path::new("/usr/bin/ask-devstack")), None);
    }

    #[test]
    fn a_folder_that_is_given_wins() {
        let places = Places::find(Some("/elsewhere".into()), None).unwrap();
        assert_eq!(places.state_file(), Path::new("/elsewhere/stack.json"));
    }
}
