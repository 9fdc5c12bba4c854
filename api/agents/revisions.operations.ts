import { Agent } from '../../db/agents/agent.entity.ts';
import { readAgent, requireAgent } from '../../db/agents/agents.ts';
import { listRevisionRows, readRevision } from '../../db/agents/revisions/revisions.ts';
import { mapPage } from '../../db/page.ts';
import { seeForChange } from '../../db/scope.ts';
import { activateRevision, addRevision } from '../../domain/agents/revisions.ts';
import { noteOfNamed } from '../http/operation/audit.ts';
import { get, list, post, reply } from '../http/operation/operation.ts';
import { AgentParams, AgentRevisionParams, AgentView, toAgentDetailView } from './agent.schema.ts';
import { revisionChecks } from './revision-checks.ts';
import { AgentRevisionCreate, AgentRevisionView, toAgentRevisionView, toRevisionDraft } from './revision.schema.ts';

export const revisionOperations = {
  listAgentRevisions: list(
    '/agents/{agent_id}/revisions',
    {
      summary: 'List the revisions of an agent',
      description: 'All revisions, newest first, without their documents.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      params: AgentParams,
      view: AgentRevisionView,
    },
    async (ctx, { params }) => {
      await requireAgent(ctx, params.agent_id);
      return mapPage(await listRevisionRows(ctx, params.agent_id, ctx.page), toAgentRevisionView);
    },
  ),

  createAgentRevision: post(
    '/agents/{agent_id}/revisions',
    {
      summary: 'Add a revision to an agent',
      description:
        'Stores an immutable revision with the next number. It is fully validated but not activated; runs continue to use the active revision.',
      access: 'member',
      fails: ['state_conflict'],
      audit: 'create',
      idempotent: true,
      resourceType: 'agent_revision',
      location: (view: { readonly agent_id: string; readonly id: string }) => `/agents/${view.agent_id}/revisions/${view.id}`,
      example: {
        body: {
          document: { instructions: 'Answer in one sentence.', tools: [{ slug: 'web_fetch', max_calls: 5 }], limits: { max_steps: 10 } },
          note: 'shorter answers',
        },
      },
      params: AgentParams,
      body: AgentRevisionCreate,
      view: AgentRevisionView,
    },
    async (ctx, { params, body }) => {
      const agent = await seeForChange(ctx, Agent, params.agent_id);
      const asked = { draft: toRevisionDraft(body.document), note: body.note ?? null, baseRevisionId: body.base_revision_id ?? null };
      const id = await addRevision(ctx, agent, asked, revisionChecks(ctx));
      ctx.audit({ ...noteOfNamed('agent_revision', agent), resourceId: id });
      return toAgentRevisionView(await readRevision(ctx, agent.id, id));
    },
  ),

  getAgentRevision: get(
    '/agents/{agent_id}/revisions/{revision_id}',
    {
      summary: 'Read a revision',
      description: 'Returns one revision of an agent with its complete document.',
      access: 'viewer',
      mcp: true,
      params: AgentRevisionParams,
      view: AgentRevisionView,
    },
    async (ctx, { params }) => toAgentRevisionView(await readRevision(ctx, params.agent_id, params.revision_id)),
  ),

  activateAgentRevision: post(
    '/agents/{agent_id}/revisions/{revision_id}/activate',
    {
      summary: 'Activate a revision',
      description:
        'New runs use the revision from now on; runs in flight keep theirs. Requires the ETag of the agent in If-Match, so that no activation silently overwrites another.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'update',
      etag: true,
      ifMatch: 'required',
      success: [200],
      params: AgentRevisionParams,
      view: AgentView,
    },
    async (ctx, { params }) => {
      const agent = await seeForChange(ctx, Agent, params.agent_id, { versionProperty: 'rowVersion' });
      const from = agent.activeRevisionId;
      const to = await activateRevision(ctx, agent, params.revision_id, revisionChecks(ctx));
      ctx.audit(noteOfNamed('agent', agent, from === to ? {} : { active_revision_id: { from, to } }));
      const row = await readAgent(ctx, agent.id);
      return reply(toAgentDetailView(row), { version: row.rowVersion });
    },
  ),
};
