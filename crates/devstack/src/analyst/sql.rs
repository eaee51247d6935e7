//! The statements that ask for what a reading wants.

use super::{
    entity::Table,
    facts::Facts,
    filters::Filter,
    joins::key_to,
    measure::Measure,
    period::{Grain, Period},
    reading::{Group, Part, Reading},
    years::Fiscal,
};

/// A ranking over things without number is cut here.
const LONGEST_RANKING: usize = 10;

/// One statement and where to run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) source: String,
    pub(crate) sql: String,
}

/// How columns are written: bare while one table is in play, with the table's name when there are more.
pub(crate) struct Names<'facts> {
    primary: &'facts Table,
    joined: Vec<&'facts Table>,
}

impl<'facts> Names<'facts> {
    /// For a statement over `primary` that also touches `others`.
    pub(crate) fn new<'name>(
        primary: &'facts Table,
        others: impl IntoIterator<Item = &'name str>,
        facts: &'facts Facts,
    ) -> Self {
        let mut joined: Vec<&Table> = Vec::new();
        for table in others.into_iter().filter_map(|name| facts.table(name)) {
            if table.name != primary.name && !joined.iter().any(|known| known.name == table.name) {
                joined.push(table);
            }
        }
        Self { primary, joined }
    }

    /// A column of a table.
    pub(crate) fn column(&self, table: &str, column: &str) -> String {
        if self.joined.is_empty() {
            return column.to_owned();
        }
        let short = table.rsplit_once('.').map_or(table, |(_, short)| short);
        format!("{short}.{column}")
    }

    /// A formula whose columns carry schema and table.
    pub(crate) fn formula(&self, formula: &str) -> String {
        let mut written = formula.to_owned();
        for table in std::iter::once(&self.primary).chain(&self.joined) {
            let shorter = if self.joined.is_empty() { String::new() } else { format!("{}.", table.short()) };
            written = written.replace(&format!("{}.", table.name), &shorter);
        }
        written
    }

    /// The tables with how they hang together.
    pub(crate) fn from(&self) -> String {
        let mut from = self.primary.name.clone();
        for table in &self.joined {
            let key = key_to(self.primary, table).unwrap_or_default();
            let (left, right) = (self.column(&self.primary.name, key), self.column(&table.name, key));
            from.extend([" JOIN ", &table.name, " ON ", &right, " = ", &left]);
        }
        from
    }

    /// The condition of a filter.
    pub(crate) fn filter(&self, filter: &Filter) -> String {
        let column = self.column(&filter.table, &filter.column);
        let quoted = |value: &String| {
            if filter.numeric { value.clone() } else { format!("'{}'", value.replace('\'', "''")) }
        };
        let values: Vec<String> = filter.values.iter().map(quoted).collect();
        match values.as_slice() {
            [one] => format!("{column} = {one}"),
            several => format!("{column} IN ({})", several.join(", ")),
        }
    }
}

/// The statement for one part of a reading.
pub(crate) fn query(part: &Part, reading: &Reading, facts: &Facts) -> Option<Query> {
    let first = part.measures.first()?;
    let primary = facts.table(&first.table)?;
    let mut others: Vec<&str> = part.filters.iter().map(|filter| filter.table.as_str()).collect();
    if let Some(Group::Column(dimension)) = &part.group {
        others.push(&dimension.table);
    }
    others.extend(part.second.as_ref().map(|dimension| dimension.table.as_str()));
    for measure in &part.measures {
        let named = facts.tables.iter().filter(|table| measure.formula.contains(&format!("{}.", table.name)));
        others.extend(named.map(|table| table.name.as_str()));
    }
    let names = Names::new(primary, others, facts);
    let time = part.time_column.as_ref().map(|column| names.column(&primary.name, column));
    let mut select = Vec::new();
    let mut grouping = Vec::new();
    match &part.group {
        Some(Group::Column(dimension)) => {
            let column = names.column(&dimension.table, &dimension.column);
            select.push(column.clone());
            grouping.extend(dimension.key.as_ref().map(|key| names.column(&dimension.table, key)));
            grouping.push(column);
        }
        Some(Group::Time(grain)) => {
            let span = span(*grain, time.as_ref()?, reading.fiscal);
            select.push(format!("{span} AS {}", grain.named().replace(' ', "_")));
            grouping.push(span);
        }
        None => {}
    }
    if let Some(dimension) = &part.second {
        let column = names.column(&dimension.table, &dimension.column);
        select.push(column.clone());
        grouping.push(column);
    }
    for measure in &part.measures {
        select.push(format!("{} AS {}", rounded(&names.formula(&measure.formula), measure), measure.alias));
    }
    let relative = matches!(reading.period, Some(Period::Back { .. }));
    if let (None, true, Some(time)) = (&part.group, relative, &time) {
        // The answer must say which days a period is that was counted back from the data.
        select.push(format!("MIN({time}) AS first_day, MAX({time}) AS last_day"));
    }
    let mut conditions: Vec<String> = part.filters.iter().map(|filter| names.filter(filter)).collect();
    if let (Some(period), Some(time)) = (&reading.period, &time) {
        let newest = part
            .time_column
            .as_ref()
            .map(|column| format!("(SELECT MAX({column}) FROM {})", primary.name))?;
        conditions.extend(within(period, time, &newest, reading.fiscal));
    }
    let mut sql = format!("SELECT {} FROM {}", select.join(", "), names.from());
    if !conditions.is_empty() {
        sql.extend([" WHERE ", &conditions.join(" AND ")]);
    }
    if !grouping.is_empty() {
        sql.extend([" GROUP BY ", &grouping.join(", ")]);
        sql.push_str(&order(part, reading, first, &select));
    }
    Some(Query { source: primary.source.clone(), sql })
}

