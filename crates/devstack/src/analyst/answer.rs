//! What is told of figures: a sentence or two, the one figure that matters, and what it rests on.

use serde_json::{Value, json};

use super::{
    cues::End,
    facts::Facts,
    figures::written,
    measure::Measure,
    reading::{Group, Part, Reading},
};

/// How many groups a sentence names.
const NAMED_GROUPS: usize = 6;

/// A conclusion as the local tool takes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Conclusion {
    pub(crate) answered: bool,
    pub(crate) text: String,
    pub(crate) entities: Vec<String>,
    pub(crate) searched: Vec<String>,
    pub(crate) headline: Value,
}

impl Conclusion {
    /// One that says why there is no answer.
    pub(crate) fn cannot(text: impl Into<String>, searched: Vec<String>) -> Self {
        Self { answered: false, text: text.into(), entities: Vec::new(), searched, headline: Value::Null }
    }
}

/// The answer to a reading from what its statements brought, one result a part.
pub(crate) fn figures(reading: &Reading, results: &[&Value], facts: &Facts) -> Conclusion {
    let mut sentences = Vec::new();
    let mut headline = Value::Null;
    for (part, result) in reading.parts.iter().zip(results) {
        let (sentence, figure) = told(part, reading, result);
        sentences.push(sentence);
        headline = if results.len() == 1 { figure } else { Value::Null };
    }
    let mut entities: Vec<String> = Vec::new();
    let measures = reading.parts.iter().flat_map(|part| &part.measures);
    for measure in measures {
        if let Some((term, definition)) = &measure.definition
            && sentences.len() <= results.len()
        {
            sentences.push(format!("{term}: {}", first_sentence(definition)));
        }
        for entity in &measure.entities {
            if !entities.contains(entity) {
                entities.push(entity.clone());
            }
        }
    }
    entities.extend(reading.fiscal_term.clone());
    entities.retain(|entity| facts.named(entity).is_some());
    Conclusion { answered: true, text: sentences.join(" "), entities, searched: Vec::new(), headline }
}

fn first_sentence(text: &str) -> String {
    let end = text.find(". ").map_or(text.len(), |end| end + 1);
    text.get(..end).unwrap_or(text).to_owned()
}

