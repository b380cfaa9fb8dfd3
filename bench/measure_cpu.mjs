/* measure_cpu.mjs -- CPU time of the proxy, user and system, for each event or request.
 *
 * Runs alternate between the proxies, so that what else happens on the machine
 * meets both. The first run of each warms up and does not count.
 */
import { askUndisturbed, figure, together } from './proxies.mjs';

export const cpu = ({ name, panel, unit, per, plan, target }) => ({ runs }) =>
    together(['antiphon', 'nginx'], async (servers) => {
        const found = { antiphon: [], nginx: [] };
        const isEnough = (got) => plan.requests > plan.streams || got.deltas > plan.streams * plan.deltas / 4;
        for (let run = 0; run <= runs; run++) {
            for (const server of servers) {
                const got = await askUndisturbed(server, plan, isEnough);
                if (run > 0)
                    found[server.name].push(got.cpu_ns / 1000 / got[per]);
            }
        }
        return [{ name, panel, unit, antiphon: figure(found.antiphon), nginx: figure(found.nginx), target }];
    });
