//! Tokens that must not be let in, one row for each way of being wrong, and all with the same answer.

use ask_auth::Denied;
use serde_json::{Value, json};

use crate::issuer::{AUDIENCE, ISSUER, NOW, OTHER_RSA, RSA, Signer, World, b64, claims, claims_with, header};

/// A header with one member set, or taken out by null.
fn header_with(member: &str, value: Value) -> String {
    let mut header = header("RS256", "k1");
    let members = header.as_object_mut().unwrap();
    if value.is_null() {
        members.remove(member);
    } else {
        members.insert(member.to_owned(), value);
    }
    header.to_string()
}

async fn all_refused(world: &World, rows: Vec<(&str, String)>) {
    for (name, token) in rows {
        assert_eq!(world.verify(&token).await.unwrap_err(), Denied::Unauthenticated, "{name}");
    }
    assert!(world.verify(&RSA.good("k1")).await.is_ok(), "the rows must fail for their own reasons");
}

#[tokio::test]
async fn tokens_with_a_wrong_header_are_refused() {
    let world = World::with(&[("k1", &RSA)]).await;
    let good = claims().to_string();
    let signed = |header: String| RSA.token(&header, &good);
    let unsigned = format!("{}.{}.", b64(br#"{"alg":"none","kid":"k1"}"#), b64(good.as_bytes()));
    // The classic confusion: the public key's text as the secret of an HMAC. No HMAC is ever computed, so any will do.
    let hmac = {
        let key = aws_lc_rs::hmac::Key::new(
            aws_lc_rs::hmac::HMAC_SHA256,
            RSA.jwk("k1")["n"].as_str().unwrap().as_bytes(),
        );
        let message =
            format!("{}.{}", b64(header("HS256", "k1").to_string().as_bytes()), b64(good.as_bytes()));
        format!("{message}.{}", b64(aws_lc_rs::hmac::sign(&key, message.as_bytes()).as_ref()))
    };
    let embedded = {
        let mut header = header("RS256", "k1");
        header["jwk"] = OTHER_RSA.jwk("k1");
        OTHER_RSA.token(&header.to_string(), &good)
    };
    all_refused(
        &world,
        vec![
            ("alg none, no signature", unsigned),
            ("alg none, signed", signed(header_with("alg", json!("none")))),
            ("alg None", signed(header_with("alg", json!("None")))),
            ("HMAC with the public key", hmac),
            ("alg HS256", signed(header_with("alg", json!("HS256")))),
            ("alg of the same family", signed(header_with("alg", json!("RS512")))),
            ("alg PS256 on an RS256 key", signed(header_with("alg", json!("PS256")))),
            ("alg of another family", signed(header_with("alg", json!("ES256")))),
            ("alg in lower case", signed(header_with("alg", json!("rs256")))),
            ("no alg", signed(header_with("alg", json!(null)))),
            ("alg not a string", signed(header_with("alg", json!(["RS256"])))),
            ("no kid", signed(header_with("kid", json!(null)))),
            ("empty kid", signed(header_with("kid", json!("")))),
            ("kid not a string", signed(header_with("kid", json!(1)))),
            ("kid in other case", signed(header_with("kid", json!("K1")))),
            ("kid as a path", signed(header_with("kid", json!("../../dev/null")))),
            ("huge kid", signed(header_with("kid", json!("k".repeat(5000))))),
            ("crit", signed(header_with("crit", json!(["exp"])))),
            ("crit b64", signed(r#"{"alg":"RS256","kid":"k1","crit":["b64"],"b64":true}"#.into())),
            ("empty crit", signed(header_with("crit", json!([])))),
            ("null crit", signed(r#"{"alg":"RS256","kid":"k1","crit":null}"#.into())),
            ("b64 false", signed(header_with("b64", json!(false)))),
            ("zip", signed(header_with("zip", json!("DEF")))),
            ("enc", signed(header_with("enc", json!("A128GCM")))),
            ("nested token", signed(header_with("cty", json!("JWT")))),
            ("logout token", signed(header_with("typ", json!("logout+jwt")))),
            ("DPoP proof", signed(header_with("typ", json!("dpop+jwt")))),
            ("two algs", signed(r#"{"alg":"none","alg":"RS256","kid":"k1"}"#.into())),
            ("header an array", signed("[]".into())),
            ("header no JSON", signed("alg=RS256".into())),
            (
                "header deeply nested",
                signed(format!(r#"{{"alg":"RS256","kid":"k1","x":{}}}"#, "[".repeat(9000))),
            ),
            ("own key in the header", embedded),
        ],
    )
    .await;
}

#[tokio::test]
async fn tokens_with_wrong_claims_are_refused() {
    let world = World::with(&[("k1", &RSA)]).await;
    let mut rows: Vec<(&str, Value)> = vec![
        ("no exp", claims_with("exp", json!(null))),
        ("exp as text", claims_with("exp", json!((NOW + 3600).to_string()))),
        ("exp an array", claims_with("exp", json!([NOW + 3600]))),
        ("exp negative", claims_with("exp", json!(-1))),
        ("exp huge", claims_with("exp", json!(u64::MAX))),
        ("exp very huge", claims_with("exp", json!(1e300))),
        ("exp true", claims_with("exp", json!(true))),
        ("expired by the leeway", claims_with("exp", json!(NOW - 10))),
        ("expired by 50 s", claims_with("exp", json!(NOW - 50))),
        ("expired long ago", claims_with("exp", json!(NOW - 86_400))),
        ("no iss", claims_with("iss", json!(null))),
        ("another issuer", claims_with("iss", json!("https://evil.example/tenant/v2.0"))),
        ("issuer with a slash", claims_with("iss", json!(format!("{ISSUER}/")))),
        ("issuer in upper case", claims_with("iss", json!(ISSUER.to_uppercase()))),
        ("issuer among others", claims_with("iss", json!([ISSUER]))),
        ("another tenant's issuer", claims_with("iss", json!("https://login.example/tenant2/v2.0"))),
        ("no aud", claims_with("aud", json!(null))),
        ("another aud", claims_with("aud", json!("api://other"))),
        ("aud a prefix", claims_with("aud", json!("api://data-agent"))),
        ("aud longer", claims_with("aud", json!(format!("{AUDIENCE}/x")))),
        ("aud empty", claims_with("aud", json!([]))),
        ("aud mixed", claims_with("aud", json!([AUDIENCE, 1]))),
        ("aud nested", claims_with("aud", json!([[AUDIENCE]]))),
        ("aud an object", claims_with("aud", json!({ AUDIENCE: true }))),
        ("oid a number", claims_with("oid", json!(7))),
        ("oid empty", claims_with("oid", json!(""))),
        ("oid blank", claims_with("oid", json!("  "))),
        ("oid with a line end", claims_with("oid", json!("a\naudit {}"))),
        ("oid huge", claims_with("oid", json!("o".repeat(257)))),
        ("sub a number", claims_with("sub", json!(7))),
        ("tid an array", claims_with("tid", json!(["tenant-1"]))),
        ("nbf ahead", claims_with("nbf", json!(NOW + 11))),
        ("nbf as text", claims_with("nbf", json!("1"))),
        ("iat ahead", claims_with("iat", json!(NOW + 11))),
        ("iat as text", claims_with("iat", json!("1"))),
        ("scp mixed", claims_with("scp", json!(["access_as_user", 1]))),
        ("scp an object", claims_with("scp", json!({ "access_as_user": true }))),
        ("scp a number", claims_with("scp", json!(1))),
        ("roles an object", claims_with("roles", json!({ "finance": true }))),
        ("roles mixed", claims_with("roles", json!(["finance", 1]))),
        ("too many roles", claims_with("roles", json!(vec!["r"; 257]))),
        ("lives for a year", claims_with("exp", json!(NOW + 365 * 86_400))),
        ("bound to its sender", claims_with("cnf", json!({ "jkt": "x" }))),
    ];
    let mut nobody = claims_with("oid", json!(null));
    nobody.as_object_mut().unwrap().remove("sub");
    rows.push(("no subject", nobody));
    let mut old = claims_with("iat", json!(NOW - 86_400 * 2));
    old["nbf"] = json!(NOW - 86_400 * 2);
    rows.push(("issued two days ago for longer", old));
    let mut undated = claims_with("iat", json!(null));
    undated.as_object_mut().unwrap().remove("nbf");
    undated["exp"] = json!(NOW + 86_400 * 2);
    rows.push(("without a beginning, two days to go", undated));

    let header = header("RS256", "k1").to_string();
    let mut tokens: Vec<(&str, String)> =
        rows.iter().map(|(name, claims)| (*name, RSA.token(&header, &claims.to_string()))).collect();
    let text = claims().to_string();
    let twice = |member: &str| text.replacen('{', &format!("{{{member},"), 1);
    for (name, claims) in [
        ("claims an array", "[]".to_owned()),
        ("claims no JSON", "iss=x".to_owned()),
        ("claims cut short", text[..text.len() - 1].to_owned()),
        ("claims with more behind", format!("{text} {{}}")),
        ("exp twice", twice(r#""exp":9999999999"#)),
        ("iss twice", twice(r#""iss":"https://evil.example""#)),
        ("aud twice", twice(r#""aud":"api://other""#)),
        ("oid twice", twice(r#""oid":"someone else""#)),
        ("scp twice", twice(r#""scp":"access_as_user""#)),
        ("roles twice", twice(r#""roles":["finance"]"#)),
        ("null roles", text.replace(r#""roles":["finance"]"#, r#""roles":null"#)),
        ("null nbf", text.replace(&format!(r#""nbf":{NOW}"#), r#""nbf":null"#)),
        ("null oid", text.replace(r#""oid":"0d9c7f5e-object""#, r#""oid":null"#)),
    ] {
        assert_ne!(claims, text, "{name}");
        tokens.push((name, RSA.token(&header, &claims)));
    }
    all_refused(&world, tokens).await;
}

#[tokio::test]
async fn tokens_with_a_wrong_signature_are_refused() {
    let ec = Signer::ec("ES256");
    let ed = Signer::ed();
    let world = World::with(&[("k1", &RSA), ("e", &ec), ("o", &ed)]).await;
    let good = RSA.good("k1");
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let other_claims = claims_with("oid", json!("someone else")).to_string();
    let (head, _) = signed.split_once('.').unwrap();
    let flipped: String = {
        let mut chars: Vec<char> = signature.chars().collect();
        chars[10] = if chars[10] == 'A' { 'B' } else { 'A' };
        chars.into_iter().collect()
    };
    let on_curve = ec.good("e");
    let (curve_signed, _) = on_curve.rsplit_once('.').unwrap();
    let edwards = ed.good("o");
    let (edwards_signed, _) = edwards.rsplit_once('.').unwrap();
    all_refused(
        &world,
        vec![
            ("another key", OTHER_RSA.good("k1")),
            ("another key of the set", ec.token(&header("ES256", "k1").to_string(), &claims().to_string())),
            ("claims exchanged", format!("{head}.{}.{signature}", b64(other_claims.as_bytes()))),
            ("one letter", format!("{signed}.{flipped}")),
            ("cut short", format!("{signed}.{}", &signature[..signature.len() - 4])),
            ("longer", format!("{signed}.{signature}AAAA")),
            ("one byte", format!("{signed}.AA")),
            ("all zero", format!("{signed}.{}", b64(&[0; 256]))),
            ("zero r and s", format!("{curve_signed}.{}", b64(&[0; 64]))),
            ("EC signature of RSA size", format!("{curve_signed}.{signature}")),
            ("Ed25519 all zero", format!("{edwards_signed}.{}", b64(&[0; 64]))),
            ("the signature of another token", {
                let other = RSA.token(&header("RS256", "k1").to_string(), &other_claims);
                format!("{signed}.{}", other.rsplit_once('.').unwrap().1)
            }),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_is_no_token_is_refused() {
    let world = World::with(&[("k1", &RSA)]).await;
    let good = RSA.good("k1");
    let long = RSA.token(
        &header("RS256", "k1").to_string(),
        &claims_with("pad", json!("x".repeat(13_000))).to_string(),
    );
    for (name, value) in [
        ("empty", String::new()),
        ("scheme alone", "Bearer".into()),
        ("scheme and space", "Bearer ".into()),
        ("no scheme", good.clone()),
        ("Basic", format!("Basic {good}")),
        ("DPoP", format!("DPoP {good}")),
        ("no space", format!("Bearer{good}")),
        ("a tab", format!("Bearer\t{good}")),
        ("two tokens", format!("Bearer {good} {good}")),
        ("a list", format!("Bearer {good}, Bearer {good}")),
        ("quoted", format!("Bearer \"{good}\"")),
        ("padded", format!("Bearer {good}==")),
        ("two parts", format!("Bearer {}", good.rsplit_once('.').unwrap().0)),
        ("five parts", format!("Bearer {good}.a.b")),
        ("standard base64", format!("Bearer {}", good.replacen('e', "+", 1))),
        ("a space in front", format!(" Bearer {good}")),
        ("longer than allowed", format!("Bearer {long}")),
        ("a megabyte", format!("Bearer {}", "a".repeat(1 << 20))),
    ] {
        assert_eq!(
            world.verifier.verify(Some(value.as_bytes())).await.unwrap_err(),
            Denied::Unauthenticated,
            "{name}"
        );
    }
    assert_eq!(world.verifier.verify(None).await.unwrap_err(), Denied::Unauthenticated);
    assert_eq!(
        world.verifier.verify(Some(b"Bearer \xff\xfe.\x00.a")).await.unwrap_err(),
        Denied::Unauthenticated
    );
}

#[tokio::test]
async fn two_authorization_headers_are_refused_even_when_equal() {
    let world = World::with(&[("k1", &RSA)]).await;
    let good = format!("Bearer {}", RSA.good("k1"));
    let refused = |result: Result<_, Denied>| result.map(drop) == Err(Denied::Unauthenticated);
    assert!(refused(world.verifier.verify_sole([good.as_bytes(), good.as_bytes()]).await));
    assert!(refused(world.verifier.verify_sole([good.as_bytes(), b"Basic eA==".as_slice()]).await));
    assert!(refused(world.verifier.verify_sole(std::iter::empty()).await));
}

#[tokio::test]
async fn the_scope_is_not_judged_before_the_signature() {
    let world = World::with(&[("k1", &RSA)]).await;
    let token =
        OTHER_RSA.token(&header("RS256", "k1").to_string(), &claims_with("scp", json!("none")).to_string());
    assert_eq!(world.verify(&token).await.unwrap_err(), Denied::Unauthenticated);
}
