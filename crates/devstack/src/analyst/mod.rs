//! The demo analyst: rules behind the model protocols, so that the stack answers questions without a language model.
//!
//! It looks things up in the catalog, picks measure, group, filters and period by the catalog's own words and the
//! tables' columns, writes SQL, reads the result and concludes. It knows nothing of what the sources hold but what its
//! tools tell it, and says that it cannot answer when a word of the question is explained by none of that.

mod answer;
mod choose;
mod compute;
mod cue_words;
mod cues;
mod dates;
mod define;
mod definition;
mod dimension;
mod entity;
mod exchange;
mod facts;
mod figures;
mod filters;
mod joins;
mod kind;
mod listing;
mod lookup;
mod measure;
mod memory;
mod part;
mod period;
mod phrases;
mod question;
mod read;
mod reading;
mod rows;
mod sql;
mod turn;
mod values;
mod words;
mod years;

#[cfg(test)]
mod tests;

use crate::model::dialogue::{Asked, Reply, StandIn};

/// The demo analyst; it keeps nothing between requests, all it knows is in the dialogue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Analyst;

impl StandIn for Analyst {
    fn name(&self) -> &'static str {
        "demo-analyst (rules, no language model)"
    }

    fn reply(&self, asked: &Asked) -> Reply {
        turn::reply(asked)
    }
}
