//! What a question wants to have computed.

use std::collections::BTreeSet;

use super::{
    cues::{Aggregate, Cues},
    entity::{Column, Entity, EntityKind, Table},
    facts::Facts,
    phrases::{
        Fit, Wanted, best, mentioned, names_of, names_of_column, names_of_table, source_stems, terms_about,
        terms_of,
    },
};

/// Something that can be computed over one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measure {
    /// As people call it.
    pub(crate) label: String,
    /// The name of its column in results.
    pub(crate) alias: String,
    /// The expression, columns with schema and table.
    pub(crate) formula: String,
    /// The table whose rows it is computed over.
    pub(crate) table: String,
    pub(crate) unit: Option<String>,
    /// The catalog entities it rests on: the term that defines it first.
    pub(crate) entities: Vec<String>,
    /// The term and its definition.
    pub(crate) definition: Option<(String, String)>,
    pub(crate) lower_is_better: bool,
    /// The stems of the question that it explains.
    pub(crate) covered: BTreeSet<String>,
    pub(crate) score: i32,
    /// Every word of one of its names was said.
    pub(crate) whole: bool,
    /// The name of a metric whose formula is not known yet.
    pub(crate) unread: Option<String>,
}

impl Measure {
    /// Whether it counts things.
    pub(crate) fn counts(&self) -> bool {
        let formula = self.formula.to_uppercase();
        let plain = formula.starts_with("COUNT(") || formula.starts_with("SUM(");
        plain && !formula.contains('/') && !self.is_money() && !self.is_time()
    }

    /// Whether it is an amount of money.
    pub(crate) fn is_money(&self) -> bool {
        self.unit
            .as_deref()
            .is_some_and(|unit| unit.len() == 3 && unit.chars().all(|sign| sign.is_ascii_uppercase()))
    }

    /// Whether it is a span of time.
    pub(crate) fn is_time(&self) -> bool {
        let unit = self.unit.as_deref().unwrap_or_default();
        ["minutes", "hours", "seconds", "days"].contains(&unit)
    }

    /// Whether it is a share.
    pub(crate) fn is_share(&self) -> bool {
        let unit = self.unit.as_deref().unwrap_or_default().to_lowercase();
        unit.starts_with("percent") || unit == "%"
    }

    /// The condition on rows, for a measure that counts the rows which fulfil one.
    pub(crate) fn condition(&self) -> Option<&str> {
        let inner = self.formula.strip_prefix("COUNT(CASE WHEN ")?;
        inner.strip_suffix(" THEN 1 END)")
    }
}

/// Everything that fits the wanted words, best first.
pub(crate) fn measures(facts: &Facts, wanted: &Wanted, cues: &Cues, catalog: bool) -> Vec<Measure> {
    let mut found: Vec<Measure> = Vec::new();
    // A metric has one value for all rows: the highest or lowest of a single row is that of a column.
    let extreme = matches!(cues.aggregate, Some(Aggregate::Highest | Aggregate::Lowest));
    for metric in facts.of_kind(EntityKind::Metric).filter(|_| !extreme) {
        found.extend(of_metric(metric, facts, wanted));
    }
    let usable: Vec<&Table> = facts.tables.iter().filter(|table| !facts.is_deprecated(table)).collect();
    let counts = cues.counting || cues.end.is_some() && !cues.speed && cues.aggregate.is_none();
    if counts {
        found.extend(usable.iter().filter_map(|table| count_of(table, facts, wanted)));
    }
    if !cues.counting {
        for table in &usable {
            let amounts = table.columns.iter().filter(|column| column.is_amount());
            found.extend(amounts.filter_map(|column| of_column(table, column, facts, wanted, cues)));
        }
    }
    found.retain(|measure| fits_kind(measure, cues));
    let mentioned = mentioned(wanted.said.clone(), facts);
    for measure in &mut found {
        measure.score += bonus(measure, &mentioned, facts, wanted);
    }
    if !catalog
        && cues.speed
        && let Some(first) = first_duration(&usable, &mentioned)
    {
        // Without definitions "fast" can only be read as little time on the clock: the first such column there is.
        return vec![first];
    }
    found.retain(|measure| measure.score > 2);
    found.sort_by_key(|measure| -measure.score);
    found
}

fn bonus(measure: &Measure, mentioned: &[String], facts: &Facts, wanted: &Wanted) -> i32 {
    let source = facts.table(&measure.table).map_or("", |table| table.source.as_str());
    let named = source_stems(facts)
        .into_iter()
        .any(|stem| wanted.said.contains(&stem) && super::words::stem(source) == stem);
    i32::from(named) * 5 + i32::from(mentioned.contains(&measure.table) && measure.formula != "COUNT(*)") * 3
}

fn fits_kind(measure: &Measure, cues: &Cues) -> bool {
    if measure.unread.is_some() {
        return true;
    }
    (!cues.counting || measure.counts())
        && (!cues.speed || measure.is_time())
        && (!cues.share || measure.is_share())
}

fn sentence_after_name(term: &Entity) -> (String, String) {
    (term.display.clone(), term.description.clone())
}

