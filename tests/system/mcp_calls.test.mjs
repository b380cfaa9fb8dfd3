/* mcp_calls.test.mjs -- what a client sees of calls that the gateway runs on MCP
 * servers, and what the model is told of them. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkStream } from '../lib/check.mjs';
import { open } from '../lib/client.mjs';
import { declared, flowOf, rawCall, sharedGateway, shown, withoutIds } from '../lib/mcp.mjs';
import { LOST, TOOLS, failed, http, image, rpcError, startMcp, text } from '../lib/mcp_server.mjs';
import { assistant, fn, output, textOf, toolResult, user } from '../lib/state.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const FAKE = { tools: [declared('fake')] };

/* A gateway with one server called fake, for a group of tests. */
function setup(tools = TOOLS, { entry = {}, args = [] } = {}) {
    const both = sharedGateway({ before, beforeEach, after }, captures, async () => {
        const fake = await startMcp({ tools });
        Object.assign(fake.entry, entry);
        return { servers: { fake }, args };
    });
    return { g: both, server: () => both.options.servers.fake };
}

const echo = (message, id = 'c1') => [shown('fake', 'echo'), { message }, id];
const callsIn = (items) => items.filter(({ type }) => type === 'mcp_call');
const lastTool = (g) => g.messages.findLast(({ role }) => role === 'tool').content;

describe('a call', { concurrency: false }, () => {
    const { g, server } = setup();

    test('is announced, run and closed, and then the model answers', async () => {
        g.up.next(callStream(echo('hi')), textStream('It said hi.'));
        const { events, items, response } = await g.stream(FAKE);
        assert.deepEqual(flowOf(events), [
            'created', 'in_progress',
            'output_item.added mcp_call', 'mcp_call.in_progress', 'mcp_call_arguments.delta', 'mcp_call_arguments.done',
            'mcp_call.completed', 'output_item.done mcp_call',
            'output_item.added message', 'content_part.added', 'output_text.delta', 'output_text.done', 'content_part.done', 'output_item.done message',
            'completed',
        ]);
        const [call, message] = items;
        assert.deepEqual(call, {
            id: call.id, type: 'mcp_call', status: 'completed', server_label: 'fake', name: 'echo',
            arguments: '{"message":"hi"}', output: 'Echo: hi', error: null, approval_request_id: null,
        });
        assert.match(call.id, /^mcp_/);
        assert.equal(textOf(message), 'It said hi.');
        assert.deepEqual([response.usage.input_tokens, response.usage.output_tokens], [20 + 9, 5 + 3], 'usage of all rounds');
        assert.deepEqual(server().calls.map(({ name, arguments: args }) => [name, args]), [['echo', { message: 'hi' }]]);
    });

    test('is announced empty and in progress; its events have ids and nothing else', async () => {
        g.up.next(callStream(echo('hi')), textStream('Done.'));
        const { events, items } = await g.stream(FAKE);
        const { item } = events.find(({ type }) => type === 'response.output_item.added');
        assert.deepEqual(item, { ...items[0], status: 'in_progress', arguments: '', output: null });
        for (const type of ['in_progress', 'completed']) {
            const event = events.find((one) => one.type === `response.mcp_call.${type}`);
            assert.deepEqual(Object.keys(event), ['type', 'sequence_number', 'item_id', 'output_index']);
        }
        const done = events.find(({ type }) => type === 'response.mcp_call_arguments.done');
        assert.deepEqual(Object.keys(done), ['type', 'sequence_number', 'item_id', 'output_index', 'arguments']);
    });

    test('the model is shown the tools as functions, and the call with its result', async () => {
        g.up.next(callStream(echo('hi')), textStream('Done.'));
        await g.answer(FAKE);
        const { tools } = g.up.requests[0].body;
        assert.deepEqual(tools.map(({ function: { name } }) => name), Object.keys(TOOLS).map((name) => shown('fake', name)));
        assert.deepEqual(tools[0].function.parameters, TOOLS.echo.inputSchema);
        assert.equal(tools[0].function.description, TOOLS.echo.description);
        assert.ok(!('strict' in tools[0].function));
        const [asked, call, result] = g.messages;
        assert.deepEqual(asked, user('Hi'));
        assert.deepEqual(call.tool_calls[0].function, { name: shown('fake', 'echo'), arguments: '{"message":"hi"}' });
        assert.deepEqual(result, toolResult(call.tool_calls[0].id, 'Echo: hi'));
        assert.deepEqual(g.up.requests[1].body.tools, tools, 'the same tools in every round');
    });

    test('without streaming, the same items', async () => {
        g.up.next(callStream(echo('hi')), textStream('Done.'), callStream(echo('hi')), textStream('Done.'));
        const streamed = await g.stream(FAKE);
        const whole = await g.respond(FAKE);
        assert.deepEqual(withoutIds(whole.output), withoutIds(streamed.response.output));
        assert.deepEqual(whole.usage, streamed.response.usage);
    });

    test('three rounds are one response', async () => {
        g.up.next(callStream(echo('a')), callStream(echo('b')), callStream(echo('c')), textStream('Done.'));
        const { items } = await g.stream(FAKE);
        assert.deepEqual(callsIn(items).map((call) => call.output), ['Echo: a', 'Echo: b', 'Echo: c']);
        assert.deepEqual(g.messages.map(({ role }) => role), ['user', ...Array(3).fill(['assistant', 'tool']).flat()]);
    });

    test('text before a call is a message of its own', async () => {
        g.up.next(rawCall([shown('fake', 'echo'), '{"message":"x"}'], { text: 'Let me see.' }), textStream('Done.'));
        const { items } = await g.stream(FAKE);
        assert.deepEqual(items.map(({ type }) => type), ['message', 'mcp_call', 'message']);
        assert.equal(g.messages[1].content, 'Let me see.');
    });

    test('a name that only looks like a tool of a server is the client\'s', async () => {
        g.up.next(callStream([shown('fake', 'nothing'), {}, 'c1']));
        const { items } = await g.stream(FAKE);
        assert.deepEqual(items.map(({ type, name }) => [type, name]), [['function_call', shown('fake', 'nothing')]]);
        assert.equal(server().calls.length, 0);
    });
});

