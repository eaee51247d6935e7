//! A question is found again however it is written.

#![expect(clippy::unwrap_used, clippy::format_collect, reason = "a test says by failing")]

use ask_core::question::QuestionCut;
use proptest::prelude::*;

fn escape(text: &str, how: u8) -> String {
    match how {
        0 => text.to_owned(),
        1 => text.to_uppercase(),
        2 => serde_json::to_string(text).unwrap(),
        3 => serde_json::to_string(&serde_json::to_string(text).unwrap()).unwrap(),
        4 => text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect(),
        5 => text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        6 => text.chars().map(|letter| format!("&#{};", u32::from(letter))).collect(),
        7 => text.split(' ').collect::<Vec<_>>().join(" \n\t "),
        8 => text.chars().flat_map(|letter| [letter, '\u{200b}']).collect(),
        _ => text.split(' ').collect::<Vec<_>>().join("_"),
    }
}

fn bare(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

proptest! {
    #[test]
    fn a_sentence_is_cut_from_any_text(
        words in prop::collection::vec("[a-zäöüéñßđ漢字0-9]{1,8}", 4..9),
        before in "[ a-z\"'{}\\[\\],.:]{0,20}",
        after in "[ a-z\"'{}\\[\\],.:]{0,20}",
        how in 0..10_u8,
    ) {
        let question = words.join(" ");
        let text = format!("{before} | {} | {after}", escape(&question, how));
        let cut = QuestionCut::new(&question).cut(&text).into_owned();
        prop_assert!(cut.contains("[question]"), "{text:?} became {cut:?}");
        prop_assert!(!bare(&cut).contains(&bare(&question)), "{text:?} became {cut:?}");
        prop_assert!(cut.starts_with(&format!("{before} |")), "{cut:?}");
        prop_assert!(cut.ends_with(&format!("| {after}")), "{cut:?}");
    }

    #[test]
    fn cutting_never_fails(question in any::<String>(), text in any::<String>()) {
        let cut = QuestionCut::new(&question);
        let once = cut.cut(&text).into_owned();
        let joined = format!("{text}{question}{text}");
        cut.cut(&joined);
        cut.cut(&once);
    }
}
