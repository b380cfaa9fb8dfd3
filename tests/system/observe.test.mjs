/* observe.test.mjs -- what the log says: a line for each turn and each other request, whose fields are those of
 * docs/logs.md in their order, an audit, files that are rotated; and that nothing secret is in any of them. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { ask, get, open } from '../lib/client.mjs';
import { ROOT, launchDaemon, pair, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { freePort } from '../lib/free_port.mjs';
import { declared, gateway, pause, shown, writeServers } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { HANG, callStream, chunk, failure, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';
import { webSocket } from '../lib/websocket.mjs';

const KEY = 'key-of-somebody-0123456789';
const MARK = createHash('sha256').update(KEY).digest('hex').slice(0, 8);
const as = (key, more = {}) => ({ headers: { authorization: `Bearer ${key}`, ...more } });

/* Names and forms of the table in the document. */
const PAGE = readFileSync(join(ROOT, 'docs/logs.md'), 'utf8');
const TURN = [...PAGE.split('<!-- table turn line -->')[1].split('<!-- end')[0].matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].map(([, name, form]) => ({ name, form }));

/* The fields of a line, in their order. */
function fieldsOf(line) {
    if (line.startsWith('{'))
        return JSON.parse(line);
    const [, , event, rest] = line.match(/^(\S+ \S+) (\w+) ?(.*)$/);
    return { event, ...Object.fromEntries([...rest.matchAll(/(\w+)=("(?:[^"\\]|\\.)*"|\S+)/g)].map(([, name, value]) => [name, value.replace(/^"|"$/g, '')])) };
}

const linesOf = (text, event) => text.split('\n').filter((line) => line.includes(event)).map(fieldsOf).filter((line) => line.event === event);

/* The one line of that event and request, once it is there. */
async function line(daemon, event, id) {
    const [found] = await daemon.logged(new RegExp(`^.*[ "]${event}[ "].*request_id"?[=:]"?${id}.*$`, 'm'));
    return fieldsOf(found);
}

async function until(met, what, ms = 10_000) {
    for (const deadline = performance.now() + patience(ms); !met(); await pause(20))
        assert.ok(performance.now() < deadline, `${what} within ${ms} ms`);
}

/* As pair(), at levels that do not tell of the port. */
async function quietPair(t, ...args) {
    const up = await startUpstream();
    t.after(() => up.close());
    const port = await freePort();
    const daemon = launchDaemon({ upstream: up.url, exact: true, args: ['--listen', `127.0.0.1:${port}`, '--model', 'test-model', ...args] });
    t.after(() => daemon.stop());
    Object.assign(daemon, { host: '127.0.0.1', port, origin: `http://127.0.0.1:${port}` });
    let answers = false;
    for (const deadline = performance.now() + patience(20_000); !answers; await pause(20)) {
        assert.ok(performance.now() < deadline, `it answers: ${daemon.log}`);
        answers = await get(daemon, '/health').then(() => true, () => false);
    }
    return { up, daemon };
}

const assertOrder = (fields) => assert.deepEqual(Object.keys(fields), TURN.map(({ name }) => name).filter((name) => name in fields), 'the order of the table');

describe('a turn', () => {
    for (const format of ['text', 'json']) {
        test(`leaves a line with the fields of the table, ${format}`, async (t) => {
            const { up, daemon } = await pair(t, '--api-key', KEY, '--model-alias', 'mine=theirs', '--log-format', format);
            up.always(textStream('one two three'));
            for (const streams of [false, true]) {
                const id = `req_${streams}`;
                const body = JSON.stringify({ model: 'mine', input: 'Hi', stream: streams });
                const got = await ask(daemon, body, as(KEY, { 'x-request-id': id }));
                const { event, time, level, ...turn } = await line(daemon, 'turn', id);
                assertOrder(turn);
                if (format === 'json')
                    for (const { name, form } of TURN.filter((field) => field.name in turn))
                        assert.equal(typeof turn[name], form === 'text' ? 'string' : form === 'true' ? 'boolean' : 'number', name);
                const { id: response, ttfb_ms, first_token_ms, total_ms, listener, ...rest } = turn;
                assert.match(response, /^resp_/);
                assert.ok(Number(ttfb_ms) <= Number(first_token_ms) && Number(first_token_ms) <= Number(total_ms));
                assert.match(listener, /^127\.0\.0\.1:/);
                assert.deepEqual(Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, `${value}`])), {
                    route: '/v1/responses', model: 'mine', upstream_model: 'theirs', upstream: 'default', status: 'completed', http_status: '200', rounds: '1', attempts: '1',
                    input_tokens: '9', output_tokens: '3', cached_tokens: '0', reasoning_tokens: '0', bytes_in: `${body.length}`, bytes_out: `${got.bytes.length}`,
                    upstream_status: '200', routing: 'only', client: '127.0.0.1', key: MARK, request_id: id,
                });
            }
        });
    }

    test('that fails says how far the upstream came', async (t) => {
        const { up, daemon } = await pair(t);
        up.next(failure(500, 'no luck'), stream([...frames(chunk({ content: 'one' })), 'data: {']));
        assert.equal((await ask(daemon, { model: 'm', input: 'Hi' }, { headers: { 'x-request-id': 'req_refused' } })).status, 502);
        const refused = await line(daemon, 'turn', 'req_refused');
        assert.deepEqual([refused.status, refused.http_status, refused.phase, refused.attempts, refused.upstream_status], ['failed', '502', 'refused', '1', '500']);
        assert.ok(Number(refused.upstream_bytes) > 0 && Number(refused.bytes_out) > 0);
        assert.match(daemon.log, /^\S+ warn turn .*req_refused/m);
        await ask(daemon, { model: 'm', input: 'Hi', stream: true }, { headers: { 'x-request-id': 'req_broken' } });
        const broken = await line(daemon, 'turn', 'req_broken');
        assert.deepEqual([broken.status, broken.http_status, broken.phase], ['failed', '200', 'answer']);
    });

    test('whose client leaves says when', async (t) => {
        const { up, daemon } = await pair(t, '--resume-window', '0');
        up.next(stream([...frames(chunk({ content: 'one' })), HANG]), stream([HANG]));
        const speaking = open(daemon, { model: 'm', input: 'Hi', stream: true }, { headers: { 'x-request-id': 'req_speaking' } });
        await speaking.until('"delta":"one"');
        speaking.destroy();
        const spoken = await line(daemon, 'turn', 'req_speaking');
        assert.deepEqual([spoken.status, spoken.phase], ['client_gone', 'stream']);
        assert.ok(Number(spoken.bytes_out) > 0 && 'first_token_ms' in spoken);
        const silent = open(daemon, { model: 'm', input: 'Hi', stream: true }, { headers: { 'x-request-id': 'req_silent' } });
        await up.request(1);
        silent.destroy();
        const left = await line(daemon, 'turn', 'req_silent');
        assert.deepEqual([left.status, left.phase, left.first_token_ms], ['client_gone', 'prompt', undefined]);
    });

    test('of a WebSocket has no status of HTTP, but bytes', async (t) => {
        const { up, daemon } = await pair(t);
        up.always(textStream('yes'));
        const ws = await webSocket(t, daemon);
        const body = { type: 'response.create', model: 'm', input: 'Hi' };
        ws.say(body);
        const [found] = await daemon.logged(/^.* turn .*$/m);
        const turn = fieldsOf(found);
        assert.deepEqual([turn.status, turn.http_status, turn.route, turn.listener], ['completed', undefined, '/v1/responses', '127.0.0.1:0']);
        assert.equal(Number(turn.bytes_in), JSON.stringify(body).length);
        assert.ok(Number(turn.bytes_out) > 500);
        const [request] = (await daemon.logged(/^.* request .*$/m));
        assert.deepEqual((({ method, route, http_status }) => [method, route, http_status])(fieldsOf(request)), ['GET', '/v1/responses', '101']);
    });

    test('tells at debug, once, which tools nobody serves and what was repaired', async (t) => {
        const { up, daemon } = await pair(t, '--log-level', 'debug');
        up.always(textStream('yes'));
        const tools = [...Array(3).fill({ type: 'image_generation' }), { type: 'file_search', vector_store_ids: ['v'] }];
        const input = [{ role: 'user', content: 'Hi' }, { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }, { role: 'user', content: 'Go on' }];
        await ask(daemon, { model: 'm', input, tools }, { headers: { 'x-request-id': 'req_odd' } });
        assert.equal((await line(daemon, 'tool_types_left_out', 'req_odd')).types, 'image_generation,file_search');
        assert.equal((await line(daemon, 'history_repaired', 'req_odd')).outputs_made_up, '1');
        for (const event of ['tool_types_left_out', 'history_repaired'])
            assert.equal(linesOf(daemon.log, event).length, 1);
    });

    test('counts the calls that the gateway runs', async (t) => {
        const fake = await startMcp({ transport: 'stdio' });
        const g = await gateway(t, { servers: { fake }, args: ['--audit', 'on'] });
        g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1'], [shown('fake', 'echo'), { wrong: 1 }, 'c2']), textStream('Done.'));
        await g.respond({ tools: [declared('fake')] });
        const [found] = await g.daemon.logged(/^.* turn .*$/m);
        const turn = fieldsOf(found);
        assert.deepEqual([turn.rounds, turn.attempts, turn.tool_calls], ['2', '2', '2']);
        const calls = linesOf(g.daemon.log, 'audit').filter(({ what }) => what === 'mcp.call');
        assert.deepEqual(calls.map(({ server, tool }) => [server, tool]), [['fake', 'echo'], ['fake', 'echo']]);
        assert.equal(Number(turn.tool_errors ?? 0), calls.filter(({ outcome }) => outcome === 'failed').length);
    });
});

