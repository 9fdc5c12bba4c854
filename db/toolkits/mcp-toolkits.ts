import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { McpToolkitConfig } from './toolkit-config.ts';
import type { ToolkitTool } from './toolkit-tool.ts';

/** A toolkit of kind mcp with what is needed to call its server. */
export type McpToolkit = NonNullable<Awaited<ReturnType<typeof readMcpToolkit>>>;

const columns = ['k.id', 'k.scope', 'k.organizationId', 'k.workspaceId', 'k.slug', 'k.config', 'k.isActive'] as const;

function liveMcpToolkits() {
  return query.selectFrom('toolkits as k').select(columns).where('k.kind', '=', 'mcp').where('k.deletedAt', 'is', null);
}

const toolkitById = prepared(({ id }: ParametersOf<{ id: string }>) => liveMcpToolkits().where('k.id', '=', id));

/** Returns a live mcp toolkit that the transaction sees, or null when there is none. */
export async function readMcpToolkit(tx: TenantTransaction, id: string) {
  const found = await row(tx.em, toolkitById({ id }));
  return found && withMcpConfig(found);
}

const remoteTool = prepared(({ toolkitId, remoteName }: ParametersOf<{ toolkitId: string; remoteName: string }>) =>
  liveMcpToolkits()
    .select(({ selectFrom }) =>
      selectFrom('toolkit_revisions as v')
        .select(({ ref }) =>
          sql<ToolkitTool>`jsonb_path_query_first(${ref('v.tools')}, '$[*] ? (@.name == $name)', jsonb_build_object('name', ${remoteName}::text))`.as(
            'named',
          ),
        )
        .whereRef('v.id', '=', 'k.activeRevisionId')
        .as('tool'),
    )
    .where('k.id', '=', toolkitId),
);

/** Returns the toolkit of a remote tool, with the approved descriptor of the tool (null when it is missing); null when the toolkit is deleted. */
export async function readRemoteTool(
  tx: TenantTransaction,
  { toolkitId, remoteName }: { readonly toolkitId: string; readonly remoteName: string },
): Promise<{ readonly toolkit: McpToolkit; readonly tool: ToolkitTool | null } | null> {
  const found = await row(tx.em, remoteTool({ toolkitId, remoteName }));
  if (!found) return null;
  const { tool, ...toolkit } = found;
  return { toolkit: withMcpConfig(toolkit), tool };
}

const sameServer = prepared(({ id, url, auth }: ParametersOf<{ id: string; url: string; auth: string }>) =>
  query
    .selectFrom('toolkits as k')
    .select('k.id')
    .where('k.id', '=', id)
    .where('k.deletedAt', 'is', null)
    .where(({ ref }) => sql<boolean>`${ref('k.config')} ->> 'url' = ${url}`)
    .where(({ ref }) => sql<boolean>`${ref('k.config')} -> 'auth' = ${auth}::jsonb`),
);

/**
 * Whether the toolkit still has the URL and auth that it had when it was read: otherwise the pending request concerned another server, and no token of it may
 * be stored or sent. False for a deleted toolkit.
 */
export async function isStillThere(tx: TenantTransaction, { id, config }: Pick<McpToolkit, 'id' | 'config'>): Promise<boolean> {
  return (await row(tx.em, sameServer({ id, url: config.url, auth: JSON.stringify(config.auth) }))) !== null;
}

/** The same, and locks the toolkit so that it stays so until the end of the transaction. */
export async function holdThere(tx: TenantTransaction, toolkit: Pick<McpToolkit, 'id' | 'config'>): Promise<boolean> {
  await row(tx.em, query.selectFrom('toolkits as k').select('k.id').where('k.id', '=', toolkit.id).forUpdate());
  return isStillThere(tx, toolkit);
}

/** A toolkit of this kind has this config: `createToolkit` and `changeToolkit` write no other. */
function withMcpConfig<K extends { readonly config: Record<string, unknown> }>({ config, ...rest }: K) {
  return { ...rest, config: config as unknown as McpToolkitConfig };
}
