//! What kind of answer a question wants, going by its own words.

use super::{
    cue_words::{ENDS, NUMBERS, SHARE, SPEED, TREND, is_among},
    dates::grain_at,
    kind::{Kind, take_kind},
    period::Grain,
    question::{Question, Role},
};

/// What figure is wanted where nothing else says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Average,
    Sum,
    Highest,
    Lowest,
}

/// Which end of a ranking is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    High,
    Low,
    /// The better end, whichever that is for the measure.
    Best,
    Worst,
}

/// What the question's words tell of the answer wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "marks that do not exclude each other")]
pub(crate) struct Cues {
    pub(crate) kind: Kind,
    /// How many.
    pub(crate) counting: bool,
    /// What share.
    pub(crate) share: bool,
    /// How long, how fast.
    pub(crate) speed: bool,
    pub(crate) aggregate: Option<Aggregate>,
    pub(crate) end: Option<End>,
    /// The word that asked for an end, for the answer.
    pub(crate) end_word: String,
    /// How many of a ranking.
    pub(crate) top: Option<usize>,
    /// A grain of time to group by.
    pub(crate) grain: Option<Grain>,
    /// It is taken from a word such as trend, not named.
    pub(crate) trend: bool,
    /// Rows are asked for one by one: every, all.
    pub(crate) each: bool,
    /// It goes on from what was asked before.
    pub(crate) continues: bool,
}

impl Cues {
    /// Whether nothing in it asks for a figure.
    pub(crate) fn is_plain(&self) -> bool {
        let figure = self.counting || self.share || self.speed || self.aggregate.is_some();
        !figure && self.end.is_none() && self.grain.is_none() && !self.continues
    }

    /// "What is the highest list price?" picks from nothing: it wants the highest value itself.
    pub(crate) fn take_end_as_value(&mut self, question: &Question) {
        let compares = question.has_any("than|or|versus|vs|compared|compare") || self.speed || self.continues;
        if compares
            || self.aggregate.is_some()
            || !is_among(&self.end_word, "highest lowest largest smallest biggest maximum minimum greatest")
        {
            return;
        }
        self.aggregate = match self.end {
            Some(End::High) => Some(Aggregate::Highest),
            Some(End::Low) => Some(Aggregate::Lowest),
            Some(End::Best | End::Worst) | None => return,
        };
        self.end = None;
    }
}

/// Reads the cues of a question and gives their words their role.
pub(crate) fn take_cues(question: &mut Question) -> Cues {
    let mut cues = Cues {
        kind: take_kind(question),
        counting: question.mark_any("how many|number of|count of|count", Role::Cue),
        share: question.mark_any(SHARE, Role::Cue),
        speed: question.mark_any(SPEED, Role::Cue),
        aggregate: None,
        end: None,
        end_word: String::new(),
        top: None,
        grain: None,
        trend: false,
        each: question.has_any("every|all|each"),
        continues: ["and", "what about", "how about", "or", "now", "then", "but"]
            .iter()
            .any(|opening| question.find(opening) == Some(0)),
    };
    cues.aggregate = aggregate(question);
    take_end(question, &mut cues);
    take_grain(question, &mut cues);
    if question.mark_any("how much", Role::Cue) && cues.aggregate.is_none() {
        cues.aggregate = Some(Aggregate::Sum);
    }
    cues
}

fn aggregate(question: &mut Question) -> Option<Aggregate> {
    for (phrases, aggregate) in [
        ("average|mean|on average|typical|avg", Aggregate::Average),
        ("total|sum|sum of|overall", Aggregate::Sum),
        ("maximum|max", Aggregate::Highest),
        ("minimum|min", Aggregate::Lowest),
    ] {
        if question.mark_any(phrases, Role::Cue) {
            return Some(aggregate);
        }
    }
    None
}

fn number_at(question: &Question, at: usize) -> Option<usize> {
    let word = question.lower(at);
    let named = || NUMBERS.split(' ').position(|number| number == word).map(|at| at + 1);
    word.parse().ok().or_else(named).filter(|number| (1..=100).contains(number))
}

fn take_end(question: &mut Question, cues: &mut Cues) {
    for at in 0..question.words.len() {
        let word = question.lower(at).to_owned();
        let Some((_, end, speed)) = ENDS.iter().find(|(words, ..)| is_among(&word, words)) else {
            continue;
        };
        let compares = question.has_any("than|or");
        if word.ends_with("er") && !compares && !question.has_any("which|who|whose") {
            continue;
        }
        if ["more", "less", "better", "worse", "fewer"].contains(&word.as_str()) && !compares {
            continue;
        }
        // "the least time", "most quickly": the speed decides what few and many mean.
        let fast = question.has_any("quickly|fast|quick") && word == "most";
        cues.end = Some(if fast { End::Low } else { *end });
        cues.speed |= *speed;
        cues.end_word = if fast { "fastest".to_owned() } else { word };
        question.mark(at..at + 1, Role::Cue);
        for near in [at + 1, at.wrapping_sub(1)] {
            if let Some(number) = number_at(question, near) {
                cues.top = Some(number);
                question.mark(near..near + 1, Role::Cue);
            }
        }
        return;
    }
}

fn take_grain(question: &mut Question, cues: &mut Cues) {
    for at in 0..question.words.len() {
        let free = question.role(at).is_none_or(|role| role == Role::Joining);
        let Some((grain, taken)) = grain_at(question, at).filter(|_| free) else {
            continue;
        };
        let before = at.checked_sub(1).map_or("", |at| question.lower(at)).to_owned();
        let adverb = question.lower(at).ends_with("ly");
        let marked =
            ["by", "per", "each", "every", "which", "what", "over", "of", "a"].contains(&before.as_str());
        if adverb || marked || (cues.end.is_some() && before != "last") {
            question.mark(at..at + taken, Role::Time);
            cues.grain = Some(grain);
            return;
        }
    }
    if question.mark_any(TREND, Role::Cue) {
        cues.grain = Some(Grain::Month);
        cues.trend = true;
    }
}

#[cfg(test)]
mod tests {
    use super::{Aggregate, Cues, End, Grain, Question, take_cues};

    fn cues(text: &str) -> Cues {
        take_cues(&mut Question::new(text))
    }

    #[test]
    fn ends_and_tops_are_read() {
        let found = cues("Which support team resolves tickets fastest?");
        assert_eq!((found.end, found.speed), (Some(End::Low), true));
        let found = cues("Top 5 products by net revenue");
        assert_eq!((found.end, found.top), (Some(End::High), Some(5)));
        let found = cues("What are the three best regions?");
        assert_eq!((found.end, found.top), (Some(End::Best), Some(3)));
        assert_eq!(cues("Show more details").end, None);
    }

    #[test]
    fn grains_and_aggregates_are_read() {
        assert_eq!(cues("Net revenue per month").grain, Some(Grain::Month));
        assert_eq!(cues("revenue by fiscal year").grain, Some(Grain::FiscalYear));
        assert_eq!(cues("Which quarter had the highest revenue?").grain, Some(Grain::Quarter));
        assert_eq!(cues("revenue last year").grain, None);
        assert_eq!(cues("What was net revenue in fiscal year 2025?").grain, None);
        assert_eq!(cues("average list price").aggregate, Some(Aggregate::Average));
    }
}
