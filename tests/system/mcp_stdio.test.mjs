/* mcp_stdio.test.mjs -- MCP servers that are processes: what they get, what they
 * may do wrong, and what is left of them. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { Captures } from '../lib/check.mjs';
import { folder } from '../lib/folder.mjs';
import { declared, gateway, pause, shown } from '../lib/mcp.mjs';
import { HANG, LOST, TOOLS, rpcError, startMcp, text } from '../lib/mcp_server.mjs';
import { patience } from '../lib/patience.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const FAKE = { tools: [declared('fake')] };
const echo = (message, id = 'c1') => [shown('fake', 'echo'), { message }, id];

/* A gateway in front of one process, of which `entry` says more. */
async function started(t, { entry = {}, args = [], ...options } = {}) {
    const fake = await startMcp({ transport: 'stdio', entry, ...options });
    const g = await gateway(t, { servers: { fake }, args, captures });
    return { g, fake };
}

/* One call in a response of its own; gives its item. */
async function called(g, call, then = 'Done.') {
    g.up.next(callStream(call), textStream(then));
    const { output: [item] } = await g.respond(FAKE);
    return item;
}

/* Ask again until the answer is true. */
async function until(met, what, ms = 10_000) {
    for (const deadline = performance.now() + patience(ms); !(await met()); await pause(20))
        assert.ok(performance.now() < deadline, `${what} within ${ms} ms`);
}

const isAlive = (pid) => existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

test('a call: the handshake, the list, and then the tool', async (t) => {
    const { g, fake } = await started(t);
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    const methods = fake.received.map(({ method }) => method);
    assert.deepEqual(methods, ['initialize', 'notifications/initialized', 'tools/list', 'tools/call']);
    const [{ params: hello }] = fake.received;
    assert.deepEqual([hello.protocolVersion, hello.capabilities], ['2025-11-25', {}]);
    assert.ok(hello.clientInfo.name && hello.clientInfo.version);
    const ids = fake.received.map(({ id }) => id).filter((id) => id !== undefined);
    assert.equal(new Set(ids).size, ids.length, 'ids are never used again');
    assert.deepEqual((await g.servers()).fake, { server_label: 'fake', enabled: true, available: true, required: false, transport: 'stdio' });
});

for (const [offered, works] of [['2025-06-18', true], ['2025-03-26', true], ['2024-11-05', true], ['1999-01-01', false]]) {
    test(`a server that knows ${offered} alone ${works ? 'works' : 'fails, and both versions are named'}`, async (t) => {
        const fake = await startMcp({ transport: 'stdio', versions: [offered] });
        const g = await gateway(t, { servers: { fake }, wait: works, captures });
        if (works)
            return void assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
        const { fake: { error } } = await g.untilServers((servers) => servers.fake.error);
        assert.match(error, /1999-01-01/);
        assert.match(error, /2025-11-25/);
    });
}

test('a server that only knows 2026-07-28 is asked to discover itself, on the same pipe', async (t) => {
    const { g, fake } = await started(t, { era: 'modern' });
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    assert.deepEqual(fake.received.map(({ method }) => method).filter((method) => method !== 'subscriptions/listen'),
        ['initialize', 'server/discover', 'tools/list', 'tools/call']);
    assert.equal(fake.sessions.length, 1);
    const { _meta } = fake.calls[0].params;
    assert.equal(_meta['io.modelcontextprotocol/protocolVersion'], '2026-07-28');
    assert.deepEqual(_meta['io.modelcontextprotocol/clientCapabilities'], {});
});

