//! What kind of answer a question wants, going by its own words.

use super::{
    period::{Grain, grain_at},
    question::{Question, Role},
};

/// The kind of answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One figure, or figures by group.
    Figures,
    /// Rows as they are.
    Rows,
    /// What something means.
    Definition,
    /// It is told to change something.
    Change,
}

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
}

const ENDS: &[(&str, End, bool)] = &[
    ("most", End::High, false),
    ("more", End::High, false),
    ("highest", End::High, false),
    ("higher", End::High, false),
    ("largest", End::High, false),
    ("larger", End::High, false),
    ("biggest", End::High, false),
    ("bigger", End::High, false),
    ("greatest", End::High, false),
    ("strongest", End::High, false),
    ("top", End::High, false),
    ("busiest", End::High, false),
    ("fewest", End::Low, false),
    ("fewer", End::Low, false),
    ("least", End::Low, false),
    ("less", End::Low, false),
    ("lowest", End::Low, false),
    ("lower", End::Low, false),
    ("smallest", End::Low, false),
    ("smaller", End::Low, false),
    ("weakest", End::Low, false),
    ("bottom", End::Low, false),
    ("best", End::Best, false),
    ("better", End::Best, false),
    ("worst", End::Worst, false),
    ("worse", End::Worst, false),
    ("fastest", End::Low, true),
    ("faster", End::Low, true),
    ("quickest", End::Low, true),
    ("quicker", End::Low, true),
    ("shortest", End::Low, true),
    ("shorter", End::Low, true),
    ("slowest", End::High, true),
    ("slower", End::High, true),
    ("longest", End::High, true),
    ("longer", End::High, true),
];

const SPEED: &[&str] = &[
    "how long",
    "how fast",
    "how quickly",
    "how quick",
    "how slow",
    "fast",
    "quick",
    "quickly",
    "slow",
    "slowly",
    "how many minutes",
    "how many hours",
    "speed",
];
const CHANGES: &[&str] = &[
    "delete",
    "drop",
    "remove",
    "erase",
    "purge",
    "truncate",
    "update",
    "insert",
    "alter",
    "modify",
    "change",
    "edit",
    "overwrite",
    "rename",
    "reset",
    "set",
    "mark",
    "assign",
    "reassign",
    "close",
    "reopen",
    "cancel",
    "add",
    "create",
    "grant",
    "revoke",
    "archive",
    "merge",
    "import",
    "upload",
    "send",
    "fix",
    "wipe",
    "clear",
    "move",
];
const POLITE: &[&str] = &[
    "please",
    "can",
    "could",
    "would",
    "will",
    "you",
    "i",
    "want",
    "need",
    "to",
    "now",
    "just",
    "go",
    "ahead",
    "and",
    "then",
    "kindly",
    "let",
    "us",
    "like",
    "we",
    "should",
    "must",
    "also",
    "help",
    "me",
    "d",
    "ll",
    "immediately",
];
const NUMBERS: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// Reads the cues of a question and gives their words their role.
pub(crate) fn take_cues(question: &mut Question) -> Cues {
    let mut cues = Cues {
        kind: kind(question),
        counting: question.mark_any(&["how many", "number of", "count of", "count"], Role::Cue),
        share: question.mark_any(
            &[
                "what percentage",
                "what share",
                "percentage of",
                "percent of",
                "share of",
                "proportion of",
                "what fraction",
                "percentage",
                "percent",
                "proportion",
            ],
            Role::Cue,
        ),
        speed: question.mark_any(SPEED, Role::Cue),
        aggregate: None,
        end: None,
        end_word: String::new(),
        top: None,
        grain: None,
        trend: false,
        each: question.has_any(&["every", "all", "each"]),
        continues: ["and", "what about", "how about", "or", "now", "then", "but"]
            .iter()
            .any(|opening| question.find(opening) == Some(0)),
    };
    cues.aggregate = aggregate(question);
    take_end(question, &mut cues);
    take_grain(question, &mut cues);
    if question.mark_any(&["how much"], Role::Cue) && cues.aggregate.is_none() {
        cues.aggregate = Some(Aggregate::Sum);
    }
    cues
}

fn kind(question: &mut Question) -> Kind {
    if changes(question) {
        return Kind::Change;
    }
    if defines(question) {
        return Kind::Definition;
    }
    let opening = (0..question.words.len()).find(|at| !POLITE.contains(&question.lower(*at)));
    let lists = opening.is_some_and(|at| ["list", "print"].contains(&question.lower(at)));
    let rows = [
        "show all",
        "show every",
        "show me all",
        "show me every",
        "show each",
        "give me all",
        "give me every",
        "get all",
        "find all",
        "find every",
        "who are",
        "names of",
        "what are the names",
        "a list of",
    ];
    if lists || question.has_any(&rows) {
        question.mark_any(&["list", "print", "names", "name"], Role::Cue);
        return Kind::Rows;
    }
    Kind::Figures
}

