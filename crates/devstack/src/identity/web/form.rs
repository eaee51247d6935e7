//! The fields of a form, each at most once.

use std::collections::HashMap;

use url::form_urlencoded;

use super::super::grants::GrantError;
use super::super::issuer::Settings;
use super::super::shape::Shape;

/// The fields of an OAuth request.
#[derive(Debug)]
pub(super) struct Form(HashMap<String, String>);

impl Form {
    /// Reads a body of `application/x-www-form-urlencoded`. A field that comes twice is refused, as RFC 6749 has it.
    pub(super) fn read(body: &[u8]) -> Result<Self, GrantError> {
        let mut fields = HashMap::new();
        for (name, value) in form_urlencoded::parse(body) {
            if fields.insert(name.into_owned(), value.into_owned()).is_some() {
                return Err(GrantError::InvalidRequest);
            }
        }
        Ok(Self(fields))
    }

    /// A field's value, unless it is absent or empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A field that must be there.
    pub(super) fn require(&self, name: &str) -> Result<&str, GrantError> {
        self.get(name).ok_or(GrantError::InvalidRequest)
    }

    /// How the wanted token differs from a good one.
    pub(super) fn shape(&self) -> Result<Shape, GrantError> {
        let expires_in = match self.get("x_expires_in") {
            Some(seconds) => Some(seconds.parse().map_err(|_no_number| GrantError::InvalidRequest)?),
            None => None,
        };
        Ok(Shape {
            audience: self.get("x_aud").map(str::to_owned),
            // Here the empty value means something: no scope at all.
            scopes: self.0.get("x_scp").cloned(),
            expires_in,
        })
    }

    /// Checks the `scope` field: none, or words of which at least one is this resource's.
    pub(super) fn check_scope(&self, settings: &Settings) -> Result<Scope, GrantError> {
        let Some(asked) = self.get("scope") else { return Ok(Scope::default()) };
        let mut of_resource = false;
        let mut scope = Scope::default();
        for word in asked.split_ascii_whitespace() {
            match word.strip_prefix(settings.audience.as_str()).and_then(|rest| rest.strip_prefix('/')) {
                Some(name) if name == settings.scope || name == ".default" => of_resource = true,
                Some(_unknown) => return Err(GrantError::InvalidScope),
                None => match word {
                    "openid" => scope.openid = true,
                    "profile" | "email" | "offline_access" => (),
                    _unknown => return Err(GrantError::InvalidScope),
                },
            }
        }
        if of_resource { Ok(scope) } else { Err(GrantError::InvalidScope) }
    }
}

/// What the client asked for beside the access token.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Scope {
    /// Whether it wants to know who signed in.
    pub(super) openid: bool,
}
