'use strict';
// Hides the rows, names and lines of the webhooks that do not contain the text of the filter.
function filter() {
  const input = document.getElementById('filter');
  if (!input) return;
  const text = input.value.toLowerCase();
  const rows = document.querySelectorAll('#webhooks tbody tr');
  const hidden = new Set();
  for (const row of rows) {
    row.hidden = !row.textContent.toLowerCase().includes(text);
    if (row.hidden) hidden.add(row.dataset.webhook);
  }
  for (const drawn of document.querySelectorAll('svg [data-webhook]')) drawn.classList.toggle('filtered', hidden.has(drawn.dataset.webhook));
  document.getElementById('matches').textContent = text ? rows.length - hidden.size + ' of ' + rows.length : '';
}
// Marks the lines of the webhook under the pointer.
function mark(event) {
  const id = event.target.closest ? event.target.closest('[data-webhook]')?.dataset.webhook : undefined;
  for (const line of document.querySelectorAll('.line')) line.classList.toggle('marked', id !== undefined && line.dataset.webhook === id);
}
function report(text) {
  const status = document.getElementById('connection');
  if (status.textContent !== text) status.textContent = text;
}
// Replaces the content by the content that the server has now, and keeps the filter, the focus and the position.
async function refresh() {
  const response = await fetch(location.href, { cache: 'no-store' });
  const text = await response.text();
  if (!response.ok) {
    report('This view does not change any more: ' + text);
    return;
  }
  const next = new DOMParser().parseFromString(text, 'text/html');
  const input = document.getElementById('filter');
  const focused = document.activeElement;
  const key = focused?.id ? '#' + focused.id : focused?.closest('main, header') && focused.getAttribute('href');
  const scrolled = [...document.querySelectorAll('.scroll')].map(e => e.scrollLeft);
  for (const part of ['header', 'main']) {
    const from = next.querySelector(part), to = document.querySelector(part);
    if (from && to) to.replaceWith(from);
  }
  const replaced = document.getElementById('filter');
  if (input && replaced) replaced.replaceWith(input);
  filter();
  document.querySelectorAll('.scroll').forEach((e, i) => { e.scrollLeft = scrolled[i] || 0; });
  if (key && document.activeElement === document.body) {
    const again = key[0] === '#' ? document.querySelector(key) : [...document.querySelectorAll('nav a, main a')].find(a => a.getAttribute('href') === key);
    again?.focus({ preventScroll: true });
  }
  document.body.dataset.number = next.body.dataset.number;
  report('Live.');
}
let source;
let pending = Promise.resolve();
// A hidden view is not connected: browsers open six connections to one server.
function connect() {
  if (document.hidden) {
    source?.close();
    source = undefined;
    return;
  }
  if (source) return;
  source = new EventSource('events?number=' + document.body.dataset.number);
  source.addEventListener('open', () => report('Live.'));
  source.addEventListener('error', () => report('Not connected. If the command ended, run it again, and open the new address.'));
  source.addEventListener('change', () => { pending = pending.then(refresh).catch(error => report('This view could not be loaded again: ' + error)); });
}
document.addEventListener('input', filter);
document.addEventListener('pointerover', mark);
if ('live' in document.body.dataset) {
  document.addEventListener('visibilitychange', connect);
  connect();
}
