import type { Nodes } from 'mdast';

/** Returns what a reader sees of a node: its text without markup; images by their alternative text. */
export function toString(node: Nodes): string {
  if ('value' in node) return node.value;
  if ('alt' in node && node.alt) return node.alt;
  return 'children' in node ? node.children.map((child) => toString(child)).join('') : '';
}
