import type { ToolCallState } from '../../workflows/contracts/runs.ts';
import { rows } from '../sql.ts';
import type { Unit } from '../unit.ts';

/** A call of a stored step, for the workflow's plan. */
export interface StoredCall {
  readonly id: string;
  readonly effect: 'read' | 'write';
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly timeout_s: number;
  readonly is_idempotent: boolean;
  readonly state: ToolCallState;
}

/** The calls that a message asks for, in the model's order. */
export function readPlannedCalls(unit: Unit, messageId: string): Promise<StoredCall[]> {
  return rows<StoredCall>(
    unit.em,
    'select id, effect, concurrency, timeout_s, is_idempotent, state from tool_calls where message_id = ? order by pos',
    [messageId],
  );
}
