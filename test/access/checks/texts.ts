import type { Fault, Stage } from '../stage.ts';
import { canariesIn } from '../world/places.ts';

/** G5 for what is read by nobody in particular: lines of the log, refusals, probes and metrics hold no tenant's words. */
export function textFaults(stage: Stage): Fault[] {
  return [...logFaults(stage), ...systemFaults(stage), ...refusalFaults(stage)];
}

/** A line holds no tenant's words, and a line about a caller of A no id of B. */
function logFaults(stage: Stage): Fault[] {
  const { a } = stage.world;
  return stage.lines.flatMap((line) => {
    const { operation, organization_id: organizationId }: { operation?: string; organization_id?: string } = JSON.parse(line);
    const words = canariesIn(line).map(({ mark }) => mark);
    const ids = organizationId === a.organization.organizationId ? stage.leaks.foreignIn(line, { sight: 'organization' }) : [];
    return [...words, ...ids].map((mark) => ({
      operation: operation ?? 'none',
      fault: `a line of the log holds ${mark}: ${line.slice(0, 300)}`,
    }));
  });
}

function systemFaults(stage: Stage): Fault[] {
  const replies = stage.sent.filter(({ operation, status }) => operation.area === 'System' && status < 300);
  return replies.flatMap(({ operation, actor, text }) =>
    canariesIn(text).map(({ mark }) => ({ operation: operation.operationId, fault: `shows ${actor.name} ${mark}` })),
  );
}

/** Whatever a refusal says, it says in the platform's own words. */
function refusalFaults(stage: Stage): Fault[] {
  const refusals = stage.sent.filter(({ status }) => status >= 400);
  return refusals.flatMap(({ operation, actor, status, body }) =>
    canariesIn(JSON.stringify({ ...body, context: withoutOwnRow(body?.['context']) })).map(({ mark }) => ({
      operation: operation.operationId,
      fault: `${status} for ${actor.name} holds ${mark}`,
    })),
  );
}

/** The run that can't be cancelled any more comes with its refusal, whole, as a view to whoever may read it. */
function withoutOwnRow(context: unknown): unknown {
  return typeof context === 'object' && context !== null ? { ...context, run: null } : context;
}
