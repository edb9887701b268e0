// Serves the page without a network. The bundle tool writes VERSION and FILES above this line.
//
// The network takes precedence, so that an old version never hides a new one. Only if it fails does
// the page come from the cache, whose files all belong to one version.
const CACHE = `foreglow-${VERSION}`;
const here = new URL("./", self.location);

// Fetches a file, or returns null if it is of another version.
async function file(path, sha256, cache) {
  const response = await fetch(new URL(path, here), { cache });
  const body = await response.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (!response.ok || hex !== sha256) return null;
  return new Response(body, { headers: { "content-type": response.headers.get("content-type") ?? "" } });
}

self.addEventListener("install", (event) => {
  event.waitUntil(
    (async () => {
      const cache = await caches.open(CACHE);
      // All or nothing: the cache must never hold a partial version.
      await Promise.all(
        FILES.filter(({ later }) => !later).map(async ({ path, sha256 }) => {
          // Reuses what the page has just loaded, unless it is of an earlier version.
          const kept = (await file(path, sha256, "force-cache")) ?? (await file(path, sha256, "reload"));
          if (!kept) throw new Error(`${path} is of another version`);
          await cache.put(new URL(path, here), kept);
        }),
      );
      await self.skipWaiting();
    })(),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      const names = await caches.keys();
      await Promise.all(names.filter((name) => name.startsWith("foreglow-") && name !== CACHE).map((name) => caches.delete(name)));
      await self.clients.claim();
    })(),
  );
});

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  const path = url.pathname.startsWith(here.pathname) ? url.pathname.slice(here.pathname.length) : null;
  // Samples and their event stream are never cached, because a stale answer is wrong.
  if (event.request.method !== "GET" || url.origin !== here.origin || path === null || path.startsWith("api/")) return;
  event.respondWith(
    (async () => {
      try {
        const response = await fetch(event.request);
        if (response.ok && FILES.some((file) => file.later && file.path === path)) {
          const copy = response.clone();
          event.waitUntil(caches.open(CACHE).then((cache) => cache.put(new URL(path, here), copy)));
        }
        return response;
      } catch (error) {
        const cache = await caches.open(CACHE);
        const kept = await cache.match(new URL(path === "" ? "index.html" : path, here));
        if (kept) return kept;
        throw error;
      }
    })(),
  );
});
