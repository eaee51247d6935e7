//! The walk over queries: WITH, set operations, SELECT and their clauses.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's enums are large; every arm that is not named is turned down"
)]

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, LimitClause, NamedWindowExpr, OrderBy, OrderByExpr, OrderByKind, Query,
    Select, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier,
    Statement, TableFactor, TableWithJoins, WildcardAdditionalOptions, With,
};
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::Parser;

use super::Walk;
use super::scope::{Output, Scope};
use crate::refusal::Refusal;

impl Walk<'_> {
    /// Checks a query and all in it. Returns the columns that it offers.
    pub(super) fn query(&mut self, query: &mut Query) -> Result<Output, Refusal> {
        self.seen.queries += 1;
        if !query.locks.is_empty() {
            return Err(Refusal::guard("FOR UPDATE and FOR SHARE are not allowed: statements only read"));
        }
        if query.fetch.is_some() {
            return Err(unsupported("FETCH FIRST", "write LIMIT"));
        }
        if query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some()
            || !query.pipe_operators.is_empty()
        {
            return Err(unsupported("this clause at the end of the SELECT", "leave it out"));
        }
        let frames = self.ctes.len();
        if let Some(with) = &mut query.with {
            self.with(with)?;
        }
        let result = self.body_and_order(query);
        self.ctes.truncate(frames);
        result
    }

    fn body_and_order(&mut self, query: &mut Query) -> Result<Output, Refusal> {
        let (output, scope, aliases) = match query.body.as_mut() {
            SetExpr::Select(select) => {
                let (output, scope) = self.select(select)?;
                (output, Some(scope), aliases(select))
            }
            other => (self.set_expr(other)?, None, Vec::new()),
        };
        let scoped = scope.is_some();
        self.scopes.extend(scope);
        if let Some(order_by) = &mut query.order_by {
            self.order_by(order_by, &aliases)?;
        }
        if scoped {
            self.scopes.pop();
        }
        match &mut query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
                if !limit_by.is_empty() {
                    return Err(unsupported("LIMIT BY", "use a window function"));
                }
                self.optional(limit.as_mut())?;
                self.optional(offset.as_mut().map(|offset| &mut offset.value))?;
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                self.expression(offset)?;
                self.expression(limit)?;
            }
            None => {}
        }
        Ok(output)
    }

    /// WITH names are visible to those after them, to themselves, and to the query; the engine looks at a WITH name only
    /// where a table is written without a schema, and so does the guard.
    fn with(&mut self, with: &mut With) -> Result<(), Refusal> {
        self.ctes.push(Vec::new());
        for cte in &mut with.cte_tables {
            if cte.from.is_some() || cte.alias.at.is_some() {
                return Err(unsupported("this form of WITH", "write WITH name AS (SELECT ...)"));
            }
            let name = cte.alias.name.value.clone();
            let columns: Vec<String> =
                cte.alias.columns.iter().map(|column| column.name.value.clone()).collect();
            let own = self.ctes.last().map_or(0, Vec::len);
            self.name_cte(name, Output { shown: columns.clone(), hidden: Vec::new() });
            let output = self.subquery(&mut cte.query)?;
            if columns.is_empty()
                && let Some(named) = self.ctes.last_mut().and_then(|frame| frame.get_mut(own))
            {
                named.1 = output;
            }
        }
        Ok(())
    }

    fn name_cte(&mut self, name: String, output: Output) {
        if let Some(frame) = self.ctes.last_mut() {
            frame.push((name, output));
        }
    }

    fn set_expr(&mut self, body: &mut SetExpr) -> Result<Output, Refusal> {
        self.deeper(|walk| match body {
            SetExpr::Select(select) => walk.select(select).map(|(output, _)| output),
            SetExpr::Query(query) => {
                let output = walk.query(query)?;
                let inner = std::mem::replace(query, Box::new(wrapped()?));
                *body = in_subquery(*inner)?;
                Ok(output)
            }
            SetExpr::SetOperation { op, set_quantifier, left, right } => {
                if *op == SetOperator::Minus {
                    return Err(unsupported("MINUS", "write EXCEPT"));
                }
                let all_union = *op == SetOperator::Union && *set_quantifier == SetQuantifier::All;
                if !all_union && *set_quantifier != SetQuantifier::None {
                    return Err(unsupported("this form of set operation", "write UNION, UNION ALL, INTERSECT or EXCEPT"));
                }
                let mut output = walk.set_expr(left)?;
                let right = walk.set_expr(right)?;
                output.extend(&right);
                Ok(output)
            }
            SetExpr::Values(values) => {
                for row in &mut values.rows {
                    for value in &mut row.content {
                        walk.expression(value)?;
                    }
                }
                Ok(Output::default())
            }
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => Err(Refusal::guard(
                "a statement that changes data is not allowed, also not inside WITH: statements only read",
            )),
            SetExpr::Table(_) => Err(unsupported("TABLE name", "write SELECT * FROM schema.table")),
        })
    }

    fn select(&mut self, select: &mut Select) -> Result<(Output, Scope), Refusal> {
        if select.into.is_some() {
            return Err(Refusal::guard("SELECT INTO is not allowed: statements only read"));
        }
        plain(select)?;
        let scope = self.from(&mut select.from)?;
        self.scopes.push(scope);
        let output = self.clauses(select);
        let scope = self.scopes.pop().unwrap_or_default();
        Ok((output?, scope))
    }

    fn clauses(&mut self, select: &mut Select) -> Result<Output, Refusal> {
        self.join_conditions(&mut select.from)?;
        let mut output = Output::default();
        for item in &mut select.projection {
            self.projected(item, &mut output)?;
        }
        self.optional(select.selection.as_mut())?;
        match &mut select.group_by {
            GroupByExpr::Expressions(terms, modifiers) if modifiers.is_empty() => {
                for term in terms {
                    self.expression(term)?;
                }
            }
            GroupByExpr::Expressions(..) | GroupByExpr::All(_) => {
                return Err(unsupported("this form of GROUP BY", "list the columns to group by"));
            }
        }
        self.optional(select.having.as_mut())?;
        for window in &mut select.named_window {
            match &mut window.1 {
                NamedWindowExpr::WindowSpec(spec) => self.window(spec)?,
                NamedWindowExpr::NamedWindow(_) => {
                    return Err(unsupported("a window named after another", "write it out in parentheses"));
                }
            }
        }
        Ok(output)
    }

    fn projected(&mut self, item: &mut SelectItem, output: &mut Output) -> Result<(), Refusal> {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                self.expression(expr)?;
                output.shown.extend(column_name(expr));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                self.expression(expr)?;
                output.shown.push(alias.value.clone());
            }
            SelectItem::Wildcard(options) => {
                plain_wildcard(options)?;
                output.extend(&self.scopes.last().map(Scope::all).unwrap_or_default());
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                plain_wildcard(options)?;
                let qualifier = self.wildcard_qualifier(name)?;
                output.extend(&self.scopes.last().map(|scope| scope.of(&qualifier)).unwrap_or_default());
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(_), _)
            | SelectItem::ExprWithAliases { .. } => {
                return Err(unsupported("this form of a selected column", "write expression AS name"));
            }
        }
        Ok(())
    }

    fn order_by(&mut self, order_by: &mut OrderBy, aliases: &[String]) -> Result<(), Refusal> {
        let OrderByKind::Expressions(terms) = &mut order_by.kind else {
            return Err(unsupported("ORDER BY ALL", "list the columns to order by"));
        };
        if order_by.interpolate.is_some() {
            return Err(unsupported("INTERPOLATE", "leave it out"));
        }
        for term in terms {
            // A name that the select list has made comes before any column of that name.
            if let Expr::Identifier(ident) = &term.expr
                && term.with_fill.is_none()
                && aliases.iter().any(|alias| alias.eq_ignore_ascii_case(&ident.value))
            {
                self.seen.expressions += 1;
                continue;
            }
            self.order_term(term)?;
        }
        Ok(())
    }

    /// Checks one term of an ORDER BY.
    pub(super) fn order_term(&mut self, term: &mut OrderByExpr) -> Result<(), Refusal> {
        if term.with_fill.is_some() {
            return Err(unsupported("WITH FILL", "leave it out"));
        }
        self.expression(&mut term.expr)
    }

    pub(super) fn optional(&mut self, expr: Option<&mut Expr>) -> Result<(), Refusal> {
        expr.map_or(Ok(()), |expr| self.expression(expr))
    }
}

