// Keeps the page for when there is no network. The bundle tool writes the version and the files above this line.
//
// While whatever serves the page answers, it decides: a new version is never hidden by an old one. Only when it does not answer,
// the page comes from the cache, whose files all belong to one version.
const CACHE = `foreglow-${VERSION}`;
const here = new URL("./", self.location);

// The file, if it is the one of this version.
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
      // All of them or none: half a version must not be kept.
      await Promise.all(
        FILES.filter(({ later }) => !later).map(async ({ path, sha256 }) => {
          // What the page has just loaded is not fetched twice, unless it was of an earlier version.
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
  // Samples and their stream are never kept: yesterday's answer is no answer.
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
