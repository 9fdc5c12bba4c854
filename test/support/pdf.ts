/** A PDF of pages of plain lines in Helvetica, or of what a page draws as it stands (ISO 32000-1, 7.8.2), as small writers make them (ISO 32000-1, 7.5): objects, a table of their places, a trailer. */
export function pdfOf(pages: readonly (readonly string[] | string)[]): Buffer {
  const escaped = (line: string) => line.replaceAll(/[\\\(\)]/gv, String.raw`\$&`);
  const contents = pages.map((lines) =>
    typeof lines === 'string' ? lines : `BT /F1 10 Tf 50 780 Td 14 TL ${lines.map((line) => `(${escaped(line)}) Tj T*`).join(' ')} ET`,
  );
  const pageIds = pages.map((_, at) => 4 + 2 * at);
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pageIds.map((id) => `${id} 0 R`).join(' ')}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...contents.flatMap((content, at) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * at} 0 R >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    ]),
  ];
  let file = '%PDF-1.4\n';
  const places = objects.map((object, at) => {
    const place = file.length;
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  const trailer = `xref\n0 ${size}\n0000000000 65535 f \n${places.join('')}trailer << /Size ${size} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
  return Buffer.from(file + trailer, 'latin1');
}
