/* loop_hold.test.mjs -- no request holds its worker's loop: others are answered while a large one is
 * read, written, stored and answered.
 *
 * There is one worker. A neighbour asks for /health, one request after the other, while something
 * large happens to somebody else; what is counted is how often it was answered in between. Work in
 * the loop would let one or two through, which came before it and behind it.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import test, { describe } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ask, open } from '../lib/client.mjs';
import { pair } from '../lib/daemon.mjs';
import { gateway } from '../lib/mcp.mjs';
import { startPages } from '../lib/page_server.mjs';
import { startSearch } from '../lib/search_server.mjs';
import { callStream, chunk, frames, json, stream, textStream } from '../lib/upstream.mjs';
import { webSocket } from '../lib/websocket.mjs';

const MIB = 1 << 20;
const ENOUGH = 4; /* answers to the neighbour */
const HEALTH = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n';

/* Asks again as soon as it was answered. */
class Neighbour {
    answers = 0;

    async live(t, daemon) {
        this.socket = net.connect(daemon.port, daemon.host);
        await once(this.socket, 'connect');
        let got = '';
        this.socket.on('data', (bytes) => {
            got += bytes;
            if (!got.endsWith('}'))
                return;
            got = '';
            this.answers++;
            this.socket.write(HEALTH);
        });
        this.socket.on('error', () => {});
        this.socket.write(HEALTH);
        t.after(() => this.socket.destroy());
        return this;
    }

    async more(n) {
        for (const until = this.answers + n; this.answers < until;)
            await new Promise((done) => setImmediate(done));
    }
}

/* A request of which all but the last byte has been read. Each answer to the neighbour is a turn of
 * the loop, in which 64 KiB are read: what the kernel holds is gone then. */
async function poised(t, daemon, neighbour, path, body, headers = '') {
    const socket = net.connect(daemon.port, daemon.host);
    const bytes = Buffer.from(body);
    const all = { socket, text: '' };
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    socket.on('error', () => {});
    socket.setEncoding('latin1').on('data', (text) => {
        all.text ||= text.slice(0, 4096);
        all.answers ??= neighbour.answers;
    });
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}Content-Length: ${bytes.length}\r\n\r\n`);
    await new Promise((done) => socket.write(bytes.subarray(0, -1), done));
    await neighbour.more(300);
    all.go = () => new Promise((done) => socket.write(bytes.subarray(-1), done));
    return all;
}

async function until(met) {
    for (const late = Date.now() + 60_000; !met();) {
        assert.ok(Date.now() < late, 'it never came');
        await new Promise((done) => setImmediate(done));
    }
}

const list = (n, make) => Array.from({ length: n }, (_, i) => make(i)).join();
const text = (n) => 'x'.repeat(n);

const LARGE = {
    'escapes': `{"model":"m","store":false,"input":"${'\\"'.repeat(8 * MIB)}"}`,
    'small items': `{"model":"m","store":false,"input":[${list(150_000, () => '{"role":"user","content":"x"}')}]}`,
    'tools': `{"model":"m","store":false,"input":"x","tools":[${list(50_000, (i) => `{"type":"function","name":"t${i}","parameters":{}}`)}]}`,
    'a schema': `{"model":"m","store":false,"input":"x","tools":[{"type":"function","name":"t","parameters":{"properties":{${list(400_000, (i) => `"p${i}":{"type":"string"}`)}}}}]}`,
    'calls': `{"model":"m","store":false,"input":[${list(60_000, (i) => `{"type":"function_call","call_id":"c${i}","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c${i}","output":"x"}`)}]}`,
};

