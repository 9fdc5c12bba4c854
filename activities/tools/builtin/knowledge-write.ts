import type { KnowledgeFact } from '../../../db/knowledge/items/knowledge-item.entity.ts';
import { knowledgeItemKinds } from '../../../workflows/contracts/knowledge/curation.ts';
import { writeItem, type ItemWish, type WrittenItem } from '../../../domain/knowledge/items/write-item.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { failed, type ToolExecution, type ToolOutcome } from '../calls/outcome.ts';
import type { ToolDeps } from '../tool-deps.ts';

const notes: Readonly<Record<WrittenItem['status'], string>> = {
  written: 'It waits for a curator; nobody vouches for it yet.',
  existing: 'The base has these words already.',
  deferred: 'The base is being rebuilt; it will be written when that is done.',
};

/** The builtin `knowledge_write`: adds a pending item of the run's agent to a base that it may write to now. Executing it again changes nothing. */
export async function writeKnowledge(
  { args, run, place, toolCallId, transact }: ToolExecution,
  { embedder }: Pick<ToolDeps, 'embedder'>,
): Promise<ToolOutcome> {
  if (run === null) return failed('tool_unavailable', 'knowledge is written within a run only', false);
  const wish = wishOf(args);
  if (!isStorable(wish)) return failed('invalid_arguments', 'content and title must be text that can be kept, and not empty', false);
  try {
    const slug = typeof args['base'] === 'string' ? args['base'] : null;
    const written = await writeItem({ transact, embedder }, { runId: run.id, toolCallId, place, wish }, slug);
    return { status: 'succeeded', type: 'json', value: { ...written, note: notes[written.status] } };
  } catch (error) {
    // The model may choose another base when it may not write to this one, or this one is frozen.
    if (error instanceof Failure && error.status < 500 && !error.retryable)
      return failed('invalid_arguments', error.detail, false, String(error.context['reason'] ?? error.code));
    throw error;
  }
}

/** Returns the item that the arguments of a call describe; they fit the tool's input schema. */
export function wishOf(args: Readonly<Record<string, unknown>>): ItemWish {
  const { title, tags, kind, fact } = args;
  return {
    content: String(args['content']).trim(),
    title: typeof title === 'string' && title.trim() !== '' ? title.trim() : null,
    kind: knowledgeItemKinds.find((known) => known === kind),
    tags: Array.isArray(tags) ? tags.map(String) : [],
    fact: factOf(fact),
  };
}

function factOf(fact: unknown): KnowledgeFact | null {
  if (fact === null || typeof fact !== 'object') return null;
  const part = (name: string) => String(Reflect.get(fact, name));
  return { subject: part('subject'), relation: part('relation'), object: part('object') };
}

/** PostgreSQL stores no U+0000, and half a surrogate pair is not text. */
function isStorable({ content, title, tags, fact }: ItemWish): boolean {
  const texts = [content, title ?? '', ...tags, ...(fact ? Object.values(fact) : [])];
  return content !== '' && texts.every((text) => !text.includes('\u0000') && text.isWellFormed());
}
