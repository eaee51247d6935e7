//! A kept sign-in at work: its token for every call, exchanged before it expires and when it is refused.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use ask_client::{Bearer, InvalidBearer, NoToken, TokenSource};
use futures_util::FutureExt as _;
use futures_util::future::{LocalBoxFuture, Shared};
use tokio::time::timeout;

use super::kept::Kept;
use super::place::{Place, PlaceError};
use ask_signin::{Granted, Refused};
use ask_signin::{Provider, ProviderError};
use ask_signin::{Web, WebError};

/// How long after an exchange that failed the next is tried while the token still counts, in seconds.
const AGAIN_S: i64 = 30;
/// How long the end of the process waits for an exchange that has begun.
const SETTLE_WITHIN: Duration = Duration::from_secs(5);

/// Why there is no newer token. Shared by all who waited for it.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub(crate) struct NotRenewed(Rc<Cause>);

/// The causes.
#[derive(Debug, thiserror::Error)]
enum Cause {
    #[error("you have signed out; sign in with `ask login`")]
    SignedOut,
    #[error("the sign-in has expired and can't be renewed; sign in again with `ask login`")]
    NoRefreshToken,
    #[error("the sign-in has ended; sign in again with `ask login`")]
    Ended(#[source] Refused),
    #[error("the sign-in can't be renewed")]
    Refused(#[source] Refused),
    #[error("the sign-in can't be renewed")]
    Provider(#[source] ProviderError),
    #[error("the sign-in can't be renewed")]
    Web(#[source] WebError),
    #[error("the sign-in can't be renewed")]
    Place(#[source] PlaceError),
    #[error("the renewed token can't be used")]
    Token(#[source] InvalidBearer),
}

type Renewal = Shared<LocalBoxFuture<'static, Result<(), NotRenewed>>>;

/// A sign-in in use. Exchanges are made one at a time, and one that has begun is carried to its end: a provider that gives
/// each refresh token once has then forgotten the old one.
#[derive(Debug)]
pub(crate) struct Session {
    state: Rc<State>,
    running: RefCell<Option<Renewal>>,
}

#[derive(Debug)]
struct State {
    web: Web,
    place: Place,
    kept: RefCell<Kept>,
    /// No earlier than this is an exchange tried that is not needed yet.
    not_before: Cell<i64>,
    /// Newer tokens could not be kept.
    unkept: RefCell<Option<PlaceError>>,
}

impl Session {
    /// Goes on with a kept sign-in.
    pub(crate) fn new(web: Web, place: Place, kept: Kept) -> Self {
        let state = State {
            web,
            place,
            kept: RefCell::new(kept),
            not_before: Cell::new(i64::MIN),
            unkept: RefCell::new(None),
        };
        Self { state: Rc::new(state), running: RefCell::new(None) }
    }

    /// Carries an exchange that has begun to its end, and tells when newer tokens could not be kept.
    ///
    /// # Cancel safety
    ///
    /// Dropped it leaves the exchange where it is.
    pub(crate) async fn settle(&self) -> Option<PlaceError> {
        let running = self.running.borrow().clone();
        if let Some(renewal) = running {
            // What came of it is of no use any more.
            drop(timeout(SETTLE_WITHIN, renewal).await);
        }
        self.state.unkept.borrow_mut().take()
    }

    /// Has newer tokens in place of `old`, joining an exchange that has begun.
    async fn renewed(&self) -> Result<(), NotRenewed> {
        let renewal = {
            let mut running = self.running.borrow_mut();
            match &*running {
                Some(renewal) if renewal.peek().is_none() => renewal.clone(),
                Some(_) | None => {
                    let state = Rc::clone(&self.state);
                    let renewal: Renewal = async move {
                        let renewed = state.exchange().await;
                        if renewed.is_err() {
                            state.not_before.set(ask_signin::now().saturating_add(AGAIN_S));
                        }
                        renewed.map_err(|cause| NotRenewed(Rc::new(cause)))
                    }
                    .boxed_local()
                    .shared();
                    *running = Some(renewal.clone());
                    renewal
                }
            }
        };
        renewal.await
    }
}

impl State {
    fn bearer(&self) -> Result<Bearer, NoToken> {
        Bearer::new(self.kept.borrow().access_token.expose()).map_err(NoToken::new)
    }

    /// One exchange: what another process has renewed by now, else newer tokens from the provider.
    async fn exchange(&self) -> Result<(), Cause> {
        let _hold = self.place.hold().await.map_err(Cause::Place)?;
        let mut kept = self.place.read().map_err(Cause::Place)?.ok_or(Cause::SignedOut)?;
        let renewed_elsewhere =
            kept.access_token != self.kept.borrow().access_token && !kept.is_due(ask_signin::now());
        if renewed_elsewhere {
            self.kept.replace(kept);
            return Ok(());
        }
        let refresh_token = kept.refresh_token.clone().ok_or(Cause::NoRefreshToken)?;
        let provider = Provider::discover(&self.web, &kept.issuer).await.map_err(Cause::Provider)?;
        let order = kept.order();
        let form = order.form(&[("grant_type", "refresh_token"), ("refresh_token", refresh_token.expose())]);
        let answer = self.web.post(&provider.token, &form).await.map_err(Cause::Web)?;
        match Granted::read(&answer) {
            Ok(granted) => {
                Bearer::new(granted.access_token.expose()).map_err(Cause::Token)?;
                kept.take(&granted, ask_signin::now());
                self.keep(kept);
                Ok(())
            }
            Err(refused) if refused.code() == "invalid_grant" => {
                kept.refresh_token = None;
                self.keep(kept);
                Err(Cause::Ended(refused))
            }
            Err(refused) => Err(Cause::Refused(refused)),
        }
    }

    fn keep(&self, kept: Kept) {
        if let Err(err) = self.place.write(&kept) {
            self.unkept.replace(Some(err));
        }
        self.kept.replace(kept);
    }
}

impl TokenSource for Session {
    fn current(&self) -> LocalBoxFuture<'_, Result<Bearer, NoToken>> {
        async {
            let now = ask_signin::now();
            let (due, over) = {
                let kept = self.state.kept.borrow();
                (kept.is_due(now), kept.is_over(now))
            };
            if over || due && now >= self.state.not_before.get() {
                match self.renewed().await {
                    // A token that still counts is better than none.
                    Err(_) if !over => {}
                    renewed => renewed.map_err(|err| no_token(&err))?,
                }
            }
            self.state.bearer()
        }
        .boxed_local()
    }

    fn renew<'a>(&'a self, refused: &'a Bearer) -> LocalBoxFuture<'a, Result<Option<Bearer>, NoToken>> {
        async move {
            let now = self.state.bearer()?;
            if now != *refused {
                return Ok(Some(now));
            }
            self.renewed().await.map_err(|err| no_token(&err))?;
            self.state.bearer().map(Some)
        }
        .boxed_local()
    }
}

/// The causes in one sentence: they are bound to this thread, as the HTTP client's are.
fn no_token(err: &NotRenewed) -> NoToken {
    let mut told = err.to_string();
    let mut cause = std::error::Error::source(&*err.0);
    while let Some(err) = cause {
        told.push_str(": ");
        told.push_str(&err.to_string());
        cause = err.source();
    }
    NoToken::new(told)
}
