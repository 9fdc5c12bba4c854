import { Migration } from '@mikro-orm/migrations';
import { sqlFiles } from './statements.ts';

/** Approvals, input that joins a run, bulk cancels, votes, budgets with their windows and holds. */
export class Runs extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0004-runs/', import.meta.url))) this.addSql(sql);
  }
}
