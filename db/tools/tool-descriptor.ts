import type { ToolKind } from '../../workflows/contracts/runs/runs.ts';

/** What a run needs of a tool, as it stood at one version. */
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
  /** The toolkit's own name of it. Absent in versions written before there were toolkits. */
  readonly toolkit_id?: string | null;
  readonly remote_name?: string | null;
  /** In versions that an activation made: the hash of what was approved. */
  readonly remote_hash?: string | null;
}
