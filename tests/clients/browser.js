// Sends events with @segment/analytics-next from a web page, at a steady rate.
window.replay = async (host, writeKey, messages, rate) => {
  const analytics = window.AnalyticsNext.AnalyticsBrowser.load(
    { writeKey, cdnURL: `http://${host}` },
    { integrations: { 'Segment.io': { apiHost: `${host}/v1`, protocol: 'http' } } },
  )
  await analytics.ready()
  window.failures = []
  analytics.on('error', ({ code, reason }) => window.failures.push(`${code}: ${reason}`))
  const begin = performance.now()
  const sent = []
  let visitor
  for (const [number, { type, event, properties, traits, ...identity }] of messages.entries()) {
    const due = begin + (number / rate) * 1000
    if (due > performance.now()) await new Promise((done) => setTimeout(done, due - performance.now()))
    if (identity.anonymousId !== visitor) {
      visitor = identity.anonymousId
      await analytics.reset()
    }
    const options = { anonymousId: identity.anonymousId, userId: identity.userId, context: identity.context }
    if (type === 'track') sent.push(analytics.track(event, properties, options))
    else if (type === 'page') sent.push(analytics.page(undefined, undefined, properties, options))
    else sent.push(analytics.identify(identity.userId, traits, options))
  }
  await Promise.all(sent)
  return messages.length
}
