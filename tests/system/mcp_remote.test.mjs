/* mcp_remote.test.mjs -- servers that a request brings along: which URLs and
 * headers are taken, what is listed and shown, and where their secrets stay. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, readSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { ask, get } from '../lib/client.mjs';
import { folder } from '../lib/folder.mjs';
import { declared, flowOf, gateway, pause, sharedGateway, shown } from '../lib/mcp.mjs';
import { TOOLS, failed, http, rpcError, startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { callStream, failure, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const ANY = ['--mcp-remote', 'any'];
const TOKEN = 'tok-5f1c9e77a2b84d03';
const echo = (label, message = 'hi') => [shown(label, 'echo'), { message }, 'c1'];

/* A scripted server as a request declares it. */
const remote = (server, more = {}) => declared('far', { server_url: server.url, require_approval: 'never', ...more });

/* A daemon without configured servers; `far` is there to be declared. */
function setup(...args) {
    const g = sharedGateway({ before, beforeEach, after }, captures, async () => ({ servers: {}, args }));
    let far;
    before(async () => (far = await startMcp({ style: { get: 405 } })));
    beforeEach(() => far.reset());
    after(() => far.close());
    return { g, far: () => far };
}

describe('URLs', { concurrency: false }, () => {
    const { g } = setup();

    for (const url of [
        'http://mcp.example.com/mcp', 'ftp://mcp.example.com/', 'mcp.example.com/mcp', '//mcp.example.com/mcp', 'https:///mcp', 'https://', '',
        'https://127.0.0.1/mcp', 'https://8.8.8.8/mcp', 'https://2130706433/mcp', 'https://0x7f.1/mcp', 'https://0177.0.0.1/mcp', 'https://127.1/',
        'https://[::1]/mcp', 'https://[fe80::1%25eth0]/mcp', 'https://[::ffff:127.0.0.1]/', 'https://１２７.0.0.1/',
        'https://localhost/mcp', 'https://LOCALHOST./mcp', 'https://a.localhost/mcp', 'https://printer.local/', 'https://db.internal/', 'https://intranet/mcp',
        'https://user@mcp.example.com/', 'https://user:secret-word@mcp.example.com/', 'https://mcp.example.com/#part', 'https://mcp.example.com/a\nb', 'https://mcp.example.com/a b',
        `https://mcp.example.com/${'x'.repeat(2048 - 'https://mcp.example.com/'.length + 1)}`,
    ]) {
        test(`${JSON.stringify(url).slice(0, 60)} is turned away`, async () => {
            const { message } = await g.turnedAway({ tools: [declared('far', { server_url: url })] }, [400, 'invalid_value', 'tools[0].server_url']);
            assert.ok(!message.includes('secret-word'));
        });
    }

    test('none is taken when remote servers are off', async (t) => {
        const off = await gateway(t, { args: ['--mcp-remote', 'off'], captures });
        await off.turnedAway({ tools: [declared('far', { server_url: 'https://mcp.example.com/' })] }, [400]);
    });

    test('hosts that are denied or not allowed', async (t) => {
        const far = await startMcp({ style: { get: 405 } });
        t.after(() => far.close());
        const picky = await gateway(t, { args: [...ANY, '--mcp-remote-allow', '127.0.0.1,*.example.org', '--mcp-remote-deny', 'bad.example.org'], captures });
        for (const url of ['https://example.com/', 'https://bad.example.org/', 'https://example.org/'])
            await picky.turnedAway({ tools: [declared('far', { server_url: url })] }, [400, 'invalid_value', 'tools[0].server_url']);
        await picky.respond({ tools: [remote(far)] });
    });
});

