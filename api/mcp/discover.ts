import type { Static } from 'typebox';
import { organizationOf } from '../../db/caller-scope.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import { EgressRefused, EgressUndecodable, EgressUnreachable, type Egress, type EgressPolicy } from '../../ports/egress/egress.ts';
import { refusalOfUrl } from '../../ports/egress/url.ts';
import type { TenantSchemas } from '../../ports/json/schema.ts';
import { McpError } from '../../ports/mcp/errors.ts';
import { McpTooMuch } from '../../ports/mcp/fetch.ts';
import { readFoundTools } from '../../ports/mcp/found-tools.ts';
import { describeAuth } from '../../ports/mcp/oauth.ts';
import { connectMcp, type McpSession } from '../../ports/mcp/mcp.ts';
import { createTextMask, maskJson } from '../../ports/text-mask.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import type { Ctx } from '../http/operation/operation.ts';
import type { McpDiscover, McpDiscoveryView } from './toolkit-sync.schema.ts';
import { deadlineIn } from '../../ports/deadline.ts';

type Discovery = Static<typeof McpDiscoveryView>;
type Asked = Static<typeof McpDiscover>;

const maxMs = 15_000;

/** The egress policy of the caller's organization. Throws 422 `egress` for an address that it refuses. */
export async function discoveryPolicy(ctx: Ctx, url: string): Promise<EgressPolicy> {
  const organizationId = organizationOf(ctx.caller);
  const policy = { allowHttp: ctx.deps.env.allowHttp, exceptions: await readEgressAllowlist(ctx, organizationId) };
  const refusal = refusalOfUrl(url, policy);
  if (refusal !== null) throw invalid('/url', 'egress', `The URL is not allowed: ${refusal}`);
  return policy;
}

/** The dependencies of a discovery, for the caller's organization. */
export function discoveryParts({ deps, caller }: Pick<Ctx, 'deps' | 'caller'>): DiscoveryDeps {
  return { egress: deps.egress, schemas: deps.schemas.of(organizationOf(caller)) };
}

export interface DiscoveryDeps {
  readonly egress: Egress;
  readonly schemas: TenantSchemas;
}

/** Asks a server what it is, within 15 s. An unreachable server and one that requires authorization are results, too, not errors. */
export async function discoverServer(parts: DiscoveryDeps, policy: EgressPolicy, asked: Asked): Promise<Discovery> {
  const began = performance.now();
  const way = { egress: parts.egress, policy, signal: deadlineIn(maxMs) };
  const found = await checkServer(parts, way, asked).catch((error: unknown) => afterError(way, asked, error));
  return masked({ ...nothing, ...found, duration_ms: Math.round(performance.now() - began) }, asked.token);
}

const nothing: Omit<Discovery, 'duration_ms'> = {
  reachable: false,
  transport: null,
  protocol_version: null,
  server: null,
  instructions: null,
  auth: { required: false, authorization_servers: [], scopes: [], registration: 'none' },
  tools: [],
  warnings: [],
};

interface Way {
  readonly egress: Egress;
  readonly policy: EgressPolicy;
  readonly signal: AbortSignal;
}

async function checkServer({ schemas }: DiscoveryDeps, { egress, policy, signal }: Way, asked: Asked): Promise<Partial<Discovery>> {
  const headers: Record<string, string> = asked.token === undefined ? {} : { authorization: `Bearer ${asked.token}` };
  const patience = { timeoutMs: maxMs, signal };
  const session = await connectMcp(egress, { url: asked.url, transport: asked.transport ?? 'auto', policy }, { ...patience, headers });
  try {
    const { tools, leftOut, ignored } = await readFoundTools(await session.listTools(patience), schemas);
    return {
      ...factsOf(session),
      tools: tools.map(({ name, title, description, input_schema, output_schema, annotations }) => ({
        name,
        title,
        description,
        input_schema,
        output_schema,
        annotations,
      })),
      warnings: [...leftOut, ...ignored].slice(0, 50).map(({ name, reason }) => `${name} ${reason}`.slice(0, 500)),
    };
  } finally {
    void session.close();
  }
}

function factsOf(session: McpSession): Partial<Discovery> {
  return {
    reachable: true,
    transport: session.transport,
    protocol_version: session.protocolVersion,
    server: session.server === null ? null : { ...session.server },
    instructions: session.instructions,
  };
}

async function afterError(way: Way, asked: Asked, error: unknown): Promise<Partial<Discovery>> {
  if (way.signal.aborted) return { warnings: ['the server did not answer within 15 s'] };
  if (error instanceof McpError && error.kind === 'unauthorized') {
    const facts = await describeAuth(way, asked.url, error.challenge).catch(() => null);
    const { authorizationServers = [], scopes = [], registration = 'none' as const } = facts ?? {};
    return {
      reachable: true,
      auth: { required: true, authorization_servers: [...authorizationServers], scopes: [...scopes], registration },
      warnings: asked.token === undefined ? [] : ['the server does not accept the token'],
    };
  }
  if (error instanceof McpError) return { reachable: error.kind !== 'timed_out', warnings: [error.message] };
  if (error instanceof McpTooMuch) return { reachable: true, warnings: [error.message] };
  if (error instanceof EgressUndecodable) return { reachable: true, warnings: [error.message] };
  if (error instanceof EgressUnreachable || error instanceof EgressRefused) return { warnings: [error.message] };
  throw error;
}

/** Masks the token in case the server sends it back. */
function masked(found: Discovery, token: string | undefined): Discovery {
  if (token === undefined) return found;
  const { conceal, mask } = createTextMask(() => '[token]');
  conceal('token', token);
  return maskJson(found, mask) as Discovery; // only texts that contained the token differ
}
