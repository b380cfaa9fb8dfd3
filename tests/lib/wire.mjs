/* wire.mjs -- a connection that speaks bytes and counts what it is answered.
 *
 *     const wire = await dial(daemon);
 *     wire.send('GET / HTTP/1.1\r\n...');
 *     await wire.until(() => wire.answers.length === 1);
 *
 * `ended` is set by a FIN, `error` by anything else that ends it. Only answers
 * with a length are understood.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';

const PATIENCE_MS = 10_000;

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
export class Wire {
    answers = [];
    #got = '';
    #waiting = () => {};

    async open(daemon, options) {
        this.socket = net.connect({ port: daemon.port, host: daemon.host, allowHalfOpen: true, ...options });
        await once(this.socket, 'connect');
        this.socket.setEncoding('latin1');
        this.socket.on('data', (text) => (this.#got += text, this.#waiting()));
        this.socket.on('end', () => (this.ended = true, this.#waiting()));
        this.socket.on('error', (error) => (this.error = error, this.#waiting()));
        return this;
    }

    /* hasBody: whether the answers to it have one. */
    send(text, hasBody = true) {
        this.hasBody = hasBody;
        this.socket.write(text, 'latin1');
    }

    /* Waits until the function is true, or the connection has ended. */
    async until(met) {
        let late;
        await new Promise((done, fail) => {
            late = setTimeout(() => fail(new Error(`waited ${PATIENCE_MS} ms with ${this.answers.length} answers and:\n${this.#got}`)), PATIENCE_MS);
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

/* The options are those of net.connect(). */
export const dial = (daemon, options) => new Wire().open(daemon, options);
