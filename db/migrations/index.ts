import type { MigrationObject } from '@mikro-orm/core';
import { Spine } from './0001-spine.ts';
import { Identity } from './0002-identity.ts';
import { Agents } from './0003-agents.ts';
import { Runs } from './0004-runs.ts';
import { Openings } from './0005-openings.ts';
import { Endings } from './0006-endings.ts';
import { Credentials } from './0007-credentials.ts';
import { Forgotten } from './0008-forgotten.ts';
import { LeftOutTools } from './0009-left-out.ts';
import { SkillFiles } from './0010-skill-files.ts';
import { WaitingMails } from './0011-waiting-mails.ts';
import { WorkflowRestarts } from './0012-restarts.ts';

/** All migrations in their order; forward only, and a released one never changes. */
export const migrations: MigrationObject[] = [
  { name: '0001-spine', class: Spine },
  { name: '0002-identity', class: Identity },
  { name: '0003-agents', class: Agents },
  { name: '0004-runs', class: Runs },
  { name: '0005-openings', class: Openings },
  { name: '0006-endings', class: Endings },
  { name: '0007-credentials', class: Credentials },
  { name: '0008-forgotten', class: Forgotten },
  { name: '0009-left-out', class: LeftOutTools },
  { name: '0010-skill-files', class: SkillFiles },
  { name: '0011-waiting-mails', class: WaitingMails },
  { name: '0012-restarts', class: WorkflowRestarts },
];

export const migrationNames: readonly string[] = migrations.map((migration) => migration.name);
