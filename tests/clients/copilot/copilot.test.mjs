/* copilot.test.mjs -- the Copilot CLI finishes tasks with a scripted model and with hosted tools. */
import { testTasks } from '../task.mjs';
import { Desk } from './copilot.mjs';

testTasks('copilot', Desk);
