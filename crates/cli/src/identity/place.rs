//! Where sign-ins are kept: a folder and files that are the person's own alone.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

use super::kept::{Kept, VERSION};

/// The folder's name below the state folder.
const FOLDER: &str = "ask";
/// More than any sign-in takes.
const MAX_BYTES: u64 = 1 << 20;
/// How long another process may hold a sign-in: one exchange with the provider, and a half.
const LOCK_WITHIN: Duration = Duration::from_secs(30);
/// How often a held sign-in is looked at again.
const LOCK_LOOK: Duration = Duration::from_millis(25);

/// The place of the sign-in at one service.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    folder: PathBuf,
    file: PathBuf,
    service: String,
}

/// A hold on a place, which others wait for; it ends when dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    _lock: File,
}

/// Why a sign-in can't be kept or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    /// The environment names no folder.
    #[error("there is no place for a sign-in: neither XDG_STATE_HOME nor HOME is set")]
    Nowhere,
    /// The system says no.
    #[error("can't {what} {path}", path = path.display())]
    System {
        /// What was to be done.
        what: &'static str,
        /// To what.
        path: PathBuf,
        /// Why it was not.
        #[source]
        source: io::Error,
    },
    /// Others can read it, or write it.
    #[error("{path} is open to others (mode {mode:03o}); it is not used until `chmod {right} {path}`, or sign in again", path = path.display())]
    Open {
        /// The file or folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// The mode that it should have.
        right: &'static str,
    },
    /// It is somebody else's, or no plain file.
    #[error("{path} is not a file or folder of yours; it is not used", path = path.display())]
    NotYours {
        /// The file or folder.
        path: PathBuf,
    },
    /// It is not what was written there.
    #[error("{path} holds no sign-in; sign in again", path = path.display())]
    Garbled {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds it for too long.
    #[error("another `ask` is renewing the sign-in in {path} and does not come to an end", path = path.display())]
    Held {
        /// The file.
        path: PathBuf,
    },
}

impl Place {
    /// The place for a service's sign-in below the state folder.
    ///
    /// # Errors
    ///
    /// When there is no state folder.
    pub(crate) fn of(service: &str, state: Option<&Path>) -> Result<Self, PlaceError> {
        let folder = state.ok_or(PlaceError::Nowhere)?.join(FOLDER);
        // A hash, since an address can be longer than a file's name; half of it, since nobody makes addresses to collide
        // with their own.
        let name = HEXLOWER.encode(Sha256::digest(service).get(..16).unwrap_or_default());
        let file = folder.join(format!("{name}.json"));
        Ok(Self { folder, file, service: service.to_owned() })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.file
    }

    /// Reads the sign-in; `None` where there is none.
    ///
    /// # Errors
    ///
    /// When it is not the person's own alone, or is no sign-in.
    pub(crate) fn read(&self) -> Result<Option<Kept>, PlaceError> {
        let path = &self.file;
        let folder = match fs::metadata(&self.folder) {
            Ok(folder) => folder,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(system("look at", &self.folder)(source)),
        };
        let opened = match File::open(path) {
            Ok(opened) => opened,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(system("open", path)(source)),
        };
        check(&self.folder, &folder, folder.is_dir(), "700")?;
        // What was opened is looked at, not what the name leads to by now.
        let file = opened.metadata().map_err(system("look at", path))?;
        check(path, &file, file.is_file(), "600")?;
        let mut text = Vec::new();
        opened.take(MAX_BYTES).read_to_end(&mut text).map_err(system("read", path))?;
        match serde_json::from_slice::<Kept>(&text) {
            Ok(kept) if kept.version == VERSION && kept.service == self.service => Ok(Some(kept)),
            Ok(_) | Err(_) => Err(PlaceError::Garbled { path: path.clone() }),
        }
    }

    /// Writes the sign-in: at any moment the file is the old one or the new one, whole.
    ///
    /// # Errors
    ///
    /// When the system says no, or the folder is somebody else's.
    pub(crate) fn write(&self, kept: &Kept) -> Result<(), PlaceError> {
        self.prepare()?;
        let text = serde_json::to_vec_pretty(kept)
            .map_err(|err| system("write", &self.file)(io::Error::other(err)))?;
        let new = self.file.with_extension(format!("{}.new", std::process::id()));
        let written = self.write_new(&new, &text);
        if written.is_err() {
            fs::remove_file(&new).unwrap_or_default();
        }
        written
    }