describe('others are answered', { concurrency: false }, () => {
    for (const [what, body] of Object.entries(LARGE)) {
        for (const kind of ['plain', 'compressed']) {
            test(`while ${what} are read and asked, ${kind}`, async (t) => {
                const { up, daemon } = await pair(t, '--workers', '1', '--max-body-ratio', '100000');
                const neighbour = await new Neighbour().live(t, daemon);
                const bytes = kind === 'plain' ? body : gzipSync(body, { level: 1 });
                const request = await poised(t, daemon, neighbour, '/v1/responses', bytes,
                    kind === 'plain' ? '' : 'Content-Encoding: gzip\r\n');
                const before = neighbour.answers;
                request.go();
                await until(() => up.requests.length > 0);
                assert.ok(neighbour.answers - before >= ENOUGH, `${neighbour.answers - before} answers`);
            });
        }
    }

    test('while a large request is refused', async (t) => {
        const { daemon } = await pair(t, '--workers', '1');
        const neighbour = await new Neighbour().live(t, daemon);
        const request = await poised(t, daemon, neighbour, '/v1/responses', `{"model":"m","input":[${list(150_000, () => '{"role":"user","content":"x"}')},7]}`);
        const before = neighbour.answers;
        request.go();
        await until(() => request.text.length > 0);
        assert.match(request.text, /^HTTP\/1\.1 400/);
        assert.ok(request.answers - before >= ENOUGH, `${request.answers - before} answers`);
    });

    test('while the items of a conversation are read', async (t) => {
        const { daemon } = await pair(t, '--workers', '1');
        const neighbour = await new Neighbour().live(t, daemon);
        const request = await poised(t, daemon, neighbour, '/v1/conversations', `{"items":[${'1,'.repeat(8 * MIB)}1]}`);
        const before = neighbour.answers;
        request.go();
        await until(() => request.text.length > 0);
        assert.match(request.text, /^HTTP\/1\.1 400/);
        assert.ok(request.answers - before >= ENOUGH, `${request.answers - before} answers`);
    });

    test('while a request of the chat API is rewritten', async (t) => {
        const { up, daemon } = await pair(t, '--workers', '1', '--model-alias', 'mine=m');
        const neighbour = await new Neighbour().live(t, daemon);
        const request = await poised(t, daemon, neighbour, '/v1/chat/completions', `{"model":"mine","messages":[${list(700_000, () => '{"role":"user"}')}]}`);
        const before = neighbour.answers;
        request.go();
        await until(() => up.requests.length > 0);
        assert.ok(neighbour.answers - before >= ENOUGH, `${neighbour.answers - before} answers`);
        assert.equal((await up.request(0)).body.model, 'm');
    });

    test('while a model looks for a word in a large page', async (t) => {
        const service = await startSearch(t);
        const g = await gateway(t, { args: [...service.args('searxng'), '--page-fetch', 'any', '--max-page', '16MiB', '--workers', '1'] });
        const neighbour = await new Neighbour().live(t, g.daemon);
        const web = await startPages(t);
        web.page('/a', `<title>A</title>${'<p>one two three</p>'.repeat(500_000)}<p>the needle</p>`);
        const url = web.url('/a');
        let before, after;
        const call = (action, id) => callStream(['web_search', action, id]);
        g.up.next(call({ action: 'open_page', url }, 'o1'),
            () => (before = neighbour.answers, call({ action: 'find_in_page', url, pattern: 'Needle' }, 'f1')),
            ({ body }) => (after = neighbour.answers, assert.match(body.messages.at(-1).content, /1 match for Needle[^]*the needle/), textStream('Found.')));
        const answer = await ask(g.daemon, { model: 'm', input: 'x', tools: [{ type: 'web_search' }] });
        assert.equal(answer.json.output.at(-1).content[0].text, 'Found.');
        assert.ok(after - before >= 2 * ENOUGH, `${after - before} answers`);
    });

    test('while a WebSocket goes on from a long conversation that is stored nowhere', async (t) => {
        const { up, daemon } = await pair(t, '--workers', '1', '--websocket-context', '64MiB', '--websocket-contexts', '64MiB', '--websocket-context-items', '1000000');
        const neighbour = await new Neighbour().live(t, daemon);
        const ws = await webSocket(t, daemon);
        const first = await ws.respond({ store: false, input: JSON.parse(`[${list(150_000, () => '{"role":"user","content":"x"}')}]`) });
        const start = Date.now();
        let n = neighbour.answers, last = start, silence = 0;
        const second = ws.respond({ store: false, previous_response_id: first.id, input: 'x' });
        await until(() => {
            if (neighbour.answers > n) {
                silence = Math.max(silence, Date.now() - last);
                [n, last] = [neighbour.answers, Date.now()];
            }
            return up.requests.length > 1;
        });
        assert.ok(silence < (Date.now() - start) / 2, `no answer for ${silence} of ${Date.now() - start} ms`);
        await second;
    });

    for (const streams of [false, true]) {
        test(`while an answer of 6 MiB is read, stored and written, ${streams ? 'streamed' : 'whole'}`, async (t) => {
            const { up, daemon } = await pair(t, '--workers', '1');
            const neighbour = await new Neighbour().live(t, daemon);
            let at;
            up.next(stream([...frames(chunk({ content: '\x01'.repeat(MIB) })), new Promise((done) => (at = done)), ...frames(chunk({}, 'stop'), '[DONE]')]));
            const answer = open(daemon, { model: 'm', input: 'x', stream: streams });
            await neighbour.more(400);
            const before = neighbour.answers;
            at();
            await (streams ? answer.until(() => answer.bytes.includes('response.output_text.done')) : answer.head);
            assert.ok(neighbour.answers - before >= ENOUGH, `${neighbour.answers - before} answers`);
            await answer.until(() => answer.ended, 60_000);
            const object = streams ? JSON.parse(answer.text.match(/"type":"response.completed"[^\n]*/)[0].replace(/^/, '{').replace(/\s+$/, '')).response : answer.json;
            assert.equal(object.output[0].content[0].text, '\x01'.repeat(MIB));
        });
    }
});

