//! Questions for rows as they are: lists of things with some of their columns.

use super::{
    cues::Cues,
    dimension::{Phrase, resolve},
    entity::Table,
    facts::Facts,
    filters::{Filter, take_filters},
    joins::label_of,
    measure::measures,
    memory::Memory,
    period::Period,
    phrases::{Wanted, best, names_of_table, source_stems},
    question::{Question, Role},
    sql::{Names, Query, within},
    words::{is_filler, stem, stems},
    years::Fiscal,
};

/// Tables wider than this are shown by their first columns, unless columns are named.
const WIDEST: usize = 8;

/// A list as understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listing {
    pub(crate) table: String,
    /// The columns to show.
    pub(crate) columns: Vec<String>,
    pub(crate) filters: Vec<Filter>,
    /// A condition that the catalog defines, with the entities that do.
    pub(crate) condition: Option<String>,
    pub(crate) entities: Vec<String>,
    pub(crate) period: Option<Period>,
    pub(crate) fiscal: Fiscal,
    pub(crate) unexplained: Vec<String>,
    /// A metric that may define the condition and whose formula is not known yet.
    pub(crate) unread: Option<String>,
    /// How many words of the question name the table.
    pub(crate) named: usize,
    /// Columns were asked for by name.
    pub(crate) chosen: bool,
    /// Each value once: it lists what there is in one column.
    pub(crate) distinct: bool,
}

/// Reads a question for rows; none when no table in it is known.
///
/// With `tries` a column that no look-up shows is guessed, differently after each statement that did not run.
pub(crate) fn read(
    text: &str,
    facts: &Facts,
    memory: Option<&Memory>,
    tries: Option<usize>,
) -> Option<Listing> {
    let mut question = Question::new(text);
    let fiscal = super::years::fiscal_of(facts);
    let period = super::dates::take_period(&mut question, fiscal);
    let cues = super::cues::take_cues(&mut question);
    let reference = memory.and_then(|memory| memory.take_reference(&mut question));
    let (table, named) = table_of(&question, facts, &cues)?;
    let mut listing = Listing {
        table: table.name.clone(),
        columns: Vec::new(),
        filters: Vec::new(),
        condition: None,
        entities: facts.entry_of(table).map(|entity| entity.fqn.clone()).into_iter().collect(),
        period,
        fiscal,
        unexplained: Vec::new(),
        unread: None,
        named: 0,
        chosen: false,
        distinct: false,
    };
    take_condition(&mut question, table, facts, &cues, &mut listing);
    listing.filters = take_filters(&mut question, table, facts);
    take_columns(&mut question, table, facts, &mut listing);
    listing.named = named;
    listing.chosen = !listing.columns.is_empty();
    if let Some(filter) = reference.filter(|filter| table.column(&filter.column).is_some()) {
        let table = table.name.clone();
        listing.filters.push(Filter { table, ..filter });
    }
    let known = known_stems(table, facts, &listing);
    listing.unexplained = question.unexplained(|word| known.contains(&word.stem));
    if let Some(tries) = tries.filter(|_| listing.columns.is_empty() && !listing.unexplained.is_empty()) {
        guess(&mut listing, tries);
    }
    if listing.columns.is_empty() {
        let shown = table.columns.iter().filter(|column| !column.personal);
        listing.columns = shown.take(WIDEST).map(|column| column.name.clone()).collect();
    } else if let Some(label) = label_of(table).filter(|label| !listing.columns.contains(&label.name)) {
        listing.columns.insert(0, label.name.clone());
    }
    Some(listing)
}

/// The values that there are of a dimension: "which regions do we have?".
pub(crate) fn values_of(phrase: &Phrase, facts: &Facts) -> Option<Listing> {
    let same =
        |name: &Vec<String>| name.len() == phrase.len() && name.iter().all(|stem| phrase.contains(stem));
    if facts.tables.iter().any(|table| names_of_table(table, facts).iter().any(same)) {
        return None;
    }
    let found = facts.tables.iter().find_map(|table| {
        let dimension = resolve(phrase, table, facts)?;
        (dimension.table == table.name).then_some(dimension)
    })?;
    Some(Listing {
        table: found.table,
        columns: vec![found.column],
        filters: Vec::new(),
        condition: None,
        entities: Vec::new(),
        period: None,
        fiscal: Fiscal::CALENDAR,
        unexplained: Vec::new(),
        unread: None,
        named: 0,
        chosen: false,
        distinct: true,
    })
}

/// The table whose rows are asked for: the one that its words name best, in the source that they name.
///
/// With how many words name it.
fn table_of<'facts>(
    question: &Question,
    facts: &'facts Facts,
    cues: &Cues,
) -> Option<(&'facts Table, usize)> {
    let wanted = Wanted::new(question.words.iter().map(|word| word.stem.clone()), cues);
    let mut chosen: Option<(i32, &Table, usize)> = None;
    for table in facts.tables.iter().filter(|table| !facts.is_deprecated(table)) {
        let Some(fit) = best(&names_of_table(table, facts), &wanted).filter(|fit| fit.whole) else {
            continue;
        };
        let named = wanted.said.contains(&stem(&table.source.to_lowercase()));
        // What is listed is named first: "agents who work on tickets".
        let first = question.words.iter().position(|word| fit.covered.contains(&word.stem));
        let early = i32::try_from(first.unwrap_or(0)).unwrap_or(0);
        let score = fit.score * 10 + i32::from(named) * 20 - early;
        if chosen.is_none_or(|(best, ..)| score > best) {
            chosen = Some((score, table, fit.covered.len()));
        }
    }
    chosen.map(|(_, table, named)| (table, named))
}

