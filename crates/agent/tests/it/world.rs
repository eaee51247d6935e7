//! A scripted model, scripted tool servers, and a sink that keeps what it is told.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    clippy::unnecessary_wraps,
    reason = "a test says by failing"
)]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use ask_agent::{
    BranchReport, BranchTask, Ceilings, GroundingLimits, Model, Report, Sink, Stopped, ToolDefinition,
    ToolFailure, ToolReply, ToolServer, ToolServerKind, ToolServers, run_branch,
};
use ask_contract::{BranchId, BranchRole, Effort, Milestone, Step};
use ask_core::outcome::decide;
use ask_core::ticket::{Progress, Terminal};
use ask_llm::{Assistant, Message, Request, Stop, ToolCall, Turn, TurnError, Usage};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};

/// What the model was sent in one turn.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) tools: Vec<String>,
    pub(crate) messages: Vec<Message>,
}

/// What the model does in one turn.
pub(crate) enum Says {
    Calls(Vec<(&'static str, Value)>),
    Text(&'static str),
    Stops(Stop),
    Fails(TurnError),
    Hangs,
}

pub(crate) type ToolScript = Rc<dyn Fn(&str, &Map<String, Value>) -> Result<Value, ToolFailure>>;

pub(crate) struct World {
    pub(crate) script: RefCell<VecDeque<Says>>,
    pub(crate) sent: RefCell<Vec<Sent>>,
    pub(crate) told: RefCell<Vec<Report>>,
    pub(crate) called: Rc<RefCell<Vec<String>>>,
    pub(crate) stop_after: Cell<Option<usize>>,
    pub(crate) tools: ToolScript,
    pub(crate) call_time: Duration,
}

impl World {
    pub(crate) fn new(script: Vec<Says>) -> Self {
        Self::with_tools(script, Rc::new(usual_tools))
    }

    pub(crate) fn with_tools(script: Vec<Says>, tools: ToolScript) -> Self {
        Self {
            script: RefCell::new(script.into()),
            sent: RefCell::default(),
            told: RefCell::default(),
            called: Rc::default(),
            stop_after: Cell::new(None),
            tools,
            call_time: Duration::from_millis(3),
        }
    }

    pub(crate) async fn run(&self, task: BranchTask) -> Result<BranchReport, Stopped> {
        run_branch(task, self, self, self).await
    }

    pub(crate) async fn ends(&self, task: BranchTask) -> Terminal {
        decide(self.run(task).await.unwrap().facts)
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        let steps = |report: &Report| match report {
            Report::Progress(Progress::Step(step)) => Some(step.clone()),
            _ => None,
        };
        self.told.borrow().iter().filter_map(steps).collect()
    }

    pub(crate) fn milestones(&self) -> Vec<Milestone> {
        let milestones = |report: &Report| match report {
            Report::Progress(Progress::Milestone(milestone)) => Some(milestone.clone()),
            _ => None,
        };
        self.told.borrow().iter().filter_map(milestones).collect()
    }
}

pub(crate) fn task(question: &str) -> BranchTask {
    BranchTask {
        branch_id: BranchId::new("b1"),
        role: BranchRole::Supervisor,
        source: None,
        question: question.to_owned(),
        with_catalog: true,
        model: "scripted".to_owned(),
        effort: Effort::High,
        caller: None,
        history: Vec::new(),
        grounding: Some(GroundingLimits::default()),
        ceilings: Ceilings { model_turns: 6, total: Duration::from_secs(60) },
    }
}

pub(crate) fn concludes(text: &'static str, entities: &[&str]) -> Says {
    Says::Calls(vec![("conclude", json!({"kind": "answer", "text": text, "entities": entities}))])
}

pub(crate) fn gives_up() -> Says {
    Says::Calls(vec![("conclude", json!({"kind": "cannot_answer", "text": "No.", "entities": []}))])
}

pub(crate) fn queries(sql: &str) -> Says {
    Says::Calls(vec![("warehouse__run_query", json!({"sql": sql}))])
}

pub(crate) fn tool_error(code: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": message}, "ms": 2})
}

pub(crate) fn usual_tools(tool: &str, args: &Map<String, Value>) -> Result<Value, ToolFailure> {
    Ok(match tool {
        "list_sources" => json!({"sources": [{"name": "support", "dialect": "sqlite"}], "ms": 1}),
        "list_tables" => json!({"tables": [{"source": "support", "name": "support.tickets"}], "ms": 1}),
        "describe_table" => json!({"source": "support", "table": args["table"], "columns": [
            {"name": "team", "type": "TEXT"}, {"name": "resolution_minutes", "type": "REAL"}], "ms": 1}),
        "run_query" => json!({"source": "support", "sql": args["sql"], "tables": ["support.tickets"],
            "columns": ["team", "average"], "rows": [["Billing", 41.5]], "rowCount": 1, "truncated": false, "ms": 7}),
        "search_metadata" => json!({"query": args["query"], "totalFound": 1, "results": [{
            "entityType": "glossaryTerm", "fullyQualifiedName": "Support.ResolutionTime", "name": "ResolutionTime",
            "displayName": "Resolution Time", "description": "Minutes of our own work."}], "ms": 1}),
        "get_entity_details" if args["entityType"] == "glossaryTerm" => json!({
            "entityType": "glossaryTerm", "fullyQualifiedName": args["fqn"], "name": "ResolutionTime",
            "displayName": "Resolution Time", "description": "Minutes of our own work, waiting excluded.",
            "assets": ["support.tickets.resolution_minutes"],
            "extension": {"caveats": ["Old tickets lack it."]}, "ms": 1}),
        "get_entity_details" => {
            json!({"entityType": "table", "fullyQualifiedName": args["fqn"], "name": args["fqn"],
            "description": "Tickets.", "extension": {"caveats": ["A gap in May."]}, "ms": 1})
        }
        other => panic!("no tool {other}"),
    })
}

impl Model for World {
    fn turn<'a>(&'a self, request: Request<'a>) -> LocalBoxFuture<'a, Result<Turn, TurnError>> {
        self.sent.borrow_mut().push(Sent {
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            messages: request.messages.to_vec(),
        });
        let says = self.script.borrow_mut().pop_front().expect("the script has a turn left");
        let number = self.sent.borrow().len();
        async move {
            let turn = |text: &str, calls: Vec<ToolCall>, stop| Turn {
                assistant: Assistant::new(text, calls.clone()),
                text: text.to_owned(),
                calls,
                stop,
                usage: Usage { input: 10, output: 5, cache_read: 3, cache_write: 2 },
                model: "scripted".to_owned(),
                degraded: &[],
                attempts: 1,
            };
            match says {
                Says::Calls(calls) => {
                    let call = |(at, (name, args)): (usize, (&str, Value))| ToolCall {
                        id: format!("call_{number}_{at}"),
                        name: name.to_owned(),
                        args: Ok(args.as_object().unwrap().clone()),
                    };
                    Ok(turn("", calls.into_iter().enumerate().map(call).collect(), Stop::ToolUse))
                }
                Says::Text(text) => Ok(turn(text, vec![], Stop::End)),
                Says::Stops(stop) => Ok(turn("", vec![], stop)),
                Says::Fails(err) => Err(err),
                Says::Hangs => std::future::pending().await,
            }
        }
        .boxed_local()
    }
}

impl Sink for World {
    fn tell(&self, report: Report) -> LocalBoxFuture<'_, Result<(), Stopped>> {
        let stopped = self.stop_after.get().is_some_and(|after| self.told.borrow().len() >= after);
        if !stopped {
            self.told.borrow_mut().push(report);
        }
        async move { if stopped { Err(Stopped) } else { Ok(()) } }.boxed_local()
    }
}

struct Server {
    name: &'static str,
    kind: ToolServerKind,
    tools: Vec<ToolDefinition>,
    script: ToolScript,
    called: Rc<RefCell<Vec<String>>>,
    call_time: Duration,
}

impl ToolServers for World {
    fn connect(
        &self,
        with_catalog: bool,
    ) -> LocalBoxFuture<'_, Result<Vec<Box<dyn ToolServer>>, ToolFailure>> {
        let server = |name, kind, tools: &[&str]| -> Box<dyn ToolServer> {
            let tool = |name: &&str| ToolDefinition {
                name: (*name).to_owned(),
                description: String::new(),
                input_schema: json!({"type": "object"}),
            };
            Box::new(Server {
                name,
                kind,
                tools: tools.iter().map(tool).collect(),
                script: Rc::clone(&self.tools),
                called: Rc::clone(&self.called),
                call_time: self.call_time,
            })
        };
        let source_tools = ["list_sources", "list_tables", "describe_table", "run_query"];
        let mut servers = vec![server("warehouse", ToolServerKind::Source, &source_tools)];
        if with_catalog {
            servers.push(server(
                "catalog",
                ToolServerKind::Catalog,
                &["search_metadata", "get_entity_details"],
            ));
        }
        async move { Ok(servers) }.boxed_local()
    }
}

impl ToolServer for Server {
    fn name(&self) -> &str {
        self.name
    }

    fn kind(&self) -> ToolServerKind {
        self.kind
    }

    fn tools(&self) -> &[ToolDefinition] {
        &self.tools
    }

    fn call(
        &self,
        tool: &str,
        args: &Map<String, Value>,
    ) -> LocalBoxFuture<'static, Result<ToolReply, ToolFailure>> {
        self.called.borrow_mut().push(tool.to_owned());
        let outcome = (self.script)(tool, args).map(|reply| ToolReply {
            is_error: reply.get("error").is_some(),
            text: reply.as_str().map_or_else(|| reply.to_string(), str::to_owned),
            // A text stands for a server that has nothing but text.
            structured: Some(reply).filter(|reply| !reply.is_string()),
        });
        let time = self.call_time;
        async move {
            tokio::time::sleep(time).await;
            outcome
        }
        .boxed_local()
    }
}
