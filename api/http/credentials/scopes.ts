import type { Role } from '../../../workflows/contracts/access.ts';
import type { RegisteredOperation } from '../operation/operation.ts';

/** What an operation demands of its caller, and what it is called by. */
export type Demand = Pick<
  RegisteredOperation,
  | 'operationId'
  | 'area'
  | 'method'
  | 'path'
  | 'audit'
  | 'access'
  | 'scope'
  | 'sessionOnly'
  | 'stepUp'
  | 'takesSession'
  | 'notDelegable'
  | 'ofPlatform'
>;

/** First part of a scope by area; an area that is not here needs none. */
const scopeAreas: Readonly<Record<string, string>> = {
  'Runs': 'runs',
  'Agents': 'agents',
  'Skills': 'skills',
  'Tools': 'tools',
  'Knowledge': 'knowledge',
  'Knowledge maintenance': 'knowledge',
  'Triggers': 'triggers',
  'Events': 'triggers',
  'Channels': 'channels',
  'Organizations & workspaces': 'organizations',
  'Billing': 'billing',
  'Alerts': 'alerts',
  'Attachments': 'attachments',
  'Code review': 'reviews',
  'Evaluations': 'evaluations',
  'Feedback': 'feedback',
  'Mcp': 'mcp',
};

const areaNames = [...new Set(Object.values(scopeAreas))];

/** Every scope that an OAuth token can carry, with its text on the consent page. `*` is only for service keys. */
export const oauthScopes: ReadonlyMap<string, string> = new Map([
  ...areaNames.flatMap((name): [string, string][] => [
    [`${name}:read`, `Read ${nounOf(name)}`],
    [`${name}:write`, `Create, change and delete ${nounOf(name)}`],
  ]),
  ['*:read', 'Read everything that you can read'],
]);

/** The scopes that protected resources advertise, few enough to be requested at once. */
export const resourceScopes = {
  api: ['*:read', ...areaNames.map((name) => `${name}:write`)],
  // Every scope that its tools need: a client requests the advertised scopes, and must then be able to use the tools that it sees.
  mcp: [
    'mcp:read',
    'runs:read',
    'runs:write',
    'agents:read',
    'skills:read',
    'tools:read',
    'knowledge:read',
    'knowledge:write',
    'feedback:read',
    'feedback:write',
    'triggers:read',
    'triggers:write',
  ],
} as const;

export type CredentialKind = 'session' | 'service_key' | 'oauth_token';

/** The scope that a service key or OAuth token must carry; null when none does. Write means that the operation has an audit action. */
export function oauthScopeOf(operation: Demand): string | null {
  if (operation.scope !== undefined) return operation.scope;
  const area = scopeAreas[operation.area];

  if (!area || !isRoleAccess(operation) || isSessionOnly(operation)) return null;
  return `${area}:${operation.audit === 'none' ? 'read' : 'write'}`;
}

/** Whether keys and OAuth tokens are refused: for flagged operations, and for everything that requires an operator. */
export function isSessionOnly(operation: Demand): boolean {
  return operation.sessionOnly === true || operation.stepUp === true || operation.access === 'operator';
}

/** Platform credentials that an operation takes; none where it has a mechanism of its own. */
export function credentialsOf(operation: RegisteredOperation): readonly CredentialKind[] {
  if (!isRoleAccess(operation)) return [];
  return isSessionOnly(operation) ? ['session'] : ['session', 'service_key', 'oauth_token'];
}

/** The endpoint of the Model Context Protocol is a resource of its own: tokens for it are good nowhere else, and the other way round. */
export function isMcpEndpoint(operation: Pick<RegisteredOperation, 'path'> | null): boolean {
  return operation?.path === '/mcp';
}

function nounOf(area: string): string {
  const nouns: Readonly<Record<string, string>> = {
    mcp: 'MCP servers and tools',
    knowledge: 'knowledge bases',
    organizations: 'organization and workspaces',
    billing: 'usage and budgets',
    reviews: 'code reviews',
  };
  return nouns[area] ?? area;
}

/** Whether the floor is a role, so that a platform credential is required. */
export function isRoleAccess<O extends Pick<RegisteredOperation, 'access'>>(operation: O): operation is O & { readonly access: Role } {
  return (
    operation.access !== 'none' &&
    operation.access !== 'ingress' &&
    operation.access !== 'oauth-client' &&
    operation.access !== 'registration-token'
  );
}
