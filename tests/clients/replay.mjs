// Calls a client for each message of a file, at a steady rate.
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

export async function replay(file, rate, send) {
  const messages = readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line))
  const begin = performance.now()
  for (const [number, message] of messages.entries()) {
    const due = begin + (number / rate) * 1000
    if (due > performance.now()) await setTimeout(due - performance.now())
    send(message)
  }
}
