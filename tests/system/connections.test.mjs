/* connections.test.mjs -- what a connection may cost before anybody knows whose it is: the key
 * is judged at the head. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { checkError } from '../lib/check.mjs';
import { shared } from '../lib/daemon.mjs';
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
            ['POST /health', 405, 'method_not_allowed'], ['POST /v1/responses/compact', 404, 'not_found']]) {
            const { socket } = await refusal(both.daemon, head(line, ...known), status, code);
            socket.destroy();
        }
    });

    test('a client that sends its whole body before it reads finds the answer and no reset', async () => {
        const wire = await refusal(both.daemon, post(`Content-Length: ${16 * MIB}`) + 'x'.repeat(16 * MIB), 401, 'invalid_api_key');
        wire.socket.destroy();
    });

    test('what needs no key needs none with a body announced', async () => {
        for (const line of ['GET /health', 'GET /']) {
            const wire = await dial(both.daemon);
            wire.send(head(line, 'Content-Length: 3'));
            wire.send('abc' + head('GET /health'));
            await wire.until(() => wire.answers.length === 2);
            assert.deepEqual(wire.answers.map(({ status }) => status), [200, 200]);
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
