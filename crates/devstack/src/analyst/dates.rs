//! Periods as questions name them: `fiscal year 2025`, `May 2025`, `since July`, `last quarter`.

use time::{Date, Month};

use super::{
    period::{Grain, Period},
    question::{Question, Role},
    years::{Fiscal, MONTHS, month_named},
};

fn year_named(word: &str) -> Option<i32> {
    let year = word.parse().ok()?;
    (word.len() == 4 && (1990..2100).contains(&year)).then_some(year)
}

/// `FY2025`, `FY25`, `2025`, `25`.
fn fiscal_year_named(word: &str) -> Option<i32> {
    let digits = word.strip_prefix("fy").unwrap_or(word);
    if digits.len() == 2 {
        return digits.parse::<i32>().ok().map(|year| 2000 + year);
    }
    year_named(digits)
}

fn first_of(year: i32, month: i32) -> Option<Date> {
    let months = year * 12 + month - 1;
    let month = u8::try_from(months.rem_euclid(12) + 1).ok()?;
    Date::from_calendar_date(months.div_euclid(12), Month::try_from(month).ok()?, 1).ok()
}

fn months(year: i32, month: i32, count: i32, label: String, fiscal: bool) -> Option<Period> {
    Some(Period::Days {
        from: Some(first_of(year, month)?),
        until: Some(first_of(year, month + count)?),
        label,
        fiscal,
        each: None,
    })
}

/// A period found in the words from `at` on, and how many words it takes.
fn named_at(question: &Question, at: usize, fiscal: Fiscal) -> Option<(Period, usize)> {
    let word = question.lower(at);
    let next = question.lower(at + 1);
    let after = question.lower(at + 2);
    let start = i32::from(fiscal.month);
    let fiscal_year = |year: i32| {
        let label = format!("in fiscal year {year}");
        months(fiscal.first_year(year), start, 12, label, true)
    };
    let fiscal_quarter = |quarter: i32, year: i32| {
        let label = format!("in fiscal quarter {quarter} of {year}");
        months(fiscal.first_year(year), start + 3 * (quarter - 1), 3, label, true)
    };
    let is_fiscal = |word: &str| ["fiscal", "financial"].contains(&word);
    if is_fiscal(word) && next == "year" {
        return Some((fiscal_year(fiscal_year_named(after)?)?, 3));
    }
    if word == "fy" || is_fiscal(word) {
        if let Some(year) = fiscal_year_named(next) {
            return Some((fiscal_year(year)?, 2));
        }
        if let Some(quarter) = quarter_named(next) {
            let (year, taken) = year_after(question, at + 2)?;
            return Some((fiscal_quarter(quarter, year)?, taken + 2));
        }
    }
    if word.starts_with("fy") {
        return Some((fiscal_year(fiscal_year_named(word)?)?, 1));
    }
    if let Some(quarter) = quarter_named(word) {
        let (year, taken) = year_after(question, at + 1)?;
        let before = question.lower(at + taken);
        if before.starts_with("fy")
            || (taken > 1 && (at..=at + taken).any(|at| is_fiscal(question.lower(at))))
        {
            return Some((fiscal_quarter(quarter, year)?, taken + 1));
        }
        let label = format!("in the {} quarter of {year}", ordinal(quarter));
        return Some((months(year, 3 * quarter - 2, 3, label, false)?, taken + 1));
    }
    if let Some(month) = month_named(word)
        && let Some((year, taken)) = year_after(question, at + 1)
    {
        let name = MONTHS.get(usize::from(month) - 1).copied().unwrap_or_default();
        let label = format!("in {}{} {year}", name.get(..1)?.to_uppercase(), name.get(1..)?);
        return Some((months(year, i32::from(month), 1, label, false)?, taken + 1));
    }
    let year = year_named(word)?;
    if let Some(quarter) = quarter_named(next) {
        let label = format!("in the {} quarter of {year}", ordinal(quarter));
        return Some((months(year, 3 * quarter - 2, 3, label, false)?, 2));
    }
    Some((months(year, 1, 12, format!("in {year}"), false)?, 1))
}

