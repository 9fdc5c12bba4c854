import type { ToolKind } from '../../workflows/contracts/runs.ts';
import type { Tool } from './tool.entity.ts';

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
}

/** The descriptor of a tool as it stands now. */
export function descriptorOf(tool: Tool): ToolDescriptor {
  return {
    slug: tool.slug,
    kind: tool.kind,
    description: tool.description,
    input_schema: tool.inputSchema,
    config: tool.config,
    secrets_required: tool.secretsRequired,
    effect: tool.effect,
    concurrency: tool.concurrency,
    critical: tool.critical,
    client_owned: tool.clientOwned,
    // A server that knows a repeated call by a header, or a toolkit's tool that was approved as safe to repeat.
    is_idempotent: tool.isIdempotent || (typeof tool.config['idempotency_header'] === 'string' && tool.config['idempotency_header'] !== ''),
    response_max_chars: tool.responseMaxChars,
    timeout_s: tool.timeoutS,
    toolkit_id: tool.toolkitId,
    remote_name: tool.remoteName,
  };
}
