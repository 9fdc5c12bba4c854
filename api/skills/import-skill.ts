import { organizationOf } from '../../db/reach.ts';
import { readUnit, systemActor, tenantOf } from '../../db/scope.ts';
import { usableAttachment } from '../../db/attachments/attachments.ts';
import type { Home } from '../../db/home.ts';
import { findSkillOfHome } from '../../db/skills/visible-skills.ts';
import { changeSkillText, insertSkill } from '../../db/skills/skills.ts';
import type { SkillText } from '../../db/skills/skill-text.ts';
import type { Skill } from '../../db/skills/skill.entity.ts';
import { bundleLimitBytes, isSkillFile, type SkillBundle } from '../../ports/skill-bundle.ts';
import { readWhole } from '../../ports/storage.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Ctx, IdentifyRequest } from '../http/operation.ts';
import { toStoredDocs } from './reference-docs.ts';
import type { SkillImportBody } from './skill.schema.ts';

/** What was read out of the files, before the transaction. */
export interface ReadImport {
  readonly slug: string;
  readonly text: SkillText;
}

const longest = { slug: 64, description: 1_024, instructions: 65_536, document: 262_144, documents: 50 } as const;

/** Reads the bundle or the markdown that a body brings. 422 for what makes no skill, 409 for an attachment that is not ready. */
export async function readImport(request: IdentifyRequest): Promise<ReadImport> {
  // `mount` has validated the body against SkillImport before.
  const body = request.body as SkillImportBody;
  const hasAttachment = typeof body.attachment_id === 'string';
  if (hasAttachment === (typeof body.markdown === 'string'))
    throw invalid('/attachment_id', 'required', 'Send an attachment or markdown, and not both.');
  if (hasAttachment && (body.files?.length ?? 0) > 0) throw invalid('/files', 'unknown_field', 'The files of an attachment lie in it.');

  const bundle = await (hasAttachment ? readAttachment(request, body) : readMarkdown(request, body));
  return toImport(bundle, body, hasAttachment ? '/attachment_id' : '/markdown');
}

async function readAttachment({ deps, caller, floor, correlationId }: IdentifyRequest, body: SkillImportBody): Promise<SkillBundle> {
  const { unit } = readUnit(deps.db, { tenant: tenantOf(caller), actor: systemActor, correlationId });
  const attachment = await usableAttachment({ ...unit, caller, floor }, body.attachment_id ?? '');
  const bytes = await readWhole(deps.storage, attachment, bundleLimitBytes);
  const job = { kind: 'bundle', bytes, pointer: '/attachment_id', skipUnsupported: body.skip_unsupported === true } as const;
  return deps.skillReader.read(organizationOf(caller), job);
}

async function readMarkdown({ deps, caller }: IdentifyRequest, body: SkillImportBody): Promise<SkillBundle> {
  const files = body.files ?? [];
  const second = files.findIndex(({ path }) => isSkillFile(path));
  if (second !== -1) throw invalid(`/files/${second}/path`, 'uniqueItems', 'The markdown is the SKILL.md already.');
  return {
    ...(await deps.skillReader.read(organizationOf(caller), { kind: 'markdown', source: body.markdown ?? '', pointer: '/markdown' })),
    documents: files.map(({ path, content }) => ({ name: path, content })),
  };
}

function toImport(bundle: SkillBundle, body: SkillImportBody, pointer: string): ReadImport {
  const slug = body.slug ?? slugOf(bundle.name ?? '');
  if (slug === '') throw invalid('/slug', 'required', 'The front matter gives no name: send a slug.');
  if (slug.length > longest.slug)
    throw invalid('/slug', 'maxLength', 'The name is too long for a slug: send one.', { limit: longest.slug });
  const { description, instructions, documents } = bundle;
  if (description === null || description === '') throw invalid(pointer, 'required', 'The front matter gives no description.');
  if (description.length > longest.description) throw tooLong(pointer, 'description', longest.description);
  if (instructions === '') throw invalid(pointer, 'required', 'There is no text behind the front matter.');
  if (instructions.length > longest.instructions) throw tooLong(pointer, 'text behind the front matter', longest.instructions);
  if (documents.length > longest.documents)
    throw invalid(pointer, 'maxItems', `A skill has at most ${longest.documents} documents.`, { limit: longest.documents });
  if (documents.some(({ content }) => content.length > longest.document)) throw tooLong(pointer, 'content of a document', longest.document);

  const referenceDocs = toStoredDocs(documents, { pointer: pointer === '/markdown' ? '/files' : pointer, field: 'path' });
  return { slug, text: { description, instructions, referenceDocs, frontMatter: bundle.rest } };
}

function tooLong(pointer: string, what: string, limit: number) {
  return invalid(pointer, 'maxLength', `The ${what} is over ${limit} characters.`, { limit });
}

/** `PDF processing` becomes `pdf-processing`. */
function slugOf(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|-+$/g, '');
}

/**
 * Stores what was read: a new pending skill, or, where the place has one of this slug and the body asks so, its next version. A text that it has
 * already changes nothing.
 */
export async function storeImport(
  ctx: Ctx,
  { slug, text }: ReadImport,
  where: { readonly home: Home; readonly onConflict: 'reject' | 'new_version' },
): Promise<{ readonly skill: Skill; readonly isNew: boolean; readonly before: number }> {
  const existing = await findSkillOfHome(ctx, where.home, slug);
  if (existing === null) {
    const made = { ...where.home, slug, text, origin: 'import', ownerAgentId: null, ownerUserId: null, isActive: true } as const;
    return { skill: await insertSkill(ctx, made), isNew: true, before: 0 };
  }
  if (where.onConflict === 'reject') throw fail('already_exists', { detail: 'A skill of this slug exists in this place.' });
  const before = existing.version;
  await changeSkillText(ctx, existing, { text, origin: 'import' });
  return { skill: existing, isNew: false, before };
}