describe('declarations', { concurrency: false }, () => {
    const { g, far } = setup(...ANY);

    /* [what, the tools, code, param] */
    for (const [what, toolsOf, code, param] of [
        ['without a label', (server) => [{ type: 'mcp', server_url: server.url }], 'missing_required_parameter', 'tools[0].server_label'],
        ['of an unknown label without a URL', () => [declared('nobody')], 'invalid_value', 'tools[0].server_label'],
        ['of one label twice', (server) => [remote(server), remote(server)], 'invalid_value'],
        ['of a label that is none', (server) => [remote(server, { server_label: 'a b' })], 'invalid_value', 'tools[0].server_label'],
        ['of a connector', () => [declared('far', { connector_id: 'connector_gmail' })], 'unsupported_parameter', 'tools[0].connector_id'],
        ['of a tunnel', () => [declared('far', { tunnel_id: 't' })], 'unsupported_parameter', 'tools[0].tunnel_id'],
        ['with headers and no URL', () => [declared('far', { headers: { a: 'b' } })], undefined],
        ['with authorization and no URL', () => [declared('far', { authorization: 'x' })], undefined],
        ['of a 17th server', (server) => Array.from({ length: 17 }, (_, i) => remote(server, { server_label: `s${i}` })), undefined],
        ['with an approval that is none', (server) => [remote(server, { require_approval: 'sometimes' })], 'invalid_value'],
        ['with allowed_tools of no tool', (server) => [remote(server, { allowed_tools: ['nothing'] })], undefined],
        ['for callers other than the model', (server) => [remote(server, { allowed_callers: ['code_interpreter'] })], undefined],
    ])
        test(`${what} are turned away`, () => g.turnedAway({ tools: toolsOf(far()) }, [400, code, param]));

    const many = (n, value = 'v') => Object.fromEntries(Array.from({ length: n }, (_, i) => [`X-${i}`, value]));
    for (const [what, more] of [
        ['a line end in a value', { headers: { 'X-A': `a\r\nX-B: ${TOKEN}` } }],
        ['a name that is none', { headers: { 'X A': 'b' } }],
        ['an empty name', { headers: { '': 'b' } }],
        ['a value beyond ASCII', { headers: { 'X-A': 'é' } }],
        ...['Host', 'Content-Type', 'content-length', 'Transfer-Encoding', 'Connection', 'Upgrade', 'TE', 'Trailer', 'Keep-Alive', 'Expect', 'Proxy-Authorization', 'Accept', 'Accept-Encoding', 'Mcp-Session-Id', 'MCP-Protocol-Version', 'Last-Event-ID']
            .map((name) => [name, { headers: { [name]: 'x' } }]),
        ['33 fields', { headers: many(33) }],
        ['more than 8 KiB', { headers: { 'X-A': 'v'.repeat(8200) } }],
        ['two spellings of Authorization', { headers: { Authorization: 'a', authorization: 'b' } }],
        ['authorization with a line end', { authorization: `${TOKEN}\r\nX: y` }],
    ]) {
        test(`headers with ${what} are turned away`, async () => {
            const { message } = await g.turnedAway({ tools: [remote(far(), more)] }, [400]);
            assert.ok(!message.includes(TOKEN));
            assert.equal(far().exchanges.filter(({ headers }) => headers['x-b']).length, 0);
        });
    }

    test('headers reach the server; authorization becomes Bearer and wins; the client\'s key does not', async () => {
        g.up.next(callStream(echo('far')), textStream('Done.'));
        const before = far().exchanges.length;
        const got = await g.post('responses', { model: 'm', input: 'Hi', tools: [remote(far(), { authorization: TOKEN, headers: { 'X-Own': 'mine', Authorization: 'Basic abc' } })] });
        assert.equal(got.status, 200, got.text);
        const sent = far().exchanges.slice(before);
        assert.ok(sent.length > 2);
        for (const { headers } of sent)
            assert.deepEqual([headers.authorization, headers['x-own'], headers.cookie], [`Bearer ${TOKEN}`, 'mine', undefined]);
    });
});

test('the key of a client is not for MCP servers', async (t) => {
    const far = await startMcp({ style: { get: 405 } });
    t.after(() => far.close());
    const g = await gateway(t, { args: ANY, captures });
    g.up.next(callStream(echo('far')), textStream('Done.'));
    const got = await ask(g.daemon, { model: 'm', input: 'Hi', tools: [remote(far)] }, { headers: { authorization: 'Bearer sk-client' } });
    assert.equal(got.status, 200, got.text);
    assert.equal(far.calls.length, 1);
    assert.ok(!JSON.stringify(far.exchanges.map(({ headers }) => headers)).includes('sk-client'));
});

