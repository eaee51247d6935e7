//! Reads one setting at a time, so that what is wrong is said of the setting that it is wrong with.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use super::table::default_of;

/// A setting that stops the start.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// It is needed and not there.
    #[error("{name} is not set: {need}")]
    Missing {
        /// The setting.
        name: &'static str,
        /// What it is needed for.
        need: &'static str,
    },
    /// It is there and can't be used.
    #[error("{name} is not valid: {reason}")]
    Invalid {
        /// The setting.
        name: String,
        /// What is wrong; shows no secret.
        reason: String,
    },
    /// The file that it names can't be read.
    #[error("{name} names a file that can't be read")]
    File {
        /// The setting.
        name: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Settings by name, as the environment and an env file give them.
#[derive(Clone, Default)]
pub struct Source(BTreeMap<String, String>);

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Source {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl Source {
    /// The value of a setting; one that is blank counts as not set.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// The value of a setting, else its default in the table.
    pub(super) fn text(&self, name: &'static str) -> String {
        self.text_or(name, default_of(name))
    }

    /// The value of a setting whose default follows from something else.
    pub(super) fn text_or(&self, name: &'static str, default: &str) -> String {
        self.get(name).unwrap_or(default).to_owned()
    }

    pub(super) fn needed(&self, name: &'static str, need: &'static str) -> Result<String, SettingError> {
        self.get(name).map(str::to_owned).ok_or(SettingError::Missing { name, need })
    }

    pub(super) fn parsed<T: FromStr<Err: Display>>(&self, name: &'static str) -> Result<T, SettingError> {
        let text = self.text(name);
        text.parse().map_err(|err: T::Err| invalid(name, format!("{text:?}: {err}")))
    }

    pub(super) fn number(&self, name: &'static str, range: RangeInclusive<u64>) -> Result<u64, SettingError> {
        within(name, self.parsed(name)?, &range)
    }

    /// A number whose default follows from something else.
    pub(super) fn size_or(
        &self,
        name: &'static str,
        default: usize,
        range: RangeInclusive<u64>,
    ) -> Result<usize, SettingError> {
        if self.get(name).is_some() { self.size(name, range) } else { Ok(default) }
    }

    pub(super) fn size(&self, name: &'static str, range: RangeInclusive<u64>) -> Result<usize, SettingError> {
        usize::try_from(self.number(name, range)?).map_err(|err| invalid(name, err))
    }

    pub(super) fn seconds(
        &self,
        name: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Duration, SettingError> {
        self.number(name, range).map(Duration::from_secs)
    }

    pub(super) fn switch(&self, name: &'static str) -> Result<bool, SettingError> {
        match self.text(name).to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            _ => Err(invalid(name, "must be true or false")),
        }
    }

    /// A secret, from the setting itself or from the file that `<name>_FILE` names.
    pub(super) fn secret(&self, name: &str) -> Result<Option<String>, SettingError> {
        if let Some(value) = self.get(name) {
            return Ok(Some(value.to_owned()));
        }
        let name = format!("{name}_FILE");
        let Some(path) = self.get(&name) else { return Ok(None) };
        match std::fs::read_to_string(path) {
            Ok(text) if text.trim().is_empty() => Err(invalid(name, "the file is empty")),
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(source) => Err(SettingError::File { name, source }),
        }
    }
}

fn within(name: &'static str, number: u64, range: &RangeInclusive<u64>) -> Result<u64, SettingError> {
    if range.contains(&number) {
        Ok(number)
    } else {
        Err(invalid(name, format!("{number} is not within {} to {}", range.start(), range.end())))
    }
}

pub(super) fn invalid(name: impl Into<String>, reason: impl Display) -> SettingError {
    SettingError::Invalid { name: name.into(), reason: reason.to_string() }
}
