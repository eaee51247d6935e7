//! A request that is sent again gives the same answer, for as long as what it made is kept.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ask_auth::Owner;
use bytes::Bytes;
use dashmap::DashMap;
use tokio::sync::OnceCell;

/// A key as its caller wrote it; another caller's is another key.
type Key = (Owner, String);

/// What a request is: its path and body. The same key may not come with another one.
pub(crate) type Fingerprint = [u8; 32];

/// The key was used for another request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyReused;

/// An answer, and whether it was given before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Once {
    pub(crate) body: Bytes,
    pub(crate) replayed: bool,
}

/// The answers by key.
#[derive(Default)]
pub(crate) struct Idempotency {
    slots: DashMap<Key, Arc<Slot>>,
}

struct Slot {
    fingerprint: Fingerprint,
    answer: OnceCell<Bytes>,
    /// How often the work was begun; changed only while the map's entry is held.
    tries: AtomicU32,
}

/// Keeps a key's answer until this is dropped: with the conversation or ticket that the request made.
pub(crate) struct Kept {
    answers: Arc<Idempotency>,
    key: Key,
    slot: Arc<Slot>,
    /// Which try made it: what is left of an earlier one takes nothing along.
    at_try: u32,
}

/// Why a slot did not answer.
enum Unanswered<E> {
    /// The work failed.
    Failed(E),
    /// An earlier try failed and took the slot out of the map: whoever waited has to begin at the map again, where another
    /// request may have begun by now.
    Gone,
}

impl Idempotency {
    /// Answers a request: makes the answer when the key is new, waits when the same request is being answered, repeats
    /// the answer when it was given before. A failure is not kept: sent again, the request is tried again.
    ///
    /// # Errors
    ///
    /// [`KeyReused`] when the key stands for another request; else what `make` failed with.
    pub(crate) async fn once<E, F: Future<Output = Result<Bytes, E>>>(
        self: &Arc<Self>,
        owner: &Owner,
        key: String,
        fingerprint: Fingerprint,
        make: impl FnOnce(Kept) -> F,
    ) -> Result<Result<Once, E>, KeyReused> {
        let key = (owner.clone(), key);
        let mut make = Some(make);
        loop {
            let fresh = || Arc::new(Slot { fingerprint, answer: OnceCell::new(), tries: AtomicU32::new(0) });
            let slot = Arc::clone(&self.slots.entry(key.clone()).or_insert_with(fresh));
            if slot.fingerprint != fingerprint {
                return Err(KeyReused);
            }
            let mut replayed = true;
            let answer = slot.answer.get_or_try_init(|| {
                replayed = false;
                let at_try = self.begin(&key, &slot);
                let work = at_try.and_then(|at_try| Some((make.take()?, at_try))).map(|(make, at_try)| {
                    let key = key.clone();
                    make(Kept { answers: Arc::clone(self), key, slot: Arc::clone(&slot), at_try })
                });
                async move {
                    match work {
                        Some(work) => work.await.map_err(Unanswered::Failed),
                        None => Err(Unanswered::Gone),
                    }
                }
            });
            match answer.await.cloned() {
                Ok(body) => return Ok(Ok(Once { body, replayed })),
                Err(Unanswered::Failed(err)) => return Ok(Err(err)),
                Err(Unanswered::Gone) => {}
            }
        }
    }

    /// Begins a try, if the slot is still the one in the map.
    fn begin(&self, key: &Key, slot: &Arc<Slot>) -> Option<u32> {
        let in_map = self.slots.get_mut(key)?;
        Arc::ptr_eq(&in_map, slot).then(|| slot.tries.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let is_mine = |slot: &Arc<Slot>| {
            Arc::ptr_eq(slot, &self.slot) && slot.tries.load(Ordering::Relaxed) == self.at_try
        };
        self.answers.slots.remove_if(&self.key, |_, slot| is_mine(slot));
    }
}

#[cfg(test)]
mod tests {
    use ask_auth::Subject;

    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::new("https://issuer.example", None, Subject::Subject(name.to_owned()))
    }

    async fn answer(
        answers: &Arc<Idempotency>,
        name: &str,
        fingerprint: u8,
        body: Result<&'static str, &'static str>,
        kept: &mut Vec<Kept>,
    ) -> Result<Result<Once, &'static str>, KeyReused> {
        let owner = owner(name);
        let made = answers.once(&owner, "key".to_owned(), [fingerprint; 32], |keep| {
            let outcome = body.map(|text| Bytes::from_static(text.as_bytes()));
            // What failed keeps nothing.
            if outcome.is_ok() {
                kept.push(keep);
            }
            std::future::ready(outcome)
        });
        made.await
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is compared with what can fail")]
    fn once(body: &'static str, replayed: bool) -> Result<Result<Once, &'static str>, KeyReused> {
        Ok(Ok(Once { body: Bytes::from_static(body.as_bytes()), replayed }))
    }

    #[actix_rt::test]
    async fn the_same_request_gives_the_same_answer_and_another_is_refused() {
        let (answers, mut kept) = (Arc::new(Idempotency::default()), Vec::new());
        assert_eq!(answer(&answers, "a", 1, Ok("first"), &mut kept).await, once("first", false));
        assert_eq!(answer(&answers, "a", 1, Ok("second"), &mut kept).await, once("first", true));
        assert_eq!(answer(&answers, "a", 2, Ok("second"), &mut kept).await, Err(KeyReused));
        assert_eq!(
            answer(&answers, "b", 2, Ok("second"), &mut kept).await,
            once("second", false),
            "another caller"
        );
    }

    #[actix_rt::test]
    async fn a_failure_is_not_kept_and_an_answer_goes_with_what_it_made() {
        let (answers, mut kept) = (Arc::new(Idempotency::default()), Vec::new());
        assert_eq!(answer(&answers, "a", 1, Err("busy"), &mut kept).await, Ok(Err("busy")));
        assert!(answers.slots.is_empty());
        assert_eq!(answer(&answers, "a", 1, Ok("first"), &mut kept).await, once("first", false));
        kept.clear();
        assert!(answers.slots.is_empty());
        assert_eq!(answer(&answers, "a", 2, Ok("second"), &mut kept).await, once("second", false));
    }

    #[actix_rt::test]
    async fn requests_at_the_same_time_are_made_once() {
        let answers = Arc::new(Idempotency::default());
        let made = std::cell::Cell::new(0);
        let kept = std::cell::RefCell::new(Vec::new());
        let owner = owner("a");
        let same = || {
            answers.once(&owner, "key".to_owned(), [1; 32], |keep| {
                kept.borrow_mut().push(keep);
                made.set(made.get() + 1);
                async {
                    tokio::task::yield_now().await;
                    Ok::<_, ()>(Bytes::from_static(b"one"))
                }
            })
        };
        let all = futures_util::future::join_all((0..8).map(|_| same())).await;
        assert_eq!(made.get(), 1);
        assert_eq!(
            all.iter()
                .filter(|one| one.as_ref().is_ok_and(|one| one.as_ref().is_ok_and(|one| one.replayed)))
                .count(),
            7
        );
    }
}
