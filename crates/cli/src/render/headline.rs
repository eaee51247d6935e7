//! The one salient figure of an answer.

use ask_contract::{Headline, HeadlineValue};

use crate::neutral;

/// `label: value unit`, on one line.
pub(super) fn line(headline: &Headline) -> String {
    let value = match &headline.value {
        HeadlineValue::Number(number) => grouped(&number.to_string()),
        HeadlineValue::Text(text) => neutral::line(text).into_owned(),
    };
    let label = neutral::line(&headline.label);
    match headline.unit.as_deref().map(neutral::line) {
        Some(unit) if unit == "%" => format!("{label}: {value}{unit}"),
        Some(unit) if !unit.is_empty() => format!("{label}: {value} {unit}"),
        _ => format!("{label}: {value}"),
    }
}

/// A decimal number with a comma between each three digits of five or more before the point; four read well without.
fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let (whole, fraction) = digits.find(['.', 'e', 'E']).map_or((digits, ""), |at| digits.split_at(at));
    if whole.len() < 5 || fraction.contains(['e', 'E']) {
        return number.to_owned();
    }
    let mut with_commas = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            with_commas.push(',');
        }
        with_commas.push(digit);
    }
    with_commas.push_str(fraction);
    with_commas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_figures_are_grouped_and_small_ones_are_not() {
        for (number, shown) in [
            ("0", "0"),
            ("2025", "2025"),
            ("12345", "12,345"),
            ("-1234567.89", "-1,234,567.89"),
            ("0.123456", "0.123456"),
            ("123456", "123,456"),
            ("1e21", "1e21"),
        ] {
            assert_eq!(grouped(number), shown);
        }
    }

    #[test]
    fn a_unit_follows_its_value() {
        let headline = |unit: &str| Headline {
            value: HeadlineValue::Number(41.into()),
            unit: Some(unit.to_owned()),
            label: "Average\u{1b}[1m".to_owned(),
        };
        assert_eq!(line(&headline("minutes")), "Average\u{FFFD}[1m: 41 minutes");
        assert_eq!(line(&headline("%")), "Average\u{FFFD}[1m: 41%");
        assert_eq!(line(&headline("")), "Average\u{FFFD}[1m: 41");
    }
}
