//! Which model the stack uses: its own stand-in, or the endpoint that the settings name.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Server;
use anyhow::Context;
use ask_devstack::analyst::Analyst;
use ask_devstack::model::dialogue::StandIn;
use ask_devstack::model::{Options, serve};

use super::state::ModelState;
use super::surroundings::Surroundings;

/// The model behind the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModelChoice {
    /// The stand-in, started by the stack.
    StandIn,
    /// An endpoint of somebody's, by protocol and address. Its key stays in the environment.
    Endpoint(ModelState),
}

impl ModelChoice {
    /// An address or a key in the service's own settings chooses an endpoint. `ANTHROPIC_API_KEY` alone does not: it
    /// lies around in many environments, and a sample must not spend money that nobody meant to.
    pub(crate) fn from(around: &Surroundings) -> Self {
        let base_url = around.get("DAS_LLM_BASE_URL");
        let key = around.get("DAS_LLM_API_KEY").or_else(|| around.get("DAS_LLM_API_KEY_FILE"));
        if base_url.is_none() && key.is_none() {
            return Self::StandIn;
        }
        Self::Endpoint(ModelState {
            stand_in: false,
            protocol: protocol(around).to_owned(),
            base_url: base_url.unwrap_or("the protocol's own").to_owned(),
        })
    }

    /// What the service is told beyond the settings that are there already.
    pub(crate) fn settings(&self, around: &Surroundings, stand_in_url: &str) -> Vec<(&'static str, String)> {
        let mut settings = match self {
            Self::StandIn => vec![
                ("DAS_LLM_PROTOCOL", protocol(around).to_owned()),
                ("DAS_LLM_BASE_URL", stand_in_url.to_owned()),
                ("DAS_LLM_API_KEY", "stand-in".to_owned()),
                ("DAS_MODEL", around.get("DAS_MODEL").unwrap_or(STAND_IN).to_owned()),
            ],
            Self::Endpoint(_) => Vec::new(),
        };
        // Whoever points the sample at the OpenAI protocol has chosen to go without what it lacks.
        if protocol(around) == "openai" && around.get("DAS_LLM_ACCEPT_DEGRADED").is_none() {
            settings.push(("DAS_LLM_ACCEPT_DEGRADED", "true".to_owned()));
        }
        settings
    }
}

/// The protocol that the settings name. The stand-in speaks both.
pub(crate) fn protocol(around: &Surroundings) -> &str {
    around.get("DAS_LLM_PROTOCOL").unwrap_or("anthropic")
}

/// The model name that the service asks the stand-in for.
const STAND_IN: &str = "demo-analyst";

/// Which stand-in answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StandInKind {
    /// The demo analyst, a program that works the answer out.
    Analyst,
    /// The stub, which says what it is told through its control routes, and else one fixed sentence.
    Stub,
}

/// How the stand-in answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StandInPlan {
    pub(crate) kind: StandInKind,
    /// The wait before each of its turns.
    pub(crate) turn_delay: Duration,
}

impl StandInPlan {
    /// A server for this stand-in, which runs while it is awaited.
    pub(crate) fn serve(self, listener: TcpListener) -> anyhow::Result<Server> {
        let stand_in: Option<Arc<dyn StandIn>> = match self.kind {
            StandInKind::Analyst => Some(Arc::new(Analyst)),
            StandInKind::Stub => None,
        };
        let options = Options { turn_delay: self.turn_delay, ..Options::default() };
        let (server, _control) =
            serve(listener, stand_in, options).context("cannot serve the model stand-in")?;
        Ok(server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_services_own_settings_choose_an_endpoint() {
        assert_eq!(ModelChoice::from(&Surroundings::default()), ModelChoice::StandIn);
        assert_eq!(
            ModelChoice::from(&Surroundings::from([("ANTHROPIC_API_KEY", "k")])),
            ModelChoice::StandIn
        );
        assert_eq!(ModelChoice::from(&Surroundings::from([("DAS_LLM_BASE_URL", " ")])), ModelChoice::StandIn);
        let chosen = ModelChoice::from(&Surroundings::from([("DAS_LLM_API_KEY", "k")]));
        assert!(matches!(chosen, ModelChoice::Endpoint(model) if model.protocol == "anthropic"));
    }

    #[test]
    fn what_the_openai_protocol_lacks_is_accepted_unless_said_otherwise() {
        let around =
            Surroundings::from([("DAS_LLM_PROTOCOL", "openai"), ("DAS_LLM_BASE_URL", "http://x/v1")]);
        let settings = ModelChoice::from(&around).settings(&around, "");
        assert_eq!(settings, [("DAS_LLM_ACCEPT_DEGRADED", "true".to_owned())]);
        let around = Surroundings::from([("DAS_LLM_PROTOCOL", "openai")]);
        let settings = ModelChoice::from(&around).settings(&around, "http://here");
        assert!(
            settings.contains(&("DAS_LLM_BASE_URL", "http://here".to_owned())),
            "the stand-in speaks it too"
        );
        assert!(settings.contains(&("DAS_LLM_ACCEPT_DEGRADED", "true".to_owned())));
        let around = Surroundings::from([
            ("DAS_LLM_PROTOCOL", "openai"),
            ("DAS_LLM_BASE_URL", "http://x/v1"),
            ("DAS_LLM_ACCEPT_DEGRADED", "false"),
        ]);
        assert!(ModelChoice::from(&around).settings(&around, "").is_empty());
    }
}
