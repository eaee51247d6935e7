//! The verbs beside asking.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Subcommand;
use clap_complete::Shell;

/// What can be done besides asking one question.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Ask one question after the other in one conversation
    Chat,
    /// Follow an ask to its ending; leaving does not cancel it
    Watch {
        /// The ask's ticket
        ticket: String,
        /// Only what comes after this event
        #[arg(long, value_name = "SEQ", default_value_t = 0)]
        after: u64,
    },
    /// Tell where an ask stands
    Status {
        /// The ask's ticket
        ticket: String,
    },
    /// End an ask
    Cancel {
        /// The ask's ticket
        ticket: String,
    },
    /// Sign in through the browser of any device, and stay signed in
    Login(Login),
    /// Forget the sign-in, and give its refresh token back
    Logout,
    /// Tell who is signed in, and until when
    Whoami,
    /// Run the service here, until Ctrl-C
    Serve(Serve),
    /// Tell what is missing, and how to mend it
    Doctor,
    /// Print a script that completes this command in a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Print the manual page
    Man,
}

/// How to sign in, where the provider wants more than its usual.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Login {
    /// The client id under which the provider knows this command
    #[arg(long, value_name = "ID", env = "ASK_CLIENT_ID", default_value = "ask-cli")]
    pub(crate) client_id: String,

    /// The scopes to ask for; `offline_access` among them lets the sign-in renew itself
    #[arg(long, value_name = "SCOPES", env = "ASK_SCOPE")]
    pub(crate) scope: Option<String>,

    /// The resource that the token is for, at a provider that wants it named so (RFC 8707)
    #[arg(long, value_name = "URI", env = "ASK_RESOURCE")]
    pub(crate) resource: Option<String>,

    /// The audience that the token is for, at a provider that wants it named so
    #[arg(long, value_name = "NAME", env = "ASK_AUDIENCE")]
    pub(crate) audience: Option<String>,
}

/// What to run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Serve {
    /// A file of NAME=value lines with the service's settings; the environment comes before it
    #[arg(long, value_name = "FILE", conflicts_with = "sample")]
    pub(crate) env_file: Option<PathBuf>,

    /// Run the sample stack instead: issuer, sample data, model stand-in and service
    #[arg(long)]
    pub(crate) sample: bool,

    /// Options for the program itself, behind `--`
    #[arg(last = true, value_name = "OPTION")]
    pub(crate) rest: Vec<OsString>,
}
