//! The catalog: one term, one metric and two tables.

use serde_json::{Map, Value, json};

use super::MiniExecutor;
use super::desk::Refusal;

fn entities() -> Vec<Value> {
    let entity = |kind: &str, fqn: &str, display: &str, description: &str, more: Value| {
        let name = fqn.rsplit('.').next();
        let mut entity = json!({
            "entityType": kind, "fullyQualifiedName": fqn, "name": name, "displayName": display,
            "description": description, "tags": [], "synonyms": [], "extension": {"caveats": []},
        });
        entity.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        entity
    };
    let column = |name: &str| json!({"name": name, "dataType": "TEXT", "description": format!("The {name}."), "tags": []});
    vec![
        entity(
            "glossaryTerm",
            "Support.ResolutionTime",
            "Resolution Time",
            "How long a ticket took.",
            json!({"relatedTerms": [], "assets": ["support.tickets.minutes"]}),
        ),
        entity(
            "metric",
            "average_resolution_time",
            "Average Resolution Time",
            "The mean of it.",
            json!({
                "metricExpression": {"language": "SQL", "code": "AVG(minutes)"}, "unitOfMeasurement": "minutes",
                "metricType": "AVERAGE", "assets": ["support.tickets.minutes"],
            }),
        ),
        entity(
            "table",
            "support.tickets",
            "Support tickets",
            "One row a ticket, with its resolution time.",
            json!({"dialect": "sqlite", "columns": [column("status"), column("minutes")]}),
        ),
        entity(
            "table",
            "support.agents",
            "Support agents",
            "One row an agent.",
            json!({"dialect": "sqlite", "columns": [column("agent_name"), column("email"), column("team")]}),
        ),
    ]
}

impl MiniExecutor {
    pub(super) fn search(&self, args: &Map<String, Value>) -> Result<Value, Refusal> {
        let query = args["query"].as_str().unwrap_or_default().to_lowercase();
        let kind = args.get("entityType").and_then(Value::as_str);
        if kind.is_some_and(|kind| !["glossaryTerm", "metric", "table"].contains(&kind)) {
            return Err(Refusal::invalid("there is no such entityType"));
        }
        if query.trim().is_empty() {
            return Err(Refusal::invalid("the query is empty"));
        }
        let mut hits: Vec<Value> = entities()
            .into_iter()
            .filter(|entity| {
                kind.is_none_or(|kind| entity["entityType"] == kind || self.is("type-filter-ignored"))
            })
            .filter(|entity| {
                let text = format!("{} {}", entity["displayName"], entity["description"]).to_lowercase();
                query.split_whitespace().all(|word| text.contains(word))
            })
            .map(|entity| {
                let members = [
                    "entityType",
                    "fullyQualifiedName",
                    "name",
                    "displayName",
                    "description",
                    "tags",
                    "synonyms",
                ];
                let mut hit = json!({});
                for member in
                    members.iter().filter(|member| !(self.is("hits-lack-synonyms") && **member == "synonyms"))
                {
                    hit[*member] = entity[*member].clone();
                }
                hit
            })
            .collect();
        if self.is("worst-hit-first") {
            hits.reverse();
        }
        if hits.is_empty() && self.is("nothing-found-is-invalid") {
            return Err(Refusal::invalid("nothing was found"));
        }
        let found = hits.len();
        let limit =
            args.get("limit").and_then(Value::as_u64).map_or(10, |limit| usize::try_from(limit).unwrap());
        if !self.is("limit-ignored") {
            hits.truncate(limit);
        }
        let found = if self.is("total-is-of-the-page") { hits.len() } else { found };
        Ok(json!({"query": args["query"], "totalFound": found, "results": hits}))
    }

    pub(super) fn details(&self, kind: &str, fqn: &str, whole: bool) -> Result<Value, Refusal> {
        let found = entities().into_iter().find(|entity| {
            entity["fullyQualifiedName"] == fqn
                && (entity["entityType"] == kind || self.is("type-of-entity-ignored"))
        });
        let Some(mut entity) = found else {
            return Err(Refusal::invalid(format!("there is no {kind} {fqn}")));
        };
        if let Some(columns) = entity.get_mut("columns").and_then(Value::as_array_mut) {
            columns.retain(|column| whole || column["name"] != "email" || self.is("catalog-tells-withheld"));
            if self.is("catalog-names-lost-column") {
                columns.push(
                    json!({"name": "lost", "dataType": "TEXT", "description": "Was there once.", "tags": []}),
                );
            }
        }
        if self.is("metric-lacks-formula") {
            entity.as_object_mut().unwrap().remove("metricExpression");
        }
        if self.is("entity-has-another-name") {
            entity["displayName"] = entity["name"].clone();
        }
        Ok(entity)
    }
}
