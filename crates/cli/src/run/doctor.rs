//! What is missing, one line each, with how to mend it.

use std::fmt::Write as _;

use ask_client::{Client, Http, Limits};
use ask_contract::{CONTRACT_VERSION, TicketId};

use super::sign::{described, issuer_named, signed_in_as};
use super::{explain, serve};
use crate::args::Args;
use crate::exit::Exit;
use crate::identity::{
    Caller, Claims, Provider, Resource, Session, Web, given, is_given, kept, now, same_issuer,
};
use crate::neutral;
use crate::screen::{Closed, Screen};

/// What was found on one point.
struct Finding {
    what: &'static str,
    told: String,
    /// How to mend it, where it is amiss.
    fix: Option<String>,
}

impl Finding {
    fn good(what: &'static str, told: impl Into<String>) -> Self {
        Self { what, told: told.into(), fix: None }
    }

    fn amiss(what: &'static str, told: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what, told: told.into(), fix: Some(fix.into()) }
    }
}

/// Looks at everything that asking needs, and says what it finds.
pub(super) async fn doctor(screen: &mut Screen, args: &Args, http: &Http, web: &Web) -> Exit {
    let mut findings =
        vec![Finding::good("command", format!("ask {}", env!("CARGO_PKG_VERSION"))), terminal(screen)];
    let base = &args.access.base;
    let nobody = ask_client::Bearer::new("-")
        .ok()
        .map(|bearer| Client::with(http.clone(), base.clone(), bearer, Limits::default()));
    let reached = match nobody {
        Some(client) => client.health().await.map_err(|err| explain::call(&err, base)),
        None => Err("no client".to_owned()),
    };
    let is_reached = reached.is_ok();
    findings.push(match reached {
        Ok(health) if health.contract == CONTRACT_VERSION => {
            Finding::good("service", format!("{base} answers, contract {CONTRACT_VERSION}"))
        }
        Ok(health) => Finding::amiss(
            "service",
            format!(
                "{base} speaks contract {}, this command {CONTRACT_VERSION}",
                neutral::line(&health.contract)
            ),
            "use the `ask` of the service's release",
        ),
        Err(told) => Finding::amiss(
            "service",
            told,
            "start it with `ask serve`, or name another with --base URL or ASK_BASE_URL",
        ),
    });
    let kept = kept(base);
    let told = if is_reached { Resource::of(web, base).await } else { None };
    let issuer = issuer_named(&args.access)
        .or_else(|| told.as_ref().and_then(Resource::issuer))
        .or_else(|| Some(kept.as_ref().ok()?.as_ref()?.1.issuer.as_str()))
        .map(str::to_owned);
    findings.push(issuer_of(web, issuer.as_deref(), is_given(&args.access)).await);
    let caller = if is_given(&args.access) {
        match given(&args.access, args.named).await {
            Ok(Some(bearer)) => {
                let claims = Claims::of(bearer.expose());
                let is_over =
                    claims.as_ref().and_then(|claims| claims.expires_at).is_some_and(|at| at <= now());
                let told = claims.map_or_else(
                    || "a token is given that says nothing of itself".to_owned(),
                    |claims| signed_in_as(&claims, claims.expires_at, false, now()),
                );
                Ok((Caller::Given(bearer), told, is_over))
            }
            Ok(None) => Err(Finding::amiss("sign-in", "nobody is signed in", "sign in with `ask login`")),
            Err(err) => Err(Finding::amiss(
                "sign-in",
                format!("{err:#}"),
                "mend the token, or unset its variable and run `ask login`",
            )),
        }
    } else {
        match kept {
            Ok(Some((_, kept)))
                if issuer.as_deref().is_some_and(|named| !same_issuer(named, &kept.issuer)) =>
            {
                let told = format!("the sign-in is from {}", neutral::line(&kept.issuer));
                Err(Finding::amiss("sign-in", told, "sign in again with `ask login`, or unset ASK_ISSUER"))
            }
            Ok(Some((place, kept))) => {
                let told = described(&kept, now());
                let is_over = kept.is_over(now()) && kept.refresh_token.is_none();
                Ok((Caller::Kept(std::rc::Rc::new(Session::new(web.clone(), place, kept))), told, is_over))
            }
            Ok(None) => Err(Finding::amiss("sign-in", "nobody is signed in", "sign in with `ask login`")),
            Err(err) => Err(Finding::amiss(
                "sign-in",
                format!("{:#}", anyhow::Error::from(err)),
                "sign in again with `ask login`",
            )),
        }
    };
    match caller {
        Err(finding) => findings.push(finding),
        Ok((caller, told, is_over)) => {
            findings.push(if is_over {
                Finding::amiss("sign-in", told, "sign in again with `ask login`, or give a newer token")
            } else {
                Finding::good("sign-in", told)
            });
            if is_reached {
                let client =
                    Client::with(http.clone(), base.clone(), caller.credentials(), Limits::default());
                findings.push(taken(&client).await);
            }
            if let Caller::Kept(session) = caller
                && let Some(err) = session.settle().await
            {
                let told = format!("{:#}", anyhow::Error::from(err));
                findings.push(Finding::amiss("place", told, "make the folder writable"));
            }
        }
    }
    if let Some(program) = serve::find("ask-service") {
        findings.push(Finding::good("ask serve", program.display().to_string()));
    }
    say(screen, &findings)
}

