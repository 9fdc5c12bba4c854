import { Migration } from '@mikro-orm/migrations';
import { sqlFiles } from './statements.ts';

/** Tables, policies, keys, grants and definer functions of the first release. */
export class Spine extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0001-spine/', import.meta.url))) this.addSql(sql);
  }
}
