import type { BodyMode, FieldForm, HttpParameter } from '../../workflows/contracts/tools/http-parameters.ts';
import type { WorkPool } from '../untrusted/pool.ts';
import { WorkLimit } from '../untrusted/work-errors.ts';

/** Maximum bytes of a document. */
export const maxDocumentBytes = 25 * 1024 * 1024;

/** What makes a document, or an operation of it, unusable. `pointer` is a JSON pointer into the document; nothing of its text is included. */
export interface DocumentProblem {
  readonly pointer: string;
  readonly rule: string;
  readonly message: string;
}

/** An operation as a tool: what a model sends, and the request that results. `url` has an argument's name in braces in the position of its parameter. */
export interface OpenApiOperation {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly input_schema: Record<string, unknown>;
  readonly output_schema: Record<string, unknown> | null;
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As the document writes it. */
  readonly path: string;
  /** Null when its input schema is complete; otherwise the level of detail that is left: `shape`, or `bare` with its number of levels. */
  readonly reducedTo: string | null;
  readonly request: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly parameters: readonly HttpParameter[];
    readonly body: { readonly mode: BodyMode; readonly template: unknown; readonly fields?: Readonly<Record<string, FieldForm>> };
  };
}

/** An operation that is no tool, and why: a predicate without a subject, like `is beyond the first 200`. */
export interface LeftOutOperation {
  readonly name: string;
  readonly reason: string;
}

export interface OpenApiReading {
  /** Empty when there are problems. */
  readonly operations: readonly OpenApiOperation[];
  /** The first 200 of the selected operations that are not kept. */
  readonly leftOut: readonly LeftOutOperation[];
  readonly leftOutCount: number;
  /** Problems of the document, or of its operations when none can be kept; at most 50. */
  readonly problems: readonly DocumentProblem[];
  /** Names in `include` and `exclude` that match no operation and no tag. */
  readonly unknown: readonly { readonly list: 'include' | 'exclude'; readonly position: number }[];
}

export interface ReadOpenApi {
  /** JSON or YAML, as text or in UTF-8; at most 25 MiB. */
  readonly document: string | Uint8Array;
  /** Ids or tags of the operations to take; null takes all. */
  readonly include: readonly string[] | null;
  /** Ids or tags of operations that are not taken, whatever `include` says. */
  readonly exclude: readonly string[];
}

/**
 * Reads OpenAPI documents (3.0 to 3.2) of tenants, as untrusted work: none can block the process or bring it down. Nothing is fetched; references lead only
 * inside the document. Throws `service_unavailable` as the pool does.
 */
export interface OpenApiReader {
  /** Reads for an organization; null is the platform. */
  read(organizationId: string | null, job: ReadOpenApi): Promise<OpenApiReading>;
}

export function createOpenApiReader(pool: Pick<WorkPool, 'run'>): OpenApiReader {
  return {
    async read(organizationId, job) {
      try {
        return await pool.run('openapi', { organizationId, job, subject: () => job.document });
      } catch (error) {
        if (!(error instanceof WorkLimit)) throw error;
        const problem = { pointer: '', rule: 'too_large', message: 'the document takes too long or too much memory to read' };
        return { operations: [], leftOut: [], leftOutCount: 0, problems: [problem], unknown: [] };
      }
    },
  };
}
