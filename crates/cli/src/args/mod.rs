//! The command line.

mod verb;

use std::path::PathBuf;

use ask_client::Base;
use ask_contract::Effort;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};

pub(crate) use verb::{Login, Serve, Verb};

use crate::exit::TABLE;

/// Where the service listens unless told otherwise.
const DEFAULT_BASE: &str = "http://127.0.0.1:8091";

/// Ask a question of governed data and read the answer with its definitions, its SQL and its caveats.
///
/// The answer goes to standard output. Progress, and the endings that are no answer, go to standard error.
#[derive(Debug, Parser)]
#[command(name = "ask", version, after_help = TABLE, subcommand_negates_reqs = true)]
#[command(
    override_usage = "ask [OPTIONS] QUESTION...\n       ask [OPTIONS] <watch|status|cancel> TICKET\n       \
        ask [OPTIONS] <chat|login|logout|whoami|serve|doctor|man>\n       ask completions SHELL"
)]
pub struct Args {
    /// The question, in one or more words; `-` reads it from standard input
    #[arg(value_name = "QUESTION", required = true)]
    pub(crate) question: Vec<String>,

    /// Ask this next, in the same conversation; may be repeated
    #[arg(long, value_name = "QUESTION")]
    pub(crate) then: Vec<String>,

    /// Ask within this conversation instead of a new one
    #[arg(long, value_name = "ID", global = true)]
    pub(crate) conversation: Option<String>,

    /// Ask without the catalog's meanings, to see what they are worth
    #[arg(long, global = true)]
    pub(crate) no_context: bool,

    /// The model for this ask
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) model: Option<String>,

    /// How hard the model should try: low, medium, high, xhigh or max
    #[arg(long, value_name = "EFFORT", global = true)]
    pub(crate) effort: Option<Effort>,

    /// Break the ask off after so many seconds, if that is sooner than the service's own limit
    #[arg(long, value_name = "SECONDS", global = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) deadline: Option<u32>,

    #[command(flatten)]
    pub(crate) access: Access,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,

    /// Which of the credentials were named on the command line itself.
    #[arg(skip)]
    pub(crate) named: Named,
}

/// Where the service is, and who asks.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Access")]
pub(crate) struct Access {
    /// The service's root, with a gateway's path where there is one
    #[arg(
        long,
        value_name = "URL",
        env = "ASK_BASE_URL",
        default_value = DEFAULT_BASE,
        global = true
    )]
    #[arg(value_parser = parse_base)]
    pub(crate) base: Base,

    /// A bearer token; visible to others on this machine, so prefer the variable
    #[arg(long, value_name = "TOKEN", env = "ASK_TOKEN", hide_env_values = true, global = true)]
    pub(crate) token: Option<String>,

    /// A file that holds a bearer token
    #[arg(long, value_name = "FILE", env = "ASK_TOKEN_FILE", global = true)]
    pub(crate) token_file: Option<PathBuf>,

    /// Sign in as this person at a development issuer, which `ASK_TOKEN_URL` names
    #[arg(long, value_name = "NAME", env = "ASK_USER", global = true)]
    pub(crate) user: Option<String>,

    /// The token endpoint for --user
    #[arg(long, value_name = "URL", env = "ASK_TOKEN_URL", global = true, hide = true)]
    pub(crate) token_url: Option<String>,

    /// The identity provider (OIDC) to sign in at, with `ask login`
    #[arg(long, value_name = "URL", env = "ASK_ISSUER", global = true)]
    pub(crate) issuer: Option<String>,

    /// Certificate authorities to trust instead of the public ones, as PEM
    #[arg(long, value_name = "FILE", env = "ASK_CA_FILE", global = true)]
    pub(crate) ca_file: Option<PathBuf>,
}

/// What is shown, and how.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Output {
    /// Print every event as one line of JSON, as received, and nothing else
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// How to print the answer
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, global = true)]
    pub(crate) format: Format,

    /// Draw the rows as bars, or as a line where the first column is a date
    #[arg(long, global = true)]
    pub(crate) chart: bool,

    /// Show the SQL that ran
    #[arg(long, global = true, overrides_with = "no_sql")]
    pub(crate) sql: bool,

    /// Leave out the SQL that ran; the default
    #[arg(long, global = true, overrides_with = "sql", hide = true)]
    pub(crate) no_sql: bool,

    /// Rows of the result to show in a table; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 40, global = true)]
    pub(crate) rows: usize,

    /// Show the work on standard error: tool calls, connections, tokens
    #[arg(long, global = true)]
    pub(crate) trace: bool,

    /// No progress on standard error
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    /// When to use colour; auto means on a terminal, unless `NO_COLOR` is set
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true)]
    pub(crate) color: Colour,
}

/// A layout of the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Everything, for a person: headline, text, table, definitions, SQL, caveats, path
    #[default]
    #[value(alias = "text")]
    Table,
    /// The result's rows alone; text and caveats go to standard error
    Csv,
    /// The ending event as one line of JSON
    Json,
    /// Everything, in Markdown
    Markdown,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Which credentials the command line itself names; those win over the environment's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) token: bool,
    pub(crate) token_file: bool,
    pub(crate) user: bool,
}

