//! Signing in, signing out, and who is signed in.

use anyhow::{Context as _, anyhow};
use ask_client::{Base, Bearer};
use serde_json::json;

use super::leaving::Leaving;
use super::until::{span, until};
use crate::args::{Access, Args, Login};
use crate::exit::Exit;
use crate::identity::{
    Claims, Kept, Order, Pending, Provider, Resource, Web, given, is_given, kept, now, place, same_issuer,
};
use crate::neutral;
use crate::screen::{Closed, Screen};

/// What is asked for where neither the person nor the service says what.
const USUAL_SCOPE: &str = "openid offline_access api://data-agent-service/access_as_user";

/// Signs a person in through the browser of any device, and keeps the sign-in.
pub(super) async fn login(
    screen: &mut Screen,
    leaving: &mut Leaving,
    web: &Web,
    access: &Access,
    login: Login,
) -> Exit {
    let signed_in = tokio::select! {
        signed_in = sign_in(screen, web, access, login) => signed_in,
        () = leaving.next() => {
            screen.note("Nobody was signed in.");
            return Exit::Cancelled;
        }
    };
    match signed_in {
        Ok(told) => {
            screen.note(told);
            if is_given(access) {
                screen.note(
                    screen
                        .note_style
                        .warn("! ASK_TOKEN, ASK_TOKEN_FILE or ASK_USER is set and comes before the sign-in."),
                );
            }
            Exit::Answer
        }
        Err(err) => failed(screen, &err),
    }
}

async fn sign_in(screen: &mut Screen, web: &Web, access: &Access, login: Login) -> anyhow::Result<String> {
    let place = place(&access.base)?;
    let told = Resource::of(web, &access.base).await;
    let named = issuer_named(access);
    let issuer =
        named.or_else(|| told.as_ref().and_then(Resource::issuer)).map(str::to_owned).ok_or_else(|| {
            anyhow!(
                "no issuer is known: give --issuer URL or set ASK_ISSUER; the service at {} names none",
                access.base
            )
        })?;
    let of_issuer = told.filter(|told| told.issuer().is_some_and(|its| same_issuer(its, &issuer)));
    let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let order = Order {
        client_id: login.client_id,
        scope: filled(login.scope)
            .or_else(|| of_issuer.as_ref().and_then(Resource::scope))
            .unwrap_or_else(|| USUAL_SCOPE.to_owned()),
        resource: filled(login.resource),
        audience: filled(login.audience),
    };
    let provider = Provider::discover(web, &issuer).await?;
    let pending = Pending::begin(web, &provider, &order).await?;
    invite(screen, &pending);
    let granted = pending.granted(web, &provider, &order).await?;
    Bearer::new(granted.access_token.expose()).context("the provider's token can't be used")?;
    let kept = Kept::new(access.base.to_string(), issuer, order, &granted, now());
    let _hold = place.hold().await?;
    place.write(&kept)?;
    Ok(format!("Signed in as {}.\nKept in {}.", described(&kept, now()), place.path().display()))
}

/// Tells the person where to go with the code.
fn invite(screen: &mut Screen, pending: &Pending) {
    let style = screen.note_style;
    let code = neutral::line(&pending.user_code).into_owned();
    let lives = i64::try_from(pending.lives.as_secs()).unwrap_or(i64::MAX);
    screen.note(format_args!("To sign in, open  {}", style.strong(&pending.page)));
    screen.note(format_args!("and enter         {}", style.strong(code)));
    if let Some(page) = &pending.page_with_code {
        screen.note(style.dim(format!("or open           {page}")));
    }
    screen.note(style.dim(format!("The code counts for {}. Ctrl-C gives up.", span(lives))));
}

/// Forgets the sign-in and gives its refresh token back.
pub(super) async fn logout(screen: &mut Screen, leaving: &mut Leaving, web: &Web, base: &Base) -> Exit {
    let signed_out = tokio::select! {
        signed_out = sign_out(web, base) => signed_out,
        () = leaving.next() => return Exit::Cancelled,
    };
    match signed_out {
        Ok(told) => {
            screen.note(told);
            Exit::Answer
        }
        Err(err) => failed(screen, &err),
    }
}

