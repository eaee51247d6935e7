//! A line over time.

use std::fmt::Write as _;

use console::measure_text_width;

use super::Point;
use super::dots::Dots;

/// Rows of a drawing.
const ROWS: usize = 8;

/// The line with its scale to the left and the first and last date below.
pub(super) fn line(points: &[Point], width: usize) -> String {
    let top = points.iter().max_by(|one, other| one.value.total_cmp(&other.value));
    let bottom = points.iter().min_by(|one, other| one.value.total_cmp(&other.value));
    let (Some(top), Some(bottom), Some(first), Some(last)) = (top, bottom, points.first(), points.last())
    else {
        return String::new();
    };
    let scale = top.shown.len().max(bottom.shown.len());
    let columns = width.saturating_sub(scale + 2).max(8);
    let mut dots = Dots::new(columns, ROWS);
    let (across, down) = (columns * 2 - 1, ROWS * 4 - 1);
    // Halved, so that the distance of no two values is too large to be a number.
    let span = top.value / 2.0 - bottom.value / 2.0;
    let place = |index: usize, point: &Point| {
        let x = index * across / (points.len() - 1).max(1);
        let height = if span > 0.0 { (point.value / 2.0 - bottom.value / 2.0) / span } else { 0.5 };
        (x, down - rows(height, down))
    };
    let mut before = place(0, first);
    for (index, point) in points.iter().enumerate() {
        let here = place(index, point);
        stroke(&mut dots, before, here);
        before = here;
    }
    let mut text = String::new();
    for (row, dots) in dots.lines().enumerate() {
        let figure = match row {
            row if span <= 0.0 && row == ROWS / 2 => &top.shown,
            _ if span <= 0.0 => "",
            0 => &top.shown,
            row if row + 1 == ROWS => &bottom.shown,
            _ => "",
        };
        let mark = if figure.is_empty() { '│' } else { '┤' };
        // Writing to a string can't fail.
        write!(text, "{figure:>scale$} {mark}{dots}").unwrap_or_default();
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    let gap =
        columns.saturating_sub(measure_text_width(&first.label) + measure_text_width(&last.label)).max(1);
    writeln!(text, "{:scale$}  {}{}{}", "", first.label, " ".repeat(gap), last.label).unwrap_or_default();
    text
}

/// Dots from one place to another, without a gap.
fn stroke(dots: &mut Dots, from: (usize, usize), to: (usize, usize)) {
    let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
    let between =
        |from: usize, to: usize, step: usize| (from * (steps - step) + to * step + steps / 2) / steps;
    for step in 0..=steps {
        dots.set(between(from.0, to.0, step), between(from.1, to.1, step));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a few rows"
)]
fn rows(share: f64, of: usize) -> usize {
    ((share * of as f64).round() as usize).min(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64]) -> Vec<Point> {
        let point = |(index, value): (usize, &f64)| Point {
            label: format!("2025-{:02}", index + 1),
            value: *value,
            shown: value.to_string(),
        };
        values.iter().enumerate().map(point).collect()
    }

    #[test]
    fn a_rise_goes_from_the_lower_left_to_the_upper_right() {
        let drawn = line(&points(&[0.0, 9.0]), 12);
        assert_eq!(
            drawn,
            "9 ┤       ⢀⠎\n  │      ⢀⠎\n  │     ⢀⠎\n  │    ⢠⠃\n  │   ⢠⠃\n  │  ⡰⠁\n  │ ⡰⠁\n0 ┤⡰⠁\n   2025-01 2025-02\n"
        );
    }

    #[test]
    fn what_does_not_change_is_level() {
        let drawn = line(&points(&[5.0, 5.0, 5.0]), 20);
        assert_eq!(drawn.lines().filter(|line| line.len() > "  │".len() + 3).count(), 2, "{drawn}");
        assert!(drawn.contains("5 ┤"));
    }

    #[test]
    fn extreme_values_are_drawn_too() {
        let drawn = line(&points(&[f64::MAX, f64::MIN, 0.0]), 40);
        assert_eq!(drawn.lines().count(), ROWS + 1);
    }
}