/* [what, bytes before the answer, bytes behind it] */
for (const [what, before, after] of [
    ['lines that are no JSON', 'Server starting...\n{"half":\n', ''],
    ['JSON that is no JSON-RPC', '42\n{"a":1}\n[]\n"x"\nnull\n', ''],
    ['blank lines and CRLF', '\n\r\n \n', '\r'],
    ['an answer to a request that nobody made', '{"jsonrpc":"2.0","id":987654,"result":{}}\n{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}\n', ''],
    ['notifications of every kind', '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n{"jsonrpc":"2.0","method":"notifications/x"}\n', ''],
]) {
    test(`on stdout: ${what} do no harm`, async (t) => {
        const { g, fake } = await started(t);
        fake.on('tools/call', (_, { id, way }) => {
            way.session.write(`${before}${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [text('fine')] } })}${after}\n`);
            return HANG;
        });
        assert.equal((await called(g, echo('hi'))).output, 'fine');
        assert.equal(fake.sessions.length, 1, 'the same process');
    });
}

test('on stdout: bytes that are no text do no harm', async (t) => {
    const { g, fake } = await started(t);
    fake.process.say({ bytes: Buffer.from([0xff, 0xfe, 0, 0xc3, 10]).toString('base64') });
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
});

test('answers may come in one array, as peers of 2025-03-26 send them', async (t) => {
    const { g, fake } = await started(t, { versions: ['2025-03-26'] });
    const ids = [];
    fake.on('tools/call', (_, { id, way }) => {
        if (ids.push(id) === 2)
            way.session.write(`${JSON.stringify(ids.map((one) => ({ jsonrpc: '2.0', id: one, result: { content: [text(`for ${ids.indexOf(one)}`)] } })))}\n`);
        return HANG;
    });
    g.up.next(callStream(echo('a', 'c1'), echo('b', 'c2')), textStream('Done.'));
    const { output: items } = await g.respond(FAKE);
    assert.deepEqual(items.slice(0, 2).map((item) => item.output), ['for 0', 'for 1']);
});

test('stderr goes to the log with the label, and its lines are no errors', async (t) => {
    const { g, fake } = await started(t);
    fake.process.say({ err: 'ready to serve\n' });
    await g.daemon.logged(/fake.*ready to serve|ready to serve.*fake/);
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
});

test('a server that has crashed is started by the first request that names it, which waits', async (t) => {
    const { g, fake } = await started(t);
    fake.process.say({ exit: 3 });
    await g.daemon.logged(/mcp_lost server=fake state=backoff/);
    const { fake: { available } } = await g.servers();
    assert.equal(available, false, 'it waits for its next start');
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    assert.equal(fake.sessions.length, 2);
});

test('a call to a server that has crashed since it was offered waits for the next start', async (t) => {
    const { g, fake } = await started(t, { tools: { ...TOOLS, crash: () => LOST } });
    g.up.next(callStream([shown('fake', 'crash'), {}, 'c1']), callStream(echo('hi', 'c2')), textStream('Done.'));
    const { output } = await g.respond(FAKE);
    assert.deepEqual(output.slice(0, 2).map(({ status }) => status), ['failed', 'completed']);
    assert.equal(output[1].output, 'Echo: hi');
    assert.deepEqual(fake.calls.map(({ name }) => name), ['crash', 'echo'], 'what has failed is not repeated');
});

test('a line longer than maxMessageBytes: calls fail and the process is started again', async (t) => {
    const { g, fake } = await started(t, { entry: { maxMessageBytes: 65_536 } });
    const first = fake.process;
    fake.on('tools/call', (_, { way }) => (way.session.write(`${'x'.repeat(100_000)}\n`), HANG));
    assert.equal((await called(g, echo('hi'))).status, 'failed');
    await first.ended;
    fake.reset();
    await g.available('fake');
    await fake.until(() => fake.sessions.length === 2 && fake.of('tools/list').length > 0);
    await until(async () => (await g.servers()).fake.available, 'the server is back');
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
});

test('a result of 8 MiB is cut to what a model can read, and the next call works', async (t) => {
    const { g } = await started(t, { entry: { maxMessageBytes: 16 * 1024 * 1024 }, tools: { ...TOOLS, big: () => 'x'.repeat(8 * 1024 * 1024) } });
    const item = await called(g, [shown('fake', 'big'), {}, 'c1']);
    assert.equal(item.status, 'completed');
    assert.ok(item.output.length > 200 * 1024 && item.output.length < 257 * 1024);
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
});

