//! Which statements may run, by their words alone.

use super::MiniExecutor;
use super::desk::Refusal;
use super::words::{Word, split};

/// Words that begin what nobody may do.
const VERBS: [&str; 28] = [
    "DELETE",
    "UPDATE",
    "INSERT",
    "REPLACE",
    "MERGE",
    "TRUNCATE",
    "DROP",
    "CREATE",
    "ALTER",
    "GRANT",
    "PRAGMA",
    "ATTACH",
    "DETACH",
    "VACUUM",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "COMMIT",
    "SAVEPOINT",
    "EXPLAIN",
    "COPY",
    "SET",
    "SHOW",
    "CALL",
    "LOAD",
    "INSTALL",
    "USE",
    "ROLLBACK",
];
/// Words that are as bad further on.
const INNER: [&str; 4] = ["DELETE", "UPDATE", "INSERT", "INTO"];
/// Functions that reach past the data.
const FUNCTIONS: [&str; 10] = [
    "load_extension",
    "readfile",
    "writefile",
    "pg_sleep",
    "sleep",
    "getenv",
    "sqlite_version",
    "randomblob",
    "zeroblob",
    "last_insert_rowid",
];
/// Functions that stand where tables do.
const TABLE_FUNCTIONS: [&str; 5] =
    ["pragma_table_info", "json_each", "generate_series", "read_csv", "read_parquet"];
/// The tables there are.
pub(super) const TABLES: [(&str, &str); 3] =
    [("support", "tickets"), ("support", "agents"), ("sales", "dim_product")];

/// What a statement that may run reads.
pub(super) struct Checked {
    pub(super) sql: String,
    pub(super) source: String,
    pub(super) tables: Vec<String>,
    /// Whether it runs on the data as those see it who may see everything.
    pub(super) whole: bool,
}

/// Checks a statement for somebody who may see everything, or not the withheld column.
pub(super) fn check(
    mini: &MiniExecutor,
    sql: &str,
    source: Option<&str>,
    whole: bool,
) -> Result<Checked, Refusal> {
    let Some(mut words) = split(sql) else {
        return Err(Refusal::invalid("the statement does not parse: it has no end"));
    };
    if mini.is("comments-not-seen") && sql.trim_start().starts_with("/*") {
        words.insert(0, Word::Sign('/'));
    }
    while words.last() == Some(&Word::Sign(';')) {
        words.pop();
    }
    if words.is_empty() {
        return Err(Refusal::invalid("there is no statement"));
    }
    let mut sql = sql.trim().trim_end_matches(';').trim().to_owned();
    if words.contains(&Word::Sign(';')) {
        if !mini.is("second-statement-ignored") {
            return Err(Refusal::guard("only one statement at a time may run"));
        }
        "SELECT 1".clone_into(&mut sql);
        words = split(&sql).unwrap();
    }
    forbidden(mini, &words)?;
    if words.iter().any(|word| matches!(word, Word::Sign('?' | ':'))) {
        return Err(Refusal::invalid("parameters such as ? or :value cannot be used"));
    }
    let tables = tables(&words)?;
    let mut of: Vec<&str> = tables.iter().filter_map(|table| table.split('.').next()).collect();
    of.dedup();
    if of.len() > 1 && !mini.is("joins-across-sources") {
        return Err(Refusal::invalid("a statement reads one source, not two"));
    }
    let own = of.first().copied().unwrap_or(source.unwrap_or("support")).to_owned();
    if let Some(named) = source.filter(|named| *named != own || !["support", "sales"].contains(named)) {
        return Err(Refusal::invalid(format!("the statement does not read the source {named}")));
    }
    let whole = withheld(mini, &words, &tables, whole)?;
    while sql.starts_with('(') && sql.ends_with(')') {
        sql.pop();
        sql.remove(0);
    }
    // SQLite does not read a schema before a star.
    let sql = TABLES
        .iter()
        .fold(sql, |sql, (schema, table)| sql.replace(&format!("{schema}.{table}.*"), &format!("{table}.*")));
    Ok(Checked { sql, source: own, tables, whole })
}

