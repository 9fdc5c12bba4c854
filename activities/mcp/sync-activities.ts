import { cancellationSignal, Context } from '@temporalio/activity';
import { sharedPrincipal, type McpPrincipal } from '../../db/mcp/connection-queries.ts';
import { readMcpToolkit, type McpToolkit } from '../../db/toolkits/mcp-toolkits.ts';
import { newId } from '../../db/ids.ts';
import { organizationTenant, sweep, systemActor } from '../../db/transaction.ts';
import { resolveSecret } from '../../domain/secrets/resolve-secret.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ToolkitScope } from '../../db/toolkits/revisions.ts';
import { readOpenSync, type OpenSyncRow, dueSyncs } from '../../db/toolkits/open-syncs.ts';
import { sha256Of, toolHash } from '../../domain/toolkits/hashes.ts';
import { finishSync, requestSync, scheduleNextSync, type SyncFindings } from '../../domain/toolkits/syncs.ts';
import { EgressRefused } from '../../ports/egress/egress.ts';
import { McpError } from '../../ports/mcp/errors.ts';
import { McpTooMuch } from '../../ports/mcp/fetch.ts';
import { readFoundTools, noticeOf, type FoundTool } from '../../ports/mcp/found-tools.ts';
import { McpOauthError } from '../../ports/mcp/oauth.ts';
import type { McpPatience, McpSession } from '../../ports/mcp/mcp.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import { toolkitSyncTries, type ToolkitSyncActivities, type ToolkitSyncInput } from '../../workflows/contracts/tools/toolkit-sync.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem, transactAndSend } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';
import { createSecretMask, type SecretMask } from '../tools/http/secret-mask.ts';
import { consentNeeded, exchangeReturned } from './consent.ts';
import type { McpAsker } from './credentials.ts';
import { asNobody, useMcp } from './use-mcp.ts';
import type { ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';

const timeoutMs = 60_000;
const maxATick = 500;

/** A sync to do now. */
export interface ClaimedSync {
  readonly revision: OpenSyncRow;
  readonly toolkit: McpToolkit;
  readonly asker: McpAsker;
  readonly secrets: SecretMask;
}

const maxNoteChars = 500;

/** Activities of `toolkitSync`. A revision that has ended is left alone, so each may run any number of times. A deleted toolkit has none. */
export function createSyncActivities(deps: ActivityDeps): ToolkitSyncActivities {
  return {
    syncToolkit: (input) => syncToolkit(deps, input),
    async failSync({ toolkitId }) {
      const open = await transactAsSystem(deps, (tx) => readOpenSync(tx, toolkitId));
      if (open) await endSync(deps, { toolkitId, revisionId: open.id }, failedSync('The sync was interrupted three times.', false));
    },
  };
}

/** Starts the syncs that are due, each by itself, so that one that can't start does not hold up the others. */
export function createSyncUpkeep(deps: ActivityDeps): Pick<MaintenanceActivities, 'startDueSyncs'> {
  return {
    async startDueSyncs() {
      const due = await sweep(deps.db, (em) => dueSyncs(em, maxATick));
      for (const toolkit of due) {
        cancellationSignal().throwIfAborted();
        await startDue(deps, toolkit).catch((err: unknown) => deps.log.error({ err, toolkit_id: toolkit.id }, 'due sync not started'));
      }
      return due.length;
    },
  };
}

async function startDue(deps: ActivityDeps, toolkit: ToolkitScope): Promise<void> {
  if (toolkit.organizationId === null) return;
  const tenant = organizationTenant(toolkit.organizationId);
  await transactAndSend(deps, { tenant, actor: systemActor, correlationId: newId() }, (tx) =>
    requestSync(tx, toolkit, { note: null, createdBy: { kind: 'system', id: null } }),
  );
}

async function syncToolkit(deps: ActivityDeps, input: ToolkitSyncInput): Promise<void> {
  const claimed = await claim(deps, input);
  if (claimed === null) return;
  const found = await checkServer(deps, claimed).catch((error: unknown) => afterError(deps, claimed, error));
  await endSync(deps, { toolkitId: input.toolkitId, revisionId: claimed.revision.id }, found);
}

async function claim(deps: ActivityDeps, { toolkitId }: ToolkitSyncInput): Promise<ClaimedSync | null> {
  const { workspaceId } = tenantOfActivity();
  return transactAsSystem(deps, async (tx) => {
    const revision = await readOpenSync(tx, toolkitId);
    const toolkit = revision && (await readMcpToolkit(tx, toolkitId));
    if (revision === null || toolkit === null) return null;
    const row = { scope: toolkit.scope, toolId: null, organizationId: toolkit.organizationId ?? '', workspaceId };
    const secrets = createSecretMask((name) => transactAsSystem(deps, (each) => resolveSecret(each, deps.keys, { name, row })));
    const asker = {
      toolkit,
      principal: principalOf(toolkit, revision),
      policy: { allowHttp: deps.env.allowHttp, exceptions: await readEgressAllowlist(tx, toolkit.organizationId) },
      transact: <R>(work: (each: TenantTransaction) => Promise<R>) => transactAsSystem(deps, work),
      secret: secrets.secret,
      conceal: secrets.conceal,
      signal: cancellationSignal(),
    };
    return { revision, toolkit, asker, secrets };
  });
}

/** A toolkit with a grant for each user is listed as the user who requested the sync. */
function principalOf({ config }: McpToolkit, { createdBy: by }: OpenSyncRow): McpPrincipal {
  const isPerUser = config.auth.type === 'oauth' && config.auth.mode === 'per_user';
  return isPerUser && by.kind === 'user' && by.id !== null ? { kind: 'user', id: by.id } : sharedPrincipal;
}

async function checkServer(deps: ActivityDeps, { toolkit, asker, secrets }: ClaimedSync): Promise<SyncFindings> {
  await exchangeReturned(deps, asker);
  const { organizationId, workspaceId } = tenantOfActivity();
  const onToolsChanged = () => deps.toolsChanged(toolkit, asker.principal);
  const ask = { ...asker, workspaceId, timeoutMs, onToolsChanged };
  const work: Listing<SyncFindings> = async (mcpSession, patience) => {
    const offered = masked(secrets, await mcpSession.listTools(patience));
    const found = await readFoundTools(offered, deps.schemas.of(organizationId));
    const tools = found.tools.map(toToolkitTool);
    const server = mcpSession.server === null ? null : masked(secrets, { ...mcpSession.server });
    const sourceHash = sha256Of(tools.map(({ hash }) => hash).toSorted());
    deps.log.info({ toolkit_id: toolkit.id, tools: tools.length, left_out: found.leftOut.length }, 'toolkit listed');
    return {
      tools,
      server,
      protocolVersion: mcpSession.protocolVersion,
      sourceHash,
      note: noticeOf(found, maxNoteChars),
      leftOut: found.leftOut,
    };
  };
  return useMcp(deps, ask, work).catch((error: unknown) => {
    // Without a grant the server has not been called yet: its own refusal says where to get consent.
    if (!(error instanceof McpError) || error.kind !== 'unauthorized' || error.challenge !== null) throw error;
    return asNobody(deps, ask, work);
  });
}

type Listing<R> = (mcpSession: McpSession, patience: McpPatience) => Promise<R>;

/** Returns the findings of a failed sync: an error at once when another try is useless, otherwise only after the last try. */
async function afterError(deps: ActivityDeps, claimed: ClaimedSync, error: unknown): Promise<SyncFindings> {
  claimed.asker.signal.throwIfAborted();
  if (error instanceof McpError && error.kind === 'unauthorized')
    return failedSync((await consentNeeded(deps, claimed.asker, error)).told, true);
  if (error instanceof McpOauthError && error.isRefusal) return failedSync(error.message, true);
  if (error instanceof EgressRefused) return failedSync(`The address is not allowed: ${error.message}`, false);
  if (error instanceof McpTooMuch) return failedSync(error.message, true);

  const isFinal = error instanceof McpError && !isWorthAnotherTry(error);
  const isKnown = error instanceof Error && ['McpError', 'McpOauthError', 'EgressUnreachable', 'EgressUndecodable'].includes(error.name);
  if (!isFinal && Context.current().info.attempt < toolkitSyncTries)
    throw isKnown ? fail('upstream_failed', { detail: 'The MCP server could not be listed.' }) : error;
  if (!isKnown) throw error;
  return failedSync(claimed.secrets.mask(error.message), error.name !== 'EgressUnreachable');
}

function isWorthAnotherTry({ kind, code }: McpError): boolean {
  if (kind === 'status') return code === 408 || code === 429 || (code ?? 0) >= 500;
  return kind === 'timed_out' || kind === 'session_lost' || kind === 'malformed';
}

function failedSync(error: string, reachable: boolean): SyncFindings {
  return { error, reachable };
}

function endSync(
  deps: ActivityDeps,
  { toolkitId, revisionId }: ToolkitSyncInput & { readonly revisionId: string },
  found: SyncFindings,
): Promise<void> {
  return transactAsSystem(deps, async (tx) => {
    const { state, quarantined } = await finishSync(tx, revisionId, found);
    await scheduleNextSync(tx, toolkitId);
    deps.log.info({ toolkit_id: toolkitId, state, quarantined: quarantined.length }, 'toolkit synced');
  });
}

/** A secret that a server echoes never reaches a row. */
function masked<V>({ maskOutcome }: SecretMask, value: V): V {
  const outcome = maskOutcome({ status: 'succeeded', type: 'json', value });
  return outcome.status === 'succeeded' && outcome.type === 'json' ? (outcome.value as V) : value; // a mask changes only texts
}

/** Returns a server's tool as a revision stores it: with the hash that approvals refer to, and with the settings that its annotations propose. */
function toToolkitTool(found: FoundTool): ToolkitTool {
  const { readOnlyHint, idempotentHint } = found.annotations;
  const effect = readOnlyHint === true ? 'read' : 'write';
  return { ...found, hash: toolHash(found), proposed: { effect, concurrency: effect, idempotent: idempotentHint === true } };
}