test('a process that dies in a call: the call fails and is not repeated, the next one works', async (t) => {
    const { g, fake } = await started(t, { tools: { ...TOOLS, crash: () => LOST } });
    const item = await called(g, [shown('fake', 'crash'), {}, 'c1']);
    assert.deepEqual([item.status, item.error, item.output], ['failed', 'MCP server fake closed the connection', null]);
    assert.equal(g.messages.at(-1).content, 'Error: MCP server fake closed the connection');
    await fake.until(() => fake.sessions.length === 2);
    await until(async () => (await g.servers()).fake.available, 'the server is back');
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    assert.deepEqual(fake.calls.map(({ name }) => name), ['crash', 'echo']);
});

test('a process that is killed between calls is started again', async (t) => {
    const { g, fake } = await started(t);
    process.kill(fake.process.hello.pid, 'SIGKILL');
    await fake.until(() => fake.sessions.length === 2);
    await until(async () => (await g.servers()).fake.available, 'the server is back');
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
});

test('processes that end at once leave no zombies', async (t) => {
    const fake = { command: '/bin/sh', args: ['-c', 'exit 7'] };
    const g = await gateway(t, { servers: { fake }, wait: false, captures });
    const { fake: { available, error } } = await g.untilServers((servers) => servers.fake.error);
    assert.equal(available, false);
    assert.match(error, /7/, 'the exit status is named');
    const children = () => readFileSync(`/proc/${g.daemon.child.pid}/task/${g.daemon.child.pid}/children`, 'utf8').trim();
    await until(() => children() === '', 'nothing runs in its backoff');
});

test('a command that does not exist is told, and the daemon works without it', async (t) => {
    const g = await gateway(t, { servers: { gone: { command: '/no/such/program' } }, wait: false, captures });
    const { gone } = await g.untilServers((servers) => servers.gone.error);
    assert.match(gone.error, /no\/such\/program|No such file|not found/i);
    await g.respond();
    const got = await g.post('responses', { model: 'm', input: 'Hi', tools: [declared('gone')] });
    assert.deepEqual([got.status, got.json.error.code], [424, 'mcp_list_tools_failed'], got.text);
});

test('the environment: a few variables, those of the entry, and no secrets of the gateway', async (t) => {
    const fake = await startMcp({ transport: 'stdio', entry: { env: { MY_KEY: 'mine', LANG: 'xx' }, inheritEnv: ['PASSED_ON'] } });
    const g = await gateway(t, {
        servers: { fake }, captures,
        env: { ANTIPHON_UPSTREAM_KEY: 'sk-secret', OPENAI_API_KEY: 'sk-other', PASSED_ON: 'yes', NOT_PASSED: 'no', TERM: 'dumb', SHELL: '() { :; }' },
    });
    await fake.until(() => fake.process.hello);
    const { env } = fake.process.hello;
    assert.deepEqual([env.MY_KEY, env.LANG, env.PASSED_ON, env.TERM], ['mine', 'xx', 'yes', 'dumb']);
    const allowed = /^(HOME|LOGNAME|PATH|TERM|USER|LANG|LC_ALL|TZ|TMPDIR|MY_KEY|PASSED_ON)$/;
    assert.deepEqual(Object.keys(env).filter((name) => !allowed.test(name)), []);
    assert.ok(!JSON.stringify(env).includes('sk-'));
    await g.respond();
});

