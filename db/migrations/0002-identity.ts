import { Migration } from '@mikro-orm/migrations';
import { sqlFiles } from './statements.ts';

/** Second factors, mail tokens, OAuth, invitations, secrets, impersonations, audit seals, purges. */
export class Identity extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0002-identity/', import.meta.url))) this.addSql(sql);
  }
}
