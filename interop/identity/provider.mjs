// An OpenID provider with what the command line needs: discovery, device code, refresh, revocation, signed access tokens.
//
// It is the npm package oidc-provider as it comes. Its keys are replaced as an operator would: the same provider is set
// up again with other keys over the same storage, behind the same address.
//
//   POST /control/rotate              a new key signs; the one before stays published
//   POST /control/rotate?withdraw=1   a new key signs; no other is published

import { createServer } from 'node:http';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { Provider } from 'oidc-provider';
import { Storage } from './storage.mjs';

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const RESOURCE = 'api://data-agent-service';
// What the tokens may hold: the scope that the service wants, and the roles that the executor decides by.
const SCOPE = 'access_as_user finance';

function key() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'RS256', use: 'sig' };
}

function provider(keys) {
  return new Provider(issuer, {
    adapter: Storage,
    jwks: { keys },
    cookies: { keys: ['interop'] },
    clients: [
      {
        client_id: 'ask-cli',
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        response_types: [],
        redirect_uris: [],
      },
    ],
    scopes: ['openid', 'offline_access'],
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    findAccount: async (_ctx, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    features: {
      deviceFlow: { enabled: true },
      revocation: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: SCOPE,
          audience: RESOURCE,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 600,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
}

let keys = [key()];
let handle = provider(keys).callback();

createServer((request, response) => {
  const url = new URL(request.url, issuer);
  if (request.method === 'POST' && url.pathname === '/control/rotate') {
    const fresh = key();
    keys = url.searchParams.has('withdraw') ? [fresh] : [fresh, keys[0]];
    handle = provider(keys).callback();
    response.end(fresh.kid);
    return;
  }
  handle(request, response);
}).listen(port, '127.0.0.1', () => console.log(`${issuer} is up`));
