import { forgetReplies } from '../../domain/http/idempotency.ts';
import { mapPage } from '../../db/page.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import { uploaderOf } from '../../db/actor-ref.ts';
import { listSkillRows, listVersionRows, readSkill } from '../../db/skills/skills.ts';
import { requireSkill } from '../../db/skills/visible-skills.ts';
import { curateSkill } from '../../domain/skills/curation.ts';
import { storeImport } from '../../domain/skills/import-skill.ts';
import { refuseOwners } from '../../domain/skills/owners.ts';
import { deleteSkill, makeSkill, seeSkillForChange } from '../../domain/skills/skills.ts';
import { updateSkill } from '../../domain/skills/update-skill.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { noteOfNamed } from '../http/operation/audit.ts';
import { area, get, list, patch, post, remove, reply } from '../http/operation/operation.ts';
import { readImport } from './import-skill.ts';
import { toStoredDocs } from './reference-docs.ts';
import {
  SkillCreate,
  SkillCurate,
  SkillFilters,
  SkillImport,
  SkillParams,
  SkillUpdate,
  SkillVersionView,
  SkillView,
  toSkillVersionView,
  toSkillView,
} from './skill.schema.ts';

const maxBodyBytes = 4 * 1_024 * 1_024;
const location = (view: { readonly id: string }) => `/skills/${view.id}`;

