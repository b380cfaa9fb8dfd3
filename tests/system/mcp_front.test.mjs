/* mcp_front.test.mjs -- MCP servers as the operator meets them: their file at start,
 * on SIGHUP and in --check-config, and what /v1/mcp/servers says about them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import test, { describe } from 'node:test';
import { get } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { gateway, writeServers } from '../lib/mcp.mjs';
import { HANG, TOOLS, startMcp } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';

/* A scripted server that goes with the test. */
async function scripted(t, options) {
    const server = await startMcp(options);
    t.after(() => server.close());
    return server;
}

/* Ends by itself: { status, text } with both outputs in text. The test's own servers answer
 * meanwhile. */
async function serve(t, args, env = {}) {
    const child = spawn(BINARY, ['serve', '--listen', '127.0.0.1:0', '--store', 'memory', ...args],
        { env: { ...ENVIRONMENT, ...env }, timeout: patience(20_000), killSignal: 'SIGKILL' });
    t.after(() => child.kill('SIGKILL'));
    let text = '';
    for (const output of [child.stdout, child.stderr])
        output.setEncoding('utf8').on('data', (piece) => (text += piece));
    const [status] = await once(child, 'close');
    return { status, text };
}

const check = (t, args, env) => serve(t, ['--check-config', ...args], env);

function file(t, servers) {
    const path = folder(t, 'mcp.json');
    writeServers(path, servers);
    return path;
}

const read = async (daemon, path, options) => {
    const { status, json, headers } = await get(daemon, path, options);
    return { status, json, headers };
};

/* ---- what there is ---- */

describe('the endpoints', () => {
    test('servers are listed by label, whatever became of them', async (t) => {
        const g = await gateway(t, {
            servers: {
                zoo: await startMcp({ transport: 'stdio' }),
                web: await startMcp(),
                old: await startMcp({ transport: 'sse' }),
                off: { command: 'nothing', disabled: true },
                bad: { args: ['x'] },
                gone: { command: '/nowhere/server' },
            },
            wait: false,
        });
        const servers = await g.untilServers(({ zoo, web, old, gone }) => zoo.available && web.available && old.available && gone.error);
        const { json } = await read(g.daemon, '/v1/mcp/servers');
        assert.equal(json.object, 'list');
        assert.deepEqual(json.data.map(({ server_label }) => server_label), ['bad', 'gone', 'off', 'old', 'web', 'zoo']);
        const { bad, gone, ...others } = servers;
        const fine = (server_label, transport) => ({ server_label, enabled: true, available: true, required: false, transport });
        assert.deepEqual(others, {
            off: { ...fine('off', 'stdio'), enabled: false, available: false },
            old: fine('old', 'sse'),
            web: fine('web', 'streamable_http'),
            zoo: fine('zoo', 'stdio'),
        });
        assert.match(bad.error, /needs a "command" to start, or a "url"/);
        assert.match(gone.error, /\/nowhere\/server/);
        assert.deepEqual([bad.available, gone.available], [false, false]);
    });

    test('tools are listed by name, those that clients may use, with their schemas', async (t) => {
        const web = await startMcp();
        const g = await gateway(t, { servers: { web: { ...web.entry, excludeTools: ['hang', 'fail'] } } });
        t.after(() => web.close());
        const { json } = await read(g.daemon, '/v1/mcp/servers/web/tools');
        assert.deepEqual(json, {
            server_label: 'web',
            available: true,
            tools: ['add', 'echo'].map((name) => ({ name, description: TOOLS[name].description, input_schema: TOOLS[name].inputSchema })),
        });
    });

    test('an unknown label is 404, a server that is not there 409, one that is not ready 503', async (t) => {
        const slow = (await scripted(t)).on('tools/list', () => HANG);
        const g = await gateway(t, { servers: { slow, off: { command: 'x', disabled: true }, bad: {} }, wait: false });
        await slow.until(() => slow.of('tools/list').length > 0);
        for (const [label, status, type, code, message] of [
            ['nobody', 404, 'invalid_request_error', 'not_found', /'nobody'/],
            ['off', 409, 'invalid_request_error', 'mcp_server_unavailable', /'off' is disabled/],
            ['bad', 409, 'invalid_request_error', 'mcp_server_unavailable', /needs a "command"/],
            ['slow', 503, 'server_error', 'mcp_server_unavailable', /'slow' is starting/],
        ]) {
            const got = await read(g.daemon, `/v1/mcp/servers/${label}/tools`);
            const { error } = got.json;
            assert.deepEqual([got.status, error.type, error.code, error.param], [status, type, code, null], label);
            assert.match(error.message, message);
            assert.equal(got.headers['retry-after'] !== undefined, status === 503);
        }
    });

    test('a label may be a word that ids cannot be', async (t) => {
        const g = await gateway(t, { servers: { compact: await startMcp() } });
        assert.equal((await read(g.daemon, '/v1/mcp/servers/compact/tools')).status, 200);
    });

    test('without MCP servers there are none', async (t) => {
        const daemon = await startDaemon();
        t.after(() => daemon.stop());
        assert.deepEqual((await read(daemon, '/v1/mcp/servers')).json, { object: 'list', data: [] });
        assert.equal((await read(daemon, '/v1/mcp/servers/any/tools')).status, 404);
    });

    test('with MCP switched off nothing is missing', async (t) => {
        const daemon = await startDaemon({ args: ['--mcp-remote', 'off'] });
        t.after(() => daemon.stop());
        assert.deepEqual((await read(daemon, '/v1/mcp/servers')).json, { object: 'list', data: [] });
        assert.equal((await read(daemon, '/v1/mcp/servers/any/tools')).status, 404);
    });

    test('they ask for a key where other requests do, and know GET alone', async (t) => {
        const g = await gateway(t, { servers: {}, env: { ANTIPHON_API_KEY: 'sk-1' }, wait: false });
        for (const path of ['/v1/mcp/servers', '/v1/mcp/servers/any/tools']) {
            assert.equal((await read(g.daemon, path)).status, 401);
            const got = await read(g.daemon, path, { method: 'POST', headers: { authorization: 'Bearer sk-1' } });
            assert.deepEqual([got.status, got.headers.allow], [405, 'GET, HEAD, OPTIONS']);
        }
    });
});

