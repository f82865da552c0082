// The page without a network: all files are stored once; NAME and FILES stand before this (page.mjs).

addEventListener("install", (event) => event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(FILES))));

addEventListener("activate", (event) => event.waitUntil(caches.keys().then((names) =>
  Promise.all(names.filter((name) => name.startsWith("studio-") && name !== NAME).map((name) => caches.delete(name))),
)));

addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  event.respondWith(caches.match(event.request, { cacheName: NAME, ignoreSearch: true }).then((found) => found ?? fetch(event.request)));
});
