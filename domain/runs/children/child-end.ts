import { truncateText } from '../../../workflows/contracts/truncate-text.ts';
import { findInexact } from '../../../workflows/contracts/tools/exact-json.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import { shareWithRun } from '../../../db/attachments/run-links.ts';
import type { FrameDraft } from '../../../db/streams/frame.schema.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { DelegateOutput } from '../../../db/agents/effective/delegate-target.ts';
import { resultWithoutOutput, type RunOutput } from '../../../db/runs/run-frames.ts';
import type { StepError } from '../../../db/runs/run-types.ts';
import { subAgentFrame } from '../../../db/runs/children/sub-agent-frame.ts';
import type { CallState } from '../../../db/runs/calls/call-state.ts';
import { endCall } from '../calls/tool-calls.ts';
import type { CallOutcome } from '../../../db/runs/calls/call-rows.ts';
import { type ChildRun, writeChildUsage } from '../../../db/runs/children/child-rows.ts';

const maxSummaryChars = 2_000;
const maxReportedChars = 600;
const maxRestBytes = 2 * 1024 * 1024;

/**
 * Ends a delegate call with the outcome of its child: result, step with the child's usage, files that the parent may read from now on. Returns the frames for
 * the parent's stream, none when the call had ended before. The caller has locked the parent's row.
 */
export async function endChildCall(tx: TenantTransaction, call: CallState, child: ChildRun): Promise<FrameDraft[]> {
  const frame = await endCall(tx, call, null, endOf(call, child));
  if (frame === null) return [];
  await writeChildUsage(tx, call, child);
  const parent = {
    id: call.runId,
    organizationId: call.organizationId,
    workspaceId: call.workspaceId,
    conversationId: call.conversationId,
  };
  const files = child.output?.attachments ?? [];
  await shareWithRun(
    tx,
    parent,
    files.map((file) => file.attachment_id),
  );
  return [subAgentFrame(child, 'finished', { summary: summaryOf(child), usage: child.usageSubtree }), frame];
}

function summaryOf({ output }: ChildRun): string | null {
  const text = output === null ? null : (output.text ?? (output.json === null ? null : JSON.stringify(output.json)));
  return text === null ? null : truncateText(text, maxSummaryChars).toWellFormed();
}

function endOf(call: CallState, child: ChildRun): CallOutcome {
  if (child.status === 'succeeded') return succeeded(call, child);
  // The parent is ending and cancels the child with it.
  if (child.status === 'cancelled' || !isTerminal(child.status))
    return { state: 'cancelled', result: resultWithoutOutput('cancelled', null), rest: null };
  const state = child.finishReason === 'timeout' ? 'timed_out' : 'failed';
  const result = resultWithoutOutput(state, faultOf(child));
  return { state, result: { ...result, output: outputOf(call, child, call.responseMaxChars), outputType: 'json' }, rest: null };
}

function succeeded(call: CallState, child: ChildRun): CallOutcome {
  const output = outputOf(call, child);
  const text = JSON.stringify(output);
  const isTruncated = text.length > call.responseMaxChars;
  return {
    state: 'succeeded',
    result: {
      status: 'succeeded',
      output: isTruncated ? truncateText(text, call.responseMaxChars) : output,
      outputType: isTruncated ? 'text' : 'json',
      truncated: isTruncated,
      cached: false,
      totalChars: text.length,
      error: null,
      durationMs: null,
    },
    rest: isTruncated
      ? Buffer.from(text)
          .subarray(0, maxRestBytes)
          .toString('utf8')
          .replace(/\uFFFD$/, '')
      : null,
  };
}

/** The output of a child as the model gets it: `{run_id, status, output}`, and its files if it has any. */
function outputOf(call: CallState, child: ChildRun, maxChars = Infinity): Record<string, unknown> {
  const files = child.output?.attachments ?? [];
  return {
    run_id: child.id,
    status: child.status,
    output: cut(wordsOf(child.output, pinnedOutput(call)), maxChars),
    ...(files.length === 0 ? {} : { attachments: files }),
  };
}

/** Truncates what is too long; JSON then becomes the beginning of its text. */
function cut(words: unknown, maxChars: number): unknown {
  const text = typeof words === 'string' ? words : JSON.stringify(words);
  return text.length <= maxChars ? words : truncateText(text, maxChars);
}

function pinnedOutput({ manifest, slug }: CallState): DelegateOutput {
  return manifest?.tools.find((tool) => tool.slug === slug)?.delegate?.output ?? 'text';
}

/** Returns JSON where it was requested and can be parsed, else text, whichever form the agent gave. */
function wordsOf(output: RunOutput | null, asked: DelegateOutput): unknown {
  if (output === null) return null;
  if (asked === 'json') return output.json ?? parsed(output.text);
  return output.text ?? (output.json === null ? null : JSON.stringify(output.json));
}

function parsed(text: string | null): unknown {
  if (text === null || findInexact(text, 'large') !== null) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Why the call failed, in the codes of results, with the text that the agent had produced by then. */
function faultOf(child: ChildRun): StepError {
  const isTimeout = child.finishReason === 'timeout';
  const why = child.error?.message ?? `it ended with ${child.finishReason ?? child.status}`;
  const said = child.output?.text ? ` What it had said: ${truncateText(child.output.text, maxReportedChars)}` : '';
  return {
    code: isTimeout ? 'timed_out' : 'tool_unavailable',
    message: truncateText(`The agent ${child.agentSlug} did not finish: ${why}.${said}`, 1_000).toWellFormed(),
    retryable: child.error?.retryable ?? isTimeout,
    reason: child.error?.reason ?? child.finishReason,
  };
}
