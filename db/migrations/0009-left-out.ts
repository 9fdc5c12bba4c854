import { Migration } from '@mikro-orm/migrations';
import { sqlFiles } from './statements.ts';

/** Revisions of toolkits tell what of their source they left out. */
export class LeftOutTools extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0009-left-out/', import.meta.url))) this.addSql(sql);
  }
}
