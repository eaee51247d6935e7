//! Streams against a peer that cuts, garbles, repeats, stalls and refuses.

#[cfg(test)]
mod support;

use std::time::Duration;

use ask_client::{CutReason, Limits, Notice, StreamError};
use ask_contract::{ProblemCode, TicketId};
use support::{
    Act, Peer, STEP, answer, answer_with, chunk, done, frame, log, quick, read, rest, seqs, stream,
    stream_head,
};
use tokio::time::Instant;

const ALL: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

#[actix_rt::test]
async fn a_whole_stream_is_read_on_one_connection() {
    let peer = Peer::start(|_, request| vec![Act::Send(stream(&rest(request)))]);
    let (received, ended) = read(&peer.client()).await;
    ended.unwrap();
    assert_eq!(seqs(&received), ALL);
    assert_eq!(received[4].kind, "applause");
    assert!(received[7].is_done());
    assert!(received[0].raw.contains("Wie viele Fälle?"));
    let requests = peer.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("GET", "/v1/asks/t1/events"));
    assert_eq!(requests[0].header("authorization"), Some("Bearer to.ke.n"));
    assert_eq!(requests[0].header("accept"), Some("text/event-stream"));
    assert_eq!(requests[0].header("last-event-id"), None);
}

#[actix_rt::test]
async fn a_cut_at_any_byte_loses_and_repeats_nothing() {
    let whole = stream(&log().concat());
    let peer = Peer::start(move |number, request| {
        if number % 2 == 0 {
            let whole = stream(&rest(request));
            vec![Act::Send(whole[..(number / 2).min(whole.len())].to_vec())]
        } else {
            vec![Act::Send(stream(&rest(request)))]
        }
    });
    let client = peer.client();
    // A cut behind `done` needs no second connection, so the last cut that makes the rhythm is the byte before its end.
    let end_of_done = whole.len() - "\r\n0\r\n\r\n".len();
    for cut in 0..end_of_done {
        let (received, ended) = read(&client).await;
        assert!(ended.is_ok(), "cut at byte {cut}: {ended:?}");
        assert_eq!(seqs(&received), ALL, "cut at byte {cut}");
    }
    assert_eq!(peer.requests().len(), 2 * end_of_done);
}

#[actix_rt::test]
async fn many_cuts_in_one_stream_lose_and_repeat_nothing() {
    // Each connection brings one whole frame and a part of the next.
    let peer = Peer::start(|_, request| {
        let rest = rest(request);
        let first = rest.find("\n\n").unwrap() + 2;
        let part = (first + 17).min(rest.len());
        vec![Act::Send([stream_head(), chunk(&rest.chars().take(part).collect::<String>())].concat())]
    });
    let (received, ended) = read(&peer.client_with(Limits { attempts: 2, ..quick() })).await;
    ended.unwrap();
    assert_eq!(seqs(&received), ALL);
    assert_eq!(
        peer.requests().iter().map(support::Request::last_event_id).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5, 6, 7]
    );
}

#[actix_rt::test]
async fn carriage_returns_end_lines_too() {
    for line_end in ["\r", "\r\n"] {
        let peer = Peer::start(move |_, request| {
            let body = rest(request).replace('\n', line_end);
            let drips = body.chars().map(|char| Act::Send(chunk(&char.to_string())));
            std::iter::once(Act::Send(stream_head())).chain(drips).collect()
        });
        let (received, ended) = read(&peer.client()).await;
        ended.unwrap();
        assert_eq!(seqs(&received), ALL);
        assert_eq!(peer.requests().len(), 1);
    }
}

#[actix_rt::test]
async fn a_peer_that_replays_everything_makes_no_duplicate() {
    let peer = Peer::start(|number, _| {
        let all = log();
        vec![Act::Send([stream_head(), chunk(&all[..(number + 1) * 3.min(all.len())].concat())].concat())]
    });
    let client = peer.client();
    let mut events = client.events(&TicketId::new("t1"));
    let mut received = Vec::new();
    while received.len() < 6
        && let Some(event) = events.next().await.unwrap()
    {
        received.push(event);
    }
    assert_eq!(seqs(&received), [1, 2, 3, 4, 5, 6]);
    assert_eq!(events.stats().duplicates, 3);
}

#[actix_rt::test]
async fn polling_in_turns_with_other_work_restarts_nothing() {
    let peer = Peer::start(|_, request| {
        let mut acts = vec![Act::Wait(Duration::from_millis(40)), Act::Send(stream_head())];
        for frame in log().split_off(request.last_event_id()) {
            let (head, tail) = frame.split_at(20);
            acts.extend([
                Act::Send(chunk(head)),
                Act::Wait(Duration::from_millis(8)),
                Act::Send(chunk(tail)),
            ]);
        }
        acts
    });
    let client = peer.client();
    let mut events = client.events(&TicketId::new("t1"));
    let mut tick = tokio::time::interval(Duration::from_millis(1));
    let (mut received, mut ticks) = (Vec::new(), 0);
    loop {
        tokio::select! {
            biased;
            _ = tick.tick() => ticks += 1,
            event = events.next() => match event.unwrap() {
                Some(event) => received.push(event),
                None => break,
            },
        }
    }
    assert_eq!(seqs(&received), ALL);
    assert!(ticks > 20, "only {ticks} ticks");
    assert_eq!(peer.requests().len(), 1);
}

