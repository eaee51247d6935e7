//! The three people of the sample stack.

/// Somebody who can sign in.
#[derive(Debug, PartialEq, Eq)]
pub struct Person {
    /// What they sign in with.
    pub username: &'static str,
    /// What they are called.
    pub name: &'static str,
    /// Their object id, the same in every run.
    pub oid: &'static str,
    /// Their subject for this one application, the same in every run.
    pub sub: &'static str,
    /// The roles that the sources know them by.
    pub roles: &'static [&'static str],
}

/// Everybody: an analyst without sight of personal data, somebody from finance who sees all, and somebody with no role.
pub static PEOPLE: [Person; 3] = [
    Person {
        username: "alice",
        name: "Alice Analyst",
        oid: "a11ce000-1111-4a11-8a11-0000000000a1",
        sub: "s-alice-5f0c2d7e91",
        roles: &["analyst"],
    },
    Person {
        username: "carol",
        name: "Carol Finance",
        oid: "ca401000-3333-4c33-8c33-0000000000c3",
        sub: "s-carol-1b86a4f02c",
        roles: &["finance"],
    },
    Person {
        username: "bob",
        name: "Bob Guest",
        oid: "b0b00000-2222-4b22-8b22-0000000000b2",
        sub: "s-bob-c93e7d5a18",
        roles: &[],
    },
];

/// Who one is when one does not say.
pub const DEFAULT_PERSON: &str = "carol";

/// The domain of their sign-in names.
pub(crate) const DOMAIN: &str = "sample.example";

/// The person with this name, with or without the domain.
pub fn find(username: &str) -> Option<&'static Person> {
    let local = username.strip_suffix(DOMAIN).and_then(|rest| rest.strip_suffix('@')).unwrap_or(username);
    PEOPLE.iter().find(|person| person.username == local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_found_by_their_sign_in_name_alone() {
        assert_eq!(find("alice").unwrap().roles, ["analyst"]);
        assert_eq!(find("bob@sample.example").unwrap().name, "Bob Guest");
        assert!(find(DEFAULT_PERSON).is_some());
        for nobody in ["", "Alice", "mallory", "alice@evil.example", "@sample.example", "Alice Analyst"] {
            assert!(find(nobody).is_none(), "{nobody}");
        }
    }
}
