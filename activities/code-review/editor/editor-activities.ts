import type { EditorActivities } from '../../../workflows/contracts/review/editor.ts';
import type { ActivityDeps } from '../../deps.ts';
import { askEditor } from './ask-editor.ts';
import { prepareEdit } from './prepare-edit.ts';
import { pushEdit } from './push-edit.ts';
import { reportEdit } from './report-edit.ts';
import { tryEdit } from './try-edit.ts';

/**
 * Activities of a repair, in the signed tenant of the workflow. Their results are stored among the answers of the run, so each may be interrupted at any point
 * and repeated.
 */
export function createEditorActivities(deps: ActivityDeps): EditorActivities {
  return {
    prepareEdit: (input) => prepareEdit(deps, input),
    askEditor: (input) => askEditor(deps, input),
    tryEdit: (input) => tryEdit(deps, input),
    pushEdit: (input) => pushEdit(deps, input),
    reportEdit: (input) => reportEdit(deps, input),
  };
}
