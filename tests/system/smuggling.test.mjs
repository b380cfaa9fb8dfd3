/* smuggling.test.mjs -- the cases of tests/data/http: whatever bytes come, every
 * request gets its answer, and no byte is taken for two things. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import test, { after, before, beforeEach, describe } from 'node:test';
import { ARGS, GROUPS } from '../data/http/cases.mjs';
import { checkError } from '../lib/check.mjs';
import { shared } from '../lib/daemon.mjs';

const PATIENCE_MS = 10_000;
const HEALTH = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n';
const isHead = (request) => request.startsWith('HEAD ');

/* One answer off the front of the bytes, or null when it is not whole. */
function takeAnswer(bytes, hasBody) {
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0)
        return null;
    const [, status, fields] = bytes.slice(0, end).match(/^HTTP\/1\.1 (\d{3}) [^\r\n]*((?:\r\n[^\r\n]*)*)$/) ?? assert.fail(`no answer: ${bytes}`);
    const headers = Object.fromEntries([...fields.matchAll(/\r\n([^:]+): ([^\r\n]*)/g)].map(([, name, value]) => [name.toLowerCase(), value]));
    const length = hasBody ? Number(headers['content-length'] ?? 0) : 0;
    assert.equal(headers['transfer-encoding'], undefined, 'the answers of these cases have a length');
    if (bytes.length < end + 4 + length)
        return null;
    const text = bytes.slice(end + 4, end + 4 + length);
    return { status: Number(status), headers, text, rest: bytes.slice(end + 4 + length) };
}

/* A connection that counts what it is answered. */
class Wire {
    answers = [];
    #got = '';
    #waiting = () => {};

    async open(daemon) {
        this.socket = net.connect({ port: daemon.port, host: daemon.host, allowHalfOpen: true });
        await once(this.socket, 'connect');
        this.socket.setEncoding('latin1');
        this.socket.on('data', (text) => (this.#got += text, this.#waiting()));
        this.socket.on('end', () => (this.ended = true, this.#waiting()));
        this.socket.on('error', (error) => (this.error = error, this.#waiting()));
        return this;
    }

    send(text, hasBody = true) {
        this.hasBody = hasBody;
        this.socket.write(text, 'latin1');
    }

    async until(met, what) {
        let late;
        await new Promise((done, fail) => {
            late = setTimeout(() => fail(new Error(`waited for ${what} with ${this.answers.length} answers and:\n${this.#got}`)), PATIENCE_MS);
            this.#waiting = () => {
                try {
                    this.#read();
                    if (met() || this.ended || this.error)
                        done();
                } catch (error) {
                    fail(error);
                }
            };
            this.#waiting();
        }).finally(() => clearTimeout(late));
    }

    #read() {
        for (let answer; (answer = takeAnswer(this.#got, this.hasBody)) !== null;) {
            this.#got = answer.rest;
            if (answer.status !== 100)
                this.answers.push(answer);
        }
        if (this.ended)
            assert.equal(this.#got, '', 'the last answer is whole');
    }
}

function checkAnswer(answer, wanted, hasBody) {
    const [status, code] = String(wanted).split(' ');
    assert.ok(answer.headers['x-request-id'], 'every answer has an id');
    if (code !== undefined && hasBody)
        checkError({ ...answer, json: JSON.parse(answer.text) }, Number(status), code);
}

async function serves(daemon) {
    const wire = await new Wire().open(daemon);
    wire.send(HEALTH);
    await wire.until(() => wire.answers.length === 1, 'the health of the daemon');
    assert.equal(wire.answers[0]?.status, 200);
    wire.socket.destroy();
}

/* Sends the bytes with a request behind them. It is answered on a connection
 * that is kept, and must not be on one that is closed. */
async function play(daemon, [, bytes, answers, end]) {
    const wire = await new Wire().open(daemon), hasBody = !isHead(bytes);
    if (end === 'keep') {
        wire.send(bytes, hasBody);
        await wire.until(() => wire.answers.length >= answers.length, 'the answers');
        assert.deepEqual([wire.ended, wire.error], [undefined, undefined], 'the connection is kept');
        wire.send(HEALTH);
        await wire.until(() => wire.answers.length > answers.length, 'an answer on the same connection');
    } else {
        wire.send(bytes + HEALTH, hasBody);
        await wire.until(() => wire.ended, 'the end');
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