test('the process has descriptors 0, 1 and 2, no blocked signals, its own group, its folder', async (t) => {
    const seen = folder(t, 'seen');
    const fake = await startMcp({ transport: 'stdio' });
    const { command, args } = fake.entry;
    const script = `{ ls /proc/$$/fd; cat /proc/self/status /proc/$$/stat; pwd; } >'${seen}'; exec '${command}' '${args.join("' '")}'`;
    Object.assign(fake.entry, { command: '/bin/sh', args: ['-c', script], cwd: '/usr' });
    await gateway(t, { servers: { fake }, captures });
    const lines = readFileSync(seen, 'utf8').split('\n');
    const descriptors = lines.slice(0, lines.findIndex((line) => line.startsWith('Name:')));
    /* The shell keeps what it redirected at 10 and above. */
    assert.deepEqual(descriptors.filter((fd) => Number(fd) < 10), ['0', '1', '2']);
    const status = Object.fromEntries(lines.filter((line) => line.includes(':\t')).map((line) => line.split(':\t')));
    const pipe = 1n << 12n;
    assert.deepEqual([BigInt(`0x${status.SigBlk}`), BigInt(`0x${status.SigIgn}`) & pipe], [0n, 0n]);
    const [pid, , , , group, session] = lines.find((line) => /^\d+ \(/.test(line)).split(' ');
    assert.deepEqual([group, session], [pid, pid]);
    assert.ok(lines.includes('/usr'));
});

test('arguments reach the process as they are; no shell is between', async (t) => {
    const { fake } = await started(t, { args: [] });
    const odd = ['$HOME', '`id`', 'a b', '*', '', '"', '\\'];
    fake.entry.args.push(...odd);
    const g = await gateway(t, { servers: { fake }, captures });
    await fake.until(() => fake.process.hello?.argv.length > 0);
    assert.deepEqual(fake.process.hello.argv, odd);
    await g.respond();
});

test('the end of the gateway closes stdin, and the process may leave by itself', async (t) => {
    const { g, fake } = await started(t);
    const { process: child } = fake;
    await g.close();
    await child.ended;
    assert.equal(child.end, true);
});

for (const [what, launcher] of [['a process', false], ['a launcher and what it started', true]]) {
    test(`${what} deaf to the end of stdin and to SIGTERM: nothing is left`, async (t) => {
        const fake = await startMcp({ transport: 'stdio' });
        if (launcher) {
            const { command, args } = fake.entry;
            Object.assign(fake.entry, { command: '/bin/sh', args: ['-c', `'${command}' '${args.join("' '")}'; true`] });
        }
        const g = await gateway(t, { servers: { fake }, captures });
        const { process: child } = fake;
        child.say({ deaf: true });
        child.say({ spawn: 'grandchild' });
        await fake.until(() => child.grandchild);
        const pids = [child.hello.pid, child.grandchild, ...(launcher ? [child.hello.ppid] : [])];
        assert.deepEqual(pids.map(isAlive), pids.map(() => true));
        await g.close();
        await until(() => !pids.some(isAlive), 'all are gone', 5000);
    });
}

for (const launcher of [false, true]) {
    test(`a gateway that is killed takes ${launcher ? 'a deaf launcher and what it started' : 'a deaf process'} with it`, async (t) => {
        const fake = await startMcp({ transport: 'stdio' });
        if (launcher) {
            const { command, args } = fake.entry;
            Object.assign(fake.entry, { command: '/bin/sh', args: ['-c', `'${command}' '${args.join("' '")}'; true`] });
        }
        const g = await gateway(t, { servers: { fake }, captures });
        const { process: child } = fake;
        child.say({ deaf: true });
        child.say({ spawn: 'grandchild' });
        await fake.until(() => child.grandchild);
        const pids = [child.hello.pid, child.grandchild, ...(launcher ? [child.hello.ppid] : [])];
        t.after(() => pids.filter(isAlive).forEach((pid) => process.kill(pid, 'SIGKILL')));
        g.close = async () => {};
        g.daemon.child.kill('SIGKILL');
        await until(() => !pids.some(isAlive), 'all are gone', 10_000);
    });
}

test('requests of the server with ids equal to ours: ping is answered, all else refused', async (t) => {
    const { g, fake } = await started(t);
    const answers = () => fake.received.filter(({ message }) => message.method === undefined);
    fake.on('tools/call', async (_, { id, way }) => {
        const ask = (method) => way.send({ jsonrpc: '2.0', id, method, params: {} });
        ask('ping');
        ask('roots/list');
        ask('sampling/createMessage');
        ask('elicitation/create');
        await fake.until(() => answers().length === 4);
    });
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    const [pong, ...refused] = answers().map(({ message }) => message);
    assert.deepEqual(pong.result, {});
    assert.deepEqual(refused.map(({ error }) => error.code), [-32601, -32601, -32601]);
});

test('progress keeps a call alive beyond its limit, and the hard limit still ends it', async (t) => {
    const slow = async ({ steps }, call) => {
        for (let i = 1; i <= steps && !call.cancelled; i++) {
            await pause(200); /* its pace: 15 steps are longer than callTimeoutMs */
            call.progress(i, steps);
        }
        return 'arrived';
    };
    const { g, fake } = await started(t, { tools: { slow }, entry: { callTimeoutMs: 1500, maxCallMs: 6000 } });
    assert.equal((await called(g, [shown('fake', 'slow'), { steps: 15 }, 'c1'])).output, 'arrived');
    const item = await called(g, [shown('fake', 'slow'), { steps: 60 }, 'c2']);
    assert.match(item.error, /^tool slow timed out after/);
    const [, second] = fake.calls;
    await fake.until(() => second.cancelled);
    assert.deepEqual(fake.cancelled, [second.id]);
    assert.notEqual(fake.calls[0].meta.progressToken, second.meta.progressToken, 'a token of its own');
});

test('endless progress ends at ten times the limit of the entry, if it says no more', async (t) => {
    const endless = async (_, call) => {
        for (let i = 1; !call.cancelled; i++) {
            await pause(50); /* its pace, within callTimeoutMs */
            call.progress(i);
        }
    };
    const { g, fake } = await started(t, { tools: { endless }, entry: { callTimeoutMs: 400 } });
    const item = await called(g, [shown('fake', 'endless'), {}, 'c1']);
    assert.equal(item.error, 'tool endless timed out after 4 s');
    await fake.until(() => fake.calls[0].cancelled);
});

test('a call that is too late: one cancellation; its progress and answer later are ignored', async (t) => {
    let answer;
    const late = (_, call) => new Promise((done) => (answer = () => (call.progress(1), done('too late'))));
    const { g, fake } = await started(t, { tools: { ...TOOLS, late }, entry: { callTimeoutMs: 300 } });
    const item = await called(g, [shown('fake', 'late'), {}, 'c1']);
    assert.match(item.error, /^tool late timed out after/);
    await fake.until(() => fake.calls[0].cancelled);
    answer();
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    assert.deepEqual(fake.cancelled, [fake.calls[0].id]);
});

test('a hung server does not hold up another', async (t) => {
    const [hung, fast] = [await startMcp({ transport: 'stdio' }), await startMcp({ transport: 'stdio' })];
    const g = await gateway(t, { servers: { hung, fake: fast }, captures });
    g.up.next(callStream([shown('hung', 'hang'), {}, 'h1']));
    const waiting = g.stream({ tools: [declared('hung')] });
    await hung.called();
    for (let i = 0; i < 5; i++)
        assert.equal((await called(g, echo(`${i}`))).output, `Echo: ${i}`);
    assert.equal(hung.calls[0].cancelled, false);
    g.up.next(textStream('Lost.'));
    hung.process.say({ exit: 0 });
    assert.equal((await waiting).items[0].status, 'failed');
});

test('four pages of tools; a cursor that comes twice stops the listing', async (t) => {
    const tools = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`tool_${i}`, () => 'x']));
    const { g, fake } = await started(t, { tools, pages: 4 });
    assert.deepEqual((await g.tools('fake')).map(({ name }) => name), Object.keys(tools));
    assert.deepEqual(fake.of('tools/list').map(({ params }) => params?.cursor), [undefined, 'page-1', 'page-2', 'page-3']);
    const looping = await startMcp({ transport: 'stdio' });
    looping.on('tools/list', () => ({ tools: [], nextCursor: 'again' }));
    const other = await gateway(t, { servers: { looping }, wait: false, captures });
    await other.untilServers((servers) => servers.looping.error);
    assert.ok(looping.of('tools/list').length <= 8, `${looping.of('tools/list').length} requests`);
});

