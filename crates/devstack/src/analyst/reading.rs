//! What a question was understood to ask.

use super::{
    cues::{Cues, End, Kind},
    dimension::{self, Dimension, Phrase},
    facts::{Entity, EntityKind, Facts},
    filters::{Filter, take_filters},
    measure::{Measure, measures},
    memory::Memory,
    period::{Fiscal, Grain, Period},
    phrases::{Wanted, names_of_table, source_stems},
    question::{Question, Role},
    words::{Word, stems, words},
};

/// What figures are grouped by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Group {
    Column(Dimension),
    Time(Grain),
}

/// Something that must be known before the question can be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Need {
    /// The details of a catalog entity.
    Details(EntityKind, String),
    /// The columns of a table.
    Columns(String),
    /// What the catalog has under these words.
    Search(String),
}

/// What one table is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    /// One or more measures over the same table.
    pub(crate) measures: Vec<Measure>,
    pub(crate) group: Option<Group>,
    /// A second column to group by.
    pub(crate) second: Option<Dimension>,
    pub(crate) filters: Vec<Filter>,
    /// The column that the period is about.
    pub(crate) time_column: Option<String>,
}

/// A question as understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reading {
    pub(crate) cues: Cues,
    pub(crate) parts: Vec<Part>,
    pub(crate) period: Option<Period>,
    pub(crate) fiscal: Fiscal,
    /// The term that defines the fiscal year, where it was used.
    pub(crate) fiscal_term: Option<String>,
    /// The words that nothing known explains, as written.
    pub(crate) unexplained: Vec<String>,
    pub(crate) needs: Vec<Need>,
    /// The words to look for in the catalog, as written.
    pub(crate) topic: Vec<String>,
    /// The words that name what to group by.
    pub(crate) phrase: Option<Phrase>,
    /// The words that name a second column to group by.
    pub(crate) second: Option<Phrase>,
}

/// Reads a question that asks for figures.
pub(crate) fn read(text: &str, facts: &Facts, memory: Option<&Memory>, catalog: bool) -> Reading {
    let mut question = Question::new(text);
    let fiscal_entity = fiscal_year(facts);
    let fiscal = fiscal_of(facts);
    let period = super::period::take_period(&mut question, fiscal);
    let mut cues = super::cues::take_cues(&mut question);
    let topic = topic(&question);
    if let Some(each) = period.as_ref().and_then(Period::each) {
        cues.grain = cues.grain.filter(|_| !cues.trend).or(Some(each));
    }
    take_verbs(&mut question, facts);
    let reference = memory.and_then(|memory| memory.take_reference(&mut question));
    let mut phrases = dimension::take_phrases(&mut question, facts, &cues).into_iter();
    let (phrase, second) = (phrases.next(), phrases.next());
    let mut reading = Reading {
        fiscal,
        fiscal_term: None,
        unexplained: Vec::new(),
        needs: Vec::new(),
        parts: Vec::new(),
        topic,
        phrase: phrase.clone(),
        second,
        period,
        cues,
    };
    let fiscal_asked = reading.period.as_ref().is_some_and(Period::is_fiscal)
        || reading.cues.grain.is_some_and(Grain::is_fiscal);
    if fiscal_asked {
        match fiscal_entity {
            Some(term) => reading.fiscal_term = Some(term.fqn.clone()),
            None if catalog => reading.needs.push(Need::Search("fiscal year".to_owned())),
            None => {}
        }
    }
    if let Some(phrase) = &phrase {
        reading.needs.extend(dimension::needs_of(phrase, facts));
    }
    let mut chosen = choose(&question, facts, &reading.cues, phrase.as_ref(), catalog);
    if chosen.is_empty() && phrase.is_some() && !reading.cues.is_plain() {
        chosen = choose_with_phrase(&question, facts, &reading.cues, phrase.as_ref(), catalog);
    }
    if chosen.is_empty() && reading.cues.speed && reading.cues.end.is_some() && catalog {
        // The catalog may say itself what fast and slow refer to.
        match super::measure::meant_by_speed(facts) {
            Some(measure) => chosen.push(measure),
            None => reading.needs.push(Need::Search("fastest time".to_owned())),
        }
    }
    let inherited = memory.filter(|memory| {
        chosen.is_empty() && memory.is_continued_by(&reading.cues, &question, reference.is_some())
    });
    if let Some(memory) = inherited {
        memory.hand_on(&mut reading, &mut question, facts, phrase.as_ref(), reference.as_ref());
        return reading;
    }
    for measure in &chosen {
        if let Some(fqn) = &measure.unread {
            reading.needs.push(Need::Details(EntityKind::Metric, fqn.clone()));
        }
    }
    for measure in chosen {
        cover(&mut question, &measure);
        place(&mut reading, measure);
    }
    let mut unreferred: Vec<String> = Vec::new();
    for at in 0..reading.parts.len() {
        let Some(mut part) = reading.parts.get(at).cloned() else {
            continue;
        };
        complete(&mut part, &mut reading, &mut question, facts, phrase.as_ref());
        if let Some(filter) = &reference {
            match super::memory::carry(filter, &part, facts) {
                Some(filter) => {
                    part.filters.retain(|known| known.column != filter.column);
                    part.filters.push(filter);
                }
                None => unreferred.push(filter.column.clone()),
            }
        }
        if let Some(slot) = reading.parts.get_mut(at) {
            *slot = part;
        }
    }
    if !unreferred.is_empty() {
        // "That region" may be a column of a table not seen yet.
        let sources = reading
            .parts
            .iter()
            .flat_map(|part| &part.measures)
            .filter_map(|measure| facts.table(&measure.table));
        let needs: Vec<Need> = sources.flat_map(|table| unread_tables(facts, &table.source)).collect();
        reading.needs.extend(needs);
        reading.unexplained.extend(unreferred);
    }
    if let Some(memory) = memory {
        super::memory::carry_scope(memory, text, reference.is_some(), &mut reading, facts);
    }
    reading.unexplained = unexplained(&question, &reading, facts);
    reading
}