/* ---- start and end ---- */

describe('at start', () => {
    test('a required server is waited for', async (t) => {
        const web = await startMcp();
        const order = [];
        web.on('tools/list', () => void order.push('listed'));
        const g = await gateway(t, { servers: { web: { ...web.entry, required: true } }, wait: false });
        t.after(() => web.close());
        order.push('listening');
        assert.deepEqual(order, ['listed', 'listening']);
        const { web: server } = await g.servers();
        assert.deepEqual([server.available, server.required], [true, true]);
    });

    test('a required server that fails is the end, and the reason is told', async (t) => {
        const path = file(t, { gone: { command: '/nowhere/server', required: true } });
        const { status, text } = await serve(t, ['--mcp-config', path]);
        assert.equal(status, 1);
        assert.match(text, /gone.*\/nowhere\/server/);
        assert.doesNotMatch(text, /listening/);
    });

    test('a required server whose entry has a mistake is a mistake of the configuration', async (t) => {
        const path = file(t, { bad: { required: true } });
        const { status, text } = await serve(t, ['--mcp-config', path]);
        assert.equal(status, 2);
        assert.match(text, /mcp\.json: line 1: MCP server "bad" is required: needs a "command"/);
    });

    test('a file that is not there is an error, unless only open-responses-server names it', async (t) => {
        const path = folder(t, 'missing.json');
        const { status, text } = await serve(t, ['--mcp-config', path]);
        assert.equal(status, 2);
        assert.match(text, /missing\.json: cannot be opened/);
        const daemon = await startDaemon({ env: { MCP_SERVERS_CONFIG_PATH: path } });
        t.after(() => daemon.stop());
        await daemon.logged(/missing\.json: there is no such file, so there are no MCP servers/);
        assert.deepEqual((await read(daemon, '/v1/mcp/servers')).json.data, []);
    });

    test('a gateway that ends takes its processes along', async (t) => {
        const zoo = await scripted(t, { transport: 'stdio' });
        const g = await gateway(t, { servers: { zoo: zoo.entry }, wait: false });
        await g.available('zoo');
        await g.daemon.stop();
        await zoo.process.ended;
    });

    test('a second signal does not wait for a process that is deaf', async (t) => {
        const zoo = await scripted(t, { transport: 'stdio' });
        const daemon = await startDaemon({ args: ['--mcp-config', file(t, { zoo })] });
        await zoo.until(() => zoo.of('tools/list').length > 0);
        zoo.process.say({ deaf: true, err: 'deaf now\n' });
        await daemon.logged(/deaf now/);
        daemon.child.kill('SIGTERM');
        await zoo.until(() => zoo.process.end); /* no worker is left: the hub ends its servers */
        daemon.child.kill('SIGTERM');
        assert.deepEqual(await daemon.exited, { code: null, signal: 'SIGTERM' });
    });
});

