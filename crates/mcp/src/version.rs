//! The protocol versions that this client speaks, and what differs between them.

use std::fmt;

/// A revision of the MCP specification, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// `2025-03-26`: the first with Streamable HTTP; a reply may be a batch.
    V2025_03_26,
    /// `2025-06-18`: no batches, the version header is required.
    V2025_06_18,
    /// `2025-11-25`: the last with `initialize`, sessions and resumption.
    V2025_11_25,
    /// `2026-07-28`: metadata on each request, no sessions, no resumption; a closed stream is a cancel.
    V2026_07_28,
}

impl Version {
    /// All versions, newest first: the order of preference.
    pub const ALL: [Self; 4] = [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26];

    /// The newest version that begins with `initialize`.
    pub(crate) const NEWEST_WITH_INITIALIZE: Self = Self::V2025_11_25;

    /// The version as it is written on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Reads a version from the wire; `None` when this client does not speak it.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == text)
    }

    /// Each request carries who we are and what we can, and headers that name method and tool.
    pub(crate) fn has_request_metadata(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// A broken reply stream can be taken up again with `Last-Event-ID`.
    pub(crate) fn resumes_streams(self) -> bool {
        self < Self::V2026_07_28
    }

    /// The server may send requests of its own on a reply stream, and expects answers.
    pub(crate) fn has_server_requests(self) -> bool {
        self < Self::V2026_07_28
    }

    /// A reply may be an array of messages.
    pub(crate) fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_read_back_and_others_are_refused() {
        for version in Version::ALL {
            assert_eq!(Version::parse(version.as_str()), Some(version));
        }
        for unknown in ["", "2024-11-05", "2026-07-28 ", "9999-01-01"] {
            assert_eq!(Version::parse(unknown), None);
        }
    }

    #[test]
    fn only_the_newest_version_forbids_resumption() {
        for version in Version::ALL {
            assert_eq!(version.resumes_streams(), version != Version::V2026_07_28);
            assert_eq!(version.has_batches(), version == Version::V2025_03_26);
        }
    }
}
