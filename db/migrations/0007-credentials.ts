import { Migration } from '@mikro-orm/migrations';
import { sqlFiles } from './statements.ts';

/** Which credential made an invitation, and whether anybody vouches for it; grants name their user together with the organization. */
export class Credentials extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0007-credentials/', import.meta.url))) this.addSql(sql);
  }
}
