/* harmony_tools.test.mjs -- gpt-oss calls the tools it was trained with, python and browser, and
 * the gateway's own answer. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { gateway } from '../lib/mcp.mjs';
import { codeGateway, noSandbox, OUTPUTS } from '../lib/sandbox.mjs';
import { startSearch } from '../lib/search_server.mjs';
import { fn, textOf } from '../lib/state.mjs';
import { rawChat, rawCompletion } from '../lib/upstream.mjs';

const captures = new Captures();
const COMPLETIONS = ['--harmony', 'harmony-completions'];
const FINAL = (text) => `<|channel|>final<|message|>${text}<|return|>`;
const CALL = '<|channel|>analysis to=python code<|message|>print(6 * 7)<|call|>';
const promptOf = (g, i) => g.up.requests.at(i).body.prompt;

describe('python', { concurrency: false, skip: noSandbox }, () => {
    test('is in the prompt, is run, and its output comes back as python\'s', async (t) => {
        const g = await codeGateway(t, { captures, args: COMPLETIONS });
        g.up.next(rawCompletion(CALL), rawCompletion(FINAL('It is 42.')));
        const { items } = await g.stream(OUTPUTS);
        assert.deepEqual(items.map(({ type, status }) => [type, status]), [['code_interpreter_call', 'completed'], ['message', 'completed']]);
        assert.deepEqual(items[0].outputs, [{ type: 'logs', logs: '42\n' }]);
        assert.equal(textOf(items[1]), 'It is 42.');
        assert.match(promptOf(g, 0), /## python\n/);
        assert.ok(!promptOf(g, 0).includes('namespace functions'), 'it is no function besides');
        assert.match(promptOf(g, 1), /<\|start\|>assistant to=python<\|channel\|>analysis.*<\|message\|>print\(6 \* 7\)<\|call\|><\|start\|>python to=assistant<\|channel\|>analysis<\|message\|>42\n<\|end\|>/s);
    });

    test('is run when a chat comes raw', async (t) => {
        const g = await codeGateway(t, { captures });
        g.up.next(rawChat('<|channel|>analysis to=python code<|message|>1 + 1<|call|>'), rawChat(FINAL('Two.')));
        const { items } = await g.stream(OUTPUTS);
        assert.deepEqual(items.map(({ type }) => type), ['code_interpreter_call', 'message']);
        assert.equal(g.messages.at(-1).content, '2');
        assert.equal(g.messages.at(-2).tool_calls[0].function.name, 'code_interpreter');
    });

    test('was called as python for a turn that has other tools, or none', async (t) => {
        const g = await codeGateway(t, { captures, args: COMPLETIONS });
        g.up.next(rawCompletion(CALL), rawCompletion(FINAL('It is 42.')), rawCompletion(FINAL('Yes.')), rawCompletion(FINAL('Yes.')));
        const { id } = await g.respond(OUTPUTS);
        for (const tools of [[fn('f')], []]) {
            await g.respond({ previous_response_id: id, input: 'Sure?', tools });
            assert.match(promptOf(g, -1), /assistant to=python<\|channel\|>analysis.*<\|start\|>python to=assistant/s);
            assert.ok(!promptOf(g, -1).includes('## python'), 'it is not offered');
        }
    });

    test('past max_tool_calls is dropped, not thought', async (t) => {
        const g = await codeGateway(t, { captures, args: COMPLETIONS });
        g.up.next(rawCompletion(CALL), rawCompletion(CALL));
        const { status, incomplete_details: why, output } = await g.respond({ ...OUTPUTS, max_tool_calls: 1 });
        assert.deepEqual([status, why, output.map(({ type }) => type)], ['incomplete', { reason: 'max_tool_calls' }, ['code_interpreter_call']]);
        assert.ok(!promptOf(g, 1).includes('## python'));
    });

    for (const [how, args, answer] of [['a prompt', COMPLETIONS, rawCompletion], ['a chat', [], rawChat]])
        test(`is not run when tool_choice is none, in ${how}`, async (t) => {
            const g = await codeGateway(t, { captures, args });
            g.up.next(answer(CALL));
            const { output } = await g.respond({ ...OUTPUTS, tool_choice: 'none' });
            assert.deepEqual(output.map(({ type }) => type), ['reasoning', 'message']);
            assert.equal(g.up.requests.length, 1);
        });

    test('without the tool in the request is thought, not run', async (t) => {
        const g = await codeGateway(t, { captures });
        g.up.next(rawChat('<|channel|>analysis to=python code<|message|>1 + 1<|call|>'));
        const { items } = await g.stream();
        assert.ok(items.every(({ type }) => type !== 'code_interpreter_call'));
    });
});

describe('browser', { concurrency: false }, () => {
    const FOUND = { title: 'FOMC statement', url: 'https://example.com/fomc', text: 'The range is 3.50% to 3.75%.' };

    test('searches, and its pages can be cited', async (t) => {
        const service = await startSearch(t);
        service.finds(FOUND);
        const g = await gateway(t, { captures, args: [...COMPLETIONS, ...service.args('searxng')] });
        g.up.next(rawCompletion('<|channel|>analysis to=browser.search code<|message|>{"query":"fed rate","topn":5}<|call|>'),
            rawCompletion(FINAL('It is 3.50% to 3.75%【0†L0-L1】.')));
        const { items } = await g.stream({ tools: [{ type: 'web_search' }] });
        assert.deepEqual(items.map(({ type, status }) => [type, status]), [['web_search_call', 'completed'], ['message', 'completed']]);
        assert.equal(items[0].action.query, 'fed rate');
        assert.match(promptOf(g, 0), /## browser\n/);
        assert.match(promptOf(g, 1), /assistant to=browser\.search<\|channel\|>analysis.*"query":"fed rate".*<\|start\|>browser\.search to=assistant.*FOMC statement/s);
        const [{ text, annotations: [cited] }] = items[1].content;
        assert.equal(cited.url, FOUND.url);
        assert.ok(!text.includes('【'), text);
    });
});

captures.judge(test);
