//! Decides whether a statement may run, and makes the form of it that runs.
//!
//! What passes is exactly one SELECT over tables that the caller may use. The guard works from an allow-list: every part of
//! the statement is visited and anything that is not known to be harmless is turned down. Three things keep the parser of
//! the guard and the parser of the engine from disagreeing about what a statement says:
//!
//! * what runs is never the caller's text but the checked tree, written out anew (`render`);
//! * the text that was written out is read again and must give the same tree;
//! * an independent count of the tree's parts must equal what the walk has seen (`crosscheck`).
//!
//! Columns that are kept from the caller do not exist for the statement: each table that has some is replaced by a
//! projection on the rest, so that `*`, `USING`, `NATURAL` and every other road to them sees only what is left. A statement
//! that names such a column is refused with `access`. The engine's own authorizer is the second lock.

mod crosscheck;
mod expression;
mod functions;
mod relation;
mod render;
mod scope;
mod select;
mod text;

pub use functions::{ALLOWED as ALLOWED_FUNCTIONS, is_allowed as is_allowed_function};

use sqlparser::ast::{Query, Statement};

use crate::access::View;
use crate::refusal::Refusal;
use crate::warehouse::TableId;

/// A statement that may run for the caller it was checked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The statement in the form that runs.
    pub sql: String,
    /// The tables it reads, in the order of their first mention.
    pub tables: Vec<TableId>,
}

/// Checks a statement for one caller.
///
/// # Errors
///
/// * `guard`: it is no single read-only SELECT, or uses what nobody may use; the message says which.
/// * `access`: it uses a source that the caller has no role on, or a column that is kept from the caller.
/// * `invalid`: it does not parse, or names a table that does not exist, or leaves out the schema of one.
pub fn check(sql: &str, view: View<'_>) -> Result<Checked, Refusal> {
    let statement = text::parse(sql)?;
    let Statement::Query(mut query) = statement else {
        return Err(Refusal::guard(format!(
            "{} is not allowed: only SELECT statements run here",
            text::kind(&statement)
        )));
    };
    let counted = crosscheck::count(&query, MAX_DEPTH)?;
    let mut walk = Walk::new(view);
    walk.query(&mut query)?;
    crosscheck::equal(counted, walk.seen)?;
    let sql = render::render(&query)?;
    Ok(Checked { sql, tables: walk.tables })
}

/// The walk over one statement: what it has seen, and which names mean what at this point.
#[derive(Debug)]
struct Walk<'a> {
    view: View<'a>,
    /// The FROM clauses around the current point, the innermost last.
    scopes: Vec<scope::Scope>,
    /// The names that WITH clauses around the current point have made, the innermost last.
    ctes: Vec<Vec<(String, scope::Output)>>,
    tables: Vec<TableId>,
    seen: crosscheck::Seen,
    depth: usize,
}

/// How deep expressions and queries may be nested; the engine's own limit is 1,000.
const MAX_DEPTH: usize = 250;

impl<'a> Walk<'a> {
    fn new(view: View<'a>) -> Self {
        Self {
            view,
            scopes: Vec::new(),
            ctes: Vec::new(),
            tables: Vec::new(),
            seen: crosscheck::Seen::default(),
            depth: 0,
        }
    }

    /// Runs `inner` one level deeper.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Refusal>) -> Result<T, Refusal> {
        if self.depth >= MAX_DEPTH {
            return Err(crosscheck::too_deep(MAX_DEPTH));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Runs a query nested in an expression.
    fn subquery(&mut self, query: &mut Query) -> Result<scope::Output, Refusal> {
        self.deeper(|walk| walk.query(query))
    }
}