    fn write_new(&self, new: &Path, text: &[u8]) -> Result<(), PlaceError> {
        // One that an earlier process of this id left behind.
        match fs::remove_file(new) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(system("replace", new)(err)),
            Ok(()) | Err(_) => {}
        }
        let mut file = private().write(true).create_new(true).open(new).map_err(system("write", new))?;
        file.write_all(text).and_then(|()| file.sync_all()).map_err(system("write", new))?;
        fs::rename(new, &self.file).map_err(system("write", &self.file))?;
        // So that the new name outlives a loss of power; a file system that can't is no reason to fail.
        File::open(&self.folder).and_then(|folder| folder.sync_all()).unwrap_or_default();
        Ok(())
    }

    /// Removes the sign-in; tells whether there was one.
    ///
    /// # Errors
    ///
    /// When the system says no.
    pub(crate) fn remove(&self) -> Result<bool, PlaceError> {
        match fs::remove_file(&self.file) {
            Ok(()) => Ok(true),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(system("remove", &self.file)(source)),
        }
    }

    /// Holds the place against other processes, so that no two use one refresh token.
    ///
    /// # Errors
    ///
    /// When another process keeps it for too long, or the system has no locks.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: what is dropped holds nothing.
    pub(crate) async fn hold(&self) -> Result<Hold, PlaceError> {
        self.prepare()?;
        let path = self.file.with_extension("lock");
        let lock =
            private().write(true).create(true).truncate(false).open(&path).map_err(system("open", &path))?;
        let until = Instant::now() + LOCK_WITHIN;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Hold { _lock: lock }),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(LOCK_LOOK).await,
                Err(TryLockError::WouldBlock) => return Err(PlaceError::Held { path: self.file.clone() }),
                Err(TryLockError::Error(source)) => return Err(system("lock", &path)(source)),
            }
        }
    }

    /// Makes the folder, or makes one that is there private.
    fn prepare(&self) -> Result<(), PlaceError> {
        let folder = &self.folder;
        if let Some(state) = folder.parent() {
            fs::create_dir_all(state).map_err(system("make", state))?;
        }
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(err) if err.kind() != io::ErrorKind::AlreadyExists => {
                return Err(system("make", folder)(err));
            }
            Ok(()) | Err(_) => {}
        }
        let found = fs::symlink_metadata(folder).map_err(system("look at", folder))?;
        if found.is_dir() && found.uid() == own_id() && found.mode() & 0o077 != 0 {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
                .map_err(system("close", folder))?;
        }
        let folder_now = fs::metadata(folder).map_err(system("look at", folder))?;
        check(folder, &folder_now, folder_now.is_dir(), "700")
    }
}

/// Opens what only its owner can read, whatever the process's mask.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Whether something is of the right kind, the person's own, and closed to everybody else.
fn check(path: &Path, found: &fs::Metadata, is_kind: bool, right: &'static str) -> Result<(), PlaceError> {
    if !is_kind || found.uid() != own_id() {
        return Err(PlaceError::NotYours { path: path.to_owned() });
    }
    let mode = found.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(PlaceError::Open { path: path.to_owned(), mode, right });
    }
    Ok(())
}

fn own_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn system(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PlaceError {
    let path = path.to_owned();
    move |source| PlaceError::System { what, path, source }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use ask_signin::Order;

    /// A state folder of its own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("ask-place-{}-{number}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn place(&self) -> Place {
            Place::of("http://127.0.0.1:8091", Some(&self.0)).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    fn kept() -> Kept {
        let order = Order { client_id: "c".into(), scope: "s".into(), resource: None, audience: None };
        let granted =
            serde_json::from_str(r#"{"access_token":"a","refresh_token":"r","expires_in":60}"#).unwrap();
        Kept::new("http://127.0.0.1:8091".into(), "https://i".into(), order, &granted, 1000)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_is_kept_is_read_again_and_is_private() {
        let folder = Folder::new();
        let place = folder.place();
        assert_eq!(place.read().unwrap(), None);
        place.write(&kept()).unwrap();
        place.write(&kept()).unwrap();
        assert_eq!(place.read().unwrap(), Some(kept()));
        assert_eq!((mode(place.path()), mode(&place.folder)), (0o600, 0o700));
        let names: Vec<_> = fs::read_dir(&place.folder).unwrap().collect();
        assert_eq!(names.len(), 1, "nothing else is left behind: {names:?}");
        assert!(place.remove().unwrap() && !place.remove().unwrap());
        assert_eq!(place.read().unwrap(), None);
    }

    #[test]
    fn what_others_can_reach_is_not_read() {
        let folder = Folder::new();
        let place = folder.place();
        place.write(&kept()).unwrap();
        for open in [0o640, 0o604, 0o660, 0o601] {
            set_mode(place.path(), open);
            let err = place.read().unwrap_err();
            assert!(matches!(err, PlaceError::Open { mode, .. } if mode == open), "{err:?}");
            assert!(err.to_string().contains("chmod 600"), "{err}");
        }
        set_mode(place.path(), 0o600);
        set_mode(&place.folder, 0o755);
        assert!(matches!(place.read(), Err(PlaceError::Open { mode: 0o755, .. })));
        place.write(&kept()).unwrap();
        assert_eq!(mode(&place.folder), 0o700, "signing in again closes the folder");
        assert!(place.read().unwrap().is_some());
    }

    #[test]
    fn what_is_no_sign_in_of_this_service_is_not_used() {
        let folder = Folder::new();
        let place = folder.place();
        place.write(&kept()).unwrap();
        let good = fs::read_to_string(place.path()).unwrap();
        for text in
            ["", "{", "[]", &good.replace("8091", "9"), &good.replace("\"version\": 1", "\"version\": 2")]
        {
            assert_ne!(text, good);
            fs::write(place.path(), text).unwrap();
            assert!(matches!(place.read(), Err(PlaceError::Garbled { .. })), "{text}");
        }
        fs::remove_file(place.path()).unwrap();
        fs::create_dir(place.path()).unwrap();
        assert!(place.read().is_err() && place.write(&kept()).is_err());
        assert!(matches!(Place::of("http://h", None), Err(PlaceError::Nowhere)));
    }

    #[actix_rt::test]
    async fn one_at_a_time_holds_a_place() {
        let folder = Folder::new();
        let place = folder.place();
        let first = place.hold().await.unwrap();
        let second = place.hold();
        tokio::pin!(second);
        let early = tokio::time::timeout(Duration::from_millis(60), &mut second).await;
        assert!(early.is_err(), "it must wait");
        drop(first);
        second.await.unwrap();
    }
}