describe('listing', { concurrency: false }, () => {
    const { g, far } = setup(...ANY);

    test('is an item of its own before all others, empty when announced', async () => {
        g.up.next(callStream(echo('far')), textStream('Done.'));
        const { events, items } = await g.stream({ tools: [remote(far())] });
        assert.deepEqual(flowOf(events).slice(0, 8), ['created', 'in_progress',
            'output_item.added mcp_list_tools', 'mcp_list_tools.in_progress', 'mcp_list_tools.completed', 'output_item.done mcp_list_tools',
            'output_item.added mcp_call', 'mcp_call.in_progress']);
        const [list, call] = items;
        assert.match(list.id, /^mcpl_/);
        assert.deepEqual([list.server_label, list.tools.map(({ name }) => name), 'error' in list], ['far', Object.keys(TOOLS), false]);
        const [first, second] = list.tools;
        assert.deepEqual([first.input_schema, first.description, first.annotations.readOnlyHint], [TOOLS.echo.inputSchema, TOOLS.echo.description, true]);
        assert.ok(Object.values(second).every((value) => value !== null));
        const added = events.find(({ type }) => type === 'response.output_item.added');
        assert.deepEqual(added.item, { ...list, tools: [] });
        assert.equal(call.output, 'Echo: hi');
    });

    test('is not repeated in a chain, nor when the request brings the item', async () => {
        const tools = [remote(far())];
        const first = await g.respond({ tools });
        const second = await g.respond({ tools, previous_response_id: first.id });
        assert.deepEqual([first.output, second.output].map((items) => items.map(({ type }) => type)), [['mcp_list_tools', 'message'], ['message']]);
        g.up.next(callStream(echo('far')), textStream('Done.'));
        const third = await g.respond({ tools, store: false, input: [...first.output, { role: 'user', content: 'More' }] });
        assert.deepEqual(third.output.map(({ type }) => type), ['mcp_call', 'message']);
        assert.deepEqual(g.messages.slice(0, 2).map(({ role }) => role), ['assistant', 'user'], 'the item adds no text');
    });

    test('allowed_tools narrows it, by names and by what only reads', async () => {
        for (const [allowed_tools, names] of [
            [['echo', 'nothing'], ['echo']],
            [{ tool_names: ['add', 'echo'] }, ['echo', 'add']],
            [{ read_only: true }, ['echo']],
            [{ tool_names: ['add', 'echo'], read_only: true }, ['echo']],
            [{ read_only: false }, ['add', 'fail', 'hang']],
        ]) {
            const { output: [list] } = await g.respond({ tools: [remote(far(), { allowed_tools })] });
            assert.deepEqual(list.tools.map(({ name }) => name), names, JSON.stringify(allowed_tools));
            assert.deepEqual(g.up.requests.at(-1).body.tools.map(({ function: { name } }) => name), names.map((name) => shown('far', name)));
        }
    });

    test('a tool that is not allowed is not run, whatever the model says', async () => {
        g.up.next(callStream(echo('far')), textStream('Done.'));
        await g.respond({ tools: [remote(far(), { allowed_tools: ['add'] })] });
        assert.equal(far().calls.length, 0);
    });

    test('server_description stands before the descriptions of the tools', async () => {
        await g.respond({ tools: [remote(far(), { server_description: 'Far away.' })] });
        assert.match(g.up.requests[0].body.tools[0].function.description, /^Far away\.[^]*Says it again$/);
    });

    test('calls need an approval unless the request says otherwise', async () => {
        g.up.next(callStream(echo('far')));
        const { output: items } = await g.respond({ tools: [declared('far', { server_url: far().url })] });
        assert.deepEqual(items.map(({ type }) => type), ['mcp_list_tools', 'mcp_approval_request']);
        assert.equal(far().calls.length, 0);
    });

    test('an approval brings the credentials again, and the call comes behind no second list', async () => {
        const tools = [declared('far', { server_url: far().url, authorization: TOKEN })];
        g.up.next(callStream(echo('far')));
        const first = await g.respond({ tools });
        const input = [{ type: 'mcp_approval_response', approval_request_id: first.output[1].id, approve: true }];
        const second = await g.respond({ tools, input, previous_response_id: first.id });
        assert.deepEqual(second.output.map(({ type }) => type), ['mcp_call', 'message']);
        assert.equal(far().calls[0].headers.authorization, `Bearer ${TOKEN}`);
    });

    test('the response echoes the tool without what is secret', async () => {
        const { tools: [echoed] } = await g.respond({ tools: [remote(far(), { server_url: `${far().url}?key=${TOKEN}`, authorization: TOKEN, headers: { 'X-Own': TOKEN }, server_description: 'Far.' })] });
        assert.deepEqual([echoed.type, echoed.server_label, echoed.server_url, echoed.server_description, echoed.require_approval], ['mcp', 'far', far().url, 'Far.', 'never']);
        assert.ok(!('authorization' in echoed) && !JSON.stringify(echoed).includes(TOKEN));
    });

    test('remote servers are in no list of servers', async () => {
        await g.respond({ tools: [remote(far())] });
        assert.deepEqual(await g.servers(), {});
    });
});