describe('other requests', () => {
    test('leave a line each, probes at debug', async (t) => {
        const { up, daemon } = await pair(t, '--api-key', KEY);
        up.always(textStream('yes'));
        const asked = [
            ['GET', '/v1/models', KEY, '/v1/models', 200], ['GET', '/v1/responses/resp_none', KEY, '/v1/responses/{id}', 404], ['GET', '/nowhere/at-all', KEY, '_other', 404],
            ['GET', '/v1/models', 'wrong', '/v1/models', 401], ['PUT', '/v1/responses', KEY, '_other', 405], ['GET', '/health', undefined, '/health', 200], ['GET', '/', undefined, '/', 200],
        ];
        for (const [i, [method, path, key]] of asked.entries())
            await open(daemon, undefined, { method, path, headers: { ...(key && { authorization: `Bearer ${key}` }), 'x-request-id': `req_${i}` } }).done;
        for (const [i, [method, , key, route, status]] of asked.entries()) {
            if (route === '/health')
                continue;
            const { total_ms, bytes_in, bytes_out, ...rest } = await line(daemon, 'request', `req_${i}`);
            assert.ok(Number(total_ms) >= 0 && Number(bytes_in) === 0 && Number(bytes_out) > 0);
            assert.deepEqual(rest, { event: 'request', method, route, http_status: `${status}`, client: '127.0.0.1', ...(key === KEY && { key: MARK }), request_id: `req_${i}` });
        }
        assert.ok(!daemon.log.includes('/health'));
        await ask(daemon, { model: 'm', input: 'Hi' }, as(KEY, { 'x-request-id': 'req_turn' }));
        await line(daemon, 'turn', 'req_turn');
        assert.ok(!/ request .*req_turn/.test(daemon.log), 'a turn has a line of its own');
    });

    test('that are refused all the time fill no log', async (t) => {
        const { daemon } = await pair(t, '--api-key', KEY);
        const N = 300;
        for (let i = 0; i < N; i += 30)
            await Promise.all(Array.from({ length: 30 }, () => get(daemon, '/v1/models', as('wrong'))));
        await until(() => linesOf(daemon.log, 'request').length === N, 'a line of each');
        const told = linesOf(daemon.log, 'rejected');
        assert.ok(told.length >= 1 && told.length < N, `${told.length} lines`);
        assert.ok(told.every(({ reason }) => reason === 'key'));
        await pause(1100); /* a second has to pass before more is told */
        await get(daemon, '/v1/models', as('wrong', { 'x-request-id': 'req_later' }));
        await line(daemon, 'rejected', 'req_later');
        const all = linesOf(daemon.log, 'rejected');
        assert.equal(all.length + all.reduce((sum, { left_out = 0 }) => sum + Number(left_out), 0), N + 1);
    });
});

