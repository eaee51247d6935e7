//! The corpus of statements: which are refused for what reason, which are allowed, and which reach for a withheld column.

use anyhow::Context as _;
use serde_json::Value;

use super::options::Options;

/// The built-in corpus, in SQLite's dialect.
const BUILT_IN: &str = include_str!("../../corpus/executor.json");

/// A statement that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) group: String,
    pub(crate) sql: String,
    /// The code of the refusal.
    pub(crate) code: String,
    /// The message holds one of these, whatever its case; any message will do when there is none.
    pub(crate) says: Vec<String>,
}

/// A statement that reaches for the withheld column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Road {
    pub(crate) group: String,
    pub(crate) sql: String,
}

/// All statements, with the data's names in their places.
#[derive(Debug, Clone, Default)]
pub(crate) struct Corpus {
    pub(crate) refused: Vec<Refused>,
    pub(crate) allowed: Vec<String>,
    pub(crate) roads: Vec<Road>,
    pub(crate) beside: Vec<String>,
}

impl Corpus {
    /// Reads the corpus and puts the options' names into it.
    ///
    /// # Errors
    ///
    /// When the file can't be read or is not of the form of the built-in one.
    pub(crate) fn read(options: &Options) -> anyhow::Result<Self> {
        let text = match &options.corpus {
            Some(path) => std::fs::read_to_string(path).with_context(|| path.display().to_string())?,
            None => BUILT_IN.to_owned(),
        };
        let json: Value = serde_json::from_str(&text).context("the corpus is no JSON")?;
        Self::parse(&json, options).context("the corpus lacks a part, or an entry lacks a member")
    }

    fn parse(json: &Value, options: &Options) -> Option<Self> {
        let (withheld_table, withheld) = options.withheld_parts();
        let names = [
            ("{table}", options.table.as_str()),
            ("{name}", options.bare_table()),
            ("{column}", options.column.as_str()),
            ("{source}", options.table.split('.').next().unwrap_or_default()),
            ("{second_table}", options.second_table.as_str()),
            ("{withheld_table}", withheld_table),
            ("{withheld}", withheld),
            ("{beside}", options.beside.as_str()),
        ];
        let fill =
            |text: &str| names.iter().fold(text.to_owned(), |text, (place, name)| text.replace(place, name));
        let part = |name: &str| json.get(name).and_then(Value::as_array);
        let text = |entry: &Value, name: &str| entry.get(name).and_then(Value::as_str).map(fill);
        let texts =
            |list: &[Value]| list.iter().map(|text| text.as_str().map(fill)).collect::<Option<Vec<_>>>();
        Some(Self {
            refused: part("refused")?
                .iter()
                .map(|entry| {
                    Some(Refused {
                        group: text(entry, "group")?,
                        sql: text(entry, "sql")?,
                        code: text(entry, "code")?,
                        says: texts(entry.get("says")?.as_array()?)?,
                    })
                })
                .collect::<Option<_>>()?,
            allowed: texts(part("allowed")?)?,
            roads: part("roads")?
                .iter()
                .map(|entry| Some(Road { group: text(entry, "group")?, sql: text(entry, "sql")? }))
                .collect::<Option<_>>()?,
            beside: texts(part("beside")?)?,
        })
    }

    /// The refused statements of one group.
    pub(crate) fn refused_in<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Refused> {
        self.refused.iter().filter(move |entry| entry.group == group)
    }

    /// The roads of one group.
    pub(crate) fn roads_in<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Road> {
        self.roads.iter().filter(move |road| road.group == group)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn the_built_in_corpus_is_whole_and_names_the_data() {
        let corpus = Corpus::read(&Options::parse_from(["x"])).unwrap();
        assert!(corpus.refused.len() >= 100 && corpus.allowed.len() >= 50 && corpus.roads.len() >= 45);
        assert!(corpus.refused.iter().any(|entry| entry.sql == "DELETE FROM support.tickets"));
        assert!(corpus.roads.iter().any(|road| road.sql == "SELECT email FROM support.agents"));
        let left = |sql: &str| {
            ["{table}", "{name}", "{column}", "{source}", "{withheld", "{beside}", "{second"]
                .iter()
                .any(|place| sql.contains(place))
        };
        assert!(
            !corpus.refused.iter().any(|entry| left(&entry.sql) || entry.says.iter().any(|said| left(said)))
        );
        assert!(!corpus.allowed.iter().chain(&corpus.beside).any(|sql| left(sql)));
    }

    #[test]
    fn every_group_has_a_check() {
        let corpus = Corpus::read(&Options::parse_from(["x"])).unwrap();
        let ids: Vec<_> = super::super::list(&[]).into_iter().map(|(id, _)| id).collect();
        for entry in &corpus.refused {
            assert!(ids.contains(&format!("guard.{}", entry.group).as_str()), "{}", entry.group);
        }
        for road in &corpus.roads {
            assert!(ids.contains(&format!("withheld.{}", road.group).as_str()), "{}", road.group);
        }
    }
}
