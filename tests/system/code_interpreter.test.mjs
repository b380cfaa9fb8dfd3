/* code_interpreter.test.mjs -- code that the model writes, run by the gateway: items and events,
 * what the model is told, containers that last, failures. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { ask, get } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { flowOf, gateway, rawCall } from '../lib/mcp.mjs';
import { CODE, codeGateway, noSandbox, OUTPUTS, WITH_CODE } from '../lib/sandbox.mjs';
import { fn, textOf } from '../lib/state.mjs';
import { callStream, startUpstream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const run = (code, id = 'c1') => ['code_interpreter', { code }, id];
const told = (g) => g.messages.findLast(({ role }) => role === 'tool').content;
const codeIn = (items) => items.filter(({ type }) => type === 'code_interpreter_call');

/* One response in which the model runs code; gives its items and what the model was told. */
async function runs(g, code, more = {}) {
    g.up.next(callStream(run(code)), textStream('Done.'));
    const { response, events, items } = await g.stream({ ...OUTPUTS, ...more });
    return { response, events, items, call: codeIn(items)[0], told: told(g) };
}

describe('a call', { concurrency: false, skip: noSandbox }, () => {
    test('is announced, streamed, run and closed, and the model answers', async (t) => {
        const g = await codeGateway(t, { captures });
        const { events, call, told } = await runs(g, 'print("hello")\n6 * 7');
        assert.deepEqual(flowOf(events), [
            'created', 'in_progress',
            'output_item.added code_interpreter_call', 'code_interpreter_call.in_progress',
            'code_interpreter_call_code.delta', 'code_interpreter_call_code.done',
            'code_interpreter_call.interpreting', 'code_interpreter_call.completed',
            'output_item.done code_interpreter_call',
            'output_item.added message', 'content_part.added', 'output_text.delta', 'output_text.done', 'content_part.done', 'output_item.done message',
            'completed',
        ]);
        assert.deepEqual(call, {
            id: call.id, type: 'code_interpreter_call', status: 'completed', code: 'print("hello")\n6 * 7',
            container_id: call.container_id,
            outputs: [{ type: 'logs', logs: 'hello\n' }, { type: 'logs', logs: '42' }],
        });
        assert.match(call.id, /^ci_/);
        assert.match(call.container_id, /^cntr_/);
        assert.equal(told, 'hello\n42');
        const { tools } = g.up.requests[0].body;
        assert.deepEqual(tools.map(({ function: { name } }) => name), ['code_interpreter']);
        assert.deepEqual(Object.keys(tools[0].function.parameters.properties), ['code']);
        const deltas = events.filter(({ type }) => type === 'response.code_interpreter_call_code.delta');
        assert.ok(deltas.length > 1, 'the code comes as the model writes it');
        assert.equal(deltas.map(({ delta }) => delta).join(''), call.code);
    });

    test('shows its outputs only to who asks for them', async (t) => {
        const g = await codeGateway(t, { captures });
        const { call, told } = await runs(g, '1 + 1', WITH_CODE.tools && { include: [] });
        assert.equal(call.outputs, null);
        assert.equal(told, '2');
    });

    test('gives the same without a stream', async (t) => {
        const g = await codeGateway(t, { captures });
        g.up.next(callStream(run('print(1)')), textStream('Done.'));
        const { output } = await g.respond(OUTPUTS);
        assert.deepEqual(codeIn(output)[0].outputs, [{ type: 'logs', logs: '1\n' }]);
        assert.equal(textOf(output.at(-1)), 'Done.');
    });

    test('that raises is completed: the traceback is its output', async (t) => {
        const g = await codeGateway(t, { captures });
        const { call, told } = await runs(g, 'x = 1\nx / 0');
        assert.equal(call.status, 'completed');
        assert.match(call.outputs[0].logs, /ZeroDivisionError: division by zero/);
        assert.match(told, /ZeroDivisionError/);
    });

    test('that takes too long fails, and the response goes on', async (t) => {
        const g = await codeGateway(t, { captures, args: ['--code-timeout', '500ms'] });
        const { events, call, told, response } = await runs(g, 'while True: pass');
        assert.equal(call.status, 'failed');
        assert.ok(!flowOf(events).includes('code_interpreter_call.completed'));
        assert.match(told, /Error: .*(time|long)/i);
        assert.equal(response.status, 'completed');
    });

    test('whose sandbox dies fails, and the next one begins anew', async (t) => {
        const g = await codeGateway(t, { captures });
        const died = await runs(g, 'import os, signal\nx = 1\nos.kill(os.getpid(), signal.SIGKILL)');
        assert.equal(died.call.status, 'failed');
        assert.match(died.told, /^Error: /);
        const next = await runs(g, '"x" in globals()');
        assert.equal(next.told, 'False');
    });

    test('that writes an image hands it over', async (t) => {
        const g = await codeGateway(t, { captures });
        const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
        const { call, told } = await runs(g, `import base64\nopen("plot.png", "wb").write(base64.b64decode("${png}"))\nNone`);
        assert.deepEqual(call.outputs, [{ type: 'image', url: `data:image/png;base64,${png}` }]);
        assert.match(told, /\/mnt\/data\/plot\.png/);
    });

    test('beside a function of the client is run, and the function left to the client', async (t) => {
        const g = await codeGateway(t, { captures });
        g.up.next(callStream(run('2 ** 10'), ['lookup', {}, 'c2']));
        const { items } = await g.stream({ ...OUTPUTS, tools: [CODE, fn('lookup')] });
        assert.deepEqual(items.map(({ type, status }) => [type, status]), [['code_interpreter_call', 'completed'], ['function_call', 'completed']]);
        assert.equal(g.up.requests.length, 1);
    });

    test('with arguments that are no JSON is run as it stands', async (t) => {
        const g = await codeGateway(t, { captures });
        g.up.next(rawCall(['code_interpreter', 'print(5)']), textStream('Done.'));
        const { items } = await g.stream(OUTPUTS);
        assert.equal(codeIn(items)[0].code, 'print(5)');
        assert.equal(told(g), '5\n');
    });

    test('past max_tool_calls is not run', async (t) => {
        const g = await codeGateway(t, { captures });
        g.up.next(callStream(run('1')), callStream(run('2')), textStream('Done.'));
        const { items } = await g.stream({ ...OUTPUTS, max_tool_calls: 1 });
        assert.equal(codeIn(items).length, 1);
    });
});