test('an empty cursor is a cursor; an error on one starts again from the first page, once', async (t) => {
    const fake = await startMcp({ transport: 'stdio' });
    let refusals = 1;
    fake.on('tools/list', ({ cursor }) => {
        if (cursor === undefined)
            return { tools: [fake.listed[0]], nextCursor: '' };
        if (refusals-- > 0)
            throw rpcError(-32602, 'Invalid cursor');
        return { tools: [fake.listed[1]], nextCursor: null };
    });
    const g = await gateway(t, { servers: { fake }, captures });
    assert.deepEqual((await g.tools('fake')).map(({ name }) => name), ['add', 'echo']);
    assert.deepEqual(fake.of('tools/list').map(({ params }) => params?.cursor), [undefined, '', undefined, '']);
});

test('tools that changed are there for the next request, and not for the running one', async (t) => {
    const grow = async (_, { session }) => {
        fake.tools = { ...fake.tools, grown: () => 'new' };
        fake.tell(session, 'notifications/tools/list_changed');
        return 'grown';
    };
    const { g, fake } = await started(t, { tools: { ...TOOLS, grow } });
    g.up.next(callStream([shown('fake', 'grow'), {}, 'c1']), async () => {
        await g.untilTools('fake', (names) => names.includes('grown'));
        return textStream('Done.');
    }, textStream('Again.'));
    await g.respond(FAKE);
    const [first, second] = g.up.requests.map(({ body }) => body.tools.length);
    assert.equal(second, first);
    await g.respond(FAKE);
    assert.equal(g.up.requests[2].body.tools.length, first + 1);
});

