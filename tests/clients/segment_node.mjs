// Sends events with @segment/analytics-node. Arguments: URL, write key, file of JSON lines, events a second.
import { Analytics } from '@segment/analytics-node'
import { replay } from './replay.mjs'

const [host, writeKey, file, rate] = process.argv.slice(2)
const analytics = new Analytics({ writeKey, host, path: '/v1/batch' })
let failed = 0
analytics.on('error', (error) => {
  failed += 1
  console.error(error.code, error.reason)
})
await replay(file, Number(rate), ({ type, ...message }) => analytics[type](message))
await analytics.closeAndFlush({ timeout: 60000 })
process.exit(failed ? 1 : 0)
