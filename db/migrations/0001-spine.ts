import { Migration } from '@mikro-orm/migrations';
import { gateFunctions, gatesSql } from '../identity/gates.sql.ts';
import { appendFramesSql, streamFunctions } from '../streams/append-frames.sql.ts';
import { definerStatements, sqlFiles } from './statements.ts';

/** Tables, policies, keys, grants and definer functions of the first release. */
export class Spine extends Migration {
  override up(): void {
    for (const sql of sqlFiles(new URL('./0001-spine/', import.meta.url))) this.addSql(sql);
    for (const sql of definerStatements([...gatesSql, appendFramesSql], [...gateFunctions, ...streamFunctions])) this.addSql(sql);
  }
}
