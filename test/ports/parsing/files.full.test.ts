import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { oneOfEach } from '../../chaos/whole.ts';
import { fixtures, parsed, textOf } from '../../support/parsed-file.ts';

/** What must be in the text of a file, or why it fails; a second text is the warning that must be there. */
const files: Readonly<Record<string, readonly [string, string?]>> = {
  'csv/bad-byte.csv': ['| ádá | öké |', 'bad_bytes'],
  'csv/bad-rows.csv': ['| bob | nulhere |', 'bad_row'],
  'csv/empty.csv': ['failed: empty'],
  'csv/exceljs-plan.csv': ['| Task | Hours |'],
  'csv/mislabelled-png.csv': ['failed: unsupported_media_type'],
  'csv/python-excel-utf-16.tsv': ['| Köln | 1 084 831 | am Rhein; alt |'],
  'csv/python-excel-utf-8-bom.csv': ['| Stadt | Größe | Notiz |'],
  'csv/python-semicolon-windows-1252.csv': ['| Zürich | 436 551 | "Limmat" zweite Zeile |', 'charset_guessed'],
  'csv/python-shift-jis.csv': ['| 東京 | 13960000 | 日本の首都です。', 'charset_guessed'],
  'csv/vega-sp500.csv': ['| date | price |'],
  'csv/vega-stocks.csv': ['| symbol | date | price |'],
  'csv/vega-unemployment.tsv': ['| id | rate |'],
  'docx/docx-js-minutes.docx': ['# Minutes\n\nWe meet on Monday.\n\n-   Bring cake'],
  'docx/mammoth-comments.docx': ['Ouch.'],
  'docx/mammoth-empty.docx': ['failed: empty'],
  'docx/mammoth-footnotes.docx': ['A tachyon walks into a bar.'],
  'docx/mammoth-simple-list.docx': ['Apple'],
  'docx/mammoth-strict-format.docx': ['Test'],
  'docx/mammoth-tables.docx': ['| Top left | Top right |\n| --- | --- |\n| Bottom left | Bottom right |'],
  'docx/mislabelled.docx': ['This is plain text', 'type_mismatch'],
  'docx/msoffcrypto-encrypted.docx': ['failed: encrypted'],
  'docx/pandoc-otters.docx': ['| Fish | 80 % |'],
  'docx/python-docx-blk-paras-and-tables.docx': ['Text before'],
  'docx/python-docx-hebrew-arabic.docx': ['חתולים ישנים רוב היום. הם אוהבים שמש.\n\nتنام القطط معظم النهار. وهي تحب الشمس.'],
  'docx/python-docx-par-known-styles.docx': ['# Heading 1'],
  'docx/truncated.docx': ['failed: malformed'],
  'eml/cpython-msg_02.eml': ['Ppp digest'],
  'eml/cpython-msg_07.eml': ['dingusfish.gif'],
  'eml/cpython-msg_10.eml': ['Subject: Lyrics'],
  'eml/cpython-msg_12.eml': ['Subject: Lyrics'],
  'eml/cpython-msg_43.eml': ['BANNED FILENAME'],
  'eml/eml-format-cc.eml': ['Cc: '],
  'eml/eml-format-multipart.eml': ['Subject: Multi-part boundary'],
  'eml/eml-format-sample.eml': ['Winter promotions'],
  'eml/mislabelled-notes.eml': ['failed: malformed'],
  'eml/nodemailer-html.eml': ['| Task | Hours |\n| --- | --- |\n| Paint | 5 |'],
  'eml/python-forwarded.eml': ['Subject: Inner\n\nThe seal leaks.'],
  'eml/python-hebrew-html.eml': ['חתולים ישנים רוב היום'],
  'eml/truncated.eml': ['See the message below.'],
  'html/docutils-report.html': ['| Pump | 120 |'],
  'html/empty.html': ['failed: empty'],
  'html/hidden-orders.html': ['The pump is blue.\n\nA pump', 'hidden_text'],
  'html/istanbul-index.js.html': ["'use strict';"],
  'html/lunr-index.html': ['Set up an index for your notes:'],
  'html/pandoc-arabic-rtl.html': ['تنام القطط معظم النهار'],
  'html/pandoc-otters.html': ['| Crabs | 20 % |'],
  'html/pandoc-utf-16.html': ['Es war einmal ein König'],
  'html/pandoc-windows-1252.html': ['Es war einmal ein König'],
  'json/mislabelled-html.json': ['failed: malformed'],
  'json/python-items.jsonl': ['Otters hold hands.', 'bad_line'],
  'json/python-pretty.json': ['"seal": "viton"'],
  'json/truncated.json': ['failed: malformed'],
  'json/utf-16.json': ['Größe'],
  'json/vega-crimea.json': ['"wounds": 0'],
  'json/vega-obesity.json': ['"rate": 0.'],
  'json/vega-us-state-capitals.json': ['"city": "Montgomery"'],
  'md/csv-parse-README.md': ['# CSV parser for Node.js and the web'],
  'md/empty.md': ['failed: empty'],
  'md/hebrew-rtl.md': ['# חתולים'],
  'md/mammoth-NEWS.txt': ['# 1.13.0'],
  'md/orders.md': ['The pump is blue.'],
  'md/postal-mime-CHANGELOG.md': ['# Changelog'],
  'md/utf-16le-no-bom.txt': ['Otters live along rivers.', 'charset_guessed'],
  'md/utf-16le.txt': ['Größe\nzwei \uFFFDx', 'lone_surrogate'],
  'md/whitespace.txt': ['failed: empty'],
  'md/windows-1251.txt': ['Выдры живут вдоль рек', 'charset_guessed'],
  'md/yauzl-README.md': ['# yauzl'],
  'other/archive.zip': ['failed: unsupported_media_type'],
  'other/old-word.doc': ['failed: unsupported_media_type'],
  'other/picture.png': ['failed: unsupported_media_type'],
  'pdf/fpdf2-hebrew.pdf': ['חתולים ישנים רוב היום. הם אוהבים שמש.'],
  'pdf/jspdf.pdf': ['Written by jsPDF.'],
  'pdf/mislabelled-pdf.txt': ['Close the valve before you open the pump.', 'type_mismatch'],
  'pdf/pdf-lib-object-streams.pdf': ['Written by pdf-lib.\nSecond line.'],
  'pdf/pdf-parse-03-invalid.pdf': ['failed: malformed'],
  'pdf/pdfkit-two-pages.pdf': ['They eat fish.'],
  'pdf/pypdf-encrypted.pdf': ['failed: encrypted'],
  'pdf/pypdf-owner-password.pdf': ['The seal lasts two years.'],
  'pdf/reportlab-half-scanned.pdf': ['Only this page has words.', 'pages_without_text'],
  'pdf/reportlab-scanned.pdf': ['failed: no_text'],
  'pdf/reportlab-three-pages.pdf': ['Chapter 3\n\nOrder spare parts by phone.'],
  'pdf/truncated.pdf': ['failed: malformed'],
  'pptx/msoffcrypto-encrypted.pptx': ['failed: encrypted'],
  'pptx/pandoc-otters.pptx': ['| Fish | 80 % |'],
  'pptx/pptxgenjs-table-notes.pptx': ['| Paint | 5 |\n\n## Notes\n\nRemember the budget.'],
  'pptx/python-pptx-hebrew-notes.pptx': ['# חתולים\n\nחתולים ישנים רוב היום. הם אוהבים שמש.\n\n## Notes\n\nלשאול את הקהל'],
  'pptx/python-pptx-missing_rels_item.pptx': ['Presentation'],
  'pptx/python-pptx-no-slides.pptx': ['failed: empty'],
  'pptx/python-pptx-prs-notes.pptx': ['## Notes\n\nNotes'],
  'pptx/python-pptx-sld-notes.pptx': ['## Notes'],
  'pptx/python-pptx-tbl-cell.pptx': ['| --- |'],
  'pptx/python-pptx-test_slides.pptx': ['| Cell text 1 | Cell text 2 |'],
  'pptx/python-pptx-txt-text.pptx': ['Foo Bar Baz Zoo 1'],
  'pptx/truncated.pptx': ['failed: malformed'],
  'xlsx/exceljs-formula-rich-text.xlsx': ['| Paint | 5 |\n| Bold and plain | 1 |'],
  'xlsx/openpyxl-empty.xlsx': ['failed: empty'],
  'xlsx/openpyxl-stock.xlsx': ['| Seal \\| ring | 12.5 | 2026-05-02T08:30:00 | false |'],
  'xlsx/pyexcel-complex-merged-cells-sheet.xlsx': ['| --- |'],
  'xlsx/pyexcel-date_field.xlsx': ['2015-'],
  'xlsx/pyexcel-hidden_sheets.xlsx': ['| a | b |'],
  'xlsx/pyexcel-merged-cell-sheet.xlsx': ['| --- |'],
  'xlsx/truncated.xlsx': ['failed: malformed'],
  'xlsx/xlsx-populate-encrypted.xlsx': ['failed: encrypted'],
  'xlsx/xlsx-populate-ranges.xlsx': ['| --- |'],
  'xlsx/xlsxwriter-1200-rows.xlsx': ['| sensor-1199 |'],
};

test('every file of other programs is played here', () => {
  const found = readdirSync(fixtures, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(fixtures.length));

  expect(found.filter((name) => name !== 'README.md').toSorted()).toEqual(Object.keys(files).toSorted());
});

/** Each format, each reason to fail and each warning. */
const kindOf = ([name, [text, warning]]: [string, readonly [string, string?]]) =>
  warning ?? (text.startsWith('failed: ') ? text : name.split('/')[0]) ?? '';

test.each(oneOfEach(Object.entries(files), kindOf))(
  '%s ends ready with its text, or failed with its reason',
  async (name, [text, warning]) => {
    const outcome = await parsed(join(fixtures, name));

    expect(textOf(outcome)).toContain(text);
    const warnings: readonly string[] = outcome.state === 'ready' ? outcome.warnings : [outcome.detail];
    if (warning) expect(warnings).toContain(warning);
    const keys = outcome.state === 'ready' ? outcome.parts.map(({ key }) => key) : [];
    expect(new Set(keys).size).toBe(keys.length);
  },
);
