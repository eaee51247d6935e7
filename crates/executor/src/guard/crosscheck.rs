//! An independent count of a statement's parts, so that nothing in it can go unseen.
//!
//! The parser's tree has many rare places where an expression or a table can hide, and gets new ones with each version. The
//! parser's own visitor knows all of them; the walk of the guard knows those that it has rules for. When the two counts
//! differ, the statement holds something that no rule has looked at.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, ObjectName, Query, Statement, TableFactor, Visit, Visitor};

use crate::refusal::Refusal;

/// How many parts of each kind were seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) queries: usize,
    pub(super) relations: usize,
    pub(super) factors: usize,
    pub(super) expressions: usize,
    pub(super) statements: usize,
}

/// Counts, and keeps an eye on how deep the expressions are nested.
#[derive(Debug, Default)]
struct Counter {
    seen: Seen,
    depth: usize,
    limit: usize,
}

impl Visitor for Counter {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<Self::Break> {
        self.seen.queries += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, _relation: &ObjectName) -> ControlFlow<Self::Break> {
        self.seen.relations += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, _factor: &TableFactor) -> ControlFlow<Self::Break> {
        self.seen.factors += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, _expr: &Expr) -> ControlFlow<Self::Break> {
        self.seen.expressions += 1;
        self.depth += 1;
        if self.depth > self.limit {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _expr: &Expr) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, _statement: &Statement) -> ControlFlow<Self::Break> {
        self.seen.statements += 1;
        ControlFlow::Continue(())
    }
}

/// Counts the parts of a query whose expressions are nested at most `limit` levels deep.
///
/// # Errors
///
/// `invalid` when they are nested deeper.
pub(super) fn count(query: &Query, limit: usize) -> Result<Seen, Refusal> {
    let mut counter = Counter { limit, ..Counter::default() };
    match query.visit(&mut counter) {
        ControlFlow::Continue(()) => Ok(counter.seen),
        ControlFlow::Break(()) => Err(too_deep(limit)),
    }
}

/// The refusal of a statement that is nested more than `limit` levels deep.
pub(super) fn too_deep(limit: usize) -> Refusal {
    Refusal::invalid(format!(
        "the statement is nested more than {limit} levels deep; simplify it, for instance with IN (...)"
    ))
}

/// Checks that the walk has seen every part that was counted.
///
/// # Errors
///
/// `invalid` when it has not.
pub(super) fn equal(counted: Seen, walked: Seen) -> Result<(), Refusal> {
    if counted == walked {
        return Ok(());
    }
    Err(Refusal::invalid("the statement uses a form that cannot be checked; write it in plainer SQL"))
}