/// A verb that a column of moments is named after tells of time alone, unless it is part of a name in the catalog:
/// tickets opened are not open tickets, tickets resolved are resolved tickets.
fn take_verbs(question: &mut Question, facts: &Facts) {
    let columns = facts.tables.iter().flat_map(|table| &table.columns).filter(|column| column.is_time());
    let verbs: Vec<&str> = columns.filter_map(|column| column.name.split('_').next()).collect();
    let names =
        facts.entities.iter().flat_map(|entity| std::iter::once(&entity.display).chain(&entity.synonyms));
    let named: Vec<String> = names.flat_map(|name| words(name)).map(|word| word.lower).collect();
    for at in question.free() {
        let word = question.lower(at).to_owned();
        if verbs.contains(&word.as_str()) && !named.contains(&word) {
            question.mark(at..at + 1, Role::Time);
        }
    }
}

/// The term that defines the fiscal year.
fn fiscal_year(facts: &Facts) -> Option<&Entity> {
    let name = stems("fiscal year");
    facts.of_kind(EntityKind::Term).find(|term| {
        stems(&term.display) == name || term.synonyms.iter().any(|synonym| stems(synonym) == name)
    })
}

/// How the fiscal year lies in the calendar; the calendar year where nothing defines it.
pub(crate) fn fiscal_of(facts: &Facts) -> Fiscal {
    let defined = fiscal_year(facts).and_then(|term| Fiscal::defined_by(&term.description));
    defined.unwrap_or(Fiscal::CALENDAR)
}

/// The words to look for in the catalog: those that are about the matter, not about the asking.
pub(crate) fn topic(question: &Question) -> Vec<String> {
    let free = question.free().into_iter();
    free.filter_map(|at| question.words.get(at))
        .filter(|word| !super::words::is_filler(&word.lower))
        .map(|word| word.raw.clone())
        .collect()
}

/// The measures to compute: the best fit, and others that explain further words wholly.
fn choose(
    question: &Question,
    facts: &Facts,
    cues: &Cues,
    phrase: Option<&Phrase>,
    catalog: bool,
) -> Vec<Measure> {
    let wanted = Wanted::new(question.free_stems(), cues);
    pick(wanted, facts, cues, phrase, catalog, question)
}

