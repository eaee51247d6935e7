//! Colour and weight, or neither.

use std::fmt::{self, Display};

/// Styles text for one output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    on: bool,
}

/// Text in a style.
#[derive(Debug)]
pub(crate) struct Styled<T> {
    code: Option<&'static str>,
    text: T,
}

impl Style {
    /// Styles when `on`, else leaves text as it is.
    pub(crate) const fn new(on: bool) -> Self {
        Self { on }
    }

    /// What matters most.
    pub(crate) const fn strong<T: Display>(self, text: T) -> Styled<T> {
        self.with("1", text)
    }

    /// What may be skipped.
    pub(crate) const fn dim<T: Display>(self, text: T) -> Styled<T> {
        self.with("2", text)
    }

    /// What must not be skipped.
    pub(crate) const fn warn<T: Display>(self, text: T) -> Styled<T> {
        self.with("33", text)
    }

    /// What is as it should be.
    pub(crate) const fn good<T: Display>(self, text: T) -> Styled<T> {
        self.with("32", text)
    }

    /// Whether there is any style.
    pub(crate) const fn is_on(self) -> bool {
        self.on
    }

    /// What went wrong, or was refused.
    pub(crate) const fn bad<T: Display>(self, text: T) -> Styled<T> {
        self.with("1;31", text)
    }

    const fn with<T: Display>(self, code: &'static str, text: T) -> Styled<T> {
        Styled { code: if self.on { Some(code) } else { None }, text }
    }
}

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "\u{1b}[{code}m{}\u{1b}[0m", self.text),
            None => self.text.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_is_there_or_not() {
        assert_eq!(Style::new(false).bad("no").to_string(), "no");
        assert_eq!(Style::new(true).dim("no").to_string(), "\u{1b}[2mno\u{1b}[0m");
    }
}
