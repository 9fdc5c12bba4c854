import type { Area, RegisteredOperation } from './operation.ts';

/** The operations that are routed and documented. */
export function liveOperations(areas: readonly Area[]): readonly RegisteredOperation[] {
  return areas.flatMap((area) => area.operations).filter((operation) => operation.status !== 'specified');
}

/** Operations that the contract names and that are not mounted: 404, even where another method of their path is live. */
export function specifiedOperations(areas: readonly Area[]): readonly RegisteredOperation[] {
  return areas.flatMap((area) => area.operations).filter((operation) => operation.status === 'specified');
}

/** Whether an operation belongs to operators only, so that the public reference leaves it out. */
export function isForOperators(operation: RegisteredOperation): boolean {
  return operation.visibility === 'operator' || operation.area === 'Operator';
}

/** Throws if the list of operations contradicts itself, and names every fault: the process does not start. */
export function checkRegistry(areas: readonly Area[]): void {
  const operations = areas.flatMap((area) => area.operations);
  const faults = [
    ...repeated(operations.map((operation) => operation.operationId)).map((id) => `${id} stands twice`),
    ...repeated(operations.map(routeOf)).map((route) => `${route} is taken twice`),
    ...operations.flatMap((operation) => faultsOf(operation).map((fault) => `${operation.operationId} ${fault}`)),
  ];
  if (faults.length > 0) throw new Error(`bad operations: ${faults.join('; ')}`);
}

/** Returns method and path with parameter names removed, because the router does not distinguish them. */
function routeOf(operation: RegisteredOperation): string {
  return `${operation.method} ${operation.path.replaceAll(/\{\w+\}/g, '{}')}`;
}

function faultsOf(operation: RegisteredOperation): string[] {
  const named = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const declared = Object.keys(operation.params?.properties ?? {});
  const isMutation = operation.method !== 'GET' && operation.audit !== 'none';
  const scopeArea = operation.scope?.split(':')[0];

  return [
    named.join() !== declared.join() && `declares the parameters ${declared.join()} for ${operation.path}`,
    !/^\/[A-Za-z0-9._{}/-]+$/.test(operation.path) && 'has a path that is none',
    operation.description.length < 20 && 'has a description under 20 characters',
    isMutation && operation.transaction === 'none' && 'writes an audit entry outside a transaction',
    operation.kind === 'list' && operation.paging === null && 'is a list without paging',
    scopeArea !== undefined && !/^[a-z]+$/.test(scopeArea) && 'has a scope that is none',
    operation.kind !== 'raw' && operation.view === null && operation.method === 'GET' && 'reads without a view',
    idOfView(operation) === '' && 'has a view without a name',
  ].filter((fault): fault is string => typeof fault === 'string');
}

function idOfView(operation: RegisteredOperation): string | null {
  if (!operation.view) return null;
  const id: unknown = Reflect.get(operation.view, '$id');
  return typeof id === 'string' ? id : '';
}

function repeated(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
}
