/* codex.test.mjs -- recorded requests of the Codex CLI are served as they are. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkStream } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { shared } from '../lib/daemon.mjs';
import { jsonOf } from '../lib/data.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const exec = jsonOf('codex', 'codex-0.169-exec-request.json');
const openai = jsonOf('codex', 'codex-0.169-openai-model-request.json');

/* Headers as recorded, without those that belong to the connection. */
const headersOf = ({ headers }) => Object.fromEntries(Object.entries(headers)
    .filter(([name]) => !['host', 'content-length', 'connection', 'transfer-encoding', 'content-encoding'].includes(name)));

const declaredTools = (body) => [...body.tools ?? [], ...body.input.flatMap((item) => item.type === 'additional_tools' ? item.tools : [])];

/* [type, name, namespace] of everything a model can call in this request. */
const callable = (body) => declaredTools(body).flatMap((tool) =>
    tool.type === 'namespace' ? tool.tools.map((inner) => [inner.type, inner.name, tool.name])
        : ['function', 'custom'].includes(tool.type) ? [[tool.type, tool.name, undefined]] : []);

describe('Codex', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    async function turn(name, request, body = request.body) {
        const got = await ask(both.daemon, body, { headers: headersOf(request), path: '/v1/responses' });
        assert.equal(got.status, 200, got.text);
        captures.keep(`${name}.sse`, got.bytes);
        return { ...checkStream(got.text), chat: both.up.requests.at(-1).body };
    }

    for (const [name, request] of [['an unknown model name', exec.first], ['an OpenAI model name', openai]]) {
        test(`a request with ${name} gets its answer`, async () => {
            both.up.next(textStream('Done.', { reasoning: 'Hmm' }));
            const { response, chat } = await turn(name, request);
            assert.equal(response.status, 'completed');
            assert.equal(response.model, request.body.model);
            assert.equal(typeof response.usage.input_tokens, 'number');
            assert.ok(chat.messages.every((m) => ['system', 'user'].includes(m.role)), 'developer messages become system');
            const system = chat.messages.findIndex((m) => m.role !== 'system');
            assert.ok(system === 1, 'one system message, at the top');
            for (const { function: { name: upstream } } of chat.tools)
                assert.match(upstream, /^[A-Za-z0-9_-]{1,64}$/);
        });

        test(`a request with ${name}: every tool is called back as what it is`, async () => {
            const wanted = callable(request.body);
            assert.ok(wanted.length > 5);
            both.up.next(({ body }) => callStream(...body.tools.map(({ function: fn }, i) => [fn.name, { input: 'text' }, `c${i}`])));
            const { response } = await turn(`${name} calls`, request, { ...request.body, parallel_tool_calls: true });
            const calls = response.output.filter((item) => item.type.endsWith('_call'));
            const got = calls.map(({ type, name: called, namespace }) => [type === 'custom_tool_call' ? 'custom' : 'function', called, namespace]);
            for (const tool of wanted)
                assert.ok(got.some((call) => JSON.stringify(call) === JSON.stringify(tool)), `${tool} in ${JSON.stringify(got)}`);
        });
    }

    test('the second request carries the call and its output', async () => {
        const { body } = exec.first;
        const { chat } = await turn('second', exec.first, { ...body, input: [...body.input, ...exec.second_input_tail] });
        const [call, output] = chat.messages.slice(-2);
        const [item, result] = exec.second_input_tail;
        assert.deepEqual([call.role, call.tool_calls[0].id, call.tool_calls[0].function.name], ['assistant', item.call_id, item.name]);
        assert.deepEqual(output, { role: 'tool', tool_call_id: item.call_id, content: result.output });
    });
});

captures.judge(test);