describe('what happens meanwhile', { concurrency: false }, () => {
    const body = LARGE['small items'];

    test('a client that leaves is noticed, and the gateway goes on', async (t) => {
        const { up, daemon } = await pair(t, '--workers', '1');
        const neighbour = await new Neighbour().live(t, daemon);
        for (let i = 0; i < 6; i++) {
            const request = await poised(t, daemon, neighbour, '/v1/responses', body);
            await request.go();
            await neighbour.more(i);
            request.socket.destroy();
            await daemon.logged(new RegExp(`(turn [^\n]*status=(client_gone|completed)[^]*){${i + 1}}`), 20_000);
        }
        assert.equal((await ask(daemon, { model: 'm', input: 'Hi' })).status, 200);
        assert.ok(up.requests.length <= 7);
    });

    test('a client of the chat API that leaves is noticed as well', async (t) => {
        const { daemon } = await pair(t, '--workers', '1', '--model-alias', 'mine=m');
        const neighbour = await new Neighbour().live(t, daemon);
        for (let i = 0; i < 4; i++) {
            const request = await poised(t, daemon, neighbour, '/v1/chat/completions', `{"model":"mine","messages":[${list(300_000, () => '{"role":"user"}')}]}`);
            await request.go();
            await neighbour.more(i);
            request.socket.destroy();
            await daemon.logged(new RegExp(`(request [^\n]*route=/v1/chat/completions[^]*){${i + 1}}`), 20_000);
        }
        assert.equal((await ask(daemon, { model: 'm', input: 'Hi' })).status, 200);
    });

    test('a gateway that is stopped ends in order', async (t) => {
        const { daemon } = await pair(t, '--workers', '1', '--drain-timeout', '1ms');
        const neighbour = await new Neighbour().live(t, daemon);
        const requests = [];
        for (let i = 0; i < 3; i++)
            requests.push(await poised(t, daemon, neighbour, i === 2 ? '/v1/conversations' : '/v1/responses', body));
        for (const request of requests)
            request.go();
        await neighbour.more(2);
        await daemon.stop({ ms: 30_000 });
        for (const request of requests)
            assert.match(request.text, /^(HTTP\/1\.1 (503|400|200)|$)/);
    });

    test('an upstream that ends its answer early is read to the end', async (t) => {
        const { up, daemon } = await pair(t, '--workers', '1');
        up.next({ ...stream([...frames(chunk({ content: text(4 * MIB) }))]) }); /* no finish reason */
        const answer = await ask(daemon, { model: 'm', input: 'x' });
        assert.equal(answer.status, 502);
        assert.equal(answer.json.error.code, 'upstream_error');
    });

    test('an answer that is no stream is read elsewhere as well', async (t) => {
        const { up, daemon } = await pair(t, '--workers', '1');
        up.next(json(200, { choices: [{ index: 0, message: { role: 'assistant', content: text(4 * MIB) }, finish_reason: 'stop' }] }));
        const answer = await ask(daemon, { model: 'm', input: 'x' });
        assert.equal(answer.json.output[0].content[0].text.length, 4 * MIB);
    });

    test('a large conversation is cut, and asked again', async (t) => {
        const { up, daemon } = await pair(t, '--workers', '1');
        const input = Array.from({ length: 400 }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: text(2000) }));
        up.next(json(400, { error: { message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 200000 tokens.", code: 'context_length_exceeded' } }));
        const answer = await ask(daemon, { model: 'm', truncation: 'auto', input });
        assert.equal(answer.status, 200);
        assert.ok((await up.request(1)).body.messages.length < 40);
    });

    test('large instructions stand in the first events and in the last', async (t) => {
        const { daemon } = await pair(t, '--workers', '1');
        const instructions = text(MIB);
        const answer = await ask(daemon, { model: 'm', instructions, input: 'Hi', stream: true });
        const events = answer.text.split('\n\n').filter((e) => e.includes(instructions)).map((e) => e.match(/"type":"([^"]+)"/)[1]);
        assert.deepEqual(events, ['response.created', 'response.in_progress', 'response.completed']);
        assert.match(answer.text, /"delta":"Hello"/);
    });

    test('the first events of a large request are not followed by those of another client', async (t) => {
        const { daemon } = await pair(t, '--workers', '1');
        const other = await ask(daemon, { model: 'm', input: 'Hi', stream: true });
        const [id] = other.text.match(/resp_\w+/);
        const answer = await ask(daemon, { model: 'm', instructions: text(MIB), input: 'Hi', stream: true });
        assert.ok(!answer.text.includes(id));
        assert.equal(answer.text.match(/event: response.completed/g).length, 1);
    });

    test('a large history is continued', async (t) => {
        const { up, daemon } = await pair(t, '--workers', '1');
        const first = await ask(daemon, { model: 'm', input: text(2 * MIB) });
        const second = await ask(daemon, { model: 'm', input: 'and?', previous_response_id: first.json.id });
        assert.equal(second.status, 200);
        assert.deepEqual((await up.request(1)).body.messages.map((m) => m.content.length), [2 * MIB, 5, 4]);
    });
});
