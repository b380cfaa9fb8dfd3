/* memory.test.mjs -- the process stays within max_memory, whatever is asked of it at once, and gives
 * memory back when it is over.
 *
 * The worst requests that were found are sent from many sides while streams are under way: what is
 * resident may pass the budget by a tenth, new requests are refused with 503 and Retry-After, the
 * streams go on to their end and /health answers. What sanitizers and valgrind hold besides says
 * nothing, so they are left out. */
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

/* Runs the attack while streams are under way; what became of it. */
async function besiege(t, { up, daemon }, n, send, { forgotten = 32 } = {}) {
    const streams = await beginStreams(up, daemon, 3);
    up.always(textStream('fine'));
    const idle = resident(daemon);
    forgetPeak(daemon);
    const stop = watchHealth(daemon);
    const answers = await attack(daemon, n, send);
    await stop();
    const over = peak(daemon) - idle;
    t.diagnostic(`${over.toFixed(0)} MiB over idle, statuses ${[...new Set(answers.map(({ status }) => status))]}`);
    assert.ok(over <= BUDGET * 1.1, `${over} MiB over idle`);
    checkRefusals(answers);
    await endStreams(streams);
    await isUsualAgain(up, daemon);
    const after = await settled(daemon, idle + forgotten);
    assert.ok(after <= idle + forgotten, `${after - idle} MiB stayed`);
    return answers;
}

/* Sends a request and reads nothing of its answer until the others are done, too. */
function readSlowly(daemon, path, reading) {
    return new Promise((done, fail) => {
        const socket = net.connect(daemon.port, daemon.host, () => {
            socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
            socket.pause();
            reading.then(() => socket.resume());
        });
        let head = '';
        socket.on('data', (piece) => (head ||= piece.toString('latin1')));
        socket.on('error', fail);
        socket.on('close', () => done({ status: Number(head.slice(9, 12)), text: head, json: { error: { code: 'server_is_overloaded' } }, headers: { 'retry-after': '1' } }));
    });
}

/* The id of a stored user message of so many MiB. */
async function storeLarge({ up, daemon }, mib) {
    up.next(textStream('kept'));
    const { json } = await ask(daemon, { model: 'm', input: 'x'.repeat(mib * MIB) });
    return (await get(daemon, `/v1/responses/${json.id}/input_items`)).json.data[0].id;
}

/* The id of a response of so many MiB. */
async function storeLargeAnswer({ up, daemon }, mib) {
    up.next(textStream('x'.repeat(mib * MIB)));
    return (await ask(daemon, { model: 'm', input: 'much' })).json.id;
}

describe('memory', { skip, concurrency: false }, () => {
    const start = (t, ...args) => pair(t, '--max-memory', `${BUDGET}MiB`, ...args);

    for (const [what, make] of Object.entries(WORST)) {
        test(`${what}, from sixteen clients at once`, async (t) => {
            const both = await start(t), body = make();
            const answers = await besiege(t, both, 16, () => ask(both.daemon, body));
            assert.ok(answers.length > 0);
        });
    }

    test('compressed bodies that swell, from sixteen clients at once', async (t) => {
        const both = await start(t, '--max-body-ratio', '100000');
        const body = gzipSync(request(`"input":"${' '.repeat(24 * MIB)}"`));
        await besiege(t, both, 16, () => ask(both.daemon, body, { headers: { 'content-encoding': 'gzip' } }));
    });

    test('bodies whose rest never comes do not grow into what streams need', async (t) => {
        const both = await start(t, '--body-timeout', '2s');
        const piece = Buffer.alloc(20 * MIB, 'x');
        await besiege(t, both, 40, () => new Promise((done) => {
            const socket = net.connect(both.daemon.port, both.daemon.host, () => {
                socket.write(`POST /v1/responses HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${(30 * MIB).toString(16)}\r\n`);
                socket.write(piece);
            });
            let head = '';
            socket.on('data', (data) => (head += data.toString('latin1')));
            socket.on('error', () => done());
            socket.on('close', () => done());
        }));
    });

    test('one large item, referred to two hundred times', async (t) => {
        const both = await start(t);
        const id = await storeLarge(both, 1);
        const body = { model: 'm', store: false, input: new Array(200).fill({ type: 'item_reference', id }) };
        await besiege(t, both, 8, () => ask(both.daemon, body));
    });

    test('a large stored response, fetched a hundred times at once by clients that do not read', async (t) => {
        const both = await start(t);
        const response = await storeLargeAnswer(both, 4);
        let go;
        const reading = new Promise((done) => (go = done));
        setTimeout(go, 3000); /* nothing tells when the last has got all that it gets */
        await besiege(t, both, 100, () => readSlowly(both.daemon, `/v1/responses/${response}`, reading));
    });

    test('pages of large items', async (t) => {
        const both = await start(t);
        const conversation = (await ask(both.daemon, {}, { path: '/v1/conversations' })).json.id;
        for (let i = 0; i < 20; i++)
            await ask(both.daemon, { items: [{ role: 'user', content: 'x'.repeat(MIB) }] }, { path: `/v1/conversations/${conversation}/items` });
        await besiege(t, both, 24, () => get(both.daemon, `/v1/conversations/${conversation}/items?limit=100`));
    });

    test('the log says once that memory is short, and how much there is', async (t) => {
        const both = await start(t), body = WORST['one long string']();
        for (let i = 0; i < 3; i++)
            await besiege(t, both, 16, () => ask(both.daemon, body));
        await both.daemon.logged(/warn memory_short used=\d+ max_memory=167772160 /);
        assert.equal(both.daemon.log.match(/memory_short/g).length, 1);
    });

    test('a response that outgrows what is left fails alone', async (t) => {
        const { up, daemon } = await pair(t, '--max-memory', '32MiB');
        const streams = await beginStreams(up, daemon, 2);
        const piece = 'y'.repeat(MIB / 4);
        for (const stored of [true, false]) {
            up.next(stream(frames(...new Array(240).fill(chunk({ content: piece })), chunk({}, 'stop'), '[DONE]')));
            const got = await ask(daemon, { model: 'm', input: 'much', store: stored });
            assert.equal(got.status, 503);
            assert.match(got.json.error.message, /max_memory/);
        }
        await endStreams(streams);
        await isUsualAgain(up, daemon);
    });

    test('hundreds of small streams at once are no reason to refuse one', async (t) => {
        const both = await start(t);
        const answers = await besiege(t, both, 300, (i) => ask(both.daemon, { model: 'm', input: `${i}`, stream: true }));
        assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    });
});
