import { Migration } from '@mikro-orm/migrations';
import { sqlFiles } from './statements.ts';

/** First frames that are written with their run. */
export class Openings extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0005-openings/', import.meta.url))) this.addSql(sql);
  }
}
