import { agentRunSignals } from '../../../workflows/contracts/runs/agent-run.ts';
import { invalid, type Failure } from '../../../workflows/contracts/failure.ts';
import { workflowIds } from '../../../workflows/contracts/queues.ts';
import { linkToRun } from '../../attachments/run-attachments.ts';
import { newId } from '../../../db/ids.ts';
import { addOutbox } from '../../../db/outbox.ts';
import type { FrameDraft } from '../../../db/streams/frame.schema.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { contentOf } from '../../../db/runs/start/insert-run.ts';
import { messageFrame } from '../../../db/runs/run-frames.ts';
import type { RunState } from '../../../db/runs/run-state.ts';
import type { RunInput } from '../../../db/runs/read/run-view.ts';
import { writeWhole, insertInput, takeUnread } from '../../../db/runs/input/input-rows.ts';

const maxTextChars = 262_144;
/** The limit of an open object in a request body, which joined JSON has to meet as well. */
const maxJsonBytes = 65_536;
const maxFiles = 20;

/**
 * Adds a message to a live run. A queued run asks it together with its input; any other reads it before its next model call, and its workflow is woken after
 * the commit. The caller has locked the conversation and then the run, so that the transaction that ends the run either finds the message unread or has ended
 * the run before. Throws 422 at `pointer` when the message would make a queued run's input too large.
 */
export async function addMessage(tx: TenantTransaction, run: RunState, input: RunInput, pointer = '/input'): Promise<void> {
  const place = { id: run.id, organizationId: run.organization_id, workspaceId: run.workspace_id, conversationId: run.conversation_id };
  const files = (input.attachments ?? []).map((file) => file.attachment_id);
  if (run.status === 'queued') {
    const whole = joined(run.input as RunInput, input, pointer);
    await linkToRun(tx, place, files);
    await writeWhole(tx, run.id, { input: whole, content: contentOf(whole) });
    return;
  }
  await linkToRun(tx, place, files);
  const id = newId();
  await insertInput(tx, run, { id, content: contentOf(input) });
  await addOutbox(
    tx,
    { kind: 'workflow.signal', workflowId: workflowIds.run(run.id), signal: agentRunSignals.inputAdded },
    { dedupeKey: `input:${id}` },
  );
}

/** Joins the original and the added input into one: texts below each other, JSON properties merged. */
function joined(first: RunInput, added: RunInput, pointer: string): RunInput {
  const text = [first.text, added.text].filter((part) => part !== undefined).join('\n\n');
  const json = first.json === undefined && added.json === undefined ? undefined : { ...first.json, ...added.json };
  const known = new Set(first.attachments?.map((file) => file.attachment_id));
  const attachments = [...(first.attachments ?? []), ...(added.attachments ?? []).filter((file) => !known.has(file.attachment_id))];

  if (added.text !== undefined && isLonger(text)) throw tooLong(`${pointer}/text`, maxTextChars);
  if (added.json !== undefined && Buffer.byteLength(JSON.stringify(json)) > maxJsonBytes) throw tooLong(`${pointer}/json`, maxJsonBytes);
  if (attachments.length > maxFiles)
    throw invalid(`${pointer}/attachments`, 'maxItems', 'The queued run would have too many files.', { limit: maxFiles });
  return {
    ...(text === '' ? {} : { text }),
    ...(json === undefined ? {} : { json }),
    ...(attachments.length === 0 ? {} : { attachments }),
  };
}

function tooLong(pointer: string, limit: number): Failure {
  return invalid(pointer, 'maxLength', 'The input of the queued run would be too long.', { limit });
}

/** Counts as the schema of an input does: in characters, however they are encoded. */
function isLonger(text: string): boolean {
  return text.length > maxTextChars && Array.from(text).length > maxTextChars;
}

/** Appends the conversation's unread messages to the run's messages, before the model call of a step; returns their frames. */
export async function readAddedInput(tx: TenantTransaction, run: RunState, step: number): Promise<FrameDraft[]> {
  const read = await takeUnread(tx, run, step);
  return read.map(({ id, content }) =>
    messageFrame({
      messageId: id,
      role: 'user',
      step: null,
      model: null,
      stopReason: null,
      content,
      toolCallIds: [],
      origin: 'user',
    }),
  );
}