fn of_metric(metric: &Entity, facts: &Facts, wanted: &Wanted) -> Option<Measure> {
    let own = best(&names_of(metric, facts), wanted);
    // A term fits its metric a little less than the metric's own names do.
    let own = own.map(|fit| Fit { score: fit.score + 2, ..fit });
    let mut chosen: Option<(Fit, Option<&Entity>)> = own.map(|fit| (fit, None));
    let terms = terms_of(metric, facts);
    for term in &terms {
        if let Some(fit) = best(&names_of(term, facts), wanted)
            && chosen.as_ref().is_none_or(|(best, _)| fit.score > best.score)
        {
            chosen = Some((fit, Some(*term)));
        }
    }
    let (fit, term) = chosen?;
    let term = term.or_else(|| terms.first().copied());
    let formula = metric.formula.clone();
    let table =
        metric.assets.iter().find_map(|asset| facts.asset(asset)).map(|(table, _)| table.name.clone());
    let unread = (formula.is_none() || table.is_none()).then(|| metric.fqn.clone());
    let entities = term.map(|term| term.fqn.clone()).into_iter().chain([metric.fqn.clone()]).collect();
    Some(Measure {
        label: metric.display.clone(),
        alias: alias(&metric.display),
        formula: formula.unwrap_or_default(),
        table: table.unwrap_or_default(),
        unit: metric.unit.clone(),
        entities,
        definition: Some(sentence_after_name(term.unwrap_or(metric))),
        lower_is_better: metric.description.to_lowercase().contains("lower is better"),
        covered: fit.covered,
        // Where two things fit alike, what the catalog agreed on goes before what a column happens to hold.
        score: fit.score + 1,
        whole: fit.whole,
        unread,
    })
}

/// The metric whose description, or whose term's, says that speed is told by it.
pub(crate) fn meant_by_speed(facts: &Facts) -> Option<Measure> {
    let speaks = |text: &str| {
        super::words::words(text).iter().any(|word| ["fast", "fastest"].contains(&word.lower.as_str()))
    };
    facts.of_kind(EntityKind::Metric).find_map(|metric| {
        let terms = terms_of(metric, facts);
        if !speaks(&metric.description) && !terms.iter().any(|term| speaks(&term.description)) {
            return None;
        }
        let name = super::words::stems(&metric.display);
        let wanted = Wanted { said: name.into_iter().collect(), ..Wanted::default() };
        let mut measure = of_metric(metric, facts, &wanted)?;
        measure.covered.clear();
        (measure.unread.is_some() || measure.is_time()).then_some(measure)
    })
}

fn count_of(table: &Table, facts: &Facts, wanted: &Wanted) -> Option<Measure> {
    let fit = best(&names_of_table(table, facts), wanted)?;
    let entity = facts.entry_of(table);
    let noun = entity.map_or_else(|| table.short().replace('_', " "), |entity| entity.display.clone());
    let unit = noun.rsplit(' ').next().unwrap_or_default().to_lowercase();
    Some(Measure {
        label: format!("Number of {}", noun.to_lowercase()),
        alias: format!("number_of_{}", alias(&noun)),
        formula: "COUNT(*)".to_owned(),
        table: table.name.clone(),
        unit: Some(unit),
        entities: entity.map(|entity| entity.fqn.clone()).into_iter().collect(),
        definition: None,
        lower_is_better: false,
        covered: fit.covered,
        score: fit.score,
        whole: fit.whole,
        unread: None,
    })
}

fn of_column(table: &Table, column: &Column, facts: &Facts, wanted: &Wanted, cues: &Cues) -> Option<Measure> {
    let fit = best(&names_of_column(table, &column.name, facts), wanted)?;
    let mean = column.is_duration() || ["price", "rate"].iter().any(|word| column.name.contains(word));
    let (function, prefix) = match cues.aggregate {
        Some(Aggregate::Average) => ("AVG", "average"),
        Some(Aggregate::Highest) => ("MAX", "highest"),
        Some(Aggregate::Lowest) => ("MIN", "lowest"),
        None if mean => ("AVG", "average"),
        Some(Aggregate::Sum) | None => ("SUM", "total"),
    };
    let term = terms_about(table, &column.name, facts).into_iter().next();
    let noun = term.map_or_else(|| column.name.replace('_', " "), |term| term.display.clone());
    Some(Measure {
        label: format!("{prefix} {}", noun.to_lowercase()),
        alias: format!("{prefix}_{}", column.name),
        formula: format!("{function}({}.{})", table.name, column.name),
        table: table.name.clone(),
        unit: unit_of(column, term),
        entities: term
            .or_else(|| facts.entry_of(table))
            .map(|entity| entity.fqn.clone())
            .into_iter()
            .collect(),
        definition: term.map(sentence_after_name),
        lower_is_better: column.is_duration(),
        covered: fit.covered,
        score: fit.score,
        whole: fit.whole,
        unread: None,
    })
}

fn first_duration(tables: &[&Table], mentioned: &[String]) -> Option<Measure> {
    let ours = |table: &&&Table| mentioned.is_empty() || mentioned.contains(&table.name);
    tables.iter().filter(ours).find_map(|table| {
        let column = table.columns.iter().find(|column| column.is_duration())?;
        Some(Measure {
            label: format!("average {}", column.name.replace('_', " ")),
            alias: format!("average_{}", column.name),
            formula: format!("AVG({}.{})", table.name, column.name),
            table: table.name.clone(),
            unit: unit_of(column, None),
            entities: Vec::new(),
            definition: None,
            lower_is_better: true,
            covered: BTreeSet::new(),
            score: 10,
            whole: false,
            unread: None,
        })
    })
}

fn unit_of(column: &Column, term: Option<&Entity>) -> Option<String> {
    if column.is_duration() {
        return column.name.rsplit('_').next().map(ToOwned::to_owned);
    }
    let in_euro = |text: &str| text.to_lowercase().contains("in euro");
    let said = in_euro(&column.description) || term.is_some_and(|term| in_euro(&term.description));
    said.then(|| "EUR".to_owned())
}

/// A name as a column name.
fn alias(name: &str) -> String {
    let words = super::words::words(name);
    let lower: Vec<String> = words.into_iter().map(|word| word.lower).collect();
    lower.join("_")
}
