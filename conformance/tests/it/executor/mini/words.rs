//! A statement's words: what a guard sees that reads no further.

/// One word of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// A keyword or an unquoted name.
    Plain(String),
    /// A name in quotes, brackets or backticks.
    Quoted(String),
    /// A text or a number.
    Literal,
    /// Anything else, one sign each.
    Sign(char),
}

impl Word {
    /// The name that it may be, in lower case.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::Plain(text) | Self::Quoted(text) => Some(text.to_lowercase()),
            Self::Literal | Self::Sign(_) => None,
        }
    }

    /// Whether it is that keyword, given in capitals.
    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Plain(text) if text.eq_ignore_ascii_case(keyword))
    }
}

/// The words without comments; none for a text or quote that does not end.
pub(super) fn split(sql: &str) -> Option<Vec<Word>> {
    let signs: Vec<char> = sql.chars().collect();
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(&sign) = signs.get(at) {
        let next = signs.get(at + 1).copied();
        match sign {
            '-' if next == Some('-') => {
                while signs.get(at).is_some_and(|sign| *sign != '\n') {
                    at += 1;
                }
            }
            '/' if next == Some('*') => {
                at += 2;
                while !(signs.get(at)? == &'*' && signs.get(at + 1) == Some(&'/')) {
                    at += 1;
                }
                at += 2;
            }
            '\'' | '"' | '`' | '[' => {
                let close = if sign == '[' { ']' } else { sign };
                let mut text = String::new();
                at += 1;
                loop {
                    let inner = *signs.get(at)?;
                    if inner == close && signs.get(at + 1) == Some(&close) && close != ']' {
                        text.push(inner);
                        at += 2;
                    } else if inner == close {
                        at += 1;
                        break;
                    } else {
                        text.push(inner);
                        at += 1;
                    }
                }
                words.push(if sign == '\'' { Word::Literal } else { Word::Quoted(text) });
            }
            _ if sign.is_whitespace() => at += 1,
            _ if sign.is_alphanumeric() || sign == '_' => {
                let begun = at;
                while signs.get(at).is_some_and(|sign| sign.is_alphanumeric() || *sign == '_') {
                    at += 1;
                }
                let text: String = signs[begun..at].iter().collect();
                words.push(if sign.is_ascii_digit() { Word::Literal } else { Word::Plain(text) });
            }
            _ => {
                words.push(Word::Sign(sign));
                at += 1;
            }
        }
    }
    Some(words)
}
