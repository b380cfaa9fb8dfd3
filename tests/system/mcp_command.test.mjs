/* mcp_command.test.mjs -- `antiphon mcp list`, `tools` and `call`. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import test, { describe } from 'node:test';
import { get } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { gateway, writeServers } from '../lib/mcp.mjs';
import { TOOLS, failed, rpcError, startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';

class Command {
    stdout = '';
    stderr = '';

    constructor(t, args, { env = {}, input, stdout = 'pipe' } = {}) {
        this.child = spawn(BINARY, ['mcp', ...args],
            { env: { ...ENVIRONMENT, ...env }, stdio: [input === undefined ? 'ignore' : 'pipe', stdout, 'pipe'], timeout: patience(30_000), killSignal: 'SIGKILL' });
        t.after(() => this.child.kill('SIGKILL'));
        this.child.stdin?.end(input);
        this.child.stdout?.setEncoding('utf8').on('data', (piece) => (this.stdout += piece));
        this.child.stderr.setEncoding('utf8').on('data', (piece) => (this.stderr += piece));
        this.done = once(this.child, 'close').then(([status]) => Object.assign(this, { status }));
    }
}

const run = (t, args, options) => new Command(t, args, options).done;

/* It works and says nothing beside what was asked for; a busy machine may hold its loop. */
async function fine(t, args, options) {
    const { status, stdout, stderr } = await run(t, args, options);
    assert.equal(status, 0, stderr);
    assert.equal(stderr.replace(/^.* loop_held .*\n/gm, ''), '');
    return stdout;
}

async function refused(t, args, status, word, options) {
    const seen = await run(t, args, options);
    assert.equal(seen.status, status, seen.stderr);
    assert.equal(seen.stdout, '');
    assert.match(seen.stderr, word);
    return seen.stderr;
}

/* Scripted servers and entries, in a file of their own. */
async function file(t, servers) {
    const path = folder(t, 'mcp.json');
    for (const server of Object.values(servers))
        t.after(() => server.close?.());
    writeServers(path, servers);
    return path;
}

const one = async (t, options, more = {}) => {
    const fake = await startMcp(options);
    t.after(() => fake.close());
    return { fake, flags: ['--mcp-config', await file(t, { fake: { ...fake.entry, ...more } })] };
};

describe('list', () => {
    test('shows every server with its version and its number of tools', async (t) => {
        const path = await file(t, {
            zoo: await startMcp({ transport: 'stdio' }),
            web: await startMcp({ era: 'modern' }),
            old: await startMcp({ transport: 'sse', versions: ['2024-11-05'] }),
            off: { command: 'x', disabled: true },
        });
        const [head, ...rows] = (await fine(t, ['list', '--mcp-config', path])).trimEnd().split('\n');
        assert.match(head, /^LABEL +TRANSPORT +VERSION +STATE +TOOLS +ERROR$/);
        assert.deepEqual(rows.map((row) => row.split(/ {2,}/)), [
            ['zoo', 'stdio', '2025-11-25', 'ready', '4'],
            ['web', 'streamable_http', '2026-07-28', 'ready', '4'],
            ['old', 'sse', '2024-11-05', 'ready', '4'],
            ['off', 'stdio', 'disabled'],
        ]);
    });

    test('one that fails is shown with the reason, and is the exit status', async (t) => {
        const { fake } = await one(t);
        const path = await file(t, { fake: fake.entry, gone: { command: '/nowhere/server', required: true }, bad: { required: true } });
        const { status, stdout } = await run(t, ['list', '--mcp-config', path]);
        assert.equal(status, 1);
        assert.match(stdout, /^fake +streamable_http +2025-11-25 +ready +4$/m);
        assert.match(stdout, /^gone +stdio +\S.*\/nowhere\/server/m);
        assert.match(stdout, /^bad +stdio +off +needs a "command"/m);
    });

    test('--json is what the endpoint answers', async (t) => {
        const fake = await startMcp();
        const g = await gateway(t, { servers: { fake, off: { command: 'x', disabled: true } }, wait: false });
        await g.available('fake');
        const told = JSON.parse(await fine(t, ['list', '--json', '--mcp-config', g.file]));
        assert.deepEqual(told, (await get(g.daemon, '/v1/mcp/servers')).json);
    });

    test('no server at all is a table without rows', async (t) => {
        assert.match(await fine(t, ['list', '--mcp-config', await file(t, {})]), /^LABEL.*\n$/);
    });

    test('its processes end with it', async (t) => {
        const { fake, flags } = await one(t, { transport: 'stdio' });
        await fine(t, ['list', ...flags]);
        await fake.process.ended;
        assert.equal(fake.sessions.length, 1);
    });
});