#[actix_rt::test]
async fn a_retry_field_is_waited_for() {
    let peer = Peer::start(|number, request| {
        let body = if number == 0 { "retry: 150\n\n".to_owned() } else { rest(request) };
        vec![Act::Send(stream(&body))]
    });
    let begin = Instant::now();
    let (received, ended) = read(&peer.client()).await;
    ended.unwrap();
    assert_eq!(seqs(&received), ALL);
    assert!(begin.elapsed() >= Duration::from_millis(150), "after {:?}", begin.elapsed());
}

#[actix_rt::test]
async fn a_peer_that_only_opens_and_closes_is_given_up() {
    let peer = Peer::start(|_, _| vec![Act::Send(stream("id: 0\nretry: 0\n\n"))]);
    let (received, ended) = read(&peer.client_with(Limits { attempts: 5, ..quick() })).await;
    assert!(received.is_empty());
    let lost = ended.unwrap_err();
    assert!(matches!(lost, StreamError::Lost { after: 0, attempts: 5, last: CutReason::Ended }), "{lost:?}");
    assert_eq!(peer.requests().len(), 5);
}

#[actix_rt::test]
async fn a_peer_that_is_gone_is_given_up() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = support::client(&format!("http://{free}"), Limits { attempts: 3, ..quick() });
    let lost = read(&client).await.1.unwrap_err();
    assert!(matches!(lost, StreamError::Lost { last: CutReason::Unreachable, .. }), "{lost:?}");
}

#[actix_rt::test]
async fn silence_is_a_cut_and_comments_are_not_silence() {
    let peer = Peer::start(|number, request| {
        let all = rest(request);
        if number == 0 {
            vec![Act::Send([stream_head(), chunk(&log().swap_remove(0))].concat()), Act::Hold]
        } else {
            let mut acts = vec![Act::Send(stream_head())];
            for _ in 0..8 {
                acts.extend([Act::Wait(Duration::from_millis(50)), Act::Send(chunk(": keep-alive\n\n"))]);
            }
            acts.push(Act::Send(chunk(&all)));
            acts
        }
    });
    let client = peer.client_with(Limits { idle: Duration::from_millis(250), ..quick() });
    let mut events = client.events(&TicketId::new("t1"));
    let notices = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let sink = std::rc::Rc::clone(&notices);
    events.observe(move |notice| sink.borrow_mut().push(notice));
    let mut received = Vec::new();
    while let Some(event) = events.next().await.unwrap() {
        received.push(event);
    }
    assert_eq!(seqs(&received), ALL);
    assert_eq!(peer.requests().len(), 2);
    let notices = notices.borrow();
    assert!(matches!(notices[0], Notice::Cut { reason: CutReason::Silent, attempt: 1, .. }), "{notices:?}");
    assert_eq!(notices[1..], [Notice::Resumed { after: 1 }]);
}

#[actix_rt::test]
async fn a_head_that_never_comes_is_a_cut() {
    let peer =
        Peer::start(
            |number, request| {
                if number == 0 { vec![Act::Hold] } else { vec![Act::Send(stream(&rest(request)))] }
            },
        );
    let (received, ended) =
        read(&peer.client_with(Limits { answer_within: Duration::from_millis(100), ..quick() })).await;
    ended.unwrap();
    assert_eq!((seqs(&received), peer.requests().len()), (ALL.to_vec(), 2));
}

#[actix_rt::test]
async fn definite_refusals_are_not_tried_again() {
    for (status, code) in [
        (401, ProblemCode::Unauthenticated),
        (403, ProblemCode::InsufficientScope),
        (404, ProblemCode::NotFound),
        (410, ProblemCode::TicketExpired),
    ] {
        let body = serde_json::to_string(&ask_contract::Problem::new(code)).unwrap();
        let peer = Peer::start(move |_, _| {
            vec![Act::Send(answer(&format!("{status} No"), "application/problem+json", &body))]
        });
        let (received, ended) = read(&peer.client()).await;
        assert!(received.is_empty());
        let StreamError::Rejected(rejection) = ended.unwrap_err() else { panic!("{status}") };
        assert_eq!((rejection.status, rejection.code), (status, Some(code)));
        assert_eq!(peer.requests().len(), 1, "{status}");
    }
}

