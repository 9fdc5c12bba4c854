import { organizationOf } from '../../db/caller-scope.ts';
import { openReadOnly, systemActor, tenantOf } from '../../db/transaction.ts';
import { usableAttachment } from '../../domain/attachments/usable-attachment.ts';
import type { ReadImport } from '../../domain/skills/import-skill.ts';
import type { NewSkillFile } from '../../domain/skills/skill-files.ts';
import { skillDocuments } from '../../domain/skills/skill-text.ts';
import { storeFile, type IncomingFile, type StoredFile } from '../../ports/storage/attachment-bytes.ts';
import { maxBundleBytes, documentChars, isSkillFile, type SkillBundle } from '../../ports/skills/bundle.ts';
import { newStorageKey } from '../../ports/storage/key.ts';
import { readWhole } from '../../ports/storage/storage.ts';
import { Failure, invalid } from '../../workflows/contracts/failure.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import { skillReaderOf } from './dependencies.ts';
import { toStoredDocs } from './reference-docs.ts';
import type { SkillImportBody } from './skill.schema.ts';

const maxLengths = { slug: 64, description: 1_024, instructions: 65_536, document: documentChars, documents: skillDocuments } as const;

/** Reads the bundle or the markdown of a body. 422 if it is not a valid skill, 409 for an attachment that is not ready. */
export async function readImport(request: IdentifyRequest<SkillImportBody>): Promise<ReadImport> {
  const { body } = request;
  const hasAttachment = typeof body.attachment_id === 'string';
  if (hasAttachment === (typeof body.markdown === 'string'))
    throw invalid('/attachment_id', 'required', 'Send either an attachment or markdown, not both.');
  if (hasAttachment && (body.files?.length ?? 0) > 0)
    throw invalid('/files', 'unknown_field', 'The documents of an attachment must be inside it.');

  const bundle = await (hasAttachment ? readAttachment(request, body) : readMarkdown(request, body));
  const read = toImport(bundle, body, hasAttachment ? '/attachment_id' : '/markdown');
  return { ...read, files: await storeFiles(request, bundle.files, body.skip_unsupported === true) };
}

async function readAttachment({ deps, caller, floor, correlationId }: IdentifyRequest, body: SkillImportBody): Promise<SkillBundle> {
  const { tx } = openReadOnly(deps.db, { tenant: tenantOf(caller), actor: systemActor, correlationId });
  const attachment = await usableAttachment({ ...tx, caller, floor }, body.attachment_id ?? '');
  const bytes = await readWhole(deps.storage, attachment, maxBundleBytes);
  return skillReaderOf(deps).read(organizationOf(caller), { kind: 'bundle', bytes, pointer: '/attachment_id' });
}

/**
 * Stores the files of a bundle, before there is a transaction. 422 with the names of those whose type is not kept, unless they are to be skipped; a
 * skill of the platform belongs to no organization, and keeps none.
 */
async function storeFiles({ deps, caller }: IdentifyRequest, files: SkillBundle['files'], isSkipping: boolean): Promise<NewSkillFile[]> {
  const organizationId = organizationOf(caller);
  const kept: NewSkillFile[] = [];
  const others: string[] = [];
  for (const { name, bytes, chars } of files) {
    const key = organizationId === null ? null : newStorageKey(organizationId);
    const stored = key === null ? null : await storeOne(deps, key, { filename: name, bytes: [bytes] });
    if (stored === null) others.push(name);
    else kept.push({ name, chars, stored });
  }
  if (others.length === 0 || isSkipping) return kept;
  for (const { stored } of kept) await deps.storage.remove(stored.storageKey);
  throw invalid('/attachment_id', 'unsupported_files', `The bundle contains files of types that cannot be stored: ${namesOf(others)}.`, {
    names: others.slice(0, 50),
  });
}

/** Null for a program or a type that no attachment may have, and for more bytes than one may have; bytes of no known form are kept as such. */
async function storeOne(deps: IdentifyRequest['deps'], key: string, file: IncomingFile): Promise<StoredFile | null> {
  try {
    return await storeFile(deps.storage, key, file, { maxBytes: deps.env.attachments.maxBytes, untyped: 'application/octet-stream' });
  } catch (error) {
    if (error instanceof Failure && (error.code === 'unsupported_media_type' || error.code === 'payload_too_large')) return null;
    throw error;
  }
}

function namesOf(names: readonly string[]): string {
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  return `${names.slice(0, 5).join(', ')}${more}`.slice(0, 400);
}

async function readMarkdown({ deps, caller }: IdentifyRequest, body: SkillImportBody): Promise<SkillBundle> {
  const files = body.files ?? [];
  const second = files.findIndex(({ path }) => isSkillFile(path));
  if (second !== -1) throw invalid(`/files/${second}/path`, 'uniqueItems', 'The markdown already is the SKILL.md.');
  return {
    ...(await skillReaderOf(deps).read(organizationOf(caller), { kind: 'markdown', source: body.markdown ?? '', pointer: '/markdown' })),
    documents: files.map(({ path, content }) => ({ name: path, content })),
  };
}

function toImport(bundle: SkillBundle, body: SkillImportBody, pointer: string): Omit<ReadImport, 'files'> {
  const slug = body.slug ?? slugOf(bundle.name ?? '');
  if (slug === '') throw invalid('/slug', 'required', 'The front matter has no name. Send a slug.');
  if (slug.length > maxLengths.slug)
    throw invalid('/slug', 'maxLength', 'The name is too long for a slug. Send a slug.', { limit: maxLengths.slug });
  const { description, instructions, documents, files, warnings } = bundle;
  if (description === null || description === '') throw invalid(pointer, 'required', 'The front matter has no description.');
  if (description.length > maxLengths.description) throw tooLong(pointer, 'description', maxLengths.description);
  if (instructions === '') throw invalid(pointer, 'required', 'There is no text after the front matter.');
  if (instructions.length > maxLengths.instructions) throw tooLong(pointer, 'text behind the front matter', maxLengths.instructions);
  if (documents.length + files.length > maxLengths.documents)
    throw invalid(pointer, 'maxItems', `A skill can have at most ${maxLengths.documents} documents.`, { limit: maxLengths.documents });
  if (documents.some(({ content }) => content.length > maxLengths.document))
    throw tooLong(pointer, 'content of a document', maxLengths.document);

  const referenceDocs = toStoredDocs(documents, { pointer: pointer === '/markdown' ? '/files' : pointer, field: 'path' });
  return { slug, text: { description, instructions, referenceDocs, frontMatter: bundle.rest }, warnings };
}

function tooLong(pointer: string, what: string, limit: number) {
  return invalid(pointer, 'maxLength', `The ${what} has more than ${limit} characters.`, { limit });
}

/** `PDF processing` becomes `pdf-processing`. */
function slugOf(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|-+$/g, '');
}