fn forbidden(mini: &MiniExecutor, words: &[Word]) -> Result<(), Refusal> {
    let verb = |word: &Word, verbs: &[&str]| {
        let found = verbs.iter().find(|verb| word.is(verb)).map(|verb| (*verb).to_owned());
        found.filter(|verb| {
            !mini.is("lower-case-verbs-pass") || matches!(word, Word::Plain(text) if text == verb)
        })
    };
    let quoted = |word: &Word| {
        mini.is("quoted-words-refused") && matches!(word, Word::Quoted(text) if text == "update")
    };
    let first = words.first().and_then(|word| verb(word, &VERBS));
    let inner =
        || words.iter().find_map(|word| verb(word, &INNER).or(quoted(word).then(|| "UPDATE".to_owned())));
    if let Some(verb) = first.or_else(inner) {
        if mini.is("merge-is-a-mistake") && verb == "MERGE" {
            return Err(Refusal::invalid("MERGE is not understood"));
        }
        if mini.is("deletes-quietly") && verb == "DELETE" {
            mini.engine.lose_a_row();
        }
        let said = if mini.is("refusals-say-nothing") {
            "not allowed".to_owned()
        } else {
            format!("{verb} is not allowed")
        };
        return Err(Refusal::guard(said));
    }
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        let from = before.is_some_and(|word| word.is("FROM") || word.is("JOIN"));
        let of_table = from || before == Some(&Word::Sign('.'));
        let call = words.get(at + 1) == Some(&Word::Sign('('));
        if from && *word == Word::Literal && !mini.is("files-are-tables") {
            return Err(Refusal::guard("a file is no table"));
        }
        let Some(name) = word.name() else { continue };
        let own = name.starts_with("sqlite_") || name.starts_with("pragma_") || name == "dbstat";
        let foreign = ["information_schema", "pg_catalog"].contains(&name.as_str());
        if of_table && !call && (own || foreign) && !mini.is("engine-tables-open") {
            return Err(Refusal::guard(format!("{name} is the engine's own")));
        }
        if call && TABLE_FUNCTIONS.contains(&name.as_str()) && !mini.is("table-functions-open") {
            return Err(Refusal::guard(format!("the function {name} is no table")));
        }
        // The others would really take what they are given: gigabytes, and seconds.
        let unchecked = mini.is("sqlite-version-told") && name == "sqlite_version";
        if call && FUNCTIONS.contains(&name.as_str()) && !unchecked {
            return Err(Refusal::guard(format!("the function {name} may not be used")));
        }
        if from && name.contains('/') {
            return Err(Refusal::guard(format!("the file {name} is no table")));
        }
    }
    Ok(())
}

/// The tables that are read, fully qualified, in the order of their mention.
fn tables(words: &[Word]) -> Result<Vec<String>, Refusal> {
    let mut found: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(name) = word.name() else { continue };
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        let dot = |word: Option<&Word>| word == Some(&Word::Sign('.'));
        if dot(words.get(at + 1)) && !dot(before) {
            let table = words.get(at + 2).and_then(Word::name).unwrap_or_default();
            let full = format!("{name}.{table}");
            if TABLES.contains(&(name.as_str(), table.as_str())) && !found.contains(&full) {
                found.push(full);
            }
        }
        let from = before.is_some_and(|word| word.is("FROM") || word.is("JOIN"));
        let made = words.windows(3).any(|of| {
            let begins = of[0].is("WITH") || of[0].is("RECURSIVE") || of[0] == Word::Sign(',');
            begins && of[1].name().as_ref() == Some(&name) && of[2].is("AS")
        });
        let bare = from && !dot(words.get(at + 1)) && !made;
        if let Some((schema, table)) = TABLES.iter().find(|(_, table)| bare && *table == name) {
            return Err(Refusal::invalid(format!("write {schema}.{table}, not {name}")));
        }
    }
    Ok(found)
}

/// Refuses the withheld column; gives whether the statement runs on the whole data.
fn withheld(mini: &MiniExecutor, words: &[Word], tables: &[String], whole: bool) -> Result<bool, Refusal> {
    let agents = tables.iter().any(|table| table == "support.agents");
    let nested = words.windows(2).any(|pair| pair[0] == Word::Sign('(') && pair[1].is("SELECT"));
    if mini.is("subqueries-closed-to-all") && agents && nested {
        return Err(Refusal::access("support.agents.email is kept from you"));
    }
    if whole {
        return Ok(!(mini.is("withheld-from-all") && agents && words.iter().any(|word| word.is("LIMIT"))));
    }
    if mini.is("whole-table-closed") && agents && words.iter().any(|word| word.is("JOIN")) {
        return Err(Refusal::access("support.agents is kept from you"));
    }
    if mini.is("star-shows-withheld") && words.contains(&Word::Sign('*')) {
        return Ok(true);
    }
    let first = words.iter().position(|word| word.name().as_deref() == Some("email"));
    let Some(first) = first.filter(|_| agents) else { return Ok(false) };
    let behind =
        words[..first].iter().any(|word| ["WHERE", "ORDER", "GROUP"].iter().any(|verb| word.is(verb)));
    let open = mini.is("withheld-open")
        || (mini.is("filters-by-withheld-run") && behind)
        || (mini.is("subqueries-reach-withheld") && nested);
    if open {
        return Ok(true);
    }
    if mini.is("withheld-is-a-mistake") {
        return Err(Refusal::invalid("there is no column email"));
    }
    let value = if mini.is("refusals-quote-values") { ", for example ann.abara@desk.example" } else { "" };
    Err(Refusal::access(format!("support.agents.email is kept from you{value}")))
}
