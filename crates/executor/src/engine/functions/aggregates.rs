//! Aggregates that analysts expect: median, percentiles, variance and standard deviation.

use rusqlite::functions::{Aggregate, Context};
use rusqlite::{Connection, Result};

use super::numbers::number;
use super::{PURE, mistake};

/// The most values that a median may be taken of; they are all kept until the end.
const MAX_VALUES: usize = 4_000_000;

pub(super) fn register(connection: &Connection) -> Result<()> {
    connection.create_aggregate_function("median", 1, PURE, Percentile)?;
    connection.create_aggregate_function("percentile_cont", 2, PURE, Percentile)?;
    for name in ["stddev", "stddev_samp"] {
        connection.create_aggregate_function(name, 1, PURE, Spread { sample: true, root: true })?;
    }
    for name in ["variance", "var_samp"] {
        connection.create_aggregate_function(name, 1, PURE, Spread { sample: true, root: false })?;
    }
    connection.create_aggregate_function("stddev_pop", 1, PURE, Spread { sample: false, root: true })?;
    connection.create_aggregate_function("var_pop", 1, PURE, Spread { sample: false, root: false })
}

struct Percentile;

#[derive(Default)]
struct Values {
    values: Vec<f64>,
    fraction: Option<f64>,
}

impl Aggregate<Values, Option<f64>> for Percentile {
    fn init(&self, _context: &mut Context<'_>) -> Result<Values> {
        Ok(Values::default())
    }

    fn step(&self, context: &mut Context<'_>, kept: &mut Values) -> Result<()> {
        if kept.fraction.is_none() {
            let fraction = if context.len() > 1 {
                number(context, 1)?.filter(|fraction| (0.0..=1.0).contains(fraction)).ok_or_else(|| {
                    mistake("the fraction of percentile_cont must lie between 0 and 1".to_owned())
                })?
            } else {
                0.5
            };
            kept.fraction = Some(fraction);
        }
        if let Some(value) = number(context, 0)? {
            if kept.values.len() >= MAX_VALUES {
                return Err(mistake(format!("a median is taken of at most {MAX_VALUES} values")));
            }
            kept.values.push(value);
        }
        Ok(())
    }

    fn finalize(&self, _context: &mut Context<'_>, kept: Option<Values>) -> Result<Option<f64>> {
        Ok(kept.and_then(|Values { mut values, fraction }| {
            values.sort_by(f64::total_cmp);
            interpolate(&values, fraction.unwrap_or(0.5))
        }))
    }
}

/// The value at a fraction of the way through sorted values, between two of them if need be.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the position is not negative and at most the number of values"
)]
fn interpolate(sorted: &[f64], fraction: f64) -> Option<f64> {
    let position = fraction * (sorted.len().checked_sub(1)? as f64);
    let low = sorted.get(position.floor() as usize)?;
    let high = sorted.get(position.ceil() as usize)?;
    Some(low + (high - low) * position.fract())
}

struct Spread {
    sample: bool,
    root: bool,
}

/// Welford's running mean and sum of squares, which does not lose digits on large values.
#[derive(Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Aggregate<Moments, Option<f64>> for Spread {
    fn init(&self, _context: &mut Context<'_>) -> Result<Moments> {
        Ok(Moments::default())
    }

    fn step(&self, context: &mut Context<'_>, moments: &mut Moments) -> Result<()> {
        if let Some(value) = number(context, 0)? {
            moments.count += 1.0;
            let from_old = value - moments.mean;
            moments.mean += from_old / moments.count;
            moments.squares += from_old * (value - moments.mean);
        }
        Ok(())
    }

    fn finalize(&self, _context: &mut Context<'_>, moments: Option<Moments>) -> Result<Option<f64>> {
        Ok(moments.and_then(|moments| {
            let of = if self.sample { moments.count - 1.0 } else { moments.count };
            (of > 0.0).then(|| {
                let variance = moments.squares / of;
                if self.root { variance.sqrt() } else { variance }
            })
        }))
    }
}
