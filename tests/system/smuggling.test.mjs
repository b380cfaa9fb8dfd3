/* smuggling.test.mjs -- the cases of tests/data/http: whatever bytes come, every
 * request gets its answer, and no byte is taken for two things. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { ARGS, GROUPS } from '../data/http/cases.mjs';
import { checkError } from '../lib/check.mjs';
import { shared } from '../lib/daemon.mjs';
import { dial } from '../lib/wire.mjs';

const HEALTH = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n';
const isHead = (request) => request.startsWith('HEAD ');

function checkAnswer(answer, wanted, hasBody) {
    const [status, code] = String(wanted).split(' ');
    assert.ok(answer.headers['x-request-id'], 'every answer has an id');
    if (code !== undefined && hasBody)
        checkError({ ...answer, json: JSON.parse(answer.text) }, Number(status), code);
}

async function serves(daemon) {
    const wire = await dial(daemon);
    wire.send(HEALTH);
    await wire.until(() => wire.answers.length === 1);
    assert.equal(wire.answers[0]?.status, 200);
    wire.socket.destroy();
}

/* Sends the bytes with a request behind them. It is answered on a connection
 * that is kept, and must not be on one that is closed. */
async function play(daemon, [, bytes, answers, end]) {
    const wire = await dial(daemon), hasBody = !isHead(bytes);
    if (end === 'keep') {
        wire.send(bytes, hasBody);
        await wire.until(() => wire.answers.length >= answers.length);
        assert.deepEqual([wire.ended, wire.error], [undefined, undefined], 'the connection is kept');
        wire.send(HEALTH);
        await wire.until(() => wire.answers.length > answers.length);
    } else {
        wire.send(bytes + HEALTH, hasBody);
        await wire.until(() => wire.ended);
        assert.equal(wire.error, undefined, 'the end is a FIN');
    }
    const all = end === 'keep' ? [...answers, 200] : answers;
    assert.deepEqual(wire.answers.map((a) => a.status), all.map((a) => Number(String(a).split(' ')[0])), JSON.stringify(wire.answers));
    wire.answers.slice(0, answers.length).forEach((answer, i) => checkAnswer(answer, answers[i], hasBody));
    if (end === 'close')
        assert.equal(wire.answers.at(-1).headers.connection, 'close');
    wire.socket.destroy();
    await serves(daemon);
}

describe('what clients send', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, ...ARGS);

    for (const [group, cases] of Object.entries(GROUPS))
        for (const one of cases) {
            test(`${group}: ${one[0]}`, async () => {
                await play(both.daemon, one);
                if (group === 'paths')
                    assert.deepEqual(both.up.requests, [], 'nothing of it has reached the upstream');
            });
        }
});
