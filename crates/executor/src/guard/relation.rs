//! The walk over FROM clauses: which tables are read, and the projections that stand in for those with withheld columns.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's enums are large; every arm that is not named is turned down"
)]

use sqlparser::ast::{
    Ident, Join, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Statement, TableAlias,
    TableFactor, TableWithJoins,
};
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::Parser;

use super::Walk;
use super::scope::{self, Item, Output, Scope};
use super::select::unsupported;
use crate::refusal::Refusal;
use crate::warehouse::TableId;

/// Names of the engine's own tables, which tell what a schema holds.
const ENGINE_TABLES: &[&str] =
    &["sqlite_", "pragma_", "dbstat", "information_schema", "pg_", "fts3_", "fts5"];

impl Walk<'_> {
    /// Checks all members of a FROM clause. Conditions wait until every member is known.
    pub(super) fn from(&mut self, from: &mut [TableWithJoins]) -> Result<Scope, Refusal> {
        let mut scope = Scope::default();
        for member in from {
            self.joined(member, &mut scope)?;
        }
        distinct_names(&scope)?;
        Ok(scope)
    }

    fn joined(&mut self, member: &mut TableWithJoins, scope: &mut Scope) -> Result<(), Refusal> {
        self.deeper(|walk| {
            walk.factor(&mut member.relation, scope)?;
            for join in &mut member.joins {
                if join.global {
                    return Err(unsupported("GLOBAL JOIN", "leave GLOBAL out"));
                }
                walk.factor(&mut join.relation, scope)?;
            }
            Ok(())
        })
    }

    fn factor(&mut self, factor: &mut TableFactor, scope: &mut Scope) -> Result<(), Refusal> {
        self.seen.factors += 1;
        match factor {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample: None,
                index_directives,
                inheritance: None,
            } => {
                self.seen.relations += 1;
                if args.is_some() {
                    return Err(table_function(&name.to_string()));
                }
                if !with_hints.is_empty() || !partitions.is_empty() || !index_directives.is_empty() {
                    return Err(unsupported("a hint after a table", "leave it out"));
                }
                plain_alias(alias.as_ref())?;
                let (item, replacement) = self.table(name, alias.as_ref())?;
                if let Some(replacement) = replacement {
                    *factor = replacement;
                }
                scope.items.push(item);
                Ok(())
            }
            TableFactor::Derived { lateral: false, subquery, alias, sample: None } => {
                plain_alias(alias.as_ref())?;
                let output = self.subquery(subquery)?;
                scope.items.push(Item {
                    binding: alias.as_ref().map(|alias| alias.name.value.clone()),
                    unaliased: None,
                    output,
                });
                Ok(())
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => self.joined(table_with_joins, scope),
            TableFactor::Function { name, .. } => Err(table_function(&name.to_string())),
            TableFactor::TableFunction { .. }
            | TableFactor::UNNEST { .. }
            | TableFactor::JsonTable { .. }
            | TableFactor::OpenJsonTable { .. }
            | TableFactor::XmlTable { .. } => Err(table_function("this")),
            _ => Err(unsupported("this form of FROM", "use plain tables, subqueries and joins")),
        }
    }

    /// Finds out what a name in FROM means, and what stands in for it when some of its columns are withheld.
    fn table(
        &mut self,
        name: &ObjectName,
        alias: Option<&TableAlias>,
    ) -> Result<(Item, Option<TableFactor>), Refusal> {
        let parts = idents(name)?;
        for part in &parts {
            no_file(part)?;
        }
        match parts.as_slice() {
            [only] => self.unqualified(only, alias).map(|item| (item, None)),
            [schema, table] => {
                let id = self.qualified(&schema.value, &table.value)?;
                if !self.tables.contains(&id) {
                    self.tables.push(id);
                }
                let output = Output::of_table(self.view, id);
                let replacement = if output.hidden.is_empty() {
                    None
                } else {
                    Some(self.projection(id, table, alias, &output)?)
                };
                let item = Item {
                    binding: Some(
                        alias.map_or_else(|| table.value.clone(), |alias| alias.name.value.clone()),
                    ),
                    unaliased: alias.is_none().then_some(id),
                    output,
                };
                Ok((item, replacement))
            }
            _ => Err(Refusal::invalid(format!("{name} has too many parts; tables are written schema.table"))),
        }
    }

    /// A name without a schema is a WITH name, or it is nothing.
    fn unqualified(&self, name: &Ident, alias: Option<&TableAlias>) -> Result<Item, Refusal> {
        let named = self
            .ctes
            .iter()
            .rev()
            .flat_map(|frame| frame.iter().rev())
            .find(|(cte, _)| cte.eq_ignore_ascii_case(&name.value));
        if let Some((cte, output)) = named {
            return Ok(Item {
                binding: Some(alias.map_or_else(|| cte.clone(), |alias| alias.name.value.clone())),
                unaliased: None,
                output: output.clone(),
            });
        }
        engine_table(&name.value)?;
        let candidates: Vec<String> = self
            .view
            .warehouse
            .find_unqualified(&name.value)
            .into_iter()
            .filter(|id| {
                self.view.warehouse.source_of(*id).is_some_and(|source| self.view.rights.allows(source))
            })
            .map(|id| self.view.warehouse.qualified(id))
            .collect();
        if candidates.is_empty() {
            return Err(Refusal::invalid(format!(
                "there is no table {}; tables are written schema.table, and list_tables lists them",
                name.value
            )));
        }
        Err(Refusal::invalid(format!(
            "the table {} is written without its schema; write {}",
            name.value,
            candidates.join(" or ")
        )))
    }

    fn qualified(&self, schema: &str, table: &str) -> Result<TableId, Refusal> {
        engine_table(schema)?;
        engine_table(table)?;
        let source = self.view.warehouse.source_of_schema(schema).ok_or_else(|| {
            let known: Vec<&str> = self.view.sources().map(|source| source.schema.as_str()).collect();
            Refusal::invalid(format!("there is no schema {schema}; there are {}", known.join(", ")))
        })?;
        self.view.rights.require(source)?;
        self.view.warehouse.find(schema, table).ok_or_else(|| {
            let known: Vec<String> =
                source.tables.iter().map(|known| format!("{}.{}", source.schema, known.name)).collect();
            Refusal::invalid(format!("there is no table {schema}.{table}; there are {}", known.join(", ")))
        })
    }

    /// The subquery that stands in for a table: all of it but the withheld columns, under the same name.
    fn projection(
        &self,
        id: TableId,
        written: &Ident,
        alias: Option<&TableAlias>,
        output: &Output,
    ) -> Result<TableFactor, Refusal> {
        let broken = || Refusal::invalid("this table cannot be read with your role");
        if output.shown.is_empty() {
            return Err(Refusal::access(format!(
                "every column of {} is withheld from your role",
                self.view.warehouse.qualified(id)
            )));
        }
        let (Some(source), Some(table)) = (self.view.warehouse.source_of(id), self.view.warehouse.table(id))
        else {
            return Err(broken());
        };
        let columns: Vec<String> = output.shown.iter().map(|name| quoted(name)).collect();
        let sql =
            format!("SELECT {} FROM {}.{}", columns.join(", "), quoted(&source.schema), quoted(&table.name));
        let mut statements = Parser::parse_sql(&SQLiteDialect {}, &sql).map_err(|_unparsable| broken())?;
        let (Some(Statement::Query(subquery)), true) = (statements.pop(), statements.is_empty()) else {
            return Err(broken());
        };
        Ok(TableFactor::Derived {
            lateral: false,
            subquery,
            alias: Some(alias.cloned().unwrap_or_else(|| TableAlias {
                explicit: true,
                name: Ident { quote_style: Some('"'), ..written.clone() },
                columns: Vec::new(),
                at: None,
            })),
            sample: None,
        })
    }

    /// Checks the conditions of all joins of a FROM clause, whose scope is the innermost one.
    pub(super) fn join_conditions(&mut self, from: &mut [TableWithJoins]) -> Result<(), Refusal> {
        for member in from {
            self.conditions_of(member)?;
        }
        Ok(())
    }

    fn conditions_of(&mut self, member: &mut TableWithJoins) -> Result<(), Refusal> {
        self.deeper(|walk| {
            walk.nested_conditions(&mut member.relation)?;
            for Join { relation, join_operator, .. } in &mut member.joins {
                walk.nested_conditions(relation)?;
                match join_operator {
                    JoinOperator::Join(constraint)
                    | JoinOperator::Inner(constraint)
                    | JoinOperator::Left(constraint)
                    | JoinOperator::LeftOuter(constraint)
                    | JoinOperator::Right(constraint)
                    | JoinOperator::RightOuter(constraint)
                    | JoinOperator::FullOuter(constraint)
                    | JoinOperator::CrossJoin(constraint) => walk.constraint(constraint)?,
                    _ => {
                        return Err(unsupported(
                            "this kind of join",
                            "use INNER, LEFT, RIGHT, FULL or CROSS JOIN",
                        ));
                    }
                }
            }
            Ok(())
        })
    }

    fn nested_conditions(&mut self, factor: &mut TableFactor) -> Result<(), Refusal> {
        match factor {
            TableFactor::NestedJoin { table_with_joins, .. } => self.conditions_of(table_with_joins),
            _ => Ok(()),
        }
    }

    fn constraint(&mut self, constraint: &mut JoinConstraint) -> Result<(), Refusal> {
        match constraint {
            JoinConstraint::On(condition) => self.expression(condition),
            JoinConstraint::Using(columns) => {
                for column in columns {
                    let parts = idents(column)?;
                    let [only] = parts.as_slice() else {
                        return Err(unsupported("a qualified name in USING", "name the column alone"));
                    };
                    self.joining(&only.value)?;
                }
                Ok(())
            }
            JoinConstraint::Natural | JoinConstraint::None => Ok(()),
            JoinConstraint::UsingAlias(..) => Err(unsupported("USING with an alias", "leave the alias out")),
        }
    }

    /// USING takes its column from both sides, so no side may withhold it.
    fn joining(&self, column: &str) -> Result<(), Refusal> {
        let Some(scope) = self.scopes.last() else {
            return Ok(());
        };
        match scope.all().hidden.into_iter().find(|hidden| hidden.is(column)) {
            Some(hidden) => Err(hidden.refusal(self.view)),
            None => Ok(()),
        }
    }

    /// The name before `.*`, after `schema.table.*` has been cut to `table.*`.
    pub(super) fn wildcard_qualifier(&self, name: &mut ObjectName) -> Result<String, Refusal> {
        let parts = idents(name)?;
        match parts.as_slice() {
            [only] => Ok(only.value.clone()),
            [schema, table] => {
                let id = self.qualified(&schema.value, &table.value)?;
                if !scope::is_unaliased(&self.scopes, id) {
                    return Err(Refusal::invalid(format!(
                        "{name} is not in the FROM clause under that name"
                    )));
                }
                *name = ObjectName(vec![ObjectNamePart::Identifier(table.clone())]);
                Ok(table.value.clone())
            }
            _ => Err(Refusal::invalid(format!("{name}.* has too many parts"))),
        }
    }
}