/// As [`choose`], with the words of the dimension too: "how many products are there by product".
fn choose_with_phrase(
    question: &Question,
    facts: &Facts,
    cues: &Cues,
    phrase: Option<&Phrase>,
    catalog: bool,
) -> Vec<Measure> {
    let said = question.free_stems().into_iter().chain(phrase.into_iter().flatten().cloned());
    pick(Wanted::new(said, cues), facts, cues, phrase, catalog, question)
}

fn pick(
    mut wanted: Wanted,
    facts: &Facts,
    cues: &Cues,
    phrase: Option<&Phrase>,
    catalog: bool,
    question: &Question,
) -> Vec<Measure> {
    let reaches = |measure: &Measure| {
        let Some((phrase, table)) = phrase.zip(facts.table(&measure.table)) else {
            return true;
        };
        dimension::resolve(phrase, table, facts).is_some() || !unread_tables(facts, &table.source).is_empty()
    };
    let several = question.has_any(&["and", "versus", "vs", "with", "against", "compared"]);
    let mut chosen: Vec<Measure> = Vec::new();
    loop {
        let found = measures(facts, &wanted, cues, catalog);
        let next = found
            .iter()
            .find(|measure| reaches(measure))
            .or_else(|| found.first().filter(|_| chosen.is_empty()));
        let Some(next) = next.cloned() else {
            return chosen;
        };
        let further = next.whole && !chosen.iter().any(|known| known.formula == next.formula);
        if !chosen.is_empty() && !(several && further) {
            return chosen;
        }
        wanted.said.retain(|stem| !next.covered.contains(stem));
        let last = next.covered.is_empty() || chosen.len() >= 3;
        chosen.push(next);
        if last {
            return chosen;
        }
    }
}

fn cover(question: &mut Question, measure: &Measure) {
    for at in question.free() {
        if question.words.get(at).is_some_and(|word| measure.covered.contains(&word.stem)) {
            question.mark(at..at + 1, Role::Measure);
        }
    }
}

/// Puts a measure to those of the same table, or opens a part for it.
fn place(reading: &mut Reading, measure: Measure) {
    let same =
        reading.parts.iter_mut().find(|part| part.measures.iter().any(|known| known.table == measure.table));
    match same {
        Some(part) => part.measures.push(measure),
        None => reading.parts.push(Part {
            measures: vec![measure],
            group: None,
            second: None,
            filters: Vec::new(),
            time_column: None,
        }),
    }
}

/// Finds group, filters and time column of a part.
pub(crate) fn complete(
    part: &mut Part,
    reading: &mut Reading,
    question: &mut Question,
    facts: &Facts,
    phrase: Option<&Phrase>,
) {
    let table = part.measures.first().and_then(|measure| facts.table(&measure.table));
    let Some(primary) = table else {
        return;
    };
    if primary.columns.is_empty() {
        reading.needs.push(Need::Columns(primary.name.clone()));
        return;
    }
    if let Some(phrase) = phrase {
        match dimension::resolve(phrase, primary, facts) {
            Some(dimension) => part.group = Some(Group::Column(dimension)),
            None => {
                let words = phrase.iter().cloned();
                reading.unexplained.extend(words);
                reading.needs.extend(unread_tables(facts, &primary.source));
            }
        }
    } else if let Some(grain) = reading.cues.grain {
        part.group = Some(Group::Time(grain));
    }
    if let Some(second) = reading.second.clone() {
        match dimension::resolve(&second, primary, facts) {
            Some(dimension) => part.second = Some(dimension),
            None => {
                reading.unexplained.extend(second.iter().cloned());
                reading.needs.extend(dimension::needs_of(&second, facts));
                reading.needs.extend(unread_tables(facts, &primary.source));
            }
        }
    }
    part.filters.extend(take_filters(question, primary, facts));
    if part.group.is_none()
        && let Some(filter) = part.filters.iter().find(|filter| filter.values.len() > 1)
    {
        // Several values of one column are there to be compared.
        part.group = Some(Group::Column(Dimension {
            table: filter.table.clone(),
            column: filter.column.clone(),
            key: None,
            label: filter.column.replace('_', " "),
            listed: true,
        }));
    }
    part.time_column = time_column(part, reading, question, facts);
    let timed = reading.period.is_some() || matches!(part.group, Some(Group::Time(_)));
    if timed && part.time_column.is_none() {
        reading.unexplained.push("period".to_owned());
    }
}

