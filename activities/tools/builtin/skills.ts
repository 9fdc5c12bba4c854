import type { PinnedSkill, LoadableText } from '../../../db/skills/run-skills.ts';
import type { StoredReferenceDoc } from '../../../db/skills/reference-doc.ts';
import { lendFile, loadPinnedSkill } from '../../../domain/skills/load-skill.ts';
import { writeAgentSkill } from '../../../domain/skills/write-skill.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { failed, type ToolExecution, type ToolOutcome } from '../calls/outcome.ts';

/** Characters of one answer: the limit of a tool's answer unless its author allows more. */
const answerChars = 20_000;

const outsideRun = failed('tool_unavailable', 'skills are loaded and written within a run only', false);

/** The builtin `skill_load`: returns a skill that the run has pinned, or one of its documents, from a given character on. Loading is counted once per run. */
export async function loadSkill({ args, run, place, transact }: ToolExecution): Promise<ToolOutcome> {
  if (run === null) return outsideRun;
  const slug = String(args['slug']);
  const loading = { id: run.id, organization_id: place.organizationId, workspace_id: place.workspaceId };
  const loaded = await transact((tx) => loadPinnedSkill(tx, loading, slug));

  if (!loaded.pin) return unknownSkill(loaded.pins);
  if (!loaded.text) return failed('tool_unavailable', `the skill ${slug} can not be loaded any more`, false);
  const file = loaded.text.referenceDocs.find(({ name, attachment_id: id }) => id !== undefined && name === args['doc']);
  if (file) return lend(file, await transact((tx) => lendFile(tx, run.id, file.attachment_id ?? '')));
  return readFrom(loaded.text, { doc: args['doc'], offset: args['offset'] });
}

/** The builtin `skill_write`: stores a skill of the run's agent that awaits its curator. Writing the same again changes nothing. */
export async function writeSkill({ args, run, place, transact }: ToolExecution): Promise<ToolOutcome> {
  if (run === null) return outsideRun;
  const wish = {
    slug: String(args['slug']),
    description: String(args['description']).trim(),
    instructions: String(args['instructions']).trim(),
    derivedFrom: typeof args['derived_from'] === 'string' ? args['derived_from'] : null,
  };
  for (const text of [wish.description, wish.instructions])
    if (text === '' || text.includes('\u0000') || !text.isWellFormed())
      return failed('invalid_arguments', 'description and instructions must be text that can be kept, and not empty', false);
  try {
    const written = await transact((tx) => writeAgentSkill(tx, { runId: run.id, place, ...wish }));
    return { status: 'succeeded', type: 'json', value: written };
  } catch (error) {
    // The model may choose another slug or source when the slug belongs to another agent, the skill is retired, or the run does not have the source.
    if (error instanceof Failure && error.status < 500)
      return failed('invalid_arguments', error.detail, false, String(error.context['reason'] ?? error.code));
    throw error;
  }
}

/** The file is read like any other file that the run was given. */
function lend(file: StoredReferenceDoc, isLent: boolean): ToolOutcome {
  if (!isLent) return failed('tool_unavailable', `the file ${file.name} can not be read`, false);
  const text = `[${file.name} is a file (${sizeOf(file)}), attachment_id ${file.attachment_id}: attachment_read reads it.]`;
  return { status: 'succeeded', type: 'text', text };
}

function sizeOf(doc: StoredReferenceDoc): string {
  return doc.attachment_id === undefined ? `${doc.size_chars} characters` : `${doc.media_type}, ${doc.size_chars} long`;
}

function unknownSkill(pins: readonly PinnedSkill[]): ToolOutcome {
  const names = pins.map(({ slug }) => slug).join(', ');
  return failed('invalid_arguments', pins.length === 0 ? 'this run has no skills' : `there is no such skill; there are: ${names}`, false);
}

function readFrom(text: LoadableText, { doc, offset }: { readonly doc: unknown; readonly offset: unknown }): ToolOutcome {
  const start = typeof offset === 'number' ? offset : 0;
  const names = text.referenceDocs.map((doc) => `${doc.name} (${sizeOf(doc)})`).join(', ');
  if (typeof doc !== 'string') {
    const listed = names === '' || start > 0 ? '' : `\n\n[Documents, to be loaded with doc: ${names}]`;
    return part(text.instructions, start, listed);
  }
  const found = text.referenceDocs.find(({ name }) => name === doc);
  if (!found)
    return failed(
      'invalid_arguments',
      names === '' ? 'this skill has no documents' : `there is no such document; there are: ${names}`,
      false,
    );
  return part(found.content ?? '', start, '');
}

/** Returns a part of a text that fits an answer, cut between characters, with the offset to continue from. */
function part(text: string, wanted: number, tail: string): ToolOutcome {
  const start = Math.min(wanted, text.length) - (isInPair(text, wanted) ? 1 : 0);
  const limit = Math.max(1_000, answerChars - tail.length - 100);
  const end = Math.min(text.length, start + limit);
  const next = isInPair(text, end) ? end - 1 : end;
  const more = next < text.length ? `\n\n[${next} of ${text.length} characters; go on with offset ${next}]` : '';
  return { status: 'succeeded', type: 'text', text: text.slice(start, next) + more + tail };
}

function isInPair(text: string, at: number): boolean {
  return /^[\uD800-\uDBFF]$/.test(text.charAt(at - 1)) && /^[\uDC00-\uDFFF]$/.test(text.charAt(at));
}
