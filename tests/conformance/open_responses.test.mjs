/* open_responses.test.mjs -- the gateway passes the scenarios of the Open Responses compliance suite.
 *
 * All at once, as the suite runs them, against a daemon as its users start it, but for a key and its
 * scripted upstream. What came of it stands in docs/conformance.md: with UPDATE=1 it is written, else
 * compared.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import test, { after, before, describe } from 'node:test';
import { startDaemon } from '../lib/daemon.mjs';
import { callStream, startUpstream, textStream } from '../lib/upstream.mjs';
import { page } from './page.mjs';
import { scenarios } from './open_responses.mjs';

const KEY = 'sk-conformance-0123456789';
const PAGE = new URL('../../docs/conformance.md', import.meta.url);
const results = new Map();

describe('open responses', { concurrency: true }, () => {
    const gateway = { key: KEY, model: 'some-model' };
    let up, daemon;

    before(async () => {
        up = await startUpstream();
        up.always(({ body }) => body.tools ? callStream(['get_weather', { location: 'Paris' }, 'call_1']) : textStream('One two three.'));
        daemon = await startDaemon({ upstream: up.url, env: { ANTIPHON_API_KEY: KEY } });
        gateway.origin = daemon.origin;
    });
    after(async () => {
        await daemon?.stop();
        up.close();
    });

    for (const { id, title, run } of scenarios) {
        test(`${id}: ${title}`, async () => {
            results.set(id, false);
            assert.deepEqual(await run(gateway), []);
            results.set(id, true);
        });
    }
});

after(() => {
    const text = page(scenarios.map((scenario) => ({ ...scenario, passed: results.get(scenario.id) })));
    if (process.env.UPDATE)
        writeFileSync(PAGE, text);
    assert.equal(readFileSync(PAGE, 'utf8'), text, 'docs/conformance.md tells other results: UPDATE=1 tests/conformance/run');
});
