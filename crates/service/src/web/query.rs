//! Parameters of a URL: each at most once, and named where it is wrong.

use actix_web::HttpRequest;
use actix_web::web::Query;
use ask_contract::ProblemCode;
use ask_core::page::{DEFAULT_LIMIT, MOST, Place};

use super::ApiError;

/// The longest wait for an ending, in seconds: most gateways give an answer a minute.
const LONGEST_WAIT_S: u64 = 60;

/// What stands behind the `?`; parameters that nobody asks for are let be.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Those of a request.
    pub(super) fn of(request: &HttpRequest) -> Result<Self, ApiError> {
        Query::<Vec<(String, String)>>::from_query(request.query_string())
            .map(|pairs| Self(pairs.into_inner()))
            .map_err(|_err| invalid("the query can't be read"))
    }

    /// The value of one, if it is there.
    pub(super) fn get(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.0.iter().filter(|(other, _)| other == name).map(|(_, value)| value.as_str());
        let first = values.next();
        if values.next().is_some() {
            return Err(invalid(format!("{name}: must not come twice")));
        }
        Ok(first)
    }

    /// The event that a reader has seen. Two of them name none, like a text that is no number.
    pub(super) fn after(&self) -> Option<&str> {
        self.get("after").ok().flatten()
    }

    /// How long an answer may wait for the end of an ask.
    pub(super) fn wait(&self) -> Result<std::time::Duration, ApiError> {
        self.number("wait", 0, 0, LONGEST_WAIT_S).map(std::time::Duration::from_secs)
    }

    /// How much of a list is asked for, and behind which place.
    pub(super) fn page(&self) -> Result<(usize, Option<Place>), ApiError> {
        let most = u64::try_from(MOST).unwrap_or(u64::MAX);
        let default = u64::try_from(DEFAULT_LIMIT).unwrap_or(u64::MAX);
        let limit = usize::try_from(self.number("limit", default, 1, most)?).unwrap_or(MOST);
        let after = self.get("after")?.map(str::parse).transpose();
        Ok((limit, after.map_err(|err| invalid(format!("after: {err}")))?))
    }

    fn number(&self, name: &str, default: u64, least: u64, most: u64) -> Result<u64, ApiError> {
        let Some(text) = self.get(name)? else { return Ok(default) };
        let plain = (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| plain && (least..=most).contains(number));
        number.ok_or_else(|| invalid(format!("{name}: must be a whole number, {least} to {most}")))
    }
}

fn invalid(detail: impl Into<String>) -> ApiError {
    ApiError::with_detail(ProblemCode::InvalidRequest, detail)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn parameters(query: &str) -> Parameters {
        Parameters::of(&TestRequest::with_uri(&format!("/x?{query}")).to_http_request()).unwrap()
    }

    #[test]
    fn numbers_are_whole_and_within_their_bounds() {
        for (query, expected) in
            [("", Some(0)), ("wait=0", Some(0)), ("wait=25&x=1", Some(25)), ("wait=60", Some(60))]
        {
            assert_eq!(parameters(query).wait().ok().map(|wait| wait.as_secs()), expected, "{query}");
        }
        for query in [
            "wait=61",
            "wait=",
            "wait=-1",
            "wait=%2B1",
            "wait=1.5",
            "wait=x",
            "wait=1&wait=1",
            "wait=99999999999999999999999",
        ] {
            assert!(parameters(query).wait().is_err(), "{query}");
        }
        assert!(parameters("limit=0").page().is_err() && parameters("limit=101").page().is_err());
        assert!(parameters("after=x").page().is_err());
        assert_eq!(parameters("after=5").after(), Some("5"));
        assert_eq!(parameters("after=5&after=6").after(), None);
        assert_eq!(parameters("limit=100&after=1.c_a").page().ok().map(|(limit, _)| limit), Some(100));
    }
}
