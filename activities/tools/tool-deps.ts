import type { KeyRing } from '../../db/key-ring.ts';
import type { Egress } from '../../ports/egress/egress.ts';
import type { Embedder } from '../../ports/embeddings/index.ts';
import type { SchemasByTenant } from '../../ports/json/schema.ts';
import type { McpSessions } from '../../ports/mcp/sessions.ts';
import type { Sandbox } from '../../ports/sandbox/sandbox.ts';
import type { Storage } from '../../ports/storage/storage.ts';
import type { TemplatesByTenant } from '../../ports/templates/templates.ts';
import type { Measurement } from '../../workflows/contracts/measurements.ts';
import type { ActivityDeps } from '../deps.ts';
import type { ToolsChanged } from '../mcp/list-changed.ts';
import type { WebPages } from './builtin/web-fetch.ts';

/** What the executors of tools share in one process. */
export interface ToolDeps {
  readonly egress: Egress;
  readonly templates: TemplatesByTenant;
  readonly pages: WebPages;
  readonly storage: Storage;
  /** Where programs of `code_exec` run; null: `CODE_EXEC=off`. */
  readonly sandbox: Sandbox | null;
  readonly keys: Pick<KeyRing, 'keks'>;
  readonly env: Pick<ActivityDeps['env'], 'mcpRedirectUri' | 'billingCurrency' | 'unpricedModel'>;
  /** Computes the vectors of queries. */
  readonly embedder: Embedder;
  /** Adds to the metrics of the process. */
  readonly measure: (measurement: Measurement) => void;
  readonly schemas: SchemasByTenant;
  readonly mcp: McpSessions;
  /** Called when an MCP server announces that its tools have changed. */
  readonly toolsChanged: ToolsChanged;
}
