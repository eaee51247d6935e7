//! Tokens that must be let in, and what is read from them.

use ask_auth::{Denied, Subject};
use serde_json::json;

use crate::issuer::{AUDIENCE, ISSUER, NOW, RSA, Signer, World, claims, claims_with, header};

#[tokio::test]
async fn a_good_token_tells_who_is_calling() {
    let world = World::with(&[("k1", &RSA)]).await;
    let token = RSA.good("k1");
    let identity = world.verify(&token).await.unwrap();
    assert_eq!(identity.oid, "0d9c7f5e-object");
    assert_eq!(identity.owner.issuer(), ISSUER);
    assert_eq!(identity.owner.tenant(), Some("tenant-1"));
    assert_eq!(identity.owner.subject(), &Subject::Object("0d9c7f5e-object".into()));
    assert_eq!(identity.roles, ["finance"]);
    assert_eq!(identity.scopes, ["openid", "access_as_user"]);
    assert_eq!(identity.expires_at.unix_timestamp(), NOW + 3600);
    assert_eq!(identity.bearer.expose(), token);
    assert!(!format!("{identity:?}").contains(&token));
}

#[tokio::test]
async fn every_algorithm_that_a_key_can_have_is_verified() {
    let signers = [
        Signer::rsa("RS256"),
        Signer::rsa("RS384"),
        Signer::rsa("RS512"),
        Signer::rsa("PS256"),
        Signer::ec("ES256"),
        Signer::ec("ES384"),
        Signer::ed(),
    ];
    let keys: Vec<_> = signers.iter().map(|signer| (signer.alg(), signer)).collect();
    let world = World::with(&keys).await;
    for signer in &signers {
        let verified = world.verify(&signer.good(signer.alg())).await;
        assert!(verified.is_ok(), "{}", signer.alg());
    }
}

#[tokio::test]
async fn what_may_vary_is_let_in() {
    let world = World::with(&[("k1", &RSA)]).await;
    let bound = claims_with("exp", json!(NOW + 86_400));
    let cases = [
        ("several audiences", claims_with("aud", json!(["api://other", AUDIENCE]))),
        ("scope among the roles", {
            let mut claims = claims_with("scp", json!(null));
            claims["roles"] = json!(["finance", "access_as_user"]);
            claims
        }),
        ("scope as the one role", {
            let mut claims = claims_with("scp", json!(null));
            claims["roles"] = json!("access_as_user");
            claims
        }),
        ("no roles", claims_with("roles", json!(null))),
        ("no tenant", claims_with("tid", json!(null))),
        ("no nbf", claims_with("nbf", json!(null))),
        ("no iat", claims_with("iat", json!(null))),
        ("a fraction of a second", claims_with("exp", json!(1_800_003_600.5))),
        ("a day of life", bound),
        ("a clock slightly ahead", claims_with("nbf", json!(NOW + 9))),
        ("just expired", claims_with("exp", json!(NOW - 9))),
        ("claims nobody knows", claims_with("xms_future", json!({ "deep": [1, 2] }))),
    ];
    for (name, mut claims) in cases {
        if name == "just expired" {
            claims["iat"] = json!(NOW - 3600);
            claims["nbf"] = json!(NOW - 3600);
        }
        let token = RSA.token(&header("RS256", "k1").to_string(), &claims.to_string());
        assert!(world.verify(&token).await.is_ok(), "{name}");
    }
}

#[tokio::test]
async fn headers_that_point_to_other_keys_are_not_followed() {
    let world = World::with(&[("k1", &RSA)]).await;
    for (member, value) in [
        ("jku", json!("http://127.0.0.1:9/keys")),
        ("x5u", json!("http://127.0.0.1:9/cert")),
        ("x5c", json!(["MIIB"])),
        ("jwk", json!({ "kty": "oct", "k": "AAAA" })),
        ("typ", json!("at+jwt")),
    ] {
        let mut header = header("RS256", "k1");
        header[member] = value;
        let token = RSA.token(&header.to_string(), &claims().to_string());
        assert!(world.verify(&token).await.is_ok(), "{member}");
    }
    assert_eq!(world.published.fetches(), 1);
}

#[tokio::test]
async fn the_scheme_is_read_without_regard_to_case() {
    let world = World::with(&[("k1", &RSA)]).await;
    let token = RSA.good("k1");
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
        assert!(world.verifier.verify(Some(format!("{scheme} {token}").as_bytes())).await.is_ok());
        let sole = format!("{scheme} {token}");
        assert!(world.verifier.verify_sole([sole.as_bytes()]).await.is_ok());
    }
}

#[tokio::test]
async fn an_owner_is_the_subject_and_never_the_name() {
    let world = World::with(&[("k1", &RSA)]).await;
    let owner = async |claims: serde_json::Value| {
        let token = RSA.token(&header("RS256", "k1").to_string(), &claims.to_string());
        world.verify(&token).await.unwrap().owner.clone()
    };
    let carol = owner(claims()).await;
    assert_eq!(carol, owner(claims_with("name", json!("Someone else"))).await);
    assert_eq!(carol, owner(claims_with("preferred_username", json!("moved@sample.example"))).await);
    assert_eq!(carol, owner(claims_with("sub", json!("another application's subject"))).await);
    assert_ne!(carol, owner(claims_with("oid", json!("another object"))).await);
    assert_ne!(carol, owner(claims_with("tid", json!("another tenant"))).await);
    // A subject that spells another caller's object id is still another caller.
    let mut look_alike = claims_with("oid", json!(null));
    look_alike["sub"] = json!("0d9c7f5e-object");
    assert_ne!(carol, owner(look_alike).await);
}

#[tokio::test]
async fn a_valid_token_without_the_scope_is_told_so() {
    let world = World::with(&[("k1", &RSA)]).await;
    for claims in [
        claims_with("scp", json!(null)),
        claims_with("scp", json!("")),
        claims_with("scp", json!("access_as_user2 xaccess_as_user")),
        claims_with("scp", json!("Access_As_User")),
        claims_with("scp", json!("access_as_user,openid")),
        claims_with("scp", json!("access_as_user\topenid")),
    ] {
        let token = RSA.token(&header("RS256", "k1").to_string(), &claims.to_string());
        assert_eq!(world.verify(&token).await.unwrap_err(), Denied::MissingScope, "{claims}");
    }
}