impl Args {
    /// Reads the process's arguments and environment; on bad usage, or for `--help`, prints and exits.
    pub fn from_command_line() -> Self {
        let matches = Self::command().get_matches();
        Self::read(&matches).unwrap_or_else(|err| err.exit())
    }

    fn read(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::from_arg_matches(matches)?;
        args.named = Named::read(matches);
        args.refuse_contradictions()?;
        Ok(args)
    }

    fn refuse_contradictions(&self) -> Result<(), clap::Error> {
        let refuse = |kind, text: &str| Err(Self::command().error(kind, text));
        let Named { token, token_file, user } = self.named;
        if usize::from(token) + usize::from(token_file) + usize::from(user) > 1 {
            return refuse(
                clap::error::ErrorKind::ArgumentConflict,
                "only one of --token, --token-file and --user can say who asks",
            );
        }
        if self.output.chart && (self.output.json || self.output.format != Format::Table) {
            return refuse(
                clap::error::ErrorKind::ArgumentConflict,
                "--chart draws for a person: it goes with --format table alone",
            );
        }
        let asks = self.verb.is_none();
        if asks && self.question.join(" ").trim().is_empty()
            || self.then.iter().any(|then| then.trim().is_empty())
        {
            return refuse(clap::error::ErrorKind::InvalidValue, "the question is blank");
        }
        Ok(())
    }
}

impl Named {
    fn read(matches: &ArgMatches) -> Self {
        // An option behind a verb is recorded with the verb.
        let below = matches.subcommand().map(|(_, below)| below);
        let named = |id| {
            [Some(matches), below]
                .into_iter()
                .flatten()
                .any(|matches| matches.value_source(id) == Some(ValueSource::CommandLine))
        };
        Self { token: named("token"), token_file: named("token_file"), user: named("user") }
    }
}

fn parse_base(text: &str) -> Result<Base, String> {
    // An empty variable counts as none.
    Base::parse(if text.is_empty() { DEFAULT_BASE } else { text }).map_err(|err| err.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Args, clap::Error> {
        let words = std::iter::once("ask").chain(words.iter().copied());
        Args::read(&Args::command().try_get_matches_from(words)?)
    }

    #[test]
    fn the_command_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_question_needs_no_verb_and_no_quotes() {
        for words in [vec!["how many tickets?"], vec!["how", "many", "tickets?"]] {
            let args = read(&words).unwrap();
            assert_eq!(args.question.join(" "), "how many tickets?");
            assert!(args.verb.is_none());
        }
    }

    #[test]
    fn a_verb_within_a_question_is_a_word() {
        let args = read(&["--trace", "which", "status", "do", "cancel", "tickets", "have", "--sql"]).unwrap();
        assert_eq!(args.question.len(), 6);
        assert!(args.verb.is_none() && args.output.sql && args.output.trace);
        assert_eq!(read(&["--", "watch", "out"]).unwrap().question, ["watch", "out"]);
    }

    #[test]
    fn options_stand_before_or_behind_a_verb() {
        for words in [["--user", "bob", "watch", "t1"], ["watch", "t1", "--user", "bob"]] {
            let args = read(&words).unwrap();
            assert!(matches!(args.verb, Some(Verb::Watch { ref ticket, after: 0 }) if ticket == "t1"));
            assert_eq!(args.access.user.as_deref(), Some("bob"));
            assert!(args.named.user);
        }
    }

    #[test]
    fn bad_usage_is_refused() {
        for words in [
            vec![],
            vec![""],
            vec!["  ", "\t"],
            vec!["ok?", "--then", " "],
            vec!["q", "--effort", "extreme"],
            vec!["q", "--base", "gw"],
            vec!["q", "--token", "a", "--user", "b"],
            vec!["watch"],
            vec!["q", "--frobnicate"],
            vec!["q", "--deadline", "0"],
            vec!["q", "--chart", "--format", "csv"],
            vec!["chat", "--chart", "--json"],
            vec!["serve", "--sample", "--env-file", "x"],
            vec!["completions", "tcsh"],
        ] {
            let err = read(&words).unwrap_err();
            assert_eq!(err.exit_code(), 2, "{words:?}");
        }
    }

    #[test]
    fn what_shapes_an_ask_stands_behind_chat_too() {
        let args = read(&["chat", "--effort", "low", "--deadline", "30", "--conversation", "c1"]).unwrap();
        assert!(matches!(args.verb, Some(Verb::Chat)));
        assert_eq!((args.deadline, args.conversation.as_deref()), (Some(30), Some("c1")));
    }

    #[test]
    fn text_is_another_name_of_table() {
        assert_eq!(read(&["q", "--format", "text"]).unwrap().output.format, Format::Table);
    }

    #[test]
    fn the_later_of_sql_and_no_sql_wins() {
        assert!(!read(&["--sql", "--no-sql", "q"]).unwrap().output.sql);
        assert!(read(&["--no-sql", "--sql", "q"]).unwrap().output.sql);
    }
}