describe('a listing that fails', { concurrency: false }, () => {
    const { g, far } = setup(...ANY);

    for (const [what, broken] of [
        ['status 404', () => ({ server_url: far().url.replace('/mcp', '/nothing') })],
        ['nobody there', () => ({ server_url: 'http://127.0.0.1:1/mcp' })],
        ['an error of the list', () => (far().on('tools/list', () => {
            throw rpcError(-32603, 'No list');
        }), { headers: { 'X-Fresh': 'list' } })],
    ]) {
        test(`${what}: streamed, an item with the error, and the response fails`, async () => {
            const { events, items, response } = await g.stream({ tools: [remote(far(), broken())] });
            assert.deepEqual(flowOf(events), ['created', 'in_progress', 'output_item.added mcp_list_tools', 'mcp_list_tools.in_progress',
                'mcp_list_tools.failed', 'output_item.done mcp_list_tools', 'error', 'failed']);
            assert.deepEqual([items[0].tools, typeof items[0].error, response.error.code], [[], 'string', 'server_error']);
            assert.match(response.error.message, /far/);
            assert.ok(!items[0].error.includes('127.0.0.1'), items[0].error);
            assert.equal(g.up.requests.length, 0);
        });

        test(`${what}: whole, status 424`, async () => {
            await g.turnedAway({ tools: [remote(far(), broken())] }, [424, 'mcp_list_tools_failed']);
        });
    }

    test('a redirect is not followed', async () => {
        const target = await startMcp();
        far().style.onRequest = () => http(307, '', { location: target.url });
        await g.turnedAway({ tools: [remote(far(), { headers: { 'X-Fresh': 'r' } })] }, [424, 'mcp_list_tools_failed']);
        far().style.onRequest = undefined;
        assert.equal(target.exchanges.length, 0);
        await target.close();
    });

    test('works again as soon as the server does', async () => {
        const more = { headers: { 'X-Fresh': 'again' } };
        far().style.onRequest = () => http(503);
        await g.turnedAway({ tools: [remote(far(), more)] }, [424]);
        far().style.onRequest = undefined;
        const { output: [list] } = await g.respond({ tools: [remote(far(), more)] });
        assert.equal(list.tools.length, 4);
    });
});

