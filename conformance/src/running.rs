//! How a run is chosen, limited and reported: the same options for both contracts.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use crate::report::Report;

/// Which checks run, for how long, and where their report goes.
#[derive(Debug, Clone, Args)]
pub struct Running {
    /// Only checks whose id or title contains this; may be repeated.
    #[arg(long)]
    pub only: Vec<String>,

    /// List the checks and stop.
    #[arg(long)]
    pub list: bool,

    /// Write the report as JSON.
    #[arg(long)]
    pub json: Option<PathBuf>,

    /// Write the report as `JUnit` XML.
    #[arg(long)]
    pub junit: Option<PathBuf>,

    /// Seconds for everything; checks that are left then count as failed.
    #[arg(long, default_value_t = 900)]
    pub timeout: u64,

    /// Seconds for one check.
    #[arg(long, default_value_t = 60)]
    pub check_timeout: u64,

    /// PEM file with more root certificates to trust.
    #[arg(long)]
    pub ca: Option<PathBuf>,
}

impl Running {
    /// Writes the list of checks to the standard output.
    ///
    /// # Errors
    ///
    /// When the output takes no more.
    pub fn write_list(&self, checks: &[(&str, &str)]) -> anyhow::Result<ExitCode> {
        let mut out = std::io::stdout();
        for (id, title) in checks {
            writeln!(out, "{id:28} {title}")?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Writes the reports that were asked for, and gives the verdict as an exit code.
    ///
    /// # Errors
    ///
    /// When a report can't be written.
    pub fn write_reports(&self, report: &Report) -> anyhow::Result<ExitCode> {
        if let Some(path) = &self.json {
            std::fs::write(path, format!("{:#}\n", report.json()))
                .with_context(|| path.display().to_string())?;
        }
        if let Some(path) = &self.junit {
            std::fs::write(path, report.junit()).with_context(|| path.display().to_string())?;
        }
        Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Says a line on the standard output. A reader that has left does not change the verdict.
pub fn say(line: &str) {
    let _written = writeln!(std::io::stdout(), "{line}");
}
