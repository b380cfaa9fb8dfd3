/* own_tools.test.mjs -- the SDKs with the code interpreter and the web search of the gateway. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { Agent, codeInterpreterTool, OpenAIProvider, Runner, setTracingDisabled, webSearchTool } from '@openai/agents';
import { generateText, streamText } from 'ai';
import OpenAI from 'openai';
import { Captures } from '../lib/check.mjs';
import { sharedGateway } from '../lib/mcp.mjs';
import { CODE, noSandbox } from '../lib/sandbox.mjs';
import { startSearch } from '../lib/search_server.mjs';
import { Spy } from '../lib/spy.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

setTracingDisabled(true); /* traces would go to OpenAI */

const spy = new Spy();
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const code = (text, id = 'c1') => ['code_interpreter', { code: text }, id];
const search = (query, id = 's1') => ['web_search', { action: 'search', query }, id];

function setup(args) {
    const g = sharedGateway({ before, beforeEach, after }, new Captures(), async () => ({ args: await args() }));
    const made = {};
    before(() => {
        const options = { baseURL: `${g.daemon.origin}/v1`, apiKey: 'sk-test', fetch: spy.fetch };
        made.client = new OpenAI({ ...options, maxRetries: 0 });
        made.ai = createOpenAI(options);
        made.runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: made.client }) });
    });
    return { g, made };
}

describe('the code interpreter', { concurrency: false, skip: noSandbox }, () => {
    const { g, made } = setup(async () => ['--code-interpreter', 'require']);
    const body = (more) => ({ model: 'm', input: 'How much?', tools: [CODE], include: ['code_interpreter_call.outputs'], ...more });

    test('openai: stream() puts the events together', async () => {
        g.up.next(callStream(code('print(6 * 7)')), textStream('It is 42.'));
        const stream = made.client.responses.stream(body());
        let written = '';
        for await (const event of stream)
            written += event.type === 'response.code_interpreter_call_code.delta' ? event.delta : '';
        const response = await stream.finalResponse();
        assert.equal(written, 'print(6 * 7)');
        assert.deepEqual([response.output[0].code, response.output[0].outputs, response.output_text],
            ['print(6 * 7)', [{ type: 'logs', logs: '42\n' }], 'It is 42.']);
    });

    test('openai: containers and their files', async () => {
        const made_ = await made.client.containers.create({ name: 'mine' });
        g.up.next(callStream(code(`import base64\nopen("p.png", "wb").write(base64.b64decode("${PNG}"))`)), textStream('Done.'));
        await made.client.responses.create(body({ tools: [{ type: 'code_interpreter', container: made_.id }] }));
        const files = [];
        for await (const file of made.client.containers.files.list(made_.id))
            files.push(file);
        assert.deepEqual(files.map(({ path }) => path), ['/mnt/data/p.png']);
        const content = await made.client.containers.files.content.retrieve(files[0].id, { container_id: made_.id });
        assert.equal(Buffer.from(await content.arrayBuffer()).toString('base64'), PNG);
        await made.client.containers.delete(made_.id);
        await assert.rejects(made.client.containers.retrieve(made_.id), { status: 404 });
    });

    test('ai: generateText() and streamText() give the call and its result', async () => {
        const options = { model: made.ai('gpt-4o'), prompt: 'How much?', tools: { code_interpreter: made.ai.tools.codeInterpreter() } };
        g.up.next(callStream(code('print(6 * 7)')), textStream('It is 42.'));
        const whole = await generateText(options);
        assert.equal(whole.text, 'It is 42.');
        assert.equal(whole.toolCalls[0].toolName, 'code_interpreter');
        assert.deepEqual(whole.toolResults[0].output.outputs, [{ type: 'logs', logs: '42\n' }]);
        g.up.next(callStream(code('print(6 * 7)')), textStream('It is 42.'));
        const streamed = streamText(options);
        assert.equal(await streamed.text, 'It is 42.');
        assert.deepEqual((await streamed.toolResults)[0].output.outputs, [{ type: 'logs', logs: '42\n' }]);
    });

    test('@openai/agents: a run, and a second turn from its history', async () => {
        const agent = new Agent({ name: 'Guide', instructions: 'Be brief.', model: 'm', tools: [codeInterpreterTool({ container: { type: 'auto' } })] });
        g.up.next(callStream(code('x = 42\nprint(x)')), textStream('It is 42.'), textStream('Sure.'));
        const first = await made.runner.run(agent, 'How much?');
        assert.equal(first.finalOutput, 'It is 42.');
        const second = await made.runner.run(agent, [...first.history, { role: 'user', content: 'Sure?' }]);
        assert.equal(second.finalOutput, 'Sure.');
        assert.equal(g.messages.find(({ role }) => role === 'tool').content, '42\n');
    });
});

describe('web search', { concurrency: false }, () => {
    let service;
    const closing = [];
    const { g, made } = setup(async () => {
        service = await startSearch({ after: (close) => closing.push(close) });
        service.finds({ title: 'FOMC statement', url: 'https://example.com/fomc', text: 'The range is 3.50% to 3.75%.' });
        return service.args('searxng');
    });
    after(() => Promise.all(closing.map((close) => close())));
    const answered = () => g.up.next(callStream(search('fed funds rate')), textStream('The range is 3.50% to 3.75%. 【0†L0】'));
    const CITED = { type: 'url_citation', url: 'https://example.com/fomc', title: 'FOMC statement' };

    test('openai: stream() has the search, its sources and the citation', async () => {
        answered();
        const response = await made.client.responses.stream({ model: 'm', input: 'Rate?', tools: [{ type: 'web_search' }], include: ['web_search_call.action.sources'] }).finalResponse();
        assert.deepEqual(response.output[0].action, {
            type: 'search', query: 'fed funds rate', queries: ['fed funds rate'], sources: [{ type: 'url', url: 'https://example.com/fomc' }],
        });
        const [{ text, annotations }] = response.output[1].content;
        const { start_index: start, end_index: end, ...cited } = annotations[0];
        assert.deepEqual(cited, CITED);
        assert.match(text.slice(start, end), /example\.com/);
    });

    test('ai: the sources of the answer', async () => {
        answered();
        const whole = await generateText({ model: made.ai('gpt-4o'), prompt: 'Rate?', tools: { web_search: made.ai.tools.webSearch() } });
        assert.deepEqual(whole.sources.map(({ url }) => url), ['https://example.com/fomc']);
        answered();
        const streamed = streamText({ model: made.ai('gpt-4o'), prompt: 'Rate?', tools: { web_search: made.ai.tools.webSearch() } });
        assert.deepEqual((await streamed.sources).map(({ url }) => url), ['https://example.com/fomc']);
    });

    test('@openai/agents: a run', async () => {
        const agent = new Agent({ name: 'Guide', instructions: 'Be brief.', model: 'm', tools: [webSearchTool()] });
        answered();
        assert.match((await made.runner.run(agent, 'Rate?')).finalOutput, /3\.50%/);
    });
});

spy.judge(test);