describe('the audit', () => {
    async function talk(daemon) {
        const made = (await ask(daemon, { model: 'm', input: 'Hi' }, as(KEY))).json;
        await open(daemon, undefined, { method: 'DELETE', path: `/v1/responses/${made.id}`, ...as(KEY) }).done;
        const conversation = (await ask(daemon, {}, { path: '/v1/conversations', ...as(KEY) })).json;
        await get(daemon, `/v1/conversations/${conversation.id}`, as(KEY));
        await get(daemon, '/v1/models', as(KEY));
        await get(daemon, '/v1/models', as('wrong'));
        await get(daemon, '/health');
        return [
            ['response.create', 'completed', made.id], ['response.delete', 'ok', made.id], ['conversation.create', 'ok', undefined],
            ['conversation.get', 'ok', conversation.id], ['key.accepted', 'ok', undefined], ['key.refused', 'refused', undefined],
        ];
    }

    test('has a file of its own', async (t) => {
        const path = folder(t, 'audit.log');
        const { up, daemon } = await pair(t, '--api-key', KEY, '--audit', path);
        up.always(textStream('yes'));
        const expected = await talk(daemon);
        await until(() => linesOf(readFileSync(path, 'utf8'), 'audit').length >= expected.length, 'all lines');
        const place = ({ what }) => expected.findIndex(([word]) => word === what); /* workers write side by side */
        const lines = linesOf(readFileSync(path, 'utf8'), 'audit').sort((a, b) => place(a) - place(b));
        assert.deepEqual(lines.map(({ what, outcome, id }) => [what, outcome, id]), expected);
        assert.deepEqual(lines.map(({ key }) => key), [...Array(5).fill(MARK), undefined]);
        assert.deepEqual([lines[0].model, lines[0].input_tokens, lines[0].output_tokens], ['m', '9', '1']);
        assert.equal(linesOf(daemon.log, 'audit').length, 0);
        assert.equal(statSync(path).mode & 0o137, 0, 'nobody else may read or write it');
    });

    test('is there at every level', async (t) => {
        const { up, daemon } = await quietPair(t, '--api-key', KEY, '--audit', 'on', '--log-level', 'error');
        up.always(textStream('yes'));
        const expected = await talk(daemon);
        await until(() => linesOf(daemon.log, 'audit').length === expected.length, 'all lines');
        assert.equal(linesOf(daemon.log, 'turn').length, 0);
    });
});

