/* ready.mjs -- GET /ready, until it says what a test waits for. */
import assert from 'node:assert/strict';
import { get } from './client.mjs';
import { patience } from './patience.mjs';

/* The body of the first answer with this status, and one that `fits`. */
export async function untilReady(daemon, status, fits = () => true) {
    for (const deadline = performance.now() + patience(30_000); ;) {
        const got = await get(daemon, '/ready');
        if (got.status === status && fits(got.json))
            return got.json;
        assert.ok(performance.now() < deadline, `/ready does not say ${status}: ${got.text}`);
        await new Promise((done) => setTimeout(done, 20));
    }
}
