import { Migration } from '@mikro-orm/migrations';
import { sqlFiles } from './statements.ts';

/** Stored replies name the rows that they show, so that an erasure finds them. */
export class Forgotten extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0008-forgotten/', import.meta.url))) this.addSql(sql);
  }
}