describe('files', () => {
    test('are opened again on SIGUSR1, and one that cannot be stays', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        up.always(textStream('yes'));
        const dir = folder(t);
        const [path, moved, socket] = ['log', 'log.1', 'gateway.sock'].map((name) => join(dir, name));
        const daemon = launchDaemon({ upstream: up.url, exact: true, args: ['--listen', `unix:${socket}`, '--log-file', path] });
        t.after(() => daemon.stop());
        const content = (of) => {
            try {
                return readFileSync(of, 'utf8');
            } catch {
                return '';
            }
        };
        await until(() => / ready$/m.test(content(path)), 'it is ready');
        for (const word of ['starting', 'listening', 'ready'])
            assert.match(content(path), new RegExp(` info ${word}`));
        assert.equal(statSync(path).mode & 0o777, 0o640 & ~process.umask());
        assert.equal(daemon.log, '', 'standard error is silent');
        renameSync(path, moved);
        daemon.child.kill('SIGUSR1');
        await until(() => existsNow(path), 'a new file');
        unlinkSync(path);
        mkdirSync(path);
        daemon.child.kill('SIGUSR1');
        await daemon.logged(/ error .*log: cannot be opened for the log: .*; the old one stays open/);
        assert.ok(!/cannot be opened/.test(content(moved)));
    });

    test('that cannot be opened end the start', async () => {
        for (const flag of ['--log-file', '--audit']) {
            const daemon = launchDaemon({ args: [flag, '/nowhere/at/all'] });
            assert.equal((await daemon.exited).code, 1);
            assert.match(daemon.log, /error \/nowhere\/at\/all: cannot be opened for the log: No such file or directory/);
        }
    });
});

const existsNow = (path) => {
    try {
        return statSync(path).isFile();
    } catch {
        return false;
    }
};

