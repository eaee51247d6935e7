//! Replies that are cut, too large, of the wrong kind, or no success.

use std::time::{Duration, Instant};

use ask_mcp::{CallError, CallResult, Content, Version};
use serde_json::{Value, json};

use crate::peer::{
    Peer, Reply, Seen, Step, chunk, json_reply, new, no_args, old, response, result, rpc_error, text_result,
    write,
};

const JSON_CHUNKED: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";

/// The first half of a text without multi-byte characters.
fn half(text: &str) -> &str {
    text.split_at(text.len() / 2).0
}

async fn call(reply: impl Fn(&Seen) -> Reply + 'static) -> Result<CallResult, CallError> {
    let peer = Peer::start(new(reply)).await;
    peer.session().await.call("t", &no_args()).await
}

#[actix_rt::test]
async fn a_json_reply_is_read_whole() {
    let done = call(|r| {
        let structured = json!({"rows": [[1]]});
        let body = json!({"content": [{"type": "text", "text": structured.to_string()}],
            "structuredContent": structured, "isError": false});
        json_reply(&result(r, &body))
    })
    .await
    .unwrap();
    assert!(!done.is_error);
    assert_eq!(done.structured, Some(json!({"rows": [[1]]})));
    assert_eq!(done.content, [Content::Text(r#"{"rows":[[1]]}"#.to_owned())]);
}

#[actix_rt::test]
async fn a_tools_own_error_is_a_result() {
    let failed = call(|r| {
        let body = json!({"content": [], "isError": true,
            "structuredContent": {"error": {"code": "access", "message": "m"}}});
        json_reply(&result(r, &body))
    })
    .await
    .unwrap();
    assert!(failed.is_error);
}

#[actix_rt::test]
async fn a_truncated_reply_is_an_error_however_it_is_framed() {
    let cuts: [fn(String) -> Reply; 5] = [
        // Shorter than announced.
        |body| {
            let half = half(&body);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
            let length = body.len();
            vec![write(format!("{head}content-length: {length}\r\n\r\n{half}")), Step::Close]
        },
        // In the middle of a chunk.
        |body| {
            let whole = chunk(&body);
            vec![write(JSON_CHUNKED), write(&whole[..whole.len() / 2]), Step::Close]
        },
        // Between chunks, without the last one.
        |body| vec![write(JSON_CHUNKED), Step::Write(chunk(half(&body))), Step::Close],
        // Whole, but ended by the close alone, which the HTTP client reads as empty.
        |body| {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
            vec![write(format!("{head}connection: close\r\n\r\n{body}")), Step::Close]
        },
        // With a reset.
        |body| {
            vec![
                write(JSON_CHUNKED),
                Step::Write(chunk(half(&body))),
                Step::Pause(Duration::from_millis(50)),
                Step::Reset,
            ]
        },
    ];
    for cut in cuts {
        let failed = call(move |r| cut(result(r, &text_result("done")).to_string())).await;
        assert!(matches!(failed, Err(CallError::Malformed { .. } | CallError::Incomplete)), "{failed:?}");
    }
}

#[actix_rt::test]
async fn a_connection_that_closes_before_the_reply_is_unreachable() {
    for last in [|| Step::Close, || Step::Reset] {
        let failed = call(move |_| vec![last()]).await;
        assert!(matches!(failed, Err(CallError::Unreachable(_))), "{failed:?}");
    }
}

#[actix_rt::test]
async fn a_reply_of_a_hundred_megabytes_is_refused_at_once() {
    let announced = call(|_| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
        vec![write(format!("{head}content-length: 104857600\r\n\r\n")), Step::AwaitClose]
    });
    let started = Instant::now();
    assert!(matches!(announced.await, Err(CallError::TooLarge { limit: 1_048_576 })));
    assert!(started.elapsed() < Duration::from_secs(2));
    let unannounced = call(|_| {
        let piece = chunk(&" ".repeat(64 * 1024));
        vec![write(JSON_CHUNKED), Step::Flood(piece)]
    });
    assert!(matches!(unannounced.await, Err(CallError::TooLarge { .. })));
}

#[actix_rt::test]
async fn replies_of_another_kind_are_malformed() {
    let replies: [fn(&Seen) -> Reply; 8] = [
        |_| response(202, "", ""),
        |_| response(200, "content-type: application/json\r\n", ""),
        |_| response(200, "content-type: text/html\r\n", "<p>sign in</p>"),
        |r| {
            let body = result(r, &text_result("x")).to_string();
            response(200, "content-type: application/jsonp\r\n", &body)
        },
        |r| {
            let body = result(r, &text_result("x")).to_string();
            let headers = "content-type: application/json\r\ncontent-encoding: gzip\r\n";
            response(200, headers, &body)
        },
        |r| json_reply(&json!([result(r, &text_result("x"))])),
        |r| json_reply(&result(r, &json!("not an object"))),
        |_| json_reply(&json!({"jsonrpc": "2.0", "method": "notifications/message"})),
    ];
    for reply in replies {
        let failed = call(reply).await;
        assert!(matches!(failed, Err(CallError::Malformed { .. })), "{failed:?}");
    }
}

#[actix_rt::test]
async fn deep_json_is_malformed_and_does_not_overflow_the_stack() {
    let failed = call(|r| {
        let id = r.id();
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"structuredContent":{deep}}}}}"#);
        response(200, "content-type: application/json\r\n", &body)
    })
    .await;
    assert!(matches!(failed, Err(CallError::Malformed { .. })), "{failed:?}");
}

