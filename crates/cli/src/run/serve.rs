//! Becoming the service, or the sample stack.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Serve;
use crate::exit::Exit;
use crate::screen::Screen;

/// Replaces this process by the program; returns only when that fails.
pub(super) fn serve(screen: &mut Screen, serve: Serve) -> Exit {
    let Serve { env_file, sample, rest } = serve;
    let name = if sample { "ask-devstack" } else { "ask-service" };
    let configured = env_file.is_some() || !rest.is_empty() || is_configured();
    if !sample && !configured {
        screen.problem(
            "the service has no settings: give --env-file FILE, or set the DAS_ variables of docs/operations.md; \
             `ask serve --sample` runs it with sample data",
        );
        return Exit::Usage;
    }
    let Some(program) = find(name) else {
        screen.problem(&format!(
            "{name} is neither beside this program nor on the PATH: build it with `make build`, or install it there"
        ));
        return Exit::Error;
    };
    let mut command = Command::new(&program);
    if sample {
        command.arg("up");
    }
    if let Some(file) = env_file {
        command.arg("--env-file").arg(file);
    }
    let err = command.args(rest).exec();
    screen.problem(&format!("can't run {}: {err}", program.display()));
    Exit::Error
}

/// Whether the environment holds any setting of the service.
fn is_configured() -> bool {
    std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with("DAS_"))
}

/// A program of this project: beside this one, else on the `PATH`.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|own| own.parent().map(Path::to_owned));
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    beside
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}
