//! The walk over expressions: an allow-list of forms, the names of columns, and the functions that are called.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's enums are large; every arm that is not named is turned down"
)]

use sqlparser::ast::{
    BinaryOperator, CastKind, CeilFloorKind, DataType, DuplicateTreatment, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList, FunctionArguments, Ident, InTarget,
    ObjectName, ObjectNamePart, TrimWhereField, UnaryOperator, Value, ValueWithSpan, WindowFrameBound,
    WindowSpec, WindowType,
};

use super::relation::idents;
use super::scope;
use super::select::unsupported;
use super::{Walk, functions};
use crate::refusal::Refusal;

impl Walk<'_> {
    /// Checks an expression and all in it, and puts what other engines write into words that this one knows.
    pub(super) fn expression(&mut self, expr: &mut Expr) -> Result<(), Refusal> {
        self.seen.expressions += 1;
        self.deeper(|walk| walk.form(expr))
    }

    fn form(&mut self, expr: &mut Expr) -> Result<(), Refusal> {
        match expr {
            Expr::Identifier(ident) => scope::check_bare(self.view, &self.scopes, &ident.value),
            Expr::CompoundIdentifier(parts) => self.compound(parts),
            Expr::Value(_) => Ok(()),
            Expr::Nested(inner)
            | Expr::IsNull(inner)
            | Expr::IsNotNull(inner)
            | Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner) => self.expression(inner),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.both(left, right)
            }
            Expr::BinaryOp { left, op, right } => {
                binary(op)?;
                self.both(left, right)
            }
            Expr::UnaryOp { op, expr: inner } => {
                if !matches!(
                    op,
                    UnaryOperator::Plus
                        | UnaryOperator::Minus
                        | UnaryOperator::Not
                        | UnaryOperator::BitwiseNot
                ) {
                    return Err(unsupported(&format!("the operator {op}"), "use a function"));
                }
                self.expression(inner)
            }
            Expr::Between { expr: inner, low, high, .. } => {
                self.expression(inner)?;
                self.both(low, high)
            }
            Expr::In { expr: inner, target, global: false, .. } => {
                self.expression(inner)?;
                match target {
                    InTarget::List(values) => values.iter_mut().try_for_each(|value| self.expression(value)),
                    InTarget::Subquery(query) => self.subquery(query).map(drop),
                    InTarget::Unnest(_) | InTarget::Table { .. } => Err(Refusal::guard(
                        "IN over a table or function is not allowed; write IN (SELECT ...)",
                    )),
                }
            }
            Expr::Like { any: false, expr: inner, pattern, escape_char, .. } => {
                self.both(inner, pattern)?;
                self.optional(escape_char.as_deref_mut())
            }
            Expr::ILike { negated, any: false, expr: inner, pattern, escape_char } => {
                self.both(inner, pattern)?;
                self.optional(escape_char.as_deref_mut())?;
                // LIKE does not regard the case of ASCII letters here.
                *expr = Expr::Like {
                    negated: *negated,
                    any: false,
                    expr: std::mem::replace(inner, null()),
                    pattern: std::mem::replace(pattern, null()),
                    escape_char: escape_char.take(),
                };
                Ok(())
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                self.optional(operand.as_deref_mut())?;
                for when in conditions {
                    self.both(&mut when.condition, &mut when.result)?;
                }
                self.optional(else_result.as_deref_mut())
            }
            Expr::Exists { subquery, .. } => self.subquery(subquery).map(drop),
            Expr::Subquery(query) => self.subquery(query).map(drop),
            Expr::Tuple(values) => values.iter_mut().try_for_each(|value| self.expression(value)),
            Expr::Collate { expr: inner, collation } => {
                let name = collation.to_string().to_ascii_lowercase();
                if !matches!(name.as_str(), "nocase" | "binary" | "rtrim") {
                    return Err(unsupported("this collation", "use NOCASE, BINARY or RTRIM"));
                }
                self.expression(inner)
            }
            Expr::Cast { kind, expr: inner, data_type, format: None } => {
                self.expression(inner)?;
                if !matches!(kind, CastKind::Cast | CastKind::DoubleColon) {
                    return Err(unsupported("this cast", "write CAST(expression AS type)"));
                }
                *kind = CastKind::Cast;
                plain_type(data_type)
            }
            Expr::Function(function) => self.function(function),
            Expr::Ceil { expr: inner, field } | Expr::Floor { expr: inner, field } => {
                if !matches!(field, CeilFloorKind::DateTimeField(sqlparser::ast::DateTimeField::NoDateTime)) {
                    return Err(unsupported("a second argument of CEIL or FLOOR", "use round or date_trunc"));
                }
                self.expression(inner)
            }
            Expr::Extract { field, expr: inner, .. } => {
                self.expression(inner)?;
                let field = text(&field.to_string().to_ascii_lowercase());
                let inner = *std::mem::replace(inner, null());
                *expr = call("date_part", vec![field, inner]);
                Ok(())
            }
            Expr::Position { expr: what, r#in: inside } => {
                self.both(what, inside)?;
                let what = *std::mem::replace(what, null());
                let inside = *std::mem::replace(inside, null());
                *expr = call("instr", vec![inside, what]);
                Ok(())
            }
            Expr::Substring { expr: inner, substring_from, substring_for, special, .. } => {
                self.expression(inner)?;
                self.optional(substring_from.as_deref_mut())?;
                self.optional(substring_for.as_deref_mut())?;
                substring_from.get_or_insert_with(|| Box::new(number("1")));
                *special = true;
                Ok(())
            }
            Expr::Trim { trim_where, trim_what, expr: inner, trim_characters } => {
                self.expression(inner)?;
                self.optional(trim_what.as_deref_mut())?;
                for more in trim_characters.iter_mut().flatten() {
                    self.expression(more)?;
                }
                let Some(signs) = trim_what.take() else {
                    return match trim_where {
                        None => Ok(()),
                        Some(_) => Err(unsupported("this form of TRIM", "write trim, ltrim or rtrim")),
                    };
                };
                let function = match trim_where.take() {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    Some(TrimWhereField::Both) | None => {
                        *trim_characters = Some(vec![*signs]);
                        return Ok(());
                    }
                };
                let inner = *std::mem::replace(inner, null());
                *expr = call(function, vec![inner, *signs]);
                Ok(())
            }
            Expr::TypedString(typed) => {
                if !matches!(
                    typed.data_type,
                    DataType::Date | DataType::Timestamp(..) | DataType::Datetime(_)
                ) {
                    return Err(unsupported("this typed literal", "write the string alone"));
                }
                *expr = Expr::Value(typed.value.clone());
                Ok(())
            }
            Expr::Interval(_) => {
                Err(unsupported("INTERVAL", "write date(column, '-7 days') or use date_diff(unit, from, to)"))
            }
            other => Err(unsupported(&format!("the expression {other}"), "write it in plainer SQL")),
        }
    }

    fn both(&mut self, left: &mut Expr, right: &mut Expr) -> Result<(), Refusal> {
        self.expression(left)?;
        self.expression(right)
    }

    /// `alias.column`, or `schema.table.column`, which is cut to `table.column` where that is unmistakable.
    fn compound(&self, parts: &mut Vec<Ident>) -> Result<(), Refusal> {
        match parts.as_slice() {
            [qualifier, column] => {
                scope::check_qualified(self.view, &self.scopes, &qualifier.value, &column.value)
            }
            [schema, table, column] => {
                let Some(id) = self.view.warehouse.find(&schema.value, &table.value) else {
                    return Err(Refusal::invalid(format!(
                        "there is no table {}.{}",
                        schema.value, table.value
                    )));
                };
                if scope::withholds(self.view, id, &column.value) {
                    return Err(scope::withheld(self.view, id, &column.value));
                }
                if !scope::is_unaliased(&self.scopes, id) {
                    return Err(Refusal::invalid(format!(
                        "{}.{} is not in the FROM clause under that name; use its alias",
                        schema.value, table.value
                    )));
                }
                parts.remove(0);
                Ok(())
            }
            _ => Err(Refusal::invalid("a column's name has too many parts; write alias.column")),
        }
    }

    fn function(&mut self, function: &mut Function) -> Result<(), Refusal> {
        let parts = idents(&function.name)?;
        let [name] = parts.as_slice() else {
            return Err(Refusal::guard(format!(
                "the function {} is not allowed: functions are called without a schema",
                function.name
            )));
        };
        functions::check(&name.value)?;
        if !matches!(function.parameters, FunctionArguments::None)
            || function.uses_odbc_syntax
            || !function.within_group.is_empty()
            || function.null_treatment.is_some()
        {
            return Err(unsupported("this form of a function call", "write name(arguments)"));
        }
        match &mut function.args {
            FunctionArguments::None => {}
            FunctionArguments::List(list) => self.arguments(list)?,
            FunctionArguments::Subquery(_) => {
                return Err(unsupported("a bare subquery as arguments", "put it in parentheses of its own"));
            }
        }
        self.optional(function.filter.as_deref_mut())?;
        match &mut function.over {
            Some(WindowType::WindowSpec(spec)) => self.window(spec),
            Some(WindowType::NamedWindow(_)) | None => Ok(()),
        }
    }

    fn arguments(&mut self, list: &mut FunctionArgumentList) -> Result<(), Refusal> {
        if list.duplicate_treatment == Some(DuplicateTreatment::All) {
            list.duplicate_treatment = None;
        }
        for argument in &mut list.args {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => self.expression(expr)?,
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => {}
                _ => return Err(unsupported("this form of an argument", "write the value alone")),
            }
        }
        for clause in &mut list.clauses {
            match clause {
                FunctionArgumentClause::OrderBy(terms) => {
                    for term in terms {
                        self.order_term(term)?;
                    }
                }
                _ => return Err(unsupported("this clause in a function call", "leave it out")),
            }
        }
        Ok(())
    }

    /// Checks a window.
    pub(super) fn window(&mut self, spec: &mut WindowSpec) -> Result<(), Refusal> {
        for expr in &mut spec.partition_by {
            self.expression(expr)?;
        }
        for term in &mut spec.order_by {
            self.order_term(term)?;
        }
        if let Some(frame) = &mut spec.window_frame {
            for bound in std::iter::once(&mut frame.start_bound).chain(frame.end_bound.as_mut()) {
                match bound {
                    WindowFrameBound::CurrentRow => {}
                    WindowFrameBound::Preceding(distance) | WindowFrameBound::Following(distance) => {
                        self.optional(distance.as_deref_mut())?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn binary(op: &BinaryOperator) -> Result<(), Refusal> {
    match op {
        BinaryOperator::Plus
        | BinaryOperator::Minus
        | BinaryOperator::Multiply
        | BinaryOperator::Divide
        | BinaryOperator::Modulo
        | BinaryOperator::StringConcat
        | BinaryOperator::Gt
        | BinaryOperator::Lt
        | BinaryOperator::GtEq
        | BinaryOperator::LtEq
        | BinaryOperator::Eq
        | BinaryOperator::NotEq
        | BinaryOperator::And
        | BinaryOperator::Or
        | BinaryOperator::BitwiseOr
        | BinaryOperator::BitwiseAnd
        | BinaryOperator::PGBitwiseShiftLeft
        | BinaryOperator::PGBitwiseShiftRight
        | BinaryOperator::Glob
        | BinaryOperator::Arrow
        | BinaryOperator::LongArrow => Ok(()),
        other => Err(unsupported(&format!("the operator {other}"), "use LIKE, GLOB or a function")),
    }
}

/// A type's name is only letters, digits and a length: nothing that could be read as more SQL.
fn plain_type(data_type: &DataType) -> Result<(), Refusal> {
    let name = data_type.to_string();
    let plain =
        name.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, ' ' | '(' | ')' | ',' | '_'));
    if plain && name.len() <= 40 {
        Ok(())
    } else {
        Err(unsupported("this type", "use INTEGER, REAL, TEXT or NUMERIC"))
    }
}

fn null() -> Box<Expr> {
    Box::new(value(Value::Null))
}

fn number(digits: &str) -> Expr {
    value(Value::Number(digits.to_owned(), false))
}

fn text(content: &str) -> Expr {
    value(Value::SingleQuotedString(content.to_owned()))
}

fn value(value: Value) -> Expr {
    Expr::Value(ValueWithSpan::from(value))
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Function(Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
