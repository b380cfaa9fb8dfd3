/* copilot.mjs -- the Copilot CLI as its users run it with a model of their own, away from their files. */
import { fileURLToPath } from 'node:url';
import { Desk as ClientDesk } from '../desk.mjs';

const COPILOT = fileURLToPath(new URL('node_modules/.bin/copilot', import.meta.url));

const provider = (base) => ({
    COPILOT_PROVIDER_BASE_URL: `${base}/v1`,
    COPILOT_PROVIDER_API_KEY: 'sk-test',
    COPILOT_PROVIDER_WIRE_API: 'responses',
    COPILOT_MODEL: 'test-model',
});

const saidBy = (events) => events.filter(({ type }) => type === 'assistant.message').map(({ data }) => data.content).filter(Boolean);

export class Desk extends ClientDesk {
    /* See task.mjs. */
    tools = {
        write: (file, content) => ({ name: 'create', args: { path: this.path(file), file_text: content } }),
        read: (file) => ({ name: 'view', args: { path: this.path(file) } }),
        shell: (command) => ({ name: 'bash', args: { command, description: 'Does its part' } }),
    };

    /* `copilot --prompt` to its end, see Desk.run(), and the `texts` it showed. Offline it speaks to
     * its model only. */
    async ask(prompt, { goesOn = false } = {}) {
        const { origin } = await this.tap;
        const args = ['--output-format', 'json', '--allow-all', ...(goesOn ? ['--continue'] : []), '--prompt', prompt];
        const got = await this.run(COPILOT, args, { ...provider(origin), COPILOT_HOME: this.home, COPILOT_OFFLINE: 'true' });
        return { ...got, texts: saidBy(got.events) };
    }
}
