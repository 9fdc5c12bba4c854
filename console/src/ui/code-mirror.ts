import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export interface MountedEditor {
  /** Shows another text, unless it is there already. */
  readonly show: (text: string) => void;
  /** Says what is wrong with the text, or null. */
  readonly mark: (error: string | null) => void;
  readonly destroy: () => void;
}

interface EditorOptions {
  readonly label: string;
  readonly text: string;
  readonly onChange: (text: string) => void;
}

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--code-key)' },
  { tag: tags.string, color: 'var(--code-text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
]);

const theme = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--surface)', fontSize: 'var(--text)', maxHeight: '32rem' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', overflow: 'auto', minHeight: '12rem' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { color: 'var(--ink-soft)', backgroundColor: 'var(--sunken)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { background: 'var(--chosen)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--hover)', outline: '1px solid var(--line-strong)' },
});

/** An editor of JSON in a shadow root, where its style sheets need no exception of the content security policy. No key of it takes Tab. */
export function mountEditor(root: ShadowRoot, { label, text, onChange }: EditorOptions): MountedEditor {
  let isShowing = false;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        indentOnInput(),
        bracketMatching(),
        json(),
        syntaxHighlighting(colours),
        theme,
        EditorView.lineWrapping,
        // It can be focused without it; what checks pages for that reads the attribute.
        EditorView.contentAttributes.of({ 'aria-label': label, 'tabindex': '0' }),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !isShowing) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    show(next) {
      if (view.state.doc.toString() === next) return;
      isShowing = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
      isShowing = false;
    },
    mark(error) {
      view.contentDOM.setAttribute('aria-invalid', String(error !== null));
      view.contentDOM.setAttribute('aria-description', error ?? '');
    },
    destroy: () => view.destroy(),
  };
}
