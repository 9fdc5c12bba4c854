import type { ToolDescriptor } from '../../db/tools/tool-descriptor.ts';
import type { Tool } from '../../db/tools/tool.entity.ts';

/** Builtins that write, and change nothing when they are repeated. */
const repeatableBuiltins: ReadonlySet<string> = new Set(['skill_write', 'knowledge_write']);

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
    is_idempotent: isRepeatable(tool),
    response_max_chars: tool.responseMaxChars,
    timeout_s: tool.timeoutS,
    toolkit_id: tool.toolkitId,
    remote_name: tool.remoteName,
  };
}

/**
 * A server that knows a repeated call by a header, a toolkit's tool that was approved as safe to repeat, or a builtin whose one transaction
 * changes nothing when it is done again.
 */
function isRepeatable({ kind, config, isIdempotent }: Tool): boolean {
  const header = config['idempotency_header'];
  const isBuiltin = kind === 'builtin' && repeatableBuiltins.has(String(config['name']));
  return isIdempotent || isBuiltin || (typeof header === 'string' && header !== '');
}
