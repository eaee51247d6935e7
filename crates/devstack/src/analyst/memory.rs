//! What the conversation remembers of the question before, and how a new question goes on from it.

use super::{
    cues::Cues,
    facts::Facts,
    filters::Filter,
    joins::reachable,
    kind::Kind,
    part::{complete, unexplained},
    question::{Question, Role},
    reading::{Group, Part, Reading},
    words::stems,
};

/// What was understood and found before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Memory {
    /// The last question that was read.
    pub(crate) reading: Reading,
    /// Whom or what it came down to: the winner of its ranking, or the one value that it was about.
    pub(crate) subject: Option<Filter>,
}

const PRONOUNS: [&str; 8] = ["its", "their", "it", "they", "them", "there", "his", "her"];

impl Memory {
    /// Takes words such as `that team` or `its` out of a question, and gives what they stand for.
    pub(crate) fn take_reference(&self, question: &mut Question) -> Option<Filter> {
        let subject = self.subject.as_ref()?;
        let mut names = stems(&subject.column);
        names.extend(["one", "winner"].map(ToOwned::to_owned));
        for at in 0..question.words.len() {
            if !["that", "this", "those", "these", "same", "the"].contains(&question.lower(at)) {
                continue;
            }
            let plain = question.lower(at) == "the";
            let noun = (at + 1..at + 3).find(|at| {
                let known = question.words.get(*at).is_some_and(|word| names.contains(&word.stem));
                known && (!plain || ["one", "winner"].contains(&question.lower(*at)))
            });
            if let Some(noun) = noun {
                question.mark(at..noun + 1, Role::Reference);
                return Some(subject.clone());
            }
        }
        let pronoun = question.words.iter().any(|word| PRONOUNS.contains(&word.lower.as_str()));
        // "Are there" points at nothing.
        let idle = question.has_any("are there|is there|were there|there are|was there|is it|does it take");
        (pronoun && !idle).then(|| subject.clone())
    }

    /// Whether a question that names nothing to compute goes on from this one.
    pub(crate) fn is_continued_by(&self, cues: &Cues, question: &Question, refers: bool) -> bool {
        let short = question.words.len() <= 9;
        !self.reading.is_empty()
            && cues.kind == Kind::Figures
            && short
            && (cues.continues || refers || is_elliptic(question))
    }

    /// Completes a reading that names nothing to compute with what was computed before.
    pub(crate) fn hand_on(
        &self,
        reading: &mut Reading,
        question: &mut Question,
        facts: &Facts,
        reference: Option<&Filter>,
    ) {
        if reading.period.is_none() {
            reading.period.clone_from(&self.reading.period);
            reading.fiscal_term.clone_from(&self.reading.fiscal_term);
        }
        let own_end = reading.cues.end.is_some();
        for before in &self.reading.parts {
            let mut part = Part {
                measures: before.measures.clone(),
                group: None,
                second: None,
                filters: Vec::new(),
                time_column: None,
            };
            reading.parts.push(part.clone());
            complete(&mut part, reading, question, facts);
            if let Some(filter) = reference.and_then(|filter| carry(filter, &part, facts)) {
                part.filters.push(filter);
            }
            Self::inherit(&mut part, before);
            if !own_end && part.group.is_some() && part.group == before.group {
                reading.cues.end = self.reading.cues.end;
                reading.cues.end_word.clone_from(&self.reading.cues.end_word);
                reading.cues.top = reading.cues.top.or(self.reading.cues.top);
                reading.cues.speed = self.reading.cues.speed;
            }
            reading.parts.pop();
            reading.parts.push(part);
        }
        reading.unexplained = unexplained(question, reading, facts);
    }

    /// Gives a part the group and the filters of before where it has none of its own in their place.
    fn inherit(part: &mut Part, before: &Part) {
        let grouped = part.group.is_some();
        if !grouped {
            let replaced = match &before.group {
                Some(Group::Column(dimension)) => {
                    part.filters.iter().any(|filter| filter.column == dimension.column)
                }
                Some(Group::Time(_)) | None => false,
            };
            if !replaced {
                part.group.clone_from(&before.group);
                part.second.clone_from(&before.second);
            }
        }
        for filter in &before.filters {
            let own = part.filters.iter().any(|known| known.column == filter.column);
            if !own {
                part.filters.push(filter.clone());
            }
        }
        if part.time_column.is_none() {
            part.time_column.clone_from(&before.time_column);
        }
    }
}

/// A question without a verb of asking: "and gross revenue?".
fn is_elliptic(question: &Question) -> bool {
    !question.has_any("is|are|was|were|do|does|did|has|have|which|how many|list|show")
}

/// Lets a full question about something else keep the period, and a bare one also group and filters.
pub(crate) fn carry_scope(memory: &Memory, text: &str, refers: bool, reading: &mut Reading, facts: &Facts) {
    let question = Question::new(text);
    let bare = reading.cues.continues && is_elliptic(&question);
    if reading.period.is_none() && (bare || refers) && memory.reading.period.is_some() {
        let timed = reading.parts.iter().all(|part| part.time_column.is_some());
        if timed {
            reading.period.clone_from(&memory.reading.period);
            reading.fiscal_term.clone_from(&memory.reading.fiscal_term);
        }
    }
    if !bare {
        return;
    }
    for part in &mut reading.parts {
        for before in &memory.reading.parts {
            let same = part.measures.first().map(|measure| &measure.table)
                == before.measures.first().map(|measure| &measure.table);
            if same && part.group.is_none() && part.filters.is_empty() {
                part.group.clone_from(&before.group);
                part.second.clone_from(&before.second);
                part.filters.clone_from(&before.filters);
            } else if part.filters.is_empty() {
                let carried = before.filters.iter().filter_map(|filter| carry(filter, part, facts)).collect();
                part.filters = carried;
            }
        }
    }
}

/// A filter as the rows of a part know it: over the same column, or over one of the same name in reach.
pub(crate) fn carry(filter: &Filter, part: &Part, facts: &Facts) -> Option<Filter> {
    let primary = facts.table(&part.measures.first()?.table)?;
    let tables = reachable(facts, primary);
    let same = tables.iter().find(|table| table.name == filter.table);
    let named = || tables.iter().find(|table| table.column(&filter.column).is_some());
    // The team of a ticket is asked of the ticket, not of its agent.
    let own = primary.column(&filter.column).map(|_| &primary);
    let table = own.or(same).or_else(named)?;
    let mut carried = filter.clone();
    carried.table.clone_from(&table.name);
    Some(carried)
}

/// What a reading with its first row came down to.
pub(crate) fn subject(reading: &Reading, first_row: Option<&str>) -> Option<Filter> {
    let part = reading.parts.first()?;
    if let (Some(Group::Column(dimension)), Some(value)) = (&part.group, first_row) {
        return Some(Filter {
            table: dimension.table.clone(),
            column: dimension.column.clone(),
            values: vec![value.to_owned()],
            numeric: false,
        });
    }
    let single = part.filters.iter().find(|filter| filter.values.len() == 1);
    single.cloned()
}
