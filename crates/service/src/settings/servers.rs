//! The tool servers: the two of the deployment's gateway, or a list of any.

use std::time::Duration;

use ask_agent::ToolServerKind;
use ask_agent::adapter::ConfiguredServer;
use ask_mcp::{Secret, ServerConfig};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::read::{SettingError, Source, invalid};

/// One entry of `DAS_MCP_SERVERS`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedServer {
    name: String,
    url: String,
    kind: Kind,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    forward_bearer: bool,
    #[serde(default)]
    tools: Option<Vec<String>>,
    #[serde(default)]
    errors_without_code: Uncoded,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Uncoded {
    #[default]
    Refusal,
    Invalid,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Catalog,
    Source,
}

/// One entry of `DAS_SOURCES`. Members beyond these are the deployment's own.
#[derive(Deserialize)]
struct ListedSource {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "kind")]
    _kind: String,
}

/// The tool servers of a deployment.
pub(super) fn tool_servers(
    source: &Source,
    call_limit: Duration,
) -> Result<Vec<ConfiguredServer>, SettingError> {
    check_sources(source)?;
    let mut servers = match source.get("DAS_MCP_SERVERS") {
        Some(list) => listed(list)?,
        None => behind_gateway(source)?,
    };
    for server in &mut servers {
        server.config.limits.call = call_limit;
    }
    Ok(servers)
}

fn check_sources(source: &Source) -> Result<(), SettingError> {
    let Some(text) = source.get("DAS_SOURCES") else { return Ok(()) };
    serde_json::from_str::<Vec<ListedSource>>(text).map(drop).map_err(|err| invalid("DAS_SOURCES", err))
}

fn listed(text: &str) -> Result<Vec<ConfiguredServer>, SettingError> {
    const NAME: &str = "DAS_MCP_SERVERS";
    let list: Vec<ListedServer> = serde_json::from_str(text).map_err(|err| invalid(NAME, err))?;
    if !list.iter().any(|server| matches!(server.kind, Kind::Source)) {
        return Err(invalid(NAME, "at least one server of kind \"source\" is needed"));
    }
    let mut servers: Vec<ConfiguredServer> = Vec::with_capacity(list.len());
    for server in list {
        if servers.iter().any(|known| known.config.name == server.name) {
            return Err(invalid(NAME, format!("two servers are called {:?}", server.name)));
        }
        let mut config = ServerConfig::new(&server.name, &server.url);
        config.forward_bearer = server.forward_bearer;
        for (header, value) in &server.headers {
            let Some(value) = value.as_str() else {
                return Err(invalid(
                    NAME,
                    format!("the header {header:?} of {:?} must be text", server.name),
                ));
            };
            config.headers.push((header.clone(), Secret::new(value)));
        }
        config.check().map_err(|err| invalid(NAME, format!("{:?}: {err}", server.name)))?;
        let kind = match server.kind {
            Kind::Catalog => ToolServerKind::Catalog,
            Kind::Source => ToolServerKind::Source,
        };
        if server.tools.as_ref().is_some_and(Vec::is_empty) {
            return Err(invalid(NAME, format!("{:?} is left no tools", server.name)));
        }
        servers.push(ConfiguredServer {
            tools: server.tools,
            uncoded_is_mistake: matches!(server.errors_without_code, Uncoded::Invalid),
            ..ConfiguredServer::new(config, kind)
        });
    }
    Ok(servers)
}

fn behind_gateway(source: &Source) -> Result<Vec<ConfiguredServer>, SettingError> {
    let base = source
        .needed("DAS_APIM_BASE", "the gateway of the tool servers (or DAS_MCP_SERVERS, a list of them)")?;
    let base = base.trim_end_matches('/');
    let path = |name: &'static str| {
        let path = source.text(name);
        if path.starts_with('/') { Ok(path) } else { Err(invalid(name, "must begin with /")) }
    };
    let mut warehouse = ServerConfig::new("warehouse", format!("{base}{}", path("DAS_WAREHOUSE_MCP_PATH")?));
    let mut catalog = ServerConfig::new("catalog", format!("{base}{}", path("DAS_OM_MCP_PATH")?));
    if let Some(key) = source.secret("DAS_OM_SUBSCRIPTION_KEY")? {
        catalog.headers.push(("Ocp-Apim-Subscription-Key".to_owned(), Secret::new(key)));
    }
    for server in [&mut warehouse, &mut catalog] {
        server.forward_bearer = true;
        server.check().map_err(|err| match err {
            ask_mcp::ConfigError::Header { .. } => {
                invalid("DAS_OM_SUBSCRIPTION_KEY", "it can't be sent as a header")
            }
            ask_mcp::ConfigError::Name | ask_mcp::ConfigError::Url | ask_mcp::ConfigError::Bearer => {
                invalid("DAS_APIM_BASE", err)
            }
        })?;
    }
    Ok(vec![
        ConfiguredServer::new(warehouse, ToolServerKind::Source),
        ConfiguredServer::new(catalog, ToolServerKind::Catalog),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(list: &str) -> Result<Vec<ConfiguredServer>, SettingError> {
        tool_servers(&[("DAS_MCP_SERVERS", list)].into_iter().collect(), Duration::from_secs(7))
    }

    #[test]
    fn any_server_can_be_listed() {
        let listed = servers(
            r#"[{"name":"lake","url":"http://127.0.0.1:9/mcp","kind":"source","headers":{"X-Key":"canary"}},
                {"name":"terms","url":"https://catalog.example/mcp","kind":"catalog","forward_bearer":true}]"#,
        )
        .unwrap();
        assert_eq!(listed.len(), 2);
        assert_eq!((listed[0].kind, listed[0].config.forward_bearer), (ToolServerKind::Source, false));
        assert_eq!((listed[1].kind, listed[1].config.forward_bearer), (ToolServerKind::Catalog, true));
        assert_eq!(listed[0].config.limits.call, Duration::from_secs(7));
        assert_eq!((&listed[0].tools, listed[0].uncoded_is_mistake), (&None, false));
        let foreign = r#"[{"name":"a","url":"http://h/","kind":"source","tools":["read_query"],"errors_without_code":"invalid"}]"#;
        let listed = servers(foreign).unwrap();
        assert_eq!(
            (&listed[0].tools, listed[0].uncoded_is_mistake),
            (&Some(vec!["read_query".to_owned()]), true)
        );
    }

    #[test]
    fn a_list_that_cannot_work_is_refused() {
        for (list, wrong) in [
            ("[]", "source"),
            (r#"[{"name":"a","url":"http://h/","kind":"catalog"}]"#, "source"),
            (r#"[{"name":"a","url":"h","kind":"source"}]"#, "URL"),
            (r#"[{"name":"a b","url":"http://h/","kind":"source"}]"#, "name"),
            (r#"[{"name":"a","url":"http://h/","kind":"source","bearer":true}]"#, "bearer"),
            (r#"[{"name":"a","url":"http://h/","kind":"source","tools":[]}]"#, "tools"),
            (r#"[{"name":"a","url":"http://h/","kind":"source","errors_without_code":"none"}]"#, "none"),
            (r#"[{"name":"a","url":"http://h/","kind":"source","headers":{"Host":"x"}}]"#, "header"),
            (
                r#"[{"name":"a","url":"http://h/","kind":"source"},{"name":"a","url":"http://h/","kind":"source"}]"#,
                "two",
            ),
        ] {
            let err = servers(list).unwrap_err().to_string();
            assert!(err.contains("DAS_MCP_SERVERS") && err.contains(wrong), "{list}: {err}");
        }
    }
}
