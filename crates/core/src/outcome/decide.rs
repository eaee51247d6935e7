//! The outcome rules as one pure function.

use ask_contract::{Abstention, Answer, AnswerPath, PathDetail, Provenance, Refusal, Speed};

use super::facts::{Entity, EntityKind, RefusedCall, RunFacts, Statement};
use super::headline::headline;
use crate::ticket::Terminal;

const NOTHING_FOUND: &str = "The catalog holds nothing that answers this.";

/// Decides how a run ends.
///
/// In this order: a refused call of the model's is a refusal, whatever was said afterwards; a run that broke off is an
/// error; a statement that ran makes an answer; so does a conclusion that names catalog entities which this run read; a
/// look-up that was refused is then the refusal; all else is an abstention.
pub fn decide(facts: RunFacts) -> Terminal {
    if let Some(refused) = facts.refused {
        return refusal(refused);
    }
    if let Some(failure) = facts.failure {
        return Terminal::Error(failure);
    }
    let named = named_entities(&facts);
    if !facts.statements.is_empty() {
        return Terminal::Answer(Box::new(answer_from_sources(&facts, &named)));
    }
    if facts.conclusion.as_ref().is_some_and(|conclusion| conclusion.answered) && !named.is_empty() {
        return Terminal::Answer(Box::new(answer_from_catalog(&facts, &named)));
    }
    if let Some(refused) = facts.grounding_refused {
        return refusal(refused);
    }
    let text = said(&facts);
    Terminal::Abstention(Abstention {
        text: if text.is_empty() { NOTHING_FOUND.to_owned() } else { text },
        searched_terms: without_repeats(facts.searched_terms),
    })
}

fn refusal(refused: RefusedCall) -> Terminal {
    Terminal::Refusal(Refusal { what: refused.what, detail: refused.detail, source: refused.source })
}

fn answer_from_sources(facts: &RunFacts, named: &[&Entity]) -> Answer {
    let sources = without_repeats(facts.statements.iter().filter_map(|ran| ran.source.clone()).collect());
    let tables =
        without_repeats(facts.statements.iter().flat_map(|ran| ran.tables.iter().cloned()).collect());
    let used = facts.entities.iter().filter(|entity| is_one_of(entity, &tables));
    Answer {
        text: said(facts),
        path: AnswerPath {
            speed: Speed::Full,
            detail: if sources.len() > 1 { PathDetail::Multi } else { PathDetail::Warehouse },
        },
        provenance: named.iter().map(|entity| provenance(entity)).collect(),
        caveats: caveats(named.iter().copied().chain(used)),
        sql: facts.statements.iter().filter_map(|ran| ran.sql.clone()).collect(),
        result: facts.statements.iter().rev().find_map(|ran: &Statement| ran.result.clone()),
        headline: headline(
            facts.conclusion.as_ref().and_then(|said| said.headline.as_ref()),
            &facts.statements,
        ),
        sources,
        tables,
        divergence: None,
    }
}

fn answer_from_catalog(facts: &RunFacts, named: &[&Entity]) -> Answer {
    Answer {
        text: said(facts),
        path: AnswerPath { speed: Speed::Fast, detail: PathDetail::Catalog },
        provenance: named.iter().map(|entity| provenance(entity)).collect(),
        sources: Vec::new(),
        tables: Vec::new(),
        sql: Vec::new(),
        caveats: caveats(named.iter().copied()),
        result: None,
        headline: None,
        divergence: None,
    }
}

fn said(facts: &RunFacts) -> String {
    let concluded =
        facts.conclusion.as_ref().map(|conclusion| conclusion.text.trim()).filter(|text| !text.is_empty());
    concluded.unwrap_or(facts.prose.trim()).to_owned()
}

/// The entities that the conclusion names and this run read, in the conclusion's order.
fn named_entities(facts: &RunFacts) -> Vec<&Entity> {
    let mut named: Vec<&Entity> = Vec::new();
    for name in facts.conclusion.iter().flat_map(|conclusion| &conclusion.entities) {
        let by_fqn = facts.entities.iter().find(|entity| entity.fqn.eq_ignore_ascii_case(name.trim()));
        let by_term = || facts.entities.iter().find(|entity| entity.term.eq_ignore_ascii_case(name.trim()));
        if let Some(entity) = by_fqn.or_else(by_term)
            && !named.iter().any(|known| known.fqn == entity.fqn)
        {
            named.push(entity);
        }
    }
    named
}

/// Whether a catalog entity is one of the tables, which the executor may name in fewer parts than the catalog does.
fn is_one_of(entity: &Entity, tables: &[String]) -> bool {
    entity.kind == EntityKind::Table
        && tables.iter().any(|table| {
            let (fqn, table) = (entity.fqn.to_lowercase(), table.to_lowercase());
            fqn == table || fqn.strip_suffix(&table).is_some_and(|before| before.ends_with('.'))
        })
}

fn provenance(entity: &Entity) -> Provenance {
    Provenance {
        term: entity.term.clone(),
        statement: entity.statement.clone(),
        source: entity.fqn.clone(),
        kind: entity.kind.provenance_kind().to_owned(),
    }
}

fn caveats<'e>(entities: impl Iterator<Item = &'e Entity>) -> Vec<String> {
    without_repeats(entities.flat_map(|entity| entity.caveats.iter().cloned()).collect())
}

