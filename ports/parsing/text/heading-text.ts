import type { Nodes } from 'mdast';

/** What a reader sees of a node: its words without marks; pictures by their alternative text. */
export function toString(node: Nodes): string {
  if ('value' in node) return node.value;
  if ('alt' in node && node.alt) return node.alt;
  return 'children' in node ? node.children.map((child) => toString(child)).join('') : '';
}
