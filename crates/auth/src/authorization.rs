//! From the value of an `Authorization` header to the token in it.

use crate::denied::Cause;

/// The token of the one `Authorization` header.
///
/// The scheme is compared without regard to case and is followed by spaces alone. The token must be three parts of
/// base64url, which no log line, header or SQL text can be smuggled in.
pub(crate) fn bearer_token(value: Option<&[u8]>, max_bytes: usize) -> Result<&str, Cause> {
    let value = value.ok_or(Cause::NoHeader)?;
    let (scheme, rest) = value.split_at_checked("bearer".len()).ok_or(Cause::NotBearer)?;
    if !scheme.eq_ignore_ascii_case(b"bearer") || rest.first() != Some(&b' ') {
        return Err(Cause::NotBearer);
    }
    let token = rest.trim_ascii_start();
    if token.len() > max_bytes {
        return Err(Cause::TooLong);
    }
    let token = str::from_utf8(token).map_err(|_not_text| Cause::NotAToken)?;
    let is_token = token.split('.').count() == 3
        && token.split('.').all(|part| !part.is_empty())
        && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if is_token { Ok(token) } else { Err(Cause::NotAToken) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_well_formed_token_is_taken() {
        let check = |value: &str| bearer_token(Some(value.as_bytes()), 13).map(str::to_owned);
        assert_eq!(check("Bearer a.b.c"), Ok("a.b.c".into()));
        assert_eq!(check("bearer a.b.c"), Ok("a.b.c".into()));
        assert_eq!(check("BEARER   a.b.c"), Ok("a.b.c".into()));
        assert_eq!(check("Bearer aaaaaaaa.b.cc"), Ok("aaaaaaaa.b.cc".into()));
        for (value, cause) in [
            ("", Cause::NotBearer),
            ("Bearer", Cause::NotBearer),
            ("Bearera.b.c", Cause::NotBearer),
            ("Bearer\ta.b.c", Cause::NotBearer),
            ("Basic a.b.c", Cause::NotBearer),
            ("Bearer ", Cause::NotAToken),
            ("Bearer a.b", Cause::NotAToken),
            ("Bearer a.b.", Cause::NotAToken),
            ("Bearer a.b.c.d", Cause::NotAToken),
            ("Bearer a.b.c ", Cause::NotAToken),
            ("Bearer a.b.c, d", Cause::NotAToken),
            ("Bearer a.b.c=", Cause::NotAToken),
            ("Bearer \"a.b.c\"", Cause::NotAToken),
            ("Bearer a.b.é", Cause::NotAToken),
            ("Bearer aaaaaaaaa.b.cc", Cause::TooLong),
        ] {
            assert_eq!(check(value), Err(cause), "{value:?}");
        }
        assert_eq!(bearer_token(None, 13), Err(Cause::NoHeader));
        assert_eq!(bearer_token(Some(b"Bearer \xff.b.c"), 13), Err(Cause::NotAToken));
    }
}
