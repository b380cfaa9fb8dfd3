/* pi.mjs -- pi as its users run it, away from their files. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Desk as ClientDesk } from '../desk.mjs';

const PI = fileURLToPath(new URL('node_modules/.bin/pi', import.meta.url));

const models = (base) => ({
    providers: {
        antiphon: {
            baseUrl: `${base}/v1`,
            api: 'openai-responses',
            apiKey: 'sk-test',
            models: [{ id: 'test-model', name: 'Test', reasoning: true, input: ['text'], contextWindow: 128_000, maxTokens: 8_192 }],
        },
    },
});

const saidBy = (events) => events
    .filter(({ type, message }) => type === 'message_end' && message.role === 'assistant')
    .flatMap(({ message }) => message.content.filter(({ type }) => type === 'text').map(({ text }) => text));

export class Desk extends ClientDesk {
    /* See task.mjs. */
    tools = {
        write: (file, content) => ({ name: 'write', args: { path: this.path(file), content } }),
        read: (file) => ({ name: 'read', args: { path: this.path(file) } }),
        shell: (command) => ({ name: 'bash', args: { command } }),
    };

    /* `pi --print` to its end, see Desk.run(), and the `texts` it showed. */
    async ask(prompt, { goesOn = false } = {}) {
        const { origin } = await this.tap;
        this.keep('agent/models.json', models(origin));
        const args = [PI, '--print', '--mode', 'json', '--provider', 'antiphon', '--model', 'test-model', '--thinking', 'low', ...(goesOn ? ['--continue'] : []), prompt];
        const got = await this.run(process.execPath, args, { PI_CODING_AGENT_DIR: join(this.home, 'agent'), PI_OFFLINE: '1', PI_TELEMETRY: '0', PI_SKIP_VERSION_CHECK: '1' });
        return { ...got, texts: saidBy(got.events) };
    }
}