#[actix_rt::test]
async fn the_content_type_may_have_parameters_and_any_case() {
    let done = call(|r| {
        let body = result(r, &text_result("x")).to_string();
        response(200, "Content-Type: Application/JSON; charset=utf-8\r\n", &body)
    })
    .await;
    assert!(done.is_ok(), "{done:?}");
}

#[actix_rt::test]
async fn statuses_are_named_with_the_time_to_wait() {
    let date = "date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    let at = "retry-after: Sun, 06 Nov 1994 08:50:07 GMT\r\n";
    let cases = [
        (429, "retry-after: 12\r\n".to_owned(), Some(12)),
        (503, format!("{date}{at}"), Some(30)),
        (429, "retry-after: soon\r\n".to_owned(), None),
        (401, String::new(), None),
        (500, String::new(), None),
    ];
    for (status, headers, wait) in cases {
        let failed = call(move |_| response(status, &headers, "oh no")).await;
        let Err(CallError::Status { status: seen, retry_after }) = failed else {
            panic!("{failed:?}");
        };
        assert_eq!(seen, status);
        assert_eq!(retry_after, wait.map(Duration::from_secs));
    }
}

#[actix_rt::test]
async fn errors_of_the_protocol_are_named_with_their_code() {
    for status in [200, 400, 404] {
        let failed = call(move |r| {
            let body = rpc_error(r, -32602, &Value::Null).to_string();
            response(status, "content-type: application/json\r\n", &body)
        })
        .await;
        let Err(CallError::Rpc { code, message }) = failed else {
            panic!("{failed:?}");
        };
        assert_eq!((code, message.as_str()), (-32602, "no"));
    }
}

#[actix_rt::test]
async fn a_status_that_says_how_long_to_wait_goes_before_the_error_in_its_body() {
    for status in [401, 403, 429, 503] {
        let failed = call(move |r| {
            let body = rpc_error(r, -32000, &Value::Null).to_string();
            let headers = "content-type: application/json\r\nretry-after: 3\r\n";
            response(status, headers, &body)
        })
        .await;
        let retry_after = Some(Duration::from_secs(3));
        assert_eq!(failed, Err(CallError::Status { status, retry_after }));
    }
}

#[actix_rt::test]
async fn a_failed_request_with_an_endless_body_ends() {
    let failed = call(|_| {
        let head = "HTTP/1.1 500 X\r\ntransfer-encoding: chunked\r\n\r\n";
        vec![write(head), Step::Flood(chunk(&"x".repeat(8192)))]
    })
    .await;
    assert!(matches!(failed, Err(CallError::Status { status: 500, .. })));
}

#[actix_rt::test]
async fn a_batch_is_read_in_the_version_that_has_them() {
    let peer = Peer::start(old(Version::V2025_03_26, None, |r| {
        json_reply(&json!([
            {"jsonrpc": "2.0", "method": "notifications/progress"},
            result(r, &text_result("x"))
        ]))
    }))
    .await;
    assert!(peer.session().await.call("t", &no_args()).await.is_ok());
}

#[actix_rt::test]
async fn a_result_that_asks_for_input_is_not_a_result() {
    let failed = call(|r| {
        let body = json!({"resultType": "input_required", "inputRequests": {}});
        json_reply(&result(r, &body))
    })
    .await;
    assert!(matches!(failed, Err(CallError::Unsupported { .. })));
}
