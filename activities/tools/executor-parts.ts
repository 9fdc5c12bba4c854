import type { Egress } from '../../ports/egress.ts';
import type { Sandbox } from '../../ports/sandbox.ts';
import type { Storage } from '../../ports/storage.ts';
import type { Templates } from '../../ports/templates.ts';
import type { WebPages } from './web-fetch.ts';

/** What executors of tools share in one process. */
export interface ExecutorParts {
  readonly egress: Egress;
  readonly templates: Templates;
  readonly pages: WebPages;
  readonly storage: Storage;
  /** Where programs of `code_exec` run; null: `CODE_EXEC=off`. */
  readonly sandbox: Sandbox | null;
}
