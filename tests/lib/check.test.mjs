/* check.test.mjs -- the checker used by all other tests accepts what is right
 * and refuses what is not, and the scripted upstream and the client agree. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { checkStream } from './check.mjs';
import { bytesOf, namesIn } from './data.mjs';
import { open } from './client.mjs';
import { CLOSE, HANG, frames, splitEvery, startUpstream, stream } from './upstream.mjs';

/* In these calls are open side by side, as with interleaved_calls. */
const INTERLEAVED = ['function_call_late_name.sse', 'function_calls_interleaved.sse', 'mcp_and_function_call.sse', 'mcp_parallel_then_text.sse', 'text_after_function_call.sse'];

for (const name of namesIn('streams', '.sse'))
    test(`accepts ${name}`, () => {
        const text = bytesOf('streams', name).toString();
        checkStream(text, { interleaved: true });
        if (INTERLEAVED.includes(name))
            assert.throws(() => checkStream(text), /an item is done before the next/);
        else
            checkStream(text);
    });

for (const name of namesIn('streams/broken', '.sse'))
    test(`refuses ${name}`, () => void assert.throws(() => checkStream(bytesOf('streams/broken', name).toString())));

test('the upstream plays pieces, pauses and broken ends', async (t) => {
    const up = await startUpstream();
    t.after(() => up.close());
    const bytes = Buffer.from(frames({ a: 1 }, '[DONE]').join(''));

    up.next(stream([...splitEvery(bytes, 3), 5]), stream(['half', CLOSE]));
    assert.equal((await open(up, {}).done).text, bytes.toString());
    await assert.rejects(open(up, {}).done);
    assert.equal(up.requests.length, 2);
});

test('the upstream tells when a connection closed', async (t) => {
    const up = await startUpstream();
    t.after(() => up.close());
    up.next(stream(['x', HANG]));
    const call = open(up, { hello: 1 });
    await call.until('x');
    call.destroy();
    const request = await up.request(0);
    await request.closed;
    assert.deepEqual(request.body, { hello: 1 });
    assert.ok(request.closedAt > 0);
});
