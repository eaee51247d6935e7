//! From a question's words to what it asks, step by step.

use super::{
    choose::choose,
    cues::take_cues,
    dates::take_period,
    dimension,
    entity::EntityKind,
    facts::Facts,
    filters::Filter,
    measure::{Measure, meant_by_speed},
    memory::{Memory, carry, carry_scope},
    part::{complete, unexplained, unread_tables},
    period::{Grain, Period},
    question::{Question, Role},
    reading::{Need, Part, Reading},
    words::{is_filler, words},
    years::{fiscal_of, fiscal_year},
};

/// Reads a question that asks for figures.
pub(crate) fn read(text: &str, facts: &Facts, memory: Option<&Memory>, catalog: bool) -> Reading {
    let mut question = Question::new(text);
    let fiscal_entity = fiscal_year(facts);
    let fiscal = fiscal_of(facts);
    let period = take_period(&mut question, fiscal);
    let mut cues = take_cues(&mut question);
    let topic = topic(&question);
    if let Some(each) = period.as_ref().and_then(Period::each) {
        cues.grain = cues.grain.filter(|_| !cues.trend).or(Some(each));
    }
    take_verbs(&mut question, facts);
    let reference = memory.and_then(|memory| memory.take_reference(&mut question));
    let mut phrases = dimension::take_phrases(&mut question, facts, &cues).into_iter();
    let (phrase, second) = (phrases.next(), phrases.next());
    // "Which has the highest net revenue?" picks from what was picked from before.
    let again = memory.filter(|_| {
        cues.end.is_some()
            && cues.grain.is_none()
            && question.has_any("which has|which had|which one|who has|who had")
    });
    let phrase = phrase.or_else(|| again.and_then(|memory| memory.reading.phrase.clone()));
    if phrase.is_none() && cues.grain.is_none() {
        cues.take_end_as_value(&question);
    }
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
    let mut chosen = choose(&question, question.free_stems(), facts, &reading, catalog);
    if let Some(phrase) = phrase.iter().find(|_| chosen.is_empty() && !reading.cues.is_plain()) {
        // "How many products are there by product": the same words name both.
        let said = question.free_stems().into_iter().chain(phrase.iter().cloned());
        chosen = choose(&question, said.collect(), facts, &reading, catalog);
    }
    if chosen.is_empty() && reading.cues.speed && reading.cues.end.is_some() && catalog {
        // The catalog may say itself what fast and slow refer to.
        match meant_by_speed(facts) {
            Some(measure) => chosen.push(measure),
            None => reading.needs.push(Need::Search("fastest time".to_owned())),
        }
    }
    let inherited = memory.filter(|memory| {
        chosen.is_empty() && memory.is_continued_by(&reading.cues, &question, reference.is_some())
    });
    if let Some(memory) = inherited {
        memory.hand_on(&mut reading, &mut question, facts, reference.as_ref());
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
    complete_all(&mut reading, &mut question, facts, reference.as_ref());
    if let Some(memory) = memory {
        carry_scope(memory, text, reference.is_some(), &mut reading, facts);
    }
    reading.unexplained = unexplained(&question, &reading, facts);
    reading
}

/// Completes the parts one by one. Each sees the question as it was before: a value may filter all of them.
fn complete_all(reading: &mut Reading, question: &mut Question, facts: &Facts, reference: Option<&Filter>) {
    let before = question.clone();
    let mut unreferred: Vec<(String, String)> = Vec::new();
    for at in 0..reading.parts.len() {
        let Some(mut part) = reading.parts.get(at).cloned() else {
            continue;
        };
        let mut own = before.clone();
        complete(&mut part, reading, &mut own, facts);
        question.take_roles_of(&own);
        if let Some(filter) = reference {
            if let Some(filter) = carry(filter, &part, facts) {
                part.filters.retain(|known| known.column != filter.column);
                part.filters.push(filter);
            } else {
                let table = part.measures.first().and_then(|measure| facts.table(&measure.table));
                let source = table.map(|table| table.source.clone()).unwrap_or_default();
                unreferred.push((filter.column.clone(), source));
            }
        }
        if let Some(slot) = reading.parts.get_mut(at) {
            *slot = part;
        }
    }
    for (column, source) in unreferred {
        // "That region" may be a column of a table not seen yet.
        reading.needs.extend(unread_tables(facts, &source));
        reading.unexplained.push(column);
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

/// A verb that a column of moments is named after tells of time alone, unless it is part of a name in the catalog:
/// tickets opened are not open tickets, tickets resolved are resolved tickets.
fn take_verbs(question: &mut Question, facts: &Facts) {
    let columns = facts.tables.iter().flat_map(|table| &table.columns).filter(|column| column.is_time());
    let verbs: Vec<&str> = columns.filter_map(|column| column.name.split('_').next()).collect();
    let names =
        facts.entities.iter().flat_map(|entity| std::iter::once(&entity.display).chain(&entity.synonyms));
    let spoken: Vec<String> = names.flat_map(|name| words(name)).map(|word| word.lower).collect();
    for at in question.free() {
        let word = question.lower(at).to_owned();
        if verbs.contains(&word.as_str()) && !spoken.contains(&word) {
            question.mark(at..at + 1, Role::Time);
        }
    }
}

/// The words to look for in the catalog: those that are about the matter, not about the asking.
pub(crate) fn topic(question: &Question) -> Vec<String> {
    let free = question.free().into_iter();
    free.filter_map(|at| question.words.get(at))
        .filter(|word| !is_filler(&word.lower))
        .map(|word| word.raw.clone())
        .collect()
}
