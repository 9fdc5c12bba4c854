import Type from 'typebox';
import type { ToolTestResult } from '../../db/tools/tool-test.entity.ts';
import { toolResultCodes } from '../../workflows/contracts/runs/runs.ts';
import { closed, integer, nullable, oneOf, text, ToolArguments } from '../http/input/schema.ts';

export const ToolTest = closed(
  {
    arguments: { ...ToolArguments, description: 'What a model would send; checked against the input schema' },
    dry_run: Type.Optional(Type.Boolean({ default: false, description: 'Renders the request and sends nothing' })),
  },
  { $id: 'ToolTest' },
);

export const ToolTestView = closed(
  {
    status: oneOf(['succeeded', 'failed', 'timed_out']),
    output: Type.Unsafe<unknown>({ description: 'Text or JSON, truncated as for a model; null without a result' }),
    output_type: oneOf(['text', 'json']),
    truncated: Type.Boolean(),
    total_chars: integer(),
    error: nullable(
      closed({
        code: oneOf(toolResultCodes, { extensible: true }),
        message: text(1_000),
        retryable: Type.Boolean(),
      }),
    ),
    request: nullable(
      closed({
        method: text(10),
        url: text(16_384),
        headers: Type.Unsafe<Record<string, string>>({
          type: 'object',
          maxProperties: 100,
          additionalProperties: { type: 'string', maxLength: 16_384 },
        }),
      }),
    ),
    duration_ms: integer(),
  },
  { $id: 'ToolTestView', description: 'The result of a test; secrets only appear by name' },
);

/** The wire form of a test's result. */
export function toToolTestView(result: ToolTestResult) {
  return {
    status: result.status,
    output: result.output,
    output_type: result.output_type,
    truncated: result.truncated,
    total_chars: result.total_chars,
    error: result.error,
    request: result.request && { method: result.request.method, url: result.request.url, headers: { ...result.request.headers } },
    duration_ms: result.duration_ms,
  };
}