describe('--check-config', () => {
    const SERVERS = {
        files: { command: 'npx', args: ['-y', 'server', 'word-of-secret'], env: { TOKEN: 'value-of-secret' } },
        web: { url: 'https://me:pass-secret@example.com/mcp?key=query-secret', headers: { 'X-Key': 'header-secret' }, required: true },
        off: { url: 'http://h/sse', bearerToken: 'token-secret', disabled: true },
        bad: { comand: 'x' },
    };

    test('lists the servers and hides their secrets', async (t) => {
        const { status, text } = await check(t, ['--mcp-config', file(t, SERVERS)]);
        assert.equal(status, 0);
        const shown = text.match(/^\/\/ MCP servers\n((?:\/\/ {3}.*\n)+)/m)[1].split('\n').slice(0, -1);
        assert.deepEqual(shown, [
            '//   files: stdio, npx',
            '//   web: streamable_http, https://example.com/mcp, required',
            '//   off: sse, http://h/sse, disabled',
            '//   bad: stdio, off because of its mistake',
        ]);
        assert.doesNotMatch(text, /secret/);
    });

    test('names every mistake of the file, with its line', async (t) => {
        const path = folder(t, 'mcp.json');
        writeFileSync(path, '{"servers": {\n"a": {"comand": "x"},\n"b": {"command": "x", "cwd": "${UNSET}"},\n"c": {"url": "ftp://h", "required": true}}}');
        const { status, text } = await check(t, ['--mcp-config', path, '--max-body', 'huge']);
        assert.equal(status, 2);
        for (const pattern of [
            /--max-body/,
            /line 2: MCP server "a": unknown key "comand" has no effect; did you mean "command"\?/,
            /line 2: MCP server "a" is off: /,
            /line 3: MCP server "b" is off: cwd: \$\{UNSET\}/,
            /line 4: MCP server "c" is required: url: /,
        ])
            assert.match(text, pattern);
    });

    test('a file of secrets that others may read is worth a warning', async (t) => {
        const path = file(t, SERVERS);
        chmodSync(path, 0o644);
        assert.match((await check(t, ['--mcp-config', path])).text, /others may read it/);
    });
});

/* ---- SIGHUP ---- */

describe('SIGHUP', () => {
    test('unchanged servers go on, changed ones start anew, removed ones end, new ones start', async (t) => {
        const [same, changed, removed, added] = await Promise.all(['same', 'changed', 'removed', 'added'].map((name) => scripted(t, { transport: 'stdio', name })));
        const g = await gateway(t, { servers: { same: same.entry, changed: changed.entry, removed: removed.entry } });
        const before = changed.process;
        g.reload({ added: added.entry, changed: { ...changed.entry, env: { MORE: '1' } }, same: { ...same.entry, callTimeoutMs: 60_000 } });
        await removed.process.ended;
        await before.ended;
        const servers = await g.untilServers((now) => now.added?.available && now.changed?.available && !now.removed);
        assert.deepEqual(Object.keys(servers), ['added', 'changed', 'same']);
        assert.ok(servers.same.available);
        assert.deepEqual([same.sessions.length, changed.sessions.length, removed.sessions.length, added.sessions.length], [1, 2, 1, 1]);
        assert.equal(changed.process.hello.env.MORE, '1');
        await g.daemon.logged(/mcp_reload unchanged=1 changed=1 new=1 removed=1/);
    });

    test('a file or an entry with a mistake changes nothing, and the log says why', async (t) => {
        const same = await scripted(t, { transport: 'stdio' });
        const g = await gateway(t, { servers: { same: same.entry } });
        writeFileSync(g.file, '{"mcpServers": {"same": ');
        g.daemon.child.kill('SIGHUP');
        await g.daemon.logged(/mcp\.json: line 1, column \d+: /);
        await g.daemon.logged(/so the MCP servers stay as they are/);
        rmSync(g.file);
        g.daemon.child.kill('SIGHUP');
        await g.daemon.logged(/mcp\.json: cannot be opened/);
        g.reload({ same: { url: 'nonsense' } });
        await g.daemon.logged(/MCP server \\?"same\\?" is off: url: must begin with/);
        await g.daemon.logged(/mcp_reload unchanged=1 changed=0 new=0 removed=0/);
        assert.deepEqual((await g.servers()).same, { server_label: 'same', enabled: true, available: true, required: false, transport: 'stdio' });
        assert.equal(same.sessions.length, 1);
    });

    test('servers may come to an empty file', async (t) => {
        const web = await scripted(t);
        const g = await gateway(t, { servers: {} });
        g.reload({ web });
        await g.available('web');
    });
});