#[actix_rt::test]
async fn passing_failures_are_tried_again_no_sooner_than_asked() {
    let peer = Peer::start(|number, request| {
        vec![Act::Send(match number {
            0 => answer_with("503 Busy", "retry-after: 1\r\n", ""),
            1 => answer("429 Slow", "text/plain", "slow down"),
            2 => answer("502 Bad Gateway", "text/html", "<html>"),
            _ => stream(&rest(request)),
        })]
    });
    let begin = Instant::now();
    let (received, ended) = read(&peer.client()).await;
    ended.unwrap();
    assert_eq!((seqs(&received), peer.requests().len()), (ALL.to_vec(), 4));
    assert!(begin.elapsed() >= Duration::from_secs(1));
}

#[actix_rt::test]
async fn no_content_says_that_there_is_nothing_more() {
    let peer = Peer::start(|_, _| vec![Act::Send(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())]);
    let client = peer.client();
    let mut events = client.events_after(&TicketId::new("t1"), 8);
    assert_eq!(events.next().await.unwrap(), None);
    assert_eq!(events.next().await.unwrap(), None);
    assert_eq!(peer.requests()[0].last_event_id(), 8);
    assert_eq!(peer.requests().len(), 1);
}

#[actix_rt::test]
async fn a_page_is_no_stream_and_a_redirect_is_not_followed() {
    let peer = Peer::start(|_, _| vec![Act::Send(answer("200 OK", "text/html; charset=utf-8", "<html>"))]);
    let err = read(&peer.client()).await.1.unwrap_err();
    assert!(matches!(err, StreamError::NotAStream { .. }), "{err:?}");

    let elsewhere = Peer::start(|_, _| vec![Act::Send(stream(&log().concat()))]);
    let target = elsewhere.base();
    let peer = Peer::start(move |_, _| {
        vec![Act::Send(answer_with(
            "307 Elsewhere",
            &format!("location: {target}/v1/asks/t1/events\r\n"),
            "",
        ))]
    });
    let err = read(&peer.client()).await.1.unwrap_err();
    assert!(matches!(err, StreamError::Rejected(rejection) if rejection.status == 307));
    assert!(elsewhere.requests().is_empty(), "the token went elsewhere");
}

#[actix_rt::test]
async fn an_endless_event_is_refused() {
    let peer = Peer::start(|_, _| {
        let mut acts = vec![Act::Send(stream_head()), Act::Send(chunk("data: "))];
        acts.resize(200, Act::Send(chunk(&"x".repeat(1000))));
        acts
    });
    let err = read(&peer.client_with(Limits { event_bytes: 50_000, ..quick() })).await.1.unwrap_err();
    assert!(matches!(err, StreamError::TooLong(_)), "{err:?}");
}

#[actix_rt::test]
async fn an_event_garbled_once_is_asked_for_again_and_twice_is_an_error() {
    let garbled = || {
        let all = log();
        let cut_short = all[2].replace("}\n\n", "\n\n");
        stream(&[&all[0], &all[1], &cut_short].map(String::as_str).concat())
    };
    let peer = Peer::start(move |number, request| {
        vec![Act::Send(if number == 0 { garbled() } else { stream(&rest(request)) })]
    });
    let (received, ended) = read(&peer.client()).await;
    ended.unwrap();
    assert_eq!(seqs(&received), ALL);
    assert_eq!(peer.requests()[1].last_event_id(), 2);

    let peer = Peer::start(move |_, _| vec![Act::Send(garbled())]);
    let (received, ended) = read(&peer.client()).await;
    assert_eq!(seqs(&received), [1, 2]);
    assert!(matches!(ended, Err(StreamError::Malformed(_))), "{ended:?}");
}

#[actix_rt::test]
async fn dropped_steps_are_a_gap_that_done_explains() {
    for (steps, unexplained) in [(3, 0), (2, 1)] {
        let peer = Peer::start(move |_, _| {
            let accepted = log().swap_remove(0);
            let body = [accepted, frame(4, "step", STEP), done(5, steps)].concat();
            vec![Act::Send(stream(&body))]
        });
        let client = peer.client();
        let mut events = client.events(&TicketId::new("t1"));
        while events.next().await.unwrap().is_some() {}
        let stats = events.stats();
        assert_eq!((stats.events, stats.missing, stats.unexplained), (3, 2, unexplained));
    }
}

#[actix_rt::test]
async fn dropping_a_stream_closes_its_connection() {
    let peer = Peer::start(|_, _| {
        vec![Act::Send([stream_head(), chunk(&log().swap_remove(0))].concat()), Act::Hold]
    });
    let client = peer.client();
    let mut events = client.events(&TicketId::new("t1"));
    assert_eq!(events.next().await.unwrap().unwrap().seq, 1);
    drop(events);
    peer.wait_for_release();
}
