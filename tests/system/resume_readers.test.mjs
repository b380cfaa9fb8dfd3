/* resume_readers.test.mjs -- who reads a response's events a second time: several at once, slow ones, such that
 * want padding, and those that keep a turn alive which its own client has left (CONTRACT 4.8). */
import assert from 'node:assert/strict';
import net from 'node:net';
import { once } from 'node:events';
import test, { after, before, beforeEach, describe } from 'node:test';
import { accepted, cutAt, ended, idOf, resume, tail } from '../lib/background.mjs';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { checkTail, numberOf, writtenFrames } from '../lib/check_resume.mjs';
import { ask, dechunk, get, open } from '../lib/client.mjs';
import { pair, shared } from '../lib/daemon.mjs';
import { ABOUT_TIME, patience } from '../lib/patience.mjs';
import { HANG, chunk, frames, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const READERS = 16; /* of one response */

/* An answer in two halves, and what lets the second one come. */
function halves(before, behind) {
    let release;
    const gate = new Promise((done) => (release = done));
    return [stream([...frames(...before.map((content) => chunk({ content }))), gate,
        ...frames(...behind.map((content) => chunk({ content })), chunk({}, 'stop'), '[DONE]')]), release];
}

const withoutPadding = (text) => text.replace(/,"obfuscation":"[^"]*"/g, '');

describe('readers', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    test(`${READERS} of one response that runs, from different events on, have the same one`, async () => {
        const [answer, release] = halves(['one', 'two', 'three'], ['four', 'five']);
        both.up.next(answer);
        const { id } = await accepted(both.daemon, {}, captures);
        const first = resume(both.daemon, id);
        await first.until('"delta":"three"');
        const readers = Array.from({ length: READERS - 1 }, (_, i) => resume(both.daemon, id, { after: i - 1 }));
        await Promise.all(readers.map((reader) => reader.head));
        release();
        const whole = (await first.done).text;
        checkStream(whole);
        captures.keep('readers.sse', whole);
        for (const [i, reader] of readers.entries())
            checkTail((await reader.done).text, i - 1, whole);
    });

    test('of one that is silent get keepalive events, which have numbers', async (t) => {
        const { up, daemon } = await pair(t, '--keepalive-interval', '100ms', '--heartbeat-interval', '0');
        const [answer, release] = halves(['one'], ['two']);
        up.next(answer);
        const { id } = await accepted(daemon, {}, captures);
        const reader = resume(daemon, id);
        const alive = () => reader.text.split('"type":"keepalive"').length - 1;
        await reader.until(() => alive() >= 3);
        release();
        const whole = (await reader.done).text;
        captures.keep('kept alive.sse', whole);
        assert.equal(checkStream(whole).response.output[0].content[0].text, 'onetwo');
        assert.equal(await tail(daemon, id), whole);
        checkTail(await tail(daemon, id, 6), 6, whole);
    });

    test('one more than may be is refused, and the others read on', async () => {
        const [answer, release] = halves(['one'], ['two']);
        both.up.next(answer);
        const { id } = await accepted(both.daemon, {}, captures);
        const readers = Array.from({ length: READERS }, () => resume(both.daemon, id));
        await Promise.all(readers.map((reader) => reader.until('"delta":"one"')));
        const last = await resume(both.daemon, id).done;
        captures.keep('one too many.json', last.bytes, '--kind', 'error');
        checkError(last, 429, 'rate_limit_exceeded');
        readers[0].destroy();
        release();
        for (const reader of readers.slice(1))
            checkStream((await reader.done).text);
        await ended(both.daemon, id, captures);
        checkStream(await tail(both.daemon, id));
    });

    test('readers that leave make place for others', async () => {
        const [answer, release] = halves(['one'], ['two']);
        both.up.next(answer);
        const { id } = await accepted(both.daemon, {}, captures);
        for (let round = 0; round < 3; round++) {
            const readers = Array.from({ length: READERS - 1 }, () => resume(both.daemon, id));
            await Promise.all(readers.map((reader) => reader.until('"delta":"one"')));
            readers.forEach((reader) => reader.destroy());
            for (const deadline = performance.now() + patience(5000); (await fits(id)) === false;)
                assert.ok(performance.now() < deadline, 'their places are free again');
        }
        release();
        await ended(both.daemon, id, captures);
    });

    /* As many as may read at once do; false when the gateway still counts some that have left. */
    async function fits(id) {
        const readers = Array.from({ length: READERS }, () => resume(both.daemon, id));
        const heads = await Promise.all(readers.map(({ head }) => head));
        readers.forEach((reader) => reader.destroy());
        await pause(20);
        return heads.every(({ status }) => status === 200);
    }

    test('a slow one holds up nobody, and gets all of it', async () => {
        const part = 'x'.repeat(16 * 1024);
        const [answer, release] = halves(['begin'], Array.from({ length: 256 }, (_, i) => `${i}${part}`));
        both.up.next(answer);
        const { id } = await accepted(both.daemon, {}, captures);
        const socket = net.connect(both.daemon.port, both.daemon.host);
        await once(socket, 'connect');
        socket.write(`GET /v1/responses/${id}?stream=true HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
        socket.pause();
        const fast = resume(both.daemon, id);
        await fast.until('"delta":"begin"');
        release();
        const whole = (await fast.done).text;
        checkStream(whole);
        const parts = [];
        socket.on('data', (piece) => parts.push(piece)).resume();
        await once(socket, 'close');
        const { chunks, complete } = dechunk(Buffer.concat(parts));
        assert.ok(complete);
        checkTail(chunks.join(''), -1, whole);
    });

    for (const first of [true, false]) {
        test(`padding is the reader's choice, whatever the first stream had: ${first}`, async () => {
            both.up.next(textStream('Hello to all the world'));
            const { text } = await ask(both.daemon, { model: 'm', input: 'Hi', stream: true, stream_options: { include_obfuscation: first } });
            const id = idOf(text);
            assert.equal(/"obfuscation"/.test(text), first);
            const plain = await tail(both.daemon, id);
            assert.equal(withoutPadding(plain), plain, 'none unless it is asked for');
            const padded = (await resume(both.daemon, id, { obfuscation: true }).done).text;
            captures.keep('padded.sse', padded);
            for (const event of checkStream(padded).events)
                assert.equal('obfuscation' in event, event.type.endsWith('.delta'), event.type);
            checkTail(withoutPadding(padded), -1, plain);
            checkTail(withoutPadding(text), -1, plain);
        });
    }

    test('starting_after without stream=true is ignored, include[] changes no event', async () => {
        both.up.next(textStream('Hello'));
        const { text } = await ask(both.daemon, { model: 'm', input: 'Hi', stream: true });
        const id = idOf(text);
        const object = await get(both.daemon, `/v1/responses/${id}`);
        for (const query of ['starting_after=2', 'starting_after=x', 'starting_after=-7', 'stream=false&starting_after=2', 'include_obfuscation=true'])
            assert.equal((await get(both.daemon, `/v1/responses/${id}?${query}`)).text, object.text, query);
        const read = await get(both.daemon, `/v1/responses/${id}?stream=true&include[]=reasoning.encrypted_content&include[]=message.output_text.logprobs`);
        checkTail(read.text, -1, text);
    });

    test('what never was streamed can be read as a stream', async () => {
        both.up.next(textStream('Hello world', { reasoning: 'Hm' }));
        const whole = await ask(both.daemon, { model: 'm', input: 'Hi' });
        const { response, events } = checkStream(await tail(both.daemon, whole.json.id));
        assert.deepEqual(response, whole.json);
        assert.ok(events.length > 10);
    });

    test('the rest of a stream has the headers of one', async () => {
        const id = idOf((await ask(both.daemon, { model: 'm', input: 'Hi', stream: true })).text);
        const { headers } = await resume(both.daemon, id, { after: 3 }).done;
        assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8');
        assert.equal(headers['cache-control'], 'no-cache');
        assert.equal(headers['x-accel-buffering'], 'no');
        assert.ok(headers['x-request-id']);
    });
});