/// Whether any clause is an order to change something.
fn changes(question: &Question) -> bool {
    let mut opening = true;
    for at in 0..question.words.len() {
        let word = question.lower(at);
        if opening && CHANGES.contains(&word) {
            return true;
        }
        let clause = ["and", "then"].contains(&word);
        opening = clause || (opening && POLITE.contains(&word));
    }
    false
}

fn defines(question: &mut Question) -> bool {
    let means = question.has_any(&["what does", "what do", "what did", "what is", "what s"])
        && question.has_any(&["mean", "means", "meant", "stand for"]);
    let means = means && !question.has_any(&["the mean", "a mean"]);
    let made = question.has_any(&["how is", "how are", "how do we", "how do you", "how does"])
        && question.has_any(&[
            "calculated",
            "computed",
            "defined",
            "measured",
            "determined",
            "calculate",
            "compute",
            "define",
            "measure",
            "derived",
        ]);
    let asked = [
        "define",
        "explain",
        "definition of",
        "meaning of",
        "what counts as",
        "what is meant by",
        "what is a",
        "what is an",
        "what s a",
        "what s an",
        "describe",
        "difference between",
        "differ",
        "formula for",
        "formula of",
        "what is the definition",
        "what is the formula",
        "which definition",
    ];
    let asked = question.has_any(&asked);
    if means || made || asked {
        question.mark_any(
            &[
                "mean",
                "means",
                "meant",
                "stand for",
                "calculated",
                "computed",
                "defined",
                "measured",
                "determined",
                "calculate",
                "compute",
                "define",
                "measure",
                "derived",
                "explain",
                "definition",
                "meaning",
                "counts as",
                "describe",
                "difference between",
                "difference",
                "differ",
                "formula",
                "term",
                "exactly",
            ],
            Role::Cue,
        );
    }
    means || made || asked
}

fn aggregate(question: &mut Question) -> Option<Aggregate> {
    for (phrases, aggregate) in [
        (&["average", "mean", "on average", "typical", "avg"][..], Aggregate::Average),
        (&["total", "sum", "sum of", "overall"], Aggregate::Sum),
        (&["maximum", "max"], Aggregate::Highest),
        (&["minimum", "min"], Aggregate::Lowest),
    ] {
        if question.mark_any(phrases, Role::Cue) {
            return Some(aggregate);
        }
    }
    None
}

fn number_at(question: &Question, at: usize) -> Option<usize> {
    let word = question.lower(at);
    let named = || NUMBERS.iter().position(|number| *number == word).map(|at| at + 1);
    word.parse().ok().or_else(named).filter(|number| (1..=100).contains(number))
}

fn take_end(question: &mut Question, cues: &mut Cues) {
    for at in 0..question.words.len() {
        let word = question.lower(at).to_owned();
        let Some((_, end, speed)) = ENDS.iter().find(|(name, ..)| *name == word) else {
            continue;
        };
        let compares = question.has_any(&["than", "or"]);
        if word.ends_with("er") && !compares && !question.has_any(&["which", "who", "whose"]) {
            continue;
        }
        if ["more", "less", "better", "worse", "fewer"].contains(&word.as_str()) && !compares {
            continue;
        }
        // "the least time", "most quickly": the speed decides what few and many mean.
        let fast = question.has_any(&["quickly", "fast", "quick"]) && word == "most";
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
    if question.mark_any(
        &[
            "trend",
            "over time",
            "develop",
            "developed",
            "development",
            "evolve",
            "evolved",
            "evolution",
            "changed",
            "change",
            "grow",
            "grew",
            "grown",
        ],
        Role::Cue,
    ) {
        cues.grain = Some(Grain::Month);
        cues.trend = true;
    }
}

#[cfg(test)]
mod tests {
    use super::{Aggregate, Cues, End, Grain, Kind, Question, take_cues};

    fn cues(text: &str) -> Cues {
        take_cues(&mut Question::new(text))
    }

    #[test]
    fn kinds_are_told_apart() {
        for (text, kind) in [
            ("Delete the resolved support tickets from last year", Kind::Change),
            ("Please could you drop the table", Kind::Change),
            ("List the agents and then remove them", Kind::Change),
            ("How many tickets were cancelled or deleted?", Kind::Figures),
            ("What does Resolution Time mean?", Kind::Definition),
            ("How is net revenue calculated?", Kind::Definition),
            ("Define backlog", Kind::Definition),
            ("What is an open ticket?", Kind::Definition),
            ("What is the mean resolution time?", Kind::Figures),
            ("List every support agent's email address", Kind::Rows),
            ("Show net revenue by region", Kind::Figures),
        ] {
            assert_eq!(cues(text).kind, kind, "{text}");
        }
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