describe('a container', { concurrency: false, skip: noSandbox }, () => {
    test('keeps variables and files over three turns', async (t) => {
        const g = await codeGateway(t, { captures });
        const first = await runs(g, 'x = 20\nopen("note.txt", "w").write("kept")');
        const second = await runs(g, 'x += 1', { previous_response_id: first.response.id });
        const third = await runs(g, 'print(x * 2, open("note.txt").read())', { previous_response_id: second.response.id });
        assert.equal(third.told, '42 kept\n');
        assert.equal(new Set([first, second, third].map(({ call }) => call.container_id)).size, 1);
        const messages = g.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
        assert.equal(messages.length, 3, 'the model sees what came of the earlier calls');
    });

    test('named by its id is used by whoever may', async (t) => {
        const g = await codeGateway(t, { captures });
        const first = await runs(g, 'y = 7');
        const again = await runs(g, 'y', { tools: [{ ...CODE, container: first.call.container_id }] });
        assert.equal(again.told, '7');
        await g.turnedAway({ tools: [{ ...CODE, container: 'cntr_unknown' }] }, [404, 'not_found', 'tools[0].container']);
    });

    test('cannot be promised another network than there is', async (t) => {
        const g = await codeGateway(t, { args: ['--code-network', 'public'] });
        const refused = [400, 'unsupported_parameter', 'tools[0].container.network_policy'];
        for (const type of ['disabled', 'allowlist'])
            await g.turnedAway({ tools: [{ ...CODE, container: { type: 'auto', network_policy: { type } } }] }, refused);
        await g.refused('POST', 'containers', { name: 'x', network_policy: { type: 'disabled' } }, [400, 'unsupported_parameter', 'network_policy']);
        const without = await codeGateway(t);
        await without.make('containers', { name: 'x', network_policy: { type: 'disabled' } });
    });

    test('of a new conversation is a new one', async (t) => {
        const g = await codeGateway(t, { captures });
        const first = await runs(g, 'z = 1');
        const second = await runs(g, '"z" in globals()');
        assert.equal(second.told, 'False');
        assert.notEqual(first.call.container_id, second.call.container_id);
    });

    test('that has expired is replaced, and cannot be named any more', async (t) => {
        const g = await codeGateway(t, { captures, args: ['--code-idle', '1s'] });
        const first = await runs(g, 'z = 1');
        await g.until(404, 'GET', `containers/${first.call.container_id}`);
        const second = await runs(g, '"z" in globals()', { previous_response_id: first.response.id });
        assert.equal(second.told, 'False');
        await g.turnedAway({ tools: [{ ...CODE, container: first.call.container_id }] }, [404, 'not_found', 'tools[0].container']);
    });

    test('is made, listed, used, read and deleted over HTTP', async (t) => {
        const g = await codeGateway(t);
        const made = await g.make('containers', { name: 'mine', expires_after: { anchor: 'last_active_at', minutes: 5 } });
        assert.deepEqual([made.object, made.name, made.status, made.expires_after], ['container', 'mine', 'running', { anchor: 'last_active_at', minutes: 5 }]);
        assert.deepEqual((await g.list('containers')).map(({ id }) => id), [made.id]);
        await runs(g, 'open("a.txt", "w").write("text of a")', { tools: [{ ...CODE, container: made.id }] });
        const [file] = await g.list(`containers/${made.id}/files`);
        assert.deepEqual([file.object, file.path, file.bytes, file.container_id], ['container.file', '/mnt/data/a.txt', 9, made.id]);
        assert.deepEqual(await g.read(`containers/${made.id}/files/${file.id}`), file);
        const content = await get(g.daemon, `/v1/containers/${made.id}/files/${file.id}/content`);
        assert.equal(content.text, 'text of a');
        assert.equal(content.headers['x-content-type-options'], 'nosniff');
        await g.refused('GET', `containers/${made.id}/files/cfile_unknown/content`, undefined, [404, 'not_found']);
        assert.deepEqual(await g.remove(`containers/${made.id}`), { id: made.id, object: 'container.deleted', deleted: true });
        for (const [method, path] of [['GET', ''], ['DELETE', ''], ['GET', '/files']])
            await g.refused(method, `containers/${made.id}${path}`, undefined, [404, 'not_found']);
    });

    test('is made only as it can be', async (t) => {
        const g = await codeGateway(t);
        for (const [more, ...error] of [
            [{ file_ids: ['file-1'] }, 'unsupported_parameter', 'file_ids'],
            [{ memory_limit: '5g' }, 'invalid_value', 'memory_limit'],
            [{ expires_after: { anchor: 'created_at', minutes: 5 } }, 'invalid_value', 'expires_after.anchor'],
            [{ expires_after: { anchor: 'last_active_at', minutes: 0 } }, 'invalid_value', 'expires_after.minutes'],
            [{ name: undefined }, 'missing_required_parameter', 'name'],
        ])
            await g.refused('POST', 'containers', { name: 'mine', ...more }, [400, ...error]);
        assert.deepEqual(await g.list('containers'), []);
        await g.make('containers', { name: 'mine', file_ids: [], memory_limit: '1g', expires_after: null });
    });

    test('is found by its name, page by page', async (t) => {
        const g = await codeGateway(t);
        const made = [];
        for (const name of ['a', 'b', 'a', 'b', 'a'])
            made.push((await g.make('containers', { name })).id);
        const ids = (pages) => pages.map((page) => page.map(({ id }) => id));
        assert.deepEqual(ids(await g.pages('containers?order=asc&limit=2&name=a')), [[made[0], made[2]], [made[4]]]);
        assert.deepEqual(ids(await g.pages('containers?limit=3')), [[made[4], made[3], made[2]], [made[1], made[0]]]);
        assert.deepEqual(await g.list('containers?name=c'), []);
    });

    test('is found by nobody but its owner', async (t) => {
        const g = await codeGateway(t, { args: ['--api-key', 'key-of-a,key-of-b'], wait: false });
        const as = (key) => ({ headers: { authorization: `Bearer ${key}` } });
        const made = (await ask(g.daemon, { name: 'a' }, { method: 'POST', path: '/v1/containers', ...as('key-of-a') })).json;
        const seen = await ask(g.daemon, undefined, { method: 'GET', path: `/v1/containers/${made.id}`, ...as('key-of-b') });
        assert.equal(seen.status, 404);
        const listed = await ask(g.daemon, undefined, { method: 'GET', path: '/v1/containers', ...as('key-of-b') });
        assert.deepEqual(listed.json.data, []);
        const used = await ask(g.daemon, { model: 'm', input: 'x', tools: [{ ...CODE, container: made.id }] }, { method: 'POST', path: '/v1/responses', ...as('key-of-b') });
        assert.equal(used.status, 404);
    });
});