/// A name's parts, when it is made of plain names.
pub(super) fn idents(name: &ObjectName) -> Result<Vec<Ident>, Refusal> {
    name.0
        .iter()
        .map(|part| match part {
            ObjectNamePart::Identifier(ident) => Ok(ident.clone()),
            ObjectNamePart::Function(_) => Err(table_function(&name.to_string())),
        })
        .collect()
}

/// A text between single quotes, or with a slash or a dot in it, is some engine's way to read a file.
fn no_file(part: &Ident) -> Result<(), Refusal> {
    let path = part.value.contains(['/', '\\', '.', ':', '*']);
    if part.quote_style == Some('\'') || path {
        return Err(Refusal::guard(format!("{:?} is no table: files cannot be read", part.value)));
    }
    Ok(())
}

fn engine_table(name: &str) -> Result<(), Refusal> {
    let lower = name.to_ascii_lowercase();
    if ENGINE_TABLES.iter().any(|table| lower.starts_with(table)) {
        return Err(Refusal::guard(format!(
            "{name} is not allowed: the engine's own tables cannot be read; list_tables and describe_table tell what there is"
        )));
    }
    Ok(())
}

fn table_function(name: &str) -> Refusal {
    Refusal::guard(format!("{name} is used as a table: functions in FROM are not allowed"))
}

fn plain_alias(alias: Option<&TableAlias>) -> Result<(), Refusal> {
    match alias {
        Some(alias) if !alias.columns.is_empty() || alias.at.is_some() => {
            Err(unsupported("a column list after an alias", "name the columns in the subquery"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Two members under one name would make it unclear whose columns are meant.
fn distinct_names(scope: &Scope) -> Result<(), Refusal> {
    for (position, item) in scope.items.iter().enumerate() {
        if let Some(binding) = &item.binding
            && scope
                .items
                .iter()
                .skip(position + 1)
                .any(|other| other.binding.as_ref().is_some_and(|other| other.eq_ignore_ascii_case(binding)))
        {
            return Err(Refusal::invalid(format!(
                "two members of the FROM clause are called {binding}; give each an alias of its own"
            )));
        }
    }
    Ok(())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