describe('tools', () => {
    test('names them with the first line of what they say', async (t) => {
        const { flags } = await one(t, { tools: { a: { description: '\n First.\nSecond.\n', call: () => '' }, longer_name: { description: 'Rings \x07', call: () => '' } } });
        assert.equal(await fine(t, ['tools', 'fake', ...flags]), 'a            First.\nlonger_name  Rings\n');
    });

    test('--json is what the endpoint answers', async (t) => {
        const fake = await startMcp();
        const g = await gateway(t, { servers: { fake } });
        const told = JSON.parse(await fine(t, ['tools', 'fake', '--json', '--mcp-config', g.file]));
        assert.deepEqual(told, (await get(g.daemon, '/v1/mcp/servers/fake/tools')).json);
    });

    test('a server can be named by its URL, with headers', async (t) => {
        const { fake } = await one(t);
        const out = await fine(t, ['tools', '--url', fake.entry.url, '--header', 'X-One: 1', '--header=Authorization: Bearer ${TOKEN}'], { env: { TOKEN: 'sesame-1' } });
        assert.match(out, /^echo +Says it again$/m);
        for (const { headers } of fake.exchanges)
            assert.deepEqual([headers['x-one'], headers.authorization], ['1', 'Bearer sesame-1']);
    });

    test('those of a server that cannot be had are an error', async (t) => {
        const path = await file(t, { gone: { command: '/nowhere/server' }, bad: {}, off: { command: 'x', disabled: true } });
        await refused(t, ['tools', 'gone', '--mcp-config', path], 1, /gone.*\/nowhere\/server/);
        await refused(t, ['tools', 'bad', '--mcp-config', path], 1, /bad: needs a "command"/);
        await refused(t, ['tools', 'off', '--mcp-config', path], 1, /off: is disabled/);
        await refused(t, ['tools', '--url', 'http://127.0.0.1:1/mcp'], 1, /command-line/);
    });
});