describe('calls of one round', { concurrency: false }, () => {
    const gates = {};
    const ended = [];
    const gated = async ({ name }) => {
        await gates[name];
        ended.push(name);
        return `Done: ${name}`;
    };
    const { g, server } = setup({ ...TOOLS, gated });
    const call = (name, id) => [shown('fake', 'gated'), { name }, id];

    test('run side by side; each item is done before the next is announced', async () => {
        gates.first = server().until(() => ended.includes('second'));
        g.up.next(callStream(call('first', 'c1'), call('second', 'c2')), textStream('Both.'));
        const client = open(g.daemon, { model: 'm', input: 'Hi', stream: true, ...FAKE });
        const { text } = await client.done;
        captures.keep('side_by_side.sse', text);
        const { events, items } = checkStream(text);
        assert.deepEqual(ended, ['second', 'first']);
        const closed = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item.output);
        assert.deepEqual(closed.slice(0, 2), ['Done: first', 'Done: second']);
        assert.deepEqual(callsIn(items).map((item) => item.output), ['Done: first', 'Done: second']);
        const [, asked, ...results] = g.messages;
        assert.deepEqual(results, asked.tool_calls.map(({ id }, i) => toolResult(id, ['Done: first', 'Done: second'][i])));
    });

    test('are one when the request wants no parallel calls', async () => {
        g.up.next(callStream(call('first', 'c1'), call('second', 'c2')), callStream(call('second', 'c2')), textStream('Both.'));
        const { items } = await g.stream({ ...FAKE, parallel_tool_calls: false });
        assert.deepEqual(callsIn(items).map((item) => item.output), ['Done: first', 'Done: second']);
        assert.equal(server().calls.length, 2);
        assert.deepEqual(g.messages.filter(({ role }) => role === 'assistant').map(({ tool_calls }) => tool_calls.length), [1, 1]);
    });

    test('with one of the client\'s, run, and the response ends; its output continues a whole history', async () => {
        g.up.next(callStream(echo('hi', 'c1'), ['weather', { city: 'Oslo' }, 'w1']), textStream('Sunny.'));
        const tools = [...FAKE.tools, fn('weather')];
        const first = await g.stream({ tools });
        assert.deepEqual(first.items.map(({ type, status, output: said }) => [type, status, said]),
            [['mcp_call', 'completed', 'Echo: hi'], ['function_call', 'completed', undefined]]);
        assert.equal(g.up.requests.length, 1, 'the model waits for the client');
        await g.respond({ tools, input: [output('w1', '3 degrees')], previous_response_id: first.response.id });
        const [, asked, ...results] = g.messages;
        assert.deepEqual(asked.tool_calls.map(({ function: { name } }) => name), [shown('fake', 'echo'), 'weather']);
        assert.deepEqual(results, [toolResult(asked.tool_calls[0].id, 'Echo: hi'), toolResult('w1', '3 degrees')]);
        assert.equal(server().calls.length, 1);
    });

    test('fifty at once, answered in reverse, each get their own result', async () => {
        const waiting = [];
        server().on('tools/call', ({ arguments: { message } }) => new Promise((done) => {
            waiting.push(() => done({ content: [text(`Echo: ${message}`)] }));
            if (waiting.length === 8) /* as many as run at once: maxConcurrency */
                waiting.splice(0).reverse().forEach((answer) => answer());
        }));
        const names = Array.from({ length: 48 }, (_, i) => `m${i}`);
        g.up.next(callStream(...names.map((name, i) => echo(name, `c${i}`))), textStream('Done.'));
        const { items } = await g.stream(FAKE);
        assert.deepEqual(callsIn(items).map((item) => item.output), names.map((name) => `Echo: ${name}`));
    });
});

