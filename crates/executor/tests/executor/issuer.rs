//! An issuer of tokens: a key, its set at an address, and tokens for the people of the tests.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use time::OffsetDateTime;

pub(crate) const AUDIENCE: &str = "api://data-agent-service";

/// A key and the address at which its public half can be fetched.
pub(crate) struct Issuer {
    key: EcdsaKeyPair,
    url: String,
}

impl Issuer {
    /// Makes a key and serves it on a free port, for as long as the test's runtime lives.
    pub(crate) fn start() -> Self {
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref()).unwrap();
        let point = key.public_key().as_ref();
        let keys = json!({"keys": [{
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "k1",
            "x": BASE64URL_NOPAD.encode(&point[1..33]), "y": BASE64URL_NOPAD.encode(&point[33..65])
        }]});
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/tenant/v2.0", listener.local_addr().unwrap());
        let server = actix_web::HttpServer::new(move || {
            let keys = keys.clone();
            actix_web::App::new().default_service(actix_web::web::to(move || {
                let keys = keys.clone();
                async move { actix_web::HttpResponse::Ok().json(keys) }
            }))
        })
        .workers(1)
        .disable_signals()
        .listen(listener)
        .unwrap()
        .run();
        super::stack::background(server);
        Self { key, url }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A token of a person with these roles.
    pub(crate) fn token(&self, person: &str, roles: &[&str]) -> String {
        self.sign(&self.claims(person, roles))
    }

    pub(crate) fn claims(&self, person: &str, roles: &[&str]) -> Value {
        let now = OffsetDateTime::now_utc().unix_timestamp();
        json!({
            "iss": self.url, "aud": AUDIENCE, "tid": "tenant", "oid": person, "sub": person, "scp": "access_as_user",
            "roles": roles, "iat": now, "nbf": now, "exp": now + 600, "ver": "2.0"
        })
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": "k1"});
        let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let signed = format!("{}.{}", part(&header), part(claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
    }
}