fn rows(result: &Value) -> &[Value] {
    result.get("rows").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn cell(row: &Value, at: usize) -> &Value {
    row.get(at).unwrap_or(&Value::Null)
}

/// A value of a row as text.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// What the figures are about, as part of a sentence.
fn scope(part: &Part, reading: &Reading, result: &Value) -> String {
    let mut scope = String::new();
    for filter in &part.filters {
        let compared =
            matches!(&part.group, Some(Group::Column(dimension)) if dimension.column == filter.column);
        if !compared {
            let noun = filter.column.trim_end_matches("_id").trim_end_matches("_name").replace('_', " ");
            scope.extend([" for ", &noun, " ", &filter.values.join(" or ")]);
        }
    }
    if let Some(period) = &reading.period {
        scope.extend([" ", &period.said()]);
        let columns = result.get("columns").and_then(Value::as_array);
        let first_day = columns.and_then(|columns| columns.iter().position(|name| name == "first_day"));
        if let (Some(at), Some(row)) = (first_day, rows(result).first()) {
            let day = |at: usize| plain(cell(row, at)).chars().take(10).collect::<String>();
            scope.extend([" (", &day(at), " to ", &day(at + 1), ")"]);
        }
    }
    scope
}

/// One part's sentence, and its headline where one figure is the answer.
fn told(part: &Part, reading: &Reading, result: &Value) -> (String, Value) {
    let scope = scope(part, reading, result);
    let Some(measure) = part.measures.first() else {
        return (String::new(), Value::Null);
    };
    let label = &measure.label;
    match &part.group {
        None => single(part, measure, &scope, result, reading.period.is_some()),
        Some(_) if rows(result).is_empty() => {
            (format!("Nothing matches: there are no rows for {label}{scope}."), Value::Null)
        }
        Some(group) => {
            let noun = match group {
                Group::Column(dimension) => match &part.second {
                    Some(second) => format!("{} and {}", dimension.label, second.label),
                    None => dimension.label.clone(),
                },
                Group::Time(grain) => grain.named().to_owned(),
            };
            match (reading.cues.end, reading.cues.top.unwrap_or(1)) {
                (Some(_), 1) if part.second.is_none() => winner(measure, reading, &noun, &scope, result),
                (Some(_), _) => {
                    let word = &reading.cues.end_word;
                    let opening = format!("{word} by {label}{scope}");
                    (listed(&capital(&opening), part, result), Value::Null)
                }
                (None, _) if matches!(group, Group::Time(_)) && rows(result).len() > NAMED_GROUPS => {
                    (course(measure, &noun, &scope, result), Value::Null)
                }
                (None, _) => {
                    let labels: Vec<&str> =
                        part.measures.iter().map(|measure| measure.label.as_str()).collect();
                    let opening = format!("{} by {noun}{scope}", labels.join(" and "));
                    (listed(&capital(&opening), part, result), Value::Null)
                }
            }
        }
    }
}

fn capital(text: &str) -> String {
    let mut signs = text.chars();
    signs.next().map_or_else(String::new, |first| first.to_uppercase().chain(signs).collect())
}

fn single(part: &Part, measure: &Measure, scope: &str, result: &Value, was: bool) -> (String, Value) {
    let Some(row) = rows(result).first() else {
        return (format!("There is no figure for {}{scope}.", measure.label), Value::Null);
    };
    let told = |(at, measure): (usize, &Measure)| {
        let value = cell(row, at);
        if value.is_null() {
            return format!("There is no figure for {}{scope}: no rows match.", measure.label);
        }
        let figure = written(value, measure);
        let unit = measure.unit.as_deref().unwrap_or_default();
        let lower = measure.label.to_lowercase();
        let singular = value.as_i64() == Some(1);
        let verb = if was {
            if singular { "was" } else { "were" }
        } else if singular {
            "is"
        } else {
            "are"
        };
        if measure.counts() && !unit.is_empty() && lower.ends_with(unit) && !lower.starts_with("number of") {
            let noun = figure.split_once(' ').map_or(figure.as_str(), |(number, _)| number);
            return format!("There {verb} {noun} {lower}{scope}.");
        }
        if measure.counts()
            && measure.formula.starts_with("COUNT(")
            && !unit.is_empty()
            && !lower.contains("active")
        {
            return format!("There {verb} {figure}{scope}.");
        }
        format!("{}{scope} {} {figure}.", capital(&measure.label), if was { "was" } else { "is" })
    };
    let sentences: Vec<String> = part.measures.iter().enumerate().map(told).collect();
    let value = cell(row, 0);
    let headline = if part.measures.len() == 1 && !value.is_null() {
        json!({"value": value, "unit": measure.unit, "label": format!("{}{scope}", capital(&measure.label))})
    } else {
        Value::Null
    };
    (sentences.join(" "), headline)
}

fn winner(measure: &Measure, reading: &Reading, noun: &str, scope: &str, result: &Value) -> (String, Value) {
    let Some(first) = rows(result).first() else {
        return (String::new(), Value::Null);
    };
    let name = plain(cell(first, 0));
    let figure = written(cell(first, 1), measure);
    let second = rows(result).get(1).filter(|second| !cell(second, 1).is_null());
    let high = reading.descending(measure) == Some(true);
    let label = &measure.label;
    let tied = second.filter(|second| cell(second, 1) == cell(first, 1));
    if let Some(second) = tied {
        let text = format!(
            "{name} and {} share the first place in {label}{scope}: {figure} each.",
            plain(cell(second, 0))
        );
        return (text, Value::Null);
    }
    let word = match reading.cues.end {
        Some(End::High | End::Low) if !reading.cues.speed => {
            if high {
                "highest"
            } else {
                "lowest"
            }
        }
        Some(_) | None => reading.cues.end_word.as_str(),
    };
    let opening = if reading.cues.speed {
        format!("{name} is {word}: {label}{scope} {figure}")
    } else if ["best", "worst", "better", "worse"].contains(&word) {
        format!("{name} is {word} by {label}{scope}: {figure}")
    } else {
        format!("{name} has the {word} {label}{scope}: {figure}")
    };
    let next = second.map(|second| {
        format!(", then {} with {}", plain(cell(second, 0)), written(cell(second, 1), measure))
    });
    let place = if reading.cues.speed || ["best", "worst", "better", "worse"].contains(&word) {
        format!("{word} {noun} by {label}{scope}")
    } else {
        format!("{noun} with the {word} {label}{scope}")
    };
    let headline = json!({"value": name, "unit": null, "label": place});
    (format!("{opening}{}.", next.unwrap_or_default()), headline)
}

fn listed(opening: &str, part: &Part, result: &Value) -> String {
    let all = rows(result);
    let told = |row: &Value| {
        let figures: Vec<String> = part
            .measures
            .iter()
            .zip(part.keys()..)
            .map(|(measure, at)| written(cell(row, at), measure))
            .collect();
        let keys: Vec<String> = (0..part.keys()).map(|at| plain(cell(row, at))).collect();
        format!("{} {}", keys.join(" / "), figures.join(" and "))
    };
    let named: Vec<String> = all.iter().take(NAMED_GROUPS).map(told).collect();
    let more = all.len().saturating_sub(NAMED_GROUPS);
    let rest = if more > 0 { format!("; {more} more below") } else { String::new() };
    format!("{opening}: {}{rest}.", named.join(", "))
}

/// A course over time: both ends and the highest point.
fn course(measure: &Measure, noun: &str, scope: &str, result: &Value) -> String {
    let all = rows(result);
    let figure = |row: &Value| written(cell(row, 1), measure);
    let highest = all.iter().max_by(|one, other| {
        let value = |row: &Value| cell(row, 1).as_f64().unwrap_or(f64::MIN);
        value(one).total_cmp(&value(other))
    });
    let (Some(first), Some(last), Some(highest)) = (all.first(), all.last(), highest) else {
        return String::new();
    };
    format!(
        "{} by {noun}{scope} went from {} in {} to {} in {}; the highest was {} in {}.",
        measure.label,
        figure(first),
        plain(cell(first, 0)),
        figure(last),
        plain(cell(last, 0)),
        figure(highest),
        plain(cell(highest, 0)),
    )
}
