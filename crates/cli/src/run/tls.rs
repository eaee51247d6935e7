//! Whom connections trust.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::args::Access;

/// The settings for the authorities that the person names; `None` stands for the public ones.
///
/// # Errors
///
/// When the file can't be read or holds no certificate.
pub(super) fn tls(access: &Access) -> anyhow::Result<Option<Arc<rustls::ClientConfig>>> {
    let path = access.ca_file.as_ref().filter(|path| !path.as_os_str().is_empty());
    let Some(path) = path else { return Ok(None) };
    let mut roots = rustls::RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(path).with_context(|| format!("can't read {}", path.display()))?;
    for certificate in certificates {
        let certificate = certificate.with_context(|| format!("{} is not PEM", path.display()))?;
        roots.add(certificate).with_context(|| format!("{} holds what is no certificate", path.display()))?;
    }
    if roots.is_empty() {
        bail!("{} holds no certificate", path.display());
    }
    let mut tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Some(Arc::new(tls)))
}
