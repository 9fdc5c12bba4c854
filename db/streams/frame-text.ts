import { streamProtocol } from '../../workflows/contracts/runs/frames.ts';
import type { ContentBlock } from './frame-parts.schema.ts';
import type { Frame, FrameDraft } from './frame.schema.ts';

/** The run that a frame is about. `path` holds agent slugs, root first. */
export interface RunIdentity {
  readonly runId: string;
  readonly rootRunId: string;
  readonly parentRunId: string | null;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly path: readonly string[];
}

/** Maximum bytes of a frame's text. Longer texts within a frame are truncated, and `ref` names the GET that returns the rest. */
export const maxFrameBytes = 256 * 1024;

const head = `{"v":${streamProtocol},"seq":`;

/**
 * Returns the text of a frame without its number: the part after `{"v":2,"seq":n,`. The number is put before it on writing (by `append_frames`, or by
 * `numbered` for a run's first frame), so the archive, Redis and every reader hold the same bytes.
 */
export function frameText(run: RunIdentity, draft: FrameDraft, attempt: number, at: Date): string {
  const text = textOf(run, draft, attempt, at);
  if (text.length * 3 <= maxFrameBytes || Buffer.byteLength(text) <= maxFrameBytes) return text;

  return textOf(run, truncateDraft(run, draft, Buffer.byteLength(text)), attempt, at);
}

/** Returns a whole frame's text, as `append_frames` builds it. */
export function numbered(seq: number, text: string): string {
  return `${head}${seq},${text}`;
}

/** Returns the text of a descendant's frame on its root's stream. */
export function numberedCopy(seq: number, originSeq: number, text: string): string {
  return `${head}${seq},"origin_seq":${originSeq},${text}`;
}

/** Returns the number in a whole frame's text. */
export function seqOf(text: string): number {
  return Number.parseInt(text.slice(head.length, head.length + 16), 10);
}

/** Returns the type in a whole frame's text if the frame is the stream's own; null for a copy of a descendant's frame. */
export function ownTypeOf(text: string): string | null {
  const start = text.indexOf(',', head.length) + 1;
  if (!text.startsWith('"type":"', start)) return null;
  return text.slice(start + 8, text.indexOf('"', start + 8));
}

/** Returns the type in a whole frame's text, copies included. */
export function typeOf(text: string): string {
  const start = text.indexOf('"type":"', head.length) + 8;
  return text.slice(start, text.indexOf('"', start));
}

/** Parses a whole frame's text. */
export function parseFrame(text: string): Frame {
  return JSON.parse(text) as Frame; // written by frameText, so it has the schema's shape
}

/** Whether a frame is advisory: a later frame repeats its whole content, so it has no copy on the root and is dropped at compaction. */
export function isAdvisory(draft: FrameDraft): boolean {
  if (draft.type === 'message.delta' || draft.type === 'reasoning.delta') return true;
  return (
    draft.type === 'tool.call' && (draft.data.phase === 'started' || draft.data.phase === 'args_delta' || draft.data.phase === 'progress')
  );
}

function textOf(run: RunIdentity, draft: FrameDraft, attempt: number, at: Date): string {
  const envelope = {
    type: draft.type,
    ts: at.toISOString(),
    run_id: run.runId,
    root_run_id: run.rootRunId,
    parent_run_id: run.parentRunId,
    path: run.path,
    attempt,
    data: draft.data,
  };
  return JSON.stringify(envelope).slice(1);
}

function truncateDraft(run: RunIdentity, draft: FrameDraft, bytes: number): FrameDraft {
  const excess = bytes - maxFrameBytes + 1_024;

  if (draft.type === 'message.completed') {
    const ref = `/runs/${run.runId}/messages?message_id=${draft.data.message_id}`;
    return { type: draft.type, data: { ...draft.data, content: cutBlocks(draft.data.content, excess), truncated: true, ref } };
  }
  if (draft.type === 'tool.result') {
    const ref = `/runs/${run.runId}/messages?tool_call_id=${draft.data.tool_call_id}`;
    const output = typeof draft.data.output === 'string' ? truncateText(draft.data.output, excess) : null;
    return { type: draft.type, data: { ...draft.data, output, truncated: true, ref } };
  }
  if (draft.type === 'run.finished' && draft.data.output) {
    const { text, json } = draft.data.output;
    const isJsonTooLong = json !== null && Buffer.byteLength(JSON.stringify(json)) >= excess;
    const output = isJsonTooLong
      ? { ...draft.data.output, json: null }
      : { ...draft.data.output, text: text === null ? null : truncateText(text, excess) };
    return { type: draft.type, data: { ...draft.data, output: { ...output, truncated: true } } };
  }
  return draft;
}

/** Truncates the longest texts first until `excess` bytes are gone; a JSON block that is too long on its own becomes null. */
function cutBlocks(blocks: readonly ContentBlock[], excess: number): ContentBlock[] {
  const result = [...blocks];
  let left = excess;
  while (left > 0) {
    const index = longestOf(result);
    const block = result[index];
    if (!block) break;
    const before = sizeOf(block);
    result[index] = cutBlock(block, left);
    const gained = before - sizeOf(result[index] ?? block);
    if (gained <= 0) break;
    left -= gained;
  }
  return result;
}

function cutBlock(block: ContentBlock, excess: number): ContentBlock {
  if ('text' in block) return { ...block, text: truncateText(block.text, excess) };
  if (block.type === 'json') return { ...block, value: null };
  return block;
}

function longestOf(blocks: readonly ContentBlock[]): number {
  let longest = 0;
  for (let index = 1; index < blocks.length; index++) if (sizeOf(blocks[index]) > sizeOf(blocks[longest])) longest = index;
  return longest;
}

function sizeOf(block: ContentBlock | undefined): number {
  return block === undefined ? 0 : Buffer.byteLength(JSON.stringify(block));
}

/** Drops at least `excess` bytes (as JSON) from the end, never splitting a surrogate pair. */
function truncateText(text: string, excess: number): string {
  const target = Buffer.byteLength(JSON.stringify(text)) - excess;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (Buffer.byteLength(JSON.stringify(text.slice(0, middle))) <= target) low = middle;
    else high = middle - 1;
  }
  const last = text.charCodeAt(low - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? low - 1 : low);
}
