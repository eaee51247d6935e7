//! From text to the stems that are compared: `Resolved tickets` and `resolving a ticket` come to the same.

use std::collections::BTreeMap;

/// Words that say nothing about what is looked for.
const EMPTY: &[&str] = &[
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "between", "but", "by",
    "can", "could", "did", "do", "does", "each", "every", "find", "for", "from", "get", "give", "had", "has",
    "have", "how", "i", "if", "in", "into", "is", "it", "its", "let", "list", "many", "me", "mean", "means",
    "much", "my", "no", "not", "of", "on", "or", "our", "out", "over", "per", "please", "s", "shall",
    "should", "show", "so", "still", "tell", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "us", "was", "we", "were", "what", "when", "where", "which",
    "who", "whose", "why", "will", "with", "would", "you", "your",
];

/// The stems of a question, each with its weight. `How many` and `number of` ask for a count, by whatever name the catalog
/// has it; since nobody wrote that word, it weighs less.
pub(super) fn query_stems(query: &str) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, f64> = stems(query).into_iter().map(|stem| (stem, 1.0)).collect();
    let words = split(query);
    let asks = |first: &str, second: &str| words.windows(2).any(|pair| pair == [first, second]);
    if !all.is_empty() && (asks("how", "many") || asks("number", "of")) {
        all.entry("count".to_owned()).or_insert(IMPLIED);
    }
    all
}

/// The weight of a word that a question implies.
const IMPLIED: f64 = 0.25;

/// The stems of a text, in its order, each as often as it occurs.
pub(super) fn stems(text: &str) -> Vec<String> {
    split(text)
        .into_iter()
        .filter(|word| !EMPTY.contains(&word.as_str()) && !word.chars().all(|sign| sign.is_ascii_digit()))
        .map(|word| stem(&word))
        .collect()
}

/// Splits at all that is no letter or digit, and where a small letter meets a capital one; all in small letters.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before_small = false;
    for sign in text.chars() {
        let boundary = !sign.is_alphanumeric();
        if (boundary || (sign.is_uppercase() && before_small)) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !boundary {
            word.extend(sign.to_lowercase());
        }
        before_small = sign.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Endings, the longer ones first, with what takes their place, and how many letters must be left before them.
const ENDINGS: &[(&str, &str, usize)] = &[
    ("olutions", "olv", 2),
    ("olution", "olv", 2),
    ("ations", "at", 3),
    ("ation", "at", 3),
    ("iest", "y", 2),
    ("ings", "", 3),
    ("ies", "y", 2),
    ("ied", "y", 2),
    ("ing", "", 3),
    ("est", "", 3),
    ("sses", "ss", 2),
    ("ches", "ch", 2),
    ("shes", "sh", 2),
    ("xes", "x", 2),
    ("ed", "", 3),
    ("er", "", 4),
    ("ly", "", 4),
    ("s", "", 3),
];

/// A light stem: the ending off, a doubled letter made one, a last `e` off. Meant to be equal for the forms of one word,
/// not to be a word.
fn stem(word: &str) -> String {
    if word.chars().count() <= 3 || word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return word.to_owned();
    }
    let mut stem = word.to_owned();
    for (ending, instead, left) in ENDINGS {
        if let Some(start) = word.strip_suffix(ending)
            && start.chars().count() >= *left
        {
            stem = format!("{start}{instead}");
            break;
        }
    }
    let mut signs: Vec<char> = stem.chars().collect();
    if let [.., before, last] = signs.as_slice()
        && before == last
        && !"aeiouls".contains(*last)
    {
        signs.pop();
    }
    if signs.len() > 3 && signs.last() == Some(&'e') {
        signs.pop();
    }
    signs.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::stems;

    #[test]
    fn forms_of_one_word_have_one_stem() {
        for forms in [
            &["ticket", "tickets", "Ticket's"] as &[_],
            &["resolve", "resolves", "resolved", "resolving", "resolution", "resolutions"],
            &["fast", "fastest", "faster"],
            &["category", "categories"],
            &["breach", "breaches", "breached"],
            &["stop", "stopped", "stopping"],
            &["process", "processes"],
            &["open", "opened"],
            &["sale", "sales"],
            &["wait", "waiting", "waited"],
            &["discount", "discounted"],
        ] {
            let all: Vec<Vec<String>> = forms.iter().map(|form| stems(form)).collect();
            assert!(all.iter().all(|one| one == &all[0]), "{forms:?}: {all:?}");
        }
    }

    #[test]
    fn different_words_stay_different() {
        for (one, other) in
            [("team", "term"), ("status", "state"), ("net", "next"), ("order", "old"), ("cost", "customer")]
        {
            assert_ne!(stems(one), stems(other));
        }
    }

    #[test]
    fn compound_names_come_apart() {
        assert_eq!(stems("ResolutionTime"), stems("resolution_time"));
        assert_eq!(stems("support.fct_sales"), stems("support fct sales"));
        assert_eq!(stems("What does it mean in 2025?"), Vec::<String>::new());
    }
}