fn order(part: &Part, reading: &Reading, measure: &Measure, select: &[String]) -> String {
    let time = matches!(part.group, Some(Group::Time(_)));
    let group = if time { "1".to_owned() } else { select.first().cloned().unwrap_or_default() };
    let descending = reading.descending(measure);
    if time && descending.is_none() {
        return format!(" ORDER BY {group}");
    }
    let way = if descending.unwrap_or(true) { "DESC" } else { "ASC" };
    // A group without a figure is neither best nor worst.
    let nulls = if way == "ASC" && !measure.formula.starts_with("COUNT") {
        format!("{} IS NULL, ", measure.alias)
    } else {
        String::new()
    };
    let many = matches!(&part.group, Some(Group::Column(dimension)) if !dimension.listed);
    let limit = reading.cues.top.or((many && reading.cues.end.is_some()).then_some(LONGEST_RANKING));
    let limit = limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
    format!(" ORDER BY {nulls}{} {way}, {group}{limit}", measure.alias)
}

fn rounded(formula: &str, measure: &Measure) -> String {
    let whole = measure.counts() && (formula.starts_with("COUNT(") || measure.unit.is_some());
    if whole { formula.to_owned() } else { format!("ROUND({formula}, 2)") }
}

/// The span of a grain that a moment lies in, as text that sorts by time.
fn span(grain: Grain, time: &str, fiscal: Fiscal) -> String {
    let quarter = |time: &str, year: String| {
        format!("{year} || '-Q' || ((CAST(substr({time}, 6, 2) AS INTEGER) + 2) / 3)")
    };
    let shifted = format!("date({time}, '-{} months')", fiscal.month - 1);
    let later = i32::from(fiscal.named_by_end && fiscal.month > 1);
    let fiscal_year = if later == 0 {
        format!("substr({shifted}, 1, 4)")
    } else {
        format!("CAST(CAST(substr({shifted}, 1, 4) AS INTEGER) + {later} AS TEXT)")
    };
    match grain {
        Grain::Day => format!("substr({time}, 1, 10)"),
        Grain::Month => format!("substr({time}, 1, 7)"),
        Grain::Year => format!("substr({time}, 1, 4)"),
        Grain::Quarter => quarter(time, format!("substr({time}, 1, 4)")),
        Grain::FiscalYear => fiscal_year,
        Grain::FiscalQuarter => quarter(&shifted, fiscal_year),
    }
}

/// The conditions that keep `time` within a period; `newest` is the newest moment of the data.
pub(crate) fn within(period: &Period, time: &str, newest: &str, fiscal: Fiscal) -> Vec<String> {
    match period {
        Period::Days { from, until, .. } => {
            let from = from.map(|day| format!("{time} >= '{day}'"));
            let until = until.map(|day| format!("{time} < '{day}'"));
            from.into_iter().chain(until).collect()
        }
        Period::Back { grain, spans } => {
            let first = i32::from(fiscal.month) - 1;
            let start = |back: i32| match grain {
                Grain::Day => format!("date({newest}, '-{back} days')"),
                Grain::Month => format!("date({newest}, 'start of month', '-{back} months')"),
                Grain::Year => format!("date({newest}, 'start of year', '-{back} years')"),
                Grain::FiscalYear => format!(
                    "date({newest}, 'start of month', '-{first} months', 'start of year', '-{back} years', '+{first} months')"
                ),
                Grain::Quarter | Grain::FiscalQuarter => format!(
                    "date({newest}, 'start of month', '-' || ((CAST(substr({newest}, 6, 2) AS INTEGER) + {}) % 3 + {}) || ' months')",
                    if grain.is_fiscal() { 12 - i32::from(fiscal.month) } else { 2 },
                    3 * back
                ),
            };
            let mut conditions = vec![format!("{time} >= {}", start(*spans))];
            if *spans > 0 {
                conditions.push(format!("{time} < {}", start(*spans - 1)));
            }
            conditions
        }
    }
}
