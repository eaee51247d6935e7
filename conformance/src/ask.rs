//! Judges a service by the ask contract: directly, then through a gateway.

use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::Instant;
use url::Url;

use crate::check::Check;
use crate::checks;
use crate::ctx::Ctx;
use crate::http::Client;
use crate::model::Control;
use crate::offered::Offered;
use crate::options::Options;
use crate::report::{Report, TargetReport};
use crate::run::{Subject, chosen, judge};
use crate::schema::Schemas;
use crate::seen::Seen;
use crate::token::Identities;

/// Judges a service; `said` hears each line as it becomes true.
///
/// # Errors
///
/// When judging can't begin: an option that is no URL, or a first user without a token.
///
/// # Cancel safety
///
/// Dropping it abandons the checks; asks that it started may go on in the service until they end by themselves.
pub async fn run(options: &Options, said: &mut dyn FnMut(&str)) -> anyhow::Result<Report> {
    let running = &options.running;
    let deadline = Instant::now() + Duration::from_secs(running.timeout);
    let http = Client::new(Duration::from_secs(running.check_timeout), running.ca.as_deref())?;
    let ids = Rc::new(Identities::gather(&options.sign_in, &http).await?);
    let control = match &options.model_control {
        Some(place) => {
            let base = Url::parse(place).with_context(|| format!("--model-control {place}"))?;
            Some(Rc::new(Control::new(base, http.clone())))
        }
        None => None,
    };
    let mut places = vec![("direct", options.base.as_str())];
    places.extend(options.via_gateway.as_deref().map(|place| ("via gateway", place)));
    let mut targets = Vec::new();
    for (name, place) in places {
        let base = Url::parse(place).with_context(|| format!("the base URL {place}"))?;
        let schemas = Schemas::find(options.schemas.as_deref(), &base, &http).await;
        let offered = Offered::ask(Ctx::openapi_url(&base), &http).await;
        let ctx = Ctx {
            options: options.clone(),
            base,
            http: http.clone(),
            ids: Rc::clone(&ids),
            control: control.clone(),
            seen: Rc::new(Seen::new(schemas.map(Rc::new).map_err(|err| err.to_string()))),
            memo: std::cell::RefCell::default(),
            started: std::cell::RefCell::default(),
            offered,
        };
        said(&format!("{name}: {place}"));
        let results = judge(&ctx, &chosen(checks::all(), &running.only), deadline, said).await;
        let models = ctx.seen.models();
        let named = if models.is_empty() { "none was named".to_owned() } else { models.join(", ") };
        said(&format!("model: {named}"));
        let report = TargetReport { contract: "contract", name, base: place.to_owned(), models, results };
        said(&report.summary());
        targets.push(report);
    }
    Ok(Report { targets })
}

/// The checks' ids and titles, in the order in which they run.
pub fn list(only: &[String]) -> Vec<(&'static str, &'static str)> {
    chosen(checks::all(), only).iter().map(|check| (check.id, check.title)).collect()
}

impl Subject for Ctx {
    fn limit(&self) -> Duration {
        self.limit()
    }

    fn left_out(&self, check: &Check) -> Option<&'static str> {
        if check.addition.is_some_and(|addition| !self.offered.has(addition)) {
            return Some("not offered");
        }
        (check.behaviour && !self.options.behaviour).then_some("needs a model: --behaviour")
    }

    async fn make_ready(&self, check: &Check) -> Result<(), String> {
        // What a check before has left in the script must not answer here.
        let Some(control) = &self.control else { return Ok(()) };
        let replies = if check.behaviour { 0 } else { 12 };
        let quick = vec![self.conclude("cannot_answer", "Nothing was found."); replies];
        control.script(&quick).await.map_err(|err| err.to_string())
    }

    async fn clean_up(&self) {
        self.clean_up().await;
    }
}