async fn sign_out(web: &Web, base: &Base) -> anyhow::Result<String> {
    let place = place(base)?;
    let _hold = place.hold().await?;
    // A file that can't be read is removed all the same: that is what the person wants gone.
    let kept = place.read().ok().flatten();
    // First what is here: a provider that does not answer must not keep anybody signed in.
    if !place.remove()? {
        return Ok(format!("Nobody was signed in at {base}."));
    }
    let Some((kept, token)) = kept.and_then(|kept| Some((kept.clone(), kept.refresh_token?))) else {
        return Ok("Signed out.".to_owned());
    };
    let given_back = match Provider::discover(web, &kept.issuer).await {
        Err(err) => Err(anyhow!(err)),
        Ok(Provider { revocation: None, .. }) => {
            return Ok(
                "Signed out here. The provider takes no token back: what it gave ends by itself.".to_owned()
            );
        }
        Ok(Provider { revocation: Some(endpoint), .. }) => {
            let order = kept.order();
            let form = [
                ("token", token.expose()),
                ("token_type_hint", "refresh_token"),
                ("client_id", order.client_id.as_str()),
            ];
            match web.post(&endpoint, &form).await {
                Ok(answer) if answer.is_success() => Ok(()),
                Ok(answer) => Err(anyhow!("it answered {}", answer.status)),
                Err(err) => Err(anyhow!(err)),
            }
        }
    };
    Ok(match given_back {
        Ok(()) => "Signed out, and the provider has taken the refresh token back.".to_owned(),
        Err(err) => {
            let why = neutral::line(&format!("{err:#}")).into_owned();
            format!("Signed out here. The provider could not be told ({why}): what it gave ends by itself.")
        }
    })
}

/// Tells who calls, and until when.
pub(super) async fn whoami(screen: &mut Screen, leaving: &mut Leaving, args: &Args) -> Exit {
    let told = tokio::select! {
        told = who(args) => told,
        () = leaving.next() => return Exit::Cancelled,
    };
    match told {
        Ok(line) => match screen.data(&format!("{line}\n")) {
            Ok(()) => Exit::Answer,
            Err(Closed(exit)) => exit,
        },
        Err(err) => failed(screen, &err),
    }
}

async fn who(args: &Args) -> anyhow::Result<String> {
    let Args { access, named, output, .. } = args;
    let now = now();
    let (claims, issuer, expires_at, renews) = if is_given(access) {
        let given = given(access, *named).await?.ok_or_else(nobody)?;
        let claims = Claims::of(given.expose()).ok_or_else(|| {
            anyhow!(
                "a token is given that says nothing of whom it is for: only the service and its issuer know"
            )
        })?;
        let (issuer, expires_at) = (claims.issuer.clone(), claims.expires_at);
        (claims, issuer, expires_at, false)
    } else {
        let (_place, kept) = kept(&access.base)?.ok_or_else(nobody)?;
        let renews = kept.refresh_token.is_some();
        (kept.who.clone(), Some(kept.issuer.clone()), kept.expires_at, renews)
    };
    if output.json {
        let told = json!({
            "name": claims.name, "subject": claims.subject, "issuer": issuer, "expires_at": expires_at,
            "renews": renews, "service": access.base.to_string(),
        });
        return Ok(neutral::json(&told.to_string()).into_owned());
    }
    let mut line = signed_in_as(&claims, expires_at, renews, now);
    if let Some(issuer) = issuer {
        line.push_str("; issuer ");
        line.push_str(&neutral::line(&issuer));
    }
    Ok(line)
}

/// A kept sign-in in words.
pub(super) fn described(kept: &Kept, now: i64) -> String {
    signed_in_as(&kept.who, kept.expires_at, kept.refresh_token.is_some(), now)
}

/// Whom a token is for and how long it counts, in words.
pub(super) fn signed_in_as(claims: &Claims, expires_at: Option<i64>, renews: bool, now: i64) -> String {
    let who = match (&claims.name, &claims.subject) {
        (Some(name), _) => neutral::line(name).into_owned(),
        (None, Some(subject)) => neutral::line(subject).into_owned(),
        (None, None) => "someone whom the token does not name".to_owned(),
    };
    let ends = match expires_at {
        Some(at) if at <= now => format!("expired {}", until(at, now)),
        Some(at) => format!("until {}", until(at, now)),
        None => "until an unknown time".to_owned(),
    };
    format!("{who}, {ends}{}", if renews { "; renews itself" } else { "" })
}

/// The issuer that the person names.
pub(super) fn issuer_named(access: &Access) -> Option<&str> {
    access.issuer.as_deref().map(str::trim).filter(|issuer| !issuer.is_empty())
}

/// What is said where nothing says who asks.
pub(super) fn nobody() -> anyhow::Error {
    anyhow!("nobody is signed in: sign in with `ask login`, or give a token in ASK_TOKEN or --token-file")
}

fn failed(screen: &mut Screen, err: &anyhow::Error) -> Exit {
    screen.problem(&neutral::block(&format!("{err:#}")));
    Exit::NoAccess
}