/// What standard output can show.
fn terminal(screen: &Screen) -> Finding {
    let told = match screen.width {
        Some(width) => {
            format!("{width} columns, {}", if screen.style.is_on() { "colour" } else { "no colour" })
        }
        None => "standard output is no terminal: plain lines".to_owned(),
    };
    match screen.width {
        Some(width) if width < 40 => {
            Finding::amiss("terminal", told, "make it 40 columns wide or more, for tables")
        }
        Some(_) | None => Finding::good("terminal", told),
    }
}

async fn issuer_of(web: &Web, issuer: Option<&str>, has_token: bool) -> Finding {
    let Some(issuer) = issuer else {
        return if has_token {
            Finding::good("issuer", "none is named; the given token needs none here")
        } else {
            Finding::amiss("issuer", "none is known", "name it with --issuer URL or ASK_ISSUER")
        };
    };
    let shown = neutral::line(issuer).into_owned();
    match Provider::discover(web, issuer).await {
        Ok(provider) if provider.device.is_some() => {
            Finding::good("issuer", format!("{shown} signs devices in"))
        }
        Ok(_) => Finding::amiss(
            "issuer",
            format!("{shown} signs no devices in"),
            "have its device flow enabled, or use a token from elsewhere in ASK_TOKEN",
        ),
        Err(err) => Finding::amiss(
            "issuer",
            neutral::line(&format!("{:#}", anyhow::Error::from(err))).into_owned(),
            "check --issuer or ASK_ISSUER, and the way there",
        ),
    }
}

/// Whether the service takes the sign-in: it must say of an ask that can't be there that it is not there.
async fn taken(client: &Client) -> Finding {
    match client.state(&TicketId::new("doctor")).await {
        Err(ask_client::CallError::Rejected(rejection)) if matches!(rejection.status, 401 | 403) => {
            let err = ask_client::CallError::Rejected(rejection);
            Finding::amiss(
                "accepted",
                explain::call(&err, client.base()),
                "sign in again with `ask login`; if that does not help, ask whoever runs the service",
            )
        }
        Err(ask_client::CallError::Rejected(_)) | Ok(_) => {
            Finding::good("accepted", "the service takes the sign-in")
        }
        Err(err) => {
            Finding::amiss("accepted", explain::call(&err, client.base()), "sign in again with `ask login`")
        }
    }
}

fn say(screen: &mut Screen, findings: &[Finding]) -> Exit {
    let style = screen.style;
    let mut text = String::new();
    for Finding { what, told, fix } in findings {
        let mark =
            if fix.is_none() { style.good("ok     ").to_string() } else { style.bad("missing").to_string() };
        let fix = fix.as_deref().map(|fix| format!("; {fix}")).unwrap_or_default();
        // Writing to a string can't fail.
        writeln!(text, "{mark}  {what:<9}  {}{}", neutral::line(told), style.strong(fix)).unwrap_or_default();
    }
    match screen.data(&text) {
        Ok(()) if findings.iter().all(|finding| finding.fix.is_none()) => Exit::Answer,
        Ok(()) => Exit::NoAccess,
        Err(Closed(exit)) => exit,
    }
}
