import { pino } from 'pino';
import { reserve } from '../../db/billing/budgets/holds.ts';
import { newId } from '../../db/ids.ts';
import { connectDatabases } from '../../db/orm.ts';
import { inWorkspace, type CallPlace } from './calls.ts';

// A process of its own that reserves in a workspace, as a worker does; it says when it is ready, begins at the next line that it reads, and ends with a line of
// what each reservation gave.

/** What a reserving process is told, as its last argument. */
export interface ReservingTask {
  readonly appUrl: string;
  readonly sweeperUrl: string;
  readonly place: CallPlace;
  readonly estimate: string;
  /** Reservations at once. */
  readonly atOnce: number;
  /** Every one goes on with the next for so long; 0: one each. */
  readonly forMs: number;
}

/** One reservation, by the clock of the machine. */
export interface Reserved {
  readonly begunAt: number;
  readonly outcome: string;
}

const task = JSON.parse(process.argv.at(-1) ?? '{}') as ReservingTask; // ours, see `startReserving`
const { appUrl, sweeperUrl, place, estimate, atOnce, forMs } = task;
const log = pino({ level: 'silent' });
const db = await connectDatabases({
  appUrl,
  sweeperUrl,
  poolMax: 8,
  sweeperPoolMax: 1,
  applicationName: 'reserving',
  acquireTimeoutMs: 60_000,
  log,
  onQuery: () => undefined,
});

process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
const end = Date.now() + forMs;
const all = await Promise.all(Array.from({ length: atOnce }, reserveOn));
process.stdout.write(`${JSON.stringify(all.flat())}\n`, () => process.exit(0));

async function reserveOn(): Promise<Reserved[]> {
  const found: Reserved[] = [];
  do {
    const begunAt = Date.now();
    const { outcome } = await inWorkspace(db, place, (tx) => reserve(tx, { ...place, callKey: newId(), caps: [], estimate }));
    found.push({ begunAt, outcome });
  } while (Date.now() < end);
  return found;
}
