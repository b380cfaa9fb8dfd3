/* connections.test.mjs -- what a connection may cost before anybody knows whose it is: the key is
 * judged at the head, one client has a share of the connections, and who finds no place is told. */
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import test, { after, before, beforeEach, describe } from 'node:test';
import { checkError } from '../lib/check.mjs';
import { get } from '../lib/client.mjs';
import { pair, shared } from '../lib/daemon.mjs';
import { dial } from '../lib/wire.mjs';

const KEY = 'sk-of-a-client';
const MIB = 1024 * 1024;
const head = (line, ...fields) => [`${line} HTTP/1.1`, 'Host: a', ...fields, '', ''].join('\r\n');
const post = (...fields) => head('POST /v1/responses', 'Content-Type: application/json', ...fields);

/* The one answer to a head, and that its connection ends in order. */
async function refusal(daemon, request, status, code) {
    const wire = await dial(daemon);
    wire.send(request);
    await wire.until(() => wire.answers.length === 1);
    const [answer] = wire.answers;
    checkError({ ...answer, json: JSON.parse(answer.text) }, status, code);
    assert.equal(answer.headers.connection, 'close');
    await wire.until(() => wire.ended);
    assert.equal(wire.error, undefined, 'the end is a FIN');
    return wire;
}

describe('with keys', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--api-key', KEY);

    /* No byte of the body is ever sent: whoever waits for it does not answer. */
    for (const [what, fields] of Object.entries({
        'a length': ['Content-Length: 33554432'],
        chunks: ['Transfer-Encoding: chunked'],
        'Expect: 100-continue': ['Content-Length: 5', 'Expect: 100-continue'],
    })) {
        test(`the key is judged before the body: ${what}`, async () => {
            for (const authorization of [[], ['Authorization: Bearer sk-wrong']]) {
                const { socket } = await refusal(both.daemon, post(...fields, ...authorization), 401, 'invalid_api_key');
                socket.destroy();
            }
            assert.deepEqual(both.up.requests, []);
        });
    }

    test('so are the path and the method', async () => {
        const known = ['Content-Length: 5', `Authorization: Bearer ${KEY}`];
        for (const [line, status, code] of [['POST /nothing', 404, 'not_found'], ['PUT /v1/responses', 405, 'method_not_allowed'],
            ['POST /health', 405, 'method_not_allowed'], ['GET /v1/responses/compact', 405, 'method_not_allowed']]) {
            const { socket } = await refusal(both.daemon, head(line, ...known), status, code);
            socket.destroy();
        }
    });

    test('a client that sends its whole body before it reads finds the answer and no reset', async () => {
        const wire = await refusal(both.daemon, post(`Content-Length: ${16 * MIB}`) + 'x'.repeat(16 * MIB), 401, 'invalid_api_key');
        wire.socket.destroy();
    });

    test('what needs no key needs none with a body announced, which is not read', async () => {
        for (const line of ['GET /health', 'GET /']) {
            const wire = await dial(both.daemon);
            wire.send(head(line, 'Content-Length: 3'));
            await wire.until(() => wire.answers.length === 1);
            wire.send('abc' + head('GET /health'));
            await wire.until(() => wire.ended);
            assert.deepEqual(wire.answers.map(({ status, headers }) => [status, headers.connection]), [[200, 'close']]);
            wire.socket.destroy();
        }
    });

    test('a client with a key is told to go on', async () => {
        const wire = await dial(both.daemon), body = '{"model":"m","input":"Hi"}';
        let got = '';
        wire.socket.prependListener('data', (text) => (got += text));
        wire.send(post(`Content-Length: ${body.length}`, 'Expect: 100-continue', `Authorization: Bearer ${KEY}`));
        await wire.until(() => got.includes('100 Continue'));
        wire.send(body);
        await wire.until(() => wire.answers.length === 1);
        assert.equal(wire.answers[0].status, 200);
        wire.socket.destroy();
    });
});

describe('when every place is taken by strangers', { concurrency: false }, () => {
    test('a client with a key gets one of those who have had their answer', async (t) => {
        const { daemon } = await pair(t, '--max-connections', '3', '--workers', '1', '--api-key', KEY);
        const strangers = [];
        for (let i = 0; i < 3; i++) {
            const wire = await dial(daemon);
            wire.send(post('Content-Length: 1000000'));
            await wire.until(() => wire.ended);
            assert.equal(wire.answers[0].status, 401);
            strangers.push(wire);
        }
        /* They go on sending, for longer than this test waits. */
        const dripping = setInterval(() => strangers.forEach(({ socket }) => socket.destroyed || socket.write('x')), 200);
        t.after(() => clearInterval(dripping));
        for (let status = 503, n = 0; status !== 200; n++) {
            assert.ok(n < 100, 'the places are free by now');
            if (n > 0)
                await new Promise((done) => setTimeout(done, 100));
            ({ status } = await get(daemon, '/health', { headers: { authorization: `Bearer ${KEY}` } }));
        }
        strangers.forEach(({ socket }) => socket.destroy());
    });
});