/// The refusal for a form that the engine does not know, with what to write instead.
pub(super) fn unsupported(what: &str, instead: &str) -> Refusal {
    Refusal::invalid(format!("{what} is not supported here; {instead}"))
}

/// Turns down the clauses of a SELECT that only other engines know.
fn plain(select: &Select) -> Result<(), Refusal> {
    let odd = [
        ("TOP", "write LIMIT", select.top.is_some()),
        ("DISTINCT ON", "use a window function", matches!(select.distinct, Some(Distinct::On(_)))),
        ("QUALIFY", "filter in a subquery", select.qualify.is_some()),
        ("PREWHERE", "write WHERE", select.prewhere.is_some()),
        ("LATERAL VIEW", "use a subquery", !select.lateral_views.is_empty()),
        ("CONNECT BY", "use WITH RECURSIVE", !select.connect_by.is_empty()),
        ("CLUSTER BY", "write ORDER BY", !select.cluster_by.is_empty()),
        ("DISTRIBUTE BY", "leave it out", !select.distribute_by.is_empty()),
        ("SORT BY", "write ORDER BY", !select.sort_by.is_empty()),
        ("EXCLUDE", "name the columns", select.exclude.is_some()),
        ("SELECT AS", "name the columns", select.value_table_mode.is_some()),
        ("a SELECT without the word SELECT", "write SELECT first", select.flavor != SelectFlavor::Standard),
        ("an optimizer hint", "leave it out", !select.optimizer_hints.is_empty()),
        ("a modifier after SELECT", "leave it out", select.select_modifiers.is_some()),
        ("a SELECT without columns", "name at least one", select.projection.is_empty()),
    ];
    match odd.iter().find(|(_, _, there)| *there) {
        Some((what, instead, _)) => Err(unsupported(what, instead)),
        None => Ok(()),
    }
}

