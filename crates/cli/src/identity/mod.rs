//! Who asks: a token that is given, one that a development issuer hands out, or a sign-in that is kept.

mod given;
mod kept;
mod place;
mod resource;
mod session;

use std::path::PathBuf;
use std::rc::Rc;

use ask_client::{Base, Bearer, Credentials};

pub(crate) use ask_signin::{Claims, Order, Pending, Provider, Web, now};
pub(crate) use given::{given, is_given};
pub(crate) use kept::Kept;
pub(crate) use place::Place;
pub(crate) use resource::Resource;
pub(crate) use session::Session;

/// What the caller calls with.
#[derive(Debug)]
pub(crate) enum Caller {
    /// One token for this run.
    Given(Bearer),
    /// A sign-in that renews itself.
    Kept(Rc<Session>),
}

impl Caller {
    /// As the client takes it.
    pub(crate) fn credentials(&self) -> Credentials {
        match self {
            Self::Given(bearer) => bearer.clone().into(),
            Self::Kept(session) => {
                let session: Rc<Session> = Rc::clone(session);
                Credentials::new(session)
            }
        }
    }
}

/// Where the sign-in at a service is kept: below `XDG_STATE_HOME`, else below `~/.local/state`.
///
/// # Errors
///
/// When the environment names no folder.
pub(crate) fn place(base: &Base) -> Result<Place, place::PlaceError> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
    Place::of(&base.to_string(), state.as_deref())
}

/// The sign-in at a service, with its place; `None` where nobody is signed in, or the environment names no folder.
///
/// # Errors
///
/// When what is kept can't be read, or is not the person's own alone.
pub(crate) fn kept(base: &Base) -> Result<Option<(Place, Kept)>, place::PlaceError> {
    match place(base) {
        Err(place::PlaceError::Nowhere) => Ok(None),
        Err(err) => Err(err),
        Ok(place) => Ok(place.read()?.map(|kept| (place, kept))),
    }
}

/// Whether two addresses name one issuer: a slash at the end more or less makes no difference.
pub(crate) fn same_issuer(one: &str, other: &str) -> bool {
    one.trim().trim_end_matches('/') == other.trim().trim_end_matches('/')
}
