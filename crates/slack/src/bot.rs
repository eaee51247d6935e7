//! The app itself: one task a deed, on one thread; threads of Slack's are conversations, each person's own.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use ask_client::{Base, CallError, Client, Credentials, Http, Limits};
use ask_contract::{
    AskRequest, ConversationId, ErrorKind, EventBody, Failure, Milestone, ProblemCode, TicketId,
};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::api::{Api, Place};
use crate::blocks::{self, Shown};
use crate::event::Deed;
use crate::people::{Known, People, Person, Who};

/// The least time between two edits of a message; Slack takes about one a second in a channel.
const EDITS: Duration = Duration::from_millis(1200);
/// So many events are known when Slack tells one again.
const KNOWN_EVENTS: usize = 10_000;
/// So many threads have a conversation; the oldest are let go.
const KNOWN_THREADS: usize = 10_000;

/// What the app needs to work.
#[derive(Debug)]
pub struct Bot {
    api: Api,
    people: People,
    http: Http,
    service: Base,
    threads: RefCell<Threads>,
    running: RefCell<HashMap<String, (Who, Client)>>,
    told: RefCell<Recent>,
}

#[derive(Debug, Default)]
struct Threads {
    known: HashMap<(Place, Who), ConversationId>,
    order: VecDeque<(Place, Who)>,
}

