import { Migration } from '@mikro-orm/migrations';
import { sqlFiles } from './statements.ts';

/** Which session asked for what is pending, and what sessions have been verified by. */
export class Endings extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0006-endings/', import.meta.url))) this.addSql(sql);
  }
}
