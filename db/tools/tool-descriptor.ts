import type { ToolKind } from '../../workflows/contracts/runs/runs.ts';

/** What a run needs of a tool, as of one version. */
export interface ToolDescriptor {
  readonly slug: string;
  readonly kind: ToolKind;
  readonly description: string;
  readonly input_schema: Record<string, unknown>;
  readonly config: Record<string, unknown>;
  readonly secrets_required: readonly string[];
  readonly effect: 'read' | 'write';
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly critical: boolean;
  readonly client_owned: boolean;
  readonly is_idempotent: boolean;
  readonly response_max_chars: number;
  readonly timeout_s: number;
  /** The tool's name in its toolkit. Absent in versions written before toolkits existed. */
  readonly toolkit_id?: string | null;
  readonly remote_name?: string | null;
  /** In versions created by an activation: the hash of what was approved. */
  readonly remote_hash?: string | null;
}