test('control characters of a server do not reach the terminal', async (t) => {
    const escapes = 'a\u001b[1m\u009b1m\u007f\nb';
    const { fake, flags } = await one(t, { tools: { [escapes]: () => failed(escapes) } });
    assert.equal(await fine(t, ['tools', 'fake', ...flags]), 'a [1m 1m  b\n');
    assert.equal(await refused(t, ['call', 'fake', escapes, ...flags], 1, /antiphon/), 'antiphon: a [1m 1m \nb\n');
    fake.on('initialize', () => {
        throw rpcError(-32000, escapes);
    });
    const seen = await refused(t, ['tools', 'fake', ...flags], 1, /a \[1m 1m \nb/);
    assert.ok(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.test(seen), JSON.stringify(seen));
});

describe('call', () => {
    for (const transport of ['http', 'sse', 'stdio'])
        test(`prints the text of the result (${transport})`, async (t) => {
            const { fake, flags } = await one(t, { transport });
            assert.equal(await fine(t, ['call', 'fake', 'echo', '{"message": "hi"}', ...flags]), 'Echo: hi\n');
            assert.deepEqual(fake.calls.map(({ name, arguments: args }) => [name, args]), [['echo', { message: 'hi' }]]);
        });

    test('flags may stand before the words', async (t) => {
        const { fake, flags } = await one(t);
        assert.equal(await fine(t, ['call', '--url', fake.entry.url, 'add', '{"a": 1, "b": 2}']), '3\n');
        assert.equal(await fine(t, ['call', ...flags, '--log-level=error', 'fake', 'add', '{"a": 3, "b": 4}']), '7\n');
    });

    test('the arguments may come from standard input, or be none', async (t) => {
        const { fake, flags } = await one(t, { tools: { tool: (args) => JSON.stringify(args) } });
        assert.equal(await fine(t, ['call', 'fake', 'tool', '-', ...flags], { input: ' {"a": [1]}\n' }), '{"a":[1]}\n');
        assert.equal(await fine(t, ['call', 'fake', 'tool', ...flags]), '{}\n');
        assert.equal(fake.calls.length, 2);
    });

    test('a tool that fails is exit status 1 with its words on standard error', async (t) => {
        const { flags } = await one(t, { tools: { ...TOOLS, broken: () => { throw rpcError(-32603, 'It broke'); } } });
        await refused(t, ['call', 'fake', 'fail', ...flags], 1, /^antiphon: It did not work\.$/m);
        await refused(t, ['call', 'fake', 'broken', ...flags], 1, /It broke \(-32603\)/);
    });

    test('a tool that is not there, or not for clients, is not called', async (t) => {
        const { fake, flags } = await one(t, {}, { excludeTools: ['add'] });
        await refused(t, ['call', 'fake', 'ech', ...flags], 1, /no tool "ech"/);
        await refused(t, ['call', 'fake', 'add', ...flags], 1, /no tool "add"/);
        assert.equal(fake.calls.length, 0);
    });

    test('a call that takes too long is cancelled', async (t) => {
        const { fake, flags } = await one(t, {}, { callTimeoutMs: 100 });
        await refused(t, ['call', 'fake', 'hang', ...flags], 1, /timed out/);
        await fake.until(() => fake.cancelled.includes(fake.calls[0].id));
    });

    test('Ctrl-C cancels the call at the server', async (t) => {
        const { fake, flags } = await one(t, { transport: 'stdio' });
        const command = new Command(t, ['call', 'fake', 'hang', ...flags]);
        await fake.called();
        command.child.kill('SIGINT');
        assert.equal((await command.done).status, 130);
        assert.equal(command.stdout, '');
        assert.deepEqual(fake.cancelled, [fake.calls[0].id]);
        await fake.process.ended;
    });

    test('what cannot be printed is a failure', async (t) => {
        const { flags } = await one(t);
        const full = openSync('/dev/full', 'w');
        const { status, stderr } = await run(t, ['call', 'fake', 'echo', '{"message": "hi"}', ...flags], { stdout: full });
        closeSync(full);
        assert.equal(status, 1);
        assert.match(stderr, /cannot write/);
    });

    test('a server that repeats its token does not have it printed', async (t) => {
        const { fake } = await one(t, { tools: { tell: (args, { headers }) => { throw rpcError(-32000, `no: ${headers.authorization}`); } } });
        const told = await refused(t, ['call', '--url', fake.entry.url, '--header', 'Authorization: Bearer sesame-2', 'tell'], 1, /no: /);
        assert.doesNotMatch(told, /sesame/);
    });
});

describe('mistakes', () => {
    for (const [what, args, word] of [
        ['no word', [], /list, tools or call/],
        ['an unknown word', ['dance'], /list, tools or call/],
        ['no servers', ['list'], /--mcp-config.*--url/],
        ['a label that is missing', ['tools'], /usage: antiphon mcp tools LABEL/],
        ['a tool that is missing', ['call', 'fake'], /usage: antiphon mcp call LABEL/],
        ['too many words', ['call', 'a', 'b', '{}', 'c'], /usage: antiphon mcp call/],
        ['arguments that are no object', ['call', 'a', 'b', '[1]'], /arguments .*JSON object/],
        ['a header without a URL', ['list', '--header', 'A: b'], /--header goes with --url/],
        ['a header without a colon', ['list', '--url', 'http://h', '--header', 'A'], /--header needs/],
        ['a URL that is none', ['list', '--url', 'h'], /--url: .*must begin with http/],
        ['an unknown flag', ['list', '--no-such-flag'], /no-such-flag/],
        ['a flag of another word', ['call', 'a', 'b', '--json'], /--json/],
        ['a check', ['list', '--check-config'], /antiphon serve/],
        ['a file that is not there', ['list', '--mcp-config', '/nowhere.json'], /nowhere\.json: cannot be opened/],
    ])
        test(`${what} is refused with what would be right`, (t) => refused(t, args, 2, word));

    test('a label that is not in the file is told with the one that is meant', async (t) => {
        const path = await file(t, { documents: { command: 'x' } });
        await refused(t, ['tools', 'docments', '--mcp-config', path], 2, /no MCP server "docments"; did you mean documents\?/);
    });

    test('help names every word and ends well', async (t) => {
        for (const args of [['--help'], ['call', '--help']]) {
            const help = await fine(t, args);
            for (const word of ['mcp list', 'mcp tools', 'mcp call', '--url', '--header'])
                assert.ok(help.includes(word), word);
        }
    });
});
