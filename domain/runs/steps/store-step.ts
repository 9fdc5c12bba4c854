import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import type { FrameDraft } from '../../../db/streams/frame.schema.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { followUpFrame, insertFollowUp } from '../../../db/runs/start/follow-up.ts';
import { insertToolMessages, type ToolMessage } from '../../../db/runs/calls/tool-messages.ts';
import { measureFirstFrame } from '../end/measure-run.ts';
import { messageFrame, resultWithoutOutput, toolCallFrame, toolResultFrame } from '../../../db/runs/run-frames.ts';
import { lockRunWithAncestors, type RunState } from '../../../db/runs/run-state.ts';
import { settleStep, usageFrame, type StepTotals } from './step-usage.ts';
import {
  type CheckedCall,
  type ModelStepResult,
  closeStep,
  isStored,
  nextPosition,
  insertAssistantMessage,
  countStep,
} from '../../../db/runs/steps/stored-step.ts';
import { insertCalls, insertRefusedSteps } from '../../../db/runs/steps/asked-calls.ts';

/**
 * Stores a complete model step: message, calls, usage, step row; `append` writes its frames in the same transaction. Returns `fenced` when a later try has
 * taken the step, `ended` when the run is cancelling or has ended: nothing is stored then. May be repeated: what is stored stays.
 */
export async function storeModelStep(
  tx: TenantTransaction,
  result: ModelStepResult,
  append: (frames: FrameDraft[]) => Promise<unknown>,
): Promise<'stored' | 'fenced' | 'ended'> {
  const locked = await lockRunWithAncestors(tx, result.runId);
  if (!locked || isTerminal(locked.run.status) || locked.run.status === 'cancelling') return 'ended';
  const { run } = locked;
  const [isClosed, pos] = await Promise.all([closeStep(tx, result), nextPosition(tx, run.id)]);
  if (!isClosed) return (await isStored(tx, result)) ? 'stored' : 'fenced';

  await countStep(tx, run.id, result.step);
  await insertAssistantMessage(tx, run, result, pos);
  await insertCalls(tx, run, result);
  const refused = result.calls.filter((call) => call.refusal !== null);
  await insertToolMessages(
    tx,
    {
      id: run.id,
      organizationId: run.organization_id,
      workspaceId: run.workspace_id,
      conversationId: run.conversation_id,
      turnNo: run.turn_no,
    },
    refused.map((call) => refusalMessage(call, result, pos)),
  );
  await insertRefusedSteps(tx, run, result, refused);
  if (result.followUp) await insertFollowUp(tx, run, result.followUp, pos + 1);
  const totals = await settleStep(tx, locked, result);
  if (result.step === 1 && result.firstTokenAt !== null) measureFirstFrame(tx, run, result.firstTokenAt);
  const asked = result.followUp ? [followUpFrame(result.followUp)] : [];
  await append([...framesOf(run, result, totals), ...asked]);
  return 'stored';
}

function refusalMessage(call: CheckedCall, result: ModelStepResult, assistantPos: number): ToolMessage {
  return {
    toolCallId: call.toolCallId,
    step: result.step,
    pos: assistantPos + 1 + call.pos,
    content: [{ type: 'text', text: call.refusal?.message ?? '' }],
  };
}

function framesOf(run: RunState, result: ModelStepResult, totals: StepTotals | null): FrameDraft[] {
  const frames: FrameDraft[] = [
    messageFrame({
      messageId: result.messageId,
      role: 'assistant',
      step: result.step,
      model: result.model,
      stopReason: result.stopReason,
      content: result.content,
      toolCallIds: result.calls.map((call) => call.toolCallId),
      origin: 'model',
    }),
  ];
  if (totals !== null) frames.push(usageFrame(result, totals));
  for (const call of result.calls) {
    frames.push(toolCallFrame(call, { phase: 'ready', args: call.args, args_hash: call.argsHash }));
    if (call.refusal === null) continue;
    frames.push(toolResultFrame(run, call.toolCallId, resultWithoutOutput('failed', call.refusal)));
  }
  return frames;
}
