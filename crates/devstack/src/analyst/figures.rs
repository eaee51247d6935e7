//! How figures are written for people.

use serde_json::Value;

use super::measure::Measure;

/// A figure with its unit: `1,234 tickets`, `412.3 minutes`, `1,234.50 EUR`, `12.3 percent`.
pub(crate) fn written(value: &Value, measure: &Measure) -> String {
    let Some(number) = value.as_f64() else {
        return value.as_str().map_or_else(|| "no figure".to_owned(), ToOwned::to_owned);
    };
    let whole = value.is_i64() || value.is_u64();
    let digits = if measure.is_money() { 2 } else { usize::from(!whole) };
    let figure = grouped(number, digits);
    match measure.unit.as_deref() {
        Some(unit) if number.to_bits() == 1.0_f64.to_bits() => {
            format!("{figure} {}", unit.strip_suffix('s').unwrap_or(unit))
        }
        Some(unit) => format!("{figure} {unit}"),
        None => figure,
    }
}

/// A number with commas between thousands.
fn grouped(number: f64, digits: usize) -> String {
    let plain = format!("{:.digits$}", number.abs());
    let (whole, rest) = plain.split_once('.').unwrap_or((&plain, ""));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{rest}")
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_grouped_and_signs_kept() {
        assert_eq!(grouped(1_234_567.891, 2), "1,234,567.89");
        assert_eq!(grouped(999.0, 0), "999");
        assert_eq!(grouped(-1_000.04, 1), "-1,000.0");
    }
}