describe('connections', { concurrency: false }, () => {
    const { g, far } = setup(...ANY);

    test('of one token are shared, and the list is known for a while', async () => {
        const tools = [remote(far(), { authorization: 'one' })];
        await g.respond({ tools });
        const seen = far().received.length;
        await Promise.all(Array.from({ length: 5 }, () => g.respond({ tools })));
        assert.equal(far().received.length, seen);
    });

    test('of two clients with one token are not', async (t) => {
        const own = await gateway(t, { args: [...ANY, '--api-key', 'key-of-anna', '--api-key', 'key-of-ben'], wait: false, captures });
        for (const key of ['key-of-anna', 'key-of-ben', 'key-of-anna']) {
            own.up.next(callStream(echo('far')), textStream('Done.'));
            const got = await ask(own.daemon, { model: 'm', input: 'Hi', tools: [remote(far(), { authorization: 'same' })] }, { headers: { authorization: `Bearer ${key}` } });
            assert.equal(got.status, 200, got.text);
        }
        const [first, second, third] = far().calls.map(({ headers }) => headers['mcp-session-id']);
        assert.ok(first !== undefined && first === third && first !== second, `${[first, second, third]}`);
    });

    test('of two tokens are not: sessions apart, lists never mixed', async () => {
        far().on('tools/list', (_, { headers }) => ({ tools: [{ name: `of_${headers.authorization.slice(7)}`, inputSchema: { type: 'object' } }] }));
        const names = await Promise.all(['alice', 'bob', 'alice', 'bob'].map(async (authorization) =>
            (await g.respond({ tools: [remote(far(), { authorization })] })).output[0].tools.map(({ name }) => name)));
        assert.deepEqual(names, [['of_alice'], ['of_bob'], ['of_alice'], ['of_bob']]);
        const sessions = new Map(far().exchanges.filter(({ headers }) => /alice|bob/.test(headers.authorization) && headers['mcp-session-id'])
            .map(({ headers }) => [headers['mcp-session-id'], headers.authorization]));
        assert.deepEqual([...sessions.values()].sort(), ['Bearer alice', 'Bearer bob']);
    });

    test('a label that is configured may stand for another server in one request', async (t) => {
        const near = await startMcp({ tools: { near: () => 'near' } });
        const own = await gateway(t, { servers: { far: near }, args: ANY, captures });
        own.up.next(callStream(echo('far')), textStream('Done.'));
        const { output: items } = await own.respond({ tools: [remote(far())] });
        assert.deepEqual(items.map(({ type }) => type), ['mcp_list_tools', 'mcp_call', 'message']);
        assert.deepEqual([items[1].output, near.calls.length], ['Echo: hi', 0]);
    });

    test('HTTP+SSE works as well', async (t) => {
        const old = await startMcp({ transport: 'sse' });
        t.after(() => old.close());
        g.up.next(callStream(echo('far')), textStream('Done.'));
        const { output: items } = await g.respond({ tools: [remote(old)] });
        assert.equal(items[1].output, 'Echo: hi');
    });
});

/* No map of ours is as large; those that checkers of memory keep are. */
const SHADOW = 2 ** 30;

/* How often the bytes are in the memory of the process; undefined when that cannot be read. */
function countInMemory(pid, bytes) {
    let n = 0, fd;
    try {
        fd = openSync(`/proc/${pid}/mem`, 'r');
    } catch {
        return undefined;
    }
    for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
        const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
        const size = parseInt(to, 16) - parseInt(from, 16);
        if (from === undefined || size > SHADOW)
            continue;
        const piece = Buffer.alloc(size);
        try {
            readSync(fd, piece, 0, piece.length, parseInt(from, 16));
        } catch {
            continue; /* the map is older than the memory */
        }
        for (let at = piece.indexOf(bytes); at !== -1; at = piece.indexOf(bytes, at + 1))
            n++;
    }
    closeSync(fd);
    return n;
}

test('requests with a token do not stay in memory', async (t) => {
    const far = await startMcp({ style: { get: 405 } });
    t.after(() => far.close());
    const g = await gateway(t, { args: [...ANY, '--mcp-remote-idle', '1ms'], captures });
    g.up.next(callStream(echo('far')), textStream('Done.'));
    await g.respond({ tools: [remote(far, { authorization: TOKEN })] });
    await far.until(() => far.exchanges.some(({ method }) => method === 'DELETE')); /* it is closed */
    const count = () => countInMemory(g.daemon.child.pid, `Authorization: Bearer ${TOKEN}\r\n`);
    if (count() === undefined) {
        t.skip('the memory of the daemon cannot be read');
        return;
    }
    for (const deadline = performance.now() + patience(10_000); count() > 0; await pause(50))
        assert.ok(performance.now() < deadline, `${count()} of them`);
});

