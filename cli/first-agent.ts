import { Agent } from '../db/agents/agent.entity.ts';
import { AgentRevision } from '../db/agents/revisions/agent-revision.entity.ts';
import { completeBinding, completeDocument, noBindings, type RevisionDocument } from '../db/agents/revisions/revision-document.ts';
import { insertAgent } from '../domain/agents/create-agent.ts';
import { publishRevision } from '../domain/agents/revisions.ts';
import { recordChange } from '../domain/audit/record.ts';
import { completeWebFetchConfig, webFetchInputSchema } from '../domain/tools/tool-config.ts';
import { Tool } from '../db/tools/tool.entity.ts';
import { insertTool } from '../domain/tools/tools.ts';
import type { TenantTransaction } from '../db/tenant-transaction.ts';

export interface FirstAgentOptions {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly defaultModelId: string;
}

const agentFields = {
  slug: 'guide',
  name: 'Guide',
  description: 'Reads a web page and answers questions about it.',
  avatar_preset: 'navigator',
} as const;
const toolSlug = 'web_fetch';
const note = 'made by longhaul bootstrap';

const instructions = `You answer questions about web pages. When the question names an address, read it with the tool web_fetch before you answer, and read on with its offset when the text was cut. Answer only from what you have read, briefly, and quote the sentences that your answer rests on. Say so when the page does not hold the answer.`;

/**
 * Creates or updates the deployment's first agent, with a web_fetch tool bound. If the default model has changed and the active revision is still one
 * that the bootstrap created, a new revision for the new model becomes active; changes that people made are kept.
 */
export async function firstAgent(tx: TenantTransaction, options: FirstAgentOptions): Promise<string> {
  const { organizationId, workspaceId, defaultModelId } = options;
  const rowScope = { scope: 'workspace' as const, organizationId, workspaceId };
  const existing = await tx.em.findOne(Agent, { workspaceId, slug: agentFields.slug, deletedAt: null });
  const agent = existing ?? (await insertAgent(tx, { rowScope, fields: agentFields, createdByUserId: null }));
  const active = agent.activeRevisionId === null ? null : await tx.em.findOne(AgentRevision, { id: agent.activeRevisionId });

  if (existing && active && !isOutdated(active, defaultModelId)) return agent.id;
  const document = active ? { ...active.document, model: defaultModelId } : await firstDocument(tx, { rowScope, defaultModelId });
  const revisionId = await publishRevision(tx, { agent, document, note });
  await recordChange(tx, {
    action: existing ? 'update' : 'create',
    note: {
      resourceType: 'agent',
      resourceId: agent.id,
      label: agent.slug,
      organizationId,
      workspaceId,
      changes: { active_revision_id: { to: revisionId } },
    },
  });
  return agent.id;
}

function isOutdated(active: AgentRevision, defaultModelId: string): boolean {
  return active.createdBy.kind === 'system' && active.note === note && active.document.model !== defaultModelId;
}

interface RowScope {
  readonly scope: 'workspace';
  readonly organizationId: string;
  readonly workspaceId: string;
}

async function firstDocument(
  tx: TenantTransaction,
  { rowScope, defaultModelId }: { rowScope: RowScope; defaultModelId: string },
): Promise<RevisionDocument> {
  const existing = await tx.em.findOne(Tool, { workspaceId: rowScope.workspaceId, slug: toolSlug, deletedAt: null });
  const toolId = existing?.id ?? (await insertWebFetch(tx, rowScope));
  const binding = completeBinding({}, { id: toolId, slug: toolSlug, scope: 'workspace' });

  return completeDocument({ model: defaultModelId, instructions }, { ...noBindings, tools: [binding] });
}

async function insertWebFetch(tx: TenantTransaction, rowScope: RowScope): Promise<string> {
  const toolId = await insertTool(tx, {
    ...rowScope,
    slug: toolSlug,
    kind: 'web_fetch',
    displayName: 'Read a web page',
    description: 'Reads the page at an address and gives its text.',
    inputSchema: { ...webFetchInputSchema },
    config: { ...completeWebFetchConfig({}) },
    effect: 'read',
    concurrency: 'read',
    responseMaxChars: 20_000,
    timeoutS: 30,
    isActive: true,
  });

  await recordChange(tx, {
    action: 'create',
    note: {
      resourceType: 'tool',
      resourceId: toolId,
      label: toolSlug,
      organizationId: rowScope.organizationId,
      workspaceId: rowScope.workspaceId,
    },
  });
  return toolId;
}