fn ordinal(quarter: i32) -> &'static str {
    match quarter {
        1 => "first",
        2 => "second",
        3 => "third",
        _ => "fourth",
    }
}

fn quarter_named(word: &str) -> Option<i32> {
    let number = word.strip_prefix('q')?.parse().ok()?;
    (1..=4).contains(&number).then_some(number)
}

/// A year that follows, perhaps after `of`, `in` or `fiscal year`, and how many words that takes.
fn year_after(question: &Question, at: usize) -> Option<(i32, usize)> {
    for skipped in 0..=3 {
        let word = question.lower(at + skipped);
        if let Some(year) =
            year_named(word).or_else(|| fiscal_year_named(word).filter(|_| word.starts_with("fy")))
        {
            return Some((year, skipped + 1));
        }
        if !["of", "in", "the", "fiscal", "financial", "year", "fy"].contains(&word) {
            return None;
        }
    }
    None
}

/// Takes the period out of a question: its words get their role.
pub(crate) fn take_period(question: &mut Question, fiscal: Fiscal) -> Option<Period> {
    for at in 0..question.words.len() {
        if question.role(at).is_some_and(|role| role != Role::Joining) {
            continue;
        }
        if let Some((found, taken)) = named_at(question, at, fiscal) {
            let before = at.checked_sub(1).map_or("", |at| question.lower(at)).to_owned();
            question.mark(at..at + taken, Role::Time);
            if before == "calendar" || ["since", "after", "before", "until"].contains(&before.as_str()) {
                question.mark(at - 1..at, Role::Time);
            }
            if question.lower(at.wrapping_sub(1)) == "year" || before == "year" {
                question.mark(at - 1..at, Role::Time);
                question.mark_any("calendar", Role::Time);
            }
            return Some(match second_of_range(question, at + taken, fiscal, &found) {
                Some(range) => range,
                None => bounded(found, &before),
            });
        }
        if let Some((found, taken)) = relative_at(question, at) {
            question.mark(at..at + taken, Role::Time);
            return Some(found);
        }
    }
    None
}

/// `from January 2025 to March 2025`, `between 2024 and 2025`; `2024 and 2025` are two years to be told apart.
fn second_of_range(question: &mut Question, at: usize, fiscal: Fiscal, first: &Period) -> Option<Period> {
    if !["and", "to", "until", "through", "versus", "vs", "with", "or"].contains(&question.lower(at)) {
        return None;
    }
    let skipped = usize::from(question.lower(at + 1) == "in") + usize::from(question.lower(at) == "compared");
    let (second, taken) = named_at(question, at + 1 + skipped, fiscal)?;
    let (Period::Days { from, until, .. }, Period::Days { from: second_from, until: second_until, .. }) =
        (first, &second)
    else {
        return None;
    };
    let ranged = question.has_any("between|from");
    let adjoins = until == second_from || second_until == from;
    if !ranged && !adjoins {
        return None;
    }
    let compared =
        question.has_any("change|changed|compare|compared|differ|difference|grow|grew|increase|decrease");
    let each = (adjoins && (compared || !ranged)).then(|| first.grain()).flatten();
    let (from, until) = ((*from).min(*second_from), (*until).max(*second_until));
    let (name, last) = (first.bare_label(), second.bare_label());
    let label = match each {
        Some(_) => format!("in {name} and {last}"),
        None => format!("from {name} to {last}"),
    };
    question.mark(at..at + 1 + skipped + taken, Role::Time);
    Some(Period::Days { from, until, label, fiscal: first.is_fiscal(), each })
}

fn bounded(found: Period, before: &str) -> Period {
    let name = found.bare_label();
    let Period::Days { from, until, label, fiscal, each } = found else {
        return found;
    };
    let (from, until, label) = match before {
        "since" => (from, None, format!("since {name}")),
        "after" => (until, None, format!("after {name}")),
        "before" => (None, from, format!("before {name}")),
        "until" => (None, until, format!("until the end of {name}")),
        _ => (from, until, label),
    };
    Period::Days { from, until, label, fiscal, each }
}

