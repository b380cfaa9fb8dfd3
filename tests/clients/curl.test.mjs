/* curl.test.mjs -- what people type, and what shell scripts rely on. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkStream } from '../lib/check.mjs';
import { pair, shared } from '../lib/daemon.mjs';
import { CLOSE, HANG, chunk, failure, frames, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const PATIENCE_MS = 20_000;
const HTTP_ERROR = 22; /* curl's exit status for it, with -f */

const request = (more = {}) => JSON.stringify({ model: 'm', input: 'Hi', ...more });
const streaming = request({ stream: true });

const LARGE = request({ input: 'x'.repeat(3 << 20) });
/* Sends nothing of the body before the server's word, or 15 s have passed. */
const WAITING = ['-H', 'Expect: 100-continue', '--expect100-timeout', '15'];

/* curl at work: `out` and `log` grow, `done` gives its exit status. */
class Curl {
    out = '';
    log = '';

    constructor(url, args, body = '') {
        this.child = spawn('curl', ['-sSv', '-H', 'Content-Type: application/json', ...args, url], { env: { PATH: process.env.PATH } });
        this.child.stdout.setEncoding('utf8').on('data', (text) => (this.out += text));
        this.child.stderr.setEncoding('utf8').on('data', (text) => (this.log += text));
        this.child.stdin.on('error', () => {}); /* it need not read all of the body */
        this.child.stdin.end(body);
        const late = setTimeout(() => this.child.kill('SIGKILL'), PATIENCE_MS);
        this.done = new Promise((done) => this.child.on('close', (code, signal) => {
            clearTimeout(late);
            done(code ?? signal);
        }));
    }

    get json() {
        return JSON.parse(this.out);
    }

    /* Waits for text in the output; fails when curl ends without it. */
    async shows(text) {
        let ended = false;
        this.done.then(() => (ended = true));
        while (!this.out.includes(text)) {
            assert.ok(!ended, `no ${text} in ${this.out}\n${this.log}`);
            await Promise.race([new Promise((more) => this.child.stdout.once('data', more)), this.done]);
        }
    }
}

describe('curl', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });
    const post = (origin, body, ...args) => new Curl(`${origin}/v1/responses`, ['--data-binary', '@-', ...args], body);
    const start = (body, ...args) => post(both.daemon.origin, body, ...args);

    /* To its end, which must be a good one. */
    async function finish(curl) {
        assert.equal(await curl.done, 0, curl.log);
        return curl;
    }

    function checkSse(curl) {
        captures.keep('curl.sse', Buffer.from(curl.out));
        return checkStream(curl.out);
    }

    /* --http2 offers an upgrade that has to be ignored. */
    for (const args of [['-N'], ['-N', '--compressed'], ['-N', '--http1.0'], ['-N', '--http2']]) {
        test(`${args.join(' ')}: text arrives while the model still talks`, async () => {
            let goOn;
            const pause = new Promise((done) => (goOn = done));
            both.up.next(stream([...frames(chunk({ content: 'Hello' })), pause, ...frames(chunk({ content: ' world' }), chunk({}, 'stop'), '[DONE]')]));
            const curl = start(streaming, ...args);
            await curl.shows('"delta":"Hello"');
            goOn();
            await finish(curl);
            assert.match(curl.log, /< HTTP\/1\.[01] 200/);
            assert.equal(checkSse(curl).items[0].content[0].text, 'Hello world');
        });
    }

    test('HTTP/1.0 gets no chunks', async () => {
        both.up.next(textStream('Hello world'));
        const curl = await finish(start(streaming, '--http1.0'));
        assert.doesNotMatch(curl.log, /< transfer-encoding/i);
        assert.equal(checkSse(curl).response.status, 'completed');
    });

    for (const [how, args] of [['', []], [' --compressed', ['--compressed']], [' --http1.0', ['--http1.0']]]) {
        test(`a whole answer${how}`, async () => {
            both.up.next(textStream('Hello world'));
            const curl = await finish(start(request(), ...args));
            captures.keep('curl.json', Buffer.from(curl.out));
            assert.equal(curl.json.output[0].content[0].text, 'Hello world');
        });
    }

    test('-T - uploads in chunks', async () => {
        const curl = new Curl(`${both.daemon.origin}/v1/responses`, ['-X', 'POST', '-T', '-'], request({ input: 'x'.repeat(200_000) }));
        await finish(curl);
        assert.match(curl.log, /> Transfer-Encoding: chunked/i);
        assert.equal(curl.json.status, 'completed');
        assert.equal(both.up.requests[0].body.messages[0].content.length, 200_000);
    });

    test('Expect: 100-continue is answered', async () => {
        const curl = await finish(start(LARGE, ...WAITING));
        assert.match(curl.log, /< HTTP\/1\.1 100 Continue/);
        assert.equal(both.up.requests[0].body.messages[0].content.length, 3 << 20);
    });

    test('Expect: 100-continue with a body that is too large gets the error', async (t) => {
        const { daemon } = await pair(t, '--max-body', '1MiB');
        const curl = await finish(post(daemon.origin, LARGE, ...WAITING));
        assert.match(curl.log, /< HTTP\/1\.1 413/);
        assert.doesNotMatch(curl.log, /100 Continue/);
        assert.ok(curl.json.error.message.length > 0);
    });

    test('two requests share a connection', async () => {
        both.up.always(textStream('Hello'));
        const url = `${both.daemon.origin}/v1/responses`;
        const curl = await finish(new Curl(url, ['-d', request(), url]));
        assert.match(curl.log, /Re-using existing connection/);
        assert.equal(both.up.requests.length, 2);
    });

    for (const [what, body, answer] of [
        ['a bad request', '{"model":', undefined],
        ['an error of the upstream', request(), failure(400, 'bad thing')],
        ['an error of the upstream of a stream', streaming, failure(503, 'busy')],
    ]) {
        test(`-f tells ${what} by its exit status, --fail-with-body shows it`, async () => {
            if (answer)
                both.up.always(answer);
            const quiet = start(body, '-f');
            assert.equal(await quiet.done, HTTP_ERROR, quiet.log);
            assert.equal(quiet.out, '');
            const loud = start(body, '--fail-with-body');
            assert.equal(await loud.done, HTTP_ERROR, loud.log);
            assert.ok(loud.json.error.message.length > 0);
        });
    }

    test('-f is content with /health', async () => {
        const curl = await finish(new Curl(`${both.daemon.origin}/health`, ['-f']));
        assert.equal(curl.json.status, 'ok');
    });

    test('a stream whose upstream breaks off ends as HTTP promises', async () => {
        both.up.next(stream([...frames(chunk({ content: 'one' })), CLOSE]));
        const curl = await finish(start(streaming, '-N'));
        assert.equal(checkSse(curl).response.status, 'failed');
    });

    test('interrupted, it frees the upstream', async () => {
        both.up.next(stream([...frames(chunk({ content: 'one' })), HANG]));
        const curl = start(streaming, '-N');
        await curl.shows('"delta":"one"');
        curl.child.kill('SIGINT');
        await both.up.requests[0].closed;
        await curl.done;
    });
});

captures.judge(test);
