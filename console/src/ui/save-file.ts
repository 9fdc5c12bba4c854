/** Hands bytes to the browser to be saved under a name. */
export function saveFile(bytes: Blob, name: string): void {
  const url = URL.createObjectURL(bytes);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser takes hold of the bytes a moment after the click.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
