//! What one caller, and all together, may have at a time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ask_auth::Owner;
use dashmap::DashMap;
use tokio::time::Instant;

use crate::settings::Quotas;

/// A limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuotaExceeded {
    /// The caller has too many open conversations.
    #[error("too many open conversations")]
    Conversations,
    /// The caller has too many retained tickets.
    #[error("too many retained tickets")]
    Tickets,
    /// The caller has too many running asks.
    #[error("too many running asks")]
    Running,
    /// The caller asks too often.
    #[error("too many asks in too short a time")]
    Rate(Allowance),
    /// All callers together have too many running asks.
    #[error("the service runs as many asks as it can")]
    Everyone,
}

/// Something that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    Conversation,
    Ticket,
    Running,
}

/// Counts what each owner holds.
#[derive(Debug)]
pub(crate) struct Quota {
    limits: Quotas,
    owners: DashMap<Owner, Counts>,
    /// Whose windows began when, the oldest first: an owner is kept until theirs is over, whatever else they hold.
    windows: Mutex<VecDeque<(Instant, Owner)>>,
    running: AtomicUsize,
}

/// What a caller may still ask in the current window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// Asks a window.
    pub(crate) quota: u64,
    /// The window in seconds.
    pub(crate) window_s: u64,
    /// Asks that are left in it.
    pub(crate) left: u64,
    /// Seconds until it is over.
    pub(crate) reset_s: u64,
}

#[derive(Debug, Default)]
struct Counts {
    /// When the current window began, and the asks in it.
    window: Option<(Instant, u64)>,
    conversations: usize,
    tickets: usize,
    running: usize,
}

impl Counts {
    const fn of(&mut self, resource: Resource) -> &mut usize {
        match resource {
            Resource::Conversation => &mut self.conversations,
            Resource::Ticket => &mut self.tickets,
            Resource::Running => &mut self.running,
        }
    }

    /// Whether there is nothing to remember. An owner who has given everything back may still have asked too often.
    fn is_idle(&self, now: Instant, window: Duration) -> bool {
        let open = self.window.is_some_and(|(began, _)| now.duration_since(began) < window);
        self.conversations == 0 && self.tickets == 0 && self.running == 0 && !open
    }
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    quota: Arc<Quota>,
    owner: Owner,
    resource: Resource,
}

impl Quota {
    pub(super) fn new(limits: Quotas) -> Self {
        Self { limits, owners: DashMap::new(), windows: Mutex::default(), running: AtomicUsize::new(0) }
    }

    /// How many asks of all callers run.
    pub(super) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Counts an ask against its caller's rate.
    pub(super) fn spend(&self, owner: &Owner) -> Result<(), QuotaExceeded> {
        let mut counts = self.owners.entry(owner.clone()).or_default();
        let now = Instant::now();
        let current = counts.window.filter(|(began, _)| now.duration_since(*began) < self.limits.rate_window);
        let begins = current.is_none();
        let (began, spent) = current.unwrap_or((now, 0));
        if spent >= self.limits.rate_asks {
            drop(counts);
            return Err(QuotaExceeded::Rate(self.allowance(owner)));
        }
        counts.window = Some((began, spent + 1));
        drop(counts);
        if begins {
            self.window_began(now, owner);
        }
        Ok(())
    }

    /// Notes that a window began, and lets go of the owners whose last one is over.
    fn window_began(&self, now: Instant, owner: &Owner) {
        // Each change is one push or pop, which a panic leaves whole.
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let mut over = Vec::new();
        while windows.front().is_some_and(|(began, _)| now.duration_since(*began) >= self.limits.rate_window)
        {
            over.extend(windows.pop_front().map(|(_, owner)| owner));
        }
        windows.push_back((now, owner.clone()));
        drop(windows);
        for owner in over {
            self.let_go(&owner, now);
        }
    }

    fn let_go(&self, owner: &Owner, now: Instant) {
        self.owners.remove_if(owner, |_, counts| counts.is_idle(now, self.limits.rate_window));
    }

    /// Whether nobody holds anything.
    #[cfg(test)]
    pub(super) fn holds_nothing(&self) -> bool {
        self.running() == 0
            && self
                .owners
                .iter()
                .all(|owner| (owner.conversations, owner.tickets, owner.running) == (0, 0, 0))
    }

    /// What a caller may still ask.
    pub(super) fn allowance(&self, owner: &Owner) -> Allowance {
        let window = self.owners.get(owner).and_then(|counts| counts.window);
        let (elapsed, spent) =
            window.map_or((std::time::Duration::ZERO, 0), |(began, spent)| (began.elapsed(), spent));
        let over = elapsed >= self.limits.rate_window;
        let left = self.limits.rate_asks.saturating_sub(if over { 0 } else { spent });
        let reset =
            if over { self.limits.rate_window } else { self.limits.rate_window.saturating_sub(elapsed) };
        Allowance {
            quota: self.limits.rate_asks,
            window_s: self.limits.rate_window.as_secs(),
            left,
            reset_s: reset.as_secs() + u64::from(reset.subsec_nanos() > 0),
        }
    }

