//! What can be measured, and against what.
#![expect(clippy::doc_markdown, reason = "these comments are shown on a terminal, where backticks are noise")]

use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand};

/// Measures an ask service from outside: asks accepted, streams held, fan-out, replays, whole asks, cancels.
///
/// It makes real asks that cost real model turns: point the service at a stand-in first. Every work is bounded in count and time.
/// Plain HTTP only: measure the service itself, or a gateway's port without TLS.
#[derive(Debug, Parser)]
#[command(name = "ask-loadgen", version, max_term_width = 100)]
pub(crate) struct Args {
    /// The service's root
    #[arg(
        long,
        value_name = "URL",
        env = "ASK_BASE_URL",
        default_value = "http://127.0.0.1:8091",
        global = true
    )]
    pub(crate) base: String,
    /// A file with the bearer token [default: the variable ASK_TOKEN]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) token_file: Option<PathBuf>,
    #[arg(long, env = "ASK_TOKEN", hide = true, hide_env_values = true, global = true)]
    pub(crate) token: Option<String>,
    /// The service's process on this machine, for its memory and CPU time
    #[arg(long, value_name = "PID", global = true)]
    pub(crate) pid: Option<u32>,
    /// One JSON object instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) work: Work,
}

/// The works.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Work {
    /// W1: open a conversation and ask in it, as fast as asks are accepted
    Accept {
        #[command(flatten)]
        pace: Pace,
        /// What is asked
        #[arg(long, default_value = "bench n=0")]
        question: String,
    },
    /// W2: hold idle streams
    Hold {
        /// How many, in growing counts
        #[arg(long, value_delimiter = ',', default_value = "1000")]
        streams: Vec<usize>,
        /// How long the last count is watched
        #[arg(long, default_value_t = 10.0, value_parser = seconds)]
        seconds: f64,
        /// How long to wait at each count before memory is read
        #[arg(long, default_value_t = 2.0, value_parser = seconds)]
        settle: f64,
        /// An ask that stays quiet for long enough
        #[arg(long, default_value = "bench hold=600")]
        question: String,
        /// A ticket for each stream instead of one for all
        #[arg(long)]
        own: bool,
    },
    /// W3: one ask that tells its steps at a pace, many readers; from an event's own `ts` to its being read
    Fanout {
        #[arg(long, default_value_t = 1000)]
        readers: usize,
        #[arg(long, default_value_t = 200)]
        events: usize,
        /// Events a second
        #[arg(long, default_value_t = 20)]
        hz: u32,
        /// Bytes of an event's arguments
        #[arg(long, default_value_t = 300)]
        size: u32,
        /// How long the readers have to connect, in milliseconds
        #[arg(long, default_value_t = 3000)]
        lead_ms: u32,
    },
    /// W4: replays of one finished ask
    Replay {
        #[command(flatten)]
        pace: Pace,
        #[arg(long, default_value_t = 1000)]
        events: usize,
        #[arg(long, default_value_t = 500)]
        size: u32,
        /// Fetch this path instead, which any web server may serve
        #[arg(long)]
        path: Option<String>,
        /// Meanwhile open conversations, one after the other, and tell how long that takes
        #[arg(long)]
        beside: bool,
    },
    /// W5: open a conversation, ask, and read the stream to its end
    Whole {
        #[command(flatten)]
        pace: Pace,
        /// What is asked
        #[arg(long, default_value = "bench n=0")]
        question: String,
        /// What the model takes for each turn by itself; the rest, shared among the turns, is the overhead of a hop
        #[arg(long, value_name = "MS", default_value_t = 0.0)]
        turn_ms: f64,
        /// Stop after this many asks
        #[arg(long)]
        count: Option<u64>,
    },
    /// Cancel asks while their model turn is in flight
    Cancel {
        #[command(flatten)]
        pace: Pace,
        /// An ask that stays quiet
        #[arg(long, default_value = "bench hold=60")]
        question: String,
        /// How long an ask runs before it is cancelled, in milliseconds
        #[arg(long, default_value_t = 100)]
        after_ms: u32,
    },
    /// Post one recorded body again and again, by the HTTP client that the service calls models with
    Post {
        #[command(flatten)]
        pace: Pace,
        /// Where to, below the base
        #[arg(long)]
        path: String,
        /// A file with the body
        #[arg(long)]
        body: PathBuf,
    },
}

/// How much at once, and for how long.
#[derive(Debug, Clone, Copy, Group)]
pub(crate) struct Pace {
    /// At once
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=2000))]
    pub(crate) concurrency: u16,
    /// How long is measured
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// How long it runs before that
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    pub(crate) warm: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|err| format!("{err}"))?;
    if (0.0..=3600.0).contains(&number) {
        Ok(number)
    } else {
        Err("must be from 0 to 3600 seconds".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_options_are_sound_and_time_is_bounded() {
        Args::command().debug_assert();
        assert!(Args::try_parse_from(["x", "accept", "--seconds", "3601"]).is_err());
        assert!(Args::try_parse_from(["x", "accept", "--concurrency", "0"]).is_err());
        assert!(
            Args::try_parse_from(["x", "whole", "--seconds", "0.5", "--json"]).is_ok_and(|args| args.json)
        );
    }
}