describe('results', { concurrency: false }, () => {
    let result;
    const { g } = setup({ tool: () => result });
    const resource = (more) => ({ type: 'resource', resource: { uri: 'file:///a', ...more } });
    const pixel = 'iVBORw0KGgo='; /* 8 bytes */

    /* [what, result, output of the item, what the model gets if that differs] */
    for (const [what, it, said, told = said] of [
        ['text, as it is', [text(' a\n"b"\t\u{1f600} ')], ' a\n"b"\t\u{1f600} '],
        ['texts, joined by line ends', [text('a'), text('b')], 'a\nb'],
        ['an embedded text', [resource({ text: 'inside' })], 'inside'],
        ['a link', [{ type: 'resource_link', uri: 'file:///a', name: 'a', mimeType: 'text/plain' }], '[resource] a file:///a text/plain'],
        ['an image, named', [image(pixel)], '[image image/png, 8 bytes]'],
        ['audio, named', [{ type: 'audio', data: pixel, mimeType: 'audio/wav' }], '[audio audio/wav, 8 bytes]'],
        ['a blob, named with its URI', [resource({ blob: pixel, mimeType: 'application/x' })], /^\[blob application\/x, 8 bytes\] ?.*file:\/\/\/a|^\[blob .*file:\/\/\/a.*8 bytes\]/],
        ['text and image', [text('a'), image(pixel)], 'a\n[image image/png, 8 bytes]'],
        ['nothing', [], '', '[no content]'],
        ['structured content alone', { content: [], structuredContent: { a: [1, { b: null }] } }, '{"a":[1,{"b":null}]}'],
        ['structured content that is an array', { content: [], structuredContent: [1, 2] }, '[1,2]'],
        ['structured content without content', { structuredContent: { a: 1 } }, '{"a":1}'],
        ['structured content beside text', { content: [text('a')], structuredContent: { a: 1 } }, 'a'],
        ['a part of an unknown type', [{ type: 'hologram', data: 'x' }], '[hologram]'],
        ['NUL, removed', [text('a\0b')], 'ab'],
        ['half a surrogate pair', [text('a\ud800b')], 'a\ufffdb'],
        ['a line separator', [text('a\u2028b')], 'a\u2028b'],
    ]) {
        test(what, async () => {
            result = it;
            g.up.next(callStream([shown('fake', 'tool'), {}, 'c1']), textStream('Done.'));
            const { items } = await g.stream(FAKE);
            const [call] = items;
            assert.deepEqual([call.status, call.error], ['completed', null]);
            if (said instanceof RegExp) {
                assert.match(call.output, said);
                assert.equal(lastTool(g), call.output);
            } else {
                assert.deepEqual([call.output, lastTool(g)], [said, told]);
            }
        });
    }

    test('more than 256 KiB are cut off on a character, with a note', async () => {
        result = '\u{1f600}'.repeat(100_000);
        g.up.next(callStream([shown('fake', 'tool'), {}, 'c1']), textStream('Done.'));
        const { items: [{ output: said }] } = await g.stream(FAKE);
        const kept = said.match(/^(?:\u{1f600})+/u)[0];
        assert.ok(Buffer.byteLength(kept) <= 256 * 1024 && Buffer.byteLength(said) < 257 * 1024, `${Buffer.byteLength(said)} bytes`);
        assert.match(said.slice(kept.length), new RegExp(String(400_000 - Buffer.byteLength(kept))), 'the note has the bytes dropped');
        assert.equal(lastTool(g), said);
    });

    test('neither content nor structured content is an error of the protocol', async () => {
        result = { _meta: {} };
        g.up.next(callStream([shown('fake', 'tool'), {}, 'c1']), textStream('Done.'));
        const { items: [call] } = await g.stream(FAKE);
        assert.deepEqual([call.status, call.output], ['failed', null]);
    });
});

