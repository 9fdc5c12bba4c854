/** Where our server gives another verdict than oidc-provider, and why. */
export const reasonedDifferences: Readonly<Record<string, { readonly ours: string; readonly oracle: string; readonly why: string }>> = {
  'authorize: no redirect_uri': {
    ours: 'page',
    oracle: 'code',
    why: 'the request must name its redirect: it is never guessed from a registration',
  },
  'token, code, open: no redirect_uri': {
    ours: '400 invalid_request',
    oracle: 'ok',
    why: 'the request must name its redirect: it is never guessed from a registration',
  },
  'authorize: response_type id_token': {
    ours: 'redirect unsupported_response_type',
    oracle: 'redirect invalid_request',
    why: 'the oracle knows these response types of OpenID Connect and misses what they need; here code is the only one (RFC 6749 §4.1.2.1)',
  },
  'authorize: response_type none': {
    ours: 'redirect unsupported_response_type',
    oracle: 'redirect invalid_request',
    why: 'the oracle knows these response types of OpenID Connect and misses what they need; here code is the only one (RFC 6749 §4.1.2.1)',
  },
  'authorize: code_challenge of 44 characters': {
    ours: 'redirect invalid_request',
    oracle: 'code',
    why: 'an S256 challenge has 43 characters, no other could ever be met (RFC 7636 §4.2)',
  },
  'authorize: no scope': {
    ours: 'code',
    oracle: 'redirect access_denied',
    why: 'without a scope a usual one is meant (RFC 6749 §3.3); the oracle has none to mean',
  },
  'authorize: unknown scope': {
    ours: 'redirect invalid_scope',
    oracle: 'code',
    why: "a scope that can't be had is said, and not dropped in silence (RFC 6749 §3.3, §5.2); the oracle drops it",
  },
  'authorize: scope beyond the client': {
    ours: 'redirect invalid_scope',
    oracle: 'redirect access_denied',
    why: "a scope that can't be had is said, and not dropped in silence (RFC 6749 §3.3, §5.2); the oracle drops it",
  },
  'client_credentials: unknown scope': {
    ours: '400 invalid_scope',
    oracle: 'ok',
    why: "a scope that can't be had is said, and not dropped in silence (RFC 6749 §3.3, §5.2); the oracle drops it",
  },
  'client_credentials: scope beyond it': {
    ours: '400 invalid_scope',
    oracle: 'ok',
    why: "a scope that can't be had is said, and not dropped in silence (RFC 6749 §3.3, §5.2); the oracle drops it",
  },
  'authorize: redirect_uri twice': {
    ours: 'page',
    oracle: 'redirect invalid_request',
    why: 'with two redirects nobody is sent anywhere (RFC 6749 §4.1.2.1); the oracle trusts the first',
  },
  'token: JSON': { ours: '415 invalid_request', oracle: '400 invalid_request', why: 'a body of another type is 415' },
  'client: basic, empty secret': {
    ours: '401 invalid_client',
    oracle: '400 invalid_request',
    why: 'garbled client authentication is 401 (RFC 6749 §5.2: `Authorization` was used)',
  },
  'client: basic without colon': {
    ours: '401 invalid_client',
    oracle: '400 invalid_request',
    why: 'garbled client authentication is 401 (RFC 6749 §5.2: `Authorization` was used)',
  },
  'client: basic, bad escape': {
    ours: '401 invalid_client',
    oracle: '400 invalid_request',
    why: 'garbled client authentication is 401 (RFC 6749 §5.2: `Authorization` was used)',
  },
  'client: basic, bad UTF-8': {
    ours: '401 invalid_client',
    oracle: '400 invalid_request',
    why: 'garbled client authentication is 401 (RFC 6749 §5.2: `Authorization` was used)',
  },
  'client: basic, no base64': {
    ours: '401 invalid_client',
    oracle: '400 invalid_request',
    why: 'garbled client authentication is 401 (RFC 6749 §5.2: `Authorization` was used)',
  },
  'client: bare Basic': {
    ours: '401 invalid_client',
    oracle: '400 invalid_request',
    why: 'garbled client authentication is 401 (RFC 6749 §5.2: `Authorization` was used)',
  },
  'client: bearer': {
    ours: '401 invalid_client',
    oracle: '400 invalid_request',
    why: 'garbled client authentication is 401 (RFC 6749 §5.2: `Authorization` was used)',
  },
  'client_credentials: a client without that grant': {
    ours: '400 unauthorized_client',
    oracle: '400 invalid_request',
    why: "the RFC's own word for a client that may not use a grant (RFC 6749 §5.2)",
  },
  'client_credentials: a public client': {
    ours: '400 unauthorized_client',
    oracle: '400 invalid_request',
    why: "the RFC's own word for a client that may not use a grant (RFC 6749 §5.2)",
  },
  'register: no redirect': {
    ours: '422 invalid_client_metadata',
    oracle: '400 invalid_redirect_uri',
    why: 'a registration that breaks its shape is 422 invalid_client_metadata',
  },
  'register: an empty list': {
    ours: '422 invalid_client_metadata',
    oracle: '400 invalid_redirect_uri',
    why: 'a registration that breaks its shape is 422 invalid_client_metadata',
  },
  'register: redirects as text': {
    ours: '422 invalid_client_metadata',
    oracle: '400 invalid_redirect_uri',
    why: 'a registration that breaks its shape is 422 invalid_client_metadata',
  },
  'register: method unknown': {
    ours: '422 invalid_client_metadata',
    oracle: '400 invalid_client_metadata',
    why: 'a registration that breaks its shape is 422 invalid_client_metadata',
  },
  'register: response type unknown': {
    ours: '422 invalid_client_metadata',
    oracle: '400 invalid_client_metadata',
    why: 'a registration that breaks its shape is 422 invalid_client_metadata',
  },
  'register: a list': {
    ours: '422 invalid_client_metadata',
    oracle: '400 invalid_request',
    why: 'a registration that breaks its shape is 422 invalid_client_metadata',
  },
  'register: response type without grant': {
    ours: '422 invalid_client_metadata',
    oracle: 'ok',
    why: 'a client here asks for codes or can do nothing',
  },
  'register: http': {
    ours: '400 invalid_redirect_uri',
    oracle: 'ok',
    why: 'redirects are https, loopback, or of a private scheme (docs/security/consent.md, RFC 8252 §7.1)',
  },
  'register: grant unknown': {
    ours: 'ok',
    oracle: '400 invalid_client_metadata',
    why: 'what is not served is left out of the registration (RFC 7591 §2), so that clients that list more can register',
  },
  'register: unknown scope': {
    ours: 'ok',
    oracle: '400 invalid_client_metadata',
    why: 'what is not served is left out of the registration (RFC 7591 §2), so that clients that list more can register',
  },
};
