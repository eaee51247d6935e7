//! Who asks: a person of Slack's, signed in at the issuer once, with tokens that are kept in memory alone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use ask_client::{Bearer, NoToken, TokenSource};
use ask_signin::{Granted, Order, Pending, Provider, Secret, Web, now};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

/// So long before it runs out a token is renewed, in seconds.
const EARLY_S: i64 = 60;

/// A person in one workspace: `team` and `user`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Who {
    /// The workspace.
    pub team: String,
    /// The person.
    pub user: String,
}

/// Where people sign in, and what their tokens are to be good for.
#[derive(Debug, Clone)]
pub struct Issuer {
    /// The issuer's address.
    pub address: String,
    /// What this app asks for.
    pub order: Order,
}

/// Everyone who has signed in, or is about to.
#[derive(Debug)]
pub struct People {
    web: Web,
    issuer: Issuer,
    known: RefCell<HashMap<Who, Standing>>,
}

#[derive(Debug, Clone)]
enum Standing {
    /// A code is out.
    Waiting,
    SignedIn(Rc<Person>),
}

/// What a question of somebody's meets.
#[derive(Debug)]
pub enum Known {
    /// The person's own credentials.
    SignedIn(Rc<Person>),
    /// A code was sent already.
    Waiting,
    /// Nobody so far.
    Stranger,
}

impl People {
    /// Nobody yet.
    pub fn new(web: Web, issuer: Issuer) -> Self {
        Self { web, issuer, known: RefCell::default() }
    }

    /// How this person stands.
    pub fn look_up(&self, who: &Who) -> Known {
        match self.known.borrow().get(who) {
            Some(Standing::SignedIn(person)) => Known::SignedIn(Rc::clone(person)),
            Some(Standing::Waiting) => Known::Waiting,
            None => Known::Stranger,
        }
    }

    /// Asks the issuer for a code to sign in with.
    ///
    /// # Errors
    ///
    /// A sentence that says why there is none.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: an unused code expires.
    pub async fn begin(&self, who: &Who) -> Result<(Provider, Pending), String> {
        self.known.borrow_mut().insert(who.clone(), Standing::Waiting);
        let begun = async {
            let provider =
                Provider::discover(&self.web, &self.issuer.address).await.map_err(|err| err.to_string())?;
            let pending = Pending::begin(&self.web, &provider, &self.issuer.order)
                .await
                .map_err(|err| err.to_string())?;
            Ok((provider, pending))
        };
        let begun = begun.await;
        if begun.is_err() {
            self.forget(who);
        }
        begun
    }

    /// Waits until the person has used the code.
    ///
    /// # Errors
    ///
    /// A sentence that says why nobody signed in.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it leaves the person as one who waits; to be called to its end.
    pub async fn finish(&self, who: &Who, provider: Provider, pending: Pending) -> Result<(), String> {
        let granted = pending.granted(&self.web, &provider, &self.issuer.order).await;
        match granted {
            Ok(granted) => {
                let person = Person::new(self.web.clone(), self.issuer.order.clone(), provider, granted);
                self.known.borrow_mut().insert(who.clone(), Standing::SignedIn(Rc::new(person)));
                Ok(())
            }
            Err(err) => {
                self.forget(who);
                Err(err.to_string())
            }
        }
    }

    /// Forgets a person, with their tokens.
    pub fn forget(&self, who: &Who) {
        self.known.borrow_mut().remove(who);
    }
}

/// One who is signed in.
#[derive(Debug)]
pub struct Person {
    web: Web,
    order: Order,
    provider: Provider,
    tokens: RefCell<Tokens>,
    /// One renewal at a time: a refresh token may count only once.
    renewing: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Tokens {
    access: Secret,
    refresh: Option<Secret>,
    ends: Option<i64>,
}

impl Person {
    fn new(web: Web, order: Order, provider: Provider, granted: Granted) -> Self {
        let tokens = RefCell::new(Tokens::of(granted, None));
        Self { web, order, provider, tokens, renewing: tokio::sync::Mutex::new(()) }
    }

    fn bearer(&self) -> Result<Bearer, NoToken> {
        Bearer::new(self.tokens.borrow().access.expose()).map_err(NoToken::new)
    }

    fn is_due(&self) -> bool {
        self.tokens.borrow().ends.is_some_and(|ends| ends - EARLY_S <= now())
    }

    /// Newer tokens in place of `old`, unless somebody was faster.
    async fn exchange(&self, old: &Bearer) -> Result<(), NoToken> {
        let _turn = self.renewing.lock().await;
        if self.bearer()? != *old {
            return Ok(());
        }
        let refresh =
            self.tokens.borrow().refresh.clone().ok_or_else(|| NoToken::new("the sign-in has run out"))?;
        let form = self.order.form(&[("grant_type", "refresh_token"), ("refresh_token", refresh.expose())]);
        let answer =
            self.web.post(&self.provider.token, &form).await.map_err(|err| NoToken::new(err.to_string()))?;
        let granted = Granted::read(&answer).map_err(|err| NoToken::new(err.to_string()))?;
        self.tokens.replace(Tokens::of(granted, Some(refresh)));
        Ok(())
    }
}

impl Tokens {
    /// What was granted; a provider that gives no new refresh token means the old one.
    fn of(granted: Granted, refresh: Option<Secret>) -> Self {
        let ends = granted.expires_in.map(|seconds| now().saturating_add(seconds));
        Self { access: granted.access_token, refresh: granted.refresh_token.or(refresh), ends }
    }
}

impl TokenSource for Person {
    fn current(&self) -> LocalBoxFuture<'_, Result<Bearer, NoToken>> {
        async move {
            if self.is_due() {
                let old = self.bearer()?;
                // A token that still counts is better than none.
                drop(self.exchange(&old).await);
            }
            self.bearer()
        }
        .boxed_local()
    }

    fn renew<'a>(&'a self, refused: &'a Bearer) -> LocalBoxFuture<'a, Result<Option<Bearer>, NoToken>> {
        async move {
            self.exchange(refused).await?;
            self.bearer().map(Some)
        }
        .boxed_local()
    }
}