/// `last year`, `previous fiscal quarter`, `this month`.
fn relative_at(question: &Question, at: usize) -> Option<(Period, usize)> {
    let spans = match question.lower(at) {
        "last" | "previous" | "past" => 1,
        "this" | "current" => 0,
        _ => return None,
    };
    let (grain, taken) = grain_at(question, at + 1)?;
    Some((Period::Back { grain, spans }, taken + 1))
}

/// The grain that a word or two name.
pub(crate) fn grain_at(question: &Question, at: usize) -> Option<(Grain, usize)> {
    let word = question.lower(at);
    let fiscal = ["fiscal", "financial", "business"].contains(&word);
    let unit = if fiscal { question.lower(at + 1) } else { word };
    let taken = if fiscal { 2 } else { 1 };
    let grain = match unit.trim_end_matches('s') {
        "day" | "daily" | "date" => Grain::Day,
        "month" | "monthly" => Grain::Month,
        "quarter" | "quarterly" if fiscal => Grain::FiscalQuarter,
        "quarter" | "quarterly" => Grain::Quarter,
        "year" | "yearly" | "annual" | "annually" if fiscal => Grain::FiscalYear,
        "year" | "yearly" | "annual" | "annually" => Grain::Year,
        _ => return None,
    };
    Some((grain, taken))
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::{Fiscal, Grain, Period, Question, take_period};

    const APRIL: Fiscal = Fiscal { month: 4, named_by_end: false };

    fn days(text: &str, fiscal: Fiscal) -> (Option<time::Date>, Option<time::Date>) {
        match take_period(&mut Question::new(text), fiscal) {
            Some(Period::Days { from, until, .. }) => (from, until),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn named_periods_become_days() {
        let year = (Some(date!(2025 - 04 - 01)), Some(date!(2026 - 04 - 01)));
        for text in [
            "net revenue in fiscal year 2025",
            "net revenue in FY2025?",
            "net revenue FY 25",
            "revenue for financial year 2025",
            "revenue in fiscal 2025",
        ] {
            assert_eq!(days(text, APRIL), year, "{text}");
        }
        let quarter = (Some(date!(2025 - 07 - 01)), Some(date!(2025 - 10 - 01)));
        for text in ["fiscal Q2 2025", "Q2 of fiscal year 2025", "Q2 FY2025", "in Q3 2025", "2025 Q3"] {
            assert_eq!(days(text, APRIL), quarter, "{text}");
        }
        let may = (Some(date!(2025 - 05 - 01)), Some(date!(2025 - 06 - 01)));
        assert_eq!(days("tickets in May 2025", APRIL), may);
        let year = (Some(date!(2024 - 01 - 01)), Some(date!(2025 - 01 - 01)));
        assert_eq!(days("tickets in 2024", APRIL), year);
        assert_eq!(days("tickets since 2024", APRIL), (year.0, None));
        assert_eq!(days("tickets before 2024", APRIL), (None, year.0));
        let range = (Some(date!(2024 - 03 - 01)), Some(date!(2025 - 07 - 01)));
        assert_eq!(days("from March 2024 to June 2025", APRIL), range);
    }

    #[test]
    fn a_year_named_after_its_end_starts_a_year_earlier() {
        let text = "It starts on 1 October and is named after the calendar year in which it ends.";
        let fiscal = Fiscal::defined_by(text).unwrap();
        let year = (Some(date!(2024 - 10 - 01)), Some(date!(2025 - 10 - 01)));
        assert_eq!(days("fiscal year 2025", fiscal), year);
    }

    #[test]
    fn relative_periods_are_counted_back() {
        let found = take_period(&mut Question::new("from last fiscal year"), APRIL);
        let grain = Grain::FiscalYear;
        assert_eq!(found, Some(Period::Back { grain, spans: 1 }));
        assert_eq!(take_period(&mut Question::new("may we see it?"), APRIL), None);
    }
}
