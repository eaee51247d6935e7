// Finds out where to sign in for a server, with nothing but its address. Usage: typescript_discovery.mjs URL
import {
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from "@modelcontextprotocol/client";

const url = process.argv[2];
const refused = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused);
const resource = await discoverOAuthProtectedResourceMetadata(url, { resourceMetadataUrl });
const server = await discoverAuthorizationServerMetadata(resource.authorization_servers[0]);
console.log(JSON.stringify({ resource: resource.resource, issuer: server.issuer, token_endpoint: server.token_endpoint }));
