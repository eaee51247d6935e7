//! What people see in Slack: Block Kit for work in progress and for each of the four endings, which no one can mistake for another.

use ask_contract::{
    Abstention, Answer, Failure, Headline, HeadlineValue, Milestone, Phase, Refusal, RefusalKind,
    ResultTable, TicketId,
};
use serde_json::{Value, json};

use crate::text::{HEADER, SECTION, plain, shortened, unformatted};

/// The most rows of a table that are shown.
const ROWS: usize = 12;
/// The widest column, in characters.
const COLUMN: usize = 28;
/// The most lines of progress.
const LINES: usize = 6;
/// The most definitions and caveats that are shown each; Slack takes 50 blocks in all.
const NOTES: usize = 12;

/// The action of the stop button; its value is the ticket.
pub const STOP: &str = "ask_stop";

/// A message: blocks, and the text that stands for them in a notification.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// For notifications, and for clients without blocks.
    pub text: String,
    /// The blocks.
    pub blocks: Vec<Value>,
}

/// Work that goes on: what was told so far, and a button that ends it.
pub fn working(milestones: &[Milestone], seconds: u64, ticket: &TicketId) -> Shown {
    let told: Vec<String> = milestones.iter().map(line).collect();
    let last = told.get(told.len().saturating_sub(LINES)..).unwrap_or_default().join("\n");
    let body = if last.is_empty() { "Asking".to_owned() } else { last };
    Shown {
        text: "Working on it".to_owned(),
        blocks: vec![
            section(&format!(":hourglass_flowing_sand: *Working on it* · {seconds} s")),
            section(&body),
            json!({"type": "actions", "block_id": "ask_work", "elements": [{
                "type": "button", "action_id": STOP, "style": "danger", "value": ticket.as_str(),
                "text": {"type": "plain_text", "text": "Stop"},
            }]}),
        ],
    }
}

fn line(milestone: &Milestone) -> String {
    let what = match milestone.phase {
        Phase::Grounding => "Looking up what is meant",
        Phase::Discovering => "Looking at what data there is",
        Phase::Querying => "Asking the data",
        Phase::Reconciling => "Bringing results together",
    };
    let about =
        milestone.subject.as_deref().map(|subject| format!(": {}", unformatted(subject))).unwrap_or_default();
    let source =
        milestone.source.as_deref().map(|source| format!(" in {}", unformatted(source))).unwrap_or_default();
    format!("• {what}{about}{source}")
}

/// The result, with its rows, its definitions and every caveat.
pub fn answer(answer: &Answer) -> Shown {
    let mut blocks = Vec::new();
    if let Some(headline) = &answer.headline {
        blocks.push(header(&figure(headline)));
        blocks.push(context(&unformatted(&headline.label)));
    }
    blocks.push(section(&unformatted(&answer.text)));
    if let Some(rows) = answer.result.as_ref().and_then(table) {
        blocks.push(section(&rows));
    }
    for caveat in answer.caveats.iter().take(NOTES) {
        blocks.push(context(&format!(":warning: {}", unformatted(caveat))));
    }
    if answer.caveats.len() > NOTES {
        blocks.push(context(&format!(":warning: and {} more caveats", answer.caveats.len() - NOTES)));
    }
    for meaning in answer.provenance.iter().take(NOTES) {
        let [term, statement, source] =
            [&meaning.term, &meaning.statement, &meaning.source].map(|text| unformatted(text));
        blocks.push(context(&format!(":book: *{term}*: {statement} ({source})")));
    }
    if !answer.sources.is_empty() {
        blocks.push(context(&format!("From {}", unformatted(&answer.sources.join(", ")))));
    }
    Shown { text: shortened(&plain(&answer.text), SECTION), blocks }
}

/// No answer: what was looked for and is not there.
pub fn abstention(abstention: &Abstention) -> Shown {
    let mut blocks = vec![section(":grey_question: *No answer*"), section(&unformatted(&abstention.text))];
    if !abstention.searched_terms.is_empty() {
        let terms: Vec<String> = abstention.searched_terms.iter().map(|term| unformatted(term)).collect();
        blocks.push(context(&format!("Searched the catalog for {}", terms.join(", "))));
    }
    Shown { text: "No answer".to_owned(), blocks }
}

