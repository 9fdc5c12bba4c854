import { pino } from 'pino';
import { eraseByAge } from '../activities/maintenance/erase-by-age.ts';
import { withDeployment } from './attach.ts';
import type { CliEnv } from './env.ts';

/** `longhaul retention run`: does now what the schedule `maint:retention` does each day. Can be stopped at any point and repeated. */
export async function retentionRun({ env, log }: { readonly env: CliEnv; readonly log: (line: string) => void }): Promise<void> {
  await withDeployment({ env, log }, async ({ db, keys }) => {
    const done = await eraseByAge({ db, keys, log: pino({ level: 'silent' }), signal: new AbortController().signal });

    log(
      `${done.auditEntries} audit entries of ${done.auditSeals} seals in ${done.organizations} organizations and ${done.loginFailures} failed logins deleted.`,
    );
    log(`${done.runs} runs erased, ${done.notices} notices of alerts deleted.`);
  });
}
