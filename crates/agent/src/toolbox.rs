//! The tools of one run: fixed when it begins, named by their server, so that no result can add one.

use ask_llm::Tool;
use serde_json::json;

use crate::conclude::conclude_tool;
use crate::ports::{ToolServer, ToolServerKind};

/// Between a server's name and a tool's.
const SEPARATOR: &str = "__";

/// The connected servers and what the model is offered of them.
pub(crate) struct Toolbox {
    servers: Vec<Box<dyn ToolServer>>,
    offered: Vec<Tool>,
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toolbox").field("offered", &self.offered.len()).finish_non_exhaustive()
    }
}

impl Toolbox {
    /// Offers every tool of the servers, in a stable order, and the local `conclude`.
    pub(crate) fn new(servers: Vec<Box<dyn ToolServer>>) -> Self {
        let mut offered: Vec<Tool> = servers
            .iter()
            .flat_map(|server| {
                server.tools().iter().map(|tool| Tool {
                    name: full_name(server.name(), &tool.name),
                    description: tool.description.clone(),
                    input_schema: if tool.input_schema.is_object() {
                        tool.input_schema.clone()
                    } else {
                        json!({"type": "object"})
                    },
                })
            })
            .collect();
        offered.sort_by(|one, other| one.name.cmp(&other.name));
        offered.dedup_by(|one, other| one.name == other.name);
        offered.push(conclude_tool());
        Self { servers, offered }
    }

    /// What the model is offered.
    pub(crate) fn offered(&self) -> &[Tool] {
        &self.offered
    }

    /// The server and the tool that a full name means, if it is one that was offered.
    pub(crate) fn find<'n>(&self, full: &'n str) -> Option<(&dyn ToolServer, &'n str)> {
        self.servers.iter().find_map(|server| {
            let tool = full.strip_prefix(server.name())?.strip_prefix(SEPARATOR)?;
            server.tools().iter().any(|known| known.name == tool).then_some((server.as_ref(), tool))
        })
    }

    /// The full names of a tool on every server of a kind that has it.
    pub(crate) fn having(&self, kind: ToolServerKind, tool: &str) -> Vec<String> {
        self.servers
            .iter()
            .filter(|server| server.kind() == kind && server.tools().iter().any(|known| known.name == tool))
            .map(|server| full_name(server.name(), tool))
            .collect()
    }
}

fn full_name(server: &str, tool: &str) -> String {
    format!("{server}{SEPARATOR}{tool}")
}
