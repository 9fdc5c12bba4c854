import { Migration } from '@mikro-orm/migrations';
import { sqlFiles } from './statements.ts';

/** An index of the mails that are not settled. */
export class WaitingMails extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0011-waiting-mails/', import.meta.url))) this.addSql(sql);
  }
}