export const skills = area('Skills', {
  listSkills: list(
    '/skills',
    {
      summary: 'List skills',
      description:
        'Skills that the caller can see, newest first, without the content of their documents; private skills of others only for admins. q searches slug and description. A page ends early at 4 MiB.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      query: SkillFilters,
      view: SkillView,
    },
    async (ctx, { query: { q, curation_state: curationState, origin, owner_agent_id: ownerAgentId } }) =>
      mapPage(await listSkillRows(ctx, { q, curationState, origin, ownerAgentId }, ctx.page), toSkillView),
  ),

  createSkill: post(
    '/skills',
    {
      summary: 'Create a skill',
      description: 'Creates a pending skill with version 1. Agents can load it once a curator has promoted it.',
      access: 'member',
      fails: ['not_found', 'already_exists'],
      audit: 'create',
      idempotent: true,
      maxBodyBytes,
      location,
      body: SkillCreate,
      view: SkillView,
      example: {
        body: {
          slug: 'refunds',
          description: 'How to decide on a refund and what to tell the customer. Load it before any refund.',
          instructions: '1. Read the order.\n2. Compare with [the limits](limits.md).\n3. Answer with the amount and the day.',
          reference_docs: [{ name: 'limits.md', content: 'Up to 50 EUR without asking.' }],
        },
      },
    },
    async (ctx, { body }) => {
      const referenceDocs = toStoredDocs(body.reference_docs ?? [], { pointer: '/reference_docs', field: 'name' });
      const rowScope = await resolveNewRowScope(ctx, { scope: body.scope, workspace_id: body.workspace_id });
      const owners = { ownerAgentId: body.owner_agent_id ?? null, ownerUserId: body.owner_user_id ?? null };
      await refuseOwners(ctx, rowScope, owners);
      const text = { description: body.description, instructions: body.instructions, referenceDocs, frontMatter: null };
      const made = { ...rowScope, ...owners, slug: body.slug, text, origin: 'human', isActive: body.is_active ?? true } as const;
      const skill = await makeSkill(ctx, made);

      ctx.audit(noteOfNamed('skill', skill));
      return toSkillView(await readSkill(ctx, skill.id));
    },
  ),

  importSkill: post(
    '/skills/import',
    {
      summary: 'Import a skill',
      description:
        'Creates a pending skill from a SKILL.md with its documents, from an uploaded zip or from the body: name becomes the slug, and the text after the front matter the instructions. Other front matter is kept but never acted on; scripts are ordinary documents. Front matter is YAML whose texts are taken verbatim: a colon or # inside a text belongs to it; whatever YAML would read differently is recorded in the audit log with its line. Files that are not text, or are too long for a document, become attachments of the skill.',
      access: 'member',
      fails: ['not_found', 'already_exists'],
      audit: 'create',
      idempotent: true,
      maxBodyBytes,
      location,
      body: SkillImport,
      view: SkillView,
      identify: readImport,
      example: {
        body: {
          markdown: '---\nname: release-notes\ndescription: How we write release notes.\n---\n\nOne line for each change, newest first.\n',
        },
      },
    },
    async (ctx, { body, identified }) => {
      const rowScope = await resolveNewRowScope(ctx, { scope: body.scope, workspace_id: body.workspace_id });
      const uploaded = { isScanned: ctx.deps.env.attachments.scan !== null, createdBy: uploaderOf(ctx.caller) };
      const stored = await storeImport(ctx, identified, { rowScope, onConflict: body.on_conflict ?? 'reject', uploaded });
      const { skill, isNew, before } = stored;
      const { warnings } = identified;

      ctx.audit(
        noteOfNamed('skill', skill, {
          ...(isNew || before === skill.version ? {} : { version: { from: before, to: skill.version } }),
          // The view has no place for them.
          ...(warnings.length === 0 ? {} : { front_matter: { from: null, to: warnings.join('; ').slice(0, 1_000) } }),
        }),
      );
      return toSkillView(await readSkill(ctx, skill.id));
    },
  ),

  getSkill: get(
    '/skills/{skill_id}',
    {
      summary: 'Read a skill',
      description: 'Returns one skill at its current version, with its documents.',
      access: 'viewer',
      mcp: true,
      etag: true,
      // Its uses are counted independently of the version.
      notModified: false,
      params: SkillParams,
      view: SkillView,
    },
    async (ctx, { params }) => {
      const row = await readSkill(ctx, params.skill_id);
      return reply(toSkillView(row), { version: row.rowVersion });
    },
  ),

  updateSkill: patch(
    '/skills/{skill_id}',
    {
      summary: 'Change a skill',
      description:
        'Changes the fields that are sent and keeps the rest. A changed text becomes a new version that must be curated; until then, agents load the last promoted version.',
      access: 'member',
      fails: ['state_conflict'],
      audit: 'update',
      etag: true,
      maxBodyBytes,
      params: SkillParams,
      body: SkillUpdate,
      example: { body: { description: 'Use when a customer asks for a refund.' } },
      view: SkillView,
    },
    async (ctx, { params, body }) => {
      const referenceDocs = body.reference_docs && toStoredDocs(body.reference_docs, { pointer: '/reference_docs', field: 'name' });
      const skill = await seeSkillForChange(ctx, params.skill_id, { versionProperty: 'rowVersion' });
      const changes = await updateSkill(ctx, skill, { ...body, reference_docs: referenceDocs });

      ctx.audit(noteOfNamed('skill', skill, changes));
      const row = await readSkill(ctx, skill.id);
      return reply(toSkillView(row), { version: row.rowVersion });
    },
  ),

  deleteSkill: remove(
    '/skills/{skill_id}',
    {
      summary: 'Delete a skill',
      description: 'Agents can no longer load it, including runs in flight. Its slug becomes available again. Its files are deleted too.',
      access: 'admin',
      audit: 'delete',
      openWhenSuspended: true,
      params: SkillParams,
    },
    async (ctx, { params }) => {
      const skill = await seeSkillForChange(ctx, params.skill_id, { versionProperty: 'rowVersion', openWhenSuspended: true });
      await deleteSkill(ctx, skill, ctx.deps.now());
      await forgetReplies(ctx, [skill.id]);
      ctx.audit(noteOfNamed('skill', skill));
    },
  ),

  curateSkill: post(
    '/skills/{skill_id}/curate',
    {
      summary: 'Curate a skill',
      description:
        'Moves a skill from pending to reviewed to promoted, replaces a promoted skill with another (superseded), retires a skill or returns it to pending. version names the version that was reviewed.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'approve',
      success: [200],
      params: SkillParams,
      body: SkillCurate,
      view: SkillView,
      example: { body: { to: 'reviewed', version: 1, note: 'Checked with the support team' } },
    },
    async (ctx, { params, body }) => {
      const supersededBy = body.superseded_by ?? null;
      if ((body.to === 'superseded') !== (supersededBy !== null))
        throw invalid(
          '/superseded_by',
          supersededBy === null ? 'required' : 'unknown_field',
          'superseded_by is required for superseded and not allowed for any other state.',
        );
      const { skill, from } = await curateSkill(ctx, params.skill_id, { to: body.to, version: body.version, supersededBy });

      ctx.audit(
        noteOfNamed('skill', skill, {
          curation_state: { from, to: body.to },
          version: { from: body.version, to: body.version },
          ...(supersededBy === null ? {} : { superseded_by: { from: null, to: supersededBy } }),
          ...(body.note ? { note: { from: null, to: body.note } } : {}),
        }),
      );
      return toSkillView(await readSkill(ctx, skill.id));
    },
  ),

  listSkillVersions: list(
    '/skills/{skill_id}/versions',
    {
      summary: 'List the versions of a skill',
      description: 'All versions, newest first, without the content of their documents. A page ends early at 4 MiB.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      params: SkillParams,
      view: SkillVersionView,
    },
    async (ctx, { params }) => {
      await requireSkill(ctx, params.skill_id);
      return mapPage(await listVersionRows(ctx, params.skill_id, ctx.page), toSkillVersionView);
    },
  ),
});