fn plain_wildcard(options: &WildcardAdditionalOptions) -> Result<(), Refusal> {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike: None,
        opt_exclude: None,
        opt_except: None,
        opt_replace: None,
        opt_rename: None,
        opt_alias: None,
    } = options
    else {
        return Err(unsupported("an addition to *", "name the columns"));
    };
    Ok(())
}

/// The names that a select list gives by AS.
fn aliases(select: &Select) -> Vec<String> {
    select
        .projection
        .iter()
        .filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
            _ => None,
        })
        .collect()
}

fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(ident.value.clone()),
        Expr::CompoundIdentifier(parts) => parts.last().map(|ident| ident.value.clone()),
        Expr::Nested(inner) => column_name(inner),
        _ => None,
    }
}

/// A SELECT around a subquery, since the engine knows no parentheses around a member of a set operation.
fn in_subquery(inner: Query) -> Result<SetExpr, Refusal> {
    let mut outer = wrapped()?;
    if let SetExpr::Select(select) = outer.body.as_mut()
        && let [TableWithJoins { relation: TableFactor::Derived { subquery, .. }, .. }] =
            select.from.as_mut_slice()
    {
        **subquery = inner;
    }
    Ok(*outer.body)
}

fn wrapped() -> Result<Query, Refusal> {
    match Parser::parse_sql(&SQLiteDialect {}, "SELECT * FROM (SELECT 1)")
        .map(|mut statements| statements.pop())
    {
        Ok(Some(Statement::Query(query))) => Ok(*query),
        _ => Err(unsupported("parentheses around a SELECT", "leave them out")),
    }
}
