import type { ToolDescriptor } from '../../db/tools/tool-descriptor.ts';
import type { Tool } from '../../db/tools/tool.entity.ts';

/** Builtins that write, but change nothing when they are repeated. */
const repeatableBuiltins: ReadonlySet<string> = new Set(['skill_write', 'knowledge_write']);

/** The descriptor of a tool in its current state. */
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
 * Repeatable are calls to a server that recognises a repeat by a header, a toolkit's tool that was approved as safe to repeat, and a builtin whose single
 * transaction changes nothing when it is repeated.
 */
function isRepeatable({ kind, config, isIdempotent }: Tool): boolean {
  const header = config['idempotency_header'];
  const isBuiltin = kind === 'builtin' && repeatableBuiltins.has(String(config['name']));
  return isIdempotent || isBuiltin || (typeof header === 'string' && header !== '');
}