test('a listing that fails later keeps the tools; a process that is gone takes them along', async (t) => {
    const { g, fake } = await started(t);
    fake.on('tools/list', () => {
        throw rpcError(-32603, 'Not now');
    });
    const before = fake.of('tools/list').length;
    fake.changeTools();
    await fake.until(() => fake.of('tools/list').length > before);
    assert.equal((await called(g, echo('hi'))).output, 'Echo: hi');
    process.kill(fake.process.hello.pid, 'SIGKILL');
    await g.untilServers((servers) => !servers.fake.available);
    await g.refused('POST', 'responses', { model: 'm', input: 'Hi', ...FAKE }, [424, 'mcp_list_tools_failed']);
});

test('a server without the tools capability is available and has none', async (t) => {
    const { g, fake } = await started(t, { capabilities: {} });
    assert.deepEqual(await g.tools('fake'), []);
    assert.equal(fake.of('tools/list').length, 0);
});

test('a new file: who has not changed keeps its process, who has gets a new one, who is gone ends', async (t) => {
    const servers = {};
    for (const label of ['same', 'other', 'gone'])
        servers[label] = await startMcp({ transport: 'stdio' });
    const g = await gateway(t, { servers, captures });
    let open;
    servers.other.tools = { ...TOOLS, wait: () => new Promise((done) => (open = () => done('waited'))) };
    servers.other.changeTools();
    await g.untilTools('other', (names) => names.includes('wait'));
    g.up.next(callStream([shown('other', 'wait'), {}, 'c1']), textStream('Done.'));
    const running = g.respond({ tools: [declared('other')] });
    await servers.other.called();
    g.reload({ same: servers.same, other: { ...servers.other.entry, env: { NEW: '1' } } });
    await servers.other.until(() => servers.other.sessions.length === 2);
    await g.untilServers((now) => now.gone === undefined && now.other.available);
    open();
    assert.equal((await running).output[0].output, 'waited', 'a running call finishes');
    await servers.gone.process.ended;
    await servers.other.sessions[0].ended;
    assert.equal(servers.same.sessions.length, 1);
});

captures.judge(test);
