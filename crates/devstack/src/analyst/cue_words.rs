//! The words that tell what kind of answer is wanted; phrases are separated by `|`, single words by blanks.

use super::cues::End;

/// The ends of a ranking: the words, the end, and whether they speak of speed.
pub(crate) const ENDS: [(&str, End, bool); 6] = [
    (
        "most more highest higher largest larger biggest bigger greatest strongest top busiest",
        End::High,
        false,
    ),
    ("fewest fewer least less lowest lower smallest smaller weakest bottom", End::Low, false),
    ("best better", End::Best, false),
    ("worst worse", End::Worst, false),
    ("fastest faster quickest quicker shortest shorter", End::Low, true),
    ("slowest slower longest longer", End::High, true),
];

/// How long, how fast.
pub(crate) const SPEED: &str = "how long|how fast|how quickly|how quick|how slow|fast|quick|quickly|slow|slowly|\
    how many minutes|how many hours|speed";

/// What share.
pub(crate) const SHARE: &str = "what percentage|what share|percentage of|percent of|share of|proportion of|what fraction|\
    percentage|percent|proportion";

/// A course over time.
pub(crate) const TREND: &str = "trend|over time|develop|developed|development|evolve|evolved|evolution|changed|change|grow|grew|\
    grown";

/// Rows as they are.
pub(crate) const ROWS: &str = "show all|show every|show me all|show me every|show each|give me all|give me every|get all|\
    find all|find every|who are|names of|what are the names|a list of";

/// What something means.
pub(crate) const MEANING: &str = "define|explain|definition of|meaning of|what counts as|what is meant by|what is a|what is an|\
    what s a|what s an|describe|difference between|differ|formula for|formula of|\
    what is the definition|what is the formula|which definition";

/// How something is computed.
pub(crate) const MAKING: &str =
    "calculated|computed|defined|measured|determined|calculate|compute|define|measure|derived";

/// Words of asking for a meaning, which are no part of what it is asked of.
pub(crate) const DEFINING: &str = "mean|means|meant|stand for|calculated|computed|defined|measured|determined|calculate|compute|\
    define|measure|derived|explain|definition|meaning|counts as|describe|difference between|\
    difference|differ|formula|term|exactly";

/// Orders that would change something.
pub(crate) const CHANGES: &str = "delete drop remove erase purge truncate update insert alter modify change edit overwrite rename \
    reset set mark assign reassign close reopen cancel add create grant revoke archive merge import \
    upload send fix wipe clear move";

/// What may stand before an order.
pub(crate) const POLITE: &str = "please can could would will you i want need to now just go ahead and then kindly let us like we \
    should must also help me d ll immediately";

/// Numbers as words, from one on.
pub(crate) const NUMBERS: &str = "one two three four five six seven eight nine ten";

/// Whether `word` is one of `words`.
pub(crate) fn is_among(word: &str, words: &str) -> bool {
    words.split(' ').any(|known| known == word)
}