/* [what, tool, text of the item's error, its object, what the model gets]. */
const FAILURES = [
    ['a tool that says it failed', () => failed('It did not work.'), 'It did not work.',
        { type: 'mcp_tool_execution_error', content: [text('It did not work.')] }],
    ['a JSON-RPC error', () => {
        throw rpcError(-32000, 'No way');
    }, 'No way (-32000)', { type: 'mcp_protocol_error', code: -32000, message: 'No way' }],
    ['a status of HTTP', () => http(500, 'oops', { 'content-type': 'text/plain' }), 'MCP server fake: HTTP 500', { type: 'http_error', code: 500 }],
    ['status 401', () => http(401, '', { 'www-authenticate': 'Bearer resource_metadata="https://x/y"' }), 'MCP server fake: HTTP 401', { type: 'http_error', code: 401 }],
    ['status 403', () => http(403), 'MCP server fake: HTTP 403', { type: 'http_error', code: 403 }],
    ['a body of another type', () => http(200, '<p>Hi</p>', { 'content-type': 'text/html' }), 'MCP server fake is unreachable', { type: 'http_error', code: 502 }],
    ['a body that is no JSON', () => http(200, '{"jsonrpc"', { 'content-type': 'application/json' }), null, {}],
    ['a stream that breaks off', () => LOST, 'MCP server fake closed the connection', { type: 'mcp_protocol_error', code: -32000 }],
    ['no answer in time', TOOLS.hang.call, 'tool tool timed out after 1 s', { type: 'mcp_protocol_error', code: -32001 }],
    ['a tool that is gone', () => {
        throw rpcError(-32602, 'Unknown tool: tool');
    }, 'Unknown tool: tool (-32602)', { type: 'mcp_protocol_error', code: -32602, message: 'Unknown tool: tool' }],
];

