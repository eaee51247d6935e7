//! Which names mean which columns at a point in a statement.

use crate::access::View;
use crate::refusal::Refusal;
use crate::warehouse::TableId;

/// A column that is kept from the caller, under the name by which the statement would reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hidden {
    column: String,
    table: TableId,
}

/// The column names that a table, a subquery or a WITH name has to offer.
#[derive(Debug, Clone, Default)]
pub(super) struct Output {
    /// Those that the caller may see.
    pub(super) shown: Vec<String>,
    /// Those that would be there as well if nothing were kept from the caller.
    pub(super) hidden: Vec<Hidden>,
}

impl Output {
    /// What a table has to offer.
    pub(super) fn of_table(view: View<'_>, table: TableId) -> Self {
        Self {
            shown: view.visible(table).iter().map(|column| column.name.clone()).collect(),
            hidden: view
                .withheld(table)
                .iter()
                .map(|column| Hidden { column: column.name.clone(), table })
                .collect(),
        }
    }

    /// Adds what `other` has to offer.
    pub(super) fn extend(&mut self, other: &Self) {
        self.shown.extend(other.shown.iter().cloned());
        self.hidden.extend(other.hidden.iter().cloned());
    }

    fn hides(&self, column: &str) -> Option<&Hidden> {
        self.hidden.iter().find(|hidden| hidden.column.eq_ignore_ascii_case(column))
    }

    fn shows(&self, column: &str) -> bool {
        self.shown.iter().any(|shown| shown.eq_ignore_ascii_case(column))
    }
}

/// One member of a FROM clause.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// The name that its columns may be qualified with; none for a subquery without an alias.
    pub(super) binding: Option<String>,
    /// The table, when it is one and the statement gave it no other name.
    pub(super) unaliased: Option<TableId>,
    /// Its columns.
    pub(super) output: Output,
}

impl Item {
    fn is(&self, qualifier: &str) -> bool {
        self.binding.as_deref().is_some_and(|binding| binding.eq_ignore_ascii_case(qualifier))
    }
}

/// One FROM clause.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) items: Vec<Item>,
}

impl Scope {
    /// What `*` stands for here.
    pub(super) fn all(&self) -> Output {
        let mut all = Output::default();
        for item in &self.items {
            all.extend(&item.output);
        }
        all
    }

    /// What `qualifier.*` stands for here.
    pub(super) fn of(&self, qualifier: &str) -> Output {
        let mut of = Output::default();
        for item in self.items.iter().filter(|item| item.is(qualifier)) {
            of.extend(&item.output);
        }
        of
    }
}

/// The refusal for a column that is kept from the caller.
pub(super) fn withheld(view: View<'_>, table: TableId, column: &str) -> Refusal {
    Refusal::access(format!(
        "the column {}.{} is withheld from your role",
        view.warehouse.qualified(table),
        column.to_ascii_lowercase()
    ))
}

/// Whether the table has this column and keeps it from the caller.
pub(super) fn withholds(view: View<'_>, table: TableId, column: &str) -> bool {
    Output::of_table(view, table).hides(column).is_some()
}

/// Checks a column name without a qualifier, from the innermost FROM clause outwards.
///
/// Where the name may mean a column that is kept from the caller it is refused, even if another meaning is possible: with
/// the withheld column out of the way, the engine would silently take the other one.
pub(super) fn check_bare(view: View<'_>, scopes: &[Scope], column: &str) -> Result<(), Refusal> {
    for scope in scopes.iter().rev() {
        let hidden = scope.items.iter().find_map(|item| item.output.hides(column));
        let shown = scope.items.iter().any(|item| item.output.shows(column));
        match (hidden, shown) {
            (Some(_), true) => {
                return Err(Refusal::invalid(format!(
                    "the column {column} is ambiguous; write it with its table's alias"
                )));
            }
            (Some(hidden), false) => return Err(withheld(view, hidden.table, column)),
            (None, true) => return Ok(()),
            (None, false) => {}
        }
    }
    Ok(())
}

/// Checks a column name with a qualifier, from the innermost FROM clause outwards.
pub(super) fn check_qualified(
    view: View<'_>,
    scopes: &[Scope],
    qualifier: &str,
    column: &str,
) -> Result<(), Refusal> {
    for scope in scopes.iter().rev() {
        let named = || scope.items.iter().filter(|item| item.is(qualifier));
        if let Some(hidden) = named().find_map(|item| item.output.hides(column)) {
            return Err(withheld(view, hidden.table, column));
        }
        if named().any(|item| item.output.shows(column)) {
            return Ok(());
        }
    }
    Ok(())
}

/// Whether `table` stands under its own name in a FROM clause around this point.
pub(super) fn is_unaliased(scopes: &[Scope], table: TableId) -> bool {
    scopes.iter().flat_map(|scope| &scope.items).any(|item| item.unaliased == Some(table))
}

impl Hidden {
    /// Whether this is the name it would be reached by.
    pub(super) fn is(&self, column: &str) -> bool {
        self.column.eq_ignore_ascii_case(column)
    }

    /// The refusal of this column.
    pub(super) fn refusal(&self, view: View<'_>) -> Refusal {
        withheld(view, self.table, &self.column)
    }
}
