//! A model behind one of the two wire protocols.

use ask_llm::{Client, Request, Turn, TurnError};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

use crate::ports::Model;

impl Model for Client {
    fn turn<'a>(&'a self, request: Request<'a>) -> LocalBoxFuture<'a, Result<Turn, TurnError>> {
        Client::turn(self, request).boxed_local()
    }
}
