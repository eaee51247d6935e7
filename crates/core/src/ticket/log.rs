//! The log of one ticket: one writer, any number of readers, each with a cursor of its own.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ask_contract::{EventBody, EventType, Outcome};
use bytes::{Bytes, BytesMut};

use super::frame::data_of;

/// The retained frames of a ticket.
///
/// While the ticket runs, each frame stands by itself, so that steps can be dropped. When `done` is appended all frames
/// are put together into one piece of memory, and a replay is a slice of it.
///
/// A reader is a cursor: the `seq` that it has seen. So a slow reader costs a number and not a queue, and a reconnect is
/// the same code as a first connect.
#[derive(Debug)]
pub struct Log {
    inner: RwLock<Inner>,
}

#[derive(Debug)]
struct Inner {
    latest: u64,
    frames: Frames,
    terminal: Option<Bytes>,
    done: Option<(Outcome, Bytes)>,
}

#[derive(Debug)]
enum Frames {
    Growing { frames: Vec<Frame>, max: usize, first_step: usize },
    Sealed { all: Bytes, ends: Box<[End]> },
}

#[derive(Debug)]
struct Frame {
    seq: u64,
    is_step: bool,
    bytes: Bytes,
}

/// Where a frame ends within a sealed log.
#[derive(Debug)]
struct End {
    seq: u64,
    at: usize,
}

/// What a reader gets in one go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Whole frames; empty when there is nothing new.
    pub bytes: Bytes,
    /// The reader's cursor from now on.
    pub seen: u64,
    /// Whether `done` is at or before the cursor: there is nothing more to come.
    pub over: bool,
}

/// Where a ticket stands: the fold of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The latest event's `seq`.
    pub latest: u64,
    /// The terminal event as JSON, once there is one.
    pub terminal: Option<Bytes>,
    /// The `done` event as JSON, once there is one.
    pub done: Option<Bytes>,
}

impl Log {
    /// An empty log that retains `max` frames before it drops steps.
    pub(super) const fn new(max: usize) -> Self {
        Self {
            inner: RwLock::new(Inner {
                latest: 0,
                frames: Frames::Growing { frames: Vec::new(), max, first_step: 0 },
                terminal: None,
                done: None,
            }),
        }
    }

    /// Appends a frame; called by the ticket's life alone, which has judged that it may follow.
    pub(super) fn append(&self, seq: u64, body: &EventBody, bytes: Bytes) {
        let event_type = body.event_type();
        let mut inner = self.write();
        inner.latest = seq;
        if event_type.is_terminal() {
            inner.terminal = Some(data_of(&bytes));
        }
        let Frames::Growing { frames, max, first_step } = &mut inner.frames else { return };
        frames.push(Frame { seq, is_step: event_type == EventType::Step, bytes });
        if frames.len() > *max {
            drop_oldest_step(frames, first_step);
        }
        if let EventBody::Done(done) = body {
            inner.seal(done.outcome);
        }
    }

    /// The frames after `seen`, as many as fit into `budget` bytes but at least one; nothing when there are none.
    pub fn read(&self, seen: u64, budget: usize) -> Batch {
        let inner = self.read_lock();
        let (bytes, seen) = match &inner.frames {
            Frames::Growing { frames, .. } => read_growing(frames, seen, budget),
            Frames::Sealed { all, ends } => read_sealed(all, ends, seen, budget),
        };
        Batch { bytes, seen, over: inner.done.is_some() && seen >= inner.latest }
    }

    /// Whether `done` has been appended.
    pub fn is_done(&self) -> bool {
        self.read_lock().done.is_some()
    }

    /// How the ticket ended, once `done` has been appended.
    pub fn outcome(&self) -> Option<Outcome> {
        self.read_lock().done.as_ref().map(|(outcome, _)| *outcome)
    }

    /// The latest event's `seq`.
    pub fn latest(&self) -> u64 {
        self.read_lock().latest
    }

    /// How many steps were dropped to keep within the limit.
    pub fn dropped(&self) -> u64 {
        let inner = self.read_lock();
        let retained = match &inner.frames {
            Frames::Growing { frames, .. } => frames.len(),
            Frames::Sealed { ends, .. } => ends.len(),
        };
        inner.latest.saturating_sub(u64::try_from(retained).unwrap_or(u64::MAX))
    }

    /// Where the ticket stands.
    pub fn snapshot(&self) -> Snapshot {
        let inner = self.read_lock();
        Snapshot {
            latest: inner.latest,
            terminal: inner.terminal.clone(),
            done: inner.done.as_ref().map(|(_, json)| json.clone()),
        }
    }

    // A writer that panicked has left the frames whole: each change below is one push, remove or swap.
    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_lock(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Puts all frames into one piece of memory; nothing is appended after this.
    fn seal(&mut self, outcome: Outcome) {
        let Frames::Growing { frames, .. } = &self.frames else { return };
        let mut joined = BytesMut::with_capacity(frames.iter().map(|frame| frame.bytes.len()).sum());
        let mut ends = Vec::with_capacity(frames.len());
        for frame in frames {
            joined.extend_from_slice(&frame.bytes);
            ends.push(End { seq: frame.seq, at: joined.len() });
        }
        let all = joined.freeze();
        // The last two frames are the terminal and `done`; slices of the whole keep no second copy of them.
        let frame_before = |last: usize| {
            let end = ends.len().checked_sub(last + 1).and_then(|index| ends.get(index))?.at;
            let start =
                ends.len().checked_sub(last + 2).and_then(|index| ends.get(index)).map_or(0, |end| end.at);
            Some(data_of(&all.slice(start..end)))
        };
        self.terminal = frame_before(1);
        self.done = frame_before(0).map(|json| (outcome, json));
        self.frames = Frames::Sealed { all, ends: ends.into_boxed_slice() };
    }
}

/// Drops the oldest step. Everything before `first_step` is known to be no step, so the search does not start over.
fn drop_oldest_step(frames: &mut Vec<Frame>, first_step: &mut usize) {
    while let Some(frame) = frames.get(*first_step) {
        if frame.is_step {
            frames.remove(*first_step);
            return;
        }
        *first_step += 1;
    }
}

fn read_growing(frames: &[Frame], seen: u64, budget: usize) -> (Bytes, u64) {
    let start = frames.partition_point(|frame| frame.seq <= seen);
    let new = frames.get(start..).unwrap_or_default();
    let Some((first, more)) = new.split_first() else { return (Bytes::new(), seen) };
    let mut size = first.bytes.len();
    let fitting = more
        .iter()
        .take_while(|frame| {
            size += frame.bytes.len();
            size <= budget
        })
        .count();
    let Some(more) = more.get(..fitting).filter(|more| !more.is_empty()) else {
        return (first.bytes.clone(), first.seq);
    };
    let mut joined = BytesMut::with_capacity(
        first.bytes.len() + more.iter().map(|frame| frame.bytes.len()).sum::<usize>(),
    );
    joined.extend_from_slice(&first.bytes);
    more.iter().for_each(|frame| joined.extend_from_slice(&frame.bytes));
    (joined.freeze(), more.last().map_or(first.seq, |frame| frame.seq))
}

fn read_sealed(all: &Bytes, ends: &[End], seen: u64, budget: usize) -> (Bytes, u64) {
    let start = ends.partition_point(|end| end.seq <= seen);
    let from = start.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |end| end.at);
    let new = ends.get(start..).unwrap_or_default();
    let fitting = new.partition_point(|end| end.at - from <= budget).max(1);
    match new.get(fitting - 1) {
        Some(last) => (all.slice(from..last.at), last.seq),
        None => (Bytes::new(), seen),
    }
}
