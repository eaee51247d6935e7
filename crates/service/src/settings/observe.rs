//! Where metrics are served and traces go: off unless set, and OpenTelemetry's own variables for what has one.

use std::net::{IpAddr, SocketAddr};

use ask_llm::Secret;

use super::read::{SettingError, Source, invalid};
pub use crate::telemetry::Sampler;

/// How the service is observed.
#[derive(Debug, Clone)]
pub struct Observing {
    /// Where metrics are served; nowhere when absent.
    pub metrics: Option<SocketAddr>,
    /// Where traces go; nowhere when absent.
    pub traces: Option<TraceExport>,
    /// Which traces are exported.
    pub sampler: Sampler,
}

/// A collector of traces.
#[derive(Debug, Clone)]
pub struct TraceExport {
    /// Where batches are posted to.
    pub url: String,
    /// Headers of each request, perhaps a key among them.
    pub headers: Vec<(String, Secret)>,
    /// What this service is called in traces.
    pub service_name: String,
}

pub(super) fn observing(source: &Source) -> Result<Observing, SettingError> {
    let host: IpAddr = source.parsed("DAS_ASK_METRICS_HOST")?;
    let metrics = match source.get("DAS_ASK_METRICS_PORT") {
        None => None,
        Some(_) => Some(SocketAddr::new(host, source.parsed("DAS_ASK_METRICS_PORT")?)),
    };
    Ok(Observing { metrics, traces: traces(source)?, sampler: sampler(source)? })
}

fn sampler(source: &Source) -> Result<Sampler, SettingError> {
    const ARG: &str = "OTEL_TRACES_SAMPLER_ARG";
    let name = source.text("OTEL_TRACES_SAMPLER");
    let sampler: Sampler = name.parse().map_err(|err| invalid("OTEL_TRACES_SAMPLER", err))?;
    if !name.ends_with("traceidratio") {
        return Ok(sampler);
    }
    let ratio: f64 = source.parsed(ARG)?;
    if (0.0..=1.0).contains(&ratio) {
        Ok(sampler.with_ratio(ratio))
    } else {
        Err(invalid(ARG, format!("{ratio} is not within 0 to 1")))
    }
}

fn traces(source: &Source) -> Result<Option<TraceExport>, SettingError> {
    const BASE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
    const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    if source.switch("OTEL_SDK_DISABLED")? {
        return Ok(None);
    }
    let (name, url) = match (source.get(TRACES), source.get(BASE)) {
        (Some(url), _) => (TRACES, url.to_owned()),
        (None, Some(base)) => (BASE, format!("{}/v1/traces", base.trim_end_matches('/'))),
        (None, None) => return Ok(None),
    };
    let uri: actix_web::http::Uri = url.parse().map_err(|_unshown| invalid(name, "it is no URL"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
        return Err(invalid(name, "it must be an http or https URL"));
    }
    if source.get("OTEL_EXPORTER_OTLP_PROTOCOL") == Some("grpc") {
        let reason = "traces are sent over HTTP; use the collector's HTTP port, by default 4318";
        return Err(invalid("OTEL_EXPORTER_OTLP_PROTOCOL", reason));
    }
    let service_name = source.text("OTEL_SERVICE_NAME");
    Ok(Some(TraceExport { url, headers: headers(source)?, service_name }))
}

/// `name=value` pairs between commas.
fn headers(source: &Source) -> Result<Vec<(String, Secret)>, SettingError> {
    const NAME: &str = "OTEL_EXPORTER_OTLP_HEADERS";
    let Some(text) = source.secret(NAME)? else { return Ok(Vec::new()) };
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (name.trim(), percent_decoded(value.trim())?);
        let name_ok = actix_web::http::header::HeaderName::from_bytes(name.as_bytes()).is_ok();
        let value_ok = actix_web::http::header::HeaderValue::from_str(&value).is_ok();
        (name_ok && value_ok).then(|| (name.to_owned(), Secret::new(value)))
    };
    // What is wrong is not shown: it may hold a key.
    let pairs: Option<Vec<_>> = text.split(',').filter(|part| !part.trim().is_empty()).map(pair).collect();
    pairs.ok_or_else(|| invalid(NAME, "it must be name=value pairs between commas"))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Observing, SettingError> {
        observing(&pairs.iter().copied().collect())
    }

    #[test]
    fn nothing_is_served_and_nothing_sent_unless_set() {
        let observing = read(&[("DAS_ASK_METRICS_HOST", "0.0.0.0")]).unwrap();
        assert!(observing.metrics.is_none() && observing.traces.is_none());
        let disabled = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318"), ("OTEL_SDK_DISABLED", "true")];
        assert!(read(&disabled).unwrap().traces.is_none());
    }

    #[test]
    fn the_standard_variables_are_taken() {
        let observing = read(&[
            ("DAS_ASK_METRICS_PORT", "9464"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=can%61ry, b=c"),
            ("OTEL_SERVICE_NAME", "asks"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.5"),
        ])
        .unwrap();
        assert_eq!(observing.metrics.unwrap().to_string(), "127.0.0.1:9464");
        assert!(!format!("{observing:?}").contains("canary"));
        let traces = observing.traces.unwrap();
        assert_eq!(
            (traces.url.as_str(), traces.service_name.as_str()),
            ("http://collector:4318/v1/traces", "asks")
        );
        let headers: Vec<_> =
            traces.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        assert_eq!(headers, [("x-key", "canary"), ("b", "c")]);
        let own = [
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/x"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h"),
        ];
        assert_eq!(read(&own).unwrap().traces.unwrap().url, "https://t/x");
    }

    #[test]
    fn a_bad_value_is_said_of_its_variable() {
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h");
        for (name, value) in [
            ("DAS_ASK_METRICS_PORT", "70000"),
            ("DAS_ASK_METRICS_HOST", "here"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "canary"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=%zz"),
            ("OTEL_TRACES_SAMPLER", "sometimes"),
            ("OTEL_SDK_DISABLED", "perhaps"),
        ] {
            let err = read(&[base, (name, value)]).unwrap_err().to_string();
            assert!(err.starts_with(name) && !err.contains("canary"), "{name}={value}: {err}");
        }
        let ratio = [("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "1.5")];
        assert!(read(&ratio).unwrap_err().to_string().starts_with("OTEL_TRACES_SAMPLER_ARG"));
    }
}
