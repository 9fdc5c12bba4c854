import { Migration } from '@mikro-orm/migrations';
import { sqlFiles } from './statements.ts';

/** Runs count the workflows that were started for them anew. */
export class WorkflowRestarts extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0012-restarts/', import.meta.url))) this.addSql(sql);
  }
}