fn take_columns(question: &mut Question, table: &Table, facts: &Facts, listing: &mut Listing) {
    let rows: Vec<String> = names_of_table(table, facts).into_iter().flatten().collect();
    let sources = source_stems(facts);
    for column in &table.columns {
        let mut name = stems(&column.name);
        if name.len() > 1 {
            name.retain(|stem| !rows.contains(stem) && !sources.contains(stem));
        }
        let alone = |stem: &String| rows.contains(stem);
        // "The Billing team" names a team, it does not ask for the column.
        let beside = |at: usize| {
            let near =
                [at + 1, at.wrapping_sub(1)].into_iter().any(|at| question.role(at) == Some(Role::Value));
            near && listing.filters.iter().any(|filter| filter.column == column.name)
        };
        let places: Vec<usize> = (0..question.words.len())
            .filter(|at| question.role(*at).is_none_or(|role| role == Role::Cue) && !beside(*at))
            .filter(|at| question.words.get(*at).is_some_and(|word| name.contains(&word.stem)))
            .collect();
        let said = name.iter().all(|stem| {
            places.iter().any(|at| question.words.get(*at).is_some_and(|word| word.stem == *stem))
        });
        if said && !name.is_empty() && !name.iter().all(alone) {
            listing.columns.push(column.name.clone());
            for at in places {
                question.mark(at..at + 1, Role::Place);
            }
        }
    }
}

/// "Open tickets" are rows too: the catalog's count of them says which.
fn take_condition(question: &mut Question, table: &Table, facts: &Facts, cues: &Cues, listing: &mut Listing) {
    let wanted = Wanted::new(question.free_stems(), cues);
    let found = measures(facts, &wanted, cues, true);
    let chosen = found
        .iter()
        .find(|measure| measure.table == table.name && measure.whole && measure.condition().is_some());
    let unread = found.iter().find(|measure| measure.unread.is_some() && measure.whole);
    listing.unread = unread.filter(|_| chosen.is_none()).and_then(|measure| measure.unread.clone());
    if let Some((measure, condition)) = chosen.and_then(|measure| Some((measure, measure.condition()?))) {
        listing.condition = Some(condition.to_owned());
        listing.entities.splice(0..0, measure.entities.iter().cloned());
        for at in question.free() {
            if question.words.get(at).is_some_and(|word| measure.covered.contains(&word.stem)) {
                question.mark(at..at + 1, Role::Measure);
            }
        }
    }
}

fn known_stems(table: &Table, facts: &Facts, listing: &Listing) -> Vec<String> {
    let mut known: Vec<String> = names_of_table(table, facts).into_iter().flatten().collect();
    known.extend(source_stems(facts));
    let source = facts.sources.iter().find(|source| source.name == table.source);
    known.extend(source.into_iter().flat_map(|source| stems(&source.description)));
    for column in &table.columns {
        if listing.columns.contains(&column.name) {
            known.extend(stems(&column.description));
        }
    }
    for filter in &listing.filters {
        known.extend(stems(&filter.column));
        known.extend(
            facts
                .table(&filter.table)
                .into_iter()
                .flat_map(|table| names_of_table(table, facts).into_iter().flatten()),
        );
    }
    known.extend(
        listing
            .entities
            .iter()
            .filter_map(|fqn| facts.named(fqn))
            .flat_map(|entity| stems(&entity.description)),
    );
    known
}

/// Nothing shows the column that was asked for, perhaps because this caller may not see it. Whether it exists is
/// not for this side to decide: ask for it by the words of the question, and let the source answer.
fn guess(listing: &mut Listing, tries: usize) {
    let words: Vec<String> =
        listing.unexplained.iter().map(|word| word.to_lowercase()).filter(|word| !is_filler(word)).collect();
    let guesses = [words.first().cloned(), Some(words.join("_")), words.last().cloned()];
    let guess = guesses.into_iter().flatten().nth(tries);
    let plain = |word: &String| word.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    if let Some(guess) = guess.filter(plain) {
        listing.columns.push(guess);
        listing.unexplained.clear();
    }
}

impl Listing {
    /// The statement that lists the rows.
    pub(crate) fn query(&self, facts: &Facts) -> Option<Query> {
        let primary = facts.table(&self.table)?;
        let others = self.filters.iter().map(|filter| filter.table.as_str());
        let names = Names::new(primary, others, facts);
        let columns: Vec<String> =
            self.columns.iter().map(|column| names.column(&primary.name, column)).collect();
        let mut conditions: Vec<String> =
            self.condition.iter().map(|condition| names.formula(condition)).collect();
        conditions.extend(self.filters.iter().map(|filter| names.filter(filter)));
        if let Some(period) = &self.period {
            let time = primary.columns.iter().find(|column| column.is_time())?;
            let newest = format!("(SELECT MAX({}) FROM {})", time.name, primary.name);
            let column = names.column(&primary.name, &time.name);
            conditions.extend(within(period, &column, &newest, self.fiscal));
        }
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        let mut sql = format!("SELECT {distinct}{} FROM {}", columns.join(", "), names.from());
        if !conditions.is_empty() {
            sql.extend([" WHERE ", &conditions.join(" AND ")]);
        }
        let order = if self.distinct { None } else { primary.columns.first() };
        let order = order.map_or_else(|| "1".to_owned(), |key| names.column(&primary.name, &key.name));
        sql.extend([" ORDER BY ", &order]);
        Some(Query { source: primary.source.clone(), sql })
    }
}
