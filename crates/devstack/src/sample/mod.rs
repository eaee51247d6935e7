//! The sample data, catalog and access rules: two sources, the same to the byte wherever they are generated.

mod calendar;
mod people;
mod random;
mod sales;
mod support;
mod table;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use thiserror::Error;

/// Raised whenever the generated rows change, so that files of an older build are replaced.
const REVISION: &str = "1";
const CATALOG: &str = include_str!("catalog.json");
const ACCESS: &str = include_str!("access.json");
const EXECUTOR: &str = include_str!("executor.json");
const MARK: &str = "version";

/// Why the sample data could not be written.
#[derive(Debug, Error)]
pub enum SampleError {
    /// A file or folder could not be read, written or renamed.
    #[error("cannot write {path}")]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A database could not be filled.
    #[error("cannot fill {path}")]
    Database {
        /// Which one.
        path: PathBuf,
        /// What the engine said.
        source: rusqlite::Error,
    },
}

/// Where the executor's configuration lies under a sample folder.
pub fn executor_config(dir: &Path) -> PathBuf {
    dir.join("executor.json")
}

/// The catalog as it is written to `catalog.json`.
pub fn catalog() -> &'static str {
    CATALOG
}

/// Makes sure that `dir` holds the sample data of this build, and tells whether anything was written.
///
/// Everything is made in a folder beside `dir` and renamed into place, the version mark last: a folder with the
/// mark of this build is whole, and is left as it is. Other files in `dir` are not touched.
///
/// # Errors
/// When a file cannot be written or a database cannot be filled; `dir` then has no version mark of this build.
pub fn write(dir: &Path) -> Result<bool, SampleError> {
    let version = version();
    if fs::read_to_string(dir.join(MARK)).is_ok_and(|found| found == version) {
        return Ok(false);
    }
    let parent = match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    make_dir(parent)?;
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let fresh = parent.join(format!(".{name}.{}.new", std::process::id()));
    let outcome = fill(&fresh, &version).and_then(|()| take_over(&fresh, dir));
    // Gone already when it was renamed as a whole; what is left of a failed run must not stay.
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(|source| at(&fresh, source))?;
    }
    outcome.map(|()| true)
}

fn at(path: &Path, source: io::Error) -> SampleError {
    SampleError::File { path: path.to_owned(), source }
}

fn make_dir(dir: &Path) -> Result<(), SampleError> {
    fs::create_dir_all(dir).map_err(|source| at(dir, source))
}

/// Files in the order in which they are put in place: the mark says that all the others are there.
const FILES: [&str; 6] = ["support.db", "sales.db", "catalog.json", "access.json", "executor.json", MARK];

fn fill(dir: &Path, version: &str) -> Result<(), SampleError> {
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(|source| at(dir, source))?;
    }
    make_dir(dir)?;
    for (name, tables) in [("support.db", support::tables()), ("sales.db", sales::tables())] {
        let path = dir.join(name);
        table::write(&path, &tables).map_err(|source| SampleError::Database { path, source })?;
    }
    for (name, text) in
        [("catalog.json", CATALOG), ("access.json", ACCESS), ("executor.json", EXECUTOR), (MARK, version)]
    {
        let path = dir.join(name);
        fs::write(&path, text).map_err(|source| at(&path, source))?;
    }
    Ok(())
}

fn take_over(fresh: &Path, dir: &Path) -> Result<(), SampleError> {
    if !dir.exists() && fs::rename(fresh, dir).is_ok() {
        return Ok(());
    }
    make_dir(dir)?;
    let mark = dir.join(MARK);
    if mark.exists() {
        fs::remove_file(&mark).map_err(|source| at(&mark, source))?;
    }
    for name in FILES {
        let target = dir.join(name);
        fs::rename(fresh.join(name), &target).map_err(|source| at(&target, source))?;
    }
    Ok(())
}

/// The revision of the rows with a digest of the files that come as text.
fn version() -> String {
    let mut digest: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in [CATALOG, ACCESS, EXECUTOR].concat().bytes() {
        digest = (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{REVISION}-{digest:016x}\n")
}

#[cfg(test)]
mod tests;