/// The tables of a source whose columns are not known.
pub(crate) fn unread_tables(facts: &Facts, source: &str) -> Vec<Need> {
    facts
        .tables
        .iter()
        .filter(|table| table.source == source && table.columns.is_empty())
        .map(|table| Need::Columns(table.name.clone()))
        .collect()
}

/// The column of days or moments that a period is about: the one whose verb was used, the one that the catalog
/// ties to the fiscal year, else the first.
fn time_column(part: &Part, reading: &Reading, question: &Question, facts: &Facts) -> Option<String> {
    let measure = part.measures.first()?;
    let primary = facts.table(&measure.table)?;
    let times = || primary.columns.iter().filter(|column| column.is_time());
    let verb = |name: &str| name.split('_').next().is_some_and(|verb| question.find(verb).is_some());
    if let Some(column) = times().find(|column| verb(&column.name)) {
        return Some(column.name.clone());
    }
    let fiscal = reading.fiscal_term.as_ref().and_then(|term| facts.named(term));
    let tied = fiscal.and_then(|term| {
        let mut assets = term.assets.iter().filter_map(|asset| facts.asset(asset));
        assets.find(|(table, _)| table.name == primary.name)
    });
    tied.map(|(_, column)| column).or_else(|| times().next()).map(|column| column.name.clone())
}

/// The words that are neither of the question's own making nor in anything that the parts rest on.
pub(crate) fn unexplained(question: &Question, reading: &Reading, facts: &Facts) -> Vec<String> {
    let mut known: Vec<String> = source_stems(facts).into_iter().collect();
    for part in &reading.parts {
        for measure in &part.measures {
            known.extend(measure.entities.iter().filter_map(|fqn| facts.named(fqn)).flat_map(|entity| {
                let names = entity.synonyms.iter().flat_map(|name| stems(name));
                names.chain(stems(&entity.display)).chain(stems(&entity.description))
            }));
            if let Some(table) = facts.table(&measure.table) {
                known.extend(names_of_table(table, facts).into_iter().flatten());
                known.extend(facts.entry_of(table).into_iter().flat_map(|entity| stems(&entity.description)));
                known.extend(table.columns.iter().flat_map(|column| stems(&column.name)));
            }
        }
        if let Some(Group::Column(dimension)) = &part.group {
            known.extend(stems(&dimension.label));
            known.extend(stems(&dimension.column));
            known.extend(facts.table(&dimension.table).into_iter().flat_map(|table| stems(table.short())));
        }
        for filter in &part.filters {
            known.extend(stems(&filter.column));
            known.extend(
                facts
                    .table(&filter.table)
                    .into_iter()
                    .flat_map(|table| names_of_table(table, facts).into_iter().flatten()),
            );
        }
    }
    let units = ["minute", "hour", "percent", "euro", "eur", "unit"];
    let is_known = |word: &Word| known.contains(&word.stem) || units.contains(&word.stem.as_str());
    let mut left = reading.unexplained.clone();
    left.extend(question.unexplained(is_known));
    left
}

impl Part {
    /// How many columns of a result tell the groups apart; the measures follow them.
    pub(crate) fn keys(&self) -> usize {
        usize::from(self.group.is_some()) + usize::from(self.second.is_some())
    }
}

impl Reading {
    /// Whether the ranking starts with the highest value; none when no end was asked for.
    pub(crate) fn descending(&self, measure: &Measure) -> Option<bool> {
        Some(match self.cues.end? {
            End::High => true,
            End::Low => false,
            End::Best => !measure.lower_is_better,
            End::Worst => measure.lower_is_better,
        })
    }

    /// Whether nothing was found to compute.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether words are left over, or a group that was asked for was not found.
    pub(crate) fn is_partial(&self) -> bool {
        let grouped = self.parts.iter().all(|part| part.group.is_some());
        !self.unexplained.is_empty() || (self.phrase.is_some() && !grouped)
    }

    /// Whether it asks what something means.
    pub(crate) fn kind(&self) -> Kind {
        self.cues.kind
    }
}
