import type { WorkPool } from './untrusted/pool.ts';
import { WorkLimit } from './untrusted/work-errors.ts';

/** What makes a document, or an operation of it, unusable. `pointer` is a JSON pointer into the document; nothing of its text is in it. */
export interface DocumentProblem {
  readonly pointer: string;
  readonly rule: string;
  readonly message: string;
}

/** An operation as a tool: what a model sends, and the request that it becomes. `url` is a Liquid template and begins with the path. */
export interface OpenApiOperation {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly input_schema: Record<string, unknown>;
  readonly output_schema: Record<string, unknown> | null;
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As the document writes it. */
  readonly path: string;
  readonly request: {
    readonly url: string;
    readonly query: Readonly<Record<string, string>>;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: { readonly mode: 'none' | 'json' | 'form' | 'raw'; readonly template: unknown };
  };
}

export interface OpenApiReading {
  /** Empty when there are problems. */
  readonly operations: readonly OpenApiOperation[];
  /** At most 50. */
  readonly problems: readonly DocumentProblem[];
  /** Positions in `include` that name no operation. */
  readonly unknown: readonly number[];
}

export interface ReadOpenApi {
  /** JSON or YAML, at most 4 MiB. */
  readonly text: string;
  /** Operation ids; null takes all, at most 200. */
  readonly include: readonly string[] | null;
}

/**
 * Reads OpenAPI 3.0 and 3.1 documents of tenants, as untrusted work: none can block the process or bring it down. Nothing is fetched;
 * references lead inside the document only. Throws `service_unavailable` as the pool does.
 */
export interface OpenApiReader {
  /** For an organization; null is the platform. */
  read(organizationId: string | null, job: ReadOpenApi): Promise<OpenApiReading>;
}

export function createOpenApiReader(pool: Pick<WorkPool, 'run'>): OpenApiReader {
  return {
    async read(organizationId, job) {
      try {
        return await pool.run('openapi', { organizationId, job, subject: () => job.text });
      } catch (error) {
        if (!(error instanceof WorkLimit)) throw error;
        const problem = { pointer: '', rule: 'too_large', message: 'the document takes too long or too much memory to read' };
        return { operations: [], problems: [problem], unknown: [] };
      }
    },
  };
}
