//! From the caller's text to one parsed statement.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's enums are large; every arm that is not named is turned down"
)]

use sqlparser::ast::Statement;
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::refusal::Refusal;

/// The longest statement that is read, in bytes.
const MAX_BYTES: usize = 20_000;
/// The most tokens that a statement may have, white space and comments not counted.
const MAX_TOKENS: usize = 5_000;

/// Words that open a statement which never runs here.
const FORBIDDEN_OPENINGS: &[&str] = &[
    "ALTER",
    "ANALYZE",
    "ATTACH",
    "BEGIN",
    "CALL",
    "CHECKPOINT",
    "COMMENT",
    "COMMIT",
    "COPY",
    "CREATE",
    "DECLARE",
    "DELETE",
    "DENY",
    "DESCRIBE",
    "DETACH",
    "DO",
    "DROP",
    "END",
    "EXEC",
    "EXECUTE",
    "EXPLAIN",
    "EXPORT",
    "GRANT",
    "IMPORT",
    "INSERT",
    "INSTALL",
    "KILL",
    "LISTEN",
    "LOAD",
    "LOCK",
    "MERGE",
    "NOTIFY",
    "OPTIMIZE",
    "PRAGMA",
    "PREPARE",
    "PUT",
    "REFRESH",
    "REINDEX",
    "RELEASE",
    "RENAME",
    "REPLACE",
    "RESET",
    "REVOKE",
    "ROLLBACK",
    "SAVEPOINT",
    "SET",
    "SHOW",
    "START",
    "TRUNCATE",
    "UNLOAD",
    "UPDATE",
    "UPSERT",
    "USE",
    "VACUUM",
];

/// Pairs of words that only a changing statement has, for texts that do not parse.
const FORBIDDEN_PAIRS: &[(&str, &str)] = &[
    ("DELETE", "FROM"),
    ("INSERT", "INTO"),
    ("REPLACE", "INTO"),
    ("MERGE", "INTO"),
    ("DROP", "TABLE"),
    ("CREATE", "TABLE"),
    ("ALTER", "TABLE"),
    ("TRUNCATE", "TABLE"),
    ("INTO", "OUTFILE"),
    ("INTO", "DUMPFILE"),
];

/// Reads one statement.
///
/// # Errors
///
/// `guard` for more than one statement or one that never runs here, `invalid` for what does not parse.
pub(super) fn parse(sql: &str) -> Result<Statement, Refusal> {
    screen(sql)?;
    let dialect = SQLiteDialect {};
    let tokens: Vec<Token> = Tokenizer::new(&dialect, sql)
        .tokenize()
        .map_err(|err| Refusal::invalid(format!("the statement does not parse: {err}")))?
        .into_iter()
        .filter(|token| !matches!(token, Token::Whitespace(_) | Token::EOF))
        .collect();
    if tokens.len() > MAX_TOKENS {
        return Err(Refusal::invalid(format!(
            "the statement is too long: it has more than {MAX_TOKENS} words and signs"
        )));
    }
    single(&tokens)?;
    opening(&tokens)?;
    let mut statements = Parser::parse_sql(&dialect, sql).map_err(|err| unparsable(&tokens, &err))?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        (None, _) => Err(Refusal::invalid("there is no statement")),
        (Some(_), false) => Err(several()),
    }
}

fn screen(sql: &str) -> Result<(), Refusal> {
    if sql.len() > MAX_BYTES {
        return Err(Refusal::invalid(format!(
            "the statement is too long: {} bytes, at most {MAX_BYTES} are read",
            sql.len()
        )));
    }
    if sql.chars().any(|sign| sign.is_control() && !matches!(sign, '\n' | '\r' | '\t')) {
        return Err(Refusal::invalid(
            "the statement holds a control character other than a tab or a line end",
        ));
    }
    Ok(())
}

/// Nothing but more semicolons may follow the first one, also when what follows would not parse.
fn single(tokens: &[Token]) -> Result<(), Refusal> {
    let mut after = tokens
        .iter()
        .skip_while(|token| !matches!(token, Token::SemiColon))
        .filter(|token| !matches!(token, Token::SemiColon));
    match (tokens.first(), after.next()) {
        (None | Some(Token::SemiColon), None) => Err(Refusal::invalid("there is no statement")),
        (_, Some(_)) => Err(several()),
        (Some(_), None) => Ok(()),
    }
}

fn several() -> Refusal {
    Refusal::guard("exactly one statement is allowed in a call, and there are several")
}

fn opening(tokens: &[Token]) -> Result<(), Refusal> {
    let Some(word) = tokens.first().and_then(word) else {
        return Ok(());
    };
    if FORBIDDEN_OPENINGS.contains(&word.as_str()) {
        return Err(Refusal::guard(format!("{word} is not allowed: only SELECT statements run here")));
    }
    Ok(())
}

/// A text that does not parse is the caller's mistake, unless it plainly is an attempt to change something.
fn unparsable(tokens: &[Token], err: &sqlparser::parser::ParserError) -> Refusal {
    let words: Vec<Option<String>> = tokens.iter().map(word).collect();
    let changes = words.windows(2).find_map(|pair| match pair {
        [Some(first), Some(second)] if FORBIDDEN_PAIRS.contains(&(first.as_str(), second.as_str())) => {
            Some(format!("{first} {second}"))
        }
        _ => None,
    });
    match changes {
        Some(what) => Refusal::guard(format!("{what} is not allowed: only SELECT statements run here")),
        None => Refusal::invalid(format!("the statement does not parse: {err}")),
    }
}

/// The token as an upper-case word, if it is an unquoted word.
fn word(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_uppercase()),
        _ => None,
    }
}

/// What kind of statement it is, in the words that open it.
pub(super) fn kind(statement: &Statement) -> String {
    let text = statement.to_string();
    let word: String = text.chars().take_while(char::is_ascii_alphabetic).take(20).collect();
    if word.is_empty() { "this kind of statement".to_owned() } else { word.to_ascii_uppercase() }
}
