//! Runs the table of checks against one address, then against the gateway's.

use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::Instant;
use url::Url;

use crate::check::{Check, Failure};
use crate::checks;
use crate::ctx::Ctx;
use crate::http::Client;
use crate::model::Control;
use crate::options::Options;
use crate::report::{CheckResult, Report, Status, TargetReport};
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
    let deadline = Instant::now() + Duration::from_secs(options.timeout);
    let http = Client::new(Duration::from_secs(options.check_timeout), options.ca.as_deref())?;
    let ids = Rc::new(Identities::gather(options, &http).await?);
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
        let ctx = Ctx {
            options: options.clone(),
            base,
            http: http.clone(),
            ids: Rc::clone(&ids),
            control: control.clone(),
            seen: Rc::new(Seen::new(schemas.map(Rc::new).map_err(|err| err.to_string()))),
            memo: std::cell::RefCell::default(),
            started: std::cell::RefCell::default(),
        };
        said(&format!("{name}: {place}"));
        targets.push(judge(&ctx, name, place, deadline, said).await);
    }
    Ok(Report { targets })
}

/// The checks' ids and titles, in the order in which they run.
pub fn list(only: &[String]) -> Vec<(&'static str, &'static str)> {
    chosen(only).iter().map(|check| (check.id, check.title)).collect()
}

fn chosen(only: &[String]) -> Vec<Check> {
    let wanted = |check: &Check| {
        only.is_empty()
            || only.iter().any(|part| {
                let part = part.to_lowercase();
                check.id.contains(&part) || check.title.to_lowercase().contains(&part)
            })
    };
    checks::all().into_iter().filter(wanted).collect()
}

async fn judge(
    ctx: &Ctx,
    name: &'static str,
    place: &str,
    deadline: Instant,
    said: &mut dyn FnMut(&str),
) -> TargetReport {
    let mut results = Vec::new();
    for check in chosen(&ctx.options.only) {
        let result = one(ctx, &check, deadline).await;
        said(&result.line());
        results.push(result);
    }
    let report = TargetReport { name, base: place.to_owned(), models: ctx.seen.models(), results };
    let models =
        if report.models.is_empty() { "none was named".to_owned() } else { report.models.join(", ") };
    said(&format!("model: {models}"));
    said(&report.summary());
    report
}

async fn one(ctx: &Ctx, check: &Check, deadline: Instant) -> CheckResult {
    let begun = Instant::now();
    let result = |status, detail| CheckResult {
        id: check.id,
        title: check.title,
        rule: check.rule,
        status,
        detail,
        took: begun.elapsed(),
    };
    if check.behaviour && !ctx.options.behaviour {
        return result(Status::Skipped, "needs a model: --behaviour".to_owned());
    }
    if begun >= deadline {
        return result(Status::Failed, "the total time is over".to_owned());
    }
    // What a check before has left in the script must not answer here.
    if let Some(control) = &ctx.control {
        let replies = if check.behaviour { 0 } else { 12 };
        let quick = vec![ctx.conclude("cannot_answer", "Nothing was found."); replies];
        if let Err(err) = control.script(&quick).await {
            return result(Status::Failed, format!("could not be exercised: {err}"));
        }
    }
    let until = deadline.min(begun + ctx.limit() * 2);
    let verdict = tokio::time::timeout_at(until, (check.run)(ctx)).await;
    ctx.clean_up().await;
    match verdict {
        Ok(Ok(detail)) => result(Status::Passed, detail),
        Ok(Err(Failure::Wrong(detail))) => result(Status::Failed, detail),
        Ok(Err(Failure::NotExercised(detail))) => {
            result(Status::Failed, format!("could not be exercised: {detail}"))
        }
        Err(_) => result(Status::Failed, format!("no verdict within {} s", begun.elapsed().as_secs())),
    }
}