fn without_repeats(texts: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(texts.len());
    for text in texts {
        if !text.trim().is_empty() && !kept.contains(&text) {
            kept.push(text);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use ask_contract::{ErrorKind, Failure, RefusalKind, ResultTable};
    use serde_json::json;

    use super::*;
    use crate::outcome::Conclusion;

    fn refused(what: RefusalKind) -> RefusedCall {
        RefusedCall { what, detail: "no".into(), source: Some("support".into()) }
    }

    fn ran(source: &str) -> Statement {
        Statement {
            source: Some(source.into()),
            sql: Some(format!("SELECT 1 FROM {source}.t")),
            tables: vec![format!("{source}.t")],
            result: Some(ResultTable {
                columns: vec!["n".into()],
                rows: vec![vec![json!(1)]],
                truncated: false,
            }),
        }
    }

    fn entity(fqn: &str, kind: EntityKind, caveat: &str) -> Entity {
        let term = fqn.rsplit('.').next().unwrap_or_default().to_owned();
        Entity { fqn: fqn.into(), kind, term, statement: "means".into(), caveats: vec![caveat.into()] }
    }

    #[expect(clippy::unnecessary_wraps, reason = "it stands where facts hold an option")]
    fn concluded(answered: bool, entities: &[&str]) -> Option<Conclusion> {
        let entities = entities.iter().map(|name| (*name).to_owned()).collect();
        Some(Conclusion { answered, text: "It is so.".into(), entities, headline: None })
    }

    #[test]
    fn a_refused_call_outweighs_everything() {
        let facts = RunFacts {
            refused: Some(refused(RefusalKind::Access)),
            failure: Some(Failure { kind: ErrorKind::Model, detail: "x".into() }),
            statements: vec![ran("support")],
            conclusion: concluded(true, &[]),
            ..RunFacts::default()
        };
        let Terminal::Refusal(refusal) = decide(facts) else { panic!("not a refusal") };
        assert_eq!((refusal.what, refusal.detail.as_str()), (RefusalKind::Access, "no"));
    }

    #[test]
    fn a_broken_run_is_an_error_even_after_a_statement() {
        let failure = Failure { kind: ErrorKind::MaxSteps, detail: "16".into() };
        let facts = RunFacts {
            failure: Some(failure.clone()),
            statements: vec![ran("support")],
            ..RunFacts::default()
        };
        assert_eq!(decide(facts), Terminal::Error(failure));
    }

    #[test]
    fn a_statement_that_ran_makes_an_answer_whatever_was_concluded() {
        for (statements, detail) in [
            (vec![ran("support"), ran("support")], PathDetail::Warehouse),
            (vec![ran("support"), ran("sales")], PathDetail::Multi),
        ] {
            let count = statements.len();
            let facts = RunFacts { statements, conclusion: concluded(false, &[]), ..RunFacts::default() };
            let Terminal::Answer(answer) = decide(facts) else { panic!("not an answer") };
            assert_eq!(answer.path, AnswerPath { speed: Speed::Full, detail });
            assert_eq!(answer.sql.len(), count);
            assert!(answer.provenance.is_empty());
        }
    }

    #[test]
    fn meanings_and_caveats_come_from_what_was_read() {
        let facts = RunFacts {
            statements: vec![ran("support")],
            entities: vec![
                entity("Glossary.ResolutionTime", EntityKind::GlossaryTerm, "disputed"),
                entity("lake.support.t", EntityKind::Table, "a gap in May"),
                entity("lake.othersupport.t", EntityKind::Table, "of no concern"),
                entity("Glossary.Backlog", EntityKind::GlossaryTerm, "of no concern either"),
            ],
            conclusion: concluded(true, &["glossary.resolutiontime", "Glossary.Invented", "ResolutionTime"]),
            ..RunFacts::default()
        };
        let Terminal::Answer(answer) = decide(facts) else { panic!("not an answer") };
        assert_eq!(answer.provenance.len(), 1);
        assert_eq!(answer.provenance[0].source, "Glossary.ResolutionTime");
        assert_eq!(answer.caveats, ["disputed", "a gap in May"]);
    }

    #[test]
    fn a_catalog_answer_names_entities_that_were_read() {
        let entities = vec![entity("Glossary.ResolutionTime", EntityKind::GlossaryTerm, "")];
        let facts = |conclusion| RunFacts {
            entities: entities.clone(),
            conclusion,
            searched_terms: vec!["resolution time".into(), "resolution time".into()],
            ..RunFacts::default()
        };
        let Terminal::Answer(answer) = decide(facts(concluded(true, &["Glossary.ResolutionTime"]))) else {
            panic!("not an answer")
        };
        assert_eq!(answer.path, AnswerPath { speed: Speed::Fast, detail: PathDetail::Catalog });
        assert!(answer.sql.is_empty() && answer.result.is_none());
        for conclusion in
            [concluded(true, &["Glossary.Invented"]), concluded(false, &["Glossary.ResolutionTime"]), None]
        {
            let Terminal::Abstention(abstention) = decide(facts(conclusion)) else {
                panic!("not an abstention")
            };
            assert_eq!(abstention.searched_terms, ["resolution time"]);
        }
    }

    #[test]
    fn a_refused_look_up_is_the_ending_only_when_nothing_else_is() {
        let facts = |statements| RunFacts {
            grounding_refused: Some(refused(RefusalKind::Access)),
            statements,
            ..RunFacts::default()
        };
        assert!(matches!(decide(facts(vec![])), Terminal::Refusal(_)));
        assert!(matches!(decide(facts(vec![ran("sales")])), Terminal::Answer(_)));
    }
}
