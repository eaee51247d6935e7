//! A call of a tool over either surface, and its outcome in the form that both share.

use serde_json::{Value, json};

use crate::check::{Failure, not_exercised, wrong};
use crate::http::{Answer, Request};
use crate::token::Bearer;

use super::ctx::Ctx;
use super::mcp::{NEWEST_WITH_SESSIONS, Server};

/// How a tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    Mcp,
    Rest,
}

impl Surface {
    pub(crate) const BOTH: [Self; 2] = [Self::Mcp, Self::Rest];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Rest => "rest",
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) surface: Surface,
    /// The call in words, for details.
    pub(crate) call: String,
    /// The answer over HTTP.
    pub(crate) answer: Answer,
    /// The one JSON object: a result, or `error` and `ms`.
    pub(crate) body: Value,
    /// Whether it was turned down.
    pub(crate) failed: bool,
}

impl Outcome {
    /// The code of an error, empty for a result.
    pub(crate) fn code(&self) -> &str {
        self.body.pointer("/error/code").and_then(Value::as_str).unwrap_or_default()
    }

    /// The message of an error.
    pub(crate) fn message(&self) -> &str {
        self.body.pointer("/error/message").and_then(Value::as_str).unwrap_or_default()
    }

    /// The executor's own time.
    pub(crate) fn ms(&self) -> Result<u64, Failure> {
        match self.body.get("ms").and_then(Value::as_u64) {
            Some(ms) => Ok(ms),
            None => wrong(format!("{}: ms is no integer in {}", self.call, short(&self.body))),
        }
    }

    /// The result; an error is wrong.
    pub(crate) fn result(&self) -> Result<&Value, Failure> {
        if self.failed {
            return wrong(format!("{} was turned down: {}", self.call, short(&self.body)));
        }
        Ok(&self.body)
    }

    /// Wrong unless it was turned down with this code and a message.
    pub(crate) fn refused(&self, code: &str) -> Result<&Self, Failure> {
        if !self.failed {
            return wrong(format!("{} was not turned down: {}", self.call, short(&self.body)));
        }
        if self.code() != code {
            return wrong(format!(
                "{} was turned down as {:?}, not {code}: {}",
                self.call,
                self.code(),
                self.message()
            ));
        }
        if self.message().trim().is_empty() {
            return wrong(format!("{} was turned down without a message", self.call));
        }
        Ok(self)
    }

    /// A member that is a list.
    pub(crate) fn list(&self, member: &str) -> Result<&Vec<Value>, Failure> {
        match self.result()?.get(member).and_then(Value::as_array) {
            Some(list) => Ok(list),
            None => wrong(format!("{}: {member} is no list in {}", self.call, short(&self.body))),
        }
    }

    /// Everything that both surfaces must say alike: all but the time, and what is a problem's own.
    pub(crate) fn said(&self) -> Value {
        if self.failed {
            return json!({"error": self.body.get("error")});
        }
        let mut body = self.body.clone();
        if let Some(members) = body.as_object_mut() {
            members.remove("ms");
        }
        body
    }
}

/// A value as far as a detail can show it.
pub(crate) fn short(value: &Value) -> String {
    value.to_string().chars().take(200).collect()
}

impl Ctx {
    /// Calls a tool. Running into the rate limit says nothing about what the check is after.
    pub(crate) async fn call(
        &self,
        surface: Surface,
        bearer: &Bearer,
        tool: &str,
        args: &Value,
    ) -> Result<Outcome, Failure> {
        let outcome = self.call_at_any_rate(surface, bearer, tool, args).await?;
        if outcome.code() == "rate_limit" {
            return not_exercised("the executor's rate limit is too low for this run (DAS_RATE_CALLS)");
        }
        Ok(outcome)
    }

    /// Calls a tool, whatever comes of it.
    pub(crate) async fn call_at_any_rate(
        &self,
        surface: Surface,
        bearer: &Bearer,
        tool: &str,
        args: &Value,
    ) -> Result<Outcome, Failure> {
        let outcome = match surface {
            Surface::Mcp => self.tool_in(NEWEST_WITH_SESSIONS, bearer, tool, args).await?,
            Surface::Rest => self.over_rest(bearer, tool, args).await?,
        };
        if *bearer == self.ids.first {
            self.told.borrow_mut().push(outcome.body.to_string());
        }
        Ok(outcome)
    }

    /// Calls a tool over MCP in one protocol version.
    pub(crate) async fn tool_in(
        &self,
        version: &'static str,
        bearer: &Bearer,
        tool: &str,
        args: &Value,
    ) -> Result<Outcome, Failure> {
        let call = format!("mcp {tool} {}", short(args));
        let params = json!({"name": tool, "arguments": args});
        let rpc = self.rpc(version, Server::of(tool), bearer, "tools/call", params).await?;
        let Some(result) = rpc.message.get("result") else {
            return wrong(format!(
                "{call} got no result but {} {}",
                rpc.answer.status(),
                short(&rpc.message)
            ));
        };
        let Some(body) = result.get("structuredContent").filter(|body| body.is_object()) else {
            return wrong(format!("{call} has no structuredContent object: {}", short(result)));
        };
        let failed = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
        Ok(Outcome { surface: Surface::Mcp, call, body: body.clone(), failed, answer: rpc.answer })
    }

    async fn over_rest(&self, bearer: &Bearer, tool: &str, args: &Value) -> Result<Outcome, Failure> {
        let request = self.rest_request(tool, args)?;
        let call = format!("rest {} {} {}", request.method, request.url.path(), short(args));
        let answer = self.http.send(&with(request, bearer)).await?;
        let failed = answer.status() >= 400;
        let Some(body) = answer.json().filter(Value::is_object) else {
            return wrong(format!("{call} answered {} without a JSON object", answer.status()));
        };
        if !failed && answer.status() != 200 {
            return wrong(format!("{call} answered {}", answer.status()));
        }
        Ok(Outcome { surface: Surface::Rest, call, answer, body, failed })
    }

    /// The request of the REST mirror that makes the same call.
    pub(crate) fn rest_request(&self, tool: &str, args: &Value) -> Result<Request, Failure> {
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        let mut url = self.url(match tool {
            "list_sources" => "/sources",
            "list_tables" | "describe_table" => "/tables",
            "run_query" => {
                return Ok(
                    Request::new("POST", self.url("/query")).body("application/json", args.to_string())
                );
            }
            _ => return not_exercised(format!("the REST mirror has no {tool}")),
        });
        if tool == "describe_table"
            && let Ok(mut segments) = url.path_segments_mut()
        {
            segments.push(text("table").unwrap_or_default());
        }
        for (name, value) in args.as_object().into_iter().flatten() {
            if let (Some(value), false) = (value.as_str(), tool == "describe_table" && name == "table") {
                url.query_pairs_mut().append_pair(name, value);
            }
        }
        Ok(Request::new("GET", url))
    }

    /// Runs a statement as the first user.
    pub(crate) async fn query(&self, surface: Surface, sql: &str) -> Result<Outcome, Failure> {
        self.call(surface, &self.ids.first, "run_query", &json!({"sql": sql})).await
    }
}

/// The request with a bearer.
pub(crate) fn with(request: Request, bearer: &Bearer) -> Request {
    request.header("Authorization", format!("Bearer {}", bearer.expose()))
}
