//! The look of the sign-in pages, which hold no script and load nothing but their own style.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;

use super::super::person::PEOPLE;

/// A page whose body is HTML that this program wrote.
#[derive(Debug)]
pub(super) struct Page {
    body: String,
    form_leads_to: String,
}

impl Page {
    /// A page with this body.
    pub(super) fn new(body: String) -> Self {
        Self { body, form_leads_to: String::new() }
    }

    /// Lets the page's form be answered with a redirect to this origin, which a browser counts as its target too.
    pub(super) fn form_leads_to(mut self, origin: &str) -> Self {
        origin.clone_into(&mut self.form_leads_to);
        self
    }

    /// The response.
    pub(super) fn show(self, status: StatusCode) -> HttpResponse {
        let Self { body, form_leads_to } = self;
        let policy = format!(
            "default-src 'none'; style-src 'self'; form-action 'self' {form_leads_to}; base-uri 'none'; frame-ancestors 'none'"
        );
        HttpResponse::build(status)
            .insert_header(("cache-control", "no-store"))
            .insert_header(("content-security-policy", policy))
            .insert_header(("x-content-type-options", "nosniff"))
            .insert_header(("referrer-policy", "no-referrer"))
            .content_type("text/html; charset=utf-8")
            .body(format!(
                r#"<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sample sign-in</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/sign-in.css"></head>
<body><main><h1>Sample sign-in</h1>{body}</main></body></html>"#
            ))
    }
}

/// A button for each person, and one for nobody.
pub(super) fn people() -> String {
    let people = PEOPLE
        .each_ref()
        .map(|person| {
            format!(
                r#"<button name="username" value="{}">Sign in as {}</button>"#,
                person.username, person.name
            )
        })
        .join("\n");
    format!(
        r#"<p class="choices">{people}
<button name="decision" value="deny" class="quiet" formnovalidate>Decline</button></p>
<p class="note">This is the sign-in of a development machine. It asks for no password.</p>"#
    )
}

/// `GET /sign-in.css`
pub(super) async fn style() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header(("x-content-type-options", "nosniff"))
        .content_type("text/css; charset=utf-8")
        .body(include_str!("sign-in.css"))
}