for (const form of ['text', 'object']) {
    describe(`failures, as ${form}`, { concurrency: false }, () => {
        let tool;
        const { g, server } = setup({ tool: (...all) => tool(...all) }, { entry: { callTimeoutMs: 1000 }, args: ['--mcp-errors', form] });

        for (const [what, it, said, object] of FAILURES) {
            test(what, async () => {
                tool = it;
                g.up.next(callStream([shown('fake', 'tool'), {}, 'c1']), textStream('So it failed.'));
                const { events, items: [call, message], response } = await g.stream(FAKE);
                assert.deepEqual(flowOf(events).slice(4, 8), ['mcp_call_arguments.delta', 'mcp_call_arguments.done', 'mcp_call.failed', 'output_item.done mcp_call']);
                assert.deepEqual([call.status, call.output, response.status], ['failed', null, 'completed']);
                if (form === 'text' && said !== null)
                    assert.equal(call.error, said);
                if (form === 'object')
                    assert.deepEqual({ ...call.error, ...object }, call.error);
                if (said !== null) /* what the model hears is what the item says */
                    assert.equal(lastTool(g), `Error: ${form === 'text' ? said : object.message ?? call.error.message ?? said}`);
                assert.equal(textOf(message), 'So it failed.');
                assert.equal(server().calls.length, 1, 'called once');
            });
        }

        for (const [what, written] of [['no object', '[1]'], ['no JSON', '{"a":']]) {
            test(`arguments that are ${what}: the server is not called`, async () => {
                g.up.next(rawCall([shown('fake', 'tool'), written]), textStream('So it failed.'));
                const { items: [call], response } = await g.stream(FAKE);
                assert.deepEqual([call.status, call.arguments, response.status], ['failed', written, 'completed']);
                if (form === 'text')
                    assert.match(call.error, /^Invalid arguments: ./);
                else
                    assert.deepEqual([call.error.type, call.error.code], ['mcp_protocol_error', -32602]);
                assert.match(lastTool(g), /Invalid arguments: ./);
                assert.equal(server().calls.length, 0);
            });
        }

        test('a failed call is sent back to the model as it was told first', async () => {
            tool = () => failed('It did not work.');
            g.up.next(callStream([shown('fake', 'tool'), {}, 'c1']), textStream('So it failed.'), textStream('Again.'));
            const first = await g.respond(FAKE);
            const before = g.messages;
            await g.respond({ ...FAKE, input: 'And now?', previous_response_id: first.id });
            assert.deepEqual(g.messages, [...before, assistant('So it failed.'), user('And now?')]);
        });
    });
}

describe('arguments', { concurrency: false }, () => {
    const { g, server } = setup();

    test('that are empty are an empty object, for the client as well', async () => {
        g.up.next(rawCall([shown('fake', 'fail'), '']), textStream('Done.'));
        const { events, items: [call] } = await g.stream(FAKE);
        assert.equal(call.arguments, '{}');
        assert.ok(flowOf(events).includes('mcp_call_arguments.delta'));
        assert.deepEqual(server().calls[0].arguments, {});
    });

    test('cut off by the token limit: no call, item and response incomplete', async () => {
        g.up.next(rawCall([shown('fake', 'echo'), '{"message":"x'], { finish: 'length' }));
        const { events, items: [call], response } = await g.stream(FAKE);
        assert.deepEqual([call.status, call.arguments, call.output, call.error], ['incomplete', '{"message":"x', null, null]);
        assert.deepEqual([response.status, response.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
        assert.deepEqual(flowOf(events).filter((type) => /^mcp_call\.(completed|failed)/.test(type)), []);
        assert.equal(server().calls.length, 0);
    });

    test('reach the server with every digit', async () => {
        g.up.next(rawCall([shown('fake', 'echo'), '{"message":12345678901234567890.50,"é":"\\u2028"}']), textStream('Done.'));
        await g.stream(FAKE);
        const { body } = server().exchanges.findLast((one) => one.body.includes('"tools/call"'));
        assert.match(body, /12345678901234567890\.50/);
    });
});

captures.judge(test);
