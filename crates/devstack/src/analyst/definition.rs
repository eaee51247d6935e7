//! Answers to what something means: the catalog's own words.

use super::{
    entity::{Entity, EntityKind},
    facts::Facts,
    memory::Memory,
    phrases::source_stems,
    question::Question,
    words::stems,
};

/// The entities whose meaning is asked for, the term before its metric; empty when the catalog names none of them.
pub(crate) fn asked_for<'facts>(
    question: &Question,
    facts: &'facts Facts,
    memory: Option<&Memory>,
) -> Vec<&'facts Entity> {
    let sources = source_stems(facts);
    // "Mean" asks for the meaning here, and is no part of a name.
    let spoken =
        question.words.iter().filter(|word| !["mean", "means", "meant"].contains(&word.lower.as_str()));
    let mut left: Vec<String> = spoken.map(|word| word.stem.clone()).collect();
    let mut found: Vec<&Entity> = Vec::new();
    let several = question.has_any("difference|differ|and|versus|vs");
    loop {
        let best = facts
            .entities
            .iter()
            .filter(|entity| !found.iter().any(|known| known.fqn == entity.fqn))
            .filter_map(|entity| Some((said(entity, &left)?, entity)))
            .max_by_key(|(name, entity)| {
                let plain = name.iter().filter(|stem| !sources.contains(*stem)).count();
                (plain, name.len(), entity.kind == EntityKind::Term, entity.kind == EntityKind::Metric)
            });
        let Some((name, entity)) = best else {
            break;
        };
        // Two names may share a word: "net revenue and gross revenue".
        for stem in name {
            if let Some(at) = left.iter().position(|left| *left == stem) {
                left.remove(at);
            }
        }
        found.push(entity);
        if !several {
            break;
        }
    }
    let explained = |stem: &String| {
        let said =
            |entity: &&Entity| stems(&format!("{} {}", entity.display, entity.description)).contains(stem);
        sources.contains(stem) || !left.contains(stem) || found.iter().any(said)
    };
    if !question.unexplained(|word| explained(&word.stem)).is_empty() {
        // A name within a longer one means something else: "customer happiness" is no customer.
        return Vec::new();
    }
    if found.is_empty()
        && let Some(memory) = memory.filter(|_| question.has_any("that|this|it|they|those"))
    {
        let measures = memory.reading.parts.iter().flat_map(|part| &part.measures);
        let entities = measures.flat_map(|measure| &measure.entities);
        found = entities.filter_map(|fqn| facts.named(fqn)).collect();
    }
    found
}

/// The longest name of an entity all of whose words are among `left`.
fn said(entity: &Entity, left: &[String]) -> Option<Vec<String>> {
    let names = std::iter::once(&entity.display).chain(&entity.synonyms);
    names
        .map(|name| stems(name))
        .filter(|name| !name.is_empty() && name.iter().all(|stem| left.contains(stem)))
        .max_by_key(Vec::len)
}

/// The metric that computes what a term defines: of the same name, or the one that names the term.
pub(crate) fn metric_of<'facts>(term: &Entity, facts: &'facts Facts) -> Option<&'facts Entity> {
    let own = stems(&term.display);
    let metrics = || facts.of_kind(EntityKind::Metric);
    let same = metrics().find(|metric| stems(&metric.display) == own);
    same.or_else(|| metrics().find(|metric| own.iter().all(|stem| stems(&metric.display).contains(stem))))
}

/// Whether it asks how something is computed, so that the formula belongs to the answer.
pub(crate) fn asks_for_formula(text: &str) -> bool {
    Question::new(text)
        .has_any("calculated|computed|calculate|compute|measured|measure|formula|determined|derived")
}

/// `What is Net Revenue?`: the bare name of a term asks for its meaning, not for a figure.
pub(crate) fn is_bare_name(text: &str, facts: &Facts) -> bool {
    let question = Question::new(text);
    let opened = ["what is", "what s", "what are"].iter().any(|opening| question.find(opening) == Some(0));
    if !opened || question.has_any("the|our|my|your|this|that|their|its") {
        return false;
    }
    let free = question.free_stems();
    facts.of_kind(EntityKind::Term).any(|term| {
        let names = std::iter::once(&term.display).chain(&term.synonyms);
        names.map(|name| stems(name)).any(|name| name == free)
    })
}

/// The sentences that say what the entities mean.
pub(crate) fn answer(entities: &[&Entity], formula: bool, facts: &Facts) -> String {
    let mut sentences = Vec::new();
    for entity in entities {
        sentences.push(format!("{}: {}", entity.display, entity.description));
        if formula {
            let metric =
                if entity.kind == EntityKind::Metric { Some(*entity) } else { metric_of(entity, facts) };
            if let Some((metric, code)) = metric.and_then(|metric| Some((metric, metric.formula.as_ref()?))) {
                sentences.push(format!("{} is computed as {code}.", metric.display));
            }
        }
    }
    sentences.join(" ")
}
