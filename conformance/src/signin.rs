//! Which users the harness asks as, and where their bearers come from.

use clap::Args;

/// Bearers, or ways to get them, of the users that a run needs.
#[derive(Debug, Clone, Args)]
pub struct SignIn {
    /// Bearer of the first user.
    #[arg(long, env = "ASK_TOKEN", hide_env_values = true)]
    pub token: Option<String>,

    /// Command that prints the first user's bearer.
    #[arg(long, env = "ASK_TOKEN_CMD")]
    pub token_cmd: Option<String>,

    /// Bearer of a second user.
    #[arg(long, env = "ASK_OTHER_TOKEN", hide_env_values = true)]
    pub other_token: Option<String>,

    /// Command that prints the second user's bearer.
    #[arg(long, env = "ASK_OTHER_TOKEN_CMD")]
    pub other_token_cmd: Option<String>,

    /// Bearer of a user whom the sources refuse.
    #[arg(long, env = "ASK_REFUSED_TOKEN", hide_env_values = true)]
    pub refused_token: Option<String>,

    /// Command that prints the bearer of a user whom the sources refuse.
    #[arg(long, env = "ASK_REFUSED_TOKEN_CMD")]
    pub refused_token_cmd: Option<String>,

    /// An issuer's token endpoint to sign in at when a user has neither token nor command.
    #[arg(long, env = "ASK_TOKEN_URL")]
    pub token_url: Option<String>,

    /// First user's name at the token endpoint.
    #[arg(long, default_value = "alice")]
    pub username: String,

    /// Second user's name at the token endpoint.
    #[arg(long, default_value = "carol")]
    pub other_username: String,

    /// Name at the token endpoint of the user whom the sources refuse.
    #[arg(long, default_value = "bob")]
    pub refused_username: String,

    /// Password sent to the token endpoint for every user.
    #[arg(long, env = "ASK_PASSWORD", hide_env_values = true, default_value = "")]
    pub password: String,

    /// Client id sent to the token endpoint.
    #[arg(long, default_value = "ask-conformance")]
    pub client_id: String,

    /// Scope sent to the token endpoint.
    #[arg(long, default_value = "api://data-agent-service/access_as_user")]
    pub scope: String,

    /// An endpoint that signs any claims, for tokens that are wrong in one way: `POST {"claims": {..}}` gives
    /// `{"access_token": ..}`.
    #[arg(long, env = "ASK_MINT_URL")]
    pub mint_url: Option<String>,

    /// A valid token for another audience, when nothing can mint one.
    #[arg(long, env = "ASK_WRONG_AUDIENCE_TOKEN", hide_env_values = true)]
    pub wrong_audience_token: Option<String>,

    /// A valid token without the required scope, when nothing can mint one.
    #[arg(long, env = "ASK_NO_SCOPE_TOKEN", hide_env_values = true)]
    pub no_scope_token: Option<String>,

    /// An expired token, when nothing can mint one.
    #[arg(long, env = "ASK_EXPIRED_TOKEN", hide_env_values = true)]
    pub expired_token: Option<String>,

    /// A token of another issuer, when nothing can mint one.
    #[arg(long, env = "ASK_WRONG_ISSUER_TOKEN", hide_env_values = true)]
    pub wrong_issuer_token: Option<String>,
}