test('secrets are found nowhere: not in the log, the store, answers or metrics, whatever failed', async (t) => {
    const dir = dirname(folder(t, 'x'));
    const secrets = ['tok-authorization-1', 'tok-header-2', 'tok-query-3', 'tok-entry-4', 'tok-env-5', 'tok-bearer-6'];
    const [authorization, header, query, entry, env, bearer] = secrets;
    /* Tools that tell what their server was told. */
    const indiscreet = (...known) => {
        const all = known.join(' ');
        return {
            ...TOOLS,
            leak: () => failed(`It is ${all}`),
            refuse: () => {
                throw rpcError(-32000, `Not with ${all}`);
            },
            broken: () => http(500, all),
            html: () => http(200, all, { 'content-type': 'text/html' }),
        };
    };
    const far = await startMcp({ tools: indiscreet(authorization, header, query), style: { get: 405 } });
    const near = await startMcp({ tools: indiscreet(entry, bearer) });
    const child = await startMcp({ tools: indiscreet(env), transport: 'stdio', entry: { env: { SECRET: env } } });
    t.after(() => far.close());
    Object.assign(near.entry, { headers: { 'X-Entry': entry }, bearerToken: bearer });
    const store = join(dir, 'store.db');
    const g = await gateway(t, { servers: { near, child }, args: [...ANY, '--store', `sqlite:${store}`, '--log-level', 'debug'], captures });

    const declaredFar = remote(far, { server_url: `${far.url}?key=${query}`, authorization, headers: { 'X-Own': header } });
    const answers = [];
    const tell = async (more) => {
        const got = await g.post('responses', { model: 'm', input: 'Hi', ...more });
        answers.push(got.text);
        return got;
    };
    for (const [label, declaration] of [['far', declaredFar], ['near', declared('near')], ['child', declared('child')]]) {
        for (const tool of ['leak', 'refuse', 'broken', 'html', 'echo']) {
            if (label === 'child' && ['broken', 'html'].includes(tool))
                continue; /* HTTP alone */
            for (const stream of [true, false]) {
                g.up.next(callStream([shown(label, tool), { message: 'x' }, 'c1']), textStream('Done.'));
                await tell({ tools: [declaration], stream });
            }
        }
    }
    child.process.say({ err: `my key is ${env}\n` });
    await tell({ tools: [declaredFar, { ...declaredFar }] });
    await tell({ tools: [{ ...declaredFar, headers: { 'X-Own': `${header}\n` } }] });
    await tell({ tools: [{ ...declaredFar, server_url: `https://u:${query}@x/` }] });
    far.style.onRequest = () => http(500, secrets.join(' '));
    for (const stream of [true, false])
        await tell({ tools: [{ ...declaredFar, headers: { 'X-Own': header, 'X-More': 'fresh' } }], stream });
    g.up.next(failure(500, 'broken'));
    await tell({ tools: [declared('near')] });
    answers.push((await get(g.daemon, '/metrics')).text, JSON.stringify(await g.servers()));
    await g.close();

    const found = (text) => secrets.filter((secret) => text.includes(secret));
    assert.deepEqual(found(g.daemon.log), [], 'the log');
    assert.deepEqual(answers.flatMap((text) => found(text).map((secret) => `${secret} in ${text.slice(-1500)}`)), [], 'answers');
    for (const file of readdirSync(dir)) /* the database and what belongs to it */
        assert.deepEqual(found(readFileSync(join(dir, file), 'latin1')), [], file);
    assert.ok(far.calls.length >= 10 && near.calls.length >= 10, 'they were called');
});

captures.judge(test);
