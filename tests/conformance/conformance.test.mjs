/* conformance.test.mjs -- the MCP conformance suite finds no fault with the
 * gateway as a client, but for the known ones (known-failures.yml).
 *
 * One scenario at a time: the suite would start them all at once, and some of
 * them look at the clock. The gateway is that of driver.mjs.
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const SUITE = here('node_modules/@modelcontextprotocol/conformance/dist/index.js');
const REVISIONS = ['2025-11-25', '2026-07-28'];

/* Waits for a stream to end and looks how long a client waited after that. */
const ABOUT_TIME = 'sse-retry';

const scenariosOf = (revision) => execFileSync(process.execPath, [SUITE, 'list', '--client', '--spec-version', revision], { encoding: 'utf8' })
    .match(/(?<=^ +- )\S+/gm);

const run = (scenario, revision) => new Promise((done) => {
    const results = mkdtempSync(join(tmpdir(), 'antiphon-conformance-'));
    const args = ['client', '--scenario', scenario, '--spec-version', revision, '--expected-failures', here('known-failures.yml'),
        '--output-dir', results, '--command', `${process.execPath} ${here('driver.mjs')}`];
    execFile(process.execPath, [SUITE, ...args], { encoding: 'utf8', maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
        rmSync(results, { recursive: true });
        done({ passed: error === null, said: stdout + stderr });
    });
});

for (const revision of REVISIONS) {
    describe(revision, { concurrency: false }, () => {
        for (const scenario of scenariosOf(revision)) {
            test(scenario, async () => {
                let { passed, said } = await run(scenario, revision);
                for (let tries = 1; !passed && scenario === ABOUT_TIME && tries < 3; tries++)
                    ({ passed, said } = await run(scenario, revision));
                assert.ok(passed, said);
            });
        }
    });
}