test('every line of the JSON form is an object, those of children included', async (t) => {
    const config = folder(t, 'mcp.json');
    writeServers(config, { odd: { command: 'sh', args: ['-c', 'echo "plain words, { not json" >&2; exit 1'] } });
    const daemon = await startDaemon({ args: ['--log-format', 'json', '--log-level', 'debug', '--mcp-config', config] });
    await daemon.logged(/plain words/);
    await get(daemon, '/health');
    await daemon.stop();
    const lines = daemon.log.slice(0, -1).split('\n').map((text) => JSON.parse(text));
    for (const { time, level, event, message } of lines) {
        assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        assert.ok(['error', 'warn', 'info', 'debug'].includes(level));
        assert.equal(typeof (event ?? message), 'string');
    }
    const events = lines.map(({ event }) => event);
    for (const word of ['starting', 'listening', 'ready', 'stopped'])
        assert.ok(events.includes(word), word);
    assert.ok(lines.some(({ text }) => text === 'plain words, { not json'));
});

/* Wherever a request, an answer or the configuration may have something that is nobody's business. */
describe('nothing secret is logged', () => {
    for (const [level, format] of [['debug', 'text'], ['debug', 'json'], ['info', 'json'], ['warn', 'text'], ['error', 'text']]) {
        test(`level ${level}, ${format}`, async (t) => {
            const audit = folder(t, 'audit.log');
            const key = 'SECRET-client-key-0123456789';
            const { up, daemon } = await quietPair(t, '--api-key', key, '--upstream-key', 'SECRET-upstream-key', '--log-level', level, '--log-format', format, '--audit', audit);
            const secret = {
                model: 'm', input: [{ role: 'user', content: 'SECRET-input' }, { type: 'function_call', call_id: 'SECRET-call', name: 'f', arguments: '{"SECRET":1}' }, { type: 'function_call_output', call_id: 'SECRET-call', output: 'SECRET-result' }],
                instructions: 'SECRET-instructions', metadata: { k: 'SECRET-metadata' }, user: 'SECRET-user', safety_identifier: 'SECRET-safety', prompt_cache_key: 'SECRET-cache',
                messages: [{ role: 'user', content: 'SECRET-chat' }], tools: [{ type: 'function', name: 'f', description: 'SECRET-description', parameters: { type: 'object' } }],
            };
            const headers = { authorization: `Bearer ${key}`, cookie: 'SECRET-cookie', 'user-agent': 'SECRET-agent', 'idempotency-key': 'SECRET-idempotency', 'session-id': 'SECRET-session' };
            up.always(textStream('SECRET-output', { reasoning: 'SECRET-thought' }));
            up.next(textStream('SECRET-output'), callStream(['f', { SECRET: 'argument' }, 'c1']), failure(500, 'no luck with SECRET-upstream-key'), failure(401, 'SECRET-upstream-key is wrong'),
                stream(['data: {"SECRET-broken\n\n', ...frames(chunk({ content: 'SECRET-output' }))]));
            for (let i = 0; i < 6; i++)
                await ask(daemon, { ...secret, stream: i % 2 === 1 }, { headers: { ...headers, 'idempotency-key': `SECRET-idempotency-${i}` } });
            for (const [body, path] of [['{"SECRET-syntax": ', '/v1/responses'], [{ ...secret, temperature: 'SECRET-value' }, '/v1/responses'], [secret, '/v1/responses?key=SECRET-query'], [secret, '/v1/chat/completions?SECRET-query'],
                [secret, '/v1/responses/input_tokens'], [secret, '/v1/conversations'], [{ name: 'SECRET-name' }, '/v1/containers'], [{ ...secret, tools: [{ type: 'mcp', server_label: 's', server_url: 'https://user:SECRET-url@example.invalid/?SECRET-query', authorization: 'SECRET-mcp' }] }, '/v1/responses']])
                await ask(daemon, body, { headers: { ...headers, 'idempotency-key': `SECRET-${path}` }, path });
            await get(daemon, '/v1/models', as('SECRET-wrong-key'));
            await get(daemon, '/v1/models?SECRET-query', { headers });
            const gone = open(daemon, { ...secret, stream: true }, { headers: { ...headers, 'idempotency-key': 'SECRET-gone' } });
            await gone.head;
            gone.destroy();
            await get(daemon, '/v1/models', { headers: { ...headers, 'x-request-id': 'the-last' } });
            await until(() => readFileSync(audit, 'utf8').includes('the-last'), 'the last line');
            await daemon.stop();
            for (const text of [daemon.log, readFileSync(audit, 'utf8')])
                assert.ok(!text.includes('SECRET'), text.match(/.*SECRET.*/)?.[0]);
            assert.ok(level !== 'debug' || linesOf(daemon.log, 'turn').length >= 8, 'it has said something');
        });
    }
});
