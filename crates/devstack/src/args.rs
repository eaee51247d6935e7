//! What `ask-devstack` can be told to do.
#![expect(clippy::doc_markdown, reason = "these comments are shown on a terminal, where backticks are noise")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::up::{StandInKind, StandInPlan};

/// The sample stack: an issuer, a model stand-in and sample data around the ask service and its executor.
///
/// For development on one machine. The issuer asks for no password. A real model endpoint is used instead of the
/// stand-in when DAS_LLM_BASE_URL or DAS_LLM_API_KEY is set, with DAS_LLM_PROTOCOL and DAS_MODEL.
#[derive(Debug, Parser)]
#[command(name = "ask-devstack", version, max_term_width = 100)]
pub(crate) struct Args {
    /// Where state, data and logs go [default: devstack under the build folder, else under XDG_RUNTIME_DIR]
    #[arg(long, value_name = "DIR", env = "ASK_DEVSTACK_DIR", global = true)]
    pub(crate) run_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Serve the sample issuer alone
    Identity {
        /// Its port; 0 for any free one
        #[arg(long, default_value_t = 8090)]
        port: u16,
    },
    /// Serve the model stand-in alone
    Model {
        /// Its port; 0 for any free one
        #[arg(long, default_value_t = 8092)]
        port: u16,
        #[command(flatten)]
        model: ModelArgs,
    },
    /// Write the sample data, unless they are there already
    Data {
        /// Where to [default: data in the run folder]
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Start everything and keep it up until Ctrl-C
    Up {
        /// The ask service's port
        #[arg(long, default_value_t = 8091)]
        port: u16,
        /// The web console's port [default: any free one]
        #[arg(long, value_name = "PORT", overrides_with = "console_port")]
        console_port: Option<u16>,
        #[command(flatten)]
        model: ModelArgs,
    },
    /// Run a command with the stack that is up, else with one for the life of the command
    ///
    /// The command finds the stack through ASK_BASE_URL, ASK_ISSUER and ASK_TOKEN_URL. Its exit code becomes this one's.
    Run {
        /// Start a stack of its own with the ask service on this port
        #[arg(long)]
        port: Option<u16>,
        #[command(flatten)]
        model: ModelArgs,
        /// Keep the logs of a stack that lived for the command
        #[arg(long)]
        keep_logs: bool,
        /// The command and its arguments
        #[arg(required = true, last = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Tell where the stack that is up can be reached
    Status,
    /// Become another program that dies with this parent
    #[command(hide = true)]
    Bound {
        parent: i32,
        program: OsString,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

/// How the model stand-in answers.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct ModelArgs {
    /// Which stand-in answers when no model endpoint is set
    #[arg(long, value_enum, default_value_t = StandInKind::Analyst, env = "ASK_DEVSTACK_MODEL")]
    stand_in: StandInKind,
    /// How long the stand-in takes for each turn, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0, env = "ASK_DEVSTACK_TURN_DELAY_MS")]
    turn_delay_ms: u64,
}

impl From<ModelArgs> for StandInPlan {
    fn from(args: ModelArgs) -> Self {
        Self { kind: args.stand_in, turn_delay: Duration::from_millis(args.turn_delay_ms) }
    }
}
