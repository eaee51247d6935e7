//! Words of a text: how it is cut into them and when two of them count as the same.

use std::{collections::HashSet, sync::LazyLock};

/// One word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// As written, without a possessive ending.
    pub(crate) raw: String,
    /// In lower case.
    pub(crate) lower: String,
    /// What it is compared by.
    pub(crate) stem: String,
}

/// The words of `text` in order; signs, underscores, dots and hyphens separate.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let plain = text.replace(['\u{2019}', '\u{2018}'], "'");
    let cut = plain.split(|sign: char| !(sign.is_alphanumeric() || sign == '\''));
    cut.filter_map(|piece| {
        let piece = piece.trim_matches('\'');
        let piece = piece.strip_suffix("'s").unwrap_or(piece);
        if piece.is_empty() {
            return None;
        }
        let lower = piece.to_lowercase();
        Some(Word { raw: piece.to_owned(), stem: stem(&lower), lower })
    })
    .collect()
}

/// The stems of the words of `text` that carry meaning, each once, in order.
pub(crate) fn stems(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words(text) {
        if !is_stop(&word.lower) && !found.contains(&word.stem) {
            found.push(word.stem);
        }
    }
    found
}

/// Words whose forms no rule connects.
const IRREGULAR: &[(&str, &str)] = &[
    ("sold", "sell"),
    ("sale", "sell"),
    ("sales", "sell"),
    ("selling", "sell"),
    ("bought", "buy"),
    ("spent", "spend"),
    ("took", "take"),
    ("taken", "take"),
    ("paid", "pay"),
    ("people", "person"),
    ("solution", "solve"),
];

/// What a word in lower case is compared by: plural, tense and the like taken off.
pub(crate) fn stem(word: &str) -> String {
    if let Some((_, root)) = IRREGULAR.iter().find(|(form, _)| *form == word) {
        return (*root).to_owned();
    }
    let singular = singular(word);
    let root = if let Some(base) = cut(&singular, "olution", 1) {
        format!("{base}olv")
    } else if let Some(base) = cut(&singular, "ponse", 2) {
        format!("{base}pond")
    } else if let Some(base) = cut(&singular, "ing", 3).or_else(|| cut(&singular, "ed", 3)) {
        undouble(base)
    } else {
        singular.clone()
    };
    match cut(&root, "e", 4) {
        Some(base) => base.to_owned(),
        None => root,
    }
}

/// `word` without `ending`, when at least `least` characters remain.
fn cut<'word>(word: &'word str, ending: &str, least: usize) -> Option<&'word str> {
    word.strip_suffix(ending).filter(|base| base.chars().count() >= least)
}

fn singular(word: &str) -> String {
    if let Some(base) = cut(word, "ies", 2) {
        return format!("{base}y");
    }
    for ending in ["sses", "shes", "ches", "xes"] {
        if word.ends_with(ending) {
            return word.strip_suffix("es").unwrap_or(word).to_owned();
        }
    }
    if ["ss", "us", "is"].iter().any(|ending| word.ends_with(ending)) {
        return word.to_owned();
    }
    cut(word, "s", 3).unwrap_or(word).to_owned()
}

fn undouble(base: &str) -> String {
    let mut signs: Vec<char> = base.chars().collect();
    let last = signs.pop();
    if last.is_some() && last == signs.last().copied() && last != Some('s') {
        return signs.into_iter().collect();
    }
    base.to_owned()
}

/// Words that join others and say nothing of what is asked about.
const STOP: &str = "a an the of in on at to for from by with within into per as and or but if than then that this these \
    those there here is are was were be been being am do does did done has have had having can could will would \
    shall should may might must we us our ours i me my mine you your yours they them their theirs it its he she his her \
    what which who whom whose when where why how not no any some all every each both so also too just only even \
    still yet already now currently right please tell show give list get got gets let know want need like see say \
    many much more most other another same about across between through via using among per during out up over down off again \
    s t ll re ve don isn aren really actually exactly altogether overall today ever whole entire entirely \
    come came comes coming make made makes making happen happened went go going gone look looks looking \
    hi hello hey thanks thank ok okay kindly hey";

/// Verbs and nouns of asking that go with any figure and change none.
const FILLER: &str = "figure figures number numbers amount value values data record records result results row rows total \
    find display report return count compute calculate compare comparison compared versus vs breakdown break split group grouped \
    earn earned generate generated achieve achieved reach reached receive received record recorded handle handled \
    deal dealt bring brings brought place placed file filed log logged raise raised submit submitted take took taken work works worked working belong belongs name names named called exist exists existing \
    available company business organisation organization different distinct individual single given \
    level kind kinds sort type types set history far rank ranked ranking order ordered sorted";

static STOPS: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP.split_whitespace().collect());
static FILLERS: LazyLock<HashSet<&str>> = LazyLock::new(|| FILLER.split_whitespace().collect());

/// Whether a word in lower case is one of those that join others.
pub(crate) fn is_stop(lower: &str) -> bool {
    STOPS.contains(lower)
}

/// Whether a word in lower case goes with any figure and changes none.
pub(crate) fn is_filler(lower: &str) -> bool {
    FILLERS.contains(lower)
}

#[cfg(test)]
mod tests {
    use super::{stem, stems};

    #[test]
    fn forms_of_one_word_have_one_stem() {
        for forms in [
            &["resolve", "resolves", "resolved", "resolving", "resolution"][..],
            &["ticket", "tickets"],
            &["category", "categories"],
            &["response", "respond", "responded"],
            &["sale", "sales", "sold", "sell"],
            &["breach", "breaches", "breached"],
            &["cancelled", "cancel"],
            &["revenue", "revenues"],
            &["wait", "waiting", "waited"],
        ] {
            let first = stem(forms[0]);
            assert!(forms.iter().all(|form| stem(form) == first), "{forms:?}");
        }
        assert_ne!(stem("open"), stem("opinion"));
    }

    #[test]
    fn joining_words_and_signs_are_left_out() {
        assert_eq!(
            stems("What is the agent's first_response time, please?"),
            ["agent", "first", "respond", "time"].map(ToOwned::to_owned)
        );
    }
}
