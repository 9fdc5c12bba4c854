import type { RegisteredOperation } from '../operation/operation.ts';

export const deprecationKinds = ['operation', 'parameter', 'request_field', 'response_field', 'enum_value'] as const;

/** A part of the contract that is on its way out. Its id is a constant in code, since links point to it. */
export interface Deprecation {
  readonly id: string;
  readonly kind: (typeof deprecationKinds)[number];
  /** Null for a part of a component that many operations share. */
  readonly operationId: string | null;
  readonly component: string | null;
  /** JSON pointer into the operation or the component, where the document must hold something. */
  readonly pointer: string | null;
  readonly deprecatedAt: Date;
  readonly sunsetAt: Date;
  readonly replacement: string | null;
  readonly note: string;
}

interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

const minNoticeMs = 180 * 86_400_000;

/** Aborts the start of a process whose deprecations give less than 180 days of notice or name what its document doesn't contain. */
export function checkDeprecations(deprecations: readonly Deprecation[], document: OpenApiDocument): void {
  const faults = deprecations.flatMap((entry) => faultsOf(entry, document).map((fault) => `${entry.id} ${fault}`));
  if (faults.length > 0) throw new Error(`bad deprecations: ${faults.join('; ')}`);
}

/** Deprecation (RFC 9745), Sunset (RFC 8594) and Link of every reply of an operation with a deprecated part; the nearest end counts. */
export function deprecationHeaders(
  deprecations: readonly Deprecation[],
  operation: RegisteredOperation,
  publicUrl: string,
): Record<string, string> {
  const [nearest, ...others] = deprecations
    .filter((entry) => entry.operationId === operation.operationId)
    .toSorted((left, right) => left.sunsetAt.getTime() - right.sunsetAt.getTime());
  if (!nearest) return {};

  const earliest = Math.min(...[nearest, ...others].map((entry) => entry.deprecatedAt.getTime()));
  return {
    deprecation: `@${Math.floor(earliest / 1_000)}`,
    sunset: nearest.sunsetAt.toUTCString(),
    link: [nearest, ...others].map((entry) => `<${publicUrl}/deprecations#${entry.id}>; rel="deprecation"`).join(', '),
  };
}

function faultsOf(entry: Deprecation, document: OpenApiDocument): string[] {
  const faults: string[] = [];
  if (entry.sunsetAt.getTime() - entry.deprecatedAt.getTime() < minNoticeMs) faults.push('gives less than 180 days of notice');

  const root = rootOf(entry, document);
  if (root === undefined) faults.push('names nothing in the document');
  else if (entry.pointer !== null && valueAt(root, entry.pointer) === undefined) faults.push(`points to nothing at ${entry.pointer}`);
  return faults;
}

function rootOf(entry: Deprecation, document: OpenApiDocument): unknown {
  if (entry.component !== null) return document.components.schemas[entry.component];
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  return operations.find(
    (operation) => typeof operation === 'object' && operation !== null && Reflect.get(operation, 'operationId') === entry.operationId,
  );
}

function valueAt(root: unknown, pointer: string): unknown {
  const segments = pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
  return segments.reduce<unknown>((at, segment) => (typeof at === 'object' && at !== null ? Reflect.get(at, segment) : undefined), root);
}