/* ---- a client that leaves a turn in the foreground ---- */

describe('resume_window', { concurrency: false }, () => {
    const REQUEST = { model: 'm', input: 'Hi', stream: true };

    for (const headers of [{}, { 'idempotency-key': 'k' }]) {
        test(`none: the turn ends with its client, also when another one reads (${Object.keys(headers)[0] ?? 'no key'})`, async (t) => {
            const { up, daemon } = await pair(t);
            up.next(stream([...frames(chunk({ content: 'one' })), HANG]));
            const call = open(daemon, REQUEST, { headers });
            await call.until('"delta":"one"');
            const id = idOf(call.text);
            const reader = resume(daemon, id);
            await reader.until('"delta":"one"');
            call.destroy();
            await up.requests[0].closed;
            await reader.done.catch(() => {});
            assert.ok(!reader.text.includes('response.completed'), 'it has not been completed');
            checkError(await get(daemon, `/v1/responses/${id}`), 404, 'not_found');
        });
    }

    test('over with nobody there: the turn ends', async (t) => {
        const { up, daemon } = await pair(t, '--resume-window', '200ms');
        up.next(stream([...frames(chunk({ content: 'one' })), HANG]));
        const call = open(daemon, REQUEST);
        await cutAt(call, 3);
        await up.requests[0].closed;
    });

    test('not over: the turn goes on to its end, and can be read', async (t) => {
        const { up, daemon } = await pair(t, '--resume-window', '60s');
        const [answer, release] = halves(['one'], ['two']);
        up.next(answer);
        const call = open(daemon, REQUEST);
        await call.until('"delta":"one"');
        const id = idOf(call.text);
        call.destroy();
        await pause(100);
        release();
        const whole = await tail(daemon, id);
        captures.keep('went on.sse', whole);
        assert.deepEqual(checkStream(whole).response, await ended(daemon, id, captures));
        assert.deepEqual(writtenFrames(call.text), writtenFrames(whole).slice(0, writtenFrames(call.text).length));
    });

    test('a reader keeps the turn alive beyond it', { skip: ABOUT_TIME }, async (t) => {
        const { up, daemon } = await pair(t, '--resume-window', '300ms');
        const [answer, release] = halves(['one'], ['two']);
        up.next(answer);
        const call = open(daemon, REQUEST);
        await call.until('"delta":"one"');
        const reader = resume(daemon, idOf(call.text), { after: 1 });
        await reader.until('"delta":"one"');
        call.destroy();
        await pause(1000);
        release();
        const got = (await reader.done).text;
        checkTail(got, 1, await tail(daemon, idOf(call.text)));
        assert.ok(numberOf(writtenFrames(got)[0]) === 2 && got.includes('response.completed'));
    });

    test('not streamed, it ends with its client as ever', async (t) => {
        const { up, daemon } = await pair(t);
        up.next(stream([...frames(chunk({ content: 'one' })), HANG]));
        const call = open(daemon, { ...REQUEST, stream: false });
        await up.request(0);
        call.destroy();
        await up.requests[0].closed;
    });
});

captures.judge(test);
