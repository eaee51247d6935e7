//! Reads text that is one value, as JSON writes it or as Python prints it, with its members in their order.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::{Number, Value};

/// How deep lists and members may nest.
const DEEPEST: usize = 32;

/// A value as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    /// Text, a number, a truth value or nothing.
    Scalar(Value),
    /// A list or a tuple.
    List(Vec<Literal>),
    /// Members in the order in which they were written.
    Map(Vec<(String, Literal)>),
}

impl Literal {
    /// The value as JSON.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Scalar(value) => value,
            Self::List(items) => items.into_iter().map(Self::into_value).collect(),
            Self::Map(members) => {
                Value::Object(members.into_iter().map(|(name, value)| (name, value.into_value())).collect())
            }
        }
    }
}

/// Reads a text that is one value and nothing else; `None` for all that JSON has no value for, such as a date or bytes.
pub(crate) fn read(text: &str) -> Option<Literal> {
    let mut reader = Reader { rest: text.chars().peekable() };
    let value = reader.value(0)?;
    reader.skip_space();
    reader.rest.next().is_none().then_some(value)
}

struct Reader<'t> {
    rest: Peekable<Chars<'t>>,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        while self.rest.next_if(char::is_ascii_whitespace).is_some() {}
    }

    /// Takes a mark if it is next.
    fn takes(&mut self, mark: char) -> bool {
        self.skip_space();
        self.rest.next_if_eq(&mark).is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Literal> {
        if depth > DEEPEST {
            return None;
        }
        self.skip_space();
        match *self.rest.peek()? {
            '[' => self.items(']', depth),
            '(' => self.items(')', depth),
            '{' => self.members(depth),
            '\'' | '"' => self.text().map(|text| Literal::Scalar(Value::String(text))),
            _ => self.word(),
        }
    }

    fn items(&mut self, end: char, depth: usize) -> Option<Literal> {
        self.rest.next();
        let mut items = Vec::new();
        while !self.takes(end) {
            items.push(self.value(depth + 1)?);
            if !self.takes(',') {
                return self.takes(end).then_some(Literal::List(items));
            }
        }
        Some(Literal::List(items))
    }

    fn members(&mut self, depth: usize) -> Option<Literal> {
        self.rest.next();
        let mut members: Vec<(String, Literal)> = Vec::new();
        while !self.takes('}') {
            self.skip_space();
            let name = self.text()?;
            if !self.takes(':') || members.iter().any(|(known, _)| *known == name) {
                return None;
            }
            members.push((name, self.value(depth + 1)?));
            if !self.takes(',') {
                return self.takes('}').then_some(Literal::Map(members));
            }
        }
        Some(Literal::Map(members))
    }

    fn text(&mut self) -> Option<String> {
        let quote = self.rest.next_if(|it| matches!(it, '\'' | '"'))?;
        let mut text = String::new();
        loop {
            match self.rest.next()? {
                '\\' => text.push(self.escaped()?),
                end if end == quote => return Some(text),
                other => text.push(other),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        match self.rest.next()? {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'x' => char::from_u32(self.hex(2)?),
            'U' => char::from_u32(self.hex(8)?),
            'u' => {
                let first = self.hex(4)?;
                if !(0xD800..0xDC00).contains(&first) {
                    return char::from_u32(first);
                }
                self.rest.next_if_eq(&'\\').and_then(|_| self.rest.next_if_eq(&'u'))?;
                let second = self.hex(4)?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + second)
            }
            same @ ('\\' | '\'' | '"' | '/') => Some(same),
            _ => None,
        }
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        (0..digits)
            .try_fold(0, |sum: u32, _| sum.checked_mul(16)?.checked_add(self.rest.next()?.to_digit(16)?))
    }

    /// A number or one of the named values.
    fn word(&mut self) -> Option<Literal> {
        let mut word = String::new();
        while let Some(part) =
            self.rest.next_if(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '+' | '.'))
        {
            word.push(part);
        }
        let value = match word.as_str() {
            "null" | "None" => Value::Null,
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            // A number that JSON's own reader would round is not the number that was written.
            _ => Value::Number(word.parse::<Number>().ok().filter(|number| exact(number, &word))?),
        };
        Some(Literal::Scalar(value))
    }
}

/// Whether a whole number was kept as a whole number.
fn exact(number: &Number, word: &str) -> bool {
    number.is_i64() || number.is_u64() || word.contains(['.', 'e', 'E'])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_reads_as_json_reads_it() {
        let values =
            [json!({"a": [1, -2.5, null, true, "q\"u\\o\n\u{1F600}t'e"], "b": {}}), json!([[], [[1]], "é"])];
        for value in values {
            assert_eq!(read(&value.to_string()).unwrap().into_value(), value);
        }
        assert_eq!(read(r#""\ud83d\ude00""#).unwrap().into_value(), json!("\u{1F600}"));
    }

    #[test]
    fn what_python_prints_reads_too() {
        let text =
            r#"[{'a': 'it\'s', "b": "it's", 'c': None, 'd': (1,), 'e': '\xe9\U0001f600', 'f': 1e-07}]"#;
        let expected = json!([{"a": "it's", "b": "it's", "c": null, "d": [1], "e": "é\u{1F600}", "f": 1e-7}]);
        assert_eq!(read(text).unwrap().into_value(), expected);
    }

    #[test]
    fn what_is_no_value_of_json_is_not_read() {
        let deep = "[".repeat(100_000);
        for text in [
            "nan",
            "b'x'",
            "Decimal('1.5')",
            "{1: 2}",
            "'open",
            "1 2",
            "{'a': 1, 'a': 2}",
            "'\\ud83d'",
            &deep,
        ] {
            assert_eq!(read(text), None);
        }
        assert_eq!(read("123456789012345678901234567890"), None);
    }
}