describe('where there is no sandbox', { concurrency: false }, () => {
    const BROKEN = ['--code-python', '/nowhere/python'];

    test('the gateway starts, says why, and leaves the tool out', async (t) => {
        const g = await gateway(t, { captures, args: ['--code-interpreter', 'auto', ...BROKEN] });
        await g.daemon.logged(/the code interpreter is off: .*\/nowhere\/python/);
        const { code_interpreter: state } = (await get(g.daemon, '/health')).json;
        assert.equal(state.available, false);
        assert.match(state.reason, /\/nowhere\/python/);
        g.up.next(textStream('Hello.'));
        await g.respond(WITH_CODE);
        assert.ok(!('tools' in g.up.requests[0].body));
    });

    test('who insists on the tool is told why it is not there', async (t) => {
        const g = await gateway(t, { captures, args: ['--code-interpreter', 'auto', ...BROKEN] });
        const error = await g.turnedAway({ ...WITH_CODE, tool_choice: { type: 'code_interpreter' } }, [400, 'invalid_value', 'tool_choice']);
        assert.match(error.message, /\/nowhere\/python.*[^.]\.$/);
        await g.refused('GET', 'containers', undefined, [501, 'not_implemented']);
    });

    test('a gateway that is strict does not start when a promise cannot be kept, others say which', { skip: noSandbox }, async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const weak = (how) => startDaemon({ upstream: up.url, args: ['--code-interpreter', how, '--code-cgroup', 'off'] });
        await assert.rejects(weak('strict'), /code_interpreter is strict, but memory and processor of a sandbox .*\(off\): control groups help/);
        const daemon = await weak('auto');
        await daemon.logged(/ warn code_interpreter weakness="memory and processor of a sandbox .*control groups help/);
        await daemon.stop();
    });

    test('a gateway that requires it does not start', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        await assert.rejects(startDaemon({ upstream: up.url, args: ['--code-interpreter', 'require', ...BROKEN] }), /nowhere/);
    });
});

captures.judge(test);
