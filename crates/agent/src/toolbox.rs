//! The tools of one run: fixed when it begins, named by their server, so that no result can add one.

use ask_llm::Tool;
use serde_json::{Map, Value, json};

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

    /// A tool on every server of a kind that has it.
    pub(crate) fn having(&self, kind: ToolServerKind, tool: &str) -> Vec<Known> {
        self.servers
            .iter()
            .filter(|server| server.kind() == kind)
            .filter_map(|server| {
                let definition = server.tools().iter().find(|known| known.name == tool)?;
                Some(Known::new(full_name(server.name(), tool), &definition.input_schema))
            })
            .collect()
    }
}

/// A tool that look-ups know by its name, and what it takes by its own word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) full_name: String,
    /// The members that it knows; `None` when it does not say.
    takes: Option<Vec<String>>,
    needs: Vec<String>,
}

impl Known {
    fn new(full_name: String, schema: &Value) -> Self {
        let takes = schema.get("properties").and_then(Value::as_object).filter(|known| !known.is_empty());
        let needs = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        Self {
            full_name,
            takes: takes.map(|known| known.keys().cloned().collect()),
            needs: needs.filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }

    /// The arguments of a call that can say so much, by the names that the tool knows for each; `None` when it needs more.
    /// What it does not know is left out, unless it is the first: without that a call asks for nothing.
    pub(crate) fn arguments(&self, said: &[(&[&str], Option<&str>)]) -> Option<Map<String, Value>> {
        let knows = |name: &str| self.takes.as_ref().is_none_or(|known| known.iter().any(|one| one == name));
        let mut args = Map::new();
        for (at, (names, value)) in said.iter().enumerate() {
            let Some(value) = value else { continue };
            match names.iter().find(|name| knows(name)) {
                Some(name) => drop(args.insert((*name).to_owned(), json!(value))),
                None if at == 0 => return None,
                None => {}
            }
        }
        self.needs.iter().all(|name| args.contains_key(name)).then_some(args)
    }
}

fn full_name(server: &str, tool: &str) -> String {
    format!("{server}{SEPARATOR}{tool}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(schema: &Value) -> Known {
        Known::new("s__describe_table".to_owned(), schema)
    }

    #[test]
    fn arguments_go_by_the_names_that_the_tool_knows() {
        let table: &[&str] = &["table", "table_name"];
        let said = [(table, Some("tickets")), (&["source"][..], Some("desk"))];
        for (schema, expected) in [
            (
                json!({"properties": {"table": {}, "source": {}}, "required": ["table"]}),
                json!({"table": "tickets", "source": "desk"}),
            ),
            (
                json!({"properties": {"table_name": {}}, "required": ["table_name"]}),
                json!({"table_name": "tickets"}),
            ),
            (json!({"type": "object"}), json!({"table": "tickets", "source": "desk"})),
        ] {
            assert_eq!(known(&schema).arguments(&said).map(Value::Object), Some(expected), "{schema}");
        }
        for schema in [
            json!({"properties": {"database": {}}}),
            json!({"properties": {"table": {}, "database": {}}, "required": ["database"]}),
        ] {
            assert_eq!(known(&schema).arguments(&said), None, "{schema}");
        }
        assert_eq!(known(&json!({"properties": {"database": {}}})).arguments(&[]), Some(Map::new()));
    }
}
