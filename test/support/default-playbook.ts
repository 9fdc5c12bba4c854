import { readFileSync } from 'node:fs';
import type { ReviewTemplates } from '../../workflows/contracts/review/code-review.ts';

const file = new URL('../../db/migrations/0026-code-review/04-default.sql', import.meta.url);

/** The templates of the platform's own playbook, as its migration writes them. */
export function defaultTemplates(): ReviewTemplates {
  const text = /\$playbook\$([\s\S]*?)\$playbook\$/.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
  return JSON.parse(text) as ReviewTemplates; // the database's own test holds it against the schema
}