/// A refusal: who decided, and what.
pub fn refusal(refusal: &Refusal) -> Shown {
    let what = match refusal.what {
        RefusalKind::Access => "you may not see this",
        RefusalKind::Guard => "this may not be run",
        RefusalKind::RateLimit => "too many questions for now",
    };
    let by =
        refusal.source.as_deref().map(|source| format!(" by {}", unformatted(source))).unwrap_or_default();
    let blocks =
        vec![section(&format!(":no_entry: *Refused{by}*: {what}")), section(&unformatted(&refusal.detail))];
    Shown { text: "Refused".to_owned(), blocks }
}

/// A failure: nothing is known about the question.
pub fn failure(failure: &Failure) -> Shown {
    let blocks = vec![section(":x: *It failed; there is no answer*"), section(&unformatted(&failure.detail))];
    Shown { text: "It failed; there is no answer".to_owned(), blocks }
}

fn figure(headline: &Headline) -> String {
    let value = match &headline.value {
        HeadlineValue::Number(number) => number.to_string(),
        HeadlineValue::Text(text) => text.clone(),
    };
    headline.unit.as_ref().map_or(value.clone(), |unit| format!("{value} {unit}"))
}

/// Rows in a block of one width; `None` for a table of nothing.
fn table(result: &ResultTable) -> Option<String> {
    if result.columns.is_empty() || result.rows.is_empty() {
        return None;
    }
    let cell = |value: &Value| match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    let mut lines: Vec<Vec<String>> = vec![result.columns.clone()];
    lines.extend(result.rows.iter().take(ROWS).map(|row| row.iter().map(cell).collect()));
    for text in lines.iter_mut().flatten() {
        // A cell can't end the block that it stands in.
        *text = shortened(&text.replace('`', "'").replace(char::is_control, " "), COLUMN);
    }
    let width = |at: usize| {
        lines.iter().filter_map(|line| line.get(at)).map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..result.columns.len()).map(width).collect();
    let numeric = |at: usize| {
        result.rows.iter().filter_map(|row| row.get(at)).all(|value| value.is_number() || value.is_null())
    };
    let written = lines.iter().map(|line| {
        let cells = widths.iter().enumerate().map(|(at, width)| {
            let text = line.get(at).map_or("", String::as_str);
            if numeric(at) { format!("{text:>width$}") } else { format!("{text:<width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    let mut text = written.collect::<Vec<_>>().join("\n");
    let left = result.rows.len().saturating_sub(ROWS);
    if left > 0 || result.truncated {
        let more = if result.truncated { "more".to_owned() } else { format!("{left} more") };
        text.push_str("\n… and ");
        text.push_str(&more);
    }
    let fence = "```";
    Some(format!("{fence}{}{fence}", shortened(&plain(&text), SECTION - 2 * fence.len())))
}

fn header(text: &str) -> Value {
    json!({"type": "header", "text": {"type": "plain_text", "text": shortened(text, HEADER), "emoji": false}})
}

fn section(text: &str) -> Value {
    json!({"type": "section", "text": {"type": "mrkdwn", "text": shortened(text, SECTION), "verbatim": true}})
}

fn context(text: &str) -> Value {
    json!({"type": "context", "elements": [{"type": "mrkdwn", "text": shortened(text, SECTION), "verbatim": true}]})
}

/// A sentence of the app's own.
pub fn note(text: &str) -> Shown {
    Shown { text: text.to_owned(), blocks: vec![section(text)] }
}

/// Where to sign in, and the code to type there.
pub fn sign_in(page: &str, code: &str) -> Shown {
    // The page is the issuer's own, and was checked to be an address; signs that would end the link are none of an address.
    let link: String = page.chars().filter(|sign| !matches!(sign, '<' | '>' | '|')).collect();
    let body =
        format!("I ask as you, so sign in once: <{link}|open this page> and enter *{}*.", unformatted(code));
    Shown { text: "Sign in once, so that I can ask as you".to_owned(), blocks: vec![section(&body)] }
}
