//! The table of checks, grouped by theme.

mod behaviour;
mod cancel;
mod conversation;
mod expiry;
mod identity;
mod limits;
mod live;
mod memory;
mod outcome;
mod overall;
mod own;
mod ownership;
mod peers;
mod privacy;
mod replay;
mod request;
mod state;
mod stream;
mod ticket;

use crate::check::Check;

/// Every check in the order in which they run. The last theme speaks of all that the others have seen.
pub(crate) fn all() -> Vec<Check> {
    let themes: [fn() -> Vec<Check>; 19] = [
        expiry::early,
        identity::checks,
        conversation::checks,
        ticket::checks,
        request::checks,
        stream::checks,
        live::checks,
        replay::checks,
        ownership::checks,
        cancel::checks,
        state::checks,
        own::checks,
        outcome::checks,
        memory::checks,
        privacy::checks,
        limits::checks,
        peers::checks,
        behaviour::checks,
        || {
            let mut last = expiry::checks();
            last.extend(overall::checks());
            last
        },
    ];
    themes.into_iter().flat_map(|theme| theme()).collect()
}
