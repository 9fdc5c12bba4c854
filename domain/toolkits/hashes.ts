import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';

/** SHA-256, hexadecimal, of the canonical JSON (RFC 8785) of everything that a tool's caller relies on: any change of it needs a new approval. */
export function toolHash(tool: Omit<ToolkitTool, 'hash' | 'proposed' | 'execution'>): string {
  return sha256Of({
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.input_schema,
    outputSchema: tool.output_schema,
    annotations: tool.annotations,
  });
}

/** SHA-256 of a value's canonical JSON, hexadecimal. */
export function sha256Of(value: unknown): string {
  return createHash('sha256')
    .update(canonicalize(value) ?? '')
    .digest('hex');
}
