import { findRunFile } from '../../db/attachments/run-attachments.ts';
import type { ToolDeps } from '../tools/tool-deps.ts';
import { failed, type ToolExecution, type ToolOutcome } from '../tools/calls/outcome.ts';
import { truncateText } from '../tools/calls/output.ts';
import { textOfFile } from './file-text.ts';

const maxReadChars = 20_000;

/** Builtin `attachment_read`: text of a file that was given to the conversation or created in it, from `offset` on. */
export async function readAttachment(execution: ToolExecution, deps: ToolDeps): Promise<ToolOutcome> {
  const { attachment_id: id, offset } = execution.args;
  const { run } = execution;
  const file = typeof id === 'string' && run !== null ? await execution.transact((tx) => findRunFile(tx, run.id, id)) : null;
  if (file === null) return failed('invalid_arguments', 'this conversation has no file under that attachment_id', false);
  if (file.state !== 'ready')
    return failed('tool_unavailable', `the file is ${file.state}`, file.state === 'scanning', 'attachment_not_ready');

  const text = await textOfFile({ ...deps, organizationId: execution.place.organizationId }, file);
  if (text === null) return failed('tool_unavailable', `a file of type ${file.mediaType} can not be read as text`, false);
  const start = typeof offset === 'number' ? offset : 0;
  const part = truncateText(text.slice(start), maxReadChars);
  const next = start + part.length;
  const more = next < text.length ? `\n\n[${next} of ${text.length} characters; go on with offset ${next}]` : '';
  return { status: 'succeeded', type: 'text', text: part + more };
}
