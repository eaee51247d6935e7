//! What is known of a run when it ends.

use ask_contract::{Failure, Headline, RefusalKind, ResultTable};

/// Everything that the outcome is decided from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFacts {
    /// The first call that the model asked for and a tool refused.
    pub refused: Option<RefusedCall>,
    /// The first look-up of the grounding that a tool refused; closes a source, does not end the run.
    pub grounding_refused: Option<RefusedCall>,
    /// What broke the run off, if anything did.
    pub failure: Option<Failure>,
    /// The statements that ran, in order.
    pub statements: Vec<Statement>,
    /// The catalog entities that were read, in order.
    pub entities: Vec<Entity>,
    /// The catalog words tried, in order, possibly with repeats.
    pub searched_terms: Vec<String>,
    /// What the model concluded, if it did.
    pub conclusion: Option<Conclusion>,
    /// The model's last prose, for a run that ends without a conclusion.
    pub prose: String,
}

impl RunFacts {
    /// Takes another branch's facts in: its lists after these, its firsts where there are none here.
    pub fn absorb(&mut self, other: Self) {
        let Self {
            refused,
            grounding_refused,
            failure,
            statements,
            entities,
            searched_terms,
            conclusion,
            prose,
        } = other;
        self.refused = self.refused.take().or(refused);
        self.grounding_refused = self.grounding_refused.take().or(grounding_refused);
        self.failure = self.failure.take().or(failure);
        self.statements.extend(statements);
        self.entities.extend(entities);
        self.searched_terms.extend(searched_terms);
        self.conclusion = self.conclusion.take().or(conclusion);
        if self.prose.is_empty() {
            self.prose = prose;
        }
    }
}

/// A call that a tool refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedCall {
    /// What kind of refusal.
    pub what: RefusalKind,
    /// The tool's own message.
    pub detail: String,
    /// The source that refused.
    pub source: Option<String>,
}

/// A statement that ran.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statement {
    /// The source that ran it.
    pub source: Option<String>,
    /// The statement as the executor reported it.
    pub sql: Option<String>,
    /// The tables it read, as the executor reported them.
    pub tables: Vec<String>,
    /// Its rows.
    pub result: Option<ResultTable>,
}

/// A catalog entity that the run read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// The catalog's own name for it, unique there.
    pub fqn: String,
    /// What it is.
    pub kind: EntityKind,
    /// Its name for people.
    pub term: String,
    /// Its stated meaning.
    pub statement: String,
    /// What the catalog raises about it.
    pub caveats: Vec<String>,
}

/// What a catalog entity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntityKind {
    /// A term of a glossary.
    GlossaryTerm,
    /// A metric with a formula.
    Metric,
    /// A table; what it says of itself and its columns.
    Table,
}

impl EntityKind {
    /// The word in `provenance.kind`.
    pub const fn provenance_kind(self) -> &'static str {
        match self {
            Self::GlossaryTerm => "glossary_term",
            Self::Metric => "metric",
            Self::Table => "column_description",
        }
    }
}

/// What the model concluded through the local `conclude` tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conclusion {
    /// Whether it says that it has an answer.
    pub answered: bool,
    /// What it says.
    pub text: String,
    /// The catalog entities that it says the answer rests on, by their catalog name or their name for people.
    pub entities: Vec<String>,
    /// The one salient figure, as the model gives it.
    pub headline: Option<Headline>,
}
