//! What a check of the executor works with: its address, the callers, the corpus and what has been said so far.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use serde_json::{Map, Value, json};
use url::Url;

use crate::audit_log::AuditLog;
use crate::check::{Check, Failure, not_exercised};
use crate::http::{Client, Request};
use crate::run::Subject;
use crate::token::{Bearer, Identities, Maybe, mint};

use super::call::with;
use super::corpus::Corpus;
use super::mcp::Sessions;
use super::options::Options;

/// An executor with everything that a check may use.
#[derive(Debug)]
pub(crate) struct Ctx {
    pub(crate) options: Options,
    pub(crate) base: Url,
    pub(crate) http: Client,
    pub(crate) ids: Identities,
    pub(crate) corpus: Corpus,
    pub(crate) sessions: RefCell<Sessions>,
    /// All results and errors that the first user was given.
    pub(crate) told: RefCell<Vec<String>>,
    /// A caller whose calls are used up, and how many were let through.
    pub(crate) spent: RefCell<Option<(Bearer, u64)>>,
    ids_given: Cell<u64>,
}

impl Ctx {
    pub(crate) fn new(options: Options, base: Url, http: Client, ids: Identities, corpus: Corpus) -> Self {
        Self {
            options,
            base,
            http,
            ids,
            corpus,
            sessions: RefCell::default(),
            told: RefCell::default(),
            spent: RefCell::default(),
            ids_given: Cell::new(0),
        }
    }

    /// An URL below the executor's root.
    pub(crate) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }

    /// A fresh id for a JSON-RPC request.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids_given.set(self.ids_given.get() + 1);
        self.ids_given.get()
    }

    /// The second user's bearer.
    pub(crate) fn other(&self) -> Result<&Bearer, Failure> {
        had("a second user", &self.ids.other)
    }

    /// The bearer of the user without a role.
    pub(crate) fn without_role(&self) -> Result<&Bearer, Failure> {
        had("a user without a role", &self.ids.refused)
    }

    /// A `GET` below the root.
    pub(crate) fn get(&self, path: &str, bearer: Option<&Bearer>) -> Request {
        let request = Request::new("GET", self.url(path));
        match bearer {
            Some(bearer) => with(request, bearer),
            None => request,
        }
    }

    /// The first user's claims with a change, signed by the issuer.
    pub(crate) async fn minted(
        &self,
        change: impl FnOnce(&mut Map<String, Value>),
    ) -> Result<Bearer, Failure> {
        let Some(mint_url) = &self.options.sign_in.mint_url else {
            return not_exercised("needs tokens made to order (--mint-url)");
        };
        let Some(Value::Object(mut claims)) = self.ids.first.claims() else {
            return not_exercised("the first user's token has no readable claims to start from");
        };
        change(&mut claims);
        mint(&self.http, mint_url, &Value::Object(claims)).await.map_err(Failure::NotExercised)
    }

    /// The id by which audit lines name the first user.
    pub(crate) fn oid(&self) -> Result<String, Failure> {
        let claims = self.ids.first.claims().unwrap_or_default();
        match claims.get("oid").or_else(|| claims.get("sub")).and_then(Value::as_str) {
            Some(oid) => Ok(oid.to_owned()),
            None => not_exercised("the first user's token names no oid"),
        }
    }

    /// The executor's log.
    pub(crate) fn audit(&self) -> Result<AuditLog<'_>, Failure> {
        match &self.options.executor_audit {
            Some(path) => Ok(AuditLog::new(path)),
            None => not_exercised("needs the executor's log (--executor-audit)"),
        }
    }

    /// A call of each tool that the first user may make, with its arguments.
    pub(crate) fn good_calls(&self) -> Vec<(&'static str, Value)> {
        let options = &self.options;
        vec![
            ("list_sources", json!({})),
            ("list_tables", json!({"source": options.source})),
            ("describe_table", json!({"table": options.table})),
            ("run_query", json!({"sql": format!("SELECT count(*) AS n FROM {}", options.table)})),
            ("search_metadata", json!({"query": options.term})),
            ("get_entity_details", json!({"entityType": "glossaryTerm", "fqn": options.glossary_term})),
        ]
    }
}

impl Subject for Ctx {
    fn limit(&self) -> Duration {
        Duration::from_secs(self.options.running.check_timeout)
    }

    fn left_out(&self, _check: &Check<Self>) -> Option<&'static str> {
        None
    }

    async fn make_ready(&self, _check: &Check<Self>) -> Result<(), String> {
        Ok(())
    }

    async fn clean_up(&self) {}
}

/// The bearer, or that the check can't be exercised without it.
pub(crate) fn had<'a>(who: &str, bearer: &'a Maybe) -> Result<&'a Bearer, Failure> {
    crate::ctx::had(who, bearer)
}
