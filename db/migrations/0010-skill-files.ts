import { Migration } from '@mikro-orm/migrations';
import { sqlFiles } from './statements.ts';

/** Files that belong to a skill; an organization's skill has no workspace, and neither have its files. */
export class SkillFiles extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0010-skill-files/', import.meta.url))) this.addSql(sql);
  }
}
