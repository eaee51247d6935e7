//! A claim that holds words: one string, or an array of them.

use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A string, or an array of nothing but strings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Words {
    Text(String),
    List(Vec<String>),
}

impl Words {
    /// As audiences: each string is one, whatever is in it.
    pub(crate) fn audiences(&self) -> &[String] {
        match self {
            Self::Text(text) => std::slice::from_ref(text),
            Self::List(list) => list,
        }
    }

    /// As scopes or roles: a text is read like `scp`, in which spaces part the words. A member of an array is one word,
    /// spaces and all: a group that is called `No analyst` does not make one an `analyst`.
    pub(crate) fn into_words(self) -> Vec<String> {
        match self {
            Self::Text(text) => text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect(),
            Self::List(list) => list,
        }
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordsVisitor;
        impl<'de> Visitor<'de> for WordsVisitor {
            type Value = Words;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string or an array of strings")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Words, E> {
                Ok(Words::Text(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Words, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = seq.next_element()? {
                    words.push(word);
                }
                Ok(Words::List(words))
            }
        }
        deserializer.deserialize_any(WordsVisitor)
    }
}
