/* memory.test.mjs -- the process stays within max_memory, whatever is asked of it at once, and gives
 * memory back when it is over.
 *
 * The worst requests that were found are sent from many sides while streams are under way: what is resident
 * may pass the budget by a tenth, new requests are refused with 503 and Retry-After, the streams go
 * on to their end and /health answers. What sanitizers and valgrind hold besides says nothing, so
 * they are left out. */
import assert from 'node:assert/strict';
import net from 'node:net';
import test, { describe } from 'node:test';
import { gzipSync } from 'node:zlib';
import { checkStream } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { BINARY, pair } from '../lib/daemon.mjs';
import { MIB, forgetPeak, peak, resident, settled } from '../lib/memory.mjs';
import { IS_SLOW } from '../lib/patience.mjs';
import { chunk, frames, stream, textStream } from '../lib/upstream.mjs';

const IS_CHECKED = IS_SLOW || /asan|tsan/.test(BINARY);
const skip = IS_CHECKED && 'a sanitizer holds memory of its own';

const BUDGET = 160;
const many = (n, text) => new Array(n).fill(text).join(',');
const request = (members) => Buffer.from(`{"model":"m","store":false,${members}}`);

/* About 20 MiB each, unless the point is that they are small. */
const WORST = {
    'one long string': () => request(`"input":"${'x'.repeat(20 * MIB)}"`),
    'a string of escapes': () => request(`"input":"${'\\u00e9'.repeat(3 * MIB)}"`),
    'hundreds of thousands of tiny items': () => request(`"input":[${many(20 * MIB / 30 | 0, '{"role":"user","content":"a"}')}]`),
    'empty parts of one message': () => request(`"input":[{"role":"user","content":[${many(600_000, '{"type":"input_text","text":""}')}]}]`),
    'calls and outputs': () => request(`"input":[${Array.from({ length: 50_000 }, (_, i) =>
        `{"type":"function_call","call_id":"c${i}","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c${i}","output":"x"}`)}]`),
    'tools': () => request(`"input":"a","tools":[${Array.from({ length: 10_000 }, (_, i) =>
        `{"type":"function","name":"f${i}","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}`)}]`),
    'instructions that every event repeats': () => request(`"stream":true,"input":"a","instructions":"${'x'.repeat(12 * MIB)}"`),
    'numbers in a field that is not known': () => request(`"input":"a","xx":[${many(10 * MIB, '1')}]`),
    'metadata of many members': () => request(`"input":"a","metadata":{${Array.from({ length: 400_000 }, (_, i) => `"k${i}":"v"`)}}`),
};

/* A stream whose upstream goes on when it is told to. */
function longStream(up, daemon) {
    let go;
    const gate = new Promise((done) => (go = done));
    up.next(stream([...frames(chunk({ role: 'assistant', content: 'begun ' })), gate, ...frames(chunk({ content: 'gone on' }), chunk({}, 'stop'), '[DONE]')]));
    return { exchange: open(daemon, { model: 'm', input: 'stay', stream: true }), go };
}

async function beginStreams(up, daemon, n) {
    const streams = [];
    for (let i = 0; i < n; i++) {
        streams.push(longStream(up, daemon));
        await streams[i].exchange.until('begun ');
    }
    return streams;
}

async function endStreams(streams) {
    for (const { exchange, go } of streams) {
        go();
        await exchange.done;
        const { response } = checkStream(exchange.text);
        assert.equal(response.status, 'completed');
        assert.equal(response.output[0].content[0].text, 'begun gone on');
    }
}

/* /health is asked over and over, on connections of its own, until stop(). */
function watchHealth(daemon) {
    let over = false, n = 0;
    const asked = (async () => {
        while (!over) {
            assert.equal((await get(daemon, '/health')).status, 200);
            n++;
        }
    })();
    asked.catch(() => {});
    return async () => {
        over = true;
        await asked;
        assert.ok(n > 0);
    };
}

/* The answers that came; a client that is still sending when it is refused may see its connection end. */
async function attack(daemon, n, send) {
    const answers = await Promise.all(Array.from({ length: n }, async (_, i) => {
        try {
            return await send(i);
        } catch {
            return undefined;
        }
    }));
    return answers.filter(Boolean);
}

function checkRefusals(answers) {
    for (const answer of answers) {
        if (answer.status < 500)
            continue;
        assert.equal(answer.status, 503, answer.text);
        assert.equal(answer.json.error.code, 'server_is_overloaded');
        assert.ok(Number(answer.headers['retry-after']) >= 1);
    }
}

async function isUsualAgain(up, daemon) {
    up.next(textStream('fine'));
    const got = await ask(daemon, { model: 'm', input: 'as ever' });
    assert.equal(got.status, 200, got.text);
}

describe('memory', { skip, concurrency: false }, () => {
    for (const [what, make] of Object.entries(WORST)) {
        test(`${what}, from sixteen clients at once`, async (t) => {
            const { up, daemon } = await pair(t, '--max-memory', `${BUDGET}MiB`);
            const streams = await beginStreams(up, daemon, 3);
            up.always(textStream('fine'));
            const idle = resident(daemon), body = make();
            forgetPeak(daemon);
            const stop = watchHealth(daemon);
            const answers = await attack(daemon, 16, () => ask(daemon, body));
            await stop();
            assert.ok(answers.length > 0);
            checkRefusals(answers);
            assert.ok(peak(daemon) - idle <= BUDGET * 1.1, `${peak(daemon) - idle} MiB over idle`);
            await endStreams(streams);
            await isUsualAgain(up, daemon);
            const after = await settled(daemon, idle + 32);
            assert.ok(after <= idle + 32, `${after - idle} MiB stayed`);
        });
    }
});
