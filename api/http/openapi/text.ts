import { errorCodeNames, type ErrorCode } from '../../../workflows/contracts/error-codes.ts';
import { takesBody } from '../input/body.ts';
import type { Access, RegisteredOperation } from '../operation/operation.ts';
import { querySchemaOf, takesAnyQuery } from '../reply/page.ts';
import { isRoleAccess, isSessionOnly, oauthScopeOf } from '../credentials/scopes.ts';

/** What any operation may answer, whatever it does. */
const everywhere: readonly ErrorCode[] = ['malformed_request', 'rate_limited', 'internal_error', 'service_unavailable'];
/** What any operation may answer that asks for a role. */
const ofCredentials: readonly ErrorCode[] = [
  'unauthenticated',
  'credential_invalid',
  'token_expired',
  'session_revoked',
  'mfa_required',
  'role_insufficient',
];

/** What any operation that asks for a role may answer to `X-Acting-User` and `X-View-*`: no id, nobody whom the caller sees, or not with this credential. */
const ofDelegation: readonly ErrorCode[] = ['validation_failed', 'not_found', 'resource_forbidden'];

/** What the whole document begins with (CommonMark). */
export function introduction(publicUrl: string): string {
  const named = (codes: readonly ErrorCode[]) => codes.map((code) => `\`${code}\``).join(', ');
  return [
    'Longhaul runs AI agents for many tenants behind one HTTP API. An agent is a prompt with a model and tools; a run is one turn with it, which survives the loss of any process or connection.',
    `**Start here.** Sign in (\`POST /auth/login\`) or take a service key, then \`POST /runs\` with an agent and a text, \`GET /runs/{run_id}/stream\` to watch, \`POST /runs/{run_id}/approvals\` when it asks. The same in plain text: [llms.txt](${publicUrl}/llms.txt).`,
    '**Credentials.** `Authorization: Bearer` with an access token or a service key. Each operation names the lowest role (viewer < member < admin < owner < operator) and the scope that keys and apps also need; user sessions need no scope.',
    '**Lists** come in pages: send `next_cursor` as `cursor` until it is null. **Repeats** of a POST are safe under the same `Idempotency-Key` for 24 hours. **Updates** with `If-Match` are refused if someone else was faster.',
    `**Errors** are RFC 9457 problems with one of 38 codes ([all of them, with what to do](${publicUrl}/error-codes)). Every operation may answer ${named(everywhere)}; each that asks for a role also ${named(ofCredentials)}, and ${named(ofDelegation)} to the headers \`X-Acting-User\`, \`X-View-Organization\` and \`X-View-Workspace\`. Further errors are listed with each operation, and the complete list in \`x-error-codes\`.`,
  ].join('\n\n');
}

/** The description of an operation (CommonMark): what it does, who may call it, and how it refuses. */
export function operationText(operation: RegisteredOperation): string {
  return [whatItDoes(operation), whoMayCall(operation), howItRefuses(operation)].filter((part) => part !== '').join('\n\n');
}

/** All codes that an operation may answer, in the order of the catalogue. */
export function errorCodesOf(operation: RegisteredOperation): ErrorCode[] {
  const codes = new Set([...ownErrorCodesOf(operation), ...(isRoleAccess(operation) ? ofDelegation : [])]);
  return errorCodeNames.filter((code) => codes.has(code));
}

/** The codes that an operation may answer to a request that neither acts as another user nor narrows its view. */
function ownErrorCodesOf(operation: RegisteredOperation): ErrorCode[] {
  const codes = new Set([...everywhere, ...(isRoleAccess(operation) ? ofCredentials : []), ...ofInput(operation), ...ofChanges(operation)]);
  for (const code of operation.fails ?? []) codes.add(code);
  if (isRoleAccess(operation) && (oauthScopeOf(operation) !== null || isSessionOnly(operation))) codes.add('scope_insufficient');
  if (operation.notDelegable || operation.sessionOnly || operation.ofPlatform) codes.add('resource_forbidden');
  if (operation.access === 'oauth-client' || operation.access === 'registration-token') codes.add('credential_invalid');
  if (operation.takesSession) for (const code of ofCredentials) codes.add(code);
  return errorCodeNames.filter((code) => codes.has(code));
}

function ofInput(operation: RegisteredOperation): ErrorCode[] {
  const takes = Object.keys(operation.params?.properties ?? {}).length > 0;
  const asks = takes || operation.body !== null || Object.keys(querySchemaOf(operation).properties).length > 0;
  return [
    // Of a query that nothing is declared of, every key is unknown.
    ...(asks || !takesAnyQuery(operation) ? [faultOf(operation)] : []),
    ...(takes ? (['not_found'] as const) : []),
    // The head of a body is judged even where none is read.
    ...(takesBody(operation) ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(operation.kind === 'list' && operation.paging !== 'none' ? (['cursor_invalid'] as const) : []),
  ];
}

/** OAuth clients get errors in the terms of their RFCs. */
function faultOf(operation: RegisteredOperation): ErrorCode {
  return operation.faults === 'oauth' ? 'oauth_request_invalid' : 'validation_failed';
}

function ofChanges(operation: RegisteredOperation): ErrorCode[] {
  const changes = operation.method !== 'GET' && isRoleAccess(operation);
  return [
    ...(changes && !operation.openWhenSuspended ? (['resource_frozen'] as const) : []),
    ...(changes && operation.params ? (['resource_forbidden'] as const) : []),
    ...(operation.idempotent ? (['idempotency_in_progress', 'idempotency_key_mismatch'] as const) : []),
    ...(operation.ifMatch ? (['precondition_failed'] as const) : []),
    ...(operation.ifMatch === 'required' ? (['precondition_required'] as const) : []),
    ...(operation.spends ? (['budget_exceeded'] as const) : []),
  ];
}

function whatItDoes(operation: RegisteredOperation): string {
  const order = operation.kind === 'list' ? ` Order: ${operation.order ?? 'newest first, by id'}.` : '';
  const repeat = operation.idempotent ? '; a repeat with the same Idempotency-Key returns the same bytes' : '';
  const secret = operation.secretReply ? ` The secret is only in this reply${repeat}.` : '';
  return `${operation.description}${order}${secret}`;
}

function whoMayCall(operation: RegisteredOperation): string {
  const other = othersWho[operation.access];
  if (other !== undefined) return `**Who:** ${other}.`;
  const scope = oauthScopeOf(operation);
  const factor = operation.stepUp ? ', with a factor verified within the last 10 minutes' : '';
  const credential = isSessionOnly(operation)
    ? `a user session${factor}; neither keys nor apps`
    : scope === null
      ? 'no scope is needed'
      : `keys and apps need the scope \`${scope}\``;
  return `**Who:** role \`${operation.access}\`${operation.access === 'operator' ? '' : ' or above'}; ${credential}.`;
}

const othersWho: Readonly<Partial<Record<Access, string>>> = {
  'none': 'anyone; no credential is needed',
  'ingress': 'anyone who signs the delivery with the secret of the endpoint',
  'oauth-client': 'an OAuth client, with its own credential',
  'registration-token': 'the holder of the client’s registration access token',
};

function howItRefuses(operation: RegisteredOperation): string {
  // The introduction names those of credentials for operations that ask for a role alone.
  const common = isRoleAccess(operation) ? [...everywhere, ...ofCredentials] : everywhere;
  const own = ownErrorCodesOf(operation).filter((code) => !common.includes(code));
  return own.length === 0 ? '' : `**Errors:** ${own.map((code) => `\`${code}\``).join(', ')}, and those of every operation.`;
}
