import { personaOperations } from './personas.operations.ts';
import { effectiveOperations } from './effective.operations.ts';
import { revisionOperations } from './revisions.operations.ts';
import { portabilityOperations } from './portability.operations.ts';
import { forgetReplies } from '../../domain/http/idempotency.ts';
import { Agent } from '../../db/agents/agent.entity.ts';
import { listAgentRows, readAgent, requireAgent } from '../../db/agents/agents.ts';
import { deleteAgent } from '../../domain/agents/delete-agent.ts';
import { cancelRunsOfDeletedAgent } from '../../domain/runs/end/cancel-run.ts';
import { changeAgent } from '../../domain/agents/change-agent.ts';
import { createAgent } from '../../domain/agents/create-agent.ts';
import { listSubAgents } from '../../db/agents/effective/sub-agents.ts';
import { mapPage } from '../../db/page.ts';
import { refuseRank } from '../../db/caller-scope.ts';
import { seeForChange } from '../../db/scope.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { checkBytes } from '../http/input/bounds.ts';
import { noteOfNamed } from '../http/operation/audit.ts';
import { area, get, list, patch, post, remove, reply } from '../http/operation/operation.ts';
import { AgentCreate, AgentFilters, AgentParams, AgentUpdate, AgentView, toAgentDetailView, toAgentView } from './agent.schema.ts';
import { checkImageUrl } from './image-url.ts';
import { AgentDeletion, AgentSummary, SubAgentFilters, toAgentSummary } from './portability.schema.ts';
import { revisionChecks } from './revision-checks.ts';
import { toRevisionDraft } from './revision.schema.ts';

export const agents = area('Agents', {
  listAgents: list(
    '/agents',
    {
      summary: 'List agents',
      description: 'Agents that the caller can see. q searches slug, name and description.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      query: AgentFilters,
      view: AgentView,
    },
    async (ctx, { query }) => mapPage(await listAgentRows(ctx, query, ctx.page), toAgentView),
  ),

  createAgent: post(
    '/agents',
    {
      summary: 'Create an agent',
      description:
        'Creates an agent, with a first revision if the request contains one. The revision must be activated before runs use it, which requires the role admin.',
      access: 'member',
      fails: ['already_exists', 'not_found', 'state_conflict'],
      audit: 'create',
      idempotent: true,
      location: (view: { readonly id: string }) => `/agents/${view.id}`,
      example: {
        body: {
          slug: 'guide',
          name: 'Guide',
          revision: {
            instructions: 'Answer questions about {{ vars.product }}, briefly.',
            variables: [{ name: 'product', default: 'Longhaul' }],
            tools: [{ slug: 'web_fetch' }],
          },
        },
      },
      body: AgentCreate,
      view: AgentView,
    },
    async (ctx, { body }) => {
      checkBytes('/attributes', body.attributes, 16_384);
      if (body.activate === true && body.revision === undefined)
        throw invalid('/revision', 'required', 'The request contains no revision to activate.');
      const rowScope = await resolveNewRowScope(ctx, { scope: body.scope, workspace_id: body.workspace_id });
      await checkImageUrl(ctx, body.image_url, rowScope.organizationId);
      if (body.activate === true) refuseRank(ctx.caller, rowScope.workspaceId ?? '', 'admin');
      const first = body.revision ? { draft: toRevisionDraft(body.revision), activate: body.activate === true } : null;
      const id = await createAgent(ctx, { rowScope, fields: body, createdByUserId: ctx.caller.userId }, first, revisionChecks(ctx));
      return toAgentDetailView(await readAgent(ctx, id));
    },
  ),

  getAgent: get(
    '/agents/{agent_id}',
    {
      summary: 'Read an agent',
      description: 'Returns one agent with its active revision and the number of its revisions.',
      access: 'viewer',
      mcp: true,
      etag: true,
      // A new revision changes revision_count and not the version.
      notModified: false,
      params: AgentParams,
      view: AgentView,
    },
    async (ctx, { params }) => {
      const row = await readAgent(ctx, params.agent_id);
      return reply(toAgentDetailView(row), { version: row.rowVersion });
    },
  ),

  updateAgent: patch(
    '/agents/{agent_id}',
    {
      summary: 'Change an agent',
      description:
        'Changes the fields that are sent and keeps the rest. What the agent does is defined by its revisions, which this operation never changes.',
      access: 'member',
      fails: ['already_exists'],
      audit: 'update',
      etag: true,
      params: AgentParams,
      body: AgentUpdate,
      example: { body: { name: 'Guide', description: 'Answers questions about the handbook.' } },
      view: AgentView,
    },
    async (ctx, { params, body }) => {
      checkBytes('/attributes', body.attributes, 16_384);
      const agent = await seeForChange(ctx, Agent, params.agent_id, { versionProperty: 'rowVersion' });
      await checkImageUrl(ctx, body.image_url, agent.organizationId);
      const changes = await changeAgent(ctx, agent, body);
      ctx.audit(noteOfNamed('agent', agent, changes));
      const row = await readAgent(ctx, agent.id);
      return reply(toAgentDetailView(row), { version: row.rowVersion });
    },
  ),

  deleteAgent: remove(
    '/agents/{agent_id}',
    {
      summary: 'Delete an agent',
      description:
        'The agent can no longer start runs, and its schedules are paused. Refused while it has runs that have not ended, unless force cancels them. Its slug becomes available again.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'delete',
      openWhenSuspended: true,
      params: AgentParams,
      query: AgentDeletion,
    },
    async (ctx, { params, query }) => {
      const agent = await seeForChange(ctx, Agent, params.agent_id, { versionProperty: 'rowVersion', openWhenSuspended: true });
      await forgetReplies(ctx, [agent.id]);
      await cancelRunsOfDeletedAgent(ctx, await deleteAgent(ctx, agent, { force: query.force === true, now: ctx.deps.now() }));
      ctx.audit(noteOfNamed('agent', agent));
    },
  ),

  listAvailableSubAgents: list(
    '/agents/{agent_id}/available-sub-agents',
    {
      summary: 'List agents that an agent can call',
      description:
        'Active agents with an active revision that the agent can refer to, by name, at most 200; excludes the agent itself and agents that lead back to it. q searches slug, name and description.',
      access: 'viewer',
      mcp: true,
      paging: 'none',
      order: 'name',
      params: AgentParams,
      query: SubAgentFilters,
      view: AgentSummary,
    },
    async (ctx, { params, query }) => {
      await requireAgent(ctx, params.agent_id);
      const found = await listSubAgents(ctx, params.agent_id, query.q);
      return { items: found.map(toAgentSummary), next: null, total: null };
    },
  ),

  ...portabilityOperations,
  ...revisionOperations,
  ...effectiveOperations,
  ...personaOperations,
});
