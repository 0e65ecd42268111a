// Sends events with @rudderstack/rudder-sdk-node. Arguments: URL, write key, file of JSON lines, events a second.
import RudderAnalytics from '@rudderstack/rudder-sdk-node'
import { replay } from './replay.mjs'

const [host, writeKey, file, rate] = process.argv.slice(2)
const client = new RudderAnalytics(writeKey, { dataPlaneUrl: host })
let failed = 0
const report = (error) => {
  if (error) {
    failed += 1
    console.error(error.message)
  }
}
await replay(file, Number(rate), ({ type, ...message }) => client[type](message, report))
await new Promise((resolve) => client.flush(resolve))
process.exit(failed ? 1 : 0)
