//! Whether something answers at an address.

use std::time::Duration;

use awc::http::StatusCode;
use tokio::time::timeout;

/// The longest wait for an answer. All is on this machine.
const LIMIT: Duration = Duration::from_secs(1);

/// Whether a GET of `url` is answered with 200 within a second.
pub(crate) async fn is_healthy(client: &awc::Client, url: &str) -> bool {
    match timeout(LIMIT, client.get(url).send()).await {
        Ok(Ok(response)) => response.status() == StatusCode::OK,
        Ok(Err(_unreachable)) => false,
        Err(_elapsed) => false,
    }
}
