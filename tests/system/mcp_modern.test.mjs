/* mcp_modern.test.mjs -- servers of revision 2026-07-28 behind HTTP: arguments in
 * headers, requests for input, and the errors that are theirs alone. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { open } from '../lib/client.mjs';
import { declared, gateway, rawCall, sharedGateway, shown } from '../lib/mcp.mjs';
import { HANG, LOST, TOOLS, rpcError, startMcp } from '../lib/mcp_server.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const FAKE = { tools: [declared('fake')] };

const mirrored = (properties) => ({ inputSchema: { type: 'object', properties }, call: () => 'mirrored' });
const header = (type, name) => ({ type, 'x-mcp-header': name });

const MIRRORS = {
    ...TOOLS,
    regional: mirrored({ region: header('string', 'Region'), count: header('integer', 'Count'), dry: header('boolean', 'Dry'), query: { type: 'string' } }),
    'no token': mirrored({ a: header('string', 'not a token') }),
    empty: mirrored({ a: header('string', '') }),
    twice: mirrored({ a: header('string', 'Same'), b: header('string', 'same') }),
    number: mirrored({ a: header('number', 'A') }),
    inArray: mirrored({ a: { type: 'array', items: { type: 'object', properties: { b: header('string', 'B') } } } }),
    nested: mirrored({ a: { type: 'object', properties: { b: header('string', 'B') } } }),
};

describe('modern', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, captures,
        async () => ({ servers: { fake: await startMcp({ era: 'modern', tools: MIRRORS }) } }));
    const server = () => g.options.servers.fake;

    async function called(name, args) {
        g.up.next(typeof args === 'string' ? rawCall([shown('fake', name), args]) : callStream([shown('fake', name), args, 'c1']), textStream('Done.'));
        const { output: [item] } = await g.respond(FAKE);
        return item;
    }

    const base64 = (words) => `=?base64?${Buffer.from(words).toString('base64')}?=`;

    /* [what, arguments, headers they make; undefined: none] */
    for (const [what, args, headers] of [
        ['a plain text', { region: 'us-west1' }, { region: 'us-west1' }],
        ['a text with blanks inside', { region: 'us west' }, { region: 'us west' }],
        ['a text with a blank at its edge', { region: ' us' }, { region: base64(' us') }],
        ['a text that is not ASCII', { region: 'Köln' }, { region: base64('Köln') }],
        ['a text with a line end', { region: 'a\r\nX-Evil: 1' }, { region: base64('a\r\nX-Evil: 1') }],
        ['a text that looks like the marker', { region: '=?base64?YQ==?=' }, { region: base64('=?base64?YQ==?=') }],
        ['an empty text', { region: '' }, { region: '' }],
        ['an integer', { count: -42 }, { count: '-42' }],
        ['booleans', { dry: true }, { dry: 'true' }],
        ['null', { region: null, dry: false }, { region: undefined, dry: 'false' }],
        ['nothing', { query: 'q' }, { region: undefined, count: undefined, dry: undefined }],
    ]) {
        test(`mirrors ${what}`, async () => {
            server().style.strict = false; /* the table decides here */
            const item = await called('regional', args);
            server().style.strict = true;
            assert.equal(item.output, 'mirrored');
            const [{ headers: sent }] = server().calls;
            assert.deepEqual(Object.fromEntries(Object.keys(headers).map((name) => [name, sent[`mcp-param-${name}`]])), headers);
            assert.deepEqual(server().calls[0].arguments, args);
        });
    }

    test('drops tools whose annotation is not valid, and keeps the others', async () => {
        const names = (await g.tools('fake')).map(({ name }) => name);
        assert.deepEqual(names, [...Object.keys(TOOLS), 'nested', 'regional'].sort());
    });

    test('the model does not see the annotation, clients do', async () => {
        await called('echo', { message: 'x' });
        const { parameters } = g.up.requests[0].body.tools.find(({ function: { name } }) => name === shown('fake', 'regional')).function;
        assert.ok(!JSON.stringify(parameters).includes('x-mcp-header'));
        const listed = (await g.tools('fake')).find(({ name }) => name === 'regional');
        assert.deepEqual(listed.input_schema, MIRRORS.regional.inputSchema);
    });

    test('-32020: the tools are listed again, and the call is made once more', async () => {
        let refusals = 1;
        server().on('tools/call', () => {
            if (refusals-- > 0)
                throw rpcError(-32020, 'headers and body disagree');
        });
        assert.equal((await called('echo', { message: 'hi' })).output, 'Echo: hi');
        assert.deepEqual(server().received.map(({ method }) => method), ['tools/call', 'tools/list', 'tools/call']);
        const [first, , second] = server().received;
        assert.notEqual(first.id, second.id);
    });

    test('-32020 again: the call fails', async () => {
        server().on('tools/call', () => {
            throw rpcError(-32020, 'headers and body disagree');
        });
        const item = await called('echo', { message: 'hi' });
        assert.equal(item.error, 'headers and body disagree (-32020)');
        assert.equal(server().of('tools/call').length, 2);
    });

    test('-32021: the call fails', async () => {
        server().on('tools/call', () => {
            throw rpcError(-32021, 'elicitation is missing', { requiredCapabilities: { elicitation: {} } });
        });
        assert.equal((await called('echo', { message: 'hi' })).error, 'elicitation is missing (-32021)');
        assert.equal(server().of('tools/call').length, 1);
    });

    const elicit = (requestState) => ({
        resultType: 'input_required', requestState,
        inputRequests: { who: { method: 'elicitation/create', params: { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } } } },
    });

    test('input that is asked for is declined, and the state is echoed as it came', async () => {
        const state = '{"a": 1,  "é":"\\u00e9"}';
        server().on('tools/call', ({ inputResponses }) => (inputResponses === undefined ? elicit(state) : undefined));
        assert.equal((await called('echo', { message: 'hi' })).output, 'Echo: hi');
        const [first, second] = server().of('tools/call');
        assert.equal(second.params.requestState, state);
        assert.deepEqual(second.params.inputResponses, { who: { action: 'decline' } });
        assert.deepEqual([second.params.name, second.params.arguments], [first.params.name, first.params.arguments]);
        assert.notEqual(second.id, first.id);
    });

    test('no state given, none echoed; a call beside it has neither', async () => {
        server().on('tools/call', ({ arguments: { message }, inputResponses }) => (message === 'a' && inputResponses === undefined ? elicit(undefined) : undefined));
        g.up.next(callStream([shown('fake', 'echo'), { message: 'a' }, 'c1'], [shown('fake', 'echo'), { message: 'b' }, 'c2']), textStream('Done.'));
        const { output: items } = await g.respond(FAKE);
        assert.deepEqual(items.slice(0, 2).map((item) => item.output), ['Echo: a', 'Echo: b']);
        const extra = server().of('tools/call').map(({ params }) => [params.arguments.message, 'requestState' in params, 'inputResponses' in params]);
        assert.deepEqual(extra.sort(), [['a', false, false], ['a', false, true], ['b', false, false]]);
    });

    test('a state without requests for input: tried again at once', async () => {
        server().on('tools/call', ({ requestState }) => (requestState === undefined ? { resultType: 'input_required', requestState: 's' } : undefined));
        assert.equal((await called('echo', { message: 'hi' })).output, 'Echo: hi');
    });

    test('input asked for a fourth time fails the call', async () => {
        server().on('tools/call', () => elicit('s'));
        assert.equal((await called('echo', { message: 'hi' })).status, 'failed');
        assert.equal(server().of('tools/call').length, 4);
    });

    for (const method of ['sampling/createMessage', 'roots/list']) {
        test(`${method} as input fails the call`, async () => {
            server().on('tools/call', () => ({ resultType: 'input_required', inputRequests: { x: { method, params: {} } } }));
            assert.equal((await called('echo', { message: 'hi' })).status, 'failed');
            assert.equal(server().of('tools/call').length, 1);
        });
    }

    test('a result of an unknown type is an error of the protocol', async () => {
        server().on('tools/call', () => ({ resultType: 'hologram', content: [] }));
        assert.equal((await called('echo', { message: 'hi' })).status, 'failed');
    });

    test('a stream that breaks off loses the call, also behind an event with an id', async () => {
        server().style.priming = { retry: 1 };
        server().on('tools/call', (_, { way }) => (way.send({ jsonrpc: '2.0', method: 'notifications/x' }), LOST));
        const item = await called('echo', { message: 'hi' });
        server().style.priming = null;
        assert.equal(item.error, 'MCP server fake closed the connection');
        assert.ok(!server().exchanges.some(({ method }) => method === 'GET'));
    });

    test('a client that leaves closes the stream of the call', async () => {
        g.up.next(callStream([shown('fake', 'hang'), {}, 'c1']));
        const call = open(g.daemon, { model: 'm', input: 'Hi', stream: true, ...FAKE });
        const running = await server().called();
        call.destroy();
        await server().until(() => running.gone);
        assert.equal(server().of('notifications/cancelled').length, 0);
    });
});

test('a tool that wants a task is not offered', async (t) => {
    const fake = await startMcp({ tools: { ...TOOLS, task: { execution: { taskSupport: 'required' }, call: () => HANG } } });
    const g = await gateway(t, { servers: { fake }, captures });
    assert.ok(!(await g.tools('fake')).some(({ name }) => name === 'task'));
});

captures.judge(test);
