//! W3C Trace Context: reads `traceparent`, makes ids, decides what is sampled.

use std::fmt;
use std::str::FromStr;

use ask_core::id::random_key;
use data_encoding::HEXLOWER;

/// A place in a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TraceContext {
    pub(crate) trace_id: [u8; 16],
    /// The span that what comes next is a child of; all zero where there is none.
    pub(crate) span_id: [u8; 8],
    pub(crate) sampled: bool,
}

impl TraceContext {
    /// Goes on with the caller's trace, or begins one.
    pub(crate) fn begin(traceparent: Option<&str>, sampler: Sampler) -> Self {
        let parent = traceparent.and_then(Self::read);
        let mut context =
            parent.unwrap_or_else(|| Self { trace_id: random(), span_id: [0; 8], sampled: false });
        context.sampled = sampler.samples(parent.is_some().then_some(context.sampled), context.trace_id);
        context
    }

    /// Reads a header: `00-<trace id>-<span id>-<flags>`, and later versions that begin like it.
    fn read(header: &str) -> Option<Self> {
        let header = header.trim();
        let version = header.get(..2).filter(|version| is_hex(version) && *version != "ff")?;
        let fits = if version == "00" {
            header.len() == 55
        } else {
            header.len() == 55 || header.get(55..56) == Some("-")
        };
        if !fits {
            return None;
        }
        let mut parts = header.get(..55)?.split('-').skip(1);
        let trace_id: [u8; 16] = bytes(parts.next()?)?;
        let span_id: [u8; 8] = bytes(parts.next()?)?;
        let [flags]: [u8; 1] = bytes(parts.next()?)?;
        let whole = parts.next().is_none() && trace_id != [0; 16] && span_id != [0; 8];
        whole.then_some(Self { trace_id, span_id, sampled: flags & 1 == 1 })
    }

    /// The same trace, at a new span.
    pub(crate) fn child(self) -> Self {
        Self { span_id: random(), ..self }
    }

    /// The header for peers that work on behalf of this span.
    pub(crate) fn traceparent(&self) -> String {
        format!("00-{}-{}-{:02x}", self.trace_hex(), HEXLOWER.encode(&self.span_id), u8::from(self.sampled))
    }

    /// The trace's id as it is written.
    pub(crate) fn trace_hex(&self) -> String {
        HEXLOWER.encode(&self.trace_id)
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}

/// Random bytes; never all zero, which means "none". Without randomness an id is a fixed one: a trace is not worth a failed ask.
fn random<const N: usize>() -> [u8; N] {
    let key = random_key().ok();
    let taken = key.and_then(|key| key.get(..N).and_then(|part| part.try_into().ok()));
    taken.filter(|id: &[u8; N]| *id != [0; N]).unwrap_or([1; N])
}

/// Which traces are exported, as `OTEL_TRACES_SAMPLER` has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// Whether a caller's own decision comes first.
    parent_based: bool,
    /// The share of the other traces, from 0 to 1.
    ratio: f64,
}

impl Default for Sampler {
    fn default() -> Self {
        Self { parent_based: true, ratio: 1.0 }
    }
}

/// No such sampler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be one of always_on, always_off, traceidratio and these with parentbased_ before them")]
pub struct NoSampler;

impl FromStr for Sampler {
    type Err = NoSampler;

    fn from_str(text: &str) -> Result<Self, NoSampler> {
        let (parent_based, rest) =
            text.strip_prefix("parentbased_").map_or((false, text), |rest| (true, rest));
        match rest {
            "always_on" | "traceidratio" => Ok(Self { parent_based, ratio: 1.0 }),
            "always_off" => Ok(Self { parent_based, ratio: 0.0 }),
            _ => Err(NoSampler),
        }
    }
}

impl fmt::Display for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of traces{}", self.ratio, if self.parent_based { ", else as the caller" } else { "" })
    }
}

impl Sampler {
    /// The same with another share.
    #[must_use]
    pub const fn with_ratio(self, ratio: f64) -> Self {
        Self { ratio, ..self }
    }

    fn samples(self, parent: Option<bool>, trace_id: [u8; 16]) -> bool {
        if let Some(sampled) = parent.filter(|_| self.parent_based) {
            return sampled;
        }
        let [.., a, b, c, d] = trace_id;
        // The last bits of a trace id are random; every service that looks at them decides alike.
        f64::from(u32::from_be_bytes([a, b, c, d])) < self.ratio * (f64::from(u32::MAX) + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_callers_trace_is_continued() {
        let context = TraceContext::begin(Some(HEADER), Sampler::default());
        assert_eq!(context.traceparent(), HEADER);
        let child = context.child();
        assert_eq!((child.trace_id, child.sampled), (context.trace_id, true));
        assert_ne!(child.span_id, context.span_id);
        let unsampled = HEADER.replace("-01", "-00");
        assert!(!TraceContext::begin(Some(&unsampled), Sampler::default()).sampled);
        assert!(TraceContext::begin(Some(&unsampled), "always_on".parse().unwrap()).sampled);
        assert!(!TraceContext::begin(Some(HEADER), "always_off".parse().unwrap()).sampled);
        let later = format!("{}-more", HEADER.replacen("00", "01", 1));
        assert_eq!(TraceContext::read(&later).unwrap().trace_hex(), context.trace_hex());
    }

    #[test]
    fn a_header_that_is_none_begins_a_trace_of_its_own() {
        let bad = [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
            "é0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ];
        for header in bad {
            assert_eq!(TraceContext::read(header), None, "{header}");
            let begun = TraceContext::begin(Some(header), Sampler::default());
            assert!(begun.sampled && begun.span_id == [0; 8] && begun.trace_id != [0; 16]);
        }
    }

    #[test]
    fn a_ratio_takes_its_share() {
        let sampler: Sampler = "parentbased_traceidratio".parse().unwrap();
        let sampler = sampler.with_ratio(0.25);
        let taken = (0..4000).filter(|_| TraceContext::begin(None, sampler).sampled).count();
        assert!((700..1300).contains(&taken), "{taken} of 4000");
        assert!("sometimes".parse::<Sampler>().is_err());
    }
}