impl Threads {
    fn keep(&mut self, key: (Place, Who), conversation: ConversationId) {
        if self.known.insert(key.clone(), conversation).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > KNOWN_THREADS
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[derive(Debug, Default)]
struct Recent {
    known: HashSet<String>,
    order: VecDeque<String>,
}

impl Recent {
    /// Whether this is the first time that it is told.
    fn is_new(&mut self, id: &str) -> bool {
        if !self.known.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > KNOWN_EVENTS
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

impl Bot {
    /// An app that asks `service` as the people who write to it.
    pub fn new(api: Api, people: People, service: Base) -> Self {
        Self {
            api,
            people,
            http: Http::new(),
            service,
            threads: RefCell::default(),
            running: RefCell::default(),
            told: RefCell::default(),
        }
    }

    /// Does what an event asks for; the same event again does nothing.
    pub async fn serve(self: Rc<Self>, id: Option<String>, deed: Deed) {
        if id.is_some_and(|id| !self.told.borrow_mut().is_new(&id)) {
            return;
        }
        match deed {
            Deed::Ask { who, place, question } => self.asked(who, place, question).await,
            Deed::Stop { who, place, ticket } => self.stopped(&who, &place, &ticket).await,
        }
    }

    async fn asked(&self, who: Who, place: Place, question: String) {
        if question.trim().is_empty() {
            let hint = "Write a question behind my name, or sign out with `sign out`.";
            return self.whisper(&place, &who, &blocks::note(hint)).await;
        }
        if question.trim().eq_ignore_ascii_case("sign out") {
            self.people.forget(&who);
            return self
                .whisper(&place, &who, &blocks::note("You are signed out. I have kept nothing."))
                .await;
        }
        match self.people.look_up(&who) {
            Known::SignedIn(person) => self.run(who, place, question, person).await,
            Known::Waiting => {
                let hint = "I am still waiting for you to sign in. Then ask again.";
                self.whisper(&place, &who, &blocks::note(hint)).await;
            }
            Known::Stranger => self.sign_in(&who, &place).await,
        }
    }

    /// No question is ever asked as anybody but its writer.
    async fn sign_in(&self, who: &Who, place: &Place) {
        let (provider, pending) = match self.people.begin(who).await {
            Ok(begun) => begun,
            Err(why) => {
                tracing::warn!(error = %why, "nobody can sign in");
                return self
                    .whisper(place, who, &blocks::note("Nobody can sign in right now. Try again later."))
                    .await;
            }
        };
        let page = pending.page_with_code.as_ref().unwrap_or(&pending.page).as_str().to_owned();
        self.whisper(place, who, &blocks::sign_in(&page, &pending.user_code)).await;
        let ended = match self.people.finish(who, provider, pending).await {
            Ok(()) => "You are signed in. Ask again.",
            Err(_) => "Nobody signed in. Ask again for a new code.",
        };
        self.whisper(place, who, &blocks::note(ended)).await;
    }

    async fn run(&self, who: Who, place: Place, question: String, person: Rc<Person>) {
        let client = Client::with(
            self.http.clone(),
            self.service.clone(),
            Credentials::new(person),
            Limits::default(),
        );
        let ticket = match self.accepted(&client, &who, &place, question).await {
            Ok(ticket) => ticket,
            Err(err) => {
                tracing::warn!(error = %err, "a question was not taken");
                return self.post(&place, &not_taken(&err)).await;
            }
        };
        let began = Instant::now();
        self.running.borrow_mut().insert(ticket.as_str().to_owned(), (who, client.clone()));
        let name = self.api.post(&place, &blocks::working(&[], 0, &ticket)).await;
        let ending = self.follow(&client, &place, name.as_deref().ok(), &ticket, began).await;
        self.running.borrow_mut().remove(ticket.as_str());
        match name {
            Ok(name) => {
                if let Err(err) = self.api.update(&place, &name, &ending).await {
                    tracing::warn!(error = %err, "an ending could not take the place of its progress");
                    self.post(&place, &ending).await;
                }
            }
            Err(_) => self.post(&place, &ending).await,
        }
    }

    /// The ticket of a question in the thread's conversation, or in a new one where that is forgotten.
    async fn accepted(
        &self,
        client: &Client,
        who: &Who,
        place: &Place,
        question: String,
    ) -> Result<TicketId, CallError> {
        let request = AskRequest { question, context: true, model: None, effort: None, deadline_s: None };
        let key = (place.clone(), who.clone());
        let known = self.threads.borrow().known.get(&key).cloned();
        if let Some(conversation) = known {
            match client.ask(&conversation, &request).await {
                Err(CallError::Rejected(rejection)) if matches!(rejection.status, 404 | 410) => {}
                answered => return answered.map(|ticket| ticket.ticket),
            }
        }
        let conversation = client.create_conversation().await?.conversation_id;
        self.threads.borrow_mut().keep(key, conversation.clone());
        client.ask(&conversation, &request).await.map(|ticket| ticket.ticket)
    }

    /// Edits the placeholder as milestones come; what the ask ended in.
    async fn follow(
        &self,
        client: &Client,
        place: &Place,
        name: Option<&str>,
        ticket: &TicketId,
        began: Instant,
    ) -> Shown {
        let mut events = client.events(ticket);
        let mut milestones: Vec<Milestone> = Vec::new();
        let (mut shown, mut ending) = (0, None);
        let mut tick = interval(EDITS);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tick.tick().await;
        loop {
            tokio::select! {
                received = events.next() => match received {
                    Ok(Some(received)) => match received.event.map(|event| event.body) {
                        Some(EventBody::Milestone(milestone)) => milestones.push(milestone),
                        Some(EventBody::Answer(it)) => ending = Some(blocks::answer(&it)),
                        Some(EventBody::Abstention(it)) => ending = Some(blocks::abstention(&it)),
                        Some(EventBody::Refusal(it)) => ending = Some(blocks::refusal(&it)),
                        Some(EventBody::Error(it)) => ending = Some(blocks::failure(&it)),
                        Some(EventBody::Accepted(_) | EventBody::Branch(_) | EventBody::Step(_) | EventBody::Done(_)) | None => {}
                    },
                    Ok(None) => break,
                    Err(err) => {
                        tracing::warn!(error = %err, "a stream was lost");
                        break;
                    }
                },
                _ = tick.tick(), if milestones.len() > shown => {
                    shown = milestones.len();
                    if let Some(name) = name {
                        let working = blocks::working(&milestones, began.elapsed().as_secs(), ticket);
                        // The next edit, or the ending, says it again.
                        drop(self.api.update(place, name, &working).await);
                    }
                }
            }
        }
        ending.unwrap_or_else(|| {
            let detail = "the connection to the service was lost".to_owned();
            blocks::failure(&Failure { kind: ErrorKind::Internal, detail })
        })
    }

    async fn stopped(&self, who: &Who, place: &Place, ticket: &str) {
        let known = self.running.borrow().get(ticket).cloned();
        match known {
            Some((owner, client)) if owner == *who => {
                if let Err(err) = client.cancel(&TicketId::new(ticket)).await {
                    tracing::warn!(error = %err, "a cancel was not taken");
                    self.whisper(place, who, &blocks::note("It could not be stopped.")).await;
                }
            }
            Some(_) => {
                self.whisper(place, who, &blocks::note("Only the person who asked can stop this.")).await;
            }
            None => self.whisper(place, who, &blocks::note("It has ended already.")).await,
        }
    }

    async fn whisper(&self, place: &Place, who: &Who, shown: &Shown) {
        if let Err(err) = self.api.whisper(place, &who.user, shown).await {
            tracing::warn!(error = %err, "a person could not be told something");
        }
    }

    async fn post(&self, place: &Place, shown: &Shown) {
        if let Err(err) = self.api.post(place, shown).await {
            tracing::warn!(error = %err, "a message could not be posted");
        }
    }
}

/// Why a question was not taken, in the app's own words.
fn not_taken(err: &CallError) -> Shown {
    let CallError::Rejected(rejection) = err else {
        return blocks::note(match err {
            CallError::NoToken(_) => "Your sign-in has run out. Write `sign out`, and ask again.",
            CallError::Unreachable(_)
            | CallError::Lost(_)
            | CallError::TimedOut(_)
            | CallError::Rejected(_)
            | CallError::TooLarge { .. }
            | CallError::Malformed(_) => "The service can't be reached, or does not answer as it should.",
        });
    };
    blocks::note(match (rejection.code, rejection.status) {
        (Some(ProblemCode::AskRunning), _) => {
            "One question at a time in a thread: wait for the last one, or stop it."
        }
        (_, 401) => "Your sign-in has run out. Write `sign out`, and ask again.",
        (_, 403) => "Your account may not ask here.",
        (_, 429) => "You have asked as often as you may for now. Try again in a minute.",
        (_, 503) => "The service is busy or going down. Try again in a minute.",
        _ => "The service did not take the question.",
    })
}
