import { newId } from '../../db/ids.ts';
import { dueSubjectBases, lockDueSubjectBase } from '../../db/knowledge/bases/due-subjects.ts';
import { emptyOutgoing, organizationTenant, sweep, systemActor } from '../../db/transaction.ts';
import { startKnowledgeRun } from '../../domain/knowledge/runs/runs.ts';
import type { ActivityDeps } from '../deps.ts';

type SubjectDeps = Pick<ActivityDeps, 'db' | 'dispatch' | 'log'> & { readonly env: Pick<ActivityDeps['env'], 'billingCurrency'> };

const basesAtOnce = 500;

/** Starts the purge of bases about deleted persons: everything in each, and the base itself. Returns their number; the next pass finds the rest. */
export async function sweepSubjects(deps: SubjectDeps): Promise<number> {
  const due = await sweep(deps.db, (em) => dueSubjectBases(em, basesAtOnce));
  for (const { id } of due) await startOne(deps, id);
  if (due.length > 0) deps.log.info({ bases: due.length }, 'purges of deleted persons’ knowledge started');
  return due.length;
}

async function startOne({ db, dispatch, env }: SubjectDeps, kbId: string): Promise<void> {
  const outgoing = emptyOutgoing();
  await sweep(db, async (em) => {
    const base = await lockDueSubjectBase(em, kbId);
    if (base === null) return;
    const tx = { em, tenant: organizationTenant(base.organizationId), actor: systemActor, correlationId: newId(), outgoing };
    await startKnowledgeRun(tx, base, { kind: 'purge', currency: env.billingCurrency, params: { mode: 'all' } });
  });
  await dispatch(outgoing);
}
