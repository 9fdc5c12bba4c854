import type { Fault } from './stage.ts';

/** Faults as lines, each once, for an assertion that shows them all. */
export function lines(faults: readonly Fault[]): string[] {
  return [...new Set(faults.map(({ operation, fault }) => `${operation}: ${fault}`))];
}

/** Operations without any fault: where each was spoilt, none may be among them. */
export function unnoticed(operationIds: readonly string[], faults: readonly Fault[]): string[] {
  const noticed = new Set(faults.map(({ operation }) => operation));
  return operationIds.filter((operationId) => !noticed.has(operationId));
}
