import { Migration } from '@mikro-orm/migrations';
import { sqlFiles } from './statements.ts';

/** Personas, toolkits, MCP connections, trials and leases of tools, skills, attachments, schedules. */
export class Agents extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0003-agents/', import.meta.url))) this.addSql(sql);
  }
}
