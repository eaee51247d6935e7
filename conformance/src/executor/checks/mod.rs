//! The table of the executor's checks, grouped by theme.

mod arguments;
mod audit;
mod catalog;
mod description;
mod guard;
mod identity;
mod limits;
mod listing;
mod protocol;
mod query;
mod roles;
mod rows;
mod withheld;

use super::ctx::Ctx;
use crate::check::Check;

/// Every check in the order in which they run. The last theme uses a caller's calls up.
pub(super) fn all() -> Vec<Check<Ctx>> {
    let themes: [fn() -> Vec<Check<Ctx>>; 13] = [
        identity::checks,
        protocol::checks,
        listing::checks,
        description::checks,
        query::checks,
        rows::checks,
        arguments::checks,
        guard::checks,
        roles::checks,
        withheld::checks,
        catalog::checks,
        audit::checks,
        limits::checks,
    ];
    themes.into_iter().flat_map(|theme| theme()).collect()
}
