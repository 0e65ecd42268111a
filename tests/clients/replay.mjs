// Calls a client for each message of a file, at a steady rate.
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

export async function replay(file, rate, send) {
  const messages = readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line))
  const begin = performance.now()
  for (const [number, message] of messages.entries()) {
    const due = begin + (number / rate) * 1000
    await setTimeout(Math.max(due - performance.now(), 0)) // also when late, so that queued requests are sent
    send(message)
  }
}
