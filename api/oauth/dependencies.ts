import { createClientDocuments } from '../../ports/client-documents.ts';
import { areaDependency } from '../http/area-dependency.ts';
import type { Deps } from '../http/deps.ts';

/** Reads the documents of clients that name themselves by a URL. */
export const clientDocumentsOf = areaDependency(({ egress, now }: Pick<Deps, 'egress' | 'now'>) => createClientDocuments({ egress, now }));
