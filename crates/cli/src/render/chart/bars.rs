//! Bars from a common line, to the left of it where a value is negative.

use console::{measure_text_width, truncate_str};

use super::Point;

/// An eighth of a column more each.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// The bars, a line each.
pub(super) fn bars(points: &[Point], width: usize) -> String {
    let widest = |text: fn(&Point) -> &str| {
        points.iter().map(|point| measure_text_width(text(point))).max().unwrap_or(0)
    };
    let labels = widest(|point| &point.label).min(width / 3);
    let figures = widest(|point| &point.shown);
    let room = width.saturating_sub(labels + figures + 3).max(4);
    let largest = points.iter().map(|point| point.value).fold(0.0_f64, f64::max);
    let smallest = points.iter().map(|point| point.value).fold(0.0_f64, f64::min);
    // Divided before they are taken from each other, so that no two values are too far apart.
    let scale = largest.abs().max(smallest.abs()).max(f64::MIN_POSITIVE);
    let (above, below) = (largest / scale, -smallest / scale);
    let left =
        columns(below / (above + below).max(f64::MIN_POSITIVE) * float(room) * 8.0).div_ceil(8).min(room);
    let per_unit = if below > above {
        float(left) / below.max(f64::MIN_POSITIVE)
    } else {
        float(room - left) / above.max(f64::MIN_POSITIVE)
    };
    points.iter().map(|point| drawn(point, scale, per_unit, labels, left, room, figures)).collect()
}

fn drawn(
    point: &Point,
    scale: f64,
    per_unit: f64,
    labels: usize,
    left: usize,
    room: usize,
    figures: usize,
) -> String {
    let label = truncate_str(&point.label, labels, "…");
    let pad = " ".repeat(labels.saturating_sub(measure_text_width(&label)));
    let length = point.value / scale * per_unit;
    let bar = if length < 0.0 {
        // Whole columns: there are no eighths that grow to the left.
        let whole = (columns(-length * 8.0) + 4) / 8;
        let whole = whole.min(left);
        format!("{}{}", " ".repeat(left - whole), "█".repeat(whole))
    } else {
        let eighths = columns(length * 8.0).min((room - left) * 8);
        let part = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
        format!("{}{}{part}", " ".repeat(left), "█".repeat(eighths / 8))
    };
    let rest = " ".repeat(room.saturating_sub(measure_text_width(&bar)));
    let figure = " ".repeat(figures.saturating_sub(point.shown.len()));
    format!("{label}{pad}  {bar}{rest} {figure}{}\n", point.shown)
}

#[expect(clippy::cast_precision_loss, reason = "columns of a terminal are few")]
const fn float(columns: usize) -> f64 {
    columns as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "negative and huge become the nearest end"
)]
const fn columns(number: f64) -> usize {
    number.round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64]) -> Vec<Point> {
        values
            .iter()
            .map(|value| Point { label: "x".to_owned(), value: *value, shown: value.to_string() })
            .collect()
    }

    #[test]
    fn negative_values_go_to_the_left_of_the_line() {
        assert_eq!(
            bars(&points(&[10.0, -10.0, 5.0]), 26),
            "x            █████████  10\nx   █████████          -10\nx            ████▌       5\n"
        );
    }

    #[test]
    fn every_line_is_within_the_width_whatever_the_values() {
        for values in [&[0.0, 0.0][..], &[f64::MAX, f64::MIN], &[1e-300, 2e300], &[-1.0, -2.0], &[7.0]] {
            let mut points = points(values);
            points[0].shown = "7".to_owned();
            for point in &mut points {
                point.shown.truncate(8);
                point.label = "技術".repeat(30);
            }
            for line in bars(&points, 40).lines() {
                assert!(measure_text_width(line) <= 40, "{line}");
            }
        }
    }
}
