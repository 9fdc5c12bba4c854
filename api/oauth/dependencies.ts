import { createClientDocuments } from '../../ports/egress/client-documents.ts';
import { areaDependency } from '../http/operation/area-dependency.ts';
import type { Deps } from '../http/operation/deps.ts';

/** Reads the documents of clients that name themselves by a URL. */
export const clientDocumentsOf = areaDependency(({ egress, now }: Pick<Deps, 'egress' | 'now'>) => createClientDocuments({ egress, now }));
