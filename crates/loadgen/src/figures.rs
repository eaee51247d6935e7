//! What was measured, as text and as JSON.

use serde_json::{Map, Number, Value};

/// Named figures in the order in which they were noted.
#[derive(Debug, Default)]
pub(crate) struct Report {
    figures: Vec<(String, f64)>,
    first_error: Option<String>,
}

impl Report {
    pub(crate) fn add(&mut self, name: &str, value: f64) {
        self.figures.push((name.to_owned(), value));
    }

    /// A figure that there may be none of.
    pub(crate) fn add_some(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    /// The quantiles of `samples`.
    pub(crate) fn add_spread(&mut self, name: &str, samples: &mut [f64]) {
        samples.sort_unstable_by(f64::total_cmp);
        for (label, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
            self.add_some(&format!("{name}_{label}"), quantile(samples, share));
        }
    }

    pub(crate) fn add_error(&mut self, error: Option<String>) {
        self.first_error = error;
    }

    pub(crate) fn json(&self) -> String {
        let mut object = Map::new();
        for (name, value) in &self.figures {
            let number = Number::from_f64((value * 1000.0).round() / 1000.0);
            object.insert(name.clone(), number.map_or(Value::Null, Value::Number));
        }
        if let Some(error) = &self.first_error {
            object.insert("first_error".to_owned(), error.clone().into());
        }
        Value::Object(object).to_string()
    }

    pub(crate) fn text(&self) -> String {
        let width = self.figures.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let lines = self.figures.iter().map(|(name, value)| format!("{name:width$}  {value:>14.3}"));
        let error = self.first_error.iter().map(|error| format!("first error: {error}"));
        lines.chain(error).collect::<Vec<_>>().join("\n")
    }
}

/// The sample at this share of sorted ones.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index within the samples"
    )]
    let at = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(at).copied()
}

/// A count as a figure.
#[expect(clippy::cast_precision_loss, reason = "counts of a load test are far below 2^53")]
pub(crate) const fn of_count(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples() {
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(quantile(&sorted, 0.5), Some(51.0));
        assert_eq!(quantile(&sorted, 0.99), Some(99.0));
        assert_eq!(quantile(&sorted, 1.0), Some(100.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn a_report_is_json_with_an_error_only_where_there_was_one() {
        let mut report = Report::default();
        report.add_spread("ms", &mut [2.0, 1.0]);
        report.add("rate", 1.23456);
        // Not as text: the order of members depends on how the workspace is built.
        let read: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(read, serde_json::json!({"ms_max": 2.0, "ms_p50": 2.0, "ms_p99": 2.0, "rate": 1.235}));
        report.add_error(Some("x".to_owned()));
        assert!(report.json().contains(r#""first_error":"x""#) && report.text().ends_with("first error: x"));
    }
}