    pub(super) fn take(self: &Arc<Self>, owner: &Owner, resource: Resource) -> Result<Held, QuotaExceeded> {
        let (limit, exceeded) = match resource {
            Resource::Conversation => (self.limits.conversations, QuotaExceeded::Conversations),
            Resource::Ticket => (self.limits.tickets, QuotaExceeded::Tickets),
            Resource::Running => (self.limits.running, QuotaExceeded::Running),
        };
        let mut counts = self.owners.entry(owner.clone()).or_default();
        let count = counts.of(resource);
        if *count >= limit {
            return Err(exceeded);
        }
        if resource == Resource::Running {
            let all = self.running.fetch_add(1, Ordering::AcqRel);
            if all >= self.limits.running_total {
                self.running.fetch_sub(1, Ordering::AcqRel);
                drop(counts);
                self.let_go(owner, Instant::now());
                return Err(QuotaExceeded::Everyone);
            }
        }
        *count += 1;
        drop(counts);
        Ok(Held { quota: Arc::clone(self), owner: owner.clone(), resource })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.resource == Resource::Running {
            self.quota.running.fetch_sub(1, Ordering::AcqRel);
        }
        if let Some(mut counts) = self.quota.owners.get_mut(&self.owner) {
            let count = counts.of(self.resource);
            *count = count.saturating_sub(1);
        }
        self.quota.let_go(&self.owner, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use ask_auth::Subject;

    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::new("https://issuer.example", None, Subject::Subject(name.to_owned()))
    }

    fn quota() -> Arc<Quota> {
        Arc::new(Quota::new(Quotas {
            body_bytes: 1,
            question_chars: 1,
            conversations: 2,
            turns: 2,
            tickets: 2,
            running: 2,
            running_total: 3,
            connections: 1,
            rate_asks: 2,
            rate_window: std::time::Duration::from_secs(60),
        }))
    }

    #[test]
    fn a_place_is_free_again_when_it_is_dropped() {
        let quota = quota();
        let first = quota.take(&owner("a"), Resource::Conversation).unwrap();
        let _second = quota.take(&owner("a"), Resource::Conversation).unwrap();
        assert_eq!(
            quota.take(&owner("a"), Resource::Conversation).unwrap_err(),
            QuotaExceeded::Conversations
        );
        let _other = quota.take(&owner("b"), Resource::Conversation).unwrap();
        drop(first);
        assert!(quota.take(&owner("a"), Resource::Conversation).is_ok());
    }

    #[actix_rt::test]
    async fn a_window_lets_its_asks_through_and_says_what_is_left() {
        let quota = quota();
        let _place = quota.take(&owner("a"), Resource::Ticket).unwrap();
        assert_eq!(quota.allowance(&owner("a")).left, 2);
        assert!(quota.spend(&owner("a")).is_ok() && quota.spend(&owner("a")).is_ok());
        assert!(
            matches!(quota.spend(&owner("a")), Err(QuotaExceeded::Rate(allowance)) if allowance.left == 0)
        );
        assert_eq!(quota.spend(&owner("b")), Ok(()), "another caller's window is another");
        let allowance = quota.allowance(&owner("a"));
        assert_eq!((allowance.quota, allowance.window_s, allowance.left), (2, 60, 0));
        assert!((1..=60).contains(&allowance.reset_s));
    }

    #[test]
    fn all_together_have_a_limit_too_and_nothing_is_left_behind() {
        let quota = quota();
        let held: Vec<Held> =
            ["a", "a", "b"].iter().map(|name| quota.take(&owner(name), Resource::Running).unwrap()).collect();
        assert_eq!(quota.take(&owner("a"), Resource::Running).unwrap_err(), QuotaExceeded::Running);
        assert_eq!(quota.take(&owner("c"), Resource::Running).unwrap_err(), QuotaExceeded::Everyone);
        drop(held);
        assert_eq!(quota.running.load(Ordering::Acquire), 0);
        assert!(quota.owners.is_empty());
    }

    #[actix_rt::test]
    async fn who_gives_everything_back_has_still_asked_as_often() {
        let quota = quota();
        for _ in 0..2 {
            let held = quota.take(&owner("a"), Resource::Ticket).unwrap();
            quota.spend(&owner("a")).unwrap();
            drop(held);
        }
        let held = quota.take(&owner("a"), Resource::Ticket).unwrap();
        assert!(matches!(quota.spend(&owner("a")), Err(QuotaExceeded::Rate(_))));
        drop(held);
        assert_eq!(
            (quota.owners.len(), quota.windows.lock().unwrap().len()),
            (1, 1),
            "one window, noted once"
        );
    }

    #[actix_rt::test]
    async fn an_owner_whose_window_is_over_is_let_go_at_the_next_that_begins() {
        let quota = Arc::new(Quota::new(Quotas { rate_window: Duration::ZERO, ..quota().limits }));
        for name in ["a", "b", "c"] {
            quota.spend(&owner(name)).unwrap();
        }
        assert_eq!((quota.owners.len(), quota.windows.lock().unwrap().len()), (1, 1));
    }
}
