//! Where in each event the question is cut out.

use ask_contract::EventBody;
use serde_json::{Map, Value};

use crate::question::QuestionCut;

/// Arguments that hold catalog words or names, not sentences.
const TERM_ARGUMENTS: [&str; 9] =
    ["query", "q", "term", "terms", "search", "fqn", "entityType", "table", "source"];

/// Cuts the question out of every text of a later event.
///
/// A question that is a mere term stays in search terms, subjects and whatever came from tools.
pub(super) fn redact(cut: &QuestionCut, body: &mut EventBody) {
    let everywhere = cut.is_sentence();
    match body {
        EventBody::Accepted(_) => {}
        EventBody::Branch(branch) => {
            if everywhere {
                cut_option(cut, &mut branch.source);
            }
        }
        EventBody::Step(step) => {
            if everywhere {
                cut.cut_string(&mut step.tool);
                cut.cut_members(&mut step.args);
            } else {
                cut_free_arguments(cut, &mut step.args);
            }
        }
        EventBody::Milestone(milestone) => {
            if everywhere {
                cut_option(cut, &mut milestone.subject);
                cut_option(cut, &mut milestone.source);
            }
        }
        EventBody::Answer(answer) => {
            cut.cut_string(&mut answer.text);
            if everywhere {
                for stated in &mut answer.provenance {
                    for text in
                        [&mut stated.term, &mut stated.statement, &mut stated.source, &mut stated.kind]
                    {
                        cut.cut_string(text);
                    }
                }
                for texts in [&mut answer.sources, &mut answer.tables, &mut answer.sql, &mut answer.caveats] {
                    texts.iter_mut().for_each(|text| cut.cut_string(text));
                }
                if let Some(result) = &mut answer.result {
                    result.columns.iter_mut().for_each(|text| cut.cut_string(text));
                    result.rows.iter_mut().flatten().for_each(|cell| cut.cut_value(cell));
                }
                if let Some(divergence) = &mut answer.divergence {
                    cut.cut_members(divergence);
                }
            }
            if let Some(headline) = &mut answer.headline {
                cut.cut_string(&mut headline.label);
                if everywhere {
                    cut_option(cut, &mut headline.unit);
                    if let ask_contract::HeadlineValue::Text(text) = &mut headline.value {
                        cut.cut_string(text);
                    }
                }
            }
        }
        EventBody::Abstention(abstention) => {
            cut.cut_string(&mut abstention.text);
            if everywhere {
                abstention.searched_terms.iter_mut().for_each(|term| cut.cut_string(term));
            }
        }
        EventBody::Refusal(refusal) => {
            if everywhere {
                cut.cut_string(&mut refusal.detail);
                cut_option(cut, &mut refusal.source);
            }
        }
        EventBody::Error(failure) => cut.cut_string(&mut failure.detail),
        EventBody::Done(done) => {
            if everywhere {
                cut.cut_string(&mut done.model);
            }
        }
    }
}

fn cut_option(cut: &QuestionCut, text: &mut Option<String>) {
    if let Some(text) = text {
        cut.cut_string(text);
    }
}

fn cut_free_arguments(cut: &QuestionCut, args: &mut Map<String, Value>) {
    for (name, value) in args.iter_mut() {
        if !TERM_ARGUMENTS.contains(&name.as_str()) {
            cut.cut_value(value);
        }
    }
}
