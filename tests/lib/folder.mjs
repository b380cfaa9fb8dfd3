/* folder.mjs -- a temporary folder for one test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/* The path of a new folder, or of a file in it; the folder goes when the test ends. */
export function folder(t, ...file) {
    const dir = mkdtempSync(join(tmpdir(), 'antiphon-test-'));
    t.after(() => rmSync(dir, { recursive: true }));
    return join(dir, ...file);
}
