/* structured.test.mjs -- agents with tools and a form of their last answer, in front of a server that
 * does not call tools while an answer has a form (llama.cpp): they call, and end in that form. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { createOpenAI } from '@ai-sdk/openai';
import { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool as agentTool } from '@openai/agents';
import { Output, generateText, isStepCount, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';
import { startDaemon } from '../lib/daemon.mjs';
import { llamaProbe, llamaServer } from '../lib/llama_server.mjs';
import { startUpstream } from '../lib/upstream.mjs';

setTracingDisabled(true); /* traces would go to OpenAI */
globalThis.AI_SDK_LOG_WARNINGS = false;

const Report = z.object({ sky: z.string() });
const CITIES = ['Oslo', 'Rome'];

/* Asks for one city after the other, saying so, then answers in prose. */
const model = ({ messages }) => {
    const known = messages.filter(({ role }) => role === 'tool').length;
    return known < CITIES.length
        ? { reasoning: 'Hm.', text: `Now ${CITIES[known]}.`, calls: [['get_weather', { city: CITIES[known] }, `call_${known}`]] }
        : { reasoning: 'That is all.', text: 'Sunny everywhere.' };
};

describe('tools and a form of the answer', { concurrency: false }, () => {
    const both = {};
    let asked;

    before(async () => {
        both.up = await startUpstream();
        both.up.probed = llamaProbe;
        both.daemon = await startDaemon({ upstream: both.up.url });
    });
    after(() => both.daemon?.stop());
    after(() => both.up.close());
    before(() => setDefaultOpenAIClient(new OpenAI({ baseURL: `${both.daemon.origin}/v1`, apiKey: 'sk-test', maxRetries: 0 })));
    beforeEach(() => {
        asked = [];
        both.up.reset();
        both.up.always(llamaServer(model));
    });

    const execute = async ({ city }) => {
        asked.push(city);
        return `Sunny in ${city}`;
    };
    const params = { description: 'Weather of a city' };

    function check(answer) {
        assert.deepEqual(answer, { sky: 'Sunny everywhere.' });
        assert.deepEqual(asked, CITIES);
        const bodies = both.up.requests.map(({ body }) => body);
        assert.deepEqual(bodies.map((b) => b.response_format?.type), [undefined, undefined, undefined, 'json_schema']);
        assert.deepEqual(bodies.at(-1).messages, bodies.at(-2).messages);
    }

    for (const streamed of [false, true]) {
        test(`an agent with outputType${streamed ? ', streamed' : ''}`, async () => {
            const agent = new Agent({ name: 'Reporter', model: 'm', outputType: Report, tools: [agentTool({ ...params, name: 'get_weather', parameters: z.object({ city: z.string() }), execute })] });
            const result = await run(agent, 'Weather?', { stream: streamed });
            if (streamed)
                await result.completed;
            check(result.finalOutput);
        });
    }

    for (const [name, models] of [
        ['@ai-sdk/openai', (origin) => createOpenAI({ baseURL: `${origin}/v1`, apiKey: 'sk-test' }).responses],
        ['@ai-sdk/open-responses', (origin) => createOpenResponses({ name: 'antiphon', url: `${origin}/v1/responses` })],
    ]) {
        const options = () => ({
            model: models(both.daemon.origin)('m'), prompt: 'Weather?', maxRetries: 0, stopWhen: isStepCount(6),
            output: Output.object({ schema: Report }), tools: { get_weather: tool({ ...params, inputSchema: z.object({ city: z.string() }), execute }) },
        });

        test(`generateText with Output.object, ${name}`, async () => check((await generateText(options())).output));

        test(`streamText with Output.object, ${name}`, async () => {
            const result = streamText(options());
            const partial = [];
            for await (const object of result.partialOutputStream)
                partial.push(object);
            check(partial.at(-1));
        });
    }

    test('responses.parse of the OpenAI SDK', async () => {
        const client = new OpenAI({ baseURL: `${both.daemon.origin}/v1`, apiKey: 'sk-test', maxRetries: 0 });
        const schema = z.toJSONSchema(Report);
        both.up.always(llamaServer(() => ({ text: 'Sunny.' })));
        const { output_parsed: answer } = await client.responses.parse({
            model: 'm', input: 'Weather?', text: { format: { type: 'json_schema', name: 'report', schema } },
            tools: [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} }, strict: false }],
        });
        assert.deepEqual(answer, { sky: 'Sunny.' });
    });
});
