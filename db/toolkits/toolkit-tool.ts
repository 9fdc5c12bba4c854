/** A tool as a toolkit's revision holds it; wire names, because views show it unchanged. */
export interface ToolkitTool {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly input_schema: Record<string, unknown>;
  readonly output_schema: Record<string, unknown> | null;
  readonly annotations: Record<string, unknown>;
  /** SHA-256 of canonical {name, title, description, inputSchema, outputSchema, annotations}. */
  readonly hash: string;
  /** What the source declares about the tool: proposed only, never in force before an approval. */
  readonly proposed: {
    readonly effect: 'read' | 'write';
    readonly concurrency: 'read' | 'write' | 'exclusive';
    readonly idempotent: boolean;
  };
  /** How a tool of an OpenAPI document or a manual tool is called: the config of its kind. Absent for MCP. */
  readonly execution?: { readonly kind: 'http'; readonly config: Record<string, unknown> };
}

/** How a tool of a revision differs from the active one. */
export interface ToolkitChange {
  readonly name: string;
  readonly change: 'added' | 'removed' | 'changed' | 'unchanged';
  /** The fields that differ: title, description, input_schema, output_schema, annotations. */
  readonly fields: readonly string[];
}
