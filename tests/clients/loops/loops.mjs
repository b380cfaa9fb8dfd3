/* loops.mjs -- the agent loops of libraries at a desk: they run in the test, and their tools as well.
 *
 * Each keeps its own history, in its own form, and goes on with it when asked to.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createOpenAI } from '@ai-sdk/openai';
import { HumanMessage } from '@langchain/core/messages';
import { tool as langchainTool } from '@langchain/core/tools';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Agent as OpenAIAgent, OpenAIProvider, Runner, setTracingDisabled, tool as openaiTool } from '@openai/agents';
import { isStepCount, streamText, tool as aiTool } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';
import { Desk as ClientDesk } from '../desk.mjs';

setTracingDisabled(true); /* traces would go to OpenAI */

const MOST_STEPS = 30;
const KEY = 'sk-test';

class LoopDesk extends ClientDesk {
    /* See task.mjs. */
    tools = {
        write: (file, text) => ({ name: 'write', args: { file, text } }),
        read: (file) => ({ name: 'read', args: { file } }),
        shell: (command) => ({ name: 'shell', args: { command } }),
    };

    /* What stands behind these names. */
    implemented = {
        write: { description: 'Writes a file', schema: z.object({ file: z.string(), text: z.string() }), run: async ({ file, text }) => (this.write(file, text), 'Written.') },
        read: { description: 'Reads a file', schema: z.object({ file: z.string() }), run: async ({ file }) => this.read(file) },
        shell: { description: 'Runs a command', schema: z.object({ command: z.string() }), run: async ({ command }) => (await promisify(execFile)('sh', ['-c', command], { cwd: this.path('') })).stdout },
    };

    /* The tools as the library wants them, by name. */
    toolsBy(make) {
        return Object.fromEntries(Object.entries(this.implemented).map(([name, one]) => [name, make(name, one)]));
    }

    async ask(prompt, { goesOn = false } = {}) {
        const { origin, exchanges, outside } = await this.tap;
        if (!goesOn)
            this.history = [];
        const texts = await this.loop(prompt, `${origin}/v1`);
        return { status: 0, log: '', texts: texts.filter((text) => text !== ''), exchanges, outside };
    }
}

/* ---- the AI SDK ---- */

const aiTools = (desk) => desk.toolsBy((_, { description, schema, run }) => aiTool({ description, inputSchema: schema, execute: run }));

const aiLoop = (providerOptions) => class extends LoopDesk {
    async loop(prompt, baseURL) {
        this.history.push({ role: 'user', content: prompt });
        const result = streamText({
            model: createOpenAI({ baseURL, apiKey: KEY })('test-model'),
            messages: this.history,
            tools: aiTools(this),
            stopWhen: isStepCount(MOST_STEPS),
            maxRetries: 0,
            providerOptions,
        });
        await result.consumeStream();
        if (await result.finishReason !== 'stop')
            throw new Error(`the loop ended with ${await result.finishReason}`);
        this.history.push(...await result.responseMessages);
        return (await result.steps).map(({ text }) => text);
    }
};

export const AiStored = aiLoop(undefined);
export const AiStateless = aiLoop({ openai: { store: false, forceReasoning: true } });

/* ---- Mastra ---- */

export class Mastra extends LoopDesk {
    async loop(prompt, baseURL) {
        const agent = new MastraAgent({
            id: 'worker',
            name: 'Worker',
            instructions: 'Be brief.',
            model: createOpenAI({ baseURL, apiKey: KEY })('test-model'),
            tools: this.toolsBy((id, { description, schema, run }) => createTool({ id, description, inputSchema: schema, execute: (input) => run(input) })),
        });
        this.history.push({ role: 'user', content: prompt });
        const result = await agent.stream(this.history, { maxSteps: MOST_STEPS });
        await result.consumeStream();
        this.history.push(...(await result.response).messages);
        return (await result.steps).map(({ text }) => text);
    }
}

/* ---- LangGraph ---- */

export class LangGraph extends LoopDesk {
    async loop(prompt, baseURL) {
        const agent = createReactAgent({
            llm: new ChatOpenAI({ model: 'test-model', apiKey: KEY, useResponsesApi: true, streaming: true, maxRetries: 0, configuration: { baseURL } }),
            tools: Object.values(this.toolsBy((name, { description, schema, run }) => langchainTool(run, { name, description, schema }))),
        });
        const since = this.history.length + 1;
        const { messages } = await agent.invoke({ messages: [...this.history, new HumanMessage(prompt)] }, { recursionLimit: 2 * MOST_STEPS });
        this.history = messages;
        return messages.slice(since).filter((message) => message.getType() === 'ai').map(({ text }) => text);
    }
}

/* ---- the Agents SDK ---- */

export class Agents extends LoopDesk {
    async loop(prompt, baseURL) {
        const agent = new OpenAIAgent({
            name: 'Worker',
            instructions: 'Be brief.',
            model: 'test-model',
            modelSettings: { store: false, providerData: { include: ['reasoning.encrypted_content'] } },
            tools: Object.values(this.toolsBy((name, { description, schema, run }) => openaiTool({ name, description, parameters: schema, execute: run }))),
        });
        const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: new OpenAI({ baseURL, apiKey: KEY, maxRetries: 0 }) }) });
        const result = await runner.run(agent, [...this.history, { role: 'user', content: prompt }], { stream: true, maxTurns: MOST_STEPS });
        await result.completed;
        this.history = result.history;
        return result.newItems.filter(({ type }) => type === 'message_output_item').map(({ content }) => content);
    }
}
