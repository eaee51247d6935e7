//! What one request is answered with: the script first, then the load form, the stand-in, and at last a fixed text.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;

use super::{
    bench,
    body::Piece,
    cache::{Figures, tokens},
    dialogue::{Reply, StandIn, Turn},
    script::{Hang, Scripted},
    session::Session,
    wire::{Read, Wire, Written},
};

/// Makes the answers of a server.
#[derive(Clone)]
pub(super) struct Planner {
    pub(super) stand_in: Option<Arc<dyn StandIn>>,
    pub(super) text: String,
    pub(super) turn_delay: Duration,
}

/// A body, and how it is to be sent.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) pieces: VecDeque<Piece>,
    pub(super) cut_after: Option<usize>,
    pub(super) event_stream: bool,
}

/// A reply with the waits that belong to it.
struct Made {
    reply: Reply,
    model: String,
    /// To wait before the first byte.
    before: Duration,
    /// To stay quiet after the first event.
    hold: Duration,
}

impl Planner {
    /// The answer to a request, made after any wait that has to come before it.
    pub(super) async fn plan(
        &self,
        wire: Wire,
        read: &Read,
        scripted: &Scripted,
        from_script: bool,
        session: &Session,
    ) -> Plan {
        let made = self.make(read, scripted, from_script, session).await;
        let written = written(wire, read, scripted, &made, session);
        let gap = scripted.delay_chunk();
        let mut pieces = VecDeque::new();
        let before = made.before + scripted.delay_first_byte();
        if !before.is_zero() {
            pieces.push_back(Piece::Wait(before));
        }
        if let Some(raw) = &scripted.raw {
            pieces.push_back(Piece::Bytes(Bytes::from(raw.clone())));
        } else if scripted.endless {
            pieces.extend(wire.endless_start(&written).into_iter().map(Piece::Bytes));
            let every = if gap.is_zero() { Duration::from_millis(10) } else { gap };
            pieces.push_back(Piece::Endless { bytes: wire.endless_delta(&written), every });
        } else if scripted.hang == Some(Hang::Body) {
            pieces.push_back(Piece::Hang);
        } else if read.stream {
            events(wire, scripted, &written, made.hold, &mut pieces);
        } else {
            if !made.hold.is_zero() {
                pieces.push_back(Piece::Wait(made.hold));
            }
            pieces.push_back(Piece::Bytes(Bytes::from(wire.whole(&written).to_string())));
        }
        let event_stream = read.stream || scripted.raw.is_some() || scripted.endless;
        Plan { pieces, cut_after: scripted.cut_after_bytes, event_stream }
    }

    async fn make(&self, read: &Read, scripted: &Scripted, from_script: bool, session: &Session) -> Made {
        let asked = &read.asked;
        let stub = format!("stub:{}", asked.model);
        let none = Duration::ZERO;
        if from_script && !scripted.stand_in {
            let reply =
                Reply { text: scripted.text.clone(), calls: scripted.calls.iter().map(Into::into).collect() };
            return Made { reply, model: stub, before: none, hold: none };
        }
        if let Some(step) = bench::step(asked) {
            tokio::time::sleep(step.wait).await;
            return Made { reply: step.reply(), model: stub, before: none, hold: step.hold };
        }
        let before = session.turn_delay().unwrap_or(self.turn_delay);
        let (reply, model) = self.stand_in.as_ref().map_or_else(
            || (Reply { text: self.text.clone(), calls: Vec::new() }, stub),
            |stand_in| (stand_in.reply(asked), stand_in.name().to_owned()),
        );
        Made { reply, model, before, hold: none }
    }
}

fn written(wire: Wire, read: &Read, scripted: &Scripted, made: &Made, session: &Session) -> Written {
    let mut calls = made.reply.calls.clone();
    let mut made_up = ids(wire, read);
    for call in calls.iter_mut().filter(|call| call.id.is_empty()) {
        call.id = made_up.next().unwrap_or_default();
    }
    let text = &made.reply.text;
    let output: usize = calls
        .iter()
        .map(|call| call.name.len() + serde_json::to_string(&call.args).map_or(0, |it| it.len()))
        .sum();
    let figures = session.with_cache(|cache| wire.figures(cache, &read.prompt));
    let figures = Figures { output: tokens(text.chars().count() + output).max(1), ..figures };
    Written {
        id: format!("{}{:08}", wire.message_prefix(), session.state().received),
        model: scripted.model.clone().unwrap_or_else(|| made.model.clone()),
        text: text.clone(),
        calls,
        stop: scripted.stop.clone(),
        usage: scripted.usage.unwrap_or(figures),
        include_usage: read.include_usage,
    }
}

/// Ids for calls: the same for the same dialogue, and none that is in it already.
fn ids(wire: Wire, read: &Read) -> impl Iterator<Item = String> {
    let calls = |turn: &Turn| match turn {
        Turn::Assistant { calls, .. } => calls.iter().map(|call| call.id.clone()).collect(),
        Turn::User(_) | Turn::Result { .. } => Vec::new(),
    };
    let taken: Vec<String> = read.asked.turns.iter().flat_map(calls).collect();
    (taken.len() + 1..)
        .map(move |number| format!("{}{number:024}", wire.call_prefix()))
        .filter(move |id| !taken.contains(id))
}

fn events(wire: Wire, scripted: &Scripted, written: &Written, hold: Duration, pieces: &mut VecDeque<Piece>) {
    let gap = scripted.delay_chunk();
    let error_after = scripted.error.as_ref().map(|kind| (scripted.error_after.unwrap_or(3), kind));
    for (at, event) in wire.events(written).into_iter().enumerate() {
        if let Some((after, kind)) = error_after
            && at == after
        {
            pieces.push_back(Piece::Bytes(wire.error_event(kind)));
            return;
        }
        if at > 0 && !gap.is_zero() {
            pieces.push_back(Piece::Wait(gap));
        }
        if at == 1 && !hold.is_zero() {
            pieces.push_back(Piece::Quiet { left: hold, ping: wire.ping() });
        }
        if at == 3 && scripted.hang == Some(Hang::Reply) {
            pieces.push_back(Piece::Hang);
            return;
        }
        pieces.push_back(Piece::Bytes(event));
    }
    if let Some((_, kind)) = error_after {
        pieces.push_back(Piece::Bytes(wire.error_event(kind)));
    }
}