describe('over max_connections', { concurrency: false }, () => {
    const PLACES = 4, OVER = 700; /* more than may be refused at a time */

    /* Sends a request with 100 KiB of body at once, whatever comes back. */
    async function insist(daemon) {
        const wire = await dial(daemon);
        wire.send(post(`Content-Length: ${100 * 1024}`) + 'x'.repeat(100 * 1024));
        await wire.until(() => wire.ended);
        wire.socket.end();
        return wire;
    }

    test('every connection reads its whole 503, and none a reset', async (t) => {
        const { daemon } = await pair(t, '--max-connections', String(PLACES), '--workers', '1');
        const held = await Promise.all(Array.from({ length: PLACES }, () => dial(daemon)));
        for (const wire of held) {
            wire.send(head('GET /health'));
            await wire.until(() => wire.answers.length === 1);
        }
        const refused = await Promise.all(Array.from({ length: OVER }, () => insist(daemon)));
        for (const wire of refused) {
            assert.equal(wire.error, undefined);
            assert.equal(wire.answers.length, 1);
            const [answer] = wire.answers;
            checkError({ ...answer, json: JSON.parse(answer.text) }, 503, 'server_is_overloaded');
            assert.equal(answer.headers.connection, 'close');
            assert.ok(Number(answer.headers['retry-after']) >= 1);
        }
        for (const wire of held) { /* nobody who was there has noticed */
            wire.send(head('GET /health'));
            await wire.until(() => wire.answers.length === 2);
            wire.socket.destroy();
        }
        await daemon.logged(/connections refused client=127\.0\.0\.1/);
    });

    test('those that find no place even to be refused wait, and are served when one is free', async (t) => {
        const { daemon } = await pair(t, '--max-connections', '1', '--workers', '1');
        const first = await dial(daemon);
        first.send(head('GET /health'));
        await first.until(() => first.answers.length === 1);
        const since = performance.now();
        /* These read their 503 and stay: all places for refusals are taken. */
        const stubborn = await Promise.all(Array.from({ length: 512 }, async () => {
            const wire = await dial(daemon);
            wire.send('');
            await wire.until(() => wire.ended);
            return wire;
        }));
        const waiting = await dial(daemon);
        waiting.send(head('GET /health'));
        first.socket.end();
        await waiting.until(() => waiting.answers.length === 1);
        assert.equal(waiting.error, undefined);
        /* A machine so slow that the stubborn were given up meanwhile has had a place to refuse it. */
        assert.equal(waiting.answers[0].status, performance.now() - since < 4000 ? 200 : waiting.answers[0].status);
        for (const { socket } of [first, waiting, ...stubborn])
            socket.destroy();
    });
});

/* An address of this machine that is not the loopback's: a connection that comes from there goes
 * over the loopback interface all the same, and its client counts. */
const OWN_ADDRESS = Object.values(networkInterfaces()).flat().find(({ internal, family }) => !internal && family === 'IPv4')?.address;

describe('the share of a client', { concurrency: false, skip: OWN_ADDRESS === undefined && 'no address but the loopback\'s' }, () => {
    const from = async (daemon, localAddress) => {
        const wire = await dial(daemon, { localAddress });
        wire.send(head('GET /health'));
        await wire.until(() => wire.answers.length === 1);
        return wire;
    };
    const dropAll = (wires) => wires.forEach(({ socket }) => socket.destroy());

    for (const [what, args, most] of [['half of max_connections', ['--max-connections', '8', '--workers', '1'], 4],
        ['a number for all workers together', ['--max-connections', '100', '--workers', '4', '--max-connections-per-client', '5'], 5]]) {
        test(`is ${what}; others find their places, and it gets back what it leaves`, async (t) => {
            const { daemon } = await pair(t, ...args);
            const wires = [];
            for (let i = 0; i < 2 * most; i++)
                wires.push(await from(daemon, OWN_ADDRESS));
            const refused = wires.filter(({ answers }) => answers[0].status === 503);
            assert.equal(wires.length - refused.length, most);
            for (const { answers: [answer] } of refused) {
                const error = checkError({ ...answer, json: JSON.parse(answer.text) }, 503, 'server_is_overloaded');
                assert.match(error.message, /from your address/);
                assert.equal(answer.headers.connection, 'close');
            }
            const other = await from(daemon, '127.0.0.2');
            assert.equal(other.answers[0].status, 200);
            dropAll([...wires, other]);
            /* Those have gone once the daemon has read their ends, which comes before what follows. */
            for (let status = 503, n = 0; status !== 200 && n < 100; n++) {
                const again = await from(daemon, OWN_ADDRESS);
                status = again.answers[0].status;
                again.socket.destroy();
                assert.ok(status === 200 || n < 99);
            }
        });
    }

    test('clients of this machine are not counted, and 0 counts nobody', async (t) => {
        const { daemon } = await pair(t, '--max-connections', '4', '--workers', '1');
        const local = [];
        for (let i = 0; i < 4; i++)
            local.push(await from(daemon, '127.0.0.1'));
        assert.deepEqual(local.map(({ answers }) => answers[0].status), Array(4).fill(200));
        dropAll(local);
        const { daemon: open } = await pair(t, '--max-connections', '4', '--workers', '1', '--max-connections-per-client', '0');
        const all = [];
        for (let i = 0; i < 4; i++)
            all.push(await from(open, OWN_ADDRESS));
        assert.deepEqual(all.map(({ answers }) => answers[0].status), Array(4).fill(200));
        dropAll(all);
    });
});
