import type { Static } from 'typebox';
import { forgetReplies } from '../../domain/http/idempotency.ts';
import { Agent } from '../../db/agents/agent.entity.ts';
import { requireAgent } from '../../db/agents/agents.ts';
import { Persona } from '../../db/agents/personas/persona.entity.ts';
import { listPersonaRows, readPersona } from '../../db/agents/personas/personas.ts';
import { mapPage } from '../../db/page.ts';
import { seeForChange } from '../../db/scope.ts';
import { addPersona, changePersona, deletePersona } from '../../domain/agents/personas.ts';
import { noteOfNamed } from '../http/operation/audit.ts';
import { changesOf } from '../http/operation/changes.ts';
import { list, patch, post, remove, reply } from '../http/operation/operation.ts';
import { AgentParams } from './agent.schema.ts';
import { checkImageUrl } from './image-url.ts';
import {
  PersonaCreate,
  PersonaParams,
  PersonaUpdate,
  PersonaView,
  toChangedDraft,
  toPersonaDraft,
  toPersonaView,
} from './persona.schema.ts';
import { revisionChecks } from './revision-checks.ts';

export const personaOperations = {
  listPersonas: list(
    '/agents/{agent_id}/personas',
    {
      summary: 'List the personas of an agent',
      description:
        'All personas of the agent, newest first. Send the etag of a persona in If-Match to change it; there is no operation to read a single persona.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      params: AgentParams,
      view: PersonaView,
    },
    async (ctx, { params }) => {
      await requireAgent(ctx, params.agent_id);
      return mapPage(await listPersonaRows(ctx, params.agent_id, ctx.page), toPersonaView);
    },
  ),

  createPersona: post(
    '/agents/{agent_id}/personas',
    {
      summary: 'Add a persona to an agent',
      description:
        'A persona adapts the instructions and restricts the tools of a run that names it. Each agent has one default persona; a new default replaces the old one.',
      access: 'member',
      fails: ['already_exists', 'state_conflict'],
      audit: 'create',
      idempotent: true,
      example: { body: { slug: 'formal', name: 'Formal', instructions: 'Address the user formally.', locale: 'de-DE' } },
      params: AgentParams,
      body: PersonaCreate,
      view: PersonaView,
    },
    async (ctx, { params, body }) => {
      const agent = await seeForChange(ctx, Agent, params.agent_id, { versionProperty: null });
      const draft = toPersonaDraft(body);
      await checkImageUrl(ctx, draft.image_url, agent.organizationId);
      const id = await addPersona(ctx, agent, { draft, isDefault: body.is_default, isActive: body.is_active }, revisionChecks(ctx));
      const row = await readPersona(ctx, agent.id, id);
      ctx.audit(noteOfNamed('persona', row));
      return reply(toPersonaView(row), { version: row.rowVersion });
    },
  ),

  updatePersona: patch(
    '/agents/{agent_id}/personas/{persona_id}',
    {
      summary: 'Change a persona',
      description:
        'Changes the fields that are sent and keeps the rest, as a new version; runs in flight keep the version they started with.',
      access: 'member',
      audit: 'update',
      etag: true,
      params: PersonaParams,
      body: PersonaUpdate,
      example: { body: { instructions: 'Address the user formally and by name.', instructions_mode: 'append' } },
      view: PersonaView,
    },
    async (ctx, { params, body }) => {
      const agent = await seeForChange(ctx, Agent, params.agent_id, { versionProperty: null });
      const before = await readPersona(ctx, agent.id, params.persona_id);
      const persona = await seeForChange(ctx, Persona, before.id, { versionProperty: 'rowVersion' });
      const draft = toChangedDraft(before.document, body);
      await checkImageUrl(ctx, draft.image_url, agent.organizationId);
      const asked = { draft, isDefault: body.is_default, isActive: body.is_active };
      await changePersona(ctx, { agent, persona, before: before.document }, asked, revisionChecks(ctx));
      const row = await readPersona(ctx, agent.id, persona.id);
      ctx.audit(noteOfNamed('persona', row, changesOf(toPersonaView(before), toPersonaView(row), auditedFields)));
      return reply(toPersonaView(row), { version: row.rowVersion });
    },
  ),

  deletePersona: remove(
    '/agents/{agent_id}/personas/{persona_id}',
    {
      summary: 'Delete a persona',
      description: 'Runs in flight keep the persona; new runs that name it are refused.',
      access: 'admin',
      audit: 'delete',
      openWhenSuspended: true,
      params: PersonaParams,
    },
    async (ctx, { params }) => {
      const agent = await seeForChange(ctx, Agent, params.agent_id, { versionProperty: null, openWhenSuspended: true });
      const row = await readPersona(ctx, agent.id, params.persona_id);
      const persona = await seeForChange(ctx, Persona, row.id, { versionProperty: 'rowVersion', openWhenSuspended: true });
      await deletePersona(ctx, persona, ctx.deps.now());
      await forgetReplies(ctx, [persona.id]);
      ctx.audit(noteOfNamed('persona', row));
    },
  ),
};

const auditedFields = [
  'name',
  'description',
  'greeting',
  'locale',
  'instructions',
  'instructions_mode',
  'model',
  'model_settings',
  'tools_allow',
  'knowledge',
  'avatar_preset',
  'image_url',
  'attributes',
  'is_default',
  'is_active',
] as const satisfies readonly (keyof Static<typeof PersonaUpdate>)[];
