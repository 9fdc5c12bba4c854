import { newId } from '../../../db/ids.ts';
import { systemActor, transact, workspaceTenant } from '../../../db/transaction.ts';
import { openSync } from '../../../domain/toolkits/syncs.ts';
import { toolHash } from '../../../domain/toolkits/hashes.ts';
import type { ToolkitTool } from '../../../db/toolkits/toolkit-tool.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { TestTenant } from '../../support/tenant.ts';
import type { Answer, World } from '../world.ts';

/** A tool by hand; `more` replaces fields. */
export const manualTool = (name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  name,
  description: `Does ${name}`,
  config: { method: 'GET', url: `https://api.example.com/${name}` },
  ...more,
});

/** Makes toolkits, revisions and activations as the tenant's admin. */
export function toolkitMaker(world: World, { tokens }: TestTenant) {
  const post = (path: string, body: unknown): Promise<Answer> => world.call(tokens.admin, 'POST', path, { body });
  const get = (path: string): Promise<Answer> => world.call(tokens.viewer, 'GET', path);
  return {
    post,
    get,
    async toolkit(more: Readonly<Record<string, unknown>> = {}) {
      return (await post('/toolkits', { slug: 'kit', name: 'Kit', kind: 'manual', config: {}, ...more })).body;
    },
    async revision(toolkitId: string, tools: readonly unknown[]) {
      return (await post(`/toolkits/${toolkitId}/revisions`, { source: { type: 'manual', tools } })).body;
    },
    activate: (toolkitId: string, revisionId: string, body: unknown = { approve: 'all' }) =>
      post(`/toolkits/${toolkitId}/revisions/${revisionId}/activate`, body),
    async tools(toolkitId: string): Promise<Answer['body'][]> {
      const { items } = (await get(`/tools?toolkit_id=${toolkitId}`)).body;
      return items.toSorted((left: { slug: string }, right: { slug: string }) => (left.slug < right.slug ? -1 : 1));
    },
  };
}

/** A tool as a server of the era describes it; `more` replaces fields. */
export function remote(name: string, more: Partial<ToolkitTool> = {}): ToolkitTool {
  const tool = {
    name,
    title: null,
    description: `Does ${name}`,
    input_schema: { type: 'object' },
    output_schema: null,
    annotations: { readOnlyHint: true },
    proposed: { effect: 'read', concurrency: 'read', idempotent: true } as const,
    ...more,
  };
  return { ...tool, hash: toolHash(tool) };
}

/** What the sync of a toolkit does with rows, in the tenant's workspace. */
export function syncRows(world: World, { organizationId, workspaceId }: TestTenant) {
  async function inWorkspace<T>(work: (tx: TenantTransaction) => Promise<T>): Promise<T> {
    const options = { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: newId() };
    return (await transact(world.api.db, options, work)).value;
  }
  return {
    inWorkspace,
    open: (id: string) =>
      inWorkspace((tx) => openSync(tx, { id, organizationId, workspaceId }, { note: null, createdBy: { kind: 'system', id: null } })),
  };
}
