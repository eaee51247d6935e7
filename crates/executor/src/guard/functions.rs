//! The functions that a statement may call.

use crate::refusal::Refusal;

/// The functions that a statement may call, in lower case and sorted.
pub const ALLOWED: &[&str] = &[
    "abs",
    "avg",
    "ceil",
    "ceiling",
    "char_length",
    "coalesce",
    "concat",
    "concat_ws",
    "count",
    "cume_dist",
    "current_date",
    "current_time",
    "current_timestamp",
    "date",
    "date_diff",
    "date_part",
    "date_trunc",
    "datetime",
    "day",
    "dayofweek",
    "dense_rank",
    "exp",
    "first_value",
    "floor",
    "format",
    "glob",
    "greatest",
    "group_concat",
    "hour",
    "ifnull",
    "iif",
    "instr",
    "json",
    "json_array",
    "json_array_length",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_object",
    "json_type",
    "json_valid",
    "julianday",
    "lag",
    "last_value",
    "lead",
    "least",
    "left",
    "length",
    "like",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "lpad",
    "ltrim",
    "max",
    "median",
    "min",
    "minute",
    "mod",
    "month",
    "nth_value",
    "ntile",
    "nullif",
    "percent_rank",
    "percentile_cont",
    "pow",
    "power",
    "printf",
    "quarter",
    "rank",
    "replace",
    "right",
    "round",
    "row_number",
    "rpad",
    "rtrim",
    "second",
    "sign",
    "split_part",
    "sqrt",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "strftime",
    "string_agg",
    "strpos",
    "substr",
    "substring",
    "sum",
    "time",
    "timediff",
    "total",
    "trim",
    "trunc",
    "typeof",
    "unicode",
    "unixepoch",
    "upper",
    "var_pop",
    "var_samp",
    "variance",
    "week",
    "year",
];

/// Beginnings of names that reach past the data: into files, the server, its memory or its clock.
const DANGEROUS_PREFIXES: &[&str] = &[
    "sqlite_", "pg_", "pragma_", "fts3_", "fts5", "xp_", "sp_", "dbms_", "utl_", "lo_", "read_", "write_",
    "sys_", "duckdb_", "http", "dblink", "copy_", "load_", "rtree",
];

/// Whole names of that kind.
const DANGEROUS: &[&str] = &[
    "attach",
    "benchmark",
    "changes",
    "current_setting",
    "edit",
    "eval",
    "exec",
    "exec_sql",
    "fileio_read",
    "getenv",
    "glob_files",
    "last_insert_rowid",
    "load_extension",
    "lsdir",
    "matchinfo",
    "offsets",
    "optimize",
    "parquet_scan",
    "query_to_xml",
    "randomblob",
    "readfile",
    "scan_csv",
    "set_config",
    "shell",
    "sleep",
    "snippet",
    "sniff_csv",
    "system",
    "total_changes",
    "writefile",
    "zeroblob",
];

/// Whether a statement may call this function, whatever the case of its name.
pub fn is_allowed(name: &str) -> bool {
    ALLOWED.binary_search(&name.to_ascii_lowercase().as_str()).is_ok()
}

/// Checks the name of a function that a statement calls.
///
/// # Errors
///
/// `guard` for one that reaches past the data, `invalid` for one that is not there.
pub(super) fn check(name: &str) -> Result<(), Refusal> {
    if is_allowed(name) {
        return Ok(());
    }
    let lower = name.to_ascii_lowercase();
    if DANGEROUS.contains(&lower.as_str())
        || DANGEROUS_PREFIXES.iter().any(|prefix| lower.starts_with(prefix))
    {
        return Err(Refusal::guard(format!("the function {name} is not allowed: it reaches past the data")));
    }
    Err(Refusal::invalid(format!("there is no function {name}; available are {}", ALLOWED.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::{ALLOWED, DANGEROUS, is_allowed};

    #[test]
    fn the_list_is_sorted_so_that_it_can_be_searched() {
        assert!(ALLOWED.is_sorted());
    }

    #[test]
    fn no_dangerous_function_is_allowed() {
        assert!(DANGEROUS.iter().all(|name| !is_allowed(name)));
    }
}
