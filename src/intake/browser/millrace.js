// Sends what happens on a web page to a collector of Millrace: page views, events, promotions.
// Each message is stored in the browser until the collector has answered that it is on disk.
// Messages are those of the Segment spec. How to use it: docs/tracker.md.
(() => {
  "use strict";

  const LIBRARY = { name: "millrace.js", version: "1.0.0" };
  const BATCH_BYTES = 30_000; // browsers let requests that outlive their page carry 64 KiB in all
  const BATCH_MESSAGES = 100;
  const MOST_STORED = 10_000; // beyond that the oldest are dropped
  const MOST_HELD = 100; // before there is consent
  const GATHERING = 200; // milliseconds in which messages gather for a request
  const TIMEOUT = 30_000;
  const RETRY = { first: 1000, most: 60_000 };
  const CANNOT_SUCCEED = [400, 401, 413];
  const VIEW_TIME = 1000; // for which a promotion is visible until it counts as viewed
  const PROMOTIONS = "[data-promotion-id]";
  const CAMPAIGN = { source: "source", medium: "medium", campaign: "name", term: "term", content: "content", id: "id" };
  const PARAMETER = /^utm_(source|medium|campaign|term|content|id)=(.*)$/i;
  const KEPT_FRAGMENT = /^#!?\/|[#?&;](utm_|[a-z]+clid=|[gw]braid=|li_fat_id=)/i;

  const script = document.currentScript;
  const { writeKey = "", consent: declared, spa } = script.dataset;
  const endpoint = new URL("v1/batch", script.src).href;

  // --- Values that outlive the page. They stay in memory while nothing may be stored, or nothing can be.
  const inMemory = {};
  let wasReset = false; // the visitor, by the page

  function stored(name) {
    try {
      return localStorage.getItem(`millrace_${name}`);
    } catch {
      return null;
    }
  }

  const read = (name) => (name in inMemory ? inMemory[name].value : stored(name));

  function write(name, value, mayStore = consent === "granted") {
    inMemory[name] = { value, replaced: stored(name) };
    try {
      if (!mayStore) return value;
      if (value === null) localStorage.removeItem(`millrace_${name}`);
      else localStorage.setItem(`millrace_${name}`, value);
      delete inMemory[name];
    } catch {} // it stays in memory
    return value;
  }

  // What was in memory until consent. What another page has stored since then holds, also for these messages.
  function storeValues(messages) {
    const ownId = inMemory.anonymous_id?.value;
    for (const [name, { value, replaced }] of Object.entries(inMemory)) {
      if (stored(name) === replaced || (wasReset && name === "anonymous_id")) write(name, value);
      else delete inMemory[name];
    }
    for (const message of messages) if (message.anonymousId === ownId) message.anonymousId = anonymousId();
  }

  // A refusal wins over a grant, whether the page declares it or the visitor has decided it.
  const decisions = [declared, read("consent")];
  let consent = ["refused", "granted"].find((decision) => decisions.includes(decision)) ?? "unknown";

  function uuid() {
    if (crypto.randomUUID) return crypto.randomUUID(); // only on pages that came by HTTPS or from this machine
    const bits = () => crypto.getRandomValues(new Uint8Array(1))[0];
    const random = (digit) => (digit ^ (bits() & (15 >> (digit / 4)))).toString(16);
    return "10000000-1000-4000-8000-100000000000".replace(/[018]/g, random);
  }

  const anonymousId = () => read("anonymous_id") ?? write("anonymous_id", uuid());
  const dropped = () => ({ refused: 0, overflowed: 0, ...JSON.parse(read("dropped") ?? "{}") });

  function countDropped(reason, messages) {
    const counts = dropped();
    write("dropped", JSON.stringify({ ...counts, [reason]: counts[reason] + messages.length }));
    report(reason, messages);
  }

  // For pages that show what becomes of messages.
  function report(state, messages) {
    document.dispatchEvent(new CustomEvent("millrace", { detail: { state, messages } }));
  }

  // --- Messages. A fragment is part of the address only where the site uses it as a path, or it has a campaign.
  const address = () =>
    location.origin + location.pathname + location.search + (KEPT_FRAGMENT.test(location.hash) ? location.hash : "");
  let current = address();
  let { referrer } = document;

  // As Millrace reads it from an address: the first of a name that is not empty, of the query, else of the fragment.
  function campaign() {
    const fragment = location.hash.slice(1).replace(/^(!?\/[^?]*|[^=?]*)\?/, "");
    const fields = {};
    for (const pair of `${location.search.slice(1)}&${fragment}`.split(/&(?:amp;)*/i)) {
      const [, name, value] = PARAMETER.exec(pair) ?? [];
      if (name) fields[CAMPAIGN[name.toLowerCase()]] ||= decoded(value);
    }
    return Object.fromEntries(Object.entries(fields).filter(([, value]) => value));
  }

  function decoded(value) {
    try {
      return decodeURIComponent(value.replace(/\+/g, " ").replace(/%(?![0-9a-f]{2})/gi, "%25")).trim();
    } catch {
      return value.trim(); // its bytes are no UTF-8
    }
  }

  function enqueue(type, fields) {
    if (consent === "refused") return;
    const { pathname: path, search } = location;
    const page = { url: address(), path, search, title: document.title, referrer };
    const context = { page, userAgent: navigator.userAgent, locale: navigator.language, library: { ...LIBRARY } };
    // A promotion with a campaign would be one of another site (docs/channels.md): the visit's is not its own.
    if (!/^Promotion /.test(fields.event) && Object.keys(campaign()).length) context.campaign = campaign();
    if (read("dropped")) context.library.dropped = dropped();
    const ids = { messageId: uuid(), anonymousId: anonymousId(), userId: read("user_id") ?? undefined };
    const message = { type, ...ids, ...fields, originalTimestamp: new Date().toISOString(), context };
    if (type === "page") message.properties = { ...page, ...fields.properties };
    try {
      keep(JSON.parse(JSON.stringify(message))); // as it is now, and nothing that could not be sent
    } catch (error) {
      console.error("millrace.js:", error);
    }
  }

  function keep(message) {
    if (consent === "granted") store(message);
    else if (held.push(message) > MOST_HELD) held.pop();
    else report("held", [message]);
  }

  // --- The queue: in IndexedDB, and what this page made in memory too, for when the page is left.
  const held = []; // until there is consent
  const unsent = new Map(); // messageId -> the message and its place: undefined until known, "store" or "memory"
  const inFlight = new Set(); // messageIds
  let opening;
  let deleting; // the database of before a refusal

  function database() {
    opening ??= openDatabase();
    return opening;
  }

  async function openDatabase() {
    await deleting;
    const opened = await new Promise((resolve, reject) => {
      const request = indexedDB.open("millrace", 1);
      const keyPath = ["originalTimestamp", "messageId"];
      request.onupgradeneeded = () => request.result.createObjectStore("messages", { keyPath });
      request.onsuccess = () => resolve(request.result);
      request.onerror = reject;
    });
    opened.onversionchange = opened.onclose = closeDatabase; // another tab, or the visitor, deletes it
    return opened;
  }

  async function closeDatabase() {
    const closing = opening;
    opening = undefined;
    (await closing?.catch(() => null))?.close();
  }

  async function deleteDatabase() {
    await closeDatabase();
    window.indexedDB?.deleteDatabase("millrace"); // a later request to open it waits
  }

  // The result of a request to the stored messages, once it is committed; null where that fails.
  async function inStore(mode, ask) {
    try {
      if (consent !== "granted") return null;
      const transaction = (await database()).transaction("messages", mode);
      return await new Promise((resolve, reject) => {
        const request = ask(transaction.objectStore("messages"));
        transaction.oncomplete = () => resolve(request?.result ?? true);
        transaction.onabort = reject;
        transaction.commit?.(); // it completes though the page is left
      });
    } catch {
      return null;
    }
  }

  async function store(message) {
    message.context.consent = { categoryPreferences: { analytics: true } };
    const entry = { message };
    unsent.set(message.messageId, entry);
    report("queued", [message]);
    entry.place = (await inStore("readwrite", (all) => all.put(message))) ? "store" : "memory";
    schedule(GATHERING);
    const excess = (await inStore("readonly", (all) => all.count())) - MOST_STORED;
    const oldest = (excess > 0 && (await inStore("readonly", (all) => all.getAll(null, excess)))) || [];
    const unstored = messagesIn("memory");
    oldest.push(...unstored.slice(0, Math.max(unstored.length - MOST_STORED, 0)));
    if (!oldest.length) return;
    await remove(oldest);
    countDropped("overflowed", oldest);
  }

  function messagesIn(...places) {
    return [...unsent.values()].filter(({ place }) => places.includes(place)).map(({ message }) => message);
  }

  async function remove(messages) {
    messages.forEach(({ messageId }) => unsent.delete(messageId));
    await inStore("readwrite", (all) =>
      messages.forEach(({ originalTimestamp, messageId }) => all.delete([originalTimestamp, messageId])),
    );
  }

  // As many messages as one request takes: one at least, if there is one.
  function batchOf(messages) {
    let bytes = 0;
    const waiting = messages.filter(({ messageId }) => !inFlight.has(messageId));
    const end = waiting.findIndex((each) => (bytes += new Blob([JSON.stringify(each)]).size) > BATCH_BYTES);
    return waiting.slice(0, end < 0 ? BATCH_MESSAGES : Math.max(end, 1));
  }

  async function nextBatch() {
    const known = messagesIn("store");
    const oldest = (await inStore("readonly", (all) => all.getAll(null, BATCH_MESSAGES))) ?? [];
    if (oldest.length) return batchOf(oldest);
    known.forEach(({ messageId }) => unsent.delete(messageId));
    report("acknowledged", known); // to another tab
    return batchOf(messagesIn("memory"));
  }

  // --- Sending.
  let timer;
  let isSending = false;
  let isDue = false; // once more, after what is being sent
  let failures = 0;

  const schedule = (milliseconds) => (timer ??= setTimeout(send, milliseconds));

  function unschedule() {
    clearTimeout(timer);
    timer = undefined;
  }

  async function send() {
    unschedule();
    isDue = isSending;
    if (isSending || consent !== "granted") return;
    isSending = true;
    try {
      // One tab at a time. Where there are no locks, two may send the same message, with the same messageId.
      await (navigator.locks ? navigator.locks.request("millrace", sendAll) : sendAll());
    } finally {
      isSending = false;
      if (isDue) schedule(GATHERING);
    }
  }

  async function sendAll() {
    let batch;
    do batch = await nextBatch();
    while (consent === "granted" && batch.length && (await deliver(batch)));
  }

  // As text/plain with the write key inside, which browsers send without a preflight.
  function bodyOf(batch) {
    return new Blob([JSON.stringify({ batch, sentAt: new Date().toISOString(), writeKey })], { type: "text/plain" });
  }

  // Whether the batch is dealt with. If it is not, the next attempt is scheduled.
  async function deliver(batch) {
    batch.forEach(({ messageId }) => inFlight.add(messageId));
    const body = bodyOf(batch);
    const request = { method: "POST", body, keepalive: body.size < 2 * BATCH_BYTES, credentials: "omit" };
    const answer = await fetch(endpoint, { ...request, signal: AbortSignal.timeout?.(TIMEOUT) }).catch(() => null);
    const isRefused = CANNOT_SUCCEED.includes(answer?.status);
    const isDone = isRefused || answer?.status === 200;
    if (isDone) {
      failures = 0;
      await remove(batch);
      if (isRefused) countDropped("refused", batch);
      else report("acknowledged", batch);
    } else {
      const wait = Math.min(RETRY.first * 2 ** failures, RETRY.most) * (0.5 + Math.random() / 2);
      failures += 1;
      unschedule();
      schedule(Math.max(wait, 1000 * (Number(answer?.headers.get("Retry-After")) || 0)));
    }
    batch.forEach(({ messageId }) => inFlight.delete(messageId));
    return isDone;
  }

  // The page may be gone in a moment: there is no time to read what is stored.
  function sendBeforeLeaving() {
    const batch = batchOf(messagesIn(undefined, "store", "memory"));
    if (!batch.length) return;
    if ("keepalive" in Request.prototype) return deliver(batch);
    navigator.sendBeacon(endpoint, bodyOf(batch)); // has no answer: if the page stays, they are sent again
    batch.forEach(({ messageId }) => inFlight.add(messageId));
    setTimeout(() => {
      batch.forEach(({ messageId }) => inFlight.delete(messageId));
      send();
    }, TIMEOUT);
  }

  // --- Clicks, and promotions: viewed once a page view, when half of one has been visible for a second.
  const viewed = new Set(); // in this page view
  const timers = new Map(); // by element
  const visible = new IntersectionObserver((entries) => entries.forEach(watch), { threshold: 0.5 });

  function watch({ target, intersectionRatio }) {
    clearTimeout(timers.get(target));
    if (intersectionRatio >= 0.5) timers.set(target, setTimeout(() => view(target), VIEW_TIME));
  }

  function view(element) {
    const key = JSON.stringify(promotionOf(element));
    if (element.isConnected && !viewed.has(key)) millrace.track("Promotion Viewed", promotionOf(element));
    viewed.add(key);
  }

  const findPromotions = () => document.querySelectorAll(PROMOTIONS).forEach((each) => visible.observe(each));
  const promotionOf = ({ dataset: { promotionId, name, creative, position } }) =>
    ({ promotion_id: promotionId, name, creative, position });

  // Look again at what is visible now.
  function watchAgain() {
    visible.disconnect();
    timers.forEach((each) => clearTimeout(each));
    timers.clear();
    if (document.visibilityState === "visible") findPromotions();
  }

  function click({ type, button, target }) {
    if (!target.closest || (type === "auxclick" && button !== 1)) return; // the middle button opens links too
    const promotion = target.closest(PROMOTIONS);
    if (promotion) millrace.track("Promotion Clicked", promotionOf(promotion));
    const element = target.closest("[data-track]");
    if (!element) return;
    const { track, ...data } = element.dataset;
    const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    millrace.track(track, Object.fromEntries(Object.entries(data).map(([name, value]) => [snakeCase(name), value])));
  }

  // --- What pages call.
  const early = Array.isArray(window.millrace) ? window.millrace : []; // before this file was there
  const millrace = (window.millrace = {
    page(properties) {
      enqueue("page", { properties });
      viewed.clear();
      watchAgain();
    },
    track: (event, properties = {}) => enqueue("track", { event, properties }),
    identify(userId, traits = {}) {
      write("user_id", String(userId));
      enqueue("identify", { traits });
    },
    reset() {
      write("user_id", null);
      write("anonymous_id", uuid());
      wasReset = true;
    },
    consent(granted) {
      decide(granted);
      write("consent", consent, true); // also a refusal is kept
    },
    dropped,
    push: ([name, ...values]) => millrace[name](...values),
  });

  function decide(granted) {
    consent = granted ? "granted" : "refused";
    const messages = held.splice(0);
    if (granted) {
      storeValues(messages);
      messages.forEach(store);
      return;
    }
    ["anonymous_id", "user_id", "dropped"].forEach((name) => write(name, null, true));
    report("forgotten", [...messages, ...messagesIn(undefined, "store", "memory")]);
    unsent.clear();
    deleting = deleteDatabase().catch(() => null); // where there is none
  }

  // Decided in another tab, or on a later page before the visitor came back to this one.
  function followDecision() {
    const decision = stored("consent");
    const isRefusedHere = declared === "refused" && decision === "granted";
    if (decision && decision !== consent && !isRefusedHere) decide(decision === "granted");
  }

  function move() {
    // Later, when the site has set the title.
    setTimeout(() => {
      if (address() === current) return;
      [referrer, current] = [current, address()];
      millrace.page();
    });
  }

  function start() {
    millrace.page();
    new MutationObserver(findPromotions).observe(document, { childList: true, subtree: true });
    for (const type of ["click", "auxclick"]) document.addEventListener(type, click, true);
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") sendBeforeLeaving();
      watchAgain();
    });
    addEventListener("pagehide", sendBeforeLeaving);
    addEventListener("pageshow", ({ persisted }) => {
      if (!persisted) return;
      followDecision(); // by the back button, as it was left: not all browsers fire the events of storage then
      millrace.page();
    });
    addEventListener("online", send);
    addEventListener("storage", ({ key }) => key === "millrace_consent" && followDecision());
    if (spa === undefined) return;
    const { pushState } = history;
    history.pushState = function (...values) {
      pushState.apply(this, values);
      move();
    };
    addEventListener("popstate", move);
  }

  if (consent === "refused") decide(false);
  if (document.prerendering) document.addEventListener("prerenderingchange", start, { once: true });
  else start();
  early.forEach(millrace.push);
  schedule(GATHERING); // what earlier pages left
})();
