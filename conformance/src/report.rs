//! The verdict: as lines for people, as JSON and as `JUnit` XML for programs.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The rule was put to the test and held.
    Passed,
    /// It did not hold, or could not be put to the test.
    Failed,
    /// A model behaviour that was not asked for, or an addition that the service does not offer.
    Skipped,
}

impl Status {
    /// The word at the start of a check's line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed => "FAIL",
            Self::Skipped => "skip",
        }
    }
}

/// One check's outcome.
#[derive(Debug, Clone)]
pub struct CheckResult {
    /// The check's stable id.
    pub id: &'static str,
    /// The assertion in words.
    pub title: &'static str,
    /// The part of the contract that it proves.
    pub rule: &'static str,
    /// How it ended.
    pub status: Status,
    /// What was seen.
    pub detail: String,
    /// How long it took.
    pub took: Duration,
}

impl CheckResult {
    /// The line for people.
    pub fn line(&self) -> String {
        let detail: String =
            self.detail.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
        let separator = if detail.is_empty() { "" } else { ": " };
        format!("{:4} {:28} {}{separator}{detail}", self.status.word(), self.id, self.title)
    }
}

/// All checks against one address.
#[derive(Debug, Clone)]
pub struct TargetReport {
    /// The contract that it was judged by: `contract` for the ask contract, `executor` for the executor's.
    pub contract: &'static str,
    /// `direct` or `via gateway`.
    pub name: &'static str,
    /// The address that was judged.
    pub base: String,
    /// The models that answered, as `done` named them: with a scripted model, the names that it was asked for too.
    pub models: Vec<String>,
    /// In the order in which they ran.
    pub results: Vec<CheckResult>,
}

impl TargetReport {
    /// How many checks ended so.
    pub fn count(&self, status: Status) -> usize {
        self.results.iter().filter(|result| result.status == status).count()
    }

    /// `N/N contract checks passed, M skipped`, or the same with `executor checks`.
    pub fn summary(&self) -> String {
        let skipped = self.count(Status::Skipped);
        let total = self.results.len() - skipped;
        let passed = self.count(Status::Passed);
        format!("{passed}/{total} {} checks passed, {skipped} skipped", self.contract)
    }
}

/// The whole verdict.
#[derive(Debug, Clone)]
pub struct Report {
    /// One per address.
    pub targets: Vec<TargetReport>,
}

impl Report {
    /// Whether every check that ran has passed, and at least one ran.
    pub fn passed(&self) -> bool {
        let ran = self.targets.iter().flat_map(|target| &target.results);
        let mut passed = 0;
        for result in ran {
            match result.status {
                Status::Failed => return false,
                Status::Passed => passed += 1,
                Status::Skipped => {}
            }
        }
        passed > 0
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let targets: Vec<_> = self
            .targets
            .iter()
            .map(|target| {
                let checks: Vec<_> = target
                    .results
                    .iter()
                    .map(|result| {
                        json!({
                            "id": result.id,
                            "title": result.title,
                            "rule": result.rule,
                            "status": result.status.word(),
                            "detail": result.detail,
                            "ms": u64::try_from(result.took.as_millis()).unwrap_or(u64::MAX),
                        })
                    })
                    .collect();
                json!({
                    "contract": target.contract,
                    "name": target.name,
                    "base": target.base,
                    "models": target.models,
                    "passed": target.count(Status::Passed),
                    "failed": target.count(Status::Failed),
                    "skipped": target.count(Status::Skipped),
                    "summary": target.summary(),
                    "checks": checks,
                })
            })
            .collect();
        json!({"passed": self.passed(), "targets": targets})
    }

    /// For continuous integration.
    pub fn junit(&self) -> String {
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        for target in &self.targets {
            // Writing to a string can't fail.
            let _ignored = writeln!(
                xml,
                "  <testsuite name=\"{}, {}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
                if target.contract == "executor" { "executor contract" } else { "ask contract" },
                escaped(target.name),
                target.results.len(),
                target.count(Status::Failed),
                target.count(Status::Skipped),
            );
            for result in &target.results {
                let detail = escaped(&result.detail);
                let inner = match result.status {
                    Status::Passed => String::new(),
                    Status::Failed => format!("<failure message=\"{detail}\"/>"),
                    Status::Skipped => "<skipped/>".to_owned(),
                };
                let _ignored = writeln!(
                    xml,
                    "    <testcase classname=\"{}\" name=\"{}: {}\" time=\"{:.3}\">{inner}</testcase>",
                    escaped(target.name),
                    escaped(result.id),
                    escaped(result.title),
                    result.took.as_secs_f64(),
                );
            }
            xml.push_str("  </testsuite>\n");
        }
        xml.push_str("</testsuites>\n");
        xml
    }
}

/// Text as XML takes it in an attribute.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(statuses: &[Status]) -> Report {
        let results = statuses
            .iter()
            .map(|status| CheckResult {
                id: "a.b",
                title: "a \"title\" & more",
                rule: "rule 1",
                status: *status,
                detail: "<detail>\u{1}".to_owned(),
                took: Duration::from_millis(5),
            })
            .collect();
        Report {
            targets: vec![TargetReport {
                contract: "contract",
                name: "direct",
                base: "http://x".to_owned(),
                models: Vec::new(),
                results,
            }],
        }
    }

    #[test]
    fn the_summary_counts_skipped_checks_apart() {
        let report = report(&[Status::Passed, Status::Failed, Status::Skipped]);
        assert_eq!(report.targets[0].summary(), "1/2 contract checks passed, 1 skipped");
        assert!(!report.passed());
    }

    #[test]
    fn a_run_of_nothing_is_no_pass() {
        assert!(!report(&[]).passed());
        assert!(!report(&[Status::Skipped]).passed());
        assert!(report(&[Status::Passed, Status::Skipped]).passed());
    }

    #[test]
    fn junit_is_escaped() {
        let xml = report(&[Status::Failed]).junit();
        assert!(xml.contains("message=\"&lt;detail&gt; \""), "{xml}");
        assert!(xml.contains("a &quot;title&quot; &amp; more"), "{xml}");
    }
}
