//! The headers that keep the page to what it is: its own files, its own service, its own issuer.

use crate::config::{Config, ConfigError};

/// The headers of every file, for this deployment: names in lower case, with their values.
///
/// The policy allows no inline script, no inline style, no frame around the page and no call but to the page's own origin and the
/// issuer's. It also has the browser refuse every assignment of text as HTML.
///
/// # Errors
///
/// When the configuration names an address that no browser can call.
pub fn headers(config: &Config) -> Result<Vec<(&'static str, String)>, ConfigError> {
    config.check_mount()?;
    let connect = config.origins()?.join(" ");
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; \
         connect-src 'self' {connect}; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    );
    Ok(vec![
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff".to_owned()),
        ("x-frame-options", "DENY".to_owned()),
        ("referrer-policy", "no-referrer".to_owned()),
        ("cross-origin-opener-policy", "same-origin".to_owned()),
        ("cross-origin-resource-policy", "same-origin".to_owned()),
        ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()".to_owned()),
    ])
}
